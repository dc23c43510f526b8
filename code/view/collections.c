/* collections.c -- the view `collections`: how many, how long threads were stopped and how long one of them collected,
 * what each took back (collecting.h)
 *
 * Design: design/view.md .collections      Tests: test/ams/collections.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/viewlabels.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "view/bars.h"
#include "view/caveats.h"
#include "view/collecting.h"
#include "view/viewclasses.h"

typedef struct collectionsViewStruct {
  Log log;
  Count top;
  const LogRequestStruct *only; /* what was asked for */
  ViewLabelsStruct labels;
  CollectingStruct found; /* its rows, when finished, those that paused longest first */
} collectionsViewStruct, *collectionsView;

static Res collectionsCreate(void **viewReturn, ViewWants wants)
{
  collectionsView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->log = wants->log;
  view->top = wants->top;
  view->only = wants->request;
  ViewLabelsInit(&view->labels);
  CollectingInit(&view->found, wants->request, wants->of, FALSE);
  *viewReturn = view;
  return ResOK;
}

static LogRequest collectionsRequest(void *view)
{
  return &((collectionsView)view)->found.request;
}

static void collectionsDestroy(void *data)
{
  collectionsView view = data;

  CollectingFinish(&view->found);
  ViewLabelsFinish(&view->labels);
  free(view);
}

