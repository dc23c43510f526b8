/* measuretest.c -- medians, ranges, and what they say of a whole program
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "replay/measure.h"
#include "replay/predict.h"
#include "tap.h"

static MeasureStruct measure;

/* within -- how probable it is that so many of n numbers, `first` to `last` of them, are below the median of all */
static double within(unsigned n, unsigned first, unsigned last)
{
  double term = 1, sum = 0;
  unsigned i;

  for (i = 0; i < n; ++i)
    term /= 2;
  for (i = 0; i <= n; ++i) {
    if (i >= first && i <= last)
      sum += term;
    term = term * (n - i) / (i + 1);
  }
  return sum;
}

static void testRange(void)
{
  unsigned n, low = 0, high = 0;
  double numbers[MeasureRunsENOUGH + 20];
  Index i;

  for (n = 1; n <= ARRAY_LENGTH(numbers); ++n) {
    MeasureRangeStruct range;
    for (i = 0; i < n; ++i)
      numbers[i] = (double)((i * 7 + 3) % n); /* 0 to n - 1, in some order, if 7 does not divide n */
    if (n % 7 == 0)
      continue;
    range = MeasureRange(numbers, n);
    if (range.low != (double)(n - 1) - range.high || range.middle * 2 != (double)(n - 1))
      break;
    /* The median is between these two if at least low + 1 numbers, and at most high, are below it. */
    if (n >= 5 && within(n, (unsigned)range.low + 1, (unsigned)range.high) < 0.88)
      ++low;
    if (n >= 5 && range.low > 0 && within(n, (unsigned)range.low + 1, (unsigned)range.high) > 0.995)
      ++high;
  }
  TapIs(n, ARRAY_LENGTH(numbers) + 1, "the median is in the middle");
  TapIs(low, 0, "the range has it nine times in ten");
  TapIs(high, 0, "and is no wider than that takes");
}

/* set -- an allocator ran in each round, with these means of processor time and memory; a round's own slowness is in
 * all of them */
static void set(Index i, ReplayKind kind, double cpu, double peak, Count rounds)
{
  Measured measured = &measure.measured[i];
  Index round;

  measured->allocator = (AllocatorStruct){.name = "some", .kind = kind};
  measured->ran = TRUE;
  for (round = 0; round < rounds; ++round) {
    measured->cpu[round] = (uint64_t)((cpu + 0.5 * (double)(round % 5)) * 1e9);
    measured->peak[round] = (uint64_t)peak;
  }
  measured->median.peak = (uint64_t)peak;
  measure.recorded = (AllocatorStruct){.name = "libc", .kind = ReplayLIBC};
  measure.rounds = rounds;
  measure.count = i + 1 > measure.count ? i + 1 : measure.count;
}

static Bool near(double a, double b)
{
  return a - b < 1e-6 && b - a < 1e-6;
}

