/* lock.h -- mutual exclusion for the slow paths
 *
 * A word and a futex: no mutex of POSIX threads, because those are what this very library traces for the program
 * (shimsync.c).  Locks are taken in this order, and all of them before a fork (forks.h): registry, then pools,
 * then arenas, then the store of caches.  Not recursive, but for the thread that has all of them for a fork: handlers
 * of the program's run before and after it, and may allocate.  errno is kept.
 *
 * Design: design/mm.md .lock      Tests: test/mm/malloctest.c (fork while others allocate)
 */
#ifndef MM_LOCK_H
#define MM_LOCK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct LockStruct {
  uint32_t state; /* 0, as in zeroed memory: free; 1: taken; 2: taken, and threads may sleep on it */
} LockStruct, *Lock;

#define LockINITIALIZER { 0 }

/* LockSleep -- wait for a lock that another thread has, and take it
 * LockWake -- wake a thread that sleeps on the lock, which is free now */
extern void LockSleep(Lock lock);
extern void LockWake(Lock lock);

/* LockForking -- this thread has all locks, for a fork: what it claims and releases meanwhile is its own already */
extern __thread Bool LockForking __attribute__((tls_model("initial-exec")));

/* LockTry -- take the lock if it is free; FALSE: it is taken, perhaps by this thread */
static inline Bool LockTry(Lock lock)
{
  uint32_t none = 0;

  return __atomic_compare_exchange_n(&lock->state, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void LockClaim(Lock lock)
{
  if (LIKELY(!LockForking) && UNLIKELY(!LockTry(lock)))
    LockSleep(lock);
}

static inline void LockRelease(Lock lock)
{
  if (LIKELY(!LockForking) && UNLIKELY(__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2))
    LockWake(lock);
}

#endif /* MM_LOCK_H */
