/* growthbook.h -- how much each site had over a run: the mean of its live bytes in each of 16 slices of time
 *
 * A mean is over time, so what lives shortly counts little, and what is freed in the last moment of a program, as much
 * is, does not hide that it had grown.  A row is brought up to date when it changes, and at the end.
 *
 * Always true (GrowthBookCheck):
 *   begin + GrowthSLICES <= end;  slice of a row < GrowthSLICES, or the row is complete
 *   since of a row lies in its slice;  `area` is of the time from the slice's beginning to `since`
 *
 * Design: design/view.md .growth      Tests: test/callers/growthbooktest.c
 */
#ifndef CALLERS_GROWTHBOOK_H
#define CALLERS_GROWTHBOOK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { GrowthSLICES = 16, GrowthQUARTERS = 4 };

typedef struct GrowthRowStruct {
  uint64_t live, left;          /* bytes now; of processes that have ended */
  uint64_t since;               /* ns; up to then `area` is counted */
  unsigned __int128 area;       /* bytes times ns */
  uint32_t slice;               /* in which that is; GrowthSLICES: there is no more to come */
  double mean[GrowthSLICES];    /* bytes; of slices before that */
} GrowthRowStruct, *GrowthRow;

typedef struct GrowthBookStruct {
  uint64_t begin, end;          /* ns; of the run */
  Count count, capacity;
  GrowthRow row;                /* owned; by number of the site */
} GrowthBookStruct, *GrowthBook;

/* GrowthBookInit -- no rows yet.  A run that is too short is made long enough.  GrowthBookFinish frees the memory. */
extern void GrowthBookInit(GrowthBook book, uint64_t begin, uint64_t end);
extern void GrowthBookFinish(GrowthBook book);

/* GrowthBookRoom -- numbers below `count` have rows.  ResMEMORY. */
extern Res GrowthBookRoom(GrowthBook book, Count count);

/* GrowthBookChange -- from `time` on it has `more` bytes more and `fewer` fewer
 * GrowthBookLeave -- its process has ended, and it has nothing;  GrowthBookReturn -- it has not: all is back */
extern void GrowthBookChange(GrowthBook book, uint32_t number, uint64_t time, uint64_t more, uint64_t fewer);
extern void GrowthBookLeave(GrowthBook book, uint32_t number, uint64_t time);
extern void GrowthBookReturn(GrowthBook book, uint32_t number, uint64_t time);

/* GrowthBookClose -- the run has ended: all means are known */
extern void GrowthBookClose(GrowthBook book);

/* What the means of one or more rows, added up, come to. */
typedef struct GrowthFitStruct {
  double quarter[GrowthQUARTERS]; /* bytes, mean of each quarter */
  double slope;                 /* bytes a second, of the line that is nearest to the means (least squares) */
  double fit;                   /* R squared, 0 to 1: the part of what the means vary by that this line explains */
  Bool rises;                   /* each quarter has more than the one before */
} GrowthFitStruct, *GrowthFit;

extern GrowthFitStruct GrowthBookFit(GrowthBook book, const double mean[GrowthSLICES]);

extern Bool GrowthBookCheck(GrowthBook book);

#endif /* CALLERS_GROWTHBOOK_H */
