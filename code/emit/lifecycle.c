/* lifecycle.c -- the beginning of a process that emits, and its end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/emitter.h"
#include "emit/selfdrain.h"
#include "emit/send.h"
#include "handover/collectorsocket.h"
#include "handover/handover.h"

enum {
  lifecycleMoment = 1000000, /* ns */
  lifecycleMoments = 1000,   /* so many are waited for at the end */
  lifecycleBegins = 5000     /* and so many for another thread that sets the process up */
};

static Bool lifecycleRead; /* the environment; once, also for the children of fork */

/* What the child of a fork knows of its parent, in memory that the child inherits.  A process that has not set itself
 * up has no events, so its own children inherit what it knows. */
static struct {
  HeaderForkStruct parent; /* identity: the last process that set itself up; before: since then it may be forking */
  Bool forked;             /* this process is a child of it */
} lifecycleFork;

/* lifecycleForks -- in the parent */
static void lifecycleForks(void)
{
  Emitter emitter = EmitterIfReady();

  if (emitter == NULL)
    return;
  StoreForks(&emitter->shared);
  lifecycleFork.parent.thread = (uint32_t)RawCall(SYS_gettid);
  lifecycleFork.parent.before = EventClock(EVENT_SLOW);
}

/* lifecycleParent -- the process sets itself up: which process is its parent?  A fork that bypassed our handlers
 * happened at an unknown time, of which only the latest moment is known. */
static void lifecycleParent(Emitter emitter)
{
  if (lifecycleFork.parent.identity != 0)
    emitter->forked = lifecycleFork.parent;
  if (emitter->forked.identity != 0 && !lifecycleFork.forked) {
    emitter->forked.thread = 0;
    emitter->forked.before = emitter->forked.after = EventClock(EVENT_SLOW);
  }
  lifecycleFork.parent = (HeaderForkStruct){.identity = emitter->identity};
  lifecycleFork.forked = FALSE;
}

/* lifecycleForked -- in the child: the thread's state was its parent's, and its place may soon belong to another
 * thread of the child */
static void lifecycleForked(void)
{
  EventThreadSelf = NULL;
  if (!lifecycleFork.forked)
    lifecycleFork.parent.after = EventClock(EVENT_SLOW);
  lifecycleFork.forked = TRUE;
  ControlJoin();
  DescriptorForked();
  StoreForked();
  if (ControlSettings.only != 0)
    ControlSet(0, 0);
}

/* lifecycleSetUp -- set up everything that the first event needs; one thread does so, once, and again in each child of
 * a fork */
static void lifecycleSetUp(Emitter emitter)
{
  Bool slow;

  if (!lifecycleRead) {
    RawVoice(); /* before anything is opened here */
    ControlClock();
  }
  slow = EventClockChoose();
  emitter->pid = RawPid();
  SendPrepare(emitter);
  DescriptorForked(); /* whatever made this process */
  emitter->identity = RawRandom();
  ControlJoin();
  EVENT_CONTROL[EventControlCLOCK] = slow ? EventControlSLOW : 0;
  EventClockSync(&emitter->sync, slow);
  lifecycleParent(emitter);
  EmitterThreadsBegin();
  if (!lifecycleRead)
    ControlFromEnvironment();
  lifecycleRead = TRUE;
  emitter->blockSize = ControlSettings.blockSize;
  EmitterShareAlone(emitter);
  /* Where nothing is sent, a reader of a core file needs it all the same. */
  if (EmitterRegion(emitter) == NULL) {
    (void)EmitterOwnMore(emitter, 0);
    (void)SendHeader(emitter);
  }
}

static Bool lifecycleBegun; /* the constructors of the library run, or have run */

Bool EmitterAside(void)
{
  return RawThreadSANITIZED;
}

Bool EmitterSleeps(void)
{
  return EmitterAside() || (RawSANITIZED && !lifecycleBegun);
}

/* lifecycleWait -- another thread sets the process up.  It waits for the collector and the file system only, and no
 * thread that waits here has a lock that it needs.  FALSE: it does not finish all the same, because it was stopped, or
 * its state was written over.  That is found out once; from then on events are lost at once, and counted, until it
 * does. */
