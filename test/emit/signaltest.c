/* signaltest.c -- signal handlers that emit, and interrupt emission anywhere: nothing is lost, nothing torn
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Three ways: a storm of signals from another thread; handlers that jump away; and, where a process may be traced, a
 * signal at chosen single instructions, with blocks so small that changing them is hit as well.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "emitting.h"
#include "plinth/rawsyscall.h"

#if defined(VARIETY_RASH) || defined(__SANITIZE_THREAD__)

int main(void)
{
  TapSkip("no telemetry in this variety, or a sanitizer that holds signals back");
  return TapDone();
}

#else

enum { idMAIN = 1, idHandler = 2, idSecond = 3, textMAX = 700 };

static volatile Count handled[2];
static volatile Bool jumps;
static volatile Bool flushes;
static volatile Bool *stepping; /* where a tracer looks whether to step */
static sigjmp_buf place;

/* text -- a string that tells whose it is in each character */
static const char *textOf(char *room, Word id, Index i)
{
  Size length = (i * 37 + id * 11) % textMAX;

  memset(room, 'a' + (int)((i + id) % 26), length);
  room[length] = '\0';
  return room;
}

/* emit -- the `i`th event of a series: a word and, sometimes, a string */
static void emit(Word id, Index i)
{
  char room[textMAX + 1];

  EVENT_WW(UserWord, id, i);
  if (i % 3 == 0)
    EVENT_WS(UserString, id << 32 | i, textOf(room, id, i));
}

static void onSignal(int signal)
{
  unsigned which = signal == SIGUSR2;
  int error = errno;
  /* Three of four handlers run through. */
  Bool steps = stepping != NULL && *stepping && handled[which] % 4 != 0;

  if (steps)
    *stepping = FALSE;
  emit(which ? idSecond : idHandler, handled[which]);
  ++handled[which];
  if (flushes && handled[which] % 64 == 0)
    EventFlush();
  if (steps)
    *stepping = TRUE;
  errno = error;
  if (jumps && !which)
    siglongjmp(place, 1);
}

/* install -- the handlers; `alone`: neither interrupts the other */
static void install(Bool alone)
{
  struct sigaction action;

  memset(&action, 0, sizeof action);
  action.sa_handler = onSignal;
  (alone ? sigfillset : sigemptyset)(&action.sa_mask);
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
}

/* torn -- strings that are not what was emitted */
static Count torn(Decode d, Count *stringsReturn)
{
  char room[textMAX + 1];
  Count bad = 0;
  Index i;

  *stringsReturn = 0;
  for (i = 0; i < d->events; ++i) {
    DecodedEvent event = &d->event[i];
    Word w;
    if (event->code != EventUserStringCODE)
      continue;
    w = DecodeWord(event, 0);
    ++*stringsReturn;
    bad += strcmp(event->bytes + 8 + sizeof(Word), textOf(room, w >> 32, w & 0xffffffff)) != 0;
  }
  return bad;
}

static Count stringsOf(Count n)
{
  return (n + 2) / 3;
}

enum { stormNS = 100000, stormMAX = 4000000 };

static timer_t timer[2];

/* stormBegin, stormEnd -- signals to this thread, as fast as the system's timers go */
static void stormBegin(void)
{
  unsigned i;

  handled[0] = handled[1] = 0;
  for (i = 0; i < 2; ++i) {
    struct sigevent event;
    struct itimerspec time = {{0, stormNS + 7000 * i}, {0, stormNS}};
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = i ? SIGUSR2 : SIGUSR1;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    timer_create(CLOCK_MONOTONIC, &event, &timer[i]);
    timer_settime(timer[i], 0, &time, NULL);
  }
}

static void stormEnd(void)
{
  timer_delete(timer[0]);
  timer_delete(timer[1]);
}

/* storm -- emit in a storm of signals, until `signals` have been handled; returns how many events that was */
static Count storm(Count signals, Bool flushing)
{
  Count n = 0;

  EmitFresh();
  flushes = flushing;
  stormBegin();
  while (handled[0] + handled[1] < signals && n < stormMAX)
    emit(idMAIN, n++);
  stormEnd();
  flushes = FALSE;
  return n;
}

static void testStorm(Bool flushing)
{
  const char *what = flushing ? "a storm with flushes" : "a storm";
  Count n = storm(1000, flushing), strings;
  DecodeStruct d;

  EmitGet(&d);
  DecodeSound(&d, what);
  TapOk(EmitSeries(&d, idMAIN, n), "%s of signals: each of %zu events, once", what, n);
  TapOk(EmitSeries(&d, idHandler, handled[0]) && EmitSeries(&d, idSecond, handled[1]),
        "%s: each of the handlers' %zu", what, handled[0] + handled[1]);
  TapIs(torn(&d, &strings), 0, "%s: nothing is torn", what);
  TapIs(strings, stringsOf(n) + stringsOf(handled[0]) + stringsOf(handled[1]), "%s: all strings are there", what);
  DecodeFree(&d);
}

