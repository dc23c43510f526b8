/* clocktime.c -- makes times of a clock's ticks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/clocktime.h"

#include <string.h>

#include "base/aver.h"

enum {
  clockSECOND = 1000000000,
  clockSpanMIN = 1000000,      /* ns between two relations that are trusted for a rate */
  clockFrequencyMAX_FACTOR = 4 /* a fitted rate further than this from the header's is not believed */
};

void ClockInit(Clock clock, Index number)
{
  memset(clock, 0, sizeof *clock);
  clock->number = number;
  clock->min = UINT64_MAX;
}

static void clockSyncOne(Clock clock, const SyncStruct *sync)
{
  if (!clock->synced || sync->ticks < clock->early.ticks)
    clock->early = *sync;
  if (!clock->synced || sync->ticks > clock->late.ticks)
    clock->late = *sync;
  clock->synced = TRUE;
}

void ClockSync(Clock clock, Header header)
{
  Index i;

  if (clock->frequency == 0)
    clock->frequency = header->frequency;
  for (i = 0; i < header->syncs; ++i)
    clockSyncOne(clock, &header->sync[i]);
}

void ClockSeal(Clock clock, uint64_t ticks, uint64_t mono)
{
  SyncStruct seal = {.ticks = ticks, .mono = mono};

  if (!clock->paired || ticks < clock->sealFirst.ticks)
    clock->sealFirst = seal;
  if (!clock->paired || ticks > clock->sealLast.ticks)
    clock->sealLast = seal;
  clock->paired = TRUE;
}

void ClockJoin(Clock clock, Clock other)
{
  AVER(clock != other && clock->alias == NULL && other->alias == NULL);
  ClockSee(other, clock->min, clock->max);
  if (clock->paired) {
    ClockSeal(other, clock->sealFirst.ticks, clock->sealFirst.mono);
    ClockSeal(other, clock->sealLast.ticks, clock->sealLast.mono);
  }
  if (clock->synced) {
    clockSyncOne(other, &clock->early);
    clockSyncOne(other, &clock->late);
  }
  clock->alias = other;
}

/* clockRate -- set multiplier and shift to ns / ticks, rounded up, so that whole nanoseconds stay whole */
static void clockRate(Clock clock, uint64_t ns, uint64_t ticks)
{
  uint64_t quotient, rest;
  unsigned bits = 0;

  AVER(ticks > 0);
  /* Both small enough for the division below; what this cuts off is far below a tick. */
  while (ns >> (63 - ClockFineSHIFT) != 0 || ticks >> 63 != 0) {
    ns >>= 1;
    ticks = ticks > 1 ? ticks >> 1 : 1;
  }
  ns <<= ClockFineSHIFT;
  quotient = ns / ticks;
  rest = ns % ticks;
  for (; quotient >> 63 == 0 && bits < 64; ++bits) {
    rest <<= 1;
    quotient = quotient << 1 | (rest >= ticks);
    if (rest >= ticks)
      rest -= ticks;
  }
  if (rest > 0 && quotient != UINT64_MAX)
    ++quotient;
  clock->multiplier = quotient != 0 ? quotient : 1;
  clock->shift = 64 - bits;
  /* So that fine time, with any base that TableFit sets, stays below 2^63; this is years of ticks. */
  clock->limit = clock->shift < 62 ? UINT64_MAX >> (clock->shift + 2) : 0;
}

/* clockBetween -- the rate between two relations, if they are far enough apart and the header does not disagree */
static Bool clockBetween(Clock clock, const SyncStruct *a, const SyncStruct *b)
{
  uint64_t ns, ticks;
  double expected, fitted;

  if (b->ticks <= a->ticks || b->mono <= a->mono || b->mono - a->mono < clockSpanMIN)
    return FALSE;
  ns = b->mono - a->mono;
  ticks = b->ticks - a->ticks;
  fitted = (double)ticks / (double)ns;
  expected = (double)clock->frequency / clockSECOND;
  if (clock->frequency != 0 &&
      (fitted > expected * clockFrequencyMAX_FACTOR || fitted * clockFrequencyMAX_FACTOR < expected))
    return FALSE;
  clockRate(clock, ns, ticks);
  /* The same rate from `early` on, whichever pair it is from. */
  clock->fitTo = (SyncStruct){clock->early.ticks + ticks, clock->early.mono + ns, clock->early.real + ns};
  return TRUE;
}

/* clockSpan -- ticks that a pair of relations is apart */
static uint64_t clockSpan(const SyncStruct *a, const SyncStruct *b)
{
  return b->ticks - a->ticks;
}

/* clockAnchor -- the line goes through `early`: where is it at `min`? */
static void clockAnchor(Clock clock)
{
  Bool earlier = clock->min < clock->early.ticks;
  uint64_t apart = earlier ? clock->early.ticks - clock->min : clock->min - clock->early.ticks, fine;

  if (apart > clock->limit)
    apart = clock->limit;
  apart <<= clock->shift;
  clock->low = apart * clock->multiplier;
  fine = clockHigh(apart, clock->multiplier, 0);
  if (earlier) {
    fine += clock->low != 0;
    clock->low = 0 - clock->low;
    clock->fine = (0 - fine) & ((1 << ClockFineSHIFT) - 1);
    fine = (fine + clock->fine) >> ClockFineSHIFT;
    clock->real = clock->early.real > fine ? clock->early.real - fine : 0;
  } else {
    clock->fine = fine & ((1 << ClockFineSHIFT) - 1);
    clock->real = clock->early.real + (fine >> ClockFineSHIFT);
  }
}

void ClockFit(Clock clock)
{
  Bool fitted = FALSE;

  if (clock->min == UINT64_MAX)
    clock->min = clock->synced ? clock->early.ticks : 0;
  /* The headers' relations are measured with more care than a block's: only a much longer span outweighs that. */
  if (clock->synced && (!clock->paired || clockSpan(&clock->sealFirst, &clock->sealLast) / 2 <=
                                            clockSpan(&clock->early, &clock->late)))
    fitted = clockBetween(clock, &clock->early, &clock->late);
  if (!fitted && clock->synced && clock->paired)
    fitted = clockBetween(clock, &clock->early, &clock->sealLast);
  if (!fitted && clock->paired)
    fitted = clockBetween(clock, &clock->sealFirst, &clock->sealLast);
  if (!fitted)
    clockRate(clock, clockSECOND, clock->frequency != 0 ? clock->frequency : clockSECOND);
  clock->base = clock->real = clock->fine = clock->low = 0;
  if (clock->synced)
    clockAnchor(clock);
  else if (clock->offset > 0)
    clock->real = (uint64_t)clock->offset;
  clock->fitted = TRUE;
}

uint64_t ClockReach(const ClockStruct *clock, uint64_t fine)
{
  uint64_t low = 0, high = UINT64_MAX;

  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ClockFine(clock, middle) < fine)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
