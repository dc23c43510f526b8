/* lifecycle.c -- the beginning of a process that emits, and its end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/process.h"
#include "emit/selfdrain.h"
#include "emit/send.h"
#include "emit/traceback.h"
#include "handover/collectorsocket.h"
#include "handover/handover.h"
#include "plinth/descriptor.h"
#include "plinth/rawsyscall.h"
#include "plinth/seccomp.h"

enum {
  lifeMoment = 1000000, /* ns */
  lifeMoments = 1000,   /* so many are waited for at the end */
  lifeBegins = 5000     /* and so many for another thread that sets the process up */
};

static Bool lifeRead; /* the environment; once, also for the children of fork */

/* What a child of fork knows of its parent: in memory that it has, too.  A process that has not set itself up has done
 * nothing that anybody was told of, so what it knows holds for its own children. */
static struct {
  HeaderForkStruct parent; /* identity: of whoever set itself up last; `before`: it may be forking since then */
  Bool forked;             /* this process is a child of it */
} lifeFork;

/* lifeForks -- in the parent */
static void lifeForks(void)
{
  Process process = ProcessIfReady();

  if (process == NULL)
    return;
  StoreForks(&process->shared);
  lifeFork.parent.thread = (uint32_t)RawCall(SYS_gettid);
  lifeFork.parent.before = EventClock(EVENT_SLOW);
}

/* lifeParent -- the process sets itself up: whose child is it?  What was forked without asking us was made at some
 * time, of which we know the end. */
static void lifeParent(Process process)
{
  if (lifeFork.parent.identity != 0)
    process->forked = lifeFork.parent;
  if (process->forked.identity != 0 && !lifeFork.forked) {
    process->forked.thread = 0;
    process->forked.before = process->forked.after = EventClock(EVENT_SLOW);
  }
  lifeFork.parent = (HeaderForkStruct){.identity = process->identity};
  lifeFork.forked = FALSE;
}

/* lifeForked -- in the child: the thread's state was its parent's, and its place may soon be another thread's,
 * whose it would seem to be */
static void lifeForked(void)
{
  EventThreadSelf = NULL;
  if (!lifeFork.forked)
    lifeFork.parent.after = EventClock(EVENT_SLOW);
  lifeFork.forked = TRUE;
  ControlJoin();
  DescriptorForked();
  StoreForked();
  if (ControlSettings.only != 0)
    ControlStop();
}

/* lifeIdentity -- a number that no other process has, on any machine */
static uint64_t lifeIdentity(void)
{
  uint64_t identity = 0;

  if (RawCall(SYS_getrandom, &identity, sizeof identity, GRND_NONBLOCK) != sizeof identity)
    identity = EventClockMonotonic() * 0x9e3779b97f4a7c15ull + (uint64_t)RawPid();
  return identity | 1;
}

/* lifeSetUp -- all that must be there before the first event; one thread, once, and once more in each child of
 * fork */
static void lifeSetUp(Process process)
{
  Bool slow;

  if (!lifeRead) {
    RawVoice(); /* before anything is opened here */
    ControlClock();
  }
  slow = EventClockChoose();
  process->pid = RawPid();
  DescriptorForked(); /* whatever made this process */
  process->threadsMax = ProcessThreadsMax();
  process->identity = lifeIdentity();
  ControlJoin();
  EVENT_CONTROL[EventControlCLOCK] = slow ? EventControlSLOW : 0;
  EventClockSync(&process->sync, slow);
  lifeParent(process);
  ProcessThreadsBegin();
  if (!lifeRead)
    ControlFromEnvironment();
  lifeRead = TRUE;
  process->blockSize = ControlSettings.blockSize;
  ProcessShareAlone(process);
  /* Where nothing is sent, whoever reads a core needs it all the same. */
  if (ProcessRegion(process) == NULL) {
    (void)ProcessOwnMore(process, 0);
    (void)SendHeader(process);
  }
}

static Bool lifeBegun; /* the constructors of the library run, or have run */

#if defined(PAWPRINT_LIBRARY)
extern void __asan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

Bool ProcessAside(void)
{
  return __tsan_init != NULL;
}