static Bool lifecycleWait(Emitter emitter)
{
  unsigned tries;

  for (tries = 0; __atomic_load_n(&emitter->state, __ATOMIC_ACQUIRE) != 2; ++tries) {
    if (tries == lifecycleBegins || __atomic_load_n(&emitter->stuck, __ATOMIC_RELAXED)) {
      __atomic_store_n(&emitter->stuck, TRUE, __ATOMIC_RELAXED);
      return FALSE;
    }
    RawNap(lifecycleMoment);
  }
  return TRUE;
}

Emitter EmitterGet(void)
{
  Emitter emitter = UNLIKELY(EmitterSleeps()) ? NULL : EmitterMap();
  unsigned none = 0;

  if (emitter == NULL || __atomic_load_n(&emitter->state, __ATOMIC_ACQUIRE) == 2)
    return emitter;
  if (__atomic_compare_exchange_n(&emitter->state, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    lifecycleSetUp(emitter);
    __atomic_store_n(&emitter->state, 2, __ATOMIC_RELEASE);
  }
  return lifecycleWait(emitter) ? emitter : NULL;
}

void EmitterMiss(void)
{
  if (!EmitterSleeps() && EmitterMap() != NULL)
    EmitterLose(EmitterMap());
}

/* lifecycleFinish -- wait until kept messages of all ways out have arrived, a second for each at most */
static void lifecycleFinish(void)
{
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) != NULL)
      (void)PlinthFinish(&EmitterPlinths[i], BlockMessageEvents);
}

/* lifecycleFlush -- send the calling thread's blocks */
static void lifecycleFlush(Emitter emitter)
{
  Thread thread = EventThreadSelf != NULL && EventThreadSelf->self != NULL ? (Thread)(void *)EventThreadSelf : NULL;

  if (thread != NULL && !thread->inside)
    ThreadFlush(emitter, thread, FALSE, TRUE);
  if (thread != NULL && thread->nested != NULL)
    ThreadFlush(emitter, thread->nested, FALSE, TRUE);
}

/* lifecycleForget -- nothing in the region is needed any more.  If this thread emits again, its events go to a new
 * one. */
static void lifecycleForget(Emitter emitter)
{
  Index i;

  for (i = 0; i < emitter->threads; ++i)
    ThreadForget(EmitterThread(emitter, i), &emitter->shared);
  if (EmitterRegion(emitter) == NULL)
    return;
  StoreUnlink(&emitter->shared);
  emitter->lost += __atomic_load_n(&EmitterRegion(emitter)->lost, __ATOMIC_RELAXED);
  __atomic_store_n(&emitter->shared.header, NULL, __ATOMIC_RELEASE);
}

/* lifecycleLostTake -- the events that the process has counted as lost, here and in its region; from here on the
 * caller counts them */
static uint64_t lifecycleLostTake(Emitter emitter)
{
  RegionHeader region = EmitterRegion(emitter);

  return __atomic_exchange_n(&emitter->lost, 0, __ATOMIC_RELAXED) +
         (region != NULL ? __atomic_exchange_n(&region->lost, 0, __ATOMIC_RELAXED) : 0);
}

/* lifecycleLedger -- from here on no other process counts in the region.  Where there was no room for its page none
 * has, and touching the page would kill the program. */
static void lifecycleLedger(Emitter emitter)
{
  if (EmitterRegion(emitter) != NULL && StoreProvide(&emitter->shared, RegionCONTROL, EventControlSIZE))
    RegionLedgerClose(EmitterRegion(emitter));
}

/* lifecycleLost -- so many events end with the process, which is counted where readers find it: in the region, or in
 * the header block.  Who has a collector, and a region that ends with it, tells the collector of all that are lost:
 * that has the last word in the log.
 *
 * others   other threads go on
 * returns  whether the collector knows */