static int collectionsByPause(const void *a, const void *b)
{
  const CollectingRowStruct *x = a, *y = b;
  uint64_t longestX = CollectingAll(&x->stop, &x->step).longest, longestY = CollectingAll(&y->stop, &y->step).longest;

  if (longestX != longestY)
    return longestX > longestY ? -1 : 1;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static Res collectionsFinish(void *data)
{
  collectionsView view = data;
  Collecting found = &view->found;
  Res res = CollectingOver(found);

  if (res == ResOK)
    res = ViewLabelsPart(&view->labels, view->log, view->only);
  if (found->rows > 0)
    qsort(found->row, found->rows, sizeof *found->row, collectionsByPause);
  return res;
}

static double collectionsPercent(uint64_t part, uint64_t whole)
{
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* collectionsSpan -- ns of the log's time that were chosen */
static uint64_t collectionsSpan(collectionsView view, const LogSummaryStruct *log)
{
  uint64_t from = view->only->from > log->first ? view->only->from : log->first;
  uint64_t to = view->only->to < log->last ? view->only->to : log->last;

  return to > from ? to - from : 0;
}

/* ---- Text ---- */

static void collectionsLengthsText(FILE *out, collectionsView view)
{
  const uint64_t *stops = view->found.stops, *steps = view->found.steps;
  uint64_t most = 1;
  Index i;

  for (i = 0; i < CollectingLENGTHS; ++i)
    if (stops[i] + steps[i] > most)
      most = stops[i] + steps[i];
  fputs("by length              stops      steps\n", out);
  for (i = 0; i < CollectingLENGTHS; ++i) {
    if (stops[i] + steps[i] == 0)
      continue;
    fprintf(out, "  up to %9.3f ms %7llu %10llu  ", (double)((uint64_t)1 << i) / 1e3, (unsigned long long)stops[i],
            (unsigned long long)steps[i]);
    BarsAcross(out, stops[i] + steps[i], most, 40);
    putc('\n', out);
  }
}

static void collectionsRowText(FILE *out, collectionsView view, CollectingRow row, uint64_t start)
{
  char hex[24];

  (void)snprintf(hex, sizeof hex, "%#llx", (unsigned long long)row->pool);
  fprintf(out, "%-9u%-17s%7llu %13.9f  ", row->process->header.pid, hex, (unsigned long long)row->number,
          DocumentSince(start, row->begin));
  SayPlain(out, row->why, strlen(row->why));
  fprintf(out, "%*s", (int)(10 - (strlen(row->why) < 10 ? strlen(row->why) : 10)), "");
  SayColumn(out, 11, row->condemned);
  if (row->end == 0) {
    fputs("  not complete", out);
  } else {
    SayColumn(out, 11, row->reclaimed);
    fprintf(out, "%9.1f%% %9.3f %7llu %9.3f %9.3f %9.3f",
            collectionsPercent(row->condemned > row->reclaimed ? row->condemned - row->reclaimed : 0, row->condemned),
            (double)row->stop.paused / 1e6, (unsigned long long)row->step.pauses, (double)row->step.paused / 1e6,
            (double)row->step.longest / 1e6, (double)(row->end - row->begin) / 1e6);
  }
  ViewLabelsText(out, &view->labels, row->process, row->pool, 0);
  putc('\n', out);
}

static void collectionsSumText(FILE *out, const char *name, const char *whose, const CollectingSumStruct *sum,
                               uint64_t start)
{
  fprintf(out, "%-15s%llu", name, (unsigned long long)sum->pauses);
  if (sum->pauses > 0)
    fprintf(out, ": %s %.9f s in all; the longest %.9f s, at %.9f s", whose, (double)sum->paused / 1e9,
            (double)sum->longest / 1e9, DocumentSince(start, sum->longestAt));
  putc('\n', out);
}

static Bool collectionsText(FILE *out, void *data)
{
  collectionsView view = data;
  Bool paused = view->found.stop.pauses + view->found.step.pauses > 0;
  LogSummaryStruct log;
  uint64_t span;
  Index i;

  LogSummarize(&log, view->log);
  span = collectionsSpan(view, &log);
  fprintf(out, "collections    %zu", view->found.rows);
  if (view->found.incomplete > 0)
    fprintf(out, ", of which %llu not complete", (unsigned long long)view->found.incomplete);
  fprintf(out, "\nabandoned      %llu", (unsigned long long)view->found.abandoned);
  if (view->found.abandoned > 0)
    fprintf(out, ": a thread did not stop in time; the others stood still for %.9f s in all, which is among the stops",
            (double)view->found.abandonedNs / 1e9);
  putc('\n', out);
  collectionsSumText(out, "stops", "all registered threads stood still for", &view->found.stop, log.first);
  collectionsSumText(out, "steps", "one thread collected while others ran, for", &view->found.step, log.first);
  fprintf(out, "stop or step   in %.2f%% of %.9f s\n", collectionsPercent(view->found.covered, span),
          (double)span / 1e9);
  fputs("reclaimed      ", out);
  SayBytes(out, view->found.reclaimed);
  fprintf(out, ", %.1f%% of what there was\n", collectionsPercent(view->found.reclaimed, view->found.condemned));
  if (paused)
    collectionsLengthsText(out, view);
  if (view->found.rows > 0)
    fprintf(out, "\n%-9s%-17s%7s %13s  %-10s%11s%11s%10s %9s %7s %9s %9s %9s\n", "process", "pool", "number", "at",
            "why", "bytes", "reclaimed", "survived", "stop ms", "steps", "steps ms", "longest", "lasted");
  for (i = 0; i < view->found.rows && i < view->top; ++i)
    collectionsRowText(out, view, &view->found.row[i], log.first);
  if (view->found.rows > view->top)
    fprintf(out, "and %zu other%s (--top)\n", view->found.rows - view->top, TextPlural(view->found.rows - view->top));
  if (!CollectingKnown(view->log))
    fputs("no Trace events: nothing is known of collections\n", out);
  CaveatsText(out, view->log);
  return TRUE;
}

/* ---- JSON ---- */

/* collectionsSumsJson -- stops and steps together, and each */
static void collectionsSumsJson(FILE *out, const CollectingSumStruct *stop, const CollectingSumStruct *step)
{
  CollectingSumStruct all = CollectingAll(stop, step);

  fprintf(out, "\"pauses\": %llu, \"paused\": %.9f, \"longest\": %.9f, ", (unsigned long long)all.pauses,
          (double)all.paused / 1e9, (double)all.longest / 1e9);
  fprintf(out, "\"stops\": %llu, \"stopped\": %.9f, \"longest_stop\": %.9f, ", (unsigned long long)stop->pauses,
          (double)stop->paused / 1e9, (double)stop->longest / 1e9);
  fprintf(out, "\"steps\": %llu, \"stepped\": %.9f, \"longest_step\": %.9f", (unsigned long long)step->pauses,
          (double)step->paused / 1e9, (double)step->longest / 1e9);
}

static void collectionsRowJson(FILE *out, collectionsView view, CollectingRow row, uint64_t start)
{
  fprintf(out, "{\"pid\": %u, \"pool\": \"%#llx\", \"number\": %llu, \"why\": ", row->process->header.pid,
          (unsigned long long)row->pool, (unsigned long long)row->number);
  JsonString(out, row->why);
  fprintf(out, ", \"begin\": %.9f, ", DocumentSince(start, row->begin));
  if (row->end == 0)
    fputs("\"end\": null, ", out);
  else
    fprintf(out, "\"end\": %.9f, ", DocumentSince(start, row->end));
  fprintf(out, "\"condemned\": %llu, \"reclaimed\": %llu, ", (unsigned long long)row->condemned,
          (unsigned long long)row->reclaimed);
  collectionsSumsJson(out, &row->stop, &row->step);
  ViewLabelsJson(out, &view->labels, row->process, row->pool, 0);
  putc('}', out);
}

static Bool collectionsJson(FILE *out, void *data)
{
  collectionsView view = data;
  CollectingSumStruct all = CollectingAll(&view->found.stop, &view->found.step);
  LogSummaryStruct log;
  Bool first = TRUE;
  Index i;

  LogSummarize(&log, view->log);
  fprintf(out,
          "{\"count\": %zu, \"incomplete\": %llu, \"abandoned\": %llu, \"abandoned_stopped\": %.9f, "
          "\"condemned\": %llu, \"reclaimed\": %llu,\n ",
          view->found.rows, (unsigned long long)view->found.incomplete, (unsigned long long)view->found.abandoned,
          (double)view->found.abandonedNs / 1e9, (unsigned long long)view->found.condemned,
          (unsigned long long)view->found.reclaimed);
  collectionsSumsJson(out, &view->found.stop, &view->found.step);
  fprintf(out, ",\n \"covered\": %.9f, \"longest_at\": %.9f, \"span\": %.9f,\n ",
          (double)view->found.covered / 1e9, all.pauses > 0 ? DocumentSince(log.first, all.longestAt) : 0,
          (double)collectionsSpan(view, &log) / 1e9);
  fputs("\"lengths\": [", out);
  for (i = 0; i < CollectingLENGTHS; ++i) {
    unsigned long long stops = view->found.stops[i], steps = view->found.steps[i];
    if (stops + steps == 0)
      continue;
    fprintf(out, "%s{\"below\": %.6f, \"pauses\": %llu, \"stops\": %llu, \"steps\": %llu}", first ? "" : ", ",
            (double)((uint64_t)1 << i) / 1e6, stops + steps, stops, steps);
    first = FALSE;
  }
  fputs("],\n \"collections\": [", out);
  for (i = 0; i < view->found.rows; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    collectionsRowJson(out, view, &view->found.row[i], log.first);
  }
  fprintf(out, "],\n \"collections_known\": %s, ", CollectingKnown(view->log) ? "true" : "false");
  CaveatsJson(out, view->log);
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassCollections = {
  "collections", "collections of pools: how long they stopped threads, what survived, what was taken back (--top)",
  ViewTakesTOP, collectionsCreate, collectionsRequest, collectionsFinish, collectionsText, collectionsJson, collectionsDestroy
};