Bool ProcessSleeps(void)
{
  return ProcessAside() || ((__asan_init != NULL || __msan_init != NULL) && !lifeBegun);
}
#else
/* A program that has us inside is built with us: our own tests, for instance. */
Bool ProcessAside(void)
{
  return FALSE;
}

Bool ProcessSleeps(void)
{
  return FALSE;
}
#endif

/* lifeWait -- another thread sets the process up: it waits for nobody but the collector and the file system, and nobody
 * who waits here has what it needs.  FALSE: it does not come to an end all the same, as when it was stopped, or its state
 * was written over.  That is found out once; then events are lost at once, and counted, until it does. */
static Bool lifeWait(Process process)
{
  long moment[2] = {0, lifeMoment};
  unsigned tries;

  for (tries = 0; __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) != 2; ++tries) {
    if (tries == lifeBegins || __atomic_load_n(&process->stuck, __ATOMIC_RELAXED)) {
      __atomic_store_n(&process->stuck, TRUE, __ATOMIC_RELAXED);
      return FALSE;
    }
    (void)RawCall(SYS_nanosleep, moment, NULL);
  }
  return TRUE;
}

Process ProcessGet(void)
{
  Process process = UNLIKELY(ProcessSleeps()) ? NULL : ProcessMap();
  unsigned none = 0;

  if (process == NULL || __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == 2)
    return process;
  if (__atomic_compare_exchange_n(&process->state, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    lifeSetUp(process);
    __atomic_store_n(&process->state, 2, __ATOMIC_RELEASE);
  }
  return lifeWait(process) ? process : NULL;
}

void ProcessMiss(void)
{
  if (!ProcessSleeps() && ProcessMap() != NULL)
    ProcessLose(ProcessMap());
}

/* lifeFinish -- what the ways out still keep is to arrive; each may take a second */
static void lifeFinish(void)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL)
      (void)PlinthFinish(&ProcessPlinths[i], BlockMessageEvents);
}

/* lifeFlush -- what the calling thread's blocks hold */
static void lifeFlush(Process process)
{
  Thread thread = EventThreadSelf != NULL && EventThreadSelf->self != NULL ? (Thread)(void *)EventThreadSelf : NULL;

  if (thread != NULL && !thread->inside)
    ThreadFlush(process, thread, FALSE, TRUE);
  if (thread != NULL && thread->nested != NULL)
    ThreadFlush(process, thread->nested, FALSE, TRUE);
}

/* lifeForget -- nothing in the region is needed any more.  If this thread emits again, its events go to a new one. */
static void lifeForget(Process process)
{
  Index i;

  for (i = 0; i < process->threads; ++i)
    ThreadForget(ProcessThread(process, i), &process->shared);
  if (ProcessRegion(process) == NULL)
    return;
  StoreUnlink(&process->shared);
  process->lost += __atomic_load_n(&ProcessRegion(process)->lost, __ATOMIC_RELAXED);
  __atomic_store_n(&process->shared.header, NULL, __ATOMIC_RELEASE);
}

/* lifeSayLost -- so many events are lost */
static void lifeSayLost(uint64_t lost, Bool others)
{
  char room[64];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextString(&text, others ? "at least " : "");
  TextDecimal(&text, lost);
  TextString(&text, lost == 1 ? " event is lost" : " events are lost");
  RawSay("not all could be written", ProcessLog(), TextTerminate(&text));
}

/* lifeAway -- events that are counted as away in private memory are counted as lost from here on, not twice */
static void lifeAway(RegionHeader region, uint64_t lost)
{
  uint64_t away = region != NULL ? __atomic_load_n(&region->pool.away, __ATOMIC_RELAXED) : 0;

  if (away != 0)
    (void)__atomic_fetch_sub(&region->pool.away, away < lost ? away : lost, __ATOMIC_RELAXED);
}

/* lifeLedger -- nobody counts in the region any more.  Where there was no room for its page nobody has, and to touch that
 * would kill the program. */
static void lifeLedger(Process process)
{
  if (StoreProvide(&process->shared, RegionCONTROL, EventControlSIZE))
    RegionLedgerClose(ProcessRegion(process));
}

