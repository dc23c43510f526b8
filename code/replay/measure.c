/* measure.c -- runs all allocators in turn, as often as it takes to tell them apart
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/readclock.h"

#define measureFINE 0.01 /* of the reference's time: a difference that is known to this is known well enough */

/* ---- Statistics ---- */

static int measureCompare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

uint64_t MeasureMedian(uint64_t *numbers, Count n)
{
  AVER(n > 0);
  qsort(numbers, n, sizeof *numbers, measureCompare);
  return n % 2 != 0 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

static int measureCompareReal(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

MeasureRangeStruct MeasureRange(double *numbers, Count n)
{
  Index skip = 0; /* numbers at each end that are outside */

  AVER(n > 0);
  /* The middle n - 1 - 2 skip are 1.645 sqrt(n) or more: that many are on either side of the median nine times in
   * ten */
  while (2 * skip + 4 <= n && (double)((n - 3 - 2 * skip) * (n - 3 - 2 * skip)) >= 2.706 * (double)n)
    ++skip;
  qsort(numbers, n, sizeof *numbers, measureCompareReal);
  return (MeasureRangeStruct){
    .low = numbers[skip],
    .middle = n % 2 != 0 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2,
    .high = numbers[n - 1 - skip],
  };
}

/* measureDifference -- by how much these numbers are larger than those of the same rounds */
static MeasureRangeStruct measureDifference(const uint64_t *these, const uint64_t *those, Count rounds)
{
  double difference[MeasureRunsMAX];
  Index i;

  AVER(rounds > 0 && rounds <= MeasureRunsMAX);
  for (i = 0; i < rounds; ++i)
    difference[i] = (double)these[i] - (double)those[i];
  return MeasureRange(difference, rounds);
}

MeasureRangeStruct MeasureCpu(const MeasureStruct *measure, Index this, Index that)
{
  AVER(this < measure->count && that < measure->count);
  AVER(measure->measured[this].ran && measure->measured[that].ran);
  return measureDifference(measure->measured[this].cpu, measure->measured[that].cpu, measure->rounds);
}

MeasureRangeStruct MeasureVisits(const MeasureStruct *measure, Index this, Index that)
{
  AVER(this < measure->count && that < measure->count);
  AVER(measure->measured[this].ran && measure->measured[that].ran);
  return measureDifference(measure->measured[this].visits, measure->measured[that].visits, measure->rounds);
}

MeasureRangeStruct MeasurePeak(const MeasureStruct *measure, Index this, Index that)
{
  AVER(this < measure->count && that < measure->count);
  AVER(measure->measured[this].ran && measure->measured[that].ran);
  return measureDifference(measure->measured[this].peak, measure->measured[that].peak, measure->rounds);
}

uint64_t MeasurePeakSpread(const MeasureStruct *measure, Index allocator)
{
  const uint64_t *peak = measure->measured[allocator].peak;
  uint64_t low = peak[0], high = peak[0];
  Index i;

  for (i = 1; i < measure->rounds; ++i) {
    low = peak[i] < low ? peak[i] : low;
    high = peak[i] > high ? peak[i] : high;
  }
  return high - low;
}

/* ---- Runs ---- */

static const AllocatorStruct measureLIBC = {.name = "libc", .kind = ReplayLIBC};
static const AllocatorStruct measureNONE = {.name = "none", .kind = ReplayNONE};

double MeasureNow(void)
{
  return (double)ReadClock(CLOCK_MONOTONIC) / 1e9;
}

/* measureBase -- resident bytes of a process that has only loaded the script, and has libc for its malloc: what every
 * program has, so that what another allocator takes for itself counts as its own.  0: it cannot be run. */
static uint64_t measureBase(ReplayRun run, int file, const PlayParamsStruct *params)
{
  PlayParamsStruct only = *params;

  only.base = TRUE;
  return ReplayChildRun(run, file, &measureLIBC, &only) ? run->result.base : 0;
}

/* measureOne -- one run of an allocator; one that fails is not run again.  FALSE: it was stopped. */
static Bool measureOne(Measure measure, Measured measured, ReplayRun run, int file, const PlayParamsStruct *params)
{
  PlayResult result = &run->result, median = &measured->median;
  uint64_t base = measure->base;
  Index i = measure->rounds;

  if (!ReplayChildRun(run, file, &measured->allocator, params)) {
    if (MeasureStopped(measure))
      return FALSE; /* who stops us from a terminal has ended the child, too */
    memcpy(measured->error, result->message, sizeof measured->error);
    measured->ran = FALSE;
    return TRUE;
  }
  if (base == 0)
    base = result->base;
  measured->ns[i] = result->ns;
  measured->cpu[i] = result->cpu;
  measured->visits[i] = result->visits;
  measured->peak[i] = result->peak > base ? result->peak - base : 0;
  if (i == 0 || result->faults > median->faults || result->failures > median->failures)
    *median = *result;
  return TRUE;
}

/* measureKnown -- are the differences known well enough, or is there no more time for them? */
static Bool measureKnown(Measure measure, double elapsed)
{
  Measured reference = &measure->measured[measure->reference];
  uint64_t cpu[MeasureRunsMAX];
  MeasureRangeStruct range;
  double fine;
  Index i;

  if (measure->repeat != 0)
    return measure->rounds == measure->repeat;
  if (measure->rounds < MeasureRunsMIN)
    return FALSE;
  if (measure->rounds == MeasureRunsENOUGH || elapsed > measure->seconds)
    return TRUE;
  if (!reference->ran)
    return TRUE;
  memcpy(cpu, reference->cpu, measure->rounds * sizeof *cpu);
  fine = measureFINE * (double)MeasureMedian(cpu, measure->rounds);
  for (i = 0; i < measure->count; ++i) {
    if (!measure->measured[i].ran)
      continue;
    range = MeasureCpu(measure, i, measure->reference);
    if (range.high - range.low > 2 * fine)
      return FALSE;
  }
  return measure->rounds >= MeasureRunsMIN + 2 || measure->count == 1;
}

/* measureMedians -- sum up each allocator's runs */
static void measureMedians(Measure measure)
{
  uint64_t numbers[MeasureRunsMAX];
  Index i;

  for (i = 0; i < measure->count; ++i) {
    Measured measured = &measure->measured[i];
    if (!measured->ran)
      continue;
    measured->median.ns = MeasureMedian(memcpy(numbers, measured->ns, sizeof numbers), measure->rounds);
    measured->median.cpu = MeasureMedian(memcpy(numbers, measured->cpu, sizeof numbers), measure->rounds);
    measured->median.visits =
      MeasureMedian(memcpy(numbers, measured->visits, sizeof numbers), measure->rounds);
    measured->median.peak = MeasureMedian(memcpy(numbers, measured->peak, sizeof numbers), measure->rounds);
  }
}

/* measureTurn -- whose turn it is in this round, after so many: the reference begins the first */
static Measured measureTurn(Measure measure, Index after)
{
  return &measure->measured[(measure->reference + measure->rounds + after) % measure->count];
}

/* measureStop -- in the first round so many have run, which are known all the same */
static void measureStop(Measure measure, Count done)
{
  Bool stopped = MeasureStopped(measure);
  Index i;

  for (i = done; i < measure->count; ++i) {
    Measured measured = measureTurn(measure, i);
    measured->ran = FALSE;
    measured->untried = !stopped;
    (void)snprintf(measured->error, sizeof measured->error, "%s",
                   stopped ? "stopped before it had run" : "not tried: the time was over");
  }
  measure->rounds = 1;
  measure->partial = TRUE;
}

/* measureRound -- run all once, and one in any case, unless it is stopped; returns how many have run before it was, or
 * its time over */
static Count measureRound(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params,
                          void (*say)(void *data, const char *name), void *data)
{
  Count done;

  for (done = 0; done < measure->count && !(done == 0 ? MeasureStopped(measure) : MeasureOver(measure)); ++done) {
    Measured measured = measureTurn(measure, done);
    say(data, measured->allocator.name);
    if (measured->ran && !measureOne(measure, measured, run, file, params))
      break;
  }
  return done;
}

void MeasureRun(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params,
                void (*say)(void *data, const char *name), void *data)
{
  double begin = MeasureNow();
  Count done = 0;
  Index i;

  measure->base = measureBase(run, file, params);
  measure->rounds = 0;
  measure->partial = FALSE;
  measure->reference = 0;
  for (i = 0; i < measure->count; ++i) {
    measure->measured[i].ran = TRUE;
    measure->measured[i].untried = FALSE;
    if (AllocatorSame(&measure->measured[i].allocator, &measure->recorded))
      measure->reference = i;
  }
  AVER(MeasureCheck(measure));
  do {
    done = measureRound(measure, run, file, params, say, data);
    measure->rounds += done == measure->count;
  } while (!MeasureOver(measure) && !measureKnown(measure, MeasureNow() - begin));
  if (measure->rounds == 0)
    measureStop(measure, done);
  measureMedians(measure);
}

void MeasureAllocation(Measure measure, ReplayRun run, int file, const PlayParamsStruct *params)
{
  const uint64_t *cpu = measure->measured[measure->reference].cpu;
  PlayParamsStruct only = *params;
  double took[MeasureRunsMIN];
  Index i;

  AVER(measure->rounds >= MeasureRunsMIN && measure->measured[measure->reference].ran);
  only.visits = FALSE;
  measure->allocation = (MeasureRangeStruct){.middle = 0};
  for (i = 0; i < ARRAY_LENGTH(took); ++i) {
    if (MeasureStopped(measure) || !ReplayChildRun(run, file, &measureNONE, &only))
      return;
    took[i] = (double)cpu[i] - (double)run->result.cpu;
  }
  measure->allocation = MeasureRange(took, ARRAY_LENGTH(took));
}

Bool MeasureCheck(const MeasureStruct *measure)
{
  Bool sound = measure->count <= MeasureAllocatorsMAX && measure->rounds <= MeasureRunsMAX &&
               measure->repeat <= MeasureRunsMAX && (measure->count == 0 || measure->reference < measure->count);
  Index i;

  for (i = 0; sound && i < measure->count; ++i)
    sound = AllocatorCheck(&measure->measured[i].allocator);
  return sound;
}
