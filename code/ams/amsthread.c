/* amsthread.c -- threads whose stacks are roots: registering them, and stopping them by a signal
 *
 * Always true: amsThreadRound is odd while threads are stopped; who has stopped waits until it changes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .stop .fork      Tests: test/ams/amstest.c, test/ams/graphtest.c
 */
#include "ams/amsdata.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "mm/forks.h"

enum {
  amsThreadAGAINMS = 10, /* ms after which a thread that has not stopped gets the signal again */
  amsThreadAGAIN = 100   /* times; then the collection does not begin */
};

__thread AMSThread AMSThreadSelf;

static LockStruct amsThreadLock = LockINITIALIZER;
static RingStruct amsThreads = RingINITIALIZER(amsThreads);
static UnitsStruct amsThreadUnits;
static int amsThreadSignal = SIGPWR;
static Bool amsThreadReady;        /* handler and key are set */
static pthread_key_t amsThreadKey; /* whose destructor deregisters a thread that ends */
static uint32_t amsThreadRound;    /* odd: threads are to stop, or have */
static uint32_t amsThreadStopped;  /* so many have, in this round */

#define amsThreadOf(node) RING_ELT(struct AMSThreadStruct, ring, node)

uint64_t AMSNow(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void AMSLockClaim(Lock lock)
{
#if defined(__SANITIZE_THREAD__) /* which holds signals back until a function is called that it knows */
  while (!LockTry(lock))
    (void)usleep(10);
#else
  LockClaim(lock);
#endif
}

void AMSClaim(AMS ams)
{
  Lock lock = &AMSPool(ams)->lock;

  if (LIKELY(LockTry(lock)))
    return;
  (void)__atomic_add_fetch(&ams->waiting, 1, __ATOMIC_RELAXED);
  AMSLockClaim(lock);
  (void)__atomic_sub_fetch(&ams->waiting, 1, __ATOMIC_RELAXED);
}

void AMSThreadsClaim(void) { AMSLockClaim(&amsThreadLock); }
void AMSThreadsRelease(void) { LockRelease(&amsThreadLock); }

static void amsThreadWait(uint32_t *word, uint32_t value, unsigned ms)
{
  struct timespec time = { 0, (long)ms * 1000000 };

  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ms > 0 ? &time : NULL, NULL, 0);
}

