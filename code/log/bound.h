/* bound.h -- every comparison at a boundary that the service makes, once
 *
 * Where a request begins and ends, who goes first, what is behind what: an off-by-one here is an event lost or seen
 * twice.  So each has a name, and the test puts a wrong one in the place of each, and must notice.
 *
 * Always true: starts are inclusive, ends exclusive; a time is the position before all events of that time.
 *
 * Design: design/requests.md .bound      Tests: test/requesttest.c
 */
#ifndef LOG_BOUND_H
#define LOG_BOUND_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/clock.h"
#include "log/request.h"

/* BoundFine -- wall time as fine time: of the first event that is not before it */
static inline uint64_t BoundFine(uint64_t origin, uint64_t time)
{
  if (time <= origin)
    return 0;
  return time - origin > UINT64_MAX >> ClockFineSHIFT ? UINT64_MAX : (time - origin) << ClockFineSHIFT;
}

/* BoundBefore -- does `a` stand before `b`? */
static inline Bool BoundBefore(const LogPositionStruct *a, const LogPositionStruct *b)
{
  return LogPositionCompare(a, b) < 0;
}

/* BoundJoins -- may a request that starts there join a pass that is here? */
static inline Bool BoundJoins(const LogPositionStruct *start, const LogPositionStruct *here)
{
  return LogPositionCompare(start, here) == 0;
}

/* BoundAhead -- will the pass come to this start, or must another one be made? */
static inline Bool BoundAhead(const LogPositionStruct *start, const LogPositionStruct *here)
{
  return LogPositionCompare(start, here) > 0;
}

/* BoundReached -- is a request with this end over, if the pass is here? */
static inline Bool BoundReached(const LogPositionStruct *end, const LogPositionStruct *here)
{
  return LogPositionCompare(end, here) <= 0;
}

/* BoundCounted -- has a request had all events that it wanted, if so many are left? */
static inline Bool BoundCounted(uint64_t left)
{
  return left == 0;
}

/* BoundMeets -- can a block with events in [first, last], fine, have any in [start, end)? */
static inline Bool BoundMeets(const LogPositionStruct *start, const LogPositionStruct *end, uint64_t first,
                              uint64_t last)
{
  return start->fine <= last && LogPositionCompare(end, &(LogPositionStruct){first, 0, 0, 0, 0}) > 0;
}

/* BoundKind -- are blocks of this kind read for a request of these?  All that no header can name are alike. */
static inline Bool BoundKind(uint32_t kinds, unsigned kind)
{
  return kind < EventKindMAX ? kinds >> kind & 1 : kinds == UINT32_MAX;
}

/* BoundUrgent -- does a request of priority `a` go before one of priority `b`, wherever they start? */
static inline Bool BoundUrgent(LogPriority a, LogPriority b)
{
  return a > b;
}

/* BoundHookBefore -- is a hook of priority `a`, which was filed later, called before one of priority `b`? */
static inline Bool BoundHookBefore(int a, int b)
{
  return a < b;
}

/* BoundReckons -- does a pass that reckons with these slots reckon with this one? */
static inline Bool BoundReckons(uint64_t slots, uint64_t slot)
{
  return (slots & slot) != 0;
}

#endif /* LOG_BOUND_H */
