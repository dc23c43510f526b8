/* eventcounts.c -- the view `events`: how many events of each type and kind, how many bytes, how many a second
 *
 * Bytes are those that events have in the program's blocks: what packing leaves of them, a log has for all of a block
 * together.
 *
 * Design: design/view.md .events      Tests: test/view/events.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/say.h"
#include "export/jsondocument.h"
#include "request/typecache.h"
#include "view/caveats.h"
#include "view/viewclasses.h"

/* The events of a type in all processes with one registry. */
typedef struct eventsCountStruct {
  uint64_t events, bytes;
  uint64_t first, last; /* ns */
} eventsCountStruct, *eventsCount;

/* The events of types of the same kind and name; of all of a kind, `name` is NULL. */
typedef struct eventsRowStruct {
  const char *kind, *name;
  Size nameLength;
  eventsCountStruct count;
} eventsRowStruct, *eventsRow;

typedef struct eventsViewStruct {
  Log log;
  OfProcess of;            /* whose events count; NULL: all do */
  LogRequestStruct request;
  TypeCacheStruct plans;   /* of eventsCountStructs */
  Bool failed;
  eventsCountStruct sum;
  Count rows;
  eventsRow row;           /* owned; by kind, most events first; before them that of the kind */
} eventsViewStruct, *eventsView;

static Bool eventsEvent(LogRequest request, LogEvent event)
{
  eventsView view = request->data;
  eventsCount count;

  if (UNLIKELY(view->of != NULL) && OfProcessBefore(view->of, event->process->number))
    return FALSE;
  count = TypeCacheOf(&view->plans, event);
  if (UNLIKELY(count == NULL)) {
    view->failed = TRUE;
    return TRUE;
  }
  if (UNLIKELY(count->events++ == 0))
    count->first = event->time;
  count->last = event->time;
  count->bytes += event->length;
  return FALSE;
}

static Res eventsCreate(void **viewReturn, ViewWants wants)
{
  eventsView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->log = wants->log;
  view->of = wants->of;
  TypeCacheInit(&view->plans, sizeof(eventsCountStruct));
  view->request = *wants->request;
  if (view->request.chooseData == NULL)
    view->request.chooseData = view->request.data;
  view->request.data = view;
  view->request.event = eventsEvent;
  *viewReturn = view;
  return ResOK;
}

static LogRequest eventsRequest(void *view)
{
  return &((eventsView)view)->request;
}

static void eventsDestroy(void *data)
{
  eventsView view = data;

  TypeCacheFinish(&view->plans);
  free(view->row);
  free(view);
}

static void eventsAdd(eventsCount to, const eventsCountStruct *count)
{
  if (to->events == 0 || count->first < to->first)
    to->first = count->first;
  if (count->last > to->last)
    to->last = count->last;
  to->events += count->events;
  to->bytes += count->bytes;
}

static int eventsByName(const void *a, const void *b)
{
  const eventsRowStruct *x = a, *y = b;
  Size length = x->nameLength < y->nameLength ? x->nameLength : y->nameLength;
  int order = strcmp(x->kind, y->kind);

  if (order != 0)
    return order;
  if (x->name == NULL || y->name == NULL)
    return (x->name != NULL) - (y->name != NULL);
  order = memcmp(x->name, y->name, length);
  return order != 0 ? order : (int)x->nameLength - (int)y->nameLength;
}

static int eventsByCount(const void *a, const void *b)
{
  const eventsRowStruct *x = a, *y = b;
  int kinds = strcmp(x->kind, y->kind);

  if (kinds != 0)
    return kinds;
  if (x->name != NULL && y->name != NULL && x->count.events != y->count.events)
    return x->count.events > y->count.events ? -1 : 1;
  return eventsByName(a, b);
}

/* eventsRows -- a row for each type of which there were events, and with it one for its kind */
static void eventsRows(eventsView view)
{
  cacheTableStruct *table;
  Index i;

  for (table = view->plans.front; table != NULL; table = table->next)
    for (i = 0; i < table->registry->count; ++i) {
      eventsCount count = (eventsCount)(table->plans + i * sizeof *count);
      EventType type = &table->registry->types[i];
      eventsRowStruct row = {table->registry->kind[type->kind % EventKindMAX], type->name, type->nameLength, *count};
      if (count->events == 0)
        continue;
      eventsAdd(&view->sum, count);
      view->row[view->rows++] = row;
      row.name = NULL;
      view->row[view->rows++] = row;
    }
}

