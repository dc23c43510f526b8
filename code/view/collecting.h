/* collecting.h -- the collections that a log tells of: when, why, how long threads paused, what was taken back
 *
 * A pause is a time in which a thread does not run the program: a stop, in which a collection begins, or is abandoned
 * because one of them does not stop, and all registered threads stand still, or a step, in which the one thread that
 * called or allocated marks and sweeps while others run.  A whole collection has one step, one in increments has many.
 * Steps are paired by thread.
 *
 * Always true: rows are as they began, a row's pauses are as they ended;  `stop` and `step` of all are the sums of
 * those of rows, and `stop` has those of abandoned collections, too, which have no rows
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

/* How many pauses, how long they were together, and the longest one; ns. */
typedef struct CollectingSumStruct {
  uint64_t pauses, paused, longest, longestAt;
} CollectingSumStruct, *CollectingSum;

/* A pause; ns. */
typedef struct CollectingPauseStruct {
  uint64_t begin, length;
  uint32_t row;
  Bool step;               /* else it is a stop */
} CollectingPauseStruct, *CollectingPause;

typedef struct CollectingRowStruct {
  LogProcess process;
  uint64_t pool, number;
  char why[CollectingWHY];
  uint64_t begin, end;     /* ns; end 0: not in the log */
  uint64_t condemned, reclaimed;
  CollectingSumStruct stop, step;
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
  CollectingStepStruct begun[CollectingOPEN]; /* steps that have not ended */
  uint64_t abandoned, abandonedNs; /* collections, and how long their stops were */
  uint64_t incomplete, condemned, reclaimed; /* after CollectingOver; the last two by complete ones */
  CollectingSumStruct stop, step;
  uint64_t covered;          /* ns of the time that was chosen in which there was any pause: where threads collect at a
                                time, it counts once */
  uint64_t openSince;        /* if any step is open */
  uint64_t stops[CollectingLENGTHS], steps[CollectingLENGTHS]; /* by length */
} CollectingStruct, *Collecting;

/* CollectingAll -- of stops and steps together */
extern CollectingSumStruct CollectingAll(const CollectingSumStruct *stop, const CollectingSumStruct *step);

/* CollectingKnown -- can the log have all collections?  Some process had their kind on, or has events of it. */
extern Bool CollectingKnown(Log log);

/* CollectingInit -- for the events that `only` chooses, of the processes `of` or all; `keeps`: pauses are wanted one by
 * one.  CollectingFinish frees the memory. */
extern void CollectingInit(Collecting collecting, const LogRequestStruct *only, OfProcess of, Bool keeps);
extern void CollectingFinish(Collecting collecting);

/* CollectingOver -- the request has been served; ResMEMORY */
extern Res CollectingOver(Collecting collecting);

#endif /* VIEW_COLLECTING_H */