static void testPredict(void)
{
  PredictStruct predict = {.known = TRUE, .cpu = 10.45, .peak = 100e6, .operations = 10000000};
  MeasureRangeStruct range;
  Index i, round;

  measure.reference = 0;
  set(0, ReplayLIBC, 2.0, 60e6, 9);
  set(1, ReplayPAWPRINT, 1.0, 40e6, 9);
  set(2, ReplayPAWPRINT, 1.95, 60.5e6, 9);
  TapOk(MeasureCheck(&measure) && PredictPossible(&predict, &measure) == NULL, "something can be said");
  range = PredictCpu(&predict, &measure, 0);
  TapOk(near(range.middle, 10), "with libc it takes what it took, without what recording takes");
  TapOk(range.low < range.middle && range.middle < range.high, "which is not known exactly");
  range = PredictCpu(&predict, &measure, 1);
  TapOk(near(range.middle, 9), "with another, less by the difference, though rounds were slower and faster");
  TapOk(range.low < 7 && range.high > 11 && range.low > 4 && range.high < 14,
        "in a range that is as wide as rounds differ, because runs of the program do so, too");
  for (i = 0; i < 3; ++i)
    for (round = 0; round < 9; ++round)
      measure.measured[i].cpu[round] = (uint64_t)((i == 0 ? 2 : i == 1 ? 1 : 1.95) * 1e9);
  range = PredictCpu(&predict, &measure, 1);
  TapOk(range.low < 9 && range.high > 9 && range.low > 7.5 && range.high < 10.5, "and narrow where they do not");
  TapOk(PredictFaster(&predict, &measure, 1, 0) && !PredictFaster(&predict, &measure, 0, 1), "it is faster");
  TapOk(!PredictFaster(&predict, &measure, 2, 0) && !PredictFaster(&predict, &measure, 0, 2),
        "of what differs by less than the model knows, neither is");
  range = PredictPeak(&predict, &measure, 1);
  TapOk(near(range.middle, 80e6 - 524288), "and it takes less memory, without the library's");
  TapOk(range.low < range.middle - 524288 && range.high > 80e6, "in a range that has it");
  TapOk(PredictSmaller(&predict, &measure, 1, 0) && !PredictSmaller(&predict, &measure, 2, 0) &&
          !PredictSmaller(&predict, &measure, 0, 2),
        "if the difference is large enough");
  TapOk(PredictShare(&predict, &measure).high <= 0, "the share of allocation is not known");
  measure.allocation = (MeasureRangeStruct){.low = 1.9e9, .middle = 2e9, .high = 2.2e9};
  range = PredictShare(&predict, &measure);
  TapOk(near(range.middle, 0.2) && range.low < 0.19 && range.high > 0.22, "until it was measured: a part of what it takes");
  measure.allocation.high = 1e12;
  TapOk(near(PredictShare(&predict, &measure).high, 1), "which is not more than the whole");
  measure.allocation = (MeasureRangeStruct){.low = 9e9, .middle = 11e9, .high = 12e9};
  TapOk(PredictShare(&predict, &measure).high <= 0, "and not known where replays take more than the program");
  predict.operations = 1000000000;
  TapOk(PredictCpu(&predict, &measure, 1).low >= 0, "nothing is negative");
  predict.known = FALSE;
  TapOk(PredictPossible(&predict, &measure) != NULL, "nothing is said without samples");
  predict.known = TRUE;
  measure.rounds = 2;
  TapOk(PredictPossible(&predict, &measure) != NULL, "nor after two rounds");
  measure.rounds = 9;
  measure.measured[0].ran = FALSE;
  TapOk(PredictPossible(&predict, &measure) != NULL, "nor without libc");
  measure.measured[0].ran = TRUE;
  measure.recorded.kind = ReplayPAWPRINT;
  TapOk(PredictPossible(&predict, &measure) != NULL, "nor with libc, if the program had another allocator");
  measure.recorded.kind = ReplayLIBC;
  predict.stranger = "nobody knows which it had";
  TapOk(PredictPossible(&predict, &measure) == predict.stranger, "nor if that is not known");
  PLANT(measure.reference, 3, MeasureCheck(&measure), "a reference that is not there");
  PLANT(measure.rounds, MeasureRunsMAX + 1, MeasureCheck(&measure), "too many rounds");
  PLANT(measure.count, MeasureAllocatorsMAX + 1, MeasureCheck(&measure), "too many allocators");
}

