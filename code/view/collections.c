/* collections.c -- the view `collections`: how many, how long the pauses were, what each took back (collecting.h)
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

  if (x->longest != y->longest)
    return x->longest > y->longest ? -1 : 1;
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

/* ---- Text ---- */

static void collectionsLengthsText(FILE *out, collectionsView view)
{
  uint64_t most = 1;
  Index i;

  for (i = 0; i < CollectingLENGTHS; ++i)
    if (view->found.length[i] > most)
      most = view->found.length[i];
  fputs("pauses by length\n", out);
  for (i = 0; i < CollectingLENGTHS; ++i) {
    if (view->found.length[i] == 0)
      continue;
    fprintf(out, "  up to %9.3f ms %10llu  ", (double)((uint64_t)1 << i) / 1e3,
            (unsigned long long)view->found.length[i]);
    BarsAcross(out, view->found.length[i], most, 40);
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
    fprintf(out, "%9.1f%% %9.3f %9.3f %9.3f",
            collectionsPercent(row->condemned > row->reclaimed ? row->condemned - row->reclaimed : 0, row->condemned),
            (double)row->paused / 1e6, (double)row->longest / 1e6, (double)(row->end - row->begin) / 1e6);
  }
  ViewLabelsText(out, &view->labels, row->process, row->pool, 0);
  putc('\n', out);
}

static Bool collectionsText(FILE *out, void *data)
{
  collectionsView view = data;
  LogSummaryStruct log;
  Index i;

  LogSummarize(&log, view->log);
  fprintf(out, "collections    %zu", view->found.rows);
  if (view->found.incomplete > 0)
    fprintf(out, ", of which %llu not complete", (unsigned long long)view->found.incomplete);
  fprintf(out, "\nabandoned      %llu%s\n", (unsigned long long)view->found.abandoned,
          view->found.abandoned > 0 ? ": a thread did not stop in time" : "");
  fprintf(out, "pauses         %llu: %.9f s in all, in %.2f%% of %.9f s\n", (unsigned long long)view->found.pauses,
          (double)view->found.paused / 1e9, collectionsPercent(view->found.covered, log.last - log.first),
          (double)(log.last - log.first) / 1e9);
  if (view->found.pauses > 0)
    fprintf(out, "longest        %.9f s, at %.9f s\n", (double)view->found.longest / 1e9,
            DocumentSince(log.first, view->found.longestAt));
  fputs("reclaimed      ", out);
  SayBytes(out, view->found.reclaimed);
  fprintf(out, ", %.1f%% of what there was\n", collectionsPercent(view->found.reclaimed, view->found.condemned));
  if (view->found.pauses > 0)
    collectionsLengthsText(out, view);
  if (view->found.rows > 0)
    fprintf(out, "\n%-9s%-17s%7s %13s  %-10s%11s%11s%10s %9s %9s %9s\n", "process", "pool", "number", "at", "why",
            "bytes", "reclaimed", "survived", "pauses ms", "longest", "lasted");
  for (i = 0; i < view->found.rows && i < view->top; ++i)
    collectionsRowText(out, view, &view->found.row[i], log.first);
  if (view->found.rows > view->top)
    fprintf(out, "and %zu other%s (--top)\n", view->found.rows - view->top, TextPlural(view->found.rows - view->top));
  CaveatsText(out, view->log);
  return TRUE;
}

/* ---- JSON ---- */

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
  fprintf(out, "\"condemned\": %llu, \"reclaimed\": %llu, \"pauses\": %llu, \"paused\": %.9f, \"longest\": %.9f",
          (unsigned long long)row->condemned, (unsigned long long)row->reclaimed, (unsigned long long)row->pauses,
          (double)row->paused / 1e9, (double)row->longest / 1e9);
  ViewLabelsJson(out, &view->labels, row->process, row->pool, 0);
  putc('}', out);
}

static Bool collectionsJson(FILE *out, void *data)
{
  collectionsView view = data;
  LogSummaryStruct log;
  Bool first = TRUE;
  Index i;

  LogSummarize(&log, view->log);
  fprintf(out,
          "{\"count\": %zu, \"incomplete\": %llu, \"abandoned\": %llu, \"condemned\": %llu, \"reclaimed\": %llu,\n ",
          view->found.rows, (unsigned long long)view->found.incomplete, (unsigned long long)view->found.abandoned,
          (unsigned long long)view->found.condemned, (unsigned long long)view->found.reclaimed);
  fprintf(out, "\"pauses\": %llu, \"paused\": %.9f, \"covered\": %.9f, \"longest\": %.9f, \"longest_at\": %.9f, \"duration\": %.9f,\n ",
          (unsigned long long)view->found.pauses, (double)view->found.paused / 1e9, (double)view->found.covered / 1e9,
          (double)view->found.longest / 1e9,
          view->found.pauses > 0 ? DocumentSince(log.first, view->found.longestAt) : 0,
          (double)(log.last - log.first) / 1e9);
  fputs("\"lengths\": [", out);
  for (i = 0; i < CollectingLENGTHS; ++i) {
    if (view->found.length[i] == 0)
      continue;
    fprintf(out, "%s{\"below\": %.6f, \"pauses\": %llu}", first ? "" : ", ", (double)((uint64_t)1 << i) / 1e6,
            (unsigned long long)view->found.length[i]);
    first = FALSE;
  }
  fputs("],\n \"collections\": [", out);
  for (i = 0; i < view->found.rows; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    collectionsRowJson(out, view, &view->found.row[i], log.first);
  }
  fputs("],\n ", out);
  CaveatsJson(out, view->log);
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassCollections = {
  "collections", "collections of pools: pauses, what survived, what was taken back (--top)", ViewTakesTOP,
  collectionsCreate, collectionsRequest, collectionsFinish, collectionsText, collectionsJson, collectionsDestroy
};
