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

/* A pending cancellation is obeyed, whether it must wait or not: so that is asked first. */
#define SEM_WAIT(call) \
  do { \
    int error = errno; \
    volatile int result; \
    if (!SYNC_WANTED) \
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
  SEM_WAIT(SyncNext.semWait(sem));
}

SHIM int sem_timedwait(sem_t *sem, SyncTime limit)
{
  SEM_WAIT(SyncNext.semTimed(sem, limit));
}

SHIM int sem_clockwait(sem_t *sem, clockid_t clock, SyncTime limit)
{
  SEM_WAIT(SyncNext.semClock(sem, clock, limit));
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

SHIM int pthread_barrier_wait(pthread_barrier_t *barrier)
{
  int result;

  if (!SYNC_WANTED)
    return SyncNext.barrierWait(barrier);
  EVENT_UP(BarrierReach, SyncThread(), barrier);
  result = SyncNext.barrierWait(barrier);
  EVENT_UPU(BarrierResume, SyncThread(), barrier, result);
  return result;
}

SHIM int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
  int result = SyncNext.barrierInit(barrier, attributes, count);

  if (SYNC_WANTED && result == 0)
    EVENT_UPU(BarrierInit, SyncThread(), barrier, count);
  return result;
}

SHIM int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
  int result = SyncNext.barrierDestroy(barrier);

  if (SYNC_WANTED && result == 0)
    EVENT_UP(BarrierDestroy, SyncThread(), barrier);
  return result;
}
