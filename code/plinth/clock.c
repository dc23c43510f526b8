/* clock.c -- the time of events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/clock.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "plinth/quiet.h"

static uint64_t clockGet(clockid_t id)
{
  struct timespec t;

  (void)clock_gettime(id, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t EventClockMonotonic(void)
{
  return clockGet(CLOCK_MONOTONIC);
}

/* clockSystemTrusts -- does the system itself keep time by the counter?  Hypervisors hide the processor's own
 * promise. */
static Bool clockSystemTrusts(void)
{
  char name[16] = "";
  Size size = QuietReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name - 1);

  return size >= 3 && memcmp(name, "tsc", 3) == 0;
}

Bool EventClockChoose(void)
{
#if defined(__x86_64__)
  unsigned a, b, c, d;

  /* The system is asked first, because virtual machines take long to answer for the processor. */
  return !clockSystemTrusts() && !(__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) != 0);
#elif defined(__aarch64__)
  return FALSE;
#else
  return TRUE;
#endif
}

void EventClockSync(Sync sync, Bool slow)
{
  uint64_t best = UINT64_MAX;
  unsigned i;

  for (i = 0; i < 4; ++i) {
    uint64_t before = EventClock(slow), mono = EventClockMonotonic(), after = EventClock(slow);
    if (after - before < best) {
      best = after - before;
      sync->ticks = before + best / 2;
      sync->mono = mono;
    }
  }
  sync->real = clockGet(CLOCK_REALTIME) - (EventClockMonotonic() - sync->mono);
}

/* clockFrequency -- ticks a second: as the processor says, else measured over a fifth of a millisecond.  Readers use
 * it only for recordings that ended before a second relation of ticks to time was written. */
static uint64_t clockFrequency(void)
{
  SyncStruct begin, end;
#if defined(__x86_64__)
  unsigned denominator, numerator, crystal, d;

  if (__get_cpuid(0x15, &denominator, &numerator, &crystal, &d) && denominator != 0 && numerator != 0 && crystal != 0)
    return (uint64_t)crystal * numerator / denominator / 2;
#elif defined(__aarch64__)
  uint64_t frequency;

  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  return frequency;
#endif
  EventClockSync(&begin, FALSE);
  do
    EventClockSync(&end, FALSE);
  while (end.mono - begin.mono < 200000);
  return (uint64_t)((double)(end.ticks - begin.ticks) * 1e9 / (double)(end.mono - begin.mono));
}

void EventClockDescribe(char clockReturn[EventClockNameSIZE], uint64_t *frequencyReturn,
                        char bootReturn[EventClockBootSIZE], Bool slow)
{
  static uint64_t frequency;
  Size size = QuietReadFile("/proc/sys/kernel/random/boot_id", bootReturn, EventClockBootSIZE - 1);

  while (size > 0 && bootReturn[size - 1] <= ' ')
    --size;
  bootReturn[size] = '\0';
  if (slow) {
    (void)strcpy(clockReturn, "monotonic");
    if (frequencyReturn != NULL)
      *frequencyReturn = 1000000000;
    return;
  }
  (void)strcpy(clockReturn, "counter");
  if (frequencyReturn == NULL)
    return;
  /* Once a process, and its children after fork; two threads at once would only measure twice. */
  if (__atomic_load_n(&frequency, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&frequency, clockFrequency(), __ATOMIC_RELAXED);
  *frequencyReturn = __atomic_load_n(&frequency, __ATOMIC_RELAXED);
}
