/* summary.c -- what a log says at a glance: the counting
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/summary.h"

#include <stdlib.h>

#include "analyse/views.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

static Index summaryHash(uint64_t key, Count capacity)
{
  return (Index)((key * 0x9e3779b97f4a7c15ull) >> 32) & (capacity - 1);
}

/* summarySize -- one more allocation of `size` bytes */
static void summarySize(Summary summary, uint64_t size)
{
  Index i;

  if (LIKELY(size < SummarySmallMAX)) {
    ++summary->small[size];
    return;
  }
  i = summaryHash(size, SummaryLargeSIZE);
  while (summary->large[i].count != 0 && summary->large[i].size != size)
    i = (i + 1) & (SummaryLargeSIZE - 1);
  if (summary->large[i].count == 0) {
    if (summary->larges == SummaryLargeSIZE / 2) {
      ++summary->otherSizes;
      return;
    }
    ++summary->larges;
    summary->large[i].size = size;
  }
  ++summary->large[i].count;
}

static void summaryGrow(Summary summary, uint64_t bytes, uint64_t time)
{
  summary->liveBytes += bytes;
  if (summary->liveBytes > summary->peakBytes) {
    summary->peakBytes = summary->liveBytes;
    summary->peakObjects = summary->liveObjects;
    summary->peakTime = time;
  }
}

/* summaryMine -- is it of a process that is counted, and none that others inherit of? */
static inline Bool summaryMine(Summary summary, HeapOperation operation)
{
  return LIKELY(summary->of == NULL) || !OfProcessBefore(summary->of, operation->process);
}

static void summaryAlloc(void *data, HeapOperation operation)
{
  Summary summary = data;
  uint64_t size = operation->object->size;

  if (!summaryMine(summary, operation))
    return;
  ++summary->liveObjects;
  if (UNLIKELY(operation->told)) {
    ++*(operation->inherited ? &summary->inherited : &summary->told);
    summary->inheritedBytes += operation->inherited ? size : 0;
    summary->resizes += operation->resized;
  } else {
    ++summary->allocs;
    summary->totalBytes += size;
    summarySize(summary, size);
  }
  summaryGrow(summary, size, operation->time);
}

static void summaryFree(void *data, HeapOperation operation)
{
  Summary summary = data;

  if (!summaryMine(summary, operation))
    return;
  if (UNLIKELY(operation->told))
    --summary->told; /* which has not lived at all */
  else if (UNLIKELY(operation->destroyed || operation->presumed))
    ++summary->presumed;
  else
    ++summary->frees;
  --summary->liveObjects;
  summary->liveBytes -= operation->object->size;
  summary->lifetime += (double)(operation->time - operation->object->time);
}

static void summaryResize(void *data, HeapOperation operation)
{
  Summary summary = data;
  uint64_t size = operation->object->size;

  if (!summaryMine(summary, operation))
    return;
  ++summary->resizes;
  if (size > operation->oldSize)
    summary->totalBytes += size - operation->oldSize;
  summary->liveBytes -= operation->oldSize;
  summaryGrow(summary, size, operation->time);
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
  summary->liveObjects += operation->objects;
  summaryGrow(summary, operation->bytes, operation->time);
}

/* summaryEnd -- what lived in a process when it ended is live at its end, but lives with nobody else */
static void summaryEnd(Summary summary, HeapOperation operation)
{
  summary->leftObjects += operation->objects;
  summary->leftBytes += operation->bytes;
  summary->liveObjects -= operation->objects;
  summary->liveBytes -= operation->bytes;
}

static void summaryOther(void *data, HeapOperation operation)
{
  Summary summary = data;

  if (!summaryMine(summary, operation))
    return;
  if (operation->kind == HeapPROCESSBEGIN)
    summaryBegin(summary, operation);
  else if (operation->kind == HeapPROCESSEND)
    summaryEnd(summary, operation);
  summary->resizes += operation->kind == HeapRESIZEPAST;
  summary->pools += operation->kind == HeapPOOLCREATE;
  summary->arenas += operation->kind == HeapARENACREATE;
}

static void summaryDestroy(void *view)
{
  Summary summary = view;

  HeapDestroy(summary->heap);
  MemoryDestroy(summary->memory);
  DeathsFinish(&summary->deaths);
  free(summary);
}

static Bool summaryEvent(LogRequest request, LogEvent event)
{
  Summary summary = request->data;

  if (UNLIKELY(summary->of != NULL) && OfProcessBefore(summary->of, event->process->number)) {
    HeapEvent(summary->heap, event);
    return FALSE;
  }
  if (UNLIKELY(summary->events++ == 0))
    summary->first = event->time;
  summary->last = event->time;
  HeapEvent(summary->heap, event);
  MemoryEvent(summary->memory, event);
  DeathsEvent(&summary->deaths, event);
  return FALSE;
}

static Res summaryFinish(void *view)
{
  Summary summary = view;
  LogPositionStruct to = LogPositionLAST;
  Res res, memory = MemoryFinish(summary->memory), ahead;

  if (summary->request.to != UINT64_MAX)
    PawPositionOfTime(&to, summary->log, summary->request.to);
  ahead = HeapOffAhead(summary->heap, &to);
  HeapUntil(summary->heap, UINT64_MAX);
  summary->unended = HeapLiving(summary->heap);
  res = HeapSettle(summary->heap);
  summary->liveObjects += summary->leftObjects;
  summary->liveBytes += summary->leftBytes;
  res = res != ResOK ? res : ahead;
  return res != ResOK ? res : summary->deaths.failed ? ResMEMORY : memory;
}

/* summaryChooses -- does a request choose all types of the processes that count? */
static Bool summaryChooses(Summary summary)
{
  LogRequest request = &summary->request;
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
  LogRequest request = &summary->request;

  return request->from > 0 || request->to != UINT64_MAX || request->start != NULL || request->end != NULL ||
         request->count != UINT64_MAX || request->kinds != UINT32_MAX ||
         (request->accept != NULL && summary->of == NULL) || !summaryChooses(summary);
}

static Res summaryCreate(void **viewReturn, ViewWants wants)
{
  HeapClientStruct client = {
      .alloc = summaryAlloc, .free = summaryFree, .resize = summaryResize, .other = summaryOther};
  Summary summary = calloc(1, sizeof *summary);

  if (summary == NULL)
    return ResMEMORY;
  summary->log = wants->log;
  summary->of = wants->of;
  summary->request = *wants->request;
  if (summary->request.chooseData == NULL)
    summary->request.chooseData = summary->request.data;
  summary->request.data = summary;
  summary->request.event = summaryEvent;
  client.data = summary;
  DeathsInit(&summary->deaths, wants->log);
  if (MemoryCreate(&summary->memory, wants->log) != ResOK) {
    free(summary);
    return ResMEMORY;
  }
  if (HeapCreate(&summary->heap, &client, wants->log) != ResOK) {
    MemoryDestroy(summary->memory);
    free(summary);
    return ResMEMORY;
  }
  HeapOf(summary->heap, wants->of);
  summary->part = summaryPart(summary);
  HeapOffPart(summary->heap, &summary->request);
  *viewReturn = summary;
  return ResOK;
}

static LogRequest summaryRequest(void *view)
{
  return &((Summary)view)->request;
}

const ViewClassStruct ViewClassSummary = {
  "summary", "counts, rates, and what the heap came to", 0, summaryCreate, summaryRequest, summaryFinish, SummaryText,
  SummaryJson, summaryDestroy
};
