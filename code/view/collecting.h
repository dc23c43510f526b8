/* collecting.h -- the collections that a log tells of: when, why, how long threads paused, what was taken back
 *
 * A pause is the stop of all threads by which a collection begins, or a step, which a single thread does while others
 * run.  Steps are paired by thread.
 *
 * Always true: rows are as they began, a row's pauses are as they ended;  `pauses`, `paused` and `longest` are those of
 * all rows
 *
 * Design: design/view.md .collections      Tests: test/ams/collections.t, test/report/collections.t
 */
#ifndef VIEW_COLLECTING_H
#define VIEW_COLLECTING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/views.h"
#include "request/typecache.h"

enum {
  CollectingWHY = 12,         /* bytes of the reason that are kept */
  CollectingOPEN = 256,       /* steps that threads are in at a time */
  CollectingLENGTHS = 32,     /* places of the histogram: powers of two of us */
  CollectingPausesMAX = 1 << 16 /* pauses that are kept one by one; more are in the sums alone */
};

/* A pause; ns. */
typedef struct CollectingPauseStruct {
  uint64_t begin, length;
  uint32_t row;
  Bool step;               /* of one thread, not of all */
} CollectingPauseStruct, *CollectingPause;

typedef struct CollectingRowStruct {
  LogProcess process;
  uint64_t pool, number;
  char why[CollectingWHY];
  uint64_t begin, end;     /* ns; end 0: not in the log */
  uint64_t condemned, reclaimed;
  uint64_t pauses, paused, longest; /* how many; ns */
} CollectingRowStruct, *CollectingRow;

typedef struct CollectingStepStruct {
  LogProcess process;
  uint32_t thread;
  uint64_t begin; /* ns */
} CollectingStepStruct, *CollectingStep;

typedef struct CollectingStruct {
  OfProcess of;
  const LogRequestStruct *only;
  LogRequestStruct request;  /* to be served once */
  TypeCacheStruct plans;
  Bool failed;               /* there was no memory */
  Count rows, capacity;
  CollectingRow row;         /* owned */
  Count kept, keptCapacity;
  CollectingPause pause;     /* owned; the first ones, if `keeps` */
  Bool keeps;
  Count open;
  CollectingStepStruct step[CollectingOPEN];
  uint64_t abandoned;
  uint64_t incomplete, condemned, reclaimed; /* after CollectingOver; the last two by complete ones */
  uint64_t pauses, paused, longest, longestAt;
  uint64_t covered;          /* ns in which there was any pause: where threads collect at a time, it counts once */
  uint64_t openSince;        /* if any step is open */
  uint64_t length[CollectingLENGTHS];
} CollectingStruct, *Collecting;

/* CollectingInit -- for the events that `only` chooses, of the processes `of` or all; `keeps`: pauses are wanted one by
 * one.  CollectingFinish frees the memory. */
extern void CollectingInit(Collecting collecting, const LogRequestStruct *only, OfProcess of, Bool keeps);
extern void CollectingFinish(Collecting collecting);

/* CollectingOver -- the request has been served; ResMEMORY */
extern Res CollectingOver(Collecting collecting);

#endif /* VIEW_COLLECTING_H */