/* testReads -- the program waits for its objects, too: some of the difference in reading them is in its own */
static void testReads(void)
{
  PredictStruct predict = {.known = TRUE, .cpu = 10.45, .peak = 100e6, .operations = 10000000};
  MeasureRangeStruct calls, reads;
  Index i, round;

  set(0, ReplayLIBC, 2.0, 60e6, 9);
  set(1, ReplayPAWPRINT, 1.0, 40e6, 9);
  calls = PredictCpu(&predict, &measure, 1);
  for (i = 0; i < 2; ++i) {
    for (round = 0; round < 9; ++round)
      measure.measured[i].visits[round] = (uint64_t)((i == 0 ? 2 : 1) * 1e9);
    measure.measured[i].median.visits = measure.measured[i].visits[0];
  }
  measure.measured[0].median.cpu = (uint64_t)2e9;
  reads = PredictCpu(&predict, &measure, 1);
  TapOk(reads.middle < calls.middle - 0.1 && reads.middle > calls.middle - 1,
        "who finds its objects sooner takes less, by a part of what reading them takes less");
  TapOk(reads.low < calls.middle - 1 && reads.high > calls.middle, "all of it, or nothing, may be in the program");
  measure.measured[0].median.cpu = (uint64_t)9e9;
  calls = PredictCpu(&predict, &measure, 1);
  TapOk(near(9 - calls.middle, (9 - reads.middle) / 2), "a program that has half as long for it reads half as much");
  for (round = 0; round < 9; ++round)
    measure.measured[1].visits[round] = (uint64_t)3e9;
  measure.measured[0].median.cpu = (uint64_t)2e9;
  TapOk(PredictCpu(&predict, &measure, 1).high > 9.5 && !PredictFaster(&predict, &measure, 1, 0),
        "whose calls are quicker, but whose objects are further away, is not called faster");
  for (i = 0; i < 2; ++i)
    memset(measure.measured[i].visits, 0, sizeof measure.measured[i].visits);
}

/* testThreads -- of a program with several threads less is known: each run of it is another one */
static void testThreads(void)
{
  PredictStruct predict = {.known = TRUE, .cpu = 10.45, .peak = 100e6, .operations = 10000000, .alone = 10,
                           .alonePeak = 90e6};
  MeasureRangeStruct one, several;
  Index round;

  set(0, ReplayLIBC, 2.0, 60e6, 9);
  set(1, ReplayPAWPRINT, 2.0, 50e6, 9);
  one = PredictPeak(&predict, &measure, 0);
  TapOk(one.low > 88e6 && one.high < 92e6 && near(one.middle, 90e6), "of one thread a run unrecorded tells the memory");
  TapOk(PredictSmaller(&predict, &measure, 1, 0), "a tenth less is less");
  predict.threads = TRUE;
  several = PredictPeak(&predict, &measure, 0);
  TapOk(several.low < 81e6 && several.high > 99e6, "of several threads it and the recorded run are two of many");
  TapOk(!PredictSmaller(&predict, &measure, 1, 0), "a tenth less may be chance");
  set(1, ReplayPAWPRINT, 2.0, 20e6, 9);
  TapOk(PredictSmaller(&predict, &measure, 1, 0), "a third less is not");
  for (round = 0; round < 9; ++round)
    measure.measured[1].peak[round] = (uint64_t)(round < 5 ? 20e6 : 62e6);
  TapOk(!PredictSmaller(&predict, &measure, 1, 0), "unless the replays themselves differ by as much");
  several = PredictPeak(&predict, &measure, 1);
  TapOk(several.low < 30e6 && several.high > 112e6, "which are in the range");
}

/* testNotPredicted -- nothing is said where a replay is not what the program did */
static void testNotPredicted(void)
{
  PredictStruct good = {.known = TRUE, .cpu = 10.45, .peak = 100e6, .operations = 10000000}, predict = good;

  set(0, ReplayLIBC, 2.0, 60e6, 9);
  set(1, ReplayPAWPRINT, 1.0, 40e6, 9);
  measure.measured[0].median.cpu = (uint64_t)2e9;
  TapOk(PredictPossible(&predict, &measure) == NULL && PredictKnows(&predict, &measure, 1) == NULL, "a good replay");
  predict.missing = 1000;
  TapOk(PredictPossible(&predict, &measure) == NULL, "a few events are missing");
  predict.missing = 1000000;
  TapOk(PredictPossible(&predict, &measure) != NULL, "many events are missing");
  predict = good;
  predict.cpu = 0;
  TapOk(PredictPossible(&predict, &measure) != NULL, "the program took no time");
  predict.cpu = 0.01;
  TapOk(PredictPossible(&predict, &measure) != NULL, "the replay takes a hundred times as long");
  predict = good;
  measure.measured[0].median.waited = (uint64_t)2.1e9;
  TapOk(PredictPossible(&predict, &measure) != NULL, "the replay's threads mostly wait for each other");
  measure.measured[0].median.waited = (uint64_t)1.9e9;
  TapOk(PredictPossible(&predict, &measure) == NULL, "or not mostly");
  measure.measured[0].median.waited = 0;
  predict.peak = 10e6;
  TapOk(PredictPossible(&predict, &measure) != NULL, "the replay takes six times the memory");
  predict = good;
  measure.measured[0].median.failures = 1;
  TapOk(PredictPossible(&predict, &measure) != NULL, "allocations failed with libc");
  measure.measured[0].median.failures = 0;
  measure.measured[1].median.failures = 1;
  TapOk(PredictPossible(&predict, &measure) == NULL && PredictKnows(&predict, &measure, 0) == NULL, "or with another");
  TapOk(PredictKnows(&predict, &measure, 1) != NULL && !PredictFaster(&predict, &measure, 1, 0) &&
          !PredictSmaller(&predict, &measure, 1, 0),
        "of which nothing is said then");
  measure.measured[1].median.failures = 0;
  predict.cpu = 1;
  measure.measured[0].median.cpu = (uint64_t)1e9;
  TapOk(PredictPossible(&predict, &measure) == NULL && !PredictFaster(&predict, &measure, 1, 0),
        "nor of one that would leave less than nothing of the program's time");
}

