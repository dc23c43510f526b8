/* clocktime.c -- makes times of a clock's ticks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/clocktime.h"

#include <string.h>

#include "base/aver.h"

enum {
  clockSECOND = 1000000000,
  clockAheadMIN = 100000000,   /* ns; where clocks are nearer than that, they are the same */
  clockSpanMIN = 1000000,      /* ns between two relations that are trusted for a rate */
  clockFrequencyMAX_FACTOR = 4 /* a fitted rate further than this from the header's is not believed */
};

void ClockInit(Clock clock, Index number)
{
  memset(clock, 0, sizeof *clock);
  clock->number = number;
  clock->min = UINT64_MAX;
}

Bool ClockCheck(const ClockStruct *clock)
{
  return clock->sync.early.ticks <= clock->sync.late.ticks && clock->seal.early.ticks <= clock->seal.late.ticks &&
         (clock->alias == NULL || !clock->fitted) &&
         (!clock->fitted || (clock->multiplier > 0 && clock->shift <= 64 && clock->min != UINT64_MAX &&
                             (clock->shift == 0 || clock->limit <= UINT64_MAX >> clock->shift)));
}

static void clockSpanAdd(ClockSpan span, const SyncStruct *sync)
{
  if (!span->known || sync->ticks < span->early.ticks)
    span->early = *sync;
  if (!span->known || sync->ticks > span->late.ticks)
    span->late = *sync;
  span->known = TRUE;
}

static void clockSpanJoin(ClockSpan to, const ClockSpanStruct *from)
{
  if (from->known) {
    clockSpanAdd(to, &from->early);
    clockSpanAdd(to, &from->late);
  }
}

/* clockAhead -- by how many ns the monotonic clock of a relation is ahead of that of the others, because its process
 * is in a time namespace, which adds an offset to the monotonic clock and none to the wall clock.  So the two clocks
 * differ by more than in the other relations.  Setting the wall clock changes that difference, too; but then the
 * monotonic clock still agrees with the ticks. */
static int64_t clockAhead(const ClockStruct *clock, const SyncStruct *sync)
{
  const SyncStruct *known = sync->ticks > clock->sync.late.ticks ? &clock->sync.late : &clock->sync.early;
  int64_t ahead = (int64_t)((sync->mono - sync->real) - (known->mono - known->real));
  double passed, wrong, tolerated = (double)ahead / 4;

  if (!clock->sync.known || clock->frequency == 0 || known->real == 0 || sync->real == 0 ||
      (ahead < clockAheadMIN && ahead > -clockAheadMIN) || strcmp(clock->name, SyncCOUNTER) != 0)
    return 0;
  passed = (double)(int64_t)(sync->ticks - known->ticks) * clockSECOND / (double)clock->frequency;
  wrong = (double)(int64_t)(sync->mono - known->mono) - passed - (double)ahead;
  return (wrong < 0 ? -wrong : wrong) < (tolerated < 0 ? -tolerated : tolerated) ? ahead : 0;
}

int64_t ClockSync(Clock clock, Header header)
{
  int64_t ahead = 0;
  Index i;

  if (clock->frequency == 0)
    clock->frequency = header->frequency;
  for (i = 0; i < header->syncs; ++i) {
    SyncStruct sync = header->sync[i];
    if (sync.real != 0)
      ahead = clockAhead(clock, &sync);
    sync.mono -= (uint64_t)ahead;
    clockSpanAdd(&clock->sync, &sync);
  }
  return ahead;
}

void ClockSeal(Clock clock, uint64_t ticks, uint64_t mono)
{
  clockSpanAdd(&clock->seal, &(SyncStruct){.ticks = ticks, .mono = mono});
}

void ClockJoin(Clock clock, Clock other)
{
  AVER(clock != other && clock->alias == NULL && other->alias == NULL);
  ClockSee(other, clock->min, clock->max);
  clockSpanJoin(&other->seal, &clock->seal);
  clockSpanJoin(&other->sync, &clock->sync);
  clock->alias = other;
}

/* clockRate -- set multiplier and shift to ns / ticks, rounded up, so that whole nanoseconds stay whole */
static void clockRate(Clock clock, uint64_t ns, uint64_t ticks)
{
  unsigned __int128 rate; /* in 2^64ths, then shifted to have 64 bits */

  AVER(ns > 0 && ticks > 0);
  /* Fine time in 2^64ths has 128 bits at most; what this cuts off is far below a tick. */
  for (; ns >> (64 - ClockFineSHIFT) != 0; ns >>= 1)
    ticks = ticks > 1 ? ticks >> 1 : 1;
  rate = ((unsigned __int128)(ns << ClockFineSHIFT) << 64) / ticks;
  rate += rate * ticks != (unsigned __int128)(ns << ClockFineSHIFT) << 64;
  for (clock->shift = 0; rate >> 64 != 0; ++clock->shift)
    rate = (rate + 1) >> 1;
  clock->multiplier = (uint64_t)rate;
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
  clock->fitTo =
      (SyncStruct){clock->sync.early.ticks + ticks, clock->sync.early.mono + ns, clock->sync.early.real + ns};
  return TRUE;
}

/* clockSpanTicks -- how far its relations are apart */
static uint64_t clockSpanTicks(const ClockSpanStruct *span)
{
  return span->late.ticks - span->early.ticks;
}

/* clockAnchor -- the line goes through `early`: where is it at `min`? */
static void clockAnchor(Clock clock)
{
  Bool earlier = clock->min < clock->sync.early.ticks;
  uint64_t apart = earlier ? clock->sync.early.ticks - clock->min : clock->min - clock->sync.early.ticks, fine;

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
    clock->real = clock->sync.early.real > fine ? clock->sync.early.real - fine : 0;
  } else {
    clock->fine = fine & ((1 << ClockFineSHIFT) - 1);
    clock->real = clock->sync.early.real + (fine >> ClockFineSHIFT);
  }
}

void ClockFit(Clock clock)
{
  Bool fitted = FALSE;

  AVER(clock->alias == NULL);
  if (clock->min == UINT64_MAX)
    clock->min = clock->sync.known ? clock->sync.early.ticks : 0;
  /* The headers' relations are measured with more care than a block's: only a much longer span outweighs that. */
  if (clock->sync.known && (!clock->seal.known || clockSpanTicks(&clock->seal) / 2 <= clockSpanTicks(&clock->sync)))
    fitted = clockBetween(clock, &clock->sync.early, &clock->sync.late);
  if (!fitted && clock->sync.known && clock->seal.known)
    fitted = clockBetween(clock, &clock->sync.early, &clock->seal.late);
  if (!fitted && clock->seal.known)
    fitted = clockBetween(clock, &clock->seal.early, &clock->seal.late);
  if (!fitted)
    clockRate(clock, clockSECOND, clock->frequency != 0 ? clock->frequency : clockSECOND);
  clock->base = clock->real = clock->fine = clock->low = 0;
  if (clock->sync.known)
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
