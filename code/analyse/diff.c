/* diff.c -- what was allocated between two times and is still there, by caller
 *
 * Always true: `before` and `gone` have a place for each site that had a number at the first time; others had nothing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/viewnotes.h"
#include "analyse/views.h"
#include "base/grow.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/sitegroups.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"

/* A caller, or all of them. */
typedef struct diffLineStruct {
  Index group;
  SiteSumStruct fresh, before, after;
} diffLineStruct, *DiffLine;

typedef struct DiffStruct {
  ViewHeap heap;           /* it begins where the log does */
  uint64_t first, last, from, to; /* ns; of the log, and what is asked for; to UINT64_MAX: the log's end */
  Bool begun, done;        /* the first time has come; the second */
  Count befores;           /* sites that had a number at the first time */
  SiteSumStruct *before;   /* owned; what they had then, by number; */
  SiteSumStruct *gone;     /* owned; and what had been left by processes that had ended */
  Count freshes;
  SiteSumStruct *fresh;    /* owned; by number: allocated since, and there */
  Count processes;
  Bool *ended;             /* owned; by process */
  SiteGroupsStruct groups;
  Count count;
  DiffLine line;           /* owned */
  diffLineStruct all;
  Count top;
  Bool failed;
} DiffStruct, *Diff;

/* diffBegin -- the first time has come: keep what each site has */
static void diffBegin(Diff diff)
{
  SiteBook book = &diff->heap->book;
  Count count = book->count;
  Index i;

  diff->begun = TRUE;
  diff->before = calloc(count, sizeof *diff->before);
  diff->gone = calloc(count, sizeof *diff->gone);
  if (diff->before == NULL || diff->gone == NULL) {
    diff->failed = TRUE;
    return;
  }
  for (i = 0; i < count; ++i) {
    diff->before[i] = book->row[i].live;
    diff->gone[i] = book->more[i].left;
  }
  diff->befores = count;
}

/* diffFresh -- add what has been allocated since the first time and is there to a site's sum */
static void diffFresh(Diff diff, uint32_t number, uint64_t size)
{
  SiteSumStruct one = {.bytes = size, .objects = 1};

  if (number == 0 || !GrowTo(&diff->fresh, &diff->freshes, number, sizeof *diff->fresh)) {
    diff->failed = TRUE;
    return;
  }
  SiteSumAdd(&diff->fresh[number], &one);
}

/* diffObject -- add an object that a process has, if it was allocated since */
static void diffObject(void *data, Index process, HeapPool pool, HeapObject object)
{
  Diff diff = data;

  UNUSED(pool);
  if (object->time >= diff->from && !object->told)
    diffFresh(diff, ViewHeapSite(diff->heap, process, object), object->size);
}

/* diffObjects -- add what a process has */
static void diffObjects(Diff diff, Index process)
{
  HeapLiveObjects(diff->heap->heap, process, diffObject, diff);
}

/* diffEnded -- a process has ended, or lives; FALSE: no memory */
static Bool diffEnded(Diff diff, Index process, Bool ended)
{
  if (!GrowTo(&diff->ended, &diff->processes, process, sizeof *diff->ended))
    return FALSE;
  diff->ended[process] = ended;
  return TRUE;
}

/* diffRevive -- a process had not ended: what had been left is there, and what was fresh is counted at its true end */
static void diffRevive(Diff diff, Index process)
{
  uint32_t number = SiteNumbersFirst(&diff->heap->numbers, process);

  for (; number != 0; number = SiteNumbersAt(&diff->heap->numbers, number)->next) {
    if (number < diff->befores) {
      SiteSumAdd(&diff->before[number], &diff->gone[number]);
      diff->gone[number] = (SiteSumStruct){0};
    }
    if (number < diff->freshes)
      diff->fresh[number] = (SiteSumStruct){0};
  }
}

static void diffTell(void *data, HeapOperation operation)
{
  Diff diff = data;

  if (UNLIKELY(!diff->begun && operation->time >= diff->from))
    diffBegin(diff);
}

