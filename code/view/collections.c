/* collections.c -- the view `collections`: how many, how long the pauses were, what each took back
 *
 * A pause is the stop of all threads by which a collection begins, or a step, which a single thread does while others
 * run.  Steps are paired by thread.
 *
 * Design: design/view.md .collections      Tests: test/ams/collections.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "request/typecache.h"
#include "view/bars.h"
#include "view/caveats.h"
#include "view/viewclasses.h"

enum {
  collectionsSTART = TypeCacheCLIENT, collectionsFLIP, collectionsBEGIN, collectionsSTOP, collectionsEND,
  collectionsABANDON
};

static const TypeCacheKnownStruct collectionsKnown[] = {
  {"TraceStart", collectionsSTART, {"PAWU pool", "WU trace", "WU condemned", "S why"}},
  {"TraceFlip", collectionsFLIP, {"PAWU pool", "WU trace", "D seconds"}},
  {"TraceStepBegin", collectionsBEGIN, {"PAWU pool", "WU trace"}},
  {"TraceStepEnd", collectionsSTOP, {"PAWU pool", "WU trace"}},
  {"TraceEnd", collectionsEND, {"PAWU pool", "WU trace", "WU condemned", "WU reclaimed"}},
  {"TraceAbandon", collectionsABANDON, {"PAWU pool"}},
};

enum {
  collectionsWHY = 12,    /* bytes of the reason that are kept */
  collectionsOPEN = 256,  /* steps that threads are in at a time */
  collectionsLENGTHS = 32 /* places of the histogram: powers of two of us */
};

typedef struct collectionsRowStruct {
  LogProcess process;
  uint64_t pool, number;
  char why[collectionsWHY];
  uint64_t begin, end;     /* ns; end 0: not in the log */
  uint64_t condemned, reclaimed;
  uint64_t pauses, paused, longest; /* how many; ns */
} collectionsRowStruct, *collectionsRow;

typedef struct collectionsStepStruct {
  LogProcess process;
  uint32_t thread;
  uint64_t begin; /* ns */
} collectionsStepStruct, *collectionsStep;

typedef struct collectionsViewStruct {
  Log log;
  OfProcess of;
  Count top;
  const LogRequestStruct *only;
  LogRequestStruct request;
  TypeCacheStruct plans;
  Bool failed;
  Count rows, capacity;
  collectionsRow row;      /* owned; as they began, and when finished those that paused longest first */
  Count open;
  collectionsStepStruct step[collectionsOPEN];
  uint64_t abandoned, incomplete;
  uint64_t condemned, reclaimed; /* by complete ones */
  uint64_t pauses, paused, longest, longestAt;
  uint64_t length[collectionsLENGTHS];
} collectionsViewStruct, *collectionsView;

static collectionsRow collectionsNew(collectionsView view, LogEvent event, uint64_t pool, uint64_t number)
{
  collectionsRow row;

  if (!Grow(&view->row, &view->capacity, view->rows, sizeof *view->row)) {
    view->failed = TRUE;
    return NULL;
  }
  row = &view->row[view->rows++];
  *row = (collectionsRowStruct){.process = event->process, .pool = pool, .number = number, .begin = event->time};
  return row;
}

/* collectionsOf -- the collection that an event is of; one whose beginning is not in the log begins with it */
static collectionsRow collectionsOf(collectionsView view, LogEvent event, TypeCacheTell plan)
{
  uint64_t pool = LogEventWord(event, (Index)plan->param[0]), number = LogEventWord(event, (Index)plan->param[1]);
  Index i;

  /* It is among the last ones: pools and processes that collect at a time are few. */
  for (i = view->rows; i > 0 && view->rows - i < collectionsOPEN; --i) {
    collectionsRow row = &view->row[i - 1];
    if (row->process == event->process && row->pool == pool && row->number == number)
      return row;
  }
  return collectionsNew(view, event, pool, number);
}

static void collectionsPause(collectionsView view, collectionsRow row, uint64_t begin, uint64_t ns)
{
  uint64_t us = ns / 1000;
  unsigned place = us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(us);

  ++row->pauses;
  row->paused += ns;
  ++view->pauses;
  view->paused += ns;
  if (row->longest < ns)
    row->longest = ns;
  if (view->longest < ns) {
    view->longest = ns;
    view->longestAt = begin;
  }
  ++view->length[place < collectionsLENGTHS ? place : collectionsLENGTHS - 1];
}

static void collectionsFlip(collectionsView view, collectionsRow row, LogEvent event, double seconds)
{
  /* What a log says may be anything; a pause was not longer than the time until its event. */
  uint64_t ns = seconds >= 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;

  collectionsPause(view, row, event->time - (ns < event->time ? ns : event->time), ns);
}

/* collectionsStepOf -- the step that the event's thread is in, or NULL */
static collectionsStep collectionsStepOf(collectionsView view, LogEvent event)
{
  Index i;

  for (i = 0; i < view->open; ++i)
    if (view->step[i].process == event->process && view->step[i].thread == event->thread)
      return &view->step[i];
  return NULL;
}

