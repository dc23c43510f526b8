/* clocktime.h -- makes times of a clock's ticks
 *
 * All processes with the same boot and clock share one Clock: one straight line through its earliest and its latest
 * relation of ticks to the monotonic clock.  Times are kept as `fine`: sixteenths of a nanosecond since the earliest
 * moment of the traceset, so that different ticks stay different, and events of one clock stand in the order of their
 * ticks.
 *
 * Always true (ClockCheck): a span's `early` is not later than its `late`; a clock that has an alias has no line; once
 * fitted, ClockFine never falls as ticks rise, and no time overflows.  A process's clock is the end of its `alias`
 * chain.
 *
 * Design: design/log.md .clock      Tests: test/log/logwhotest.c
 */
#ifndef LOG_CLOCKTIME_H
#define LOG_CLOCKTIME_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"

enum { ClockFineSHIFT = 4 }; /* a fine unit is a nanosecond shifted right by this */

/* ClockFineAt -- wall time, of a traceset that begins at `origin`, as fine time: of the first event not before it */
static inline uint64_t ClockFineAt(uint64_t origin, uint64_t time)
{
  if (time <= origin)
    return 0;
  return time - origin > UINT64_MAX >> ClockFineSHIFT ? UINT64_MAX : (time - origin) << ClockFineSHIFT;
}

/* The earliest and the latest relation of ticks to other times, of those that were told. */
typedef struct ClockSpanStruct {
  Bool known;               /* there are any */
  SyncStruct early, late;
} ClockSpanStruct, *ClockSpan;

typedef struct ClockStruct {
  Index number;
  char name[16], boot[40];  /* as headers say; boot is "" for a process's own clock */
  int64_t offset;           /* ns that were added to its wall times, because it was asked for */
  struct ClockStruct *below; /* the next with such a `boot`, or NULL */
  struct ClockStruct *alias; /* the clock that this one turned out to be, or NULL */
  uint64_t frequency;       /* ticks a second, by the header; 0 if none came yet */
  uint64_t min, max;        /* ticks of the earliest block, and of the end of the latest */
  ClockSpanStruct sync;     /* by the headers */
  ClockSpanStruct seal;     /* by sealed blocks: ticks and mono only */
  Bool beyond;              /* it begins too long after the earliest of all: its times are cut to TableSpanMAX */
  Bool fitted;              /* the line is laid, and stays: */
  uint64_t real;            /* ns since 1970 at `min`, rounded down; */
  uint64_t fine;            /* what that cut off, in fine units; */
  uint64_t low;             /* and what that cut off, in 2^64ths: so the line does not depend on which block is
                               earliest */
  uint64_t base;            /* fine at `min` */
  uint64_t multiplier;      /* fine a tick, as multiplier / 2^(64 - shift) */
  unsigned shift;
  SyncStruct fitTo;         /* with sync.early, the line's other end; ticks 0 if only a frequency was known */
  uint64_t limit;           /* ticks since `min` that can be told apart; what is beyond is this */
} ClockStruct, *Clock;

/* ClockSync, ClockSeal, ClockSee -- take what a header, a sealed block, any block says
 *
 * ClockSync returns by how many ns the monotonic clock of the header's process is ahead of that of the others, which is
 * to be taken off what its blocks say */
extern int64_t ClockSync(Clock clock, Header header);
extern void ClockSeal(Clock clock, uint64_t ticks, uint64_t mono);
static inline void ClockSee(Clock clock, uint64_t first, uint64_t last)
{
  if (first < clock->min && !clock->fitted)
    clock->min = first;
  if (last > clock->max)
    clock->max = last;
}

/* ClockInit -- a clock of which nothing is known */
extern void ClockInit(Clock clock, Index number);

extern Bool ClockCheck(const ClockStruct *clock);

/* ClockJoin -- `clock` turns out to be `other`, which takes over what was learnt */
extern void ClockJoin(Clock clock, Clock other);

/* ClockResolve -- the clock at the end of the chain */
static inline Clock ClockResolve(Clock clock)
{
  while (clock->alias != NULL)
    clock = clock->alias;
  return clock;
}

/* ClockFit -- lay the line; sets `real`.  The caller then sets `base` by the earliest `real` of all clocks. */
extern void ClockFit(Clock clock);

/* clockHigh -- the high 64 bits of a * b + c */
static inline uint64_t clockHigh(uint64_t a, uint64_t b, uint64_t c)
{
  return (uint64_t)(((unsigned __int128)a * b + c) >> 64);
}

/* ClockFine -- ticks as fine time; ticks before the clock's earliest are the earliest */
static inline uint64_t ClockFine(const ClockStruct *clock, uint64_t ticks)
{
  uint64_t since = ticks > clock->min ? ticks - clock->min : 0;

  if (UNLIKELY(since > clock->limit))
    since = clock->limit;
  return clock->base + clockHigh(since << clock->shift, clock->multiplier, clock->low);
}

/* ClockTicks -- fine time as ticks, about */
static inline uint64_t ClockTicks(const ClockStruct *clock, uint64_t fine)
{
  double since = fine > clock->base ? (double)(fine - clock->base) : 0;

  return clock->min + (uint64_t)(since * 18446744073709551616.0 / (double)clock->multiplier /
                                 (double)((uint64_t)1 << clock->shift));
}

/* ClockReach -- the first ticks whose fine time is `fine` or later; UINT64_MAX if none are */
extern uint64_t ClockReach(const ClockStruct *clock, uint64_t fine);

#endif /* LOG_CLOCKTIME_H */
