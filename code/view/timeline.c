/* timeline.c -- the view `timeline`: live, mapped and resident bytes, and operations, over time
 *
 * The time that was asked for is cut into slices of equal length; a graph has a column for each.  Of bytes a slice has
 * what there was at its end and the most that there was in it, so a graph shows each peak.
 *
 * Always true:
 *   slices before `heapAt` have their last word on live bytes, those before `memoryAt` on mapped and resident ones
 *   no time of an operation on the heap is earlier than one before, but by what is held back, which counts in the
 *   later slice
 *
 * Design: design/view.md .timeline      Tests: test/view/heapviews.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "analyse/footprint.h"
#include "analyse/viewnotes.h"
#include "base/aver.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"
#include "view/bars.h"
#include "view/viewclasses.h"

enum {
  timelineHEIGHT = 5, timelineWIDTH = 64,
  timelineSHORT = 1000000 /* ns */
};

typedef enum TimelineRow {
  TimelineLIVE, TimelineMAPPED, TimelineRESIDENT, TimelineOBJECTS, TimelineROWS
} TimelineRow;

typedef struct timelineSliceStruct {
  uint64_t end[TimelineROWS], most[TimelineROWS]; /* at its end; and the most in it */
  uint64_t events, allocs, frees, resizes;
  uint64_t allocated;      /* bytes, what resizes added included */
} timelineSliceStruct, *timelineSlice;

typedef struct timelineViewStruct {
  ViewHeap shared;
  OfProcess of;
  Footprint footprint;
  uint64_t start;          /* ns: of the log; */
  uint64_t from, to;       /* of the view, the second exclusive */
  Count slices;
  timelineSlice slice;     /* owned */
  HeapSumStruct live;
  Index heapAt, memoryAt;
  Index near;              /* the slice of the time that was looked for last, */
  uint64_t nearFrom, nearTo; /* and when it begins and ends; both 0: none was */
} timelineViewStruct, *timelineView;

/* timelineBegin -- when slice `at` begins, ns */
static uint64_t timelineBegin(timelineView view, Index at)
{
  __uint128_t span = view->to - view->from;

  return view->from + (uint64_t)((span * at + view->slices - 1) / view->slices);
}

/* timelineFind -- the slice that a time is in, or that is nearest to it */
static Index timelineFind(timelineView view, uint64_t time)
{
  if (time < view->from)
    return 0;
  if (time >= view->to)
    return view->slices - 1;
  view->near = (Index)((__uint128_t)(time - view->from) * view->slices / (view->to - view->from));
  view->nearFrom = timelineBegin(view, view->near);
  view->nearTo = timelineBegin(view, view->near + 1);
  AVER(view->nearFrom <= time && time < view->nearTo);
  return view->near;
}

/* timelineAt -- the same; mostly it is the slice of the time before */
static inline Index timelineAt(timelineView view, uint64_t time)
{
  return LIKELY(time >= view->nearFrom && time < view->nearTo) ? view->near : timelineFind(view, time);
}

/* timelineNow -- a row has this value in slice `at`, at this time */
static inline void timelineNow(timelineView view, TimelineRow row, Index at, uint64_t value)
{
  timelineSlice slice = &view->slice[at];

  slice->end[row] = value;
  if (value > slice->most[row])
    slice->most[row] = value;
}

/* timelineTo -- slices from *at up to `next` begin with what those before ended with */
static inline void timelineTo(timelineView view, Index *at, Index next, TimelineRow first, TimelineRow second)
{
  while (UNLIKELY(*at < next)) {
    timelineSlice slice = &view->slice[*at];
    timelineNow(view, first, *at + 1, slice->end[first]);
    timelineNow(view, second, *at + 1, slice->end[second]);
    ++*at;
  }
}

/* timelineHeap -- an operation has changed what lives; its slice */
static inline timelineSlice timelineHeap(timelineView view, HeapOperation operation)
{
  timelineTo(view, &view->heapAt, timelineAt(view, operation->time), TimelineLIVE, TimelineOBJECTS);
  HeapSumTell(&view->live, operation);
  timelineNow(view, TimelineLIVE, view->heapAt, view->live.bytes);
  timelineNow(view, TimelineOBJECTS, view->heapAt, view->live.objects);
  return &view->slice[view->heapAt];
}

static void timelineAlloc(void *data, HeapOperation operation)
{
  timelineSlice slice = timelineHeap(data, operation);

  slice->allocs += !operation->told;
  slice->resizes += operation->resized;
  slice->allocated += operation->told ? 0 : operation->object->size;
}

static void timelineFree(void *data, HeapOperation operation)
{
  timelineHeap(data, operation)->frees += !operation->told && !operation->presumed && !operation->destroyed;
}

