/* readclock.h -- a clock of the system, in ns, for whatever is no event.  Events have clocks of their own
 * (plinth/clock.h).
 */
#ifndef BASE_READCLOCK_H
#define BASE_READCLOCK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <time.h>

#include "base/types.h"

/* ReadClock -- the time of this clock; 0 where the system does not have it */
static inline uint64_t ReadClock(clockid_t clock)
{
  struct timespec now = {0, 0};

  (void)clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif /* BASE_READCLOCK_H */
