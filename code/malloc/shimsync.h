/* shimsync.h -- the functions of POSIX threads behind their wrappers
 *
 * A wrapper looks at the control table, and calls on; only where events of the kind Sync are wanted does it more.  The
 * table begins as functions that look up what they stand for, so that the wrappers ask nothing; the first
 * pthread_create looks all of them up, because the lookup takes a lock of the dynamic loader's.
 *
 * Always true: what a wrapper returns, errno, cancellation and what is locked are as without it.
 *
 * Design: design/shim.md .sync      Tests: test/malloc/sync.t
 */
#ifndef MALLOC_SHIMSYNC_H
#define MALLOC_SHIMSYNC_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "emit/event.h"
#include "malloc/shimlookup.h"

typedef const struct timespec *SyncTime;

/* X(returns, member, name, parameters, arguments) */
#define SYNC_FUNCTIONS(X) \
  X(int, create, "pthread_create", (pthread_t *a, const pthread_attr_t *b, void *(*c)(void *), void *d), (a, b, c, d)) \
  X(int, join, "pthread_join", (pthread_t a, void **b), (a, b)) \
  X(int, tryJoin, "pthread_tryjoin_np", (pthread_t a, void **b), (a, b)) \
  X(int, timedJoin, "pthread_timedjoin_np", (pthread_t a, void **b, SyncTime c), (a, b, c)) \
  X(int, detach, "pthread_detach", (pthread_t a), (a)) \
  X(void, exit, "pthread_exit", (void *a), (a)) \
  X(int, setName, "pthread_setname_np", (pthread_t a, const char *b), (a, b)) \
  X(int, mutexInit, "pthread_mutex_init", (pthread_mutex_t *a, const pthread_mutexattr_t *b), (a, b)) \
  X(int, mutexDestroy, "pthread_mutex_destroy", (pthread_mutex_t *a), (a)) \
  X(int, mutexLock, "pthread_mutex_lock", (pthread_mutex_t *a), (a)) \
  X(int, mutexTry, "pthread_mutex_trylock", (pthread_mutex_t *a), (a)) \
  X(int, mutexTimed, "pthread_mutex_timedlock", (pthread_mutex_t *a, SyncTime b), (a, b)) \
  X(int, mutexClock, "pthread_mutex_clocklock", (pthread_mutex_t *a, clockid_t b, SyncTime c), (a, b, c)) \
  X(int, mutexUnlock, "pthread_mutex_unlock", (pthread_mutex_t *a), (a)) \
  X(int, rwlockInit, "pthread_rwlock_init", (pthread_rwlock_t *a, const pthread_rwlockattr_t *b), (a, b)) \
  X(int, rwlockDestroy, "pthread_rwlock_destroy", (pthread_rwlock_t *a), (a)) \
  X(int, rwlockRead, "pthread_rwlock_rdlock", (pthread_rwlock_t *a), (a)) \
  X(int, rwlockWrite, "pthread_rwlock_wrlock", (pthread_rwlock_t *a), (a)) \
  X(int, rwlockTryRead, "pthread_rwlock_tryrdlock", (pthread_rwlock_t *a), (a)) \
  X(int, rwlockTryWrite, "pthread_rwlock_trywrlock", (pthread_rwlock_t *a), (a)) \
  X(int, rwlockTimedRead, "pthread_rwlock_timedrdlock", (pthread_rwlock_t *a, SyncTime b), (a, b)) \
  X(int, rwlockTimedWrite, "pthread_rwlock_timedwrlock", (pthread_rwlock_t *a, SyncTime b), (a, b)) \
  X(int, rwlockClockRead, "pthread_rwlock_clockrdlock", (pthread_rwlock_t *a, clockid_t b, SyncTime c), (a, b, c)) \
  X(int, rwlockClockWrite, "pthread_rwlock_clockwrlock", (pthread_rwlock_t *a, clockid_t b, SyncTime c), (a, b, c)) \
  X(int, rwlockUnlock, "pthread_rwlock_unlock", (pthread_rwlock_t *a), (a)) \
  X(int, spinInit, "pthread_spin_init", (pthread_spinlock_t *a, int b), (a, b)) \
  X(int, spinDestroy, "pthread_spin_destroy", (pthread_spinlock_t *a), (a)) \
  X(int, spinLock, "pthread_spin_lock", (pthread_spinlock_t *a), (a)) \
  X(int, spinTry, "pthread_spin_trylock", (pthread_spinlock_t *a), (a)) \
  X(int, spinUnlock, "pthread_spin_unlock", (pthread_spinlock_t *a), (a)) \
  X(int, barrierInit, "pthread_barrier_init", (pthread_barrier_t *a, const pthread_barrierattr_t *b, unsigned c), \
    (a, b, c)) \
  X(int, barrierDestroy, "pthread_barrier_destroy", (pthread_barrier_t *a), (a)) \
  X(int, barrierWait, "pthread_barrier_wait", (pthread_barrier_t *a), (a)) \
  X(int, condInit, "pthread_cond_init", (pthread_cond_t *a, const pthread_condattr_t *b), (a, b)) \
  X(int, condDestroy, "pthread_cond_destroy", (pthread_cond_t *a), (a)) \
  X(int, condWait, "pthread_cond_wait", (pthread_cond_t *a, pthread_mutex_t *b), (a, b)) \
  X(int, condTimed, "pthread_cond_timedwait", (pthread_cond_t *a, pthread_mutex_t *b, SyncTime c), (a, b, c)) \
  X(int, condClock, "pthread_cond_clockwait", (pthread_cond_t *a, pthread_mutex_t *b, clockid_t c, SyncTime d), \
    (a, b, c, d)) \
  X(int, condSignal, "pthread_cond_signal", (pthread_cond_t *a), (a)) \
  X(int, condBroadcast, "pthread_cond_broadcast", (pthread_cond_t *a), (a)) \
  X(int, semInit, "sem_init", (sem_t *a, int b, unsigned c), (a, b, c)) \
  X(int, semDestroy, "sem_destroy", (sem_t *a), (a)) \
  X(int, semWait, "sem_wait", (sem_t *a), (a)) \
  X(int, semTry, "sem_trywait", (sem_t *a), (a)) \
  X(int, semTimed, "sem_timedwait", (sem_t *a, SyncTime b), (a, b)) \
  X(int, semClock, "sem_clockwait", (sem_t *a, clockid_t b, SyncTime c), (a, b, c)) \
  X(int, semPost, "sem_post", (sem_t *a), (a))