/* lifeLost -- so many events end with the process, which is counted where readers find it: in the region, or in the header
 * block.  Who has a collector, and a region that ends with it, tells the collector of all that are lost: that has the last
 * word in the log.
 *
 * others   other threads go on
 * returns  whether the collector knows */
static Bool lifeLost(Process process, uint64_t lost, Bool others)
{
  RegionHeader region = ProcessRegion(process);
  uint64_t *count = region != NULL ? &region->lost : &process->lost;
  Bool ends = !ProcessFound(process);

  lifeAway(region, lost);
  if (ends && region != NULL)
    lifeLedger(process);
  if (ends) {
    lost += __atomic_exchange_n(&process->lost, 0, __ATOMIC_RELAXED);
    lost += region != NULL ? __atomic_exchange_n(&region->lost, 0, __ATOMIC_RELAXED) : 0;
  }
  if (lost == 0)
    return FALSE;
  lifeSayLost(lost, others);
  if (ends && HandLost(lost))
    return TRUE;
  (void)__atomic_fetch_add(count, lost, __ATOMIC_RELAXED);
  return FALSE;
}

/* lifeHalt -- other threads go on, and nobody will find their memory: the process's part ends here, so they send nothing any
 * more, and are given a moment for what they have begun */
static void lifeHalt(Process process)
{
  long moment[2] = {0, lifeMoment};

  process->halted |= (uint32_t)(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & (((Word)1 << EventKindLIMIT) - 1));
  ControlStop();
  (void)RawCall(SYS_nanosleep, moment, NULL);
}

/* lifePrivate -- what other threads have in private memory is sent, by us or by those that are about to: they end when
 * the process does
 *
 * knownReturn  whether the collector knows how much that is which could not be sent
 * returns      FALSE: some could not */
static Bool lifePrivate(Process process, Bool *knownReturn)
{
  uint64_t refused = SelfDrainSnapshot(process, SelfDrainPRIVATE);
  long moment[2] = {0, lifeMoment};
  unsigned tries;

  for (tries = 0; tries < lifeMoments && refused == 0 && SelfDrainPrivate(process, FALSE); ++tries)
    (void)RawCall(SYS_nanosleep, moment, NULL);
  refused += SelfDrainLeft(process);
  *knownReturn = lifeLost(process, refused, TRUE);
  return refused == 0;
}

/* lifeLeft -- what no way out has taken stays in the region, if that outlives us; else it is lost; returns whether the
 * collector knows how much that is */
static Bool lifeLeft(Process process)
{
  if (ProcessFound(process)) {
    __atomic_store_n(&ProcessRegion(process)->hand.unwritten, TRUE, __ATOMIC_RELAXED);
    RawSay("not all could be written", process->shared.path,
           "the rest stays there, and is read with the log; eventrec --clean removes it, and adds it to a log that is "
           "a file");
  }
  return lifeLost(process, SelfDrainLeft(process), FALSE);
}

/* lifeLastWords -- what comes now may use the room that is left for it below the limit on file sizes; or no longer */
static void lifeLastWords(Bool last)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    ProcessPlinths[i].last = last;
}

/* lifeVoid -- is the log there, and nothing in it?  Then it says itself that all is missing. */
static Bool lifeVoid(void)
{
  struct stat status;
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL && DescriptorOurs(&ProcessPlinths[i], &status) >= 0 &&
        S_ISREG(status.st_mode) && status.st_size == 0)
      return TRUE;
  return FALSE;
}

/* lifeElsewhere -- no way out takes the header block that says what is lost, and nobody finds our memory: another process's counts
 * it.  If there is none an empty file says, beside a log that has something, that there was a process. */
static void lifeElsewhere(Process process)
{
  RegionHeader region = ProcessRegion(process);
  uint64_t lost = __atomic_exchange_n(&process->lost, 0, __ATOMIC_RELAXED);

  lost += region != NULL ? __atomic_exchange_n(&region->lost, 0, __ATOMIC_RELAXED) : 0;
  lost -= lost < process->lostTold ? lost : process->lostTold;
  if (lost != 0 && !ControlLedgerCount(lost) && !(ControlLedgerFind(ProcessLog()) && ControlLedgerCount(lost)) && !lifeVoid())
    StoreMark(ProcessLog(), ControlSettings.recording);
}

