/* summary.c -- what a log says at a glance: the counting
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/summary.h"

#include <stdlib.h>

#include "analyse/views.h"
#include "base/aver.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

/* What a type of event tells to the parts of the summary that want few; 0: that is not known yet. */
enum { summaryNOTHING = 1, summarySOMETHING };

/* summarySize -- one more allocation of `size` bytes */
static void summarySize(Summary summary, uint64_t size)
{
  HeapObject place;

  if (LIKELY(size < SummarySmallMAX)) {
    ++summary->small[size];
    return;
  }
  place = HeapTableSeek(&summary->large, size);
  if (place->addr == 0)
    place = summary->large.count < SummaryLargeMAX ? HeapTablePut(&summary->large, size) : NULL;
  ++*(place != NULL ? &place->time : &summary->otherSizes);
}

static void summaryAlloc(void *data, HeapOperation operation)
{
  Summary summary = data;
  uint64_t size = operation->object->size;

  if (UNLIKELY(operation->told)) {
    ++*(operation->inherited ? &summary->inherited : &summary->told);
    summary->inheritedBytes += operation->inherited ? size : 0;
    summary->resizes += operation->resized;
  } else {
    ++summary->allocs;
    summary->totalBytes += size;
    summarySize(summary, size);
    ThreadSumsAlloc(&summary->who, operation);
  }
  HeapSumTell(&summary->live, operation);
}

static void summaryFree(void *data, HeapOperation operation)
{
  Summary summary = data;

  if (UNLIKELY(operation->told))
    --summary->told; /* which has not lived at all */
  else if (UNLIKELY(operation->destroyed || operation->presumed))
    ++summary->presumed;
  else {
    ++summary->frees;
    ThreadSumsFree(&summary->who, operation, summary->shared->temporary);
  }
  HeapSumTell(&summary->live, operation);
  summary->lifetime += (double)(operation->time - operation->object->time);
}

static void summaryResize(void *data, HeapOperation operation)
{
  Summary summary = data;
  uint64_t size = operation->object->size;

  ++summary->resizes;
  if (size > operation->oldSize)
    summary->totalBytes += size - operation->oldSize;
  ThreadSumsResize(&summary->who, operation);
  HeapSumTell(&summary->live, operation);
}

/* summaryBegin -- a process has its parent's objects from its beginning, or it had seemed to have ended */
static void summaryBegin(Summary summary, HeapOperation operation)
{
  if (operation->revived) {
    summary->leftObjects -= operation->objects;
    summary->leftBytes -= operation->bytes;
  } else {
    summary->inherited += operation->objects;
    summary->inheritedBytes += operation->bytes;
    summary->doubt += operation->doubt;
    summary->late += HeapForkLate(LogProcessAt(summary->log, operation->process));
  }
}

/* summaryEnd -- what lived in a process when it ended is live at its end, but lives with nobody else */
static void summaryEnd(Summary summary, HeapOperation operation)
{
  summary->leftObjects += operation->objects;
  summary->leftBytes += operation->bytes;
  FootprintEnd(summary->footprint, operation->process);
  summary->process = NULL;
}

static void summaryOther(void *data, HeapOperation operation)
{
  Summary summary = data;

  if (operation->kind == HeapPROCESSBEGIN)
    summaryBegin(summary, operation);
  else if (operation->kind == HeapPROCESSEND)
    summaryEnd(summary, operation);
  HeapSumTell(&summary->live, operation);
  summary->resizes += operation->kind == HeapRESIZEPAST;
  summary->pools += operation->kind == HeapPOOLCREATE;
  summary->arenas += operation->kind == HeapARENACREATE;
}

static void summaryDestroy(void *view)
{
  Summary summary = view;

  if (summary->footprint != NULL)
    FootprintDestroy(summary->footprint);
  DeathsFinish(&summary->deaths);
  PidLivesFinish(&summary->lives);
  TypeCacheFinish(&summary->tells);
  HeapTableFinish(&summary->large);
  ThreadSumsFinish(&summary->who);
  free(summary);
}

/* summarySees -- the parts of the summary that want few events see this one, unless they have seen one of the same
 * process, which has not ended since, and no event of its type tells them anything */
