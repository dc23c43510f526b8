/* shimsync.c -- the functions of POSIX threads, wrapped, but for those that begin and end threads (shimthread.c)
 *
 * Who gets the lock at once has asked for nothing: one event.  Who must wait first fails to get it, tells, and then
 * waits.  A release is told before it happens: whoever has the lock next tells behind it.
 *
 * Most waits for condition variables and semaphores are points where a thread may be cancelled.  Then a handler tells
 * the end of the wait, with the error ECANCELED, before the thread's own handlers run.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimsync.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/process.h"
#include "malloc/shimlookup.h"

/* ---- Looking them up ---- */

/* syncSymbol -- what would have been called; of libc's condition variables, the version that programs of this century
 * mean.  Their first version is an other thing by the same name; clockwait, which is younger, has none.  A search for that
 * version passes over other libraries, whose functions have none. */
static void syncSymbol(void *function, const char *name)
{
  Bool old = strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name, "pthread_cond_clockwait") != 0;
  void *symbol = ShimSymbol(RTLD_NEXT, name), *version = old ? ShimSymbolVersion(name, "GLIBC_2.3.2") : NULL;
  Word base, limit;

  if (version != NULL && symbol != version && ShimExtent(&base, &limit, version) && (Word)symbol - base < limit - base)
    symbol = version;
  /* A libc that lacks it has no callers of it. */
  if (symbol != NULL)
    __atomic_store_n((void **)function, symbol, __ATOMIC_RELEASE);
}

#define X(returns, member, name, parameters, arguments) \
  static returns syncFirst_##member parameters \
  { \
    syncSymbol(&SyncNext.member, name); \
    return SyncNext.member arguments; \
  }
SYNC_FUNCTIONS(X)
#undef X

SyncNextStruct SyncNext = {
#define X(returns, member, name, parameters, arguments) syncFirst_##member,
  SYNC_FUNCTIONS(X)
#undef X
};

void SyncStart(void)
{
  static Bool started;

  if (LIKELY(__atomic_load_n(&started, __ATOMIC_ACQUIRE)))
    return;
#define X(returns, member, name, parameters, arguments) syncSymbol(&SyncNext.member, name);
  SYNC_FUNCTIONS(X)
#undef X
  __atomic_store_n(&started, TRUE, __ATOMIC_RELEASE);
}

__thread unsigned SyncThreadNumber __attribute__((tls_model("initial-exec")));

__attribute__((cold, noinline)) unsigned SyncThreadAsk(void)
{
  long number = RawCall(SYS_gettid);

  SyncThreadNumber = number > 0 ? (unsigned)number : 0; /* it may not be asked */
  return SyncThreadNumber;
}

void SyncForked(void)
{
  SyncThreadNumber = 0;
}

/* ---- Locks ---- */

/* syncTimely -- may a wait have this clock and this limit?  Some functions refuse others before they look at what is
 * waited for: those are not to be tried then.  `limit` is read as the function itself would. */
static inline Bool syncTimely(clockid_t clock, SyncTime limit)
{
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && limit->tv_nsec >= 0 && limit->tv_nsec < 1000000000;
}

/* SYNC_LOCK -- the wrapper of a function that takes a lock: `try`, and if that is not to be had, tell and `wait`; which
 * `timely` says that it does not refuse at once */
#define SYNC_LOCK(name, parameters, try, wait, timely, request, acquire) \
  SHIM int name parameters \
  { \
    int result; \
    if (!EVENT_PRESENT(MutexAcquire) || !SYNC_WANTED) \
      return wait; \
    result = (timely) ? try : EBUSY; \
    if (result == EBUSY) { \
      request; \
      result = wait; \
    } \
    acquire; \
    return result; \
  }

/* Mutexes.  A robust one whose owner died, and a recursive one, tell by their result, and by one acquisition for each
 * release. */

#define MUTEX_LOCK(name, parameters, wait, timely) \
  SYNC_LOCK(name, parameters, SyncNext.mutexTry(mutex), wait, timely, EVENT_UP(MutexRequest, SyncThread(), mutex), \
            EVENT_UPU(MutexAcquire, SyncThread(), mutex, result))