static Bool lifecycleLost(Emitter emitter, uint64_t lost, Bool others)
{
  RegionHeader region = EmitterRegion(emitter);
  uint64_t *count = region != NULL ? &region->lost : &emitter->lost;
  uint64_t away = region != NULL ? __atomic_load_n(&region->pool.away, __ATOMIC_RELAXED) : 0;
  Bool ends = !EmitterFound(emitter);
  char room[64];

  if (away != 0) /* what is counted as away in private memory is lost from here on, and counts once */
    (void)__atomic_fetch_sub(&region->pool.away, away < lost ? away : lost, __ATOMIC_RELAXED);
  if (ends) {
    lifecycleLedger(emitter);
    lost += lifecycleLostTake(emitter);
  }
  if (lost == 0)
    return FALSE;
  RawSay("not all could be written", EmitterLog(),
         TextMake(room, sizeof room, "%s%ju event%s lost", others ? "at least " : "", lost,
                  lost == 1 ? " is" : "s are"));
  if (ends && CollectorSocketLost(lost))
    return TRUE;
  (void)__atomic_fetch_add(count, lost, __ATOMIC_RELAXED);
  return FALSE;
}

/* lifecycleHalt -- other threads go on, and their memory could not be found: the process's part of the log ends here.
 * Switch all kinds off for them, and give them a moment for the events that they have begun. */
static void lifecycleHalt(Emitter emitter)
{
  emitter->halted |= (uint32_t)(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & EVENT_KINDS);
  ControlSet(0, 0);
  RawNap(lifecycleMoment);
}

/* lifecyclePrivate -- what other threads have in private memory is sent, by us or by those that are about to: they end
 * when the process does
 *
 * knownReturn  whether the collector knows how much that is which could not be sent
 * returns      FALSE: some could not */
static Bool lifecyclePrivate(Emitter emitter, Bool *knownReturn)
{
  uint64_t refused = SelfDrainSnapshot(emitter, SelfDrainPRIVATE);
  unsigned tries;

  for (tries = 0; tries < lifecycleMoments && refused == 0 && SelfDrainPrivate(emitter, FALSE); ++tries)
    RawNap(lifecycleMoment);
  refused += SelfDrainLeft(emitter);
  *knownReturn = lifecycleLost(emitter, refused, TRUE);
  return refused == 0;
}

/* lifecycleLeft -- events that no way out has taken stay in the region, if that outlives us; else they are lost.
 * Returns whether the collector knows how many */
static Bool lifecycleLeft(Emitter emitter)
{
  if (EmitterFound(emitter)) {
    __atomic_store_n(&EmitterRegion(emitter)->hand.unwritten, TRUE, __ATOMIC_RELAXED);
    RawSay("not all could be written", emitter->shared.path,
           "the rest stays there, and is read with the log; eventrec --clean removes it, and adds it to a log that is "
           "a file");
  }
  return lifecycleLost(emitter, SelfDrainLeft(emitter), FALSE);
}

/* lifecycleLastWords -- what comes now may use the room that is left for it below the limit on file sizes; or no
 * longer */
static void lifecycleLastWords(Bool last)
{
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    EmitterPlinths[i].last = last;
}

/* lifecycleVoid -- is the log there, and empty?  Then readers see that everything is missing. */
static Bool lifecycleVoid(void)
{
  struct stat status;
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) != NULL && DescriptorOurs(&EmitterPlinths[i], &status) >= 0 &&
        S_ISREG(status.st_mode) && status.st_size == 0)
      return TRUE;
  return FALSE;
}

/* lifecycleElsewhere -- no way out takes the header block that says how many events are lost, and our memory could not
 * be found: count them in another process's region.  If there is none, an empty file beside a log that is not empty
 * shows that there was a process. */
static void lifecycleElsewhere(Emitter emitter)
{
  uint64_t lost = lifecycleLostTake(emitter);

  lost -= lost < emitter->lostTold ? lost : emitter->lostTold;
  if (lost != 0 && !ControlLedgerCount(lost) && !(ControlLedgerFind(EmitterLog()) && ControlLedgerCount(lost)) &&
      !lifecycleVoid())
    StoreMark(EmitterLog(), ControlSettings.recording);
}