static void diffOther(void *data, HeapOperation operation)
{
  Diff diff = data;

  diffTell(data, operation);
  if (diff->done || (operation->kind != HeapPROCESSBEGIN && operation->kind != HeapPROCESSEND))
    return;
  if (!diffEnded(diff, operation->process, operation->kind == HeapPROCESSEND))
    diff->failed = TRUE;
  else if (operation->kind == HeapPROCESSEND && diff->begun && diff->to == UINT64_MAX)
    diffObjects(diff, operation->process);
  else if (operation->revived)
    diffRevive(diff, operation->process);
}

static Res diffCreate(void **viewReturn, ViewWants wants)
{
  ViewClientStruct client = {.heap = {.alloc = diffTell, .free = diffTell, .resize = diffTell, .other = diffOther}};
  const LogRequestStruct *only = wants->request;
  Diff diff = calloc(1, sizeof *diff);
  LogSummaryStruct log;

  if (diff == NULL)
    return ResMEMORY;
  LogSummarize(&log, wants->log);
  diff->first = log.first;
  diff->last = log.last;
  diff->from = only->from;
  diff->to = only->to;
  diff->top = wants->top;
  diff->heap = wants->whole;
  client.heap.data = diff;
  ViewHeapJoin(diff->heap, &client);
  ViewHeapBook(diff->heap);
  CodeNamesWant(wants->names);
  *viewReturn = diff;
  return ResOK;
}

static int diffCompare(const void *a, const void *b)
{
  const diffLineStruct *x = a, *y = b;
  int64_t xs = (int64_t)(x->after.bytes - x->before.bytes), ys = (int64_t)(y->after.bytes - y->before.bytes);

  if (x->fresh.bytes != y->fresh.bytes)
    return x->fresh.bytes > y->fresh.bytes ? -1 : 1;
  if (xs != ys)
    return xs > ys ? -1 : 1;
  return x->group < y->group ? -1 : x->group > y->group;
}

/* diffLines -- all sums, by caller; ResMEMORY */
static Res diffLines(Diff diff)
{
  SiteBook book = &diff->heap->book;
  Index i;

  if (SiteGroupsMake(&diff->groups, &diff->heap->numbers, diff->heap->names) != ResOK ||
      (diff->line = calloc(SiteGroupsCount(&diff->groups) + 1, sizeof *diff->line)) == NULL)
    return ResMEMORY;
  diff->count = SiteGroupsCount(&diff->groups);
  for (i = 0; i < diff->count; ++i)
    diff->line[i].group = i;
  for (i = 1; i < book->count; ++i) {
    DiffLine line = &diff->line[diff->groups.group[i - 1]];
    SiteSumStruct after = book->row[i].live;
    if (diff->to == UINT64_MAX) { /* what processes had that ended meanwhile */
      after = SiteBookLeft(book, (uint32_t)i);
      after.bytes -= i < diff->befores ? diff->gone[i].bytes : 0;
      after.objects -= i < diff->befores ? diff->gone[i].objects : 0;
    }
    SiteSumAdd(&line->after, &after);
    if (i < diff->befores)
      SiteSumAdd(&line->before, &diff->before[i]);
    if (i < diff->freshes)
      SiteSumAdd(&line->fresh, &diff->fresh[i]);
  }
  for (i = 0; i < diff->count; ++i) {
    SiteSumAdd(&diff->all.after, &diff->line[i].after);
    SiteSumAdd(&diff->all.before, &diff->line[i].before);
    SiteSumAdd(&diff->all.fresh, &diff->line[i].fresh);
  }
  qsort(diff->line, diff->count, sizeof *diff->line, diffCompare);
  return ResOK;
}

