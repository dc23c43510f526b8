/* lock.h -- mutual exclusion for the slow paths
 *
 * A pthread mutex, which neither allocates nor enters the dynamic linker.  Locks are taken in this order, and
 * all of them before a fork (mmfork.h): registry, then pools, then arenas, then the store of caches.
 *
 * Design: design/mm.md .lock      Tests: test/malloctest.c (fork while others allocate)
 */
#ifndef MM_LOCK_H
#define MM_LOCK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <pthread.h>

typedef struct LockStruct {
  pthread_mutex_t mutex;
} LockStruct, *Lock;

#define LockINITIALIZER { PTHREAD_MUTEX_INITIALIZER }

static inline void LockInit(Lock lock) { (void)pthread_mutex_init(&lock->mutex, NULL); }
static inline void LockFinish(Lock lock) { (void)pthread_mutex_destroy(&lock->mutex); }
static inline void LockClaim(Lock lock) { (void)pthread_mutex_lock(&lock->mutex); }
static inline void LockRelease(Lock lock) { (void)pthread_mutex_unlock(&lock->mutex); }

#endif /* MM_LOCK_H */
