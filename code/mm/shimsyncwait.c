/* shimsyncwait.c -- condition variables, semaphores and barriers, wrapped
 *
 * Most waits here are points where a thread may be cancelled.  Then a handler tells the end of the wait, with the error
 * ECANCELED, before the thread's own handlers run.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>

#include "mm/shimsync.h"

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

#define COND_WAIT(call) \
  do { \
    SyncWaitStruct wait = {cond, mutex}; \
    volatile int result; \
    if (!SYNC_WANTED) \
      return call; \
    EVENT_UPP(CondWaitBegin, SyncThread(), cond, mutex); \
    SYNC_CANCELLABLE(result, call, syncCondCancelled, &wait); \
    EVENT_UPPU(CondWaitEnd, SyncThread(), cond, mutex, result); \
    return result; \
  } while (0)

SHIM int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
  COND_WAIT(SyncNext.condWait(cond, mutex));
}

SHIM int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, SyncTime limit)
{
  COND_WAIT(SyncNext.condTimed(cond, mutex, limit));
}

SHIM int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, SyncTime limit)
{
  COND_WAIT(SyncNext.condClock(cond, mutex, clock, limit));
}

SHIM int pthread_cond_signal(pthread_cond_t *cond)
{
  if (SYNC_WANTED)
    EVENT_UP(CondSignal, SyncThread(), cond);
  return SyncNext.condSignal(cond);
}

SHIM int pthread_cond_broadcast(pthread_cond_t *cond)
{
  if (SYNC_WANTED)
    EVENT_UP(CondBroadcast, SyncThread(), cond);
  return SyncNext.condBroadcast(cond);
}

SHIM int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
  int result = SyncNext.condInit(cond, attributes);

  if (SYNC_WANTED && result == 0)
    EVENT_UP(CondInit, SyncThread(), cond);
  return result;
}

SHIM int pthread_cond_destroy(pthread_cond_t *cond)
{
  int result = SyncNext.condDestroy(cond);

  if (SYNC_WANTED && result == 0)
    EVENT_UP(CondDestroy, SyncThread(), cond);
  return result;
}

/* Semaphores */

static void syncSemCancelled(void *sem)
{
  EVENT_UPU(SemAcquire, SyncThread(), sem, ECANCELED);
}

/* A pending cancellation is obeyed, whether it must wait or not: so that is asked first; but not before a limit that is
 * refused. */
#define SEM_WAIT(call, timely) \
  do { \
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
  } while (0)

SHIM int sem_wait(sem_t *sem)
{
  SEM_WAIT(SyncNext.semWait(sem), TRUE);
}

SHIM int sem_timedwait(sem_t *sem, SyncTime limit)
{
  SEM_WAIT(SyncNext.semTimed(sem, limit), SyncTimely(CLOCK_REALTIME, limit));
}

SHIM int sem_clockwait(sem_t *sem, clockid_t clock, SyncTime limit)
{
  SEM_WAIT(SyncNext.semClock(sem, clock, limit), SyncTimely(clock, limit));
}

SHIM int sem_trywait(sem_t *sem)
{
  int result = SyncNext.semTry(sem);

  if (SYNC_WANTED)
    EVENT_UPU(SemAcquire, SyncThread(), sem, result == 0 ? 0 : errno);
  return result;
}

SHIM int sem_post(sem_t *sem)
{
  if (SYNC_WANTED)
    EVENT_UP(SemPost, SyncThread(), sem);
  return SyncNext.semPost(sem);
}

SHIM int sem_init(sem_t *sem, int shared, unsigned value)
{
  int result = SyncNext.semInit(sem, shared, value);

  if (SYNC_WANTED && result == 0)
    EVENT_UPU(SemInit, SyncThread(), sem, value);
  return result;
}

SHIM int sem_destroy(sem_t *sem)
{
  int result = SyncNext.semDestroy(sem);

  if (SYNC_WANTED && result == 0)
    EVENT_UP(SemDestroy, SyncThread(), sem);
  return result;
}

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
