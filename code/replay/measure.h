/* measure.h -- runs all allocators in turn, as often as it takes to tell them apart
 *
 * A machine that others use is now slower, now faster.  So the allocators take turns, and who begins changes from round
 * to round: what is compared is each allocator's processor time with that of the reference in the same round, and of
 * these differences the median counts.
 *
 * Always true (MeasureCheck): no allocator has run more often than rounds were begun, nor more than MeasureRunsMAX
 * times; one that has ended its last run has run in each round.
 *
 * Design: design/replayer.md .rounds      Tests: test/replay/measuretest.c, test/replay/replay.t
 */
#ifndef REPLAY_MEASURE_H
#define REPLAY_MEASURE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <signal.h>

#include "replay/allocators.h"
#include "replay/child.h"

enum { MeasureAllocatorsMAX = 64, MeasureRunsMAX = 1000, MeasureRunsMIN = 3, MeasureRunsENOUGH = 25 };

/* An allocator, and what came of its runs. */
typedef struct MeasuredStruct {
  AllocatorStruct allocator;
  Bool ran;                     /* in all rounds: the rest is good; else `error` says why not */
  Bool untried;                 /* it has not run because there was no time for it */
  uint64_t ns[MeasureRunsMAX], cpu[MeasureRunsMAX], visits[MeasureRunsMAX], peak[MeasureRunsMAX]; /* of each round */
  PlayResultStruct median;      /* the median of each number; faults and failures of the worst run */
  char error[PlayMessageSIZE];
} MeasuredStruct, *Measured;

/* An interval, and what is most likely in it. */
typedef struct MeasureRangeStruct {
  double low, middle, high;
} MeasureRangeStruct;

typedef struct MeasureStruct {
  Count repeat;                 /* rounds asked for; 0: as many as it takes */
  double seconds;               /* with `repeat` 0: no round begins later than this, after MeasureRunsMIN.  Of a search:
                                   how long all of it takes */
  double deadline;              /* of a search: when its time is over, by MeasureNow, as if it were stopped; 0: none */
  const volatile sig_atomic_t *stop; /* when it is not 0, no further run begins, and a round that is not ended does not
                                   count, unless it is the first; NULL: nobody can stop it */
  Count rounds;                 /* done */
  Bool partial;                 /* the only one was stopped, or its time was over: not all have run */
  Count count;                  /* allocators */
  MeasuredStruct measured[MeasureAllocatorsMAX];
  uint64_t base;                /* resident bytes of a process without an allocator's own; 0: not known */
  MeasureRangeStruct allocation; /* ns of processor time that `recorded` itself takes; all 0: not known */
  AllocatorStruct recorded;     /* the one that the program had when it was recorded */
  Index reference;              /* the one with which all are compared: `recorded`, if it is there, else the first */
} MeasureStruct, *Measure;

/* MeasureRun -- run all allocators; before each run `say` gets the allocator's name
 *
 * run, file   as ReplayChildShare returned them
 * params      of each run; the script's among them */
extern void MeasureRun(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params,
                       void (*say)(void *data, const char *name), void *data);

/* MeasureAllocation -- find out what the program's own allocator takes, after MeasureRun, of which it was the
 * reference: what a replay with it takes that one without an allocator does not */
extern void MeasureAllocation(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params);

/* MeasureNow -- seconds of a clock that never goes back */
extern double MeasureNow(void);

/* MeasureStopped -- has it been stopped?
 * MeasureOver -- has it been, or is its time over? */
static inline Bool MeasureStopped(const MeasureStruct *measure)
{
  return measure->stop != NULL && *measure->stop != 0;
}
static inline Bool MeasureOver(const MeasureStruct *measure)
{
  return MeasureStopped(measure) || (measure->deadline > 0 && MeasureNow() >= measure->deadline);
}

/* MeasureMedian -- of n numbers, which it sorts; n > 0
 * MeasureRange -- their median, and between which of them that of all is in nine cases of ten, if there are five or
 *   more; sorts them */
extern uint64_t MeasureMedian(uint64_t *numbers, Count n);
extern MeasureRangeStruct MeasureRange(double *numbers, Count n);

/* MeasureCpu, MeasureVisits, MeasurePeak -- processor time of this allocator less that of that one, ns; of reading
 *   objects, ns; resident bytes: both have run
 * MeasurePeakSpread -- by how many resident bytes two runs of this allocator differed at most */
extern MeasureRangeStruct MeasureCpu(const MeasureStruct *measure, Index this, Index that);
extern MeasureRangeStruct MeasureVisits(const MeasureStruct *measure, Index this, Index that);
extern MeasureRangeStruct MeasurePeak(const MeasureStruct *measure, Index this, Index that);
extern uint64_t MeasurePeakSpread(const MeasureStruct *measure, Index allocator);

extern Bool MeasureCheck(const MeasureStruct *measure);

#endif /* REPLAY_MEASURE_H */
