/* growth.c -- whose memory rises from one quarter of the run to the next
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/viewnotes.h"
#include "analyse/views.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/growthbook.h"
#include "callers/sitegroups.h"
#include "export/jsondocument.h"

/* A caller, or all of them together. */
typedef struct growthLineStruct {
  Index group;
  double mean[GrowthSLICES];
  GrowthFitStruct fit;
} growthLineStruct, *GrowthLine;

typedef struct GrowthStruct {
  ViewHeap shared;
  uint64_t first; /* ns, when the log begins */
  GrowthBookStruct book;
  SiteGroupsStruct groups;
  Count count, rising; /* lines; so many of them are the first, and rise */
  GrowthLine line; /* owned */
  growthLineStruct all;
  Count top;
  Bool failed;
} GrowthStruct, *Growth;

/* growthRoom -- the site has a row; FALSE: no memory */
static inline Bool growthRoom(Growth growth, uint32_t number)
{
  if (UNLIKELY(number >= growth->book.count) && GrowthBookRoom(&growth->book, number + 1) != ResOK)
    growth->failed = TRUE;
  return !growth->failed;
}

static void growthAlloc(void *data, HeapOperation operation)
{
  Growth growth = data;
  uint32_t number = operation->object->client;

  if (growthRoom(growth, number))
    GrowthBookChange(&growth->book, number, operation->time, operation->object->size, 0);
}

static void growthFree(void *data, HeapOperation operation)
{
  Growth growth = data;

  if (growthRoom(growth, operation->object->client))
    GrowthBookChange(&growth->book, operation->object->client, operation->time, 0, operation->object->size);
}

static void growthResize(void *data, HeapOperation operation)
{
  Growth growth = data;

  if (!growthRoom(growth, operation->object->client) || !growthRoom(growth, operation->mark))
    return;
  GrowthBookChange(&growth->book, operation->object->client, operation->time, 0, operation->oldSize);
  GrowthBookChange(&growth->book, operation->mark, operation->time, operation->object->size, 0);
}

static void growthMany(void *data, HeapOperation operation, uint32_t number, const SiteSumStruct *sum)
{
  Growth growth = data;

  if (growthRoom(growth, number))
    GrowthBookChange(&growth->book, number, operation->time, sum->bytes, 0);
}

/* growthOther -- a process has ended, or has not after all; each resize comes here, too, and means nothing */
static void growthOther(void *data, HeapOperation operation)
{
  Growth growth = data;
  uint32_t number;

  if (operation->kind != HeapPROCESSEND && (operation->kind != HeapPROCESSBEGIN || !operation->revived))
    return;
  number = SiteNumbersFirst(&growth->shared->numbers, operation->process);
  for (; number != 0; number = SiteNumbersAt(&growth->shared->numbers, number)->next)
    if (number < growth->book.count)
      (operation->kind == HeapPROCESSEND ? GrowthBookLeave : GrowthBookReturn)(&growth->book, number, operation->time);
}

static Res growthCreate(void **viewReturn, ViewWants wants)
{
  ViewClientStruct client = {.heap = {.alloc = growthAlloc, .free = growthFree, .resize = growthResize,
                                      .other = growthOther}, .many = growthMany};
  const LogRequestStruct *only = wants->request;
  Growth growth = calloc(1, sizeof *growth);
  LogSummaryStruct log;

  if (growth == NULL)
    return ResMEMORY;
  LogSummarize(&log, wants->log);
  growth->shared = wants->whole;
  growth->first = log.first;
  growth->top = wants->top;
  GrowthBookInit(&growth->book, only->from > log.first ? only->from : log.first,
                 only->to < log.last ? only->to : log.last);
  client.heap.data = growth;
  ViewHeapJoin(wants->whole, &client);
  CodeNamesWant(wants->names);
  *viewReturn = growth;
  return ResOK;
}

/* growthCompare -- what rises comes first, the steepest before others */
static int growthCompare(const void *a, const void *b)
{
  const growthLineStruct *x = a, *y = b;

  if (x->fit.rises != y->fit.rises)
    return x->fit.rises ? -1 : 1;
  if (x->fit.slope != y->fit.slope)
    return x->fit.slope > y->fit.slope ? -1 : 1;
  return x->group < y->group ? -1 : x->group > y->group;
}

static Res growthFinish(void *view)
{
  Growth growth = view;
  Res res = ViewHeapFinish(growth->shared);
  uint32_t number;
  Index i;

  if (res == ResOK && growth->failed)
    res = ResMEMORY;
  if (res == ResOK)
    res = SiteGroupsMake(&growth->groups, &growth->shared->numbers, growth->shared->names);
  if (res != ResOK)
    return res;
  growth->count = SiteGroupsCount(&growth->groups);
  if ((growth->line = calloc(growth->count + 1, sizeof *growth->line)) == NULL)
    return ResMEMORY;
  GrowthBookClose(&growth->book);
  for (number = 1; number < growth->book.count; ++number)
    for (i = 0; i < GrowthSLICES; ++i) {
      growth->line[growth->groups.group[number - 1]].mean[i] += growth->book.row[number].mean[i];
      growth->all.mean[i] += growth->book.row[number].mean[i];
    }
  for (i = 0; i < growth->count; ++i) {
    growth->line[i].group = i;
    growth->line[i].fit = GrowthBookFit(&growth->book, growth->line[i].mean);
    growth->rising += growth->line[i].fit.rises;
  }
  growth->all.fit = GrowthBookFit(&growth->book, growth->all.mean);
  qsort(growth->line, growth->count, sizeof *growth->line, growthCompare);
  return ResOK;
}

