/* curve.c -- a number over time: the largest one in each of a fixed number of slices
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/curve.h"

#include <string.h>

enum { curveFirst = 1024 /* ns of a slice at first */ };

void CurveJoin(Curve curve, uint64_t slice)
{
  Index i;

  while (curve->slice != 0 && curve->slice < slice) {
    for (i = 0; i < CurveSLICES / 2; ++i)
      curve->most[i] = curve->most[2 * i] > curve->most[2 * i + 1] ? curve->most[2 * i] : curve->most[2 * i + 1];
    memset(curve->most + CurveSLICES / 2, 0, sizeof curve->most / 2);
    curve->slice *= 2;
  }
}

void CurveAdd(Curve curve, uint64_t time, uint64_t number)
{
  uint64_t *most;

  if (curve->slice == 0)
    curve->slice = curveFirst;
  while (time / curve->slice >= CurveSLICES)
    CurveJoin(curve, curve->slice * 2);
  most = &curve->most[time / curve->slice];
  *most = number > *most ? number : *most;
  curve->time = time;
  curve->number = number;
}

void CurveChange(Curve curve, uint64_t time, uint64_t number)
{
  uint64_t before = curve->time, held = curve->number;
  Index i;

  CurveAdd(curve, time, number);
  for (i = before / curve->slice + 1; i < time / curve->slice; ++i)
    if (curve->most[i] == 0)
      curve->most[i] = held;
}

Count CurveSlices(const CurveStruct *curve)
{
  Count count = CurveSLICES;

  while (count > 0 && curve->most[count - 1] == 0)
    --count;
  return count;
}
