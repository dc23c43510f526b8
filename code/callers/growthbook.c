/* growthbook.c -- how much each site had over a run
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/growthbook.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"

void GrowthBookInit(GrowthBook book, uint64_t begin, uint64_t end)
{
  if (begin > UINT64_MAX - GrowthSLICES)
    begin = UINT64_MAX - GrowthSLICES;
  *book = (GrowthBookStruct){.begin = begin, .end = end};
  if (end < begin || end - begin < GrowthSLICES)
    book->end = begin + GrowthSLICES;
}

void GrowthBookFinish(GrowthBook book)
{
  free(book->row);
  book->row = NULL;
}

/* growthBorder -- ns when a slice begins; of GrowthSLICES: when the run ends */
static uint64_t growthBorder(GrowthBook book, uint32_t slice)
{
  return book->begin + (uint64_t)((unsigned __int128)(book->end - book->begin) * slice / GrowthSLICES);
}

Res GrowthBookRoom(GrowthBook book, Count count)
{
  if (count > 0 && !GrowTo(&book->row, &book->capacity, count - 1, sizeof *book->row))
    return ResMEMORY;
  for (; book->count < count; ++book->count)
    book->row[book->count].since = book->begin;
  return ResOK;
}

/* growthUntil -- the row has had what it has until `time` */
static void growthUntil(GrowthBook book, uint32_t number, uint64_t time)
{
  GrowthRow row = &book->row[number];

  AVER_CRITICAL(number < book->count);
  if (time > book->end)
    time = book->end;
  while (row->slice < GrowthSLICES && time > row->since) {
    uint64_t border = growthBorder(book, row->slice + 1), to = time < border ? time : border;
    row->area += (unsigned __int128)row->live * (to - row->since);
    row->since = to;
    if (to < border)
      return;
    row->mean[row->slice] = (double)row->area / (double)(border - growthBorder(book, row->slice));
    row->area = 0;
    ++row->slice;
  }
}

void GrowthBookChange(GrowthBook book, uint32_t number, uint64_t time, uint64_t more, uint64_t fewer)
{
  GrowthRow row = &book->row[number];

  growthUntil(book, number, time);
  AVER_CRITICAL(row->live + more >= fewer);
  row->live += more - fewer;
}

void GrowthBookLeave(GrowthBook book, uint32_t number, uint64_t time)
{
  GrowthRow row = &book->row[number];

  growthUntil(book, number, time);
  row->left += row->live;
  row->live = 0;
}

void GrowthBookReturn(GrowthBook book, uint32_t number, uint64_t time)
{
  GrowthRow row = &book->row[number];

  growthUntil(book, number, time);
  row->live += row->left;
  row->left = 0;
}

void GrowthBookClose(GrowthBook book)
{
  uint32_t number;

  for (number = 0; number < book->count; ++number)
    growthUntil(book, number, book->end);
  AVER(GrowthBookCheck(book));
}

GrowthFitStruct GrowthBookFit(GrowthBook book, const double mean[GrowthSLICES])
{
  GrowthFitStruct fit = {.rises = TRUE};
  double seconds = (double)(book->end - book->begin) / 1e9 / GrowthSLICES, all = 0, xx = 0, xy = 0, yy = 0;
  Index i;

  for (i = 0; i < GrowthSLICES; ++i) {
    fit.quarter[i / (GrowthSLICES / GrowthQUARTERS)] += mean[i] / (GrowthSLICES / GrowthQUARTERS);
    all += mean[i] / GrowthSLICES;
  }
  for (i = 0; i < GrowthSLICES; ++i) {
    double x = (double)i - (GrowthSLICES - 1) / 2.0, y = mean[i] - all;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  fit.slope = xy / xx / seconds;
  fit.fit = yy > 0 ? xy * xy / (xx * yy) : 0;
  for (i = 1; i < GrowthQUARTERS; ++i)
    fit.rises = fit.rises && fit.quarter[i] > fit.quarter[i - 1];
  return fit;
}

Bool GrowthBookCheck(GrowthBook book)
{
  uint32_t i;

  if (book->end < book->begin || book->end - book->begin < GrowthSLICES || book->count > book->capacity)
    return FALSE;
  for (i = 0; i < book->count; ++i) {
    GrowthRow row = &book->row[i];
    if (row->slice > GrowthSLICES || (row->slice == GrowthSLICES && row->since != book->end) ||
        (row->slice < GrowthSLICES && (row->since < growthBorder(book, row->slice) ||
                                       row->since >= growthBorder(book, row->slice + 1))))
      return FALSE;
  }
  return TRUE;
}
