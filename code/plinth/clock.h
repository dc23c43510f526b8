/* clock.h -- the time of events
 *
 * Ticks of the processor's own counter where it runs evenly and through sleep (halved on x86-64: finer than a
 * nanosecond all the same, and differences take fewer bytes), else of CLOCK_MONOTONIC, one a nanosecond.
 *
 * Design: design/telemetry.md .clock      Tests: test/emit/emittest.c
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
extern uint64_t EventClockMonotonic(void) PAWPRINT_API;

/* EventClockCounter -- now, in ticks, where nothing forbids to look (EventClockBar) */
static inline uint64_t EventClockCounter(Bool slow)
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

/* EventClockBar -- from here on the process uses neither the processor's counter nor system calls for the time,
 * because a thread is forbidden both (seccomp's strict mode), or the counter (PR_SET_TSC).  Time is then the coarse
 * clock, which the kernel updates in memory every few milliseconds, and each event is one tick later than the one
 * before.  The unit stays the same.
 * slow  as for EventClock
 * EventClockUnbar -- the system has refused that: use the counter again */
extern void EventClockBar(Bool slow);
extern void EventClockUnbar(void);

extern Bool EventClockBarred;
extern uint64_t EventClockCoarse(void);

/* EventClock -- now, in ticks.  `slow`: the counter cannot serve (EventClockChoose). */
static inline uint64_t EventClock(Bool slow)
{
  if (UNLIKELY(__atomic_load_n(&EventClockBarred, __ATOMIC_RELAXED)))
    return EventClockCoarse();
  return EventClockCounter(slow);
}

/* EventClockChoose -- which clock serves on this machine; TRUE for the slow one */
extern Bool EventClockChoose(void);

/* EventClockSync -- ticks and the system's clocks at one moment: the best of a few readings, which are about 30 ns
 * apart */
extern void EventClockSync(Sync syncReturn, Bool slow);

/* EventClockRate -- ticks a second, from two moments; rough if they are close */
extern uint64_t EventClockRate(const SyncStruct *begin, const SyncStruct *end);

/* EventClockDescribe -- the clock's description for header blocks: its name, its ticks a second, and the identity of
 * the system's run (or "").  The frequency may have to be measured, once, which takes a fifth of a millisecond; the
 * identity is read from a file.  Neither is done where its place is NULL. */
extern void EventClockDescribe(char clockReturn[EventClockNameSIZE], uint64_t *frequencyReturn,
                               char bootReturn[EventClockBootSIZE], Bool slow);

/* EventClockTell -- the description as text, in `room`, for other processes of the same run of the same machine
 * EventClockTold -- use such a text instead of asking the system and measuring.  FALSE: it is not one, and nothing
 * changes. */
enum { EventClockTellSIZE = 96 };
extern const char *EventClockTell(char room[EventClockTellSIZE], Bool slow);
extern Bool EventClockTold(const char *told);

#endif /* PLINTH_CLOCK_H */