/* lifecycleClose -- every block was sent: send the last header block.  Then nothing in the region is needed any more.
 * If a log does not take it the region says so, and stays; if the region could not be found, readers see that the end
 * is missing: no event is lost now, and those that were lost before are counted elsewhere.  Who has lost nothing does
 * without the room that is left below the limit on file sizes. */
static void lifecycleClose(Emitter emitter, Bool found)
{
  Res res;

  lifecycleLedger(emitter);
  res = SendEnd(emitter); /* first: if the process is killed in between, its region has no event that the log lacks */
  if (res != ResOK && found) {
    (void)lifecycleLeft(emitter);
    (void)SendLeave(emitter, FALSE);
    return;
  }
  if (res != ResOK)
    lifecycleElsewhere(emitter);
  lifecycleForget(emitter);
}

/* lifecycleLast -- without a collector: what is full goes out, then a last header block.  If all went out and nobody
 * goes on that names no region: so readers know that nothing is missing; then the region goes.  If nobody finds the
 * region all has to.  If the log does not take that header block the region stays, as if there were more: it says what
 * the log should have. */
static void lifecycleLast(Emitter emitter)
{
  Bool others = EmitterOthers(emitter), found = EmitterFound(emitter), known = FALSE, all;

  if (others && !found)
    lifecycleHalt(emitter);
  all = SelfDrainAll(emitter, others ? SelfDrainHURRY : SelfDrainSETTLE);
  if (all && !others) {
    lifecycleClose(emitter, found);
    return;
  }
  all = others ? lifecyclePrivate(emitter, &known) && !found : FALSE;
  if (!others)
    known = lifecycleLeft(emitter);
  lifecycleLastWords(!known); /* then they are the collector's */
  if ((all ? SendEnd(emitter) : SendLeave(emitter, TRUE)) != ResOK && !found)
    lifecycleElsewhere(emitter);
  lifecycleLastWords(FALSE);
}

/* lifecycleBeside -- with a collector: the ways out that the process has beside it had all that it has handed over.
 * Where other threads go on, what they have committed so far goes out, and no last header block. */
static void lifecycleBeside(Emitter emitter)
{
  if (!EmitterOpen())
    return;
  if (EmitterOthers(emitter))
    (void)SelfDrainSnapshot(emitter, SelfDrainBESIDE);
  else
    (void)SendEnd(emitter); /* blocks that a way out refused are in the collector's log */
}

/* lifecycleClockBar -- neither the processor's counter nor the system is to be asked for the time */
static void lifecycleClockBar(void)
{
  EventClockBar(EVENT_SLOW);
  (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlBARRED, __ATOMIC_SEQ_CST);
}

/* lifecycleAhead -- do now what the system may refuse later */
static void lifecycleAhead(Emitter emitter)
{
  (void)SendRegistry();
  if (EmitterRegion(emitter) != NULL)
    StoreAhead(&emitter->shared);
  (void)EmitterOwnMore(emitter, 0);
}

void EmitterBar(Bool counterOnly)
{
  Emitter emitter = EmitterGet();

  if (emitter == NULL)
    return;
  lifecycleClockBar();
  if (counterOnly)
    return;
  lifecycleAhead(emitter);
  RawBar();
}

void EmitterForbid(Bool known)
{
  static const long provide[6] = {0, 0, MADV_POPULATE_WRITE};
  static const long map[6] = {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0};
  static const long clock[6] = {CLOCK_MONOTONIC};
  Emitter emitter = EmitterGet();

  if (emitter != NULL && (!known || ForbidNext(SYS_madvise, provide) || ForbidNext(SYS_mmap, map)))
    lifecycleAhead(emitter);
  if (emitter != NULL && EVENT_SLOW && (!known || ForbidNext(SYS_clock_gettime, clock)))
    lifecycleClockBar();
  if (known)
    ForbidSet();
  else
    ForbidUnknown(TRUE);
}

