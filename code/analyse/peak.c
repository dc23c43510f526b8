/* peak.c -- the moment at which most bytes were allocated, in all processes together
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/peak.h"

#include "heap/heap.h"

typedef struct peakStruct {
  OfProcess of;               /* whose processes count; NULL: all do */
  Heap heap;
  HeapSumStruct live;
  LogPositionStruct position; /* behind the event of the peak, */
  uint64_t time;              /* which is then */
} peakStruct, *Peak;

static void peakTell(void *data, HeapOperation operation)
{
  Peak peak = data;

  if (peak->of == NULL || !OfProcessBefore(peak->of, operation->process))
    HeapSumTell(&peak->live, operation);
}

static Bool peakEvent(LogRequest request, LogEvent event)
{
  Peak peak = request->data;
  uint64_t most = peak->live.peakBytes;

  HeapEvent(peak->heap, event);
  if (UNLIKELY(peak->live.peakBytes > most)) {
    LogEventPosition(&peak->position, event);
    ++peak->position.at;
    peak->time = event->time;
  }
  return FALSE;
}

Bool PeakFind(LogPosition positionReturn, uint64_t *timeReturn, Source source, int *statusReturn)
{
  static const LogPositionStruct last = LogPositionLAST;
  peakStruct peak = {.of = source->of, .position = last, .time = UINT64_MAX};
  HeapClientStruct client = {&peak, peakTell, peakTell, peakTell, peakTell, FALSE};
  LogRequestStruct own = source->request;
  LogRequest request = &own;
  uint64_t most;
  Bool found;

  if (HeapCreate(&peak.heap, &client, source->log) != ResOK) {
    *statusReturn = OptionFail(source->tool, "no memory");
    return FALSE;
  }
  HeapOf(peak.heap, peak.of);
  HeapPrompt(peak.heap);
  HeapChoose(&own, &source->request);
  own.data = &peak;
  own.event = peakEvent;
  found = SourceServe(source, &request, 1, statusReturn);
  most = peak.live.peakBytes;
  if (found && HeapSettle(peak.heap) != ResOK) {
    *statusReturn = OptionFail(source->tool, "no memory for all objects that live at a time");
    found = FALSE;
  }
  *positionReturn = peak.live.peakBytes > most ? last : peak.position;
  *timeReturn = peak.live.peakBytes > most ? UINT64_MAX : peak.time;
  HeapDestroy(peak.heap);
  return found;
}
