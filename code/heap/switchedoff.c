/* switchedoff.c -- for which times a log lacks events of objects, because their kinds were switched off
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/switchedoff.h"

#include <stdlib.h>
#include <string.h>

#include "heap/heapdata.h"

/* offHeap -- is the type about objects or, with `pools`, about pools? */
static Bool offHeap(EventType type, Bool pools)
{
  HeapDoes does = HeapTypeDoes(type);

  return (does >= HeapDoesALLOC && does <= HeapDoesLIVE) ||
         (pools && (does == HeapDoesPOOLCREATE || does == HeapDoesPOOLDESTROY));
}

/* offKinds -- the kinds that have types about objects; with `seen`, those that have types about objects or pools of
 * which an event was read */
static uint32_t offKinds(LogProcess process, HeapSeen seen)
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

/* offFirst -- were kinds of objects off when the recording of the process began?  Not if the process opened the log
 * later: such a log need not have earlier events. */
static Bool offFirst(LogProcess process)
{
  const HeaderStruct *header = &process->header;

  return header->sent.ticks != 0 && header->begun == 0 && (~header->sent.first & offKinds(process, NULL)) != 0;
}

/* offOn -- is this the type KindsOn, which says which kinds are on again and for how long they were off? */
static Bool offOn(EventType type)
{
  return HeapTypeDoes(type) == HeapDoesKINDSON && type->params == 2 && type->letter[0] == 'U' && type->letter[1] == 'D';
}

/* offTells -- does the process's registry have KindsOn?  Then the process emits it each time. */
static Bool offTells(LogProcess process)
{
  Registry registry = process->registry;
  Index i;

  for (i = 0; i < registry->count && !offOn(&registry->types[i]); ++i)
    ;
  return i < registry->count;
}

/* offSeconds -- how many seconds kinds of objects were off according to a KindsOn event; 0: none was off */
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

/* HeapOffBegins -- the process's first event about its heap: were kinds off until now? */
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

/* HeapOffUnsent -- an event comes from the flight recorder, so its kind was off; the last event before it was sent */
void HeapOffUnsent(Heap heap, HeapProcess process, uint64_t time)
{
  HeapCatchUp(heap);
  if (process->order.now > process->seen.unsentLast)
    process->seen.unsentFrom = process->order.now;
  if (time > process->seen.unsentLast)
    process->seen.unsentLast = time;
}

/* HeapOffOn -- a KindsOn event: kinds are on again.  The time for which they were off begins when the recording of the
 * process began, or later. */
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

/* HeapOffState -- a state dump begins.  A process without KindsOn makes one when kinds are switched on, so kinds were
 * off before if there were events of objects already and the process did not open the log just now.  They were off at
 * most since the last event about its heap. */
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

/* offLast -- at the end of the process, were kinds of the heap off of which there had been events? */
static Bool offLast(LogProcess process, HeapSeen seen)
{
  return process->header.sent.ticks != 0 && (~process->header.sent.now & offKinds(process, seen)) != 0;
}

/* offStopped -- the time at which the process stopped its recording because no block was free; threads that had begun
 * an event may have committed it later.  UINT64_MAX: it did not stop, or its kinds were switched on again. */
static uint64_t offStopped(Heap heap, LogProcess process, HeapSeen seen)
{
  const HeaderStruct *header = &process->header;
  uint64_t time = header->stopped < header->sent.ticks ? 0 : LogTime(heap->log, process->number, header->stopped);

  return time > seen->on ? time : UINT64_MAX;
}

/* Looking ahead of the position.  The state of a process there: it has ended; it lives and its kinds are on; its kinds
 * may be off, and are if no event follows; its kinds are off. */
enum { offENDED, offLIVES, offMAY, offIS };

#define offFINE 16e9 /* of a position, a second */

typedef struct offAheadStruct {
  Heap heap;
  double from; /* the position from which it looks, in the unit of `fine` of LogPositionStruct */
  Bool states; /* first pass: looks for state dumps and KindsOn; second: for the next event about the heap of each
                  process that is offMAY */
  Count left;  /* processes that are offMAY */
} offAheadStruct, *OffAhead;