static inline void summarySees(Summary summary, LogEvent event)
{
  uint8_t *tells = TypeCacheOf(&summary->tells, event);

  if (LIKELY(tells != NULL && event->process == summary->process && *tells == summaryNOTHING))
    return;
  if (tells != NULL && *tells == 0)
    *tells = FootprintWants(event->type) || DeathsWants(event->type) || PidLivesExits(event->type) ? summarySOMETHING
                                                                                                   : summaryNOTHING;
  FootprintEvent(summary->footprint, event);
  DeathsEvent(&summary->deaths, event);
  (void)PidLivesOf(&summary->lives, event);
  if (PidLivesExits(event->type))
    PidLivesExit(&summary->lives, event);
  summary->process = event->process;
}

static void summaryEvent(void *data, LogEvent event)
{
  Summary summary = data;

  if (UNLIKELY(summary->of != NULL) && OfProcessBefore(summary->of, event->process->number))
    return;
  if (UNLIKELY(summary->events++ == 0))
    summary->first = event->time;
  summary->last = event->time;
  summarySees(summary, event);
}

static Res summaryFinish(void *view)
{
  Summary summary = view;
  Res footprint = FootprintFinish(summary->footprint), res = ViewHeapFinish(summary->shared);

  summary->unended = summary->shared->unended;
  summary->live.objects += summary->leftObjects;
  summary->live.bytes += summary->leftBytes;
  AVER(PidLivesCheck(&summary->lives));
  if (res != ResOK)
    return res;
  return summary->deaths.failed || summary->who.failed || summary->lives.failed ? ResMEMORY : footprint;
}

/* summaryChooses -- does a request choose all types of the processes that count? */
static Bool summaryChooses(Summary summary)
{
  LogRequest request = &summary->shared->only;
  Index i, t;

  for (i = 0; request->choose != NULL && i < LogProcesses(summary->log); ++i) {
    LogProcess process = LogProcessAt(summary->log, i);
    Bool counts = process->header.role[0] == '\0' && (summary->of == NULL || OfProcessMeans(summary->of, process));
    for (t = 0; counts && process->registry != NULL && t < process->registry->count; ++t)
      if (!LogRequestChooses(request, process, &process->registry->types[t]))
        return FALSE;
  }
  return TRUE;
}

/* summaryPart -- do not all events of the processes that count come? */
static Bool summaryPart(Summary summary)
{
  LogRequest request = &summary->shared->only;

  return request->from > 0 || request->to != UINT64_MAX || request->start != NULL || request->end != NULL ||
         request->count != UINT64_MAX || request->kinds != UINT32_MAX ||
         (request->accept != NULL && summary->of == NULL) || !summaryChooses(summary);
}

static Res summaryCreate(void **viewReturn, ViewWants wants)
{
  ViewClientStruct client = {.heap = {.alloc = summaryAlloc, .free = summaryFree, .resize = summaryResize,
                                      .other = summaryOther}, .event = summaryEvent};
  Summary summary = calloc(1, sizeof *summary);

  if (summary == NULL)
    return ResMEMORY;
  summary->log = summary->lives.log = wants->log;
  summary->of = wants->of;
  summary->shared = wants->heap;
  summary->heap = wants->heap->heap;
  client.heap.data = summary;
  TypeCacheInit(&summary->tells, sizeof(uint8_t));
  if (DeathsInit(&summary->deaths, wants->log) != ResOK ||
      HeapTableInit(&summary->large) != ResOK || FootprintCreate(&summary->footprint, wants->log) != ResOK) {
    summaryDestroy(summary);
    return ResMEMORY;
  }
  ViewHeapJoin(wants->heap, &client);
  ViewHeapBook(wants->heap);
  CodeNamesWant(wants->names);
  summary->part = summaryPart(summary);
  *viewReturn = summary;
  return ResOK;
}

const ViewClassStruct ViewClassSummary = {
  "summary", "counts, rates, and what the heap came to", 0, summaryCreate, NULL, summaryFinish, SummaryText,
  SummaryJson, summaryDestroy
};