typedef struct SyncNextStruct {
#define X(returns, member, name, parameters, arguments) returns (*member) parameters;
  SYNC_FUNCTIONS(X)
#undef X
} SyncNextStruct;

extern SyncNextStruct SyncNext;

/* SyncStart -- there are going to be threads: look them all up; once */
extern void SyncStart(void);

/* SYNC_WANTED -- does anybody want to hear of it? */
#define SYNC_WANTED (EVENT_PRESENT(ThreadCreate) && EVENT_WANTED(EventKindSync))

/* Wrappers of functions that do not wait, from their names, parameters, calls and events
 *
 * SYNC_BEFORE  the event, and then the call
 * SYNC_AFTER   the call, and then the event, which may name `result`
 * SYNC_DONE    the same, if the call did what it should */
#define SYNC_BEFORE(name, parameters, call, event) \
  SHIM int name parameters \
  { \
    if (SYNC_WANTED) \
      event; \
    return call; \
  }
#define SYNC_AFTER_IF(name, parameters, condition, call, event) \
  SHIM int name parameters \
  { \
    int result = call; \
    if (SYNC_WANTED && (condition)) \
      event; \
    return result; \
  }
#define SYNC_AFTER(name, parameters, call, event) SYNC_AFTER_IF(name, parameters, TRUE, call, event)
#define SYNC_DONE(name, parameters, call, event)  SYNC_AFTER_IF(name, parameters, result == 0, call, event)

/* SyncThread -- the system's number of the calling thread; a system call the first time
 * SyncForked -- in the child of a fork the number is another */
extern __thread unsigned SyncThreadNumber __attribute__((tls_model("initial-exec")));
extern unsigned SyncThreadAsk(void);
extern void SyncForked(void);

static inline unsigned SyncThread(void)
{
  return LIKELY(SyncThreadNumber != 0) ? SyncThreadNumber : SyncThreadAsk();
}

#endif /* MALLOC_SHIMSYNC_H */