static void timelineResize(void *data, HeapOperation operation)
{
  timelineSlice slice = timelineHeap(data, operation);
  uint64_t size = operation->object->size;

  ++slice->resizes;
  slice->allocated += size > operation->oldSize ? size - operation->oldSize : 0;
}

static void timelineOther(void *data, HeapOperation operation)
{
  timelineView view = data;

  if (operation->kind == HeapPROCESSBEGIN || operation->kind == HeapPROCESSEND || operation->kind == HeapRESIZEPAST)
    timelineHeap(view, operation)->resizes += operation->kind == HeapRESIZEPAST;
  if (operation->kind == HeapPROCESSEND)
    FootprintEnd(view->footprint, operation->process);
}

static void timelineEvent(void *data, LogEvent event)
{
  timelineView view = data;
  Index at = timelineAt(view, event->time);

  if (UNLIKELY(view->of != NULL) && OfProcessBefore(view->of, event->process->number))
    return;
  ++view->slice[at].events;
  timelineTo(view, &view->memoryAt, at, TimelineMAPPED, TimelineRESIDENT);
  FootprintEvent(view->footprint, event);
  timelineNow(view, TimelineMAPPED, view->memoryAt, FootprintNow(view->footprint, FootprintMAPPED));
  timelineNow(view, TimelineRESIDENT, view->memoryAt, FootprintNow(view->footprint, FootprintRESIDENT));
}

static void timelineDestroy(void *data)
{
  timelineView view = data;

  if (view->footprint != NULL)
    FootprintDestroy(view->footprint);
  free(view->slice);
  free(view);
}

static Res timelineCreate(void **viewReturn, ViewWants wants)
{
  ViewClientStruct client = {.heap = {.alloc = timelineAlloc, .free = timelineFree, .resize = timelineResize,
                                      .other = timelineOther}, .event = timelineEvent};
  timelineView view = calloc(1, sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->shared = wants->heap;
  view->of = wants->of;
  view->slices = wants->slices;
  AVER(view->slices > 0);
  ViewWantsTime(&view->start, &view->from, &view->to, wants);
  if (view->slices > view->to - view->from) /* none is shorter than a nanosecond */
    view->slices = (Count)(view->to - view->from);
  view->slice = calloc(view->slices, sizeof *view->slice);
  if (view->slice == NULL || FootprintCreate(&view->footprint, wants->log) != ResOK) {
    timelineDestroy(view);
    return ResMEMORY;
  }
  client.heap.data = view;
  ViewHeapJoin(wants->heap, &client);
  *viewReturn = view;
  return ResOK;
}

static Res timelineFinish(void *data)
{
  timelineView view = data;
  Res res = ViewHeapFinish(view->shared), footprint;

  timelineTo(view, &view->heapAt, view->slices - 1, TimelineLIVE, TimelineOBJECTS);
  timelineTo(view, &view->memoryAt, view->slices - 1, TimelineMAPPED, TimelineRESIDENT);
  footprint = FootprintFinish(view->footprint);
  return res != ResOK ? res : footprint;
}

/* timelineKnown -- did any event say so? */
static Bool timelineKnown(timelineView view, TimelineRow row)
{
  if (row == TimelineLIVE || row == TimelineOBJECTS)
    return HeapObjectTypes(view->shared->heap) > 0;
  return FootprintBytesOf(view->footprint, row == TimelineMAPPED ? FootprintMAPPED : FootprintRESIDENT, NULL).known;
}

static uint64_t timelinePeak(timelineView view, TimelineRow row)
{
  uint64_t most = 0;
  Index i;

  for (i = 0; i < view->slices; ++i)
    most = view->slice[i].most[row] > most ? view->slice[i].most[row] : most;
  return most;
}

/* timelineSeconds -- where slice `at` begins, since the log's start */
static double timelineSeconds(timelineView view, Index at)
{
  return DocumentSince(view->start, timelineBegin(view, at));
}

/* timelineRate -- operations on the heap in a slice */
static uint64_t timelineRate(timelineSlice slice)
{
  return slice->allocs + slice->frees + slice->resizes;
}

/* Text */

/* timelineValue -- what a graph shows for column `column` of `columns`: the most in the slices that are there */
static uint64_t timelineValue(timelineView view, Index column, Count columns, int row)
{
  Index i, from = column * view->slices / columns, to = (column + 1) * view->slices / columns;
  uint64_t most = 0;

  for (i = from; i < to || i == from; ++i) {
    uint64_t value = row == TimelineROWS ? timelineRate(&view->slice[i]) : view->slice[i].most[row];
    most = value > most ? value : most;
  }
  return most;
}

/* timelineGraph -- draw it; `label` is what its greatest value is called */
static void timelineGraph(FILE *out, timelineView view, int row, uint64_t most, const char *label)
{
  Count columns = view->slices < timelineWIDTH ? view->slices : timelineWIDTH;
  unsigned line;
  Index i;

  for (line = timelineHEIGHT; line-- > 0;) {
    fprintf(out, "%12s %s", line == timelineHEIGHT - 1 ? label : line == 0 ? "0" : "", BarsBlocks() ? "\u2502" : "|");
    for (i = 0; i < columns; ++i)
      BarsUp(out, timelineValue(view, i, columns, row), most, timelineHEIGHT, line);
    putc('\n', out);
  }
}

/* timelineRates -- the graph of operations, unless all events are of one moment: then there is no rate */
static void timelineRates(FILE *out, timelineView view)
{
  double slice = (double)(view->to - view->from) / (double)view->slices / 1e9;
  uint64_t most = 0;
  char label[32];
  Index i;

  for (i = 0; i < view->slices; ++i)
    most = timelineRate(&view->slice[i]) > most ? timelineRate(&view->slice[i]) : most;
  if (most == 0 || view->to - view->from == 1)
    return;
  fprintf(out, "allocations, frees and resizes a second\n");
  (void)snprintf(label, sizeof label, "%.0f", (double)most / slice);
  timelineGraph(out, view, TimelineROWS, most, label);
}

/* timelineTimes -- from when to when it is; in nanoseconds where microseconds would say little */
static void timelineTimes(FILE *out, timelineView view)
{
  int digits = view->to - view->from < timelineSHORT ? 9 : 6;
  uint64_t events = 0;
  Index i;

  for (i = 0; i < view->slices; ++i)
    events += view->slice[i].events;
  if (events == 0) {
    fprintf(out, "slices         none: there is no event in the time that was asked for\n");
    return;
  }
  fprintf(out, "%13s %-32.*f%32.*f s\n", "", digits, timelineSeconds(view, 0), digits,
          timelineSeconds(view, view->slices));
  fprintf(out, "slices         %zu of %.9f s (--slices)\n", view->slices,
          (double)(view->to - view->from) / (double)view->slices / 1e9);
}

static Bool timelineText(FILE *out, void *data)
{
  static const struct {
    TimelineRow row;
    const char *name, *unknown;
  } graph[] = {{TimelineLIVE, "live", "the log has no such events"}, {TimelineMAPPED, "mapped", "the log has no such events"},
               {TimelineRESIDENT, "resident, as sampled", "no sample was taken while the program ran"}};
  timelineView view = data;
  char label[32];
  uint64_t most;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(graph); ++i) {
    if (!timelineKnown(view, graph[i].row)) {
      fprintf(out, "%s: not known, for %s\n", graph[i].name, graph[i].unknown);
      continue;
    }
    fprintf(out, "%s\n", graph[i].name);
    most = timelinePeak(view, graph[i].row);
    timelineGraph(out, view, (int)graph[i].row, most, SayShortly(label, most));
  }
  timelineRates(out, view);
  timelineTimes(out, view);
  ViewNotesText(out, view->shared, FALSE);
  return TRUE;
}