/* lifeClose -- all went out: the last header block follows.  Then nothing in the region is needed any more.  FALSE: a log has not taken
 * it.  The room below the limit on file sizes is for those who have lost something. */
static Bool lifeClose(Process process)
{
  Res res;

  if (ProcessRegion(process) != NULL)
    lifeLedger(process);
  res = SendEnd(process); /* first: who is killed in between leaves a region that has nothing which the log lacks */
  if (res == ResOK)
    lifeForget(process);
  return res == ResOK;
}

/* lifeUnclosed -- a log has not taken that: the region says it, and stays.  Where nobody finds it readers see that the end is missing;
 * nothing is lost now, so what was lost before is counted elsewhere. */
static void lifeUnclosed(Process process, Bool found)
{
  if (!found) {
    lifeElsewhere(process);
    lifeForget(process);
    return;
  }
  (void)lifeLeft(process);
  SendStay(process);
}

/* lifeLast -- without a collector: what is full goes out, then a last header block.  If all went out and nobody goes on
 * that names no region: so readers know that nothing is missing; then the region goes.  If nobody finds the region all has to.
 * If the log does not take that header block the region stays, as if there were more: it says what the log should have. */
static void lifeLast(Process process)
{
  Bool others = ProcessOthers(process), found = ProcessFound(process), known = FALSE, all;

  if (others && !found)
    lifeHalt(process);
  all = SelfDrainAll(process, others ? SelfDrainHURRY : SelfDrainSETTLE);
  if (all && !others) {
    if (!lifeClose(process))
      lifeUnclosed(process, found);
    return;
  }
  all = others ? lifePrivate(process, &known) && !found : FALSE;
  if (!others)
    known = lifeLeft(process);
  lifeLastWords(!known); /* then they are the collector's */
  if ((all ? SendEnd : SendLeave)(process) != ResOK && !found)
    lifeElsewhere(process);
  lifeLastWords(FALSE);
}

/* lifeBeside -- with a collector: the ways out that the process has beside it had all that it has handed over.  Where
 * other threads go on, what they have committed so far goes out, and no last header block. */
static void lifeBeside(Process process)
{
  if (!ProcessOpen())
    return;
  if (ProcessOthers(process))
    (void)SelfDrainSnapshot(process, SelfDrainBESIDE);
  else
    (void)SendEnd(process); /* what a way out has not taken is in the collector's log */
}

/* lifeClockBar -- neither the processor's counter nor the system is to be asked for the time */
static void lifeClockBar(void)
{
  EventClockBar(EVENT_SLOW);
  (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlBARRED, __ATOMIC_SEQ_CST);
}

/* lifeAhead -- what can be had only as long as the system helps */
static void lifeAhead(Process process)
{
  (void)SendRegistry();
  if (ProcessRegion(process) != NULL)
    StoreAhead(&process->shared);
  (void)ProcessOwnMore(process, 0);
}

void ProcessBar(Bool counterOnly)
{
  Process process = ProcessGet();

  if (process == NULL)
    return;
  lifeClockBar();
  if (counterOnly)
    return;
  lifeAhead(process);
  RawBar();
}

void ProcessForbid(Bool known)
{
  static const long provide[6] = {0, 0, MADV_POPULATE_WRITE};
  static const long map[6] = {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0};
  static const long clock[6] = {CLOCK_MONOTONIC};
  Process process = ProcessGet();

  if (process != NULL && (!known || ForbidNext(SYS_madvise, provide) || ForbidNext(SYS_mmap, map)))
    lifeAhead(process);
  if (process != NULL && EVENT_SLOW && (!known || ForbidNext(SYS_clock_gettime, clock)))
    lifeClockBar();
  (known ? ForbidSet : ForbidUnknown)();
}

void ProcessUnbar(void)
{
  RawUnbar();
  (void)__atomic_fetch_and(&EVENT_CONTROL[EventControlCLOCK], ~(Word)EventControlBARRED, __ATOMIC_SEQ_CST);
  EventClockUnbar();
}