/* discarded -- how many events the process has counted as discarded, as far as it has sent */
static Count discarded(Decode d)
{
  static uint64_t most[4096];
  Count sum = EmitterRegion(EmitterGet())->lost;
  Index i;

  for (i = 0; i < d->blocks; ++i) {
    BlockHeader header = &d->block[i].header;
    if (header->stream < ARRAY_LENGTH(most) && header->discarded > most[header->stream])
      most[header->stream] = header->discarded;
  }
  for (i = 0; i < ARRAY_LENGTH(most); ++i)
    sum += most[i];
  return sum;
}

/* testFull -- a storm while there is no room: what is interrupted while it is discarded, and what interrupts
 * it, count */
static void testFull(void)
{
  RegionHeader region = EmitterRegion(EmitterGet());
  uint32_t limit = region->limit;
  Count n, before, strings;
  DecodeStruct d;

  EmitGet(&d);
  before = discarded(&d);
  DecodeFree(&d);
  region->limit = 3;
  emitPretend->full = TRUE;
  n = storm(1000, FALSE);
  emitPretend->full = FALSE;
  EventFlush();
  EmitGet(&d);
  region->limit = limit;
  DecodeSound(&d, "no room");
  TapIs(torn(&d, &strings), 0, "no room in a storm: nothing is torn");
  strings = stringsOf(n) + stringsOf(handled[0]) + stringsOf(handled[1]);
  TapOk(discarded(&d) - before > 0, "no room in a storm: events are discarded");
  TapIs(d.events + discarded(&d) - before, n + handled[0] + handled[1] + strings, "and each arrives, or is counted");
  DecodeFree(&d);
}

/* Each jump may leave one event, or its string, undone. */
static void jumpsCheck(Count n, Count jumped)
{
  DecodeStruct d;
  Count found = 0, strings;
  Index i;

  EmitGet(&d);
  DecodeSound(&d, "jumps");
  TapOk(jumped >= 300, "the handler jumped away %zu times", jumped);
  TapOk(EmitSeries(&d, idHandler, handled[0]) && EmitSeries(&d, idSecond, handled[1]),
        "each event of handlers that jump away");
  for (i = 0; i < d.events; ++i)
    found += d.event[i].code == EventUserWordCODE && DecodeWord(&d.event[i], 0) == idMAIN;
  TapOk(found <= n && found + jumped >= n, "of what they interrupted, at most one event for each jump is missing: %zu",
        n - found);
  TapIs(torn(&d, &strings), 0, "nothing is torn");
  DecodeFree(&d);
}

static void testJumps(void)
{
  static volatile Count n, jumped;

  EmitFresh();
  stormBegin();
  if (sigsetjmp(place, 1) != 0)
    ++jumped;
  jumps = TRUE;
  while (jumped < 300 && n < stormMAX)
    EVENT_WW(UserWord, idMAIN, n++);
  jumps = FALSE;
  stormEnd();
  jumpsCheck(n, jumped);
}

/* testLate -- an event that stays interrupted while others fill block after block, and then is filled: it is there.
 * Where those are many a snapshot of its block has gone out meanwhile. */
static void testLate(Count others)
{
  enum { idLATE = 77 };
  Size size = sizeof(EventHeaderStruct) + 2 * sizeof(Word);
  Word words[2] = {idLATE, others};
  DecodeStruct d;
  char *event;
  Index i;

  EmitFresh();
  event = EventReserve(EventKindUser, size);
  for (i = 0; i < others; ++i)
    EVENT_WW(UserWord, idLATE, i);
  memcpy(event + sizeof(EventHeaderStruct), words, sizeof words);
  EventCommit((EventHeader)(void *)event, EventUserWordCODE);
  EVENT_WW(UserWord, idLATE, others + 1);
  EmitGet(&d);
  DecodeSound(&d, "late");
  TapOk(EmitSeries(&d, idLATE, others + 2), "an event interrupted by %zu: each is delivered", others);
  TapIs(d.copies > 0, others > 50000, "%s", others > 50000 ? "those behind it did not wait" : "in order");
  DecodeFree(&d);
}

static void *idleRun(void *ready)
{
  __atomic_store_n((Bool *)ready, TRUE, __ATOMIC_RELEASE);
  while (handled[0] == 0)
    sched_yield();
  return NULL;
}

