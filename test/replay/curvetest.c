/* curvetest.c -- the largest numbers in slices of time, against all numbers
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/curve.h"

#include "tap.h"

enum { rounds = 300, points = 200 };

int main(void)
{
  uint64_t random = TapSeed() | 1;
  Count wrong = 0, slices = 0, coarse = 0;
  CurveStruct curve;
  unsigned round;
  Index i, j;

  for (round = 0; round < rounds; ++round) {
    uint64_t time[points], number[points], last = 0, longest = (uint64_t)1 << TapRandom(&random) % 45;
    curve = (CurveStruct){.slice = 0};
    for (i = 0; i < points; ++i) {
      time[i] = TapRandom(&random) % longest;
      number[i] = 1 + TapRandom(&random) % 1000;
      CurveAdd(&curve, time[i], number[i]);
      last = time[i] > last ? time[i] : last;
    }
    for (j = 0; j < CurveSLICES; ++j) {
      uint64_t most = 0;
      for (i = 0; i < points; ++i)
        if (time[i] / curve.slice == j && number[i] > most)
          most = number[i];
      wrong += curve.most[j] != most;
    }
    slices += CurveSlices(&curve) != last / curve.slice + 1;
    coarse += curve.slice > 1024 && last / (curve.slice / 2) < CurveSLICES;
  }
  TapIs(wrong, 0, "each slice has the largest number in it");
  TapIs(slices, 0, "the last one that is known is that of the last number");
  TapIs(coarse, 0, "and slices are no longer than it takes");
  curve = (CurveStruct){.slice = 0};
  CurveChange(&curve, 500, 9);
  CurveChange(&curve, 510, 4);
  CurveChange(&curve, 10 * 1024 + 1, 7);
  for (i = 1, wrong = 0; i < 10; ++i)
    wrong += curve.most[i] != 4;
  TapOk(curve.most[0] == 9 && curve.most[10] == 7 && wrong == 0, "what does not change stays until it does");
  CurveChange(&curve, 2 * 1024, 1); /* late: threads' times differ */
  CurveChange(&curve, 11 * 1024, 5);
  TapOk(curve.most[5] == 4 && curve.most[10] == 7 && curve.most[11] == 5, "what comes late changes nothing that is known");
  CurveChange(&curve, 12 * 1024, 7);
  CurveChange(&curve, (uint64_t)1 << 40, 3);
  TapIs(curve.most[CurveSlices(&curve) - 2], 7, "also where slices are joined");
  CurveJoin(&curve, (uint64_t)1 << 50);
  TapOk(curve.slice == (uint64_t)1 << 50 && CurveSlices(&curve) == 1, "they can be joined further");
  curve = (CurveStruct){.slice = 0};
  CurveJoin(&curve, 1 << 20);
  TapIs(CurveSlices(&curve), 0, "an empty curve stays empty");
  CurveAdd(&curve, UINT64_MAX, 7);
  TapOk(CurveSlices(&curve) > 0 && curve.most[CurveSlices(&curve) - 1] == 7, "the latest time has a slice, too");
  return TapDone();
}
