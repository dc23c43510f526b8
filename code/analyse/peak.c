/* peak.c -- the moment at which most bytes were allocated, in all processes together
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/peak.h"

#include <stdlib.h>

#include "heap/heap.h"

struct PeakStruct {
  LogRequestStruct request;
  Bool (*choose)(void *data, LogProcess process, EventType type); /* of the caller's request, */
  void *chooseData;           /* with this */
  OfProcess of;               /* whose processes count; NULL: all do */
  Heap heap;
  uint64_t live, most;        /* bytes */
  Bool higher;                /* than ever, by the event that is being taken */
  LogPositionStruct position; /* behind the event of the peak, */
  uint64_t time;              /* which is then */
};

static inline Bool peakMine(Peak peak, HeapOperation operation)
{
  return peak->of == NULL || !OfProcessBefore(peak->of, operation->process);
}

static void peakGrow(Peak peak, uint64_t bytes)
{
  peak->live += bytes;
  peak->higher |= peak->live > peak->most;
  peak->most = peak->live > peak->most ? peak->live : peak->most;
}

static void peakAlloc(void *data, HeapOperation operation)
{
  if (peakMine(data, operation))
    peakGrow(data, operation->object->size);
}

static void peakFree(void *data, HeapOperation operation)
{
  if (peakMine(data, operation))
    ((Peak)data)->live -= operation->object->size;
}

static void peakResize(void *data, HeapOperation operation)
{
  if (!peakMine(data, operation))
    return;
  ((Peak)data)->live -= operation->oldSize;
  peakGrow(data, operation->object->size);
}

static void peakOther(void *data, HeapOperation operation)
{
  if (!peakMine(data, operation))
    return;
  if (operation->kind == HeapPROCESSBEGIN)
    peakGrow(data, operation->bytes);
  else if (operation->kind == HeapPROCESSEND)
    ((Peak)data)->live -= operation->bytes;
}

static Bool peakChoose(void *data, LogProcess process, EventType type)
{
  Peak peak = data;

  return HeapWants(type) && (peak->choose == NULL || peak->choose(peak->chooseData, process, type));
}

static Bool peakEvent(LogRequest request, LogEvent event)
{
  Peak peak = request->data;

  peak->higher = FALSE;
  HeapEvent(peak->heap, event);
  if (UNLIKELY(peak->higher)) {
    LogEventPosition(&peak->position, event);
    ++peak->position.at;
    peak->time = event->time;
  }
  return FALSE;
}

Res PeakCreate(Peak *peakReturn, Log log, const LogRequestStruct *only, OfProcess of)
{
  static const LogPositionStruct last = LogPositionLAST;
  Peak peak = calloc(1, sizeof *peak);
  HeapClientStruct client = {peak, peakAlloc, peakFree, peakResize, peakOther, FALSE};

  if (peak == NULL)
    return ResMEMORY;
  if (HeapCreate(&peak->heap, &client, log) != ResOK) {
    free(peak);
    return ResMEMORY;
  }
  HeapOf(peak->heap, of);
  peak->of = of;
  HeapPrompt(peak->heap);
  peak->position = last;
  peak->time = UINT64_MAX;
  peak->request = *only;
  peak->choose = only->choose;
  peak->chooseData = only->chooseData != NULL ? only->chooseData : only->data;
  if (only->count == UINT64_MAX) { /* else it counts what the heap does not want, too */
    peak->request.choose = peakChoose;
    peak->request.chooseData = peak;
  } else {
    peak->request.chooseData = peak->chooseData;
  }
  peak->request.data = peak;
  peak->request.event = peakEvent;
  *peakReturn = peak;
  return ResOK;
}

void PeakDestroy(Peak peak)
{
  if (peak == NULL)
    return;
  HeapDestroy(peak->heap);
  free(peak);
}

LogRequest PeakRequest(Peak peak)
{
  return &peak->request;
}

Res PeakFinish(LogPosition positionReturn, uint64_t *timeReturn, Peak peak)
{
  static const LogPositionStruct last = LogPositionLAST;
  Res res;

  peak->higher = FALSE;
  res = HeapSettle(peak->heap);
  *positionReturn = peak->higher ? last : peak->position;
  *timeReturn = peak->higher ? UINT64_MAX : peak->time;
  return res;
}
