/* shimsynclock.c -- mutexes, read-write locks and spin locks, wrapped
 *
 * Who gets the lock at once has asked for nothing: one event.  Who must wait first fails to get it, tells, and then
 * waits.  A release is told before it happens: whoever has the lock next tells behind it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>

#include "mm/shimsync.h"

/* SYNC_LOCK -- take `object`: `try`, and if that is not to be had, tell and `wait`; which `timely` says that it does not refuse at
 * once */
#define SYNC_LOCK(try, wait, timely, request, acquire) \
  do { \
    int result_; \
    if (!EVENT_PRESENT(MutexAcquire) || !SYNC_WANTED) \
      return wait; \
    result_ = (timely) ? try : EBUSY; \
    if (result_ == EBUSY) { \
      request; \
      result_ = wait; \
    } \
    acquire; \
    return result_; \
  } while (0)

/* SYNC_TOLD -- call, and tell if it did what it should */
#define SYNC_TOLD(call, event) \
  do { \
    int result_ = call; \
    if (SYNC_WANTED && result_ == 0) \
      event; \
    return result_; \
  } while (0)

/* Mutexes.  A robust one whose owner died, and a recursive one, tell by their result, and by one acquisition for each
 * release. */

#define MUTEX_LOCK(wait, timely) \
  SYNC_LOCK(SyncNext.mutexTry(mutex), wait, timely, EVENT_UP(MutexRequest, SyncThread(), mutex), \
            EVENT_UPU(MutexAcquire, SyncThread(), mutex, result_))

SHIM int pthread_mutex_lock(pthread_mutex_t *mutex)
{
  MUTEX_LOCK(SyncNext.mutexLock(mutex), TRUE);
}

SHIM int pthread_mutex_timedlock(pthread_mutex_t *mutex, SyncTime limit)
{
  MUTEX_LOCK(SyncNext.mutexTimed(mutex, limit), TRUE);
}

SHIM int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, SyncTime limit)
{
  MUTEX_LOCK(SyncNext.mutexClock(mutex, clock, limit), clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC);
}

SHIM int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
  int result = SyncNext.mutexTry(mutex);

  if (SYNC_WANTED)
    EVENT_UPU(MutexAcquire, SyncThread(), mutex, result);
  return result;
}

SHIM int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
  if (SYNC_WANTED)
    EVENT_UP(MutexRelease, SyncThread(), mutex);
  return SyncNext.mutexUnlock(mutex);
}

SHIM int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
  SYNC_TOLD(SyncNext.mutexInit(mutex, attributes), EVENT_UP(MutexInit, SyncThread(), mutex));
}

SHIM int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
  SYNC_TOLD(SyncNext.mutexDestroy(mutex), EVENT_UP(MutexDestroy, SyncThread(), mutex));
}

/* Read-write locks */

#define RWLOCK_LOCK(try, wait, timely, write) \
  SYNC_LOCK(try, wait, timely, EVENT_UPU(RwlockRequest, SyncThread(), lock, write), \
            EVENT_UPUU(RwlockAcquire, SyncThread(), lock, write, result_))
#define RWLOCK_READ(wait, timely)  RWLOCK_LOCK(SyncNext.rwlockTryRead(lock), wait, timely, 0)
#define RWLOCK_WRITE(wait, timely) RWLOCK_LOCK(SyncNext.rwlockTryWrite(lock), wait, timely, 1)

SHIM int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
  RWLOCK_READ(SyncNext.rwlockRead(lock), TRUE);
}

SHIM int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
  RWLOCK_WRITE(SyncNext.rwlockWrite(lock), TRUE);
}

SHIM int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, SyncTime limit)
{
  RWLOCK_READ(SyncNext.rwlockTimedRead(lock, limit), SyncTimely(CLOCK_REALTIME, limit));
}

SHIM int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, SyncTime limit)
{
  RWLOCK_WRITE(SyncNext.rwlockTimedWrite(lock, limit), SyncTimely(CLOCK_REALTIME, limit));
}

SHIM int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, SyncTime limit)
{
  RWLOCK_READ(SyncNext.rwlockClockRead(lock, clock, limit), SyncTimely(clock, limit));
}

SHIM int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, SyncTime limit)
{
  RWLOCK_WRITE(SyncNext.rwlockClockWrite(lock, clock, limit), SyncTimely(clock, limit));
}

SHIM int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
  int result = SyncNext.rwlockTryRead(lock);

  if (SYNC_WANTED)
    EVENT_UPUU(RwlockAcquire, SyncThread(), lock, 0, result);
  return result;
}

SHIM int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
  int result = SyncNext.rwlockTryWrite(lock);

  if (SYNC_WANTED)
    EVENT_UPUU(RwlockAcquire, SyncThread(), lock, 1, result);
  return result;
}

SHIM int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
  if (SYNC_WANTED)
    EVENT_UP(RwlockRelease, SyncThread(), lock);
  return SyncNext.rwlockUnlock(lock);
}

SHIM int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
  SYNC_TOLD(SyncNext.rwlockInit(lock, attributes), EVENT_UP(RwlockInit, SyncThread(), lock));
}

SHIM int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
  SYNC_TOLD(SyncNext.rwlockDestroy(lock), EVENT_UP(RwlockDestroy, SyncThread(), lock));
}

/* Spin locks, which are volatile integers */

#define SPIN(lock) ((void *)(Word)(lock))

SHIM int pthread_spin_lock(pthread_spinlock_t *lock)
{
  SYNC_LOCK(SyncNext.spinTry(lock), SyncNext.spinLock(lock), TRUE, EVENT_UP(SpinRequest, SyncThread(), SPIN(lock)),
            EVENT_UPU(SpinAcquire, SyncThread(), SPIN(lock), result_));
}

SHIM int pthread_spin_trylock(pthread_spinlock_t *lock)
{
  int result = SyncNext.spinTry(lock);

  if (SYNC_WANTED)
    EVENT_UPU(SpinAcquire, SyncThread(), SPIN(lock), result);
  return result;
}

SHIM int pthread_spin_unlock(pthread_spinlock_t *lock)
{
  if (SYNC_WANTED)
    EVENT_UP(SpinRelease, SyncThread(), SPIN(lock));
  return SyncNext.spinUnlock(lock);
}

SHIM int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
  SYNC_TOLD(SyncNext.spinInit(lock, shared), EVENT_UP(SpinInit, SyncThread(), SPIN(lock)));
}

SHIM int pthread_spin_destroy(pthread_spinlock_t *lock)
{
  SYNC_TOLD(SyncNext.spinDestroy(lock), EVENT_UP(SpinDestroy, SyncThread(), SPIN(lock)));
}
