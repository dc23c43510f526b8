/* switchedoff.c -- tells where a log has no events of objects, because their kinds were switched off
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/switchedoff.h"

#include <stdlib.h>
#include <string.h>

#include "export/jsondocument.h"
#include "heap/heapdata.h"

/* offHeap -- does the type tell of objects, or of a pool in which they live? */
static Bool offHeap(EventType type, Bool pools)
{
  HeapPlanStruct plan;

  return HeapPlanMake(&plan, type, FALSE) &&
         ((plan.does >= HeapDoesALLOC && plan.does <= HeapDoesLIVE) ||
          (pools && (plan.does == HeapDoesPOOLCREATE || plan.does == HeapDoesPOOLDESTROY)));
}

/* offKinds -- the kinds that tell of objects; with `seen`, those of the heap's of which there were events */
static uint32_t offKinds(LogProcess process, HeapPast seen)
{
  Registry registry = process->registry;
  uint32_t kinds = 0;
  Index i;

  for (i = 0; i < registry->count; ++i)
    if ((seen == NULL || (i < seen->types && seen->counts[i] > 0)) && registry->types[i].kind < 32 &&
        offHeap(&registry->types[i], seen != NULL))
      kinds |= (uint32_t)1 << registry->types[i].kind;
  return kinds;
}

/* offFirst -- were kinds that tell of objects off when the process began to be recorded?  Of a log that it opened later
 * nobody expects what was before. */
static Bool offFirst(LogProcess process)
{
  const HeaderStruct *header = &process->header;

  return header->sent.ticks != 0 && header->begun == 0 && (~header->sent.first & offKinds(process, NULL)) != 0;
}

/* offOn -- does the type tell which kinds are on again, and for how long they were off? */
static Bool offOn(EventType type)
{
  HeapPlanStruct plan;

  return HeapPlanMake(&plan, type, FALSE) && plan.does == HeapDoesKINDSON && type->params == 2 &&
         type->letter[0] == 'U' && type->letter[1] == 'D';
}

/* offTells -- would the process tell that, each time? */
static Bool offTells(LogProcess process)
{
  Registry registry = process->registry;
  Index i;

  for (i = 0; i < registry->count && !offOn(&registry->types[i]); ++i)
    ;
  return i < registry->count;
}

/* offSeconds -- for how long kinds that tell of objects were off, as the event says; 0: none was */
static double offSeconds(LogEvent event)
{
  double seconds = (LogEventWord(event, 0) & offKinds(event->process, NULL)) != 0 ? LogEventDouble(event, 1) : 0;

  return seconds > 0 ? seconds : 0;
}

static void offAdd(Heap heap, uint64_t since, uint64_t time)
{
  if (since > time)
    return;
  ++heap->off.times;
  heap->off.ns += time - since;
  heap->off.until = time;
}

/* HeapOffBegins -- the process tells of its heap for the first time: were kinds off until now? */
Bool HeapOffBegins(Heap heap, HeapProcess process, uint64_t time)
{
  Index number = process->order.operation.process;
  Bool off = !process->seen.told && !heap->later && HeapShows(heap, process) && offFirst(process->log);
  uint64_t since = off ? LogTime(heap->log, number, process->log->header.sent.ticks) : time;

  process->seen.told = TRUE;
  if (since + HeapOffMIN <= time)
    offAdd(heap, since, time);
  return off;
}

/* HeapOffUnsent -- a kind was off, and the flight recorder had the event: what the process told last before was sent */
void HeapOffUnsent(Heap heap, HeapProcess process, uint64_t time)
{
  HeapDrain(heap);
  if (process->order.now > process->seen.unsentLast)
    process->seen.unsentFrom = process->order.now;
  if (time > process->seen.unsentLast)
    process->seen.unsentLast = time;
}

/* HeapOffOn -- a process tells which kinds are on again, and how long they were off; not longer than it is recorded */
void HeapOffOn(Heap heap, HeapProcess process, LogEvent event)
{
  double ns = offOn(event->type) ? offSeconds(event) * 1e9 : 0;
  uint64_t first = LogTime(heap->log, process->order.operation.process, process->log->header.sent.ticks);

  if (ns > 0)
    process->seen.on = event->time;
  if (ns > 0 && HeapShows(heap, process) && !HeapOffBegins(heap, process, event->time))
    offAdd(heap, ns < (double)event->time && event->time - (uint64_t)ns > first ? event->time - (uint64_t)ns : first,
           event->time);
}

/* HeapOffState -- a process tells what it has, and is of a version that says nothing of kinds: were they off before?  So it
 * is where it has told of objects already, and did not open the log just now.  Since when is not told: not longer than
 * since the last that it told of its heap. */