static Res diffFinish(void *view)
{
  Diff diff = view;
  Heap heap = diff->heap->heap;
  Res res;
  Index i;

  HeapUntil(heap, diff->to);
  if (HeapSettle(heap) != ResOK)
    return ResMEMORY;
  if (!diff->begun)
    diffBegin(diff);
  for (i = 0; i < LogProcesses(diff->heap->log); ++i)
    if (HeapHas(heap, i) && (i >= diff->processes || !diff->ended[i]))
      diffObjects(diff, i);
  diff->done = TRUE;
  res = diff->failed ? ResMEMORY : diffLines(diff);
  return res == ResOK ? ViewHeapFinish(diff->heap) : res;
}

static void diffDestroy(void *view)
{
  Diff diff = view;

  SiteGroupsFinish(&diff->groups);
  free(diff->before);
  free(diff->gone);
  free(diff->fresh);
  free(diff->ended);
  free(diff->line);
  free(diff);
}

static uint64_t diffTo(Diff diff)
{
  return diff->to < diff->last ? diff->to : diff->last;
}

/* Text */

static void textLine(FILE *out, const diffLineStruct *line)
{
  SayColumn(out, 11, line->fresh.bytes);
  fprintf(out, " %9llu", (unsigned long long)line->fresh.objects);
  SayColumn(out, 11, line->before.bytes);
  SayColumn(out, 11, line->after.bytes);
  SayChange(out, 12, line->before.bytes, line->after.bytes);
  fputs("  ", out);
}

static Bool diffText(FILE *out, void *view)
{
  Diff diff = view;
  Count more = 0;
  Index i;

  fprintf(out, "between        %.9f s and %.9f s\n", DocumentSince(diff->first, diff->from),
          DocumentSince(diff->first, diffTo(diff)));
  fprintf(out, "\n%11s %9s%11s%11s%12s  caller\n", "still there", "objects", "live, then", "live, now", "change");
  for (i = 0; i < diff->count; ++i) {
    DiffLine line = &diff->line[i];
    if (line->fresh.objects == 0 && line->before.bytes == line->after.bytes)
      continue;
    if (i >= diff->top) {
      ++more;
      continue;
    }
    textLine(out, line);
    SiteGroupsText(out, &diff->groups, line->group);
    putc('\n', out);
  }
  textLine(out, &diff->all);
  fprintf(out, "all %zu caller%s\n", diff->count, TextPlural(diff->count));
  if (more > 0)
    fprintf(out, "               and %zu more that changed (--top)\n", more);
  putc('\n', out);
  ViewNotesText(out, diff->heap, TRUE);
  return TRUE;
}

/* JSON */

static void jsonLine(FILE *out, const diffLineStruct *line)
{
  fprintf(out, "\"still_there_bytes\": %llu, \"still_there_objects\": %llu, \"before_bytes\": %llu, "
          "\"before_objects\": %llu, \"after_bytes\": %llu, \"after_objects\": %llu",
          (unsigned long long)line->fresh.bytes, (unsigned long long)line->fresh.objects,
          (unsigned long long)line->before.bytes, (unsigned long long)line->before.objects,
          (unsigned long long)line->after.bytes, (unsigned long long)line->after.objects);
}

static Bool diffJson(FILE *out, void *view)
{
  Diff diff = view;
  Index i;

  fprintf(out, "{\"from\": %.9f, \"to\": %.9f, ", DocumentSince(diff->first, diff->from),
          DocumentSince(diff->first, diffTo(diff)));
  jsonLine(out, &diff->all);
  fputs(",\n ", out);
  ViewNotesJson(out, diff->heap);
  fputs(",\n \"sites\": [", out);
  for (i = 0; i < diff->count; ++i) {
    fputs(i == 0 ? "\n  {" : ",\n  {", out);
    SiteGroupsJson(out, &diff->groups, diff->line[i].group);
    fputs(", ", out);
    jsonLine(out, &diff->line[i]);
    putc('}', out);
  }
  fputs("]}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassDiff = {
  "diff", "--from T [--to T]: what was allocated between and is still there, by caller",
  ViewTakesTOP | ViewTakesCALLERS, diffCreate,
  NULL, diffFinish, diffText, diffJson, diffDestroy
};
