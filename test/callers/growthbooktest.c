/* growthbooktest.c -- means over time of what sites have, against a sum over each nanosecond
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "callers/growthbook.h"
#include "tap.h"

enum { SITES = 5, LENGTH = 2000 };

static uint64_t seedNow;

static uint64_t below(uint64_t n)
{
  return TapRandom(&seedNow) % n;
}

/* playRound -- random changes; how many means are not those of the oracle? */
static Count playRound(void)
{
  static uint64_t at[SITES][LENGTH]; /* bytes of a site in each nanosecond */
  uint64_t begin = below(1000000), length = GrowthSLICES + below(LENGTH - GrowthSLICES), live[SITES] = {0}, time = 0, t;
  GrowthBookStruct book;
  Count wrong = 0;
  uint32_t site, slice;

  GrowthBookInit(&book, begin, begin + length);
  if (GrowthBookRoom(&book, SITES) != ResOK)
    return 1;
  while (time < length) {
    uint64_t next = time + below(60), size = below(10000);
    for (; time < next && time < length; ++time)
      for (site = 0; site < SITES; ++site)
        at[site][time] = live[site];
    site = (uint32_t)below(SITES);
    if (live[site] > 0 && below(4) == 0) {
      GrowthBookLeave(&book, site, begin + next);
      if (below(2) == 0)
        GrowthBookReturn(&book, site, begin + next);
      else
        live[site] = 0;
      book.row[site].left = 0;
    } else if (below(2) == 0) {
      GrowthBookChange(&book, site, begin + next, size, 0);
      live[site] += size;
    } else {
      uint64_t fewer = below(live[site] + 1);
      GrowthBookChange(&book, site, begin + next, 0, fewer);
      live[site] -= fewer;
    }
    wrong += !GrowthBookCheck(&book);
  }
  GrowthBookClose(&book);
  wrong += !GrowthBookCheck(&book);
  for (site = 0; site < SITES; ++site)
    for (slice = 0; slice < GrowthSLICES; ++slice) {
      uint64_t from = length * slice / GrowthSLICES, to = length * (slice + 1) / GrowthSLICES, sum = 0;
      for (t = from; t < to; ++t)
        sum += at[site][t];
      wrong += fabs(book.row[site].mean[slice] - (double)sum / (double)(to - from)) > 1e-6;
    }
  GrowthBookFinish(&book);
  return wrong;
}

static void testFit(void)
{
  double mean[GrowthSLICES];
  GrowthBookStruct book;
  GrowthFitStruct fit;
  Index i;

  GrowthBookInit(&book, 5000000000, 21000000000); /* a second for each slice */
  for (i = 0; i < GrowthSLICES; ++i)
    mean[i] = 100 + 7 * (double)i;
  fit = GrowthBookFit(&book, mean);
  TapOk(fabs(fit.slope - 7) < 1e-9 && fabs(fit.fit - 1) < 1e-9 && fit.rises, "a straight line has its slope, and fits");
  TapOk(fabs(fit.quarter[0] - 110.5) < 1e-9 && fabs(fit.quarter[3] - 194.5) < 1e-9, "and the means of its quarters");
  for (i = 0; i < GrowthSLICES; ++i)
    mean[i] = i % 2 == 0 ? 10 : 20;
  fit = GrowthBookFit(&book, mean);
  TapOk(!fit.rises && fit.fit < 0.1, "what goes up and down does not rise");
  for (i = 0; i < GrowthSLICES; ++i)
    mean[i] = 5;
  fit = GrowthBookFit(&book, mean);
  TapOk(!fit.rises && fit.slope == 0 && fit.fit == 0, "nor what stays as it is");
  for (i = 0; i < GrowthSLICES; ++i)
    mean[i] = i < 4 ? 1000 : 2000;
  TapOk(!GrowthBookFit(&book, mean).rises, "nor what has grown once");
  GrowthBookFinish(&book);
  GrowthBookInit(&book, UINT64_MAX, 3);
  TapOk(GrowthBookCheck(&book), "a run of no length is no run of nonsense");
  GrowthBookFinish(&book);
}

int main(void)
{
  uint64_t seed = TapSeed();
  Count wrong = 0;
  unsigned i;

  seedNow = seed * 0x9e3779b97f4a7c15ull | 1;
  for (i = 0; i < 200; ++i)
    wrong += playRound();
  TapIs(wrong, 0, "the mean of each slice is that of all its moments");
  testFit();
  return TapDone();
}