static void collectionsBeginStep(collectionsView view, LogEvent event)
{
  collectionsStep step = collectionsStepOf(view, event);

  if (step == NULL && view->open < collectionsOPEN)
    step = &view->step[view->open++];
  if (step != NULL)
    *step = (collectionsStepStruct){event->process, event->thread, event->time};
}

static void collectionsEndStep(collectionsView view, collectionsRow row, LogEvent event)
{
  collectionsStep step = collectionsStepOf(view, event);

  if (step == NULL)
    return; /* its beginning is missing */
  collectionsPause(view, row, step->begin, event->time - step->begin);
  *step = view->step[--view->open];
}

static void collectionsStart(collectionsRow row, LogEvent event, TypeCacheTell plan)
{
  Size length;
  const char *why = LogEventString(event, (Index)plan->param[3], &length);

  if (length > sizeof row->why - 1)
    length = sizeof row->why - 1;
  memcpy(row->why, why, length);
  row->condemned = LogEventWord(event, (Index)plan->param[2]);
}

static Bool collectionsEvent(LogRequest request, LogEvent event)
{
  collectionsView view = request->data;
  TypeCacheTell plan = TypeCacheTells(&view->plans, event, collectionsKnown, ARRAY_LENGTH(collectionsKnown));
  collectionsRow row;

  if (plan != NULL && plan->tells == TypeCacheNOTHING)
    return FALSE;
  if (view->of != NULL && OfProcessBefore(view->of, event->process->number))
    return FALSE;
  if (plan != NULL && plan->tells == collectionsABANDON) {
    ++view->abandoned;
    return FALSE;
  }
  row = plan == NULL ? NULL : collectionsOf(view, event, plan);
  if (row == NULL) {
    view->failed = TRUE;
    return TRUE;
  }
  switch (plan->tells) {
  case collectionsSTART: collectionsStart(row, event, plan); break;
  case collectionsFLIP: collectionsFlip(view, row, event, LogEventDouble(event, (Index)plan->param[2])); break;
  case collectionsBEGIN: collectionsBeginStep(view, event); break;
  case collectionsSTOP: collectionsEndStep(view, row, event); break;
  default:
    row->end = event->time;
    row->condemned = LogEventWord(event, (Index)plan->param[2]);
    row->reclaimed = LogEventWord(event, (Index)plan->param[3]);
    break;
  }
  return FALSE;
}

static Bool collectionsChoose(void *data, LogProcess process, EventType type)
{
  collectionsView view = data;
  TypeCacheTellStruct tell;

  TypeCacheMatch(&tell, type, collectionsKnown, ARRAY_LENGTH(collectionsKnown));
  return (tell.tells != TypeCacheNOTHING || view->request.count != UINT64_MAX) &&
         LogRequestChooses((LogRequest)view->only, process, type);
}

static Res collectionsCreate(void **viewReturn, ViewWants wants)
{
  collectionsView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->log = wants->log;
  view->of = wants->of;
  view->top = wants->top;
  view->only = wants->request;
  TypeCacheInit(&view->plans, sizeof(TypeCacheTellStruct));
  view->request = *wants->request;
  view->request.data = view;
  view->request.choose = collectionsChoose;
  view->request.chooseData = view;
  view->request.event = collectionsEvent;
  *viewReturn = view;
  return ResOK;
}

static LogRequest collectionsRequest(void *view)
{
  return &((collectionsView)view)->request;
}

static void collectionsDestroy(void *data)
{
  collectionsView view = data;

  TypeCacheFinish(&view->plans);
  free(view->row);
  free(view);
}