static void amsThreadWake(uint32_t *word)
{
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* amsThreadHandle -- the signal: stop until the round is over
 *
 * The registers of the thread are above this frame, in what the kernel has saved.  Who is on another stack than its own
 * goes on, and gets the signal again. */
static void amsThreadHandle(int signal, siginfo_t *info, void *context)
{
  AMSThread self = AMSThreadSelf;
  uint32_t round = __atomic_load_n(&amsThreadRound, __ATOMIC_ACQUIRE);
  Word sp = (Word)__builtin_frame_address(0);
  int error = errno;

  UNUSED(signal);
  UNUSED(info);
  UNUSED(context);
  if (self == NULL || (round & 1) == 0 || self->round == round || sp < self->low || sp >= self->high)
    return;
  self->sp = sp;
  __atomic_store_n(&self->round, round, __ATOMIC_RELEASE);
  (void)__atomic_add_fetch(&amsThreadStopped, 1, __ATOMIC_RELEASE);
  amsThreadWake(&amsThreadStopped);
  while (__atomic_load_n(&amsThreadRound, __ATOMIC_ACQUIRE) == round)
    amsThreadWait(&amsThreadRound, round, 0);
  errno = error;
}

/* ---- Stopping ---- */

/* amsThreadSend -- the signal to all that have not stopped; counts how many threads must */
static void amsThreadSend(uint32_t round, AMSStopStruct *stop)
{
  Ring node, after;
  int error = errno;

  stop->threads = 0;
  RING_FOR(node, &amsThreads, after) {
    AMSThread thread = amsThreadOf(node);
    if (thread == AMSThreadSelf)
      continue;
    if (__atomic_load_n(&thread->round, __ATOMIC_ACQUIRE) != round) {
      ++stop->signals;
      if (syscall(SYS_tgkill, getpid(), thread->tid, amsThreadSignal) != 0 && errno == ESRCH) {
        RingRemove(&thread->ring); /* it ended without a word; its place is lost */
        continue;
      }
    }
    ++stop->threads;
  }
  errno = error;
}

void AMSThreadsResume(void)
{
  __atomic_store_n(&amsThreadRound, amsThreadRound + 1, __ATOMIC_RELEASE);
  amsThreadWake(&amsThreadRound);
}

/* amsThreadAway -- is the calling thread, which is registered, on another stack than its own (a coroutine's, or one for
 * signals)?  Then what its own one refers to cannot be found: where it was left is not known. */
static __attribute__((noinline)) Bool amsThreadAway(void)
{
  AMSThread self = AMSThreadSelf;
  Word sp = (Word)__builtin_frame_address(0);

  return self != NULL && (sp < self->low || sp >= self->high);
}

Res AMSThreadsStop(AMSStopStruct *stopReturn)
{
  uint32_t round = amsThreadRound + 1;
  AMSStopStruct stop = { 0, 0, 0 };
  unsigned again;

  AVER((round & 1) == 1);
  if (amsThreadAway()) {
    *stopReturn = (AMSStopStruct){ .threads = 1 };
    return ResFAIL;
  }
  __atomic_store_n(&amsThreadStopped, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&amsThreadRound, round, __ATOMIC_RELEASE);
  for (again = 0; again < amsThreadAGAIN; ++again) {
    uint64_t begin = AMSNow();
    amsThreadSend(round, &stop);
    while ((stop.stopped = __atomic_load_n(&amsThreadStopped, __ATOMIC_ACQUIRE)) < stop.threads &&
           AMSNow() - begin < (uint64_t)amsThreadAGAINMS * 1000000)
      amsThreadWait(&amsThreadStopped, stop.stopped, amsThreadAGAINMS);
    *stopReturn = stop;
    if (stop.stopped >= stop.threads)
      return ResOK;
  }
  AMSThreadsResume();
  return ResFAIL;
}

/* amsThreadScanSelf -- the calling thread's own stack, with its registers */
static __attribute__((noinline)) void amsThreadScanSelf(AMS ams, AMSThread self)
{
  __builtin_unwind_init(); /* lays all registers that a callee must keep on the stack */
  AMSFixArea(ams, (Word)__builtin_frame_address(0) - 32 * sizeof(Word), self->high);
}

void AMSThreadsScan(AMS ams)
{
  Ring node, after;

  RING_FOR(node, &amsThreads, after) {
    AMSThread thread = amsThreadOf(node);
    Addr *slot = __atomic_load_n(&thread->slot, __ATOMIC_RELAXED);
    Count refs = ams->refs + ams->scan.count;
    if (slot != NULL)
      AMSFixAmbig(ams, (Word)__atomic_load_n(slot, __ATOMIC_RELAXED));
    if (thread == AMSThreadSelf)
      amsThreadScanSelf(ams, thread);
    else
      AMSFixArea(ams, thread->sp, thread->high);
    thread->refs = ams->refs + ams->scan.count - refs;
  }
}

void AMSThreadsTell(AMS ams)
{
  Ring node, after;

  RING_FOR(node, &amsThreads, after) {
    AMSThread thread = amsThreadOf(node);
    EVENT_PWPWW(TraceScan, AMSPool(ams), ams->trace, (void *)thread->high, AMSScanSTACK, thread->refs);
    UNUSED(thread);
  }
}

/* ---- Registering ---- */

static void amsThreadEnd(void *unused)
{
  UNUSED(unused);
  AMSThreadDeregister();
}

static void (*amsThreadForked)(void); /* in the child */
static Bool amsThreadForkHeld; /* amsThreadLock is, by a fork */

/* A fork has all locks but those of whole collections, so no collection begins or goes on meanwhile; the child has the
 * thread that forked, and no other. */
static void amsThreadForkPrepare(void)
{
  amsThreadForkHeld = !MMForkAlone();
  if (amsThreadForkHeld)
    LockClaim(&amsThreadLock);
  MMForkPrepare();
}

static void amsThreadForkDone(void)
{
  MMForkDone();
  if (amsThreadForkHeld)
    LockRelease(&amsThreadLock);
}

static void amsThreadForkChild(void)
{
  Ring node, after;

  RING_FOR(node, &amsThreads, after)
    if (amsThreadOf(node) != AMSThreadSelf) {
      RingRemove(node);
      UnitsFree(&amsThreadUnits, amsThreadOf(node));
    }
  if (AMSThreadSelf != NULL)
    AMSThreadSelf->tid = (int)syscall(SYS_gettid);
  amsThreadForked();
  amsThreadForkDone();
}

Res AMSThreadsFork(void (*forked)(void))
{
  static Bool watched;

  __atomic_store_n(&amsThreadForked, forked, __ATOMIC_RELAXED);
  return __atomic_exchange_n(&watched, TRUE, __ATOMIC_RELAXED) ||
                 pthread_atfork(amsThreadForkPrepare, amsThreadForkDone, amsThreadForkChild) == 0
             ? ResOK : ResMEMORY;
}

/* amsThreadPrepare -- before the first thread is registered, with the lock */
static Res amsThreadPrepare(void)
{
  struct sigaction action = { .sa_sigaction = amsThreadHandle, .sa_flags = SA_SIGINFO | SA_RESTART };

  if (amsThreadReady)
    return ResOK;
  (void)sigfillset(&action.sa_mask); /* no handler of the program's runs in a thread that is to be stopped */
  if (sigaction(amsThreadSignal, &action, NULL) != 0 || pthread_key_create(&amsThreadKey, amsThreadEnd) != 0)
    return ResFAIL;
  UnitsInit(&amsThreadUnits, sizeof(struct AMSThreadStruct));
  amsThreadReady = TRUE;
  return ResOK;
}

Res AMSSignalSet(int signal)
{
  Res res = ResLIMIT;

  LockClaim(&amsThreadLock);
  if (!amsThreadReady) {
    amsThreadSignal = signal;
    res = ResOK;
  }
  LockRelease(&amsThreadLock);
  return res;
}

/* amsThreadStack -- the extent of the calling thread's stack */
static Res amsThreadStack(Word *lowReturn, Word *highReturn)
{
  pthread_attr_t attr;
  void *low;
  size_t size;
  Bool known;

  if (pthread_getattr_np(pthread_self(), &attr) != 0)
    return ResUNIMPL;
  known = pthread_attr_getstack(&attr, &low, &size) == 0;
  (void)pthread_attr_destroy(&attr);
  if (!known)
    return ResUNIMPL;
  *lowReturn = (Word)low;
  *highReturn = (Word)low + size;
  return ResOK;
}

Res AMSThreadRegister(void)
{
  AMSThread thread = NULL;
  Word low, high;
  sigset_t set;
  Res res;

  if (AMSThreadSelf != NULL)
    return ResOK;
  res = amsThreadStack(&low, &high);
  if (res != ResOK)
    return res;
  LockClaim(&amsThreadLock);
  res = amsThreadPrepare();
  if (res == ResOK && (thread = UnitsAlloc(&amsThreadUnits)) == NULL)
    res = ResMEMORY;
  if (res == ResOK) {
    thread->low = low;
    thread->high = high;
    thread->tid = (int)syscall(SYS_gettid);
    RingInit(&thread->ring);
    RingInsertBefore(&amsThreads, &thread->ring);
    AMSThreadSelf = thread;
  }
  LockRelease(&amsThreadLock);
  if (res != ResOK)
    return res;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, amsThreadSignal);
  (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  (void)pthread_setspecific(amsThreadKey, thread);
  return ResOK;
}

void AMSThreadDeregister(void)
{
  AMSThread thread = AMSThreadSelf;

  if (thread == NULL)
    return;
  AMSThreadsClaim();
  AMSThreadSelf = NULL;
  RingRemove(&thread->ring);
  UnitsFree(&amsThreadUnits, thread);
  LockRelease(&amsThreadLock);
  (void)pthread_setspecific(amsThreadKey, NULL);
}