static Res eventsFinish(void *data)
{
  eventsView view = data;
  cacheTableStruct *table;
  Count most = 0, rows;
  Index i;

  for (table = view->plans.front; table != NULL; table = table->next)
    most += 2 * table->registry->count;
  view->row = malloc((most + 1) * sizeof *view->row);
  if (view->failed || view->row == NULL)
    return ResMEMORY;
  eventsRows(view);
  AVER(view->rows <= most);
  qsort(view->row, view->rows, sizeof *view->row, eventsByName);
  for (rows = i = 0; i < view->rows; ++i) {
    if (rows > 0 && eventsByName(&view->row[rows - 1], &view->row[i]) == 0)
      eventsAdd(&view->row[rows - 1].count, &view->row[i].count);
    else
      view->row[rows++] = view->row[i];
  }
  view->rows = rows;
  qsort(view->row, view->rows, sizeof *view->row, eventsByCount);
  return ResOK;
}

/* eventsRate -- of so many events, how many there were a second; 0 if all had the same time */
static double eventsRate(eventsView view, uint64_t events)
{
  uint64_t ns = view->sum.last - view->sum.first;

  return ns == 0 ? 0 : (double)events * 1e9 / (double)ns;
}

static void eventsNumbers(FILE *out, eventsView view, const eventsCountStruct *count)
{
  fprintf(out, " %14llu %7.1f%%", (unsigned long long)count->events,
          100.0 * (double)count->events / (double)(view->sum.events == 0 ? 1 : view->sum.events));
  SayColumn(out, 12, count->bytes);
  fprintf(out, " %14.0f\n", eventsRate(view, count->events));
}

static Bool eventsText(FILE *out, void *data)
{
  eventsView view = data;
  Index i;

  fprintf(out, "%-26s %14s %8s%12s %14s\n", "", "events", "share", "bytes", "a second");
  fprintf(out, "%-26s", "  all");
  eventsNumbers(out, view, &view->sum);
  for (i = 0; i < view->rows; ++i) {
    eventsRow row = &view->row[i];
    Size length = row->name == NULL ? strlen(row->kind) : row->nameLength, indent = row->name == NULL ? 2 : 4;
    fprintf(out, "%*s", (int)indent, "");
    SayPlain(out, row->name == NULL ? row->kind : row->name, length);
    fprintf(out, "%*s", indent + length < 26 ? (int)(26 - indent - length) : 0, "");
    eventsNumbers(out, view, &row->count);
  }
  fprintf(out, "duration       %.9f s\n", (double)(view->sum.last - view->sum.first) / 1e9);
  CaveatsText(out, view->log);
  return TRUE;
}

static void eventsMembers(FILE *out, eventsView view, const eventsCountStruct *count, uint64_t start)
{
  fprintf(out, "\"events\": %llu, \"bytes\": %llu, \"a_second\": %.3f, \"first\": %.9f, \"last\": %.9f",
          (unsigned long long)count->events, (unsigned long long)count->bytes, eventsRate(view, count->events),
          DocumentSince(start, count->first), DocumentSince(start, count->last));
}

static void eventsRowsJson(FILE *out, eventsView view, Bool kinds, uint64_t start)
{
  Bool first = TRUE;
  Index i;

  fprintf(out, ",\n \"%s\": [", kinds ? "kinds" : "types");
  for (i = 0; i < view->rows; ++i) {
    eventsRow row = &view->row[i];
    if ((row->name == NULL) != kinds)
      continue;
    fprintf(out, "%s\n  {\"kind\": ", first ? "" : ",");
    first = FALSE;
    JsonString(out, row->kind);
    if (!kinds) {
      fputs(", \"name\": ", out);
      JsonBytes(out, row->name, row->nameLength);
    }
    fputs(", ", out);
    eventsMembers(out, view, &row->count, start);
    putc('}', out);
  }
  putc(']', out);
}

static Bool eventsJson(FILE *out, void *data)
{
  eventsView view = data;
  LogSummaryStruct summary;

  LogSummarize(&summary, view->log);
  putc('{', out);
  eventsMembers(out, view, &view->sum, summary.first);
  eventsRowsJson(out, view, TRUE, summary.first);
  eventsRowsJson(out, view, FALSE, summary.first);
  fputs(",\n ", out);
  CaveatsJson(out, view->log);
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassEvents = {
  "events", "events, bytes and rates by kind and type", 0, eventsCreate, eventsRequest, eventsFinish, eventsText,
  eventsJson, eventsDestroy
};