static int collectionsByPause(const void *a, const void *b)
{
  const collectionsRowStruct *x = a, *y = b;

  if (x->longest != y->longest)
    return x->longest > y->longest ? -1 : 1;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static Res collectionsFinish(void *data)
{
  collectionsView view = data;
  Index i;

  for (i = 0; i < view->rows; ++i) {
    collectionsRow row = &view->row[i];
    if (row->end == 0) {
      ++view->incomplete;
    } else {
      view->condemned += row->condemned;
      view->reclaimed += row->reclaimed;
    }
  }
  if (view->rows > 0)
    qsort(view->row, view->rows, sizeof *view->row, collectionsByPause);
  return view->failed ? ResMEMORY : ResOK;
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

  for (i = 0; i < collectionsLENGTHS; ++i)
    if (view->length[i] > most)
      most = view->length[i];
  fputs("pauses by length\n", out);
  for (i = 0; i < collectionsLENGTHS; ++i) {
    if (view->length[i] == 0)
      continue;
    fprintf(out, "  up to %9.3f ms %10llu  ", (double)((uint64_t)1 << i) / 1e3, (unsigned long long)view->length[i]);
    BarsAcross(out, view->length[i], most, 40);
    putc('\n', out);
  }
}

static void collectionsRowText(FILE *out, collectionsRow row, uint64_t start)
{
  char hex[24];

  (void)snprintf(hex, sizeof hex, "%#llx", (unsigned long long)row->pool);
  fprintf(out, "%-9u%-17s%7llu %13.9f  ", row->process->header.pid, hex, (unsigned long long)row->number,
          DocumentSince(start, row->begin));
  SayPlain(out, row->why, strlen(row->why));
  fprintf(out, "%*s", (int)(10 - (strlen(row->why) < 10 ? strlen(row->why) : 10)), "");
  SayColumn(out, 11, row->condemned);
  if (row->end == 0) {
    fputs("  not complete\n", out);
    return;
  }
  SayColumn(out, 11, row->reclaimed);
  fprintf(out, "%9.1f%% %9.3f %9.3f %9.3f\n",
          collectionsPercent(row->condemned > row->reclaimed ? row->condemned - row->reclaimed : 0, row->condemned),
          (double)row->paused / 1e6, (double)row->longest / 1e6, (double)(row->end - row->begin) / 1e6);
}

static Bool collectionsText(FILE *out, void *data)
{
  collectionsView view = data;
  LogSummaryStruct log;
  Index i;

  LogSummarize(&log, view->log);
  fprintf(out, "collections    %zu", view->rows);
  if (view->incomplete > 0)
    fprintf(out, ", of which %llu not complete", (unsigned long long)view->incomplete);
  fprintf(out, "\nabandoned      %llu%s\n", (unsigned long long)view->abandoned,
          view->abandoned > 0 ? ": a thread did not stop in time" : "");
  fprintf(out, "pauses         %llu: %.9f s in all, %.2f%% of %.9f s\n", (unsigned long long)view->pauses,
          (double)view->paused / 1e9, collectionsPercent(view->paused, log.last - log.first),
          (double)(log.last - log.first) / 1e9);
  if (view->pauses > 0)
    fprintf(out, "longest        %.9f s, at %.9f s\n", (double)view->longest / 1e9,
            DocumentSince(log.first, view->longestAt));
  fputs("reclaimed      ", out);
  SayBytes(out, view->reclaimed);
  fprintf(out, ", %.1f%% of what there was\n", collectionsPercent(view->reclaimed, view->condemned));
  if (view->pauses > 0)
    collectionsLengthsText(out, view);
  if (view->rows > 0)
    fprintf(out, "\n%-9s%-17s%7s %13s  %-10s%11s%11s%10s %9s %9s %9s\n", "process", "pool", "number", "at", "why",
            "bytes", "reclaimed", "survived", "pauses ms", "longest", "lasted");
  for (i = 0; i < view->rows && i < view->top; ++i)
    collectionsRowText(out, &view->row[i], log.first);
  if (view->rows > view->top)
    fprintf(out, "and %zu other%s (--top)\n", view->rows - view->top, TextPlural(view->rows - view->top));
  CaveatsText(out, view->log);
  return TRUE;
}

/* ---- JSON ---- */

static void collectionsRowJson(FILE *out, collectionsRow row, uint64_t start)
{
  fprintf(out, "{\"pid\": %u, \"pool\": \"%#llx\", \"number\": %llu, \"why\": ", row->process->header.pid,
          (unsigned long long)row->pool, (unsigned long long)row->number);
  JsonString(out, row->why);
  fprintf(out, ", \"begin\": %.9f, ", DocumentSince(start, row->begin));
  if (row->end == 0)
    fputs("\"end\": null, ", out);
  else
    fprintf(out, "\"end\": %.9f, ", DocumentSince(start, row->end));
  fprintf(out, "\"condemned\": %llu, \"reclaimed\": %llu, \"pauses\": %llu, \"paused\": %.9f, \"longest\": %.9f}",
          (unsigned long long)row->condemned, (unsigned long long)row->reclaimed, (unsigned long long)row->pauses,
          (double)row->paused / 1e9, (double)row->longest / 1e9);
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
          view->rows, (unsigned long long)view->incomplete, (unsigned long long)view->abandoned,
          (unsigned long long)view->condemned, (unsigned long long)view->reclaimed);
  fprintf(out, "\"pauses\": %llu, \"paused\": %.9f, \"longest\": %.9f, \"longest_at\": %.9f, \"duration\": %.9f,\n ",
          (unsigned long long)view->pauses, (double)view->paused / 1e9, (double)view->longest / 1e9,
          view->pauses > 0 ? DocumentSince(log.first, view->longestAt) : 0, (double)(log.last - log.first) / 1e9);
  fputs("\"lengths\": [", out);
  for (i = 0; i < collectionsLENGTHS; ++i) {
    if (view->length[i] == 0)
      continue;
    fprintf(out, "%s{\"below\": %.6f, \"pauses\": %llu}", first ? "" : ", ", (double)((uint64_t)1 << i) / 1e6,
            (unsigned long long)view->length[i]);
    first = FALSE;
  }
  fputs("],\n \"collections\": [", out);
  for (i = 0; i < view->rows; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    collectionsRowJson(out, &view->row[i], log.first);
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
