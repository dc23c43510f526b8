/* wait.c -- a thread of a replay waits until a counter has come so far
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/readclock.h"

enum {
  waitLOOKS = 100,    /* before it gives up the processor: shorter than a sleep takes */
  waitYIELDS = 5,     /* before it sleeps */
  waitSLEEP = 10      /* ms, after which it is looked whether all is to stop */
};

/* waitOver -- is there nothing to wait for? */
static inline Bool waitOver(const uint64_t *counter, uint64_t wanted, const uint32_t *stop)
{
  return __atomic_load_n(counter, __ATOMIC_ACQUIRE) >= wanted || __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

uint64_t WaitUntil(const uint64_t *counter, uint64_t wanted, uint32_t *sleepers, const uint32_t *stop)
{
  const struct timespec sleep = {0, waitSLEEP * 1000000};
  uint64_t begin;
  unsigned i;

  for (i = 0; i < waitLOOKS; ++i) {
    if (waitOver(counter, wanted, stop))
      return 0;
    __builtin_ia32_pause();
  }
  begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  for (i = 0; i < waitYIELDS && !waitOver(counter, wanted, stop); ++i)
    (void)sched_yield();
  while (!waitOver(counter, wanted, stop)) {
    (void)__atomic_exchange_n(sleepers, 1, __ATOMIC_ACQ_REL);
    if (!waitOver(counter, wanted, stop))
      (void)syscall(SYS_futex, sleepers, FUTEX_WAIT_PRIVATE, 1, &sleep, NULL, 0);
  }
  return ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin;
}

void WaitWake(uint32_t *sleepers)
{
  if (__atomic_exchange_n(sleepers, 0, __ATOMIC_ACQ_REL) != 0)
    (void)syscall(SYS_futex, sleepers, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
