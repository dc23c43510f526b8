/* reportrows.h -- the stacks and callers that a report tells apart
 *
 * A row is one of the largest stacks, the same in all processes, or where no stacks were recorded the one place that is
 * known; or all other stacks of one of the largest callers, which are those of the view `sites`; or all that is left.
 * Which are the largest is known behind the first pass; in the second each object's site is looked up here by what it
 * is, because its number may be another one there.
 *
 * Always true: the first `singles` rows are stacks, the largest first;  the last row is that of all others
 *
 * Design: design/report.md .rows      Tests: test/report/report.t
 */
#ifndef REPORT_REPORTROWS_H
#define REPORT_REPORTROWS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewheap.h"
#include "callers/sitelines.h"

enum { RowsSTACKS = 300, RowsCALLERS = 300 };

/* What all sites with the same stack have, or all with the same caller. */
typedef struct RowsGroupStruct {
  SiteLineStruct line;    /* `group` is its number in `stacks`, or in `places`, less one */
  uint32_t caller;        /* of a stack: its number in `callers`, less one; */
  uint32_t row;           /* and its row.  Of a caller: that of its other stacks; 0: it has none */
} RowsGroupStruct, *RowsGroup;

typedef struct RowsStruct {
  ViewHeap shared;        /* of the first pass */
  StringsStruct stacks;   /* frames of each stack: CodePlaceStructs */
  StringsStruct callers;  /* CodePlaceStructs of all callers */
  StringsStruct places;   /* those of the rows' frames */
  Count groups, capacity;
  RowsGroup group;        /* owned; the stacks, when they are sorted the largest first */
  Count callerCount, callerCapacity;
  RowsGroup caller;       /* owned; by number in `callers` - 1 */
  Count singles, rows;
  SiteLineStruct all;
  SiteLineStruct *line;   /* owned; what each row has */
  uint32_t *rest;         /* owned; of the rows behind `singles`: the caller */
  uint32_t *row;          /* owned; by the number of a site in the first pass */
  Count numbers;
} RowsStruct, *Rows;

/* RowsMake -- the first pass is over; ResMEMORY.  RowsFinish in either case. */
extern Res RowsMake(Rows rows, ViewHeap shared);
extern void RowsFinish(Rows rows);

/* RowsOf -- the row of a site that another pass has met */
extern Index RowsOf(Rows rows, const SiteStruct *site);

/* RowsJson -- print the members `functions` and `sites` */
extern void RowsJson(FILE *out, Rows rows);

#endif /* REPORT_REPORTROWS_H */
