/* clock.c -- the time of events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/clock.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif
#endif

#include "base/text.h"
#include "plinth/rawsyscall.h"

static uint64_t clockGet(clockid_t id)
{
  struct timespec t = {0, 0};
  Bool barred = __atomic_load_n(&EventClockBarred, __ATOMIC_RELAXED);

  if (UNLIKELY(barred))
    id = id == CLOCK_REALTIME ? CLOCK_REALTIME_COARSE : CLOCK_MONOTONIC_COARSE;
  if (UNLIKELY(RawSANITIZED) && !barred)
    (void)RawCall(SYS_clock_gettime, id, &t);
  else
    (void)clock_gettime(id, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

Bool EventClockBarred;

uint64_t EventClockMonotonic(void)
{
  return clockGet(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)

/* clockEven -- does the processor promise that its counter runs evenly?  Of libc, which has asked it: in virtual
 * machines the question takes tens of microseconds. */
static Bool clockEven(void)
{
#if defined(CPU_FEATURE_PRESENT)
  return CPU_FEATURE_PRESENT(INVARIANT_TSC);
#else
  unsigned a, b, c, d;

  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) != 0;
#endif
}

/* clockSystemTrusts -- does the system itself keep time by the counter?  Hypervisors may hide the processor's own
 * promise. */
static Bool clockSystemTrusts(void)
{
  char name[16] = "";
  Size size = RawReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name - 1);

  return size >= 3 && memcmp(name, "tsc", 3) == 0;
}

#define clockSLOW (!clockEven() && !clockSystemTrusts())
#elif defined(__aarch64__)
#define clockSLOW FALSE
#else
#define clockSLOW TRUE
#endif

/* What was found out of the machine, once in a process and its children by fork.  Two threads at once would only find
 * the same twice. */
static struct {
  Bool told;                     /* by EventClockTold */
  Bool slow;
  Bool booted;                   /* `boot` is known */
  uint64_t frequency;            /* 0: not yet */
  char boot[EventClockBootSIZE];
} clockKnown;

Bool EventClockChoose(void)
{
  return clockKnown.told ? clockKnown.slow : clockSLOW;
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

uint64_t EventClockRate(const SyncStruct *begin, const SyncStruct *end)
{
  return end->mono <= begin->mono
             ? 1000000000
             : (uint64_t)((double)(end->ticks - begin->ticks) * 1e9 / (double)(end->mono - begin->mono));
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
  return EventClockRate(&begin, &end);
}

/* clockBoot -- the identity of the system's run, or "" */
static const char *clockBoot(void)
{
  char room[EventClockBootSIZE];
  Size size;

  if (!__atomic_load_n(&clockKnown.booted, __ATOMIC_ACQUIRE)) {
    size = RawReadFile("/proc/sys/kernel/random/boot_id", room, sizeof room - 1);
    while (size > 0 && room[size - 1] <= ' ')
      --size;
    memcpy(clockKnown.boot, room, size);
    __atomic_store_n(&clockKnown.booted, TRUE, __ATOMIC_RELEASE);
  }
  return clockKnown.boot;
}

static const char *clockName(Bool slow)
{
  return slow ? "monotonic" : SyncCOUNTER;
}

void EventClockDescribe(char clockReturn[EventClockNameSIZE], uint64_t *frequencyReturn,
                        char bootReturn[EventClockBootSIZE], Bool slow)
{
  if (bootReturn != NULL)
    (void)strcpy(bootReturn, clockBoot());
  (void)strcpy(clockReturn, clockName(slow));
  if (frequencyReturn == NULL)
    return;
  if (!slow && __atomic_load_n(&clockKnown.frequency, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&clockKnown.frequency, clockFrequency(), __ATOMIC_RELAXED);
  *frequencyReturn = slow ? 1000000000 : __atomic_load_n(&clockKnown.frequency, __ATOMIC_RELAXED);
}

const char *EventClockTell(char room[EventClockTellSIZE], Bool slow)
{
  char name[EventClockNameSIZE], boot[EventClockBootSIZE];
  uint64_t frequency;

  EventClockDescribe(name, &frequency, boot, slow);
  return TextMake(room, EventClockTellSIZE, "%s:%ju:%s", name, frequency, boot);
}

Bool EventClockTold(const char *told)
{
  uint64_t frequency;
  Bool slow;

  for (slow = FALSE; strncmp(told, clockName(slow), strlen(clockName(slow))) != 0; slow = TRUE)
    if (slow)
      return FALSE;
  told += strlen(clockName(slow));
  if (*told++ != ':')
    return FALSE;
  frequency = TextNumber(&told, 10);
  if (*told++ != ':' || frequency == 0 || strlen(told) >= EventClockBootSIZE)
    return FALSE;
  clockKnown.told = TRUE;
  clockKnown.slow = slow;
  clockKnown.booted = TRUE;
  clockKnown.frequency = frequency;
  (void)strcpy(clockKnown.boot, told);
  return TRUE;
}

/* The moment from which the coarse clock is counted, and the last time that an event was given. */
static struct {
  uint64_t ticks, ns, frequency, last;
} clockBar;

void EventClockBar(Bool slow)
{
  char name[EventClockNameSIZE];

  if (EventClockBarred)
    return;
  EventClockDescribe(name, &clockBar.frequency, NULL, slow);
  clockBar.ticks = EventClockCounter(slow);
  __atomic_store_n(&clockBar.last, clockBar.ticks, __ATOMIC_RELAXED);
  __atomic_store_n(&EventClockBarred, TRUE, __ATOMIC_RELEASE);
  clockBar.ns = EventClockMonotonic();
}

void EventClockUnbar(void)
{
  __atomic_store_n(&EventClockBarred, FALSE, __ATOMIC_RELEASE);
}

uint64_t EventClockCoarse(void)
{
  uint64_t mono = EventClockMonotonic();
  double ns = mono > clockBar.ns ? (double)(mono - clockBar.ns) : 0;
  uint64_t now = clockBar.ticks + (uint64_t)(ns * (double)clockBar.frequency * 1e-9);
  uint64_t last = __atomic_load_n(&clockBar.last, __ATOMIC_RELAXED), next;

  do
    next = now > last ? now : last + 1;
  while (!__atomic_compare_exchange_n(&clockBar.last, &last, next, TRUE, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return next;
}