/* JSON */

static void timelineRowJson(FILE *out, timelineView view, TimelineRow row, const char *name, Index at)
{
  if (!timelineKnown(view, row))
    fprintf(out, ", \"%s\": null, \"%s_peak\": null", name, name);
  else
    fprintf(out, ", \"%s\": %llu, \"%s_peak\": %llu", name, (unsigned long long)view->slice[at].end[row], name,
            (unsigned long long)view->slice[at].most[row]);
}

static Bool timelineJson(FILE *out, void *data)
{
  timelineView view = data;
  Index i;

  fprintf(out, "{\"from\": %.9f, \"to\": %.9f,\n ", timelineSeconds(view, 0), timelineSeconds(view, view->slices));
  ViewNotesJson(out, view->shared);
  fputs(",\n \"slices\": [", out);
  for (i = 0; i < view->slices; ++i) {
    timelineSlice slice = &view->slice[i];
    fprintf(out, "%s\n  {\"from\": %.9f, \"events\": %llu, \"allocations\": %llu, \"frees\": %llu, \"resizes\": %llu, "
            "\"allocated_bytes\": %llu", i == 0 ? "" : ",", timelineSeconds(view, i), (unsigned long long)slice->events,
            (unsigned long long)slice->allocs, (unsigned long long)slice->frees, (unsigned long long)slice->resizes,
            (unsigned long long)slice->allocated);
    timelineRowJson(out, view, TimelineLIVE, "live_bytes", i);
    timelineRowJson(out, view, TimelineOBJECTS, "live_objects", i);
    timelineRowJson(out, view, TimelineMAPPED, "mapped_bytes", i);
    timelineRowJson(out, view, TimelineRESIDENT, "resident_bytes", i);
    putc('}', out);
  }
  fputs("]}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassTimeline = {
  "timeline", "live, mapped and resident bytes, and rates, over time (--slices)", ViewTakesSLICES, timelineCreate, NULL,
  timelineFinish, timelineText, timelineJson, timelineDestroy
};
