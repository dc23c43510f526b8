/* searchtest.c -- which settings are tried, which of them stay, and which are the best
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/search.h"
#include "tap.h"

static MeasureStruct measure;
static char name[MeasureAllocatorsMAX][24];

/* put -- an allocator that ran, and took so much */
static void put(Index i, const char *called, uint64_t cpu, uint64_t peak)
{
  char error[AllocatorErrorSIZE];

  if (AllocatorParse(&measure.measured[i].allocator, called, error) != ResOK)
    abort();
  measure.measured[i].ran = TRUE;
  measure.measured[i].median.cpu = cpu;
  measure.measured[i].median.peak = peak;
  measure.count = i + 1;
}

static Bool there(const char *called)
{
  Index i = 0;

  while (i < measure.count && strcmp(measure.measured[i].allocator.name, called) != 0)
    ++i;
  return i < measure.count;
}

static void testAdd(void)
{
  Index i, wrong = 0;

  put(0, "none", 1, 1);
  put(1, "libc", 1, 1);
  put(2, "libc:M_ARENA_MAX=7", 1, 1);
  TapIs(SearchAdd(&measure, NULL), ResOK, "there is room for what is tried");
  TapOk(measure.count > 8 && there("libc:M_ARENA_MAX=1"), "settings of libc are");
  for (i = 3; i < measure.count; ++i)
    wrong += strncmp(measure.measured[i].allocator.name, "libc:", 5) != 0 || !AllocatorCheck(&measure.measured[i].allocator) ||
             measure.measured[i].allocator.settings == 0;
  TapIs(wrong, 0, "and none of others, nor of one that was given settings");
  for (i = 0; i < MeasureAllocatorsMAX - 2; ++i)
    put(i, "libc", 1, 1);
  TapIs(SearchAdd(&measure, NULL), ResLIMIT, "where there is no room that is said");
}

/* testKeep -- against an oracle: for each of a random set, by how many it is beaten */
static void testKeep(uint64_t *seed)
{
  uint64_t cpu[40], peak[40];
  Count n = 40, round, i, j, wrong = 0;

  for (round = 0; round < 200; ++round) {
    Count most = 0, beaten[40];
    measure.reference = 0;
    for (i = 0; i < n; ++i) {
      snprintf(name[i], sizeof name[i], "libc:perturb=%zu", i);
      put(i, i == 0 ? "libc" : name[i], cpu[i] = 100 + TapRandom(seed) % 100, peak[i] = 100 + TapRandom(seed) % 100);
    }
    for (i = 0; i < n; ++i) {
      beaten[i] = 0;
      for (j = 0; j < n; ++j)
        beaten[i] += cpu[j] <= cpu[i] && peak[j] <= peak[i] &&
                     ((double)cpu[j] * 1.01 < (double)cpu[i] || (double)peak[j] * 1.01 < (double)peak[i]);
    }
    SearchKeep(&measure, 10);
    for (i = 1; i < n; ++i)
      if (there(name[i]) && beaten[i] > most)
        most = beaten[i];
    for (i = 1; i < n; ++i)
      wrong += !there(name[i]) && beaten[i] < most;
    wrong += measure.count != 11 || !there("libc");
  }
  TapIs(wrong, 0, "of 200 random sets those stay that are beaten by the fewest, and libc as it is");
  put(0, "libc", 5, 5);
  put(1, "libc:perturb=1", 1, 1);
  put(2, "libc:perturb=2", 9, 9);
  measure.measured[1].ran = FALSE;
  SearchKeep(&measure, 5);
  TapOk(measure.count == 2 && there("libc") && there("libc:perturb=2"), "what did not run does not stay");
  measure.measured[1].ran = TRUE;
  put(0, "libc", 5, 5);
  put(1, "libc:perturb=1", 1, 1);
  put(2, "libc:perturb=2", 9, 9);
  measure.measured[1].median.failures = 1;
  TapOk(!SearchBest(&(PredictStruct){.known = FALSE}, &measure, 1), "nor is it the best who ran out of memory");
  SearchKeep(&measure, 5);
  TapOk(measure.count == 2 && there("libc:perturb=2"), "nor does it stay");
  measure.measured[1].median.failures = 0;
  put(0, "libc", 5, 5);
  put(1, "pawprint", 9, 9);
  put(2, "pawprint:SGF.emptySlabs=1", 1, 1);
  put(3, "pawprint:SGF.emptySlabs=2", 2, 2);
  SearchKeep(&measure, 1);
  TapOk(measure.count == 3 && there("pawprint") && there("pawprint:SGF.emptySlabs=1"),
        "with a setting the allocator stays as it is");
}

static void testBest(void)
{
  PredictStruct predict = {.known = FALSE};
  Index i;

  put(0, "libc", 100, 100);
  put(1, "libc:perturb=1", 50, 200);
  put(2, "libc:perturb=2", 200, 50);
  put(3, "libc:perturb=3", 60, 210);
  TapOk(SearchBest(&predict, &measure, 0) && SearchBest(&predict, &measure, 1) && SearchBest(&predict, &measure, 2),
        "who takes less of one is among the best");
  TapOk(!SearchBest(&predict, &measure, 3), "who takes more of both than another is not");
  put(4, "libc:perturb=4", 100, 100);
  put(5, "pawprint", 90, 110);
  TapOk(SearchBest(&predict, &measure, 0) && !SearchBest(&predict, &measure, 4) && SearchBest(&predict, &measure, 5),
        "nor is a setting that is as good as none");
  measure.count = 4;
  /* With ranges: 10 s and 100 MB as recorded; differences of less than two or three per cent cannot be told. */
  predict = (PredictStruct){.known = TRUE, .cpu = 10, .peak = 100e6};
  measure.rounds = 5;
  for (i = 0; i < 4; ++i) {
    Index round;
    static const double seconds[] = {5, 3, 5.01, 4.9}, bytes[] = {60e6, 80e6, 60.1e6, 40e6};
    for (round = 0; round < 5; ++round)
      measure.measured[i].cpu[round] = (uint64_t)(seconds[i] * 1e9);
    measure.measured[i].median.cpu = measure.measured[i].cpu[0];
    measure.measured[i].median.peak = (uint64_t)bytes[i];
  }
  TapOk(SearchBest(&predict, &measure, 1) && SearchBest(&predict, &measure, 3), "faster, and smaller: both are the best");
  TapOk(!SearchBest(&predict, &measure, 0) && !SearchBest(&predict, &measure, 2),
        "who is not known to be faster than a smaller one is not");
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;

  testAdd();
  testKeep(&seed);
  testBest();
  return TapDone();
}
