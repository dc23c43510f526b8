/* reportcollections.c -- the collections that a report shows, with their pauses
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .collections      Tests: test/report/collections.t
 */
#include "report/reportcollections.h"

#include <stdlib.h>
#include <string.h>

#include "export/jsondocument.h"

void ReportCollectionsInit(ReportCollections collections, ReportSpan span, const LogRequestStruct *only, OfProcess of)
{
  *collections = (ReportCollectionsStruct){.span = span};
  CollectingInit(&collections->found, only, of, TRUE);
}

void ReportCollectionsFinish(ReportCollections collections)
{
  CollectingFinish(&collections->found);
  free(collections->shown);
  collections->shown = NULL;
}

static int collectionsByPause(const void *a, const void *b)
{
  const CollectingRowStruct *x = *(const CollectingRowStruct *const *)a, *y = *(const CollectingRowStruct *const *)b;
  uint64_t longestX = CollectingAll(&x->stop, &x->step).longest, longestY = CollectingAll(&y->stop, &y->step).longest;

  if (longestX != longestY)
    return longestX > longestY ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int collectionsByRow(const void *a, const void *b)
{
  const CollectingPauseStruct *x = a, *y = b;

  if (x->row != y->row)
    return x->row < y->row ? -1 : 1;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

Res ReportCollectionsEnd(ReportCollections collections)
{
  Collecting found = &collections->found;
  CollectingRow *row = malloc((found->rows + 1) * sizeof *row);
  Res res = CollectingOver(found);
  Index i;

  collections->shown = calloc(found->rows + 1, sizeof *collections->shown);
  if (res != ResOK || row == NULL || collections->shown == NULL) {
    free(row);
    return ResMEMORY;
  }
  for (i = 0; i < found->rows; ++i)
    row[i] = &found->row[i];
  qsort(row, found->rows, sizeof *row, collectionsByPause);
  for (i = 0; i < found->rows && i < ReportCollectionsMAX; ++i)
    collections->shown[row[i] - found->row] = TRUE;
  free(row);
  if (found->kept > 0)
    qsort(found->pause, found->kept, sizeof *found->pause, collectionsByRow);
  return ResOK;
}

/* ---- JSON ---- */

static long long collectionsTime(ReportCollections collections, uint64_t time)
{
  return (long long)(time - collections->span->zero);
}

/* collectionsPauses -- print the pauses of a row, from *at on, of which `left` may be printed yet: is it a step, when
 * it began, how long it was; returns how many may be printed after that */
static Count collectionsPauses(FILE *out, ReportCollections collections, Index row, Index *at, Count left)
{
  Collecting found = &collections->found;
  Bool first = TRUE;

  fputs(", \"phases\": [", out);
  while (*at < found->kept && found->pause[*at].row < row)
    ++*at;
  for (; *at < found->kept && found->pause[*at].row == row && left > 0; ++*at, --left) {
    CollectingPause pause = &found->pause[*at];
    fprintf(out, "%s[%d, %lld, %llu]", first ? "" : ", ", pause->step, collectionsTime(collections, pause->begin),
            (unsigned long long)pause->length);
    first = FALSE;
  }
  putc(']', out);
  return left;
}

static void collectionsRow(FILE *out, ReportCollections collections, CollectingRow row)
{
  CollectingSumStruct all = CollectingAll(&row->stop, &row->step);

  fprintf(out, "{\"pid\": %u, \"process\": %zu, \"pool\": \"%#llx\", \"number\": %llu, \"why\": ",
          row->process->header.pid, row->process->number, (unsigned long long)row->pool,
          (unsigned long long)row->number);
  JsonString(out, row->why);
  fprintf(out, ", \"begin\": %lld, \"end\": ", collectionsTime(collections, row->begin));
  if (row->end == 0)
    fputs("null", out);
  else
    fprintf(out, "%lld", collectionsTime(collections, row->end));
  fprintf(out, ", \"condemned\": %llu, \"reclaimed\": %llu, \"pauses\": %llu, \"paused\": %llu, \"longest\": %llu",
          (unsigned long long)row->condemned, (unsigned long long)row->reclaimed, (unsigned long long)all.pauses,
          (unsigned long long)all.paused, (unsigned long long)all.longest);
}

void ReportCollectionsJson(FILE *out, ReportCollections collections, ViewLabels labels)
{
  Collecting found = &collections->found;
  Count left = ReportPausesMAX;
  Bool first = TRUE;
  Index i, at = 0;

  fprintf(out, ",\n \"collections_all\": %zu,\n \"collections\": [", found->rows);
  for (i = 0; i < found->rows; ++i) {
    if (!collections->shown[i])
      continue;
    fputs(first ? "\n  " : ",\n  ", out);
    collectionsRow(out, collections, &found->row[i]);
    ViewLabelsJson(out, labels, found->row[i].process, found->row[i].pool, 0);
    left = collectionsPauses(out, collections, i, &at, left);
    putc('}', out);
    first = FALSE;
  }
  putc(']', out);
}