void ProcessEnd(void)
{
  Process process = ProcessIfReady();
  RawMaskStruct mask;
  int error = errno;
  Bool locked, known;

  if (process == NULL || process->pid != RawPid() ||
      (ProcessRegion(process) == NULL && !ProcessOpen()))
    return;
  RawBegin(&mask);
  HandCheck(process);
  lifeFlush(process);
  /* A thread that has been stopped with the lock does not keep the process from its end. */
  locked = ProcessLock(process);
  if (locked)
    ProcessSweep(process, TRUE);
  if (!ProcessCollected(process))
    lifeLast(process);
  else if (__atomic_load_n(&process->crowded, __ATOMIC_RELAXED))
    (void)lifePrivate(process, &known);
  if (ProcessCollected(process))
    lifeBeside(process);
  if (locked)
    ProcessUnlock(process);
  lifeFinish();
  RawEnd(&mask);
  errno = error;
}

/* lifeConnected -- does anything go elsewhere than to a file? */
static Bool lifeConnected(void)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL && PlinthClassOf(&ProcessPlinths[i]) != &PlinthClassFile)
      return TRUE;
  return FALSE;
}

ProcessLeave ProcessLeaves(void)
{
  Process process = ProcessIfReady();
  RawMaskStruct mask;
  int error = errno;

  if (process == NULL || process->pid != RawPid() || !ProcessSends())
    return ProcessLeaveNOTHING;
  RawBegin(&mask);
  HandCheck(process);
  RawEnd(&mask);
  errno = error;
  if (!ProcessFound(process))
    return ProcessLeaveALL;
  if (!ProcessOpen())
    return ProcessLeaveNOTHING;
  if (lifeConnected())
    return ProcessLeaveALL;
  if (ProcessCollected(process) || ProcessRegion(process) == NULL)
    return ProcessLeaveNOTHING;
  RawBegin(&mask);
  SendStay(process);
  RawEnd(&mask);
  errno = error;
  return ProcessLeaveFOREIGN;
}

void ProcessEnding(Bool ending)
{
  Process process = ProcessIfReady();
  Bool ours = process != NULL && process->pid == RawPid();
  RegionHeader region = ours ? ProcessRegion(process) : NULL;

  if (ours && process->halted != 0 && !ending) {
    ControlSet(process->halted, 0);
    process->halted = 0;
  }
  if (region != NULL)
    __atomic_store_n(&region->ending, ending ? EventClock(EVENT_SLOW) : 0, __ATOMIC_RELEASE);
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

static void lifeExit(void *unused)
{
  UNUSED(unused);
  ProcessEnd();
  ProcessEnding(TRUE);
}

void ProcessForkStart(void)
{
  static Bool started;

  if (!__atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    (void)pthread_atfork(lifeForks, NULL, lifeForked);
}

void ProcessStart(void)
{
  static Bool started;
  RawMaskStruct mask;

  if (ProcessAside())
    __atomic_store_n(&EVENT_CONTROL[0], 0, __ATOMIC_RELAXED);
  if (ProcessSleeps() || __atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    return;
  RawBegin(&mask);
  (void)ProcessGet();
  RawEnd(&mask);
  ControlFamily();
  (void)AverHandlerSet(TracebackAver);
  ProcessForkStart();
  /* Of no library, so that it runs where it stands in the row: registered before the program's own begin, last of
   * all. */
  (void)__cxa_atexit(lifeExit, NULL, NULL);
}

char *const *ProcessArguments;
uint64_t ProcessStack;

/* Before the program's own constructors. */
#if defined(__GLIBC__)
__attribute__((constructor(101))) static void lifeConstruct(int count, char *const *arguments)
{
  lifeBegun = TRUE;
  ProcessArguments = count > 0 ? arguments : NULL;
  ProcessStack = (Word)(arguments - 1); /* where the number of arguments is */
  ProcessStart();
  ProcessArguments = NULL;
}
#else
__attribute__((constructor(101))) static void lifeConstruct(void)
{
  lifeBegun = TRUE;
  ProcessStart();
}
#endif