static void testIdle(void)
{
  Bool ready = FALSE;
  pthread_t thread;
  DecodeStruct d;
  Count found = 0;
  Index i;

  handled[0] = handled[1] = 0;
  EmitFresh();
  pthread_create(&thread, NULL, idleRun, &ready);
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
    sched_yield();
  pthread_kill(thread, SIGUSR1);
  pthread_join(thread, NULL);
  EmitGet(&d);
  for (i = 0; i < d.events; ++i)
    found += d.event[i].thread != (uint32_t)getpid();
  TapIs(found, 2, "a thread's first events are its signal handler's");
  DecodeFree(&d);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

/* What the traced child and its tracer share. */
typedef struct StepStruct {
  volatile Bool here;     /* the child is where signals should hit */
  volatile Count changes; /* of blocks */
  volatile Bool good[5];
  volatile Count n, handled;
} StepStruct;

enum { stepEVENTS = 120 };

/* stepChild -- emits events of all lengths, so that each way of meeting a block's end comes up; starts anew with the
 * smallest block often */
static void stepChild(StepStruct *step)
{
  DecodeStruct d;
  Count strings;
  Index i;

  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
    _exit(77);
  jumps = FALSE;
  handled[0] = handled[1] = 0;
  EmitOpen();
  ControlSettings.raw = TRUE;
  stepping = &step->here;
  raise(SIGSTOP);
  for (i = 0; i < stepEVENTS; ++i) {
    if (i % 16 == 0)
      EventFlush();
    step->here = TRUE;
    (void)syscall(SYS_getppid); /* where the tracer sees it */
    emit(idMAIN, i);
    step->here = FALSE;
  }
  EmitGet(&d);
  step->n = i;
  step->handled = handled[0] + handled[1];
  (void)decodeTell(&d);
  fflush(stdout);
  step->good[0] = d.damaged == 0 && d.disorders == 0;
  step->good[1] = EmitSeries(&d, idMAIN, i);
  step->good[2] = EmitSeries(&d, idHandler, handled[0]) && EmitSeries(&d, idSecond, handled[1]);
  step->good[3] = torn(&d, &strings) == 0;
  step->good[4] = strings == stringsOf(i) + stringsOf(handled[0]) + stringsOf(handled[1]);
  step->changes = d.blocks;
  EventEnd(); /* no memory is left */
  _exit(0);
}

/* stepBlocked -- is the child about to block all signals, or has it?  Then nothing can interrupt it until it lets
 * them through again, and it runs to its next system call. */
static Bool stepBlocked(pid_t child, int signal, Bool *blocked)
{
  struct user_regs_struct regs;
  Word mask;

  if (signal != 0 || ptrace(PTRACE_GETREGS, child, NULL, &regs) != 0)
    return *blocked;
  if (regs.rip == (Word)RawBegin)
    *blocked = TRUE;
  else if (*blocked && regs.orig_rax == SYS_rt_sigprocmask && regs.rax != (Word)-ENOSYS && regs.rdx == 0) {
    /* Left the system call that set the mask: which one was it? */
    mask = (Word)ptrace(PTRACE_PEEKDATA, child, (void *)regs.rsi, NULL);
    *blocked = mask == UINT64_MAX;
  }
  return *blocked;
}

/* stepThrough -- one instruction after the other, with a signal now and then; FALSE: no process may be traced here */
static Bool stepThrough(StepStruct *step, pid_t child, int *statusReturn)
{
  uint64_t random = TapSeed() * 2 + 1;
  unsigned left = 1, which = 0;
  enum __ptrace_request next;
  Bool blocked = FALSE;
  int status;

  for (;;) {
    int signal = 0;
    if (waitpid(child, &status, 0) != child || WIFEXITED(status) || WIFSIGNALED(status))
      break;
    if (WSTOPSIG(status) == SIGUSR1 || WSTOPSIG(status) == SIGUSR2) {
      signal = WSTOPSIG(status);
    } else if (step->here && !blocked && --left == 0) {
      signal = which++ % 3 != 0 ? SIGUSR1 : SIGUSR2;
      left = 1 + (unsigned)(TapRandom(&random) % 200);
    }
    if (!step->here || stepBlocked(child, signal, &blocked))
      next = PTRACE_SYSCALL;
    else
      next = PTRACE_SINGLESTEP;
    if (ptrace(next, child, NULL, (void *)(Word)signal) != 0)
      break;
  }
  *statusReturn = status;
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

static void testSteps(void)
{
  StepStruct *step = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int status = 0;
  pid_t child;

  child = fork();
  if (child == 0)
    stepChild(step);
  if (!stepThrough(step, child, &status)) {
    TapSkip("no process may be traced here");
    return;
  }
  TapIs(status, 0, "stepped through %zu events with %zu signals and %zu blocks", step->n, step->handled, step->changes);
  TapOk(step->handled > 100 && step->changes > 8, "which were enough");
  TapOk(step->good[0], "signals at single instructions: every block is sound and in its place");
  TapOk(step->good[1], "each interrupted event is there, once");
  TapOk(step->good[2], "each of the handlers', too");
  TapOk(step->good[3] && step->good[4], "and nothing is torn");
  munmap(step, 4096);
}

#else

static void testSteps(void)
{
  TapSkip("no single steps here");
}

#endif

int main(void)
{
  install(FALSE);
  testSteps();
  EmitOpen();
  testStorm(FALSE);
  testStorm(TRUE);
  testLate(5000);
  testLate(100000);
  install(TRUE);
  testJumps();
  testIdle();
  testFull(); /* last: what handlers have left in open blocks goes out at each flush */
  return TapDone();
}

#endif
