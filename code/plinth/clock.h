/* clock.h -- the time of events
 *
 * Ticks of the processor's own counter where it runs evenly and through sleep (halved on x86-64: finer than a
 * nanosecond all the same, and differences take fewer bytes), else of CLOCK_MONOTONIC, one a nanosecond.
 *
 * Design: design/telemetry.md .clock      Tests: test/emittest.c
 */
#ifndef PLINTH_CLOCK_H
#define PLINTH_CLOCK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/sync.h"
#include "base/types.h"

enum {
  EventClockNameSIZE = 16,
  EventClockBootSIZE = 40
};

/* EventClockMonotonic -- CLOCK_MONOTONIC in ns */
extern uint64_t EventClockMonotonic(void) __attribute__((visibility("default")));

/* EventClock -- now, in ticks.  `slow`: the counter cannot serve (EventClockChoose). */
static inline uint64_t EventClock(Bool slow)
{
#if defined(__x86_64__)
  if (LIKELY(!slow))
    return __builtin_ia32_rdtsc() >> 1;
#elif defined(__aarch64__)
  if (LIKELY(!slow)) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  UNUSED(slow);
  return EventClockMonotonic();
}

/* EventClockChoose -- which clock serves on this machine; TRUE for the slow one.  Asks the processor; some
 * microseconds. */
extern Bool EventClockChoose(void);

/* EventClockSync -- ticks and the system's clocks at one moment: the closest of a few readings, about 30 ns apart */
extern void EventClockSync(Sync syncReturn, Bool slow);

/* EventClockDescribe -- what a header says of the clock: its name, ticks a second, and the identity of the system's run
 * (or "").  Where a frequency is asked for it may have to be measured, once, which takes a fifth of a millisecond. */
extern void EventClockDescribe(char clockReturn[EventClockNameSIZE], uint64_t *frequencyReturn,
                               char bootReturn[EventClockBootSIZE], Bool slow);

#endif /* PLINTH_CLOCK_H */