/* recorded -- with what a program was recorded whose pools were of these classes; `alone`: seconds of its run unrecorded;
 * NULL: that is not known */
static const char *recorded(const char *const *class, Count n, double alone)
{
  static HeapPoolStruct pool[4];
  PredictStruct predict = {.alone = alone};
  const char *name = NULL;
  Script script;
  Index i;

  if (ScriptCreate(&script, FALSE, 0) != ResOK)
    return "no script";
  for (i = 0; i < n; ++i) {
    HeapOperationStruct operation = {.kind = HeapPOOLCREATE, .pool = &pool[i]};
    pool[i].number = i;
    strcpy(pool[i].class, class[i]);
    ScriptAdd(script, &operation, 1);
  }
  if (ScriptFinish(script) == ResOK)
    name = PredictRecorded(&predict, script);
  ScriptDestroy(script);
  return predict.stranger != NULL ? NULL : name;
}

/* testRecorded -- the classes of its pools tell which allocator a program had */
static void testRecorded(void)
{
  static const struct {
    const char *class[2], *name; /* NULL: nobody knows */
    double alone;
  } cases[] = {
    {{"malloc"}, "libc", 0},
    {{"malloc"}, "libc", 1},
    {{""}, "libc", 0},
    {{"malloc:libjemalloc.so.2"}, "jemalloc", 1},
    {{"malloc:libtcmalloc_minimal.so.4"}, "tcmalloc", 0},
    {{"malloc:libown.so"}, NULL, 0},
    {{"SGF"}, "pawprint", 0},
    {{"SGF"}, "libc", 1},
    {{"SGF", "MFS"}, "pawprint", 0},
    {{"SGF", "MFS"}, NULL, 1},
    {{"malloc", "MVFF"}, NULL, 0},
    {{"malloc", "OWN"}, NULL, 0},
    {{"OWN"}, NULL, 0},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    const char *its = recorded(cases[i].class, cases[i].class[1] != NULL ? 2 : 1, cases[i].alone);
    TapOk(its == NULL || cases[i].name == NULL ? its == cases[i].name : strcmp(its, cases[i].name) == 0,
          "a program with pools of %s%s%s: %s", cases[i].class[0], cases[i].class[1] != NULL ? " and " : "",
          cases[i].class[1] != NULL ? cases[i].class[1] : "", its != NULL ? its : "not known");
  }
}

static void testMedian(void)
{
  uint64_t odd[] = {5, 1, 9}, even[] = {4, 8, 2, 6};

  TapIs(MeasureMedian(odd, 3), 5, "the one in the middle");
  TapIs(MeasureMedian(even, 4), 5, "or between two");
}

int main(void)
{
  testMedian();
  testRange();
  testPredict();
  testReads();
  testThreads();
  testRecorded();
  testNotPredicted();
  return TapDone();
}