MUTEX_LOCK(pthread_mutex_lock, (pthread_mutex_t *mutex), SyncNext.mutexLock(mutex), TRUE)
MUTEX_LOCK(pthread_mutex_timedlock, (pthread_mutex_t *mutex, SyncTime limit), SyncNext.mutexTimed(mutex, limit), TRUE)
MUTEX_LOCK(pthread_mutex_clocklock, (pthread_mutex_t *mutex, clockid_t clock, SyncTime limit),
           SyncNext.mutexClock(mutex, clock, limit), clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
SYNC_AFTER(pthread_mutex_trylock, (pthread_mutex_t *mutex), SyncNext.mutexTry(mutex),
           EVENT_UPU(MutexAcquire, SyncThread(), mutex, result))
SYNC_BEFORE(pthread_mutex_unlock, (pthread_mutex_t *mutex), SyncNext.mutexUnlock(mutex),
            EVENT_UP(MutexRelease, SyncThread(), mutex))
SYNC_DONE(pthread_mutex_init, (pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes),
          SyncNext.mutexInit(mutex, attributes), EVENT_UP(MutexInit, SyncThread(), mutex))
SYNC_DONE(pthread_mutex_destroy, (pthread_mutex_t *mutex), SyncNext.mutexDestroy(mutex),
          EVENT_UP(MutexDestroy, SyncThread(), mutex))

/* Read-write locks */

#define RWLOCK_LOCK(name, parameters, try, wait, timely, write) \
  SYNC_LOCK(name, parameters, try, wait, timely, EVENT_UPU(RwlockRequest, SyncThread(), lock, write), \
            EVENT_UPUU(RwlockAcquire, SyncThread(), lock, write, result))
#define RWLOCK_READ(name, parameters, wait, timely) \
  RWLOCK_LOCK(name, parameters, SyncNext.rwlockTryRead(lock), wait, timely, 0)
#define RWLOCK_WRITE(name, parameters, wait, timely) \
  RWLOCK_LOCK(name, parameters, SyncNext.rwlockTryWrite(lock), wait, timely, 1)

RWLOCK_READ(pthread_rwlock_rdlock, (pthread_rwlock_t *lock), SyncNext.rwlockRead(lock), TRUE)
RWLOCK_WRITE(pthread_rwlock_wrlock, (pthread_rwlock_t *lock), SyncNext.rwlockWrite(lock), TRUE)
RWLOCK_READ(pthread_rwlock_timedrdlock, (pthread_rwlock_t *lock, SyncTime limit),
            SyncNext.rwlockTimedRead(lock, limit), syncTimely(CLOCK_REALTIME, limit))
RWLOCK_WRITE(pthread_rwlock_timedwrlock, (pthread_rwlock_t *lock, SyncTime limit),
             SyncNext.rwlockTimedWrite(lock, limit), syncTimely(CLOCK_REALTIME, limit))
RWLOCK_READ(pthread_rwlock_clockrdlock, (pthread_rwlock_t *lock, clockid_t clock, SyncTime limit),
            SyncNext.rwlockClockRead(lock, clock, limit), syncTimely(clock, limit))
RWLOCK_WRITE(pthread_rwlock_clockwrlock, (pthread_rwlock_t *lock, clockid_t clock, SyncTime limit),
             SyncNext.rwlockClockWrite(lock, clock, limit), syncTimely(clock, limit))
SYNC_AFTER(pthread_rwlock_tryrdlock, (pthread_rwlock_t *lock), SyncNext.rwlockTryRead(lock),
           EVENT_UPUU(RwlockAcquire, SyncThread(), lock, 0, result))
SYNC_AFTER(pthread_rwlock_trywrlock, (pthread_rwlock_t *lock), SyncNext.rwlockTryWrite(lock),
           EVENT_UPUU(RwlockAcquire, SyncThread(), lock, 1, result))
SYNC_BEFORE(pthread_rwlock_unlock, (pthread_rwlock_t *lock), SyncNext.rwlockUnlock(lock),
            EVENT_UP(RwlockRelease, SyncThread(), lock))
SYNC_DONE(pthread_rwlock_init, (pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes),
          SyncNext.rwlockInit(lock, attributes), EVENT_UP(RwlockInit, SyncThread(), lock))
SYNC_DONE(pthread_rwlock_destroy, (pthread_rwlock_t *lock), SyncNext.rwlockDestroy(lock),
          EVENT_UP(RwlockDestroy, SyncThread(), lock))

/* Spin locks, which are volatile integers */

#define SPIN(lock) ((void *)(Word)(lock))

SYNC_LOCK(pthread_spin_lock, (pthread_spinlock_t *lock), SyncNext.spinTry(lock), SyncNext.spinLock(lock), TRUE,
          EVENT_UP(SpinRequest, SyncThread(), SPIN(lock)), EVENT_UPU(SpinAcquire, SyncThread(), SPIN(lock), result))
SYNC_AFTER(pthread_spin_trylock, (pthread_spinlock_t *lock), SyncNext.spinTry(lock),
           EVENT_UPU(SpinAcquire, SyncThread(), SPIN(lock), result))
SYNC_BEFORE(pthread_spin_unlock, (pthread_spinlock_t *lock), SyncNext.spinUnlock(lock),
            EVENT_UP(SpinRelease, SyncThread(), SPIN(lock)))
SYNC_DONE(pthread_spin_init, (pthread_spinlock_t *lock, int shared), SyncNext.spinInit(lock, shared),
          EVENT_UP(SpinInit, SyncThread(), SPIN(lock)))
SYNC_DONE(pthread_spin_destroy, (pthread_spinlock_t *lock), SyncNext.spinDestroy(lock),
          EVENT_UP(SpinDestroy, SyncThread(), SPIN(lock)))

/* ---- Waits ---- */

/* What is waited for, for the handler. */
typedef struct SyncWaitStruct {
  void *object, *mutex;
} SyncWaitStruct, *SyncWait;

/* The two variables of pthread_cleanup_push are set before it calls setjmp, and never again; gcc does not see that. */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/* SYNC_CANCELLABLE -- result = wait, but if the thread is cancelled meanwhile `handler` is called with `argument` */
#define SYNC_CANCELLABLE(result, wait, handler, argument) \
  do { \
    pthread_cleanup_push(handler, argument); \
    result = wait; \
    pthread_cleanup_pop(0); \
  } while (0)

/* Condition variables */

static void syncCondCancelled(void *argument)
{
  SyncWait wait = argument;

  EVENT_UPPU(CondWaitEnd, SyncThread(), wait->object, wait->mutex, ECANCELED);
}

/* COND_WAIT -- the wrapper of a function that waits for a condition variable */
#define COND_WAIT(name, parameters, call) \
  SHIM int name parameters \
  { \
    SyncWaitStruct wait = {cond, mutex}; \
    volatile int result; \
    if (!SYNC_WANTED) \
      return call; \
    EVENT_UPP(CondWaitBegin, SyncThread(), cond, mutex); \
    SYNC_CANCELLABLE(result, call, syncCondCancelled, &wait); \
    EVENT_UPPU(CondWaitEnd, SyncThread(), cond, mutex, result); \
    return result; \
  }

COND_WAIT(pthread_cond_wait, (pthread_cond_t *cond, pthread_mutex_t *mutex), SyncNext.condWait(cond, mutex))
COND_WAIT(pthread_cond_timedwait, (pthread_cond_t *cond, pthread_mutex_t *mutex, SyncTime limit),
          SyncNext.condTimed(cond, mutex, limit))
COND_WAIT(pthread_cond_clockwait, (pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, SyncTime limit),
          SyncNext.condClock(cond, mutex, clock, limit))
SYNC_BEFORE(pthread_cond_signal, (pthread_cond_t *cond), SyncNext.condSignal(cond),
            EVENT_UP(CondSignal, SyncThread(), cond))
SYNC_BEFORE(pthread_cond_broadcast, (pthread_cond_t *cond), SyncNext.condBroadcast(cond),
            EVENT_UP(CondBroadcast, SyncThread(), cond))
SYNC_DONE(pthread_cond_init, (pthread_cond_t *cond, const pthread_condattr_t *attributes),
          SyncNext.condInit(cond, attributes), EVENT_UP(CondInit, SyncThread(), cond))
SYNC_DONE(pthread_cond_destroy, (pthread_cond_t *cond), SyncNext.condDestroy(cond),
          EVENT_UP(CondDestroy, SyncThread(), cond))

/* Semaphores */

static void syncSemCancelled(void *sem)
{
  EVENT_UPU(SemAcquire, SyncThread(), sem, ECANCELED);
}

/* A pending cancellation is obeyed, whether it must wait or not: so that is asked first; but not before a limit that is
 * refused. */
#define SEM_WAIT(name, parameters, call, timely) \
  SHIM int name parameters \
  { \
    int error = errno; \
    volatile int result; \
    if (!SYNC_WANTED || !(timely)) \
      return call; \
    pthread_testcancel(); \
    result = SyncNext.semTry(sem); \
    if (result != 0 && errno == EAGAIN) { \
      errno = error; \
      EVENT_UP(SemRequest, SyncThread(), sem); \
      SYNC_CANCELLABLE(result, call, syncSemCancelled, sem); \
    } \
    EVENT_UPU(SemAcquire, SyncThread(), sem, result == 0 ? 0 : errno); \
    return result; \
  }

SEM_WAIT(sem_wait, (sem_t *sem), SyncNext.semWait(sem), TRUE)
SEM_WAIT(sem_timedwait, (sem_t *sem, SyncTime limit), SyncNext.semTimed(sem, limit), syncTimely(CLOCK_REALTIME, limit))
SEM_WAIT(sem_clockwait, (sem_t *sem, clockid_t clock, SyncTime limit), SyncNext.semClock(sem, clock, limit),
         syncTimely(clock, limit))
SYNC_AFTER(sem_trywait, (sem_t *sem), SyncNext.semTry(sem),
           EVENT_UPU(SemAcquire, SyncThread(), sem, result == 0 ? 0 : errno))
SYNC_BEFORE(sem_post, (sem_t *sem), SyncNext.semPost(sem), EVENT_UP(SemPost, SyncThread(), sem))
SYNC_DONE(sem_init, (sem_t *sem, int shared, unsigned value), SyncNext.semInit(sem, shared, value),
          EVENT_UPU(SemInit, SyncThread(), sem, value))
SYNC_DONE(sem_destroy, (sem_t *sem), SyncNext.semDestroy(sem), EVENT_UP(SemDestroy, SyncThread(), sem))

/* Barriers */

/* The barriers that were initialised here.  Who waits at one cannot be told from outside: the threads that come are counted
 * beside the barrier's own count.  Where two come at the same moment the barrier may take the other one for the last; all
 * but one are told to wait, as they do.  A barrier that finds no place, or is another process's, has no BarrierBlock. */
enum { barriersMAX = 1024, barrierGONE = 1 };

static struct {
  Word barrier; /* 0: never used; barrierGONE: destroyed */
  unsigned count, come;
} barriers[barriersMAX] LARGE;

static Index barrierPlace(const pthread_barrier_t *barrier)
{
  return (Index)(((uint64_t)(Word)barrier * 0x9e3779b97f4a7c15ull) >> 40);
}

/* barrierFind -- the barrier's place, or barriersMAX */
static Index barrierFind(const pthread_barrier_t *barrier)
{
  Index i, start = barrierPlace(barrier);

  for (i = 0; i < barriersMAX; ++i) {
    Word there = __atomic_load_n(&barriers[(start + i) % barriersMAX].barrier, __ATOMIC_ACQUIRE);
    if (there == (Word)barrier)
      return (start + i) % barriersMAX;
    if (there == 0)
      break;
  }
  return barriersMAX;
}

static void barrierForget(const pthread_barrier_t *barrier)
{
  Index at = barrierFind(barrier);

  if (at < barriersMAX)
    __atomic_store_n(&barriers[at].barrier, barrierGONE, __ATOMIC_RELEASE);
}

static void barrierKeep(const pthread_barrier_t *barrier, unsigned count)
{
  Index i, at;

  barrierForget(barrier);
  for (i = 0; i < barriersMAX; ++i) {
    at = (barrierPlace(barrier) + i) % barriersMAX;
    Word there = __atomic_load_n(&barriers[at].barrier, __ATOMIC_ACQUIRE);
    if (there <= barrierGONE &&
        __atomic_compare_exchange_n(&barriers[at].barrier, &there, (Word)barrier, FALSE, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      __atomic_store_n(&barriers[at].come, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&barriers[at].count, count, __ATOMIC_RELEASE);
      return;
    }
  }
}

/* barrierReach -- one more thread has come; returns how many are still to come, 0 also where that is not known */
static unsigned barrierReach(const pthread_barrier_t *barrier)
{
  Index at = barrierFind(barrier);
  unsigned count = at < barriersMAX ? __atomic_load_n(&barriers[at].count, __ATOMIC_ACQUIRE) : 0;
  unsigned come = count > 0 ? __atomic_add_fetch(&barriers[at].come, 1, __ATOMIC_ACQ_REL) % count : 0;

  return come > 0 ? count - come : 0;
}

SHIM int pthread_barrier_wait(pthread_barrier_t *barrier)
{
  unsigned left = barrierReach(barrier); /* also while nothing is wanted, which may change */
  int result;

  if (!SYNC_WANTED)
    return SyncNext.barrierWait(barrier);
  EVENT_UP(BarrierReach, SyncThread(), barrier);
  if (left > 0)
    EVENT_UPU(BarrierBlock, SyncThread(), barrier, left);
  result = SyncNext.barrierWait(barrier);
  EVENT_UPU(BarrierResume, SyncThread(), barrier, result);
  return result;
}

SHIM int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
  int result = SyncNext.barrierInit(barrier, attributes, count);

  if (result == 0)
    barrierKeep(barrier, count);
  if (SYNC_WANTED && result == 0)
    EVENT_UPU(BarrierInit, SyncThread(), barrier, count);
  return result;
}

SHIM int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
  int result = SyncNext.barrierDestroy(barrier);

  if (result == 0)
    barrierForget(barrier);
  if (SYNC_WANTED && result == 0)
    EVENT_UP(BarrierDestroy, SyncThread(), barrier);
  return result;
}
