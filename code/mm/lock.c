/* lock.c -- sleeping on a lock, and waking who sleeps
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .lock      Tests: test/mm/malloctest.c
 */
#include "mm/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { lockSPINS = 100 }; /* looks before going to sleep: what is guarded here is short */

__thread Bool LockForking;

void LockSleep(Lock lock)
{
  int error = errno;
  unsigned spins;

  for (spins = 0; spins < lockSPINS; ++spins)
    if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) == 0 && LockTry(lock))
      return;
  while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0)
    (void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
  errno = error;
}

void LockWake(Lock lock)
{
  int error = errno;

  (void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = error;
}