static void growthDestroy(void *view)
{
  Growth growth = view;

  GrowthBookFinish(&growth->book);
  SiteGroupsFinish(&growth->groups);
  free(growth->line);
  free(growth);
}

/* growthSeconds -- how long the run is */
static double growthSeconds(Growth growth)
{
  return DocumentSince(growth->book.begin, growth->book.end);
}

/* Text */

/* textUnit -- the unit of time in which a slope is printed, in seconds, and its name: one that fits into the run
 * twice */
static double textUnit(const char **nameReturn, double seconds)
{
  static const struct {
    double seconds;
    const char *name;
  } units[] = {{86400, "a day"}, {3600, "an hour"}, {60, "a minute"}, {1, "a second"}};
  Index i;

  for (i = 0; i + 1 < ARRAY_LENGTH(units) && units[i].seconds * 2 > seconds; ++i)
    ;
  *nameReturn = units[i].name;
  return units[i].seconds;
}

static void textBytes(FILE *out, int width, double bytes)
{
  if (bytes < 0)
    fprintf(out, "%*s", width, "falls  ");
  else
    SayColumn(out, width, (uint64_t)(bytes + 0.5));
}

static void textLine(FILE *out, const growthLineStruct *line, double unit)
{
  Index i;

  textBytes(out, 11, line->fit.slope * unit);
  fprintf(out, " %5.2f", line->fit.fit);
  for (i = 0; i < GrowthQUARTERS; ++i)
    textBytes(out, 11, line->fit.quarter[i]);
  fputs("  ", out);
}

static Bool growthText(FILE *out, void *view)
{
  Growth growth = view;
  const char *name;
  double unit = textUnit(&name, growthSeconds(growth));
  Index i;

  fprintf(out, "run            %.9f s from %.9f s on\n", growthSeconds(growth),
          DocumentSince(growth->first, growth->book.begin));
  fprintf(out, "growing        %zu caller%s: more live bytes, in the mean, in each quarter of the run than\n"
          "               in the one before\n", growth->rising, TextPlural(growth->rising));
  fprintf(out, "\n%11s %5s%11s%11s%11s%11s  caller\n", name, "fit", "quarter 1", "quarter 2", "quarter 3", "quarter 4");
  for (i = 0; i < growth->rising && i < growth->top; ++i) {
    textLine(out, &growth->line[i], unit);
    SiteGroupsText(out, &growth->groups, growth->line[i].group);
    putc('\n', out);
  }
  textLine(out, &growth->all, unit);
  fprintf(out, "all %zu caller%s\n", growth->count, TextPlural(growth->count));
  if (growth->rising > growth->top)
    fprintf(out, "               and %zu more that grow (--top)\n", growth->rising - growth->top);
  putc('\n', out);
  ViewNotesText(out, growth->shared, TRUE);
  return TRUE;
}

/* JSON */

static void jsonList(FILE *out, const char *name, const double *bytes, Count count)
{
  Index i;

  fprintf(out, ", \"%s\": [", name);
  for (i = 0; i < count; ++i)
    fprintf(out, "%s%.0f", i == 0 ? "" : ", ", bytes[i]);
  putc(']', out);
}

static void jsonLine(FILE *out, const growthLineStruct *line)
{
  fprintf(out, "\"bytes_a_second\": %.3f, \"fit\": %.6f", line->fit.slope, line->fit.fit);
  jsonList(out, "quarters", line->fit.quarter, GrowthQUARTERS);
  jsonList(out, "slices", line->mean, GrowthSLICES);
}

static Bool growthJson(FILE *out, void *view)
{
  Growth growth = view;
  Index i;

  fprintf(out, "{\"from\": %.9f, \"to\": %.9f, \"all\": {", DocumentSince(growth->first, growth->book.begin),
          DocumentSince(growth->first, growth->book.end));
  jsonLine(out, &growth->all);
  fputs("},\n ", out);
  ViewNotesJson(out, growth->shared);
  fprintf(out, ",\n \"callers_in_all\": %zu, \"growing\": [", growth->count);
  for (i = 0; i < growth->rising; ++i) {
    fputs(i == 0 ? "\n  {" : ",\n  {", out);
    SiteGroupsJson(out, &growth->groups, growth->line[i].group);
    fputs(", ", out);
    jsonLine(out, &growth->line[i]);
    putc('}', out);
  }
  fputs("]}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassGrowth = {
  "growth", "whose memory rises from quarter to quarter of the run (--top)",
  ViewTakesTOP | ViewTakesCALLERS, growthCreate, NULL, growthFinish,
  growthText, growthJson, growthDestroy
};