void HeapOffState(Heap heap, HeapProcess process, uint64_t time)
{
  HeapReorder order = &process->order;
  uint64_t since = order->now > order->stateTo ? order->now : order->stateTo;
  Bool opens = process->log->header.begun != 0 && order->stateTo == 0 && !order->stating;

  if (!HeapOffBegins(heap, process, time) && order->sum.peakObjects > 0 && !opens && HeapShows(heap, process) &&
      !offTells(process->log) && since + HeapOffMIN <= time)
    offAdd(heap, since, time);
}

void HeapOffPart(Heap heap, const LogRequestStruct *request)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, heap->log);
  heap->later = request->from > summary.first || request->start != NULL;
  heap->earlier = request->to != UINT64_MAX || request->end != NULL || request->count != UINT64_MAX;
  heap->counted = request->count != UINT64_MAX;
}

/* offLast -- were kinds off at last that tell of the heap, and of which there were events before? */
static Bool offLast(LogProcess process, HeapPast seen)
{
  return process->header.sent.ticks != 0 && (~process->header.sent.now & offKinds(process, seen)) != 0;
}

/* offStopped -- when the process found no block, and stopped its recording for that, if kinds are still off; threads that
 * had begun to emit then may have finished later.  UINT64_MAX: it has not, or they were on again. */
static uint64_t offStopped(Heap heap, LogProcess process, HeapPast seen)
{
  const HeaderStruct *header = &process->header;
  uint64_t time = header->stopped < header->sent.ticks ? 0 : LogTime(heap->log, process->number, header->stopped);

  return time > seen->on ? time : UINT64_MAX;
}

/* What comes later.  Of a process: it has ended; it lives; kinds may be off, which is to be found out, and is so if
 * nothing comes; they are. */
enum { offENDED, offLIVES, offMAY, offIS };

#define offFINE 16e9 /* of a position, a second */

typedef struct offAheadStruct {
  Heap heap;
  double from; /* where it begins, as LogPositionStruct says `fine` */
  Bool states; /* whoever tells what it has, or that kinds were off, is looked for; else the next that a process tells of
                  its heap */
  Count left;  /* processes of which that is to be found out */
} offAheadStruct, *OffAhead;

/* offState -- does a process that tells so tell what it has? */
static Bool offState(EventType type)
{
  HeapPlanStruct plan;

  return HeapPlanMake(&plan, type, FALSE) && plan.does == HeapDoesSTATEBEGIN;
}

static Bool offAheadChoose(void *data, LogProcess process, EventType type)
{
  OffAhead ahead = data;
  uint8_t is = process->number < ahead->heap->aheads ? ahead->heap->ahead[process->number] : offENDED;

  if (ahead->states && is != offENDED && offTells(process))
    return offOn(type);
  return is == (ahead->states ? offLIVES : offMAY) && (offState(type) || (!ahead->states && offHeap(type, TRUE)));
}

/* offAheadEvent -- kinds are off if the process tells later that they were then; of one that never does, if what comes
 * next is that it tells what it has, and not at once */
static Bool offAheadEvent(LogRequest request, LogEvent event)
{
  OffAhead ahead = request->data;
  HeapProcess process = ahead->heap->process[event->process->number];
  uint8_t *is = &ahead->heap->ahead[event->process->number];

  if (LogEventUnsent(event))
    return FALSE;
  if (ahead->states && !offOn(event->type))
    *is = offMAY;
  else if (ahead->states && (double)event->fine - offSeconds(event) * offFINE < ahead->from)
    *is = offIS;
  if (ahead->states || *is != offMAY)
    return FALSE;
  *is = offState(event->type) && !offTells(event->process) && event->time >= process->order.now + HeapOffMIN ? offIS
                                                                                                              : offLIVES;
  return --ahead->left == 0;
}

/* offAheadIs -- the same of a process that lives: who had stopped itself before `from` was off then */
static uint8_t offAheadIs(Heap heap, HeapProcess process, double from)
{
  LogSummaryStruct summary;

  if (!offLast(process->log, &process->seen))
    return offLIVES;
  LogSummarize(&summary, heap->log);
  return (double)offStopped(heap, process->log, &process->seen) - (double)summary.first < from / 16 ? offIS : offMAY;
}

/* offAheadInit -- what is known without looking */
static Res offAheadInit(Heap heap, double from)
{
  Index i;

  heap->ahead = calloc(heap->count + 1, sizeof *heap->ahead);
  if (heap->ahead == NULL)
    return ResMEMORY;
  heap->aheads = heap->count;
  for (i = 0; i < heap->count; ++i) {
    HeapProcess process = heap->process[i];
    if (process != NULL && process->met && !process->ended && HeapShows(heap, process))
      heap->ahead[i] = offAheadIs(heap, process, from);
  }
  return ResOK;
}