void EmitterUnbar(void)
{
  RawUnbar();
  (void)__atomic_fetch_and(&EVENT_CONTROL[EventControlCLOCK], ~(Word)EventControlBARRED, __ATOMIC_SEQ_CST);
  EventClockUnbar();
}

void EmitterEnd(void)
{
  Emitter emitter = EmitterIfReady();
  RawMaskStruct mask;
  Bool locked, known;

  if (emitter == NULL || emitter->pid != RawPid() ||
      (EmitterRegion(emitter) == NULL && !EmitterOpen()))
    return;
  RawBegin(&mask);
  HandoverPoll(emitter);
  lifecycleFlush(emitter);
  /* A thread that has been stopped with the lock does not keep the process from its end. */
  locked = EmitterLock(emitter);
  if (locked)
    EmitterSweep(emitter, TRUE);
  if (!EmitterCollected(emitter))
    lifecycleLast(emitter);
  else if (__atomic_load_n(&emitter->crowded, __ATOMIC_RELAXED))
    (void)lifecyclePrivate(emitter, &known);
  if (EmitterCollected(emitter))
    lifecycleBeside(emitter);
  if (locked)
    EmitterUnlock(emitter);
  lifecycleFinish();
  RawEnd(&mask);
}

/* lifecycleConnected -- does anything go elsewhere than to a file? */
static Bool lifecycleConnected(void)
{
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) != NULL && PlinthClassOf(&EmitterPlinths[i]) != &PlinthClassFile)
      return TRUE;
  return FALSE;
}

EmitterLeave EmitterLeaves(void)
{
  Emitter emitter = EmitterIfReady();
  EmitterLeave leave = EmitterLeaveNOTHING;
  RawMaskStruct mask;

  if (emitter == NULL || emitter->pid != RawPid() || !EmitterSends())
    return leave;
  RawBegin(&mask);
  HandoverPoll(emitter);
  if (!EmitterFound(emitter) || lifecycleConnected()) {
    leave = EmitterLeaveALL;
  } else if (EmitterOpen() && !EmitterCollected(emitter)) {
    (void)SendLeave(emitter, FALSE);
    leave = EmitterLeaveFOREIGN;
  }
  RawEnd(&mask);
  return leave;
}

void EmitterEnding(Bool ending)
{
  Emitter emitter = EmitterIfReady();
  Bool ours = emitter != NULL && emitter->pid == RawPid();
  RegionHeader region = ours ? EmitterRegion(emitter) : NULL;

  if (ours && emitter->halted != 0 && !ending) {
    ControlSet(emitter->halted, 0);
    emitter->halted = 0;
  }
  if (region != NULL)
    __atomic_store_n(&region->ending, ending ? EventClock(EVENT_SLOW) : 0, __ATOMIC_RELEASE);
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

static void lifecycleExit(void *unused)
{
  UNUSED(unused);
  EmitterEnd();
  EmitterEnding(TRUE);
}

void EmitterForkStart(void)
{
  static Bool started;

  if (!__atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    (void)pthread_atfork(lifecycleForks, NULL, lifecycleForked);
}

void EmitterStart(void)
{
  static Bool started;
  RawMaskStruct mask;

  if (EmitterAside())
    __atomic_store_n(&EVENT_CONTROL[0], 0, __ATOMIC_RELAXED);
  if (EmitterSleeps() || __atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    return;
  RawBegin(&mask);
  (void)EmitterGet();
  RawEnd(&mask);
  ControlFamily();
  (void)AverHandlerSet(TracebackAver);
  EmitterForkStart();
  /* Of no library, so that it runs where it stands in the row: registered before the program's own begin, last of
   * all. */
  (void)__cxa_atexit(lifecycleExit, NULL, NULL);
}

char *const *EmitterArguments;
uint64_t EmitterStack;

/* Before the program's own constructors. */
__attribute__((constructor(101))) static void lifecycleConstruct(int count, char *const *arguments)
{
  lifecycleBegun = TRUE;
  EmitterArguments = count > 0 ? arguments : NULL;
  EmitterStack = (Word)(arguments - 1); /* where the number of arguments is */
  EmitterStart();
  EmitterArguments = NULL;
}