static Bool offAheadChoose(void *data, LogProcess process, EventType type)
{
  OffAhead ahead = data;
  uint8_t is = process->number < ahead->heap->aheads ? ahead->heap->ahead[process->number] : offENDED;

  if (ahead->states && is != offENDED && offTells(process))
    return offOn(type);
  return is == (ahead->states ? offLIVES : offMAY) &&
         (HeapTypeDoes(type) == HeapDoesSTATEBEGIN || (!ahead->states && offHeap(type, TRUE)));
}

/* offAheadEvent -- kinds are off at the position if a later KindsOn says so.  For a process without KindsOn they are
 * off if its next event about the heap begins a state dump and does not follow at once. */
static Bool offAheadEvent(LogRequest request, LogEvent event)
{
  OffAhead ahead = request->data;
  HeapProcess process = ahead->heap->place[event->process->number].process;
  uint8_t *is = &ahead->heap->ahead[event->process->number];

  if (LogEventUnsent(event))
    return FALSE;
  if (ahead->states && !offOn(event->type))
    *is = offMAY;
  else if (ahead->states && (double)event->fine - offSeconds(event) * offFINE < ahead->from)
    *is = offIS;
  if (ahead->states || *is != offMAY)
    return FALSE;
  *is = HeapTypeDoes(event->type) == HeapDoesSTATEBEGIN && !offTells(event->process) &&
                event->time >= process->order.now + HeapOffMIN ? offIS : offLIVES;
  return --ahead->left == 0;
}

/* offAheadIs -- the state of a process that lives, as its headers say it: offIS if it stopped its recording before
 * `from` */
static uint8_t offAheadIs(Heap heap, HeapProcess process, double from)
{
  LogSummaryStruct summary;

  if (!offLast(process->log, &process->seen))
    return offLIVES;
  LogSummarize(&summary, heap->log);
  return (double)offStopped(heap, process->log, &process->seen) - (double)summary.first < from / 16 ? offIS : offMAY;
}

/* offAheadInit -- the states as far as they are known without reading on */
static Res offAheadInit(Heap heap, double from)
{
  Index i;

  heap->ahead = calloc(heap->count + 1, sizeof *heap->ahead);
  if (heap->ahead == NULL)
    return ResMEMORY;
  heap->aheads = heap->count;
  for (i = 0; i < heap->count; ++i) {
    HeapProcess process = heap->place[i].process;
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

  HeapCatchUp(heap);
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

/* The results */

/* offEnd -- are kinds off at the end of the process, or of the part that is read?  *fromReturn: since when at most */
static Bool offEnd(uint64_t *fromReturn, Heap heap, Index number)
{
  HeapSeenStruct seen;
  uint8_t is = number < heap->aheads ? heap->ahead[number] : heap->earlier ? offLIVES : offENDED;
  uint64_t stopped;

  if (!HeapLook(&seen, heap, number) || is == offLIVES ||
      (is == offENDED && !offLast(LogProcessAt(heap->log, number), &seen)))
    return FALSE;
  *fromReturn = seen.last > seen.unsentLast ? seen.last : seen.unsentFrom;
  stopped = offStopped(heap, LogProcessAt(heap->log, number), &seen);
  if (stopped < *fromReturn)
    *fromReturn = stopped;
  return TRUE;
}

/* offNever -- did the process begin with the kinds of objects off, and emit no event about objects?  If no process has
 * such events, the user may not have wanted them (-k), and only a process with all kinds off counts. */
static Bool offNever(Heap heap, Index number)
{
  LogProcess log = LogProcessAt(heap->log, number);
  HeapSeenStruct seen;

  return (heap->objectTypes > 0 || (log->header.sent.first | log->header.sent.now) == 0) && !heap->later &&
         (!HeapLook(&seen, heap, number) || !seen.told) && offFirst(log);
}

/* offShown -- did the user ask for this process? */
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
