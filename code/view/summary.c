/* summary.c -- what a log says at a glance: the counting
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

#include "view/summarydata.h"

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

static void summaryOperation(void *data, HeapOperation operation)
{
  Summary summary = data;

  switch (operation->kind) {
  case HeapALLOC:
    ++summary->allocs;
    ++summary->liveObjects;
    summary->totalBytes += operation->size;
    summarySize(summary, operation->size);
    summaryGrow(summary, operation->size, operation->time);
    break;
  case HeapFREE:
    *(operation->destroyed || operation->presumed ? &summary->presumed : &summary->frees) += 1;
    --summary->liveObjects;
    summary->liveBytes -= operation->size;
    summary->lifetime += (double)(operation->time - operation->object->time);
    break;
  case HeapRESIZE:
    ++summary->resizes;
    if (operation->size > operation->oldSize)
      summary->totalBytes += operation->size - operation->oldSize;
    summary->liveBytes -= operation->oldSize;
    summaryGrow(summary, operation->size, operation->time);
    break;
  case HeapPOOLCREATE:
    ++summary->pools;
    break;
  case HeapARENACREATE:
    ++summary->arenas;
    break;
  default:
    break;
  }
}

Res SummaryCreate(Summary *summaryReturn, Log log)
{
  Summary summary = calloc(1, sizeof *summary);

  if (summary == NULL)
    return ResMEMORY;
  summary->log = log;
  if (HeapCreate(&summary->heap, summaryOperation, summary) != ResOK) {
    free(summary);
    return ResMEMORY;
  }
  *summaryReturn = summary;
  return ResOK;
}

void SummaryDestroy(Summary summary)
{
  Index i;

  for (i = 0; i < summary->processes; ++i) {
    if (summary->process[i] != NULL) {
      free(summary->process[i]->thread);
      free(summary->process[i]);
    }
  }
  free(summary->process);
  HeapDestroy(summary->heap);
  free(summary);
}

/* summaryProcessNew -- the counts of a process that is met for the first time, or NULL */
static SummaryProcess summaryProcessNew(Summary summary, LogProcess log)
{
  SummaryProcess process = calloc(1, sizeof *process);

  if (log->number >= summary->processes) {
    Count count = log->number + 8;
    SummaryProcess *grown = realloc(summary->process, count * sizeof *grown);
    if (grown == NULL) {
      free(process);
      return NULL;
    }
    memset(grown + summary->processes, 0, (count - summary->processes) * sizeof *grown);
    summary->process = grown;
    summary->processes = count;
  }
  if (process != NULL) {
    process->log = log;
    process->lastStream = UINT64_MAX;
    ++summary->processesSeen;
  }
  summary->process[log->number] = process;
  return process;
}

/* summaryThread -- the thread of the event's stream, which is not that of the event before
 * Threads that the writer numbers differently are different, though the system may call them the same. */
static void summaryThread(Summary summary, SummaryProcess process, LogEvent event)
{
  uint64_t key = (uint64_t)(event->stream >> 5) << 32 | event->thread;
  Index i;

  process->lastStream = event->stream;
  if (process->threads >= process->capacity / 2) {
    Count capacity = process->capacity == 0 ? 16 : process->capacity * 2;
    uint64_t *grown = calloc(capacity, sizeof *grown);
    if (grown == NULL) {
      summary->res = ResMEMORY;
      return;
    }
    for (i = 0; i < process->capacity; ++i) {
      if (process->thread[i] != 0) {
        Index j = summaryHash(process->thread[i], capacity);
        while (grown[j] != 0)
          j = (j + 1) & (capacity - 1);
        grown[j] = process->thread[i];
      }
    }
    free(process->thread);
    process->thread = grown;
    process->capacity = capacity;
  }
  key = key == 0 ? UINT64_MAX : key; /* 0 is an empty place */
  for (i = summaryHash(key, process->capacity); process->thread[i] != 0; i = (i + 1) & (process->capacity - 1)) {
    if (process->thread[i] == key)
      return;
  }
  process->thread[i] = key;
  ++process->threads;
}

void SummaryEvent(Summary summary, LogEvent event)
{
  SummaryProcess process = NULL;

  if (LIKELY(event->process->number < summary->processes))
    process = summary->process[event->process->number];
  if (UNLIKELY(process == NULL)) {
    process = summaryProcessNew(summary, event->process);
    if (process == NULL) {
      summary->res = ResMEMORY;
      return;
    }
  }
  if (UNLIKELY(process->events++ == 0 && summary->events == 0))
    summary->first = event->time;
  ++summary->events;
  summary->last = event->time;
  ++process->count[event->type - event->process->registry->types];
  if (UNLIKELY(process->lastStream != event->stream))
    summaryThread(summary, process, event);
  HeapEvent(summary->heap, event);
}

Res SummaryFinish(Summary summary)
{
  Res res = HeapSettle(summary->heap);

  return summary->res != ResOK ? summary->res : res;
}