Res HeapOffAhead(Heap heap, const LogPositionStruct *position)
{
  LogRequestStruct request = LogRequestALL;
  offAheadStruct ahead = {.heap = heap, .from = (double)position->fine, .states = TRUE};
  Index i;
  Res res;

  HeapDrain(heap);
  if (!heap->earlier || heap->counted || heap->ahead != NULL)
    return ResOK;
  request.start = position;
  request.choose = offAheadChoose;
  request.event = offAheadEvent;
  request.data = &ahead;
  res = offAheadInit(heap, ahead.from);
  if (res == ResOK)
    res = LogRead(heap->log, &request);
  for (i = 0; i < heap->aheads; ++i)
    ahead.left += heap->ahead[i] == offMAY;
  ahead.states = FALSE;
  return res != ResOK || ahead.left == 0 ? res : LogRead(heap->log, &request);
}

/* What is known of it */

/* offEnd -- has the process sent nothing since kinds were switched off for the last time?  *fromReturn: since when */
static Bool offEnd(uint64_t *fromReturn, Heap heap, Index number)
{
  HeapProcess process = number < heap->count ? heap->process[number] : NULL;
  HeapPast past = number < heap->count ? heap->past[number] : NULL;
  HeapPast seen = process != NULL && process->met ? &process->seen : past;
  uint8_t is = number < heap->aheads ? heap->ahead[number] : heap->earlier ? offLIVES : offENDED;
  uint64_t stopped;

  if (seen == NULL || is == offLIVES || (is == offENDED && !offLast(LogProcessAt(heap->log, number), seen)))
    return FALSE;
  *fromReturn = seen == past ? past->last : process->ended ? process->last : process->order.now;
  if (*fromReturn <= seen->unsentLast)
    *fromReturn = seen->unsentFrom;
  stopped = offStopped(heap, LogProcessAt(heap->log, number), seen);
  if (stopped < *fromReturn)
    *fromReturn = stopped;
  return TRUE;
}

/* offNever -- has it not told of objects, and did it begin with their kinds off?  Where nobody tells of objects they may not
 * have been wanted, unless it is that nothing at all was switched on. */
static Bool offNever(Heap heap, Index number)
{
  HeapProcess process = number < heap->count ? heap->process[number] : NULL;
  HeapPast seen = process != NULL ? &process->seen : number < heap->count ? heap->past[number] : NULL;
  LogProcess log = LogProcessAt(heap->log, number);

  return (heap->objectTypes > 0 || (log->header.sent.first | log->header.sent.now) == 0) && !heap->later &&
         (seen == NULL || !seen->told) && offFirst(log);
}

/* offShown -- is the process one of those that are asked for? */
static Bool offShown(Heap heap, LogProcess process, LogProcess only)
{
  return process->header.role[0] == '\0' && (only == NULL || process == only) &&
         (heap->of == NULL || OfProcessMeans(heap->of, process));
}

HeapOffStruct HeapOff(Heap heap, LogProcess only)
{
  HeapOffStruct off = heap->off;
  uint64_t from;
  Index i;

  for (i = 0; i < LogProcesses(heap->log); ++i) {
    if (!offShown(heap, LogProcessAt(heap->log, i), only))
      continue;
    off.never += offNever(heap, i);
    if (!offEnd(&from, heap, i))
      continue;
    if (off.ends++ == 0 || from < off.from)
      off.from = from;
  }
  return off;
}

Bool HeapOffLine(char line[HeapOffLineMAX], const HeapOffStruct *off, uint64_t first, Index i)
{
  if (off->times > 0 && i-- == 0)
    (void)snprintf(line, HeapOffLineMAX, "for up to %.3f s, until %.9f s: kinds were switched on then, so what came or "
                   "went before may be missing", (double)off->ns / 1e9, DocumentSince(first, off->until));
  else if (off->ends > 0 && i-- == 0)
    (void)snprintf(line, HeapOffLineMAX, "from %.9f s on, in %zu process%s: kinds were switched off then or later",
                   DocumentSince(first, off->from), off->ends, off->ends == 1 ? "" : "es");
  else if (off->never > 0 && i-- == 0)
    (void)snprintf(line, HeapOffLineMAX, "%zu process%s: kinds were off from the beginning on", off->never,
                   off->never == 1 ? "" : "es");
  else
    return FALSE;
  return TRUE;
}

void HeapOffText(FILE *out, const HeapOffStruct *off, uint64_t first)
{
  char line[HeapOffLineMAX];
  Index i;

  for (i = 0; HeapOffLine(line, off, first, i); ++i)
    fprintf(out, "not recorded   %s\n", line);
}

void HeapOffJson(FILE *out, const HeapOffStruct *off)
{
  fprintf(out, "\"not_recorded_seconds\": %.9f, \"not_recorded_times\": %llu, \"not_recorded_at_end\": %zu, "
          "\"never_recorded\": %zu", (double)off->ns / 1e9, (unsigned long long)off->times, off->ends, off->never);
}
