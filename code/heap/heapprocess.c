/* heapprocess.c -- the processes of a heap: their beginning, their threads, their end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "heap/heapdata.h"
#include "log/processname.h"

/* What a process takes */

static void processPoolsFree(HeapPool pool)
{
  while (pool != NULL) {
    HeapPool next = pool->next;
    HeapTableFinish(&pool->table);
    free(pool);
    pool = next;
  }
}

static void processFree(HeapProcess process)
{
  Index i;

  for (i = 0; i < HeapBUCKETS; ++i) {
    HeapThread thread = process->thread[i];
    processPoolsFree(process->pool[i]);
    while (thread != NULL) {
      HeapThread next = thread->next;
      free(thread);
      thread = next;
    }
  }
  processPoolsFree(process->dead);
  HeapTableFinish(&process->arenas);
  HeapReorderFinish(&process->order);
  free(process->seen.counts);
  free(process);
}

void HeapProcessesFree(Heap heap)
{
  Index i;

  for (i = 0; i < heap->count; ++i) {
    if (heap->place[i].process != NULL)
      processFree(heap->place[i].process);
    if (heap->place[i].past != NULL)
      free(heap->place[i].past->counts);
    free(heap->place[i].past);
  }
  free(heap->place);
  heap->place = NULL;
  heap->count = heap->capacity = heap->living = 0;
  heap->kept = heap->in = heap->fetched = heap->out = 0;
}

/* processPast -- a process that had ended has an event after all: continue its record */
static void processPast(HeapProcess process, HeapSeen past)
{
  process->seen = *past;
  process->order.tally = past->tally;
  process->inherited = 0 - past->threads; /* so that they count as its own */
  free(past);
}

static HeapProcess processNew(Heap heap, Index number)
{
  HeapProcess process = calloc(1, sizeof *process);

  AVER(number < LogProcesses(heap->log));
  if (process == NULL || HeapTableInit(&process->arenas) != ResOK) {
    free(process);
    return NULL;
  }
  HeapReorderInit(&process->order, number, &heap->client);
  process->heap = heap;
  process->log = LogProcessAt(heap->log, number);
  if (heap->place[number].past != NULL)
    processPast(process, heap->place[number].past);
  heap->place[number].past = NULL;
  heap->place[number].process = process;
  return process;
}

HeapProcess HeapProcessMake(Heap heap, Index number)
{
  AVER_CRITICAL(heap->count <= heap->capacity);
  while (number >= heap->count) {
    if (!Grow(&heap->place, &heap->capacity, heap->count, sizeof *heap->place))
      return NULL;
    heap->place[heap->count++] = (HeapPlaceStruct){NULL, NULL};
  }
  AVER(heap->place[number].process == NULL);
  return processNew(heap, number);
}

/* Types */

/* processPlans -- the plans for the types of a registry; NULL: no memory */
static HeapPlans processPlans(Heap heap, Registry registry, Bool swapped)
{
  HeapPlans plans = heap->plans;

  while (plans != NULL && (plans->registry != registry || plans->swapped != swapped))
    plans = plans->next;
  if (plans == NULL && (plans = calloc(1, sizeof *plans)) != NULL) {
    plans->registry = registry;
    plans->swapped = swapped;
    plans->next = heap->plans;
    heap->plans = plans;
  }
  return plans;
}

Bool HeapSeenTypes(HeapSeen seen, Count types)
{
  while (seen->types < types) {
    if (!Grow(&seen->counts, &seen->capacity, seen->types, sizeof *seen->counts))
      return FALSE;
    seen->counts[seen->types++] = 0;
  }
  return TRUE;
}

HeapSeenStruct HeapProcessSeen(HeapProcess process)
{
  HeapSeenStruct seen = process->seen;

  seen.threads = process->threads - process->inherited;
  seen.last = process->ended ? process->last : process->order.now;
  seen.doubt = process->order.doubt;
  seen.tally = process->order.tally;
  seen.sum = process->order.sum;
  return seen;
}

Bool HeapProcessRegistry(Heap heap, HeapProcess process, LogProcess log)
{
  HeapPlans plans = processPlans(heap, log->registry, log->header.widths.swapped);

  if (plans == NULL)
    return FALSE;
  process->registry = log->registry;
  process->plans = plans->plan;
  return HeapSeenTypes(&process->seen, log->registry->count);
}

/* Threads */

HeapThread *HeapThreadBucket(HeapProcess process, uint32_t id)
{
  return &process->thread[id % HeapBUCKETS];
}

static HeapThread processThreadFind(HeapProcess process, uint32_t id)
{
  HeapThread thread = *HeapThreadBucket(process, id);

  while (thread != NULL && (thread->id != id || thread->past))
    thread = thread->next;
  return thread;
}

/* HeapThreadNew -- a thread is known by its number, which the system gives out again: then the new one says that it
 * begins.  The writer's serial number changes where destructors still emit after a thread seemed to have ended. */
HeapThread HeapThreadNew(HeapProcess process, LogEvent event)
{
  HeapThread *bucket = HeapThreadBucket(process, event->thread);
  HeapThread thread = processThreadFind(process, event->thread);

  if (thread != NULL || (thread = calloc(1, sizeof *thread)) == NULL)
    return thread;
  thread->number = process->threads++;
  thread->id = event->thread;
  process->seen.leader |= thread->id == HeaderLeader(&process->log->header);
  thread->serial = event->stream >> 5;
  thread->next = *bucket;
  *bucket = thread;
  if (!process->order.several && process->threads - process->inherited > 1) {
    HeapCatchUp(process->heap); /* the queued events are of the time when there was one thread */
    process->order.several = TRUE;
  }
  return thread;
}

void HeapThreadStart(HeapProcess process, LogEvent event)
{
  HeapThread thread = processThreadFind(process, event->thread);
  Index i;

  if (thread == NULL || thread->serial == event->stream >> 5)
    return;
  HeapCatchUp(process->heap);
  HeapReorderAbandon(&process->order, thread);
  thread->past = TRUE;
  for (i = 0; i < HeapRECENT; ++i)
    if (process->recent[i].thread == thread)
      process->recent[i].thread = NULL;
}

/* processCheck -- is what there is of a process as heapdata.h has it?  Where memory ran out it need not be. */
static Bool processCheck(Heap heap, Index number)
{
  HeapProcess process = heap->place[number].process;
  HeapPool pool;
  HeapThread thread;
  Index i;

  if (process == NULL || process->order.res != ResOK)
    return TRUE;
  if (heap->place[number].past != NULL || process->heap != heap || process->order.operation.process != number ||
      process->child > heap->count)
    return FALSE;
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = process->pool[i]; pool != NULL; pool = pool->next)
      if (HeapPoolBucket(process, pool->addr) != &process->pool[i] || pool->table.objects == NULL)
        return FALSE;
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      if (HeapThreadBucket(process, thread->id) != &process->thread[i] || thread->number >= process->threads)
        return FALSE;
  }
  for (pool = process->dead; pool != NULL; pool = pool->next)
    if (pool->table.objects != NULL)
      return FALSE;
  return TRUE;
}

/* keptCheck -- are the processes that are kept a list, and have they ended? */
static Bool keptCheck(Heap heap)
{
  HeapProcess kept;
  Index at = heap->kept;
  Count n;

  for (n = 0; at != 0 && n < heap->count; ++n, at = kept->beside) {
    kept = HeapProcessAt(heap, at - 1);
    if (kept == NULL || !kept->ended)
      return FALSE;
  }
  return at == 0;
}

Bool HeapCheck(Heap heap)
{
  Index i;

  if (heap->in - heap->out > HeapQUEUE || heap->in - heap->fetched > heap->in - heap->out ||
      heap->count > heap->capacity || !HeaderTimesCheck(&heap->times) || !keptCheck(heap))
    return FALSE;
  for (i = 0; i < heap->count; ++i)
    if (!processCheck(heap, i))
      return FALSE;
  return TRUE;
}

/* Beginning and end */

static Bool processRecorded(HeapProcess process)
{
  return process->log->header.role[0] == '\0';
}

Bool HeapShows(Heap heap, HeapProcess process)
{
  return processRecorded(process) &&
         (heap->of == NULL || !OfProcessBefore(heap->of, process->order.operation.process));
}

void HeapProcessSettle(HeapProcess process)
{
  HeapThread thread;
  Index i;

  HeapCatchUp(process->heap);
  HeapReorderSettle(&process->order);
  HeapEACHTHREAD(process, i, thread)
    HeapReorderAbandon(&process->order, thread);
  AVER_CRITICAL(HeapReorderCheck(&process->order));
}

/* processTell -- report all objects of a process in one operation */
static void processTell(Heap heap, HeapProcess process, HeapOperationKind kind, HeapThread thread, uint64_t time)
{
  HeapOperationStruct operation = {.kind = kind, .process = process->order.operation.process, .thread = thread,
                                   .revived = kind == HeapPROCESSBEGIN && process->ended,
                                   .objects = process->order.sum.objects, .bytes = process->order.sum.bytes,
                                   .doubt = process->order.doubt};

  if (time > process->order.now)
    process->order.now = time;
  operation.time = process->order.now;
  heap->client.other(heap->client.data, &operation);
}

/* keptOut -- a process is not kept any more, if it was.  While a heap is read, not all that are kept may be there. */
static void keptOut(Heap heap, HeapProcess process)
{
  Index number = process->order.operation.process, *at = &heap->kept;
  HeapProcess kept;
  Count n;

  for (n = 0; *at != number + 1; ++n) {
    kept = *at != 0 && n < heap->count ? HeapProcessAt(heap, *at - 1) : NULL;
    if (kept == NULL)
      return;
    at = &kept->beside;
  }
  *at = process->beside;
  process->beside = 0;
}

void HeapProcessDrop(Heap heap, HeapProcess process)
{
  Index number = process->order.operation.process;
  HeapSeen past = process->met ? malloc(sizeof *past) : NULL;

  AVER(HeapProcessAt(heap, number) == process);
  if (process->met && past == NULL) {
    heap->res = ResMEMORY;
  } else if (process->met) {
    *past = HeapProcessSeen(process);
    process->seen.counts = NULL;
  }
  heap->place[number].past = past;
  keptOut(heap, process);
  heap->place[number].process = NULL;
  processFree(process);
}

/* keptDrop -- drop all processes that are kept */
static void keptDrop(Heap heap)
{
  while (heap->kept != 0)
    HeapProcessDrop(heap, heap->place[heap->kept - 1].process);
}

int HeapKeptRank(Heap heap, HeapProcess process)
{
  HeapProcess kept = heap->kept != 0 ? heap->place[heap->kept - 1].process : NULL;
  Header a = &process->log->header, b = kept != NULL ? &kept->log->header : NULL;

  if (kept == NULL)
    return 1;
  if (a->pid == b->pid && a->boot[0] != '\0' && strcmp(a->boot, b->boot) == 0)
    return 0;
  return kept->last > process->last ? -1 : 1;
}

/* processKeep -- keep the objects of the ended process with the latest event, in case no other lives on */
static void processKeep(Heap heap, HeapProcess process)
{
  int rank = HeapKeptRank(heap, process);
  HeapProcess kept;

  AVER(process->ended);
  if (rank < 0) {
    HeapProcessDrop(heap, process);
    return;
  }
  if (rank > 0)
    keptDrop(heap);
  kept = heap->kept != 0 ? heap->place[heap->kept - 1].process : NULL;
  if (kept != NULL && kept->last > process->last)
    process->last = kept->last;
  process->beside = heap->kept;
  heap->kept = process->order.operation.process + 1;
}

/* processEnd -- it ends: the client gets HeapPROCESSEND, and its objects are forgotten, or kept */
static void processEnd(Heap heap, HeapProcess process, uint64_t time)
{
  AVER(!process->ended);
  HeapProcessSettle(process);
  process->last = process->order.now;
  if (process->order.res != ResOK)
    heap->res = process->order.res;
  if (!process->met) {
    HeapProcessDrop(heap, process);
    return;
  }
  processTell(heap, process, HeapPROCESSEND, NULL, time);
  process->ended = TRUE;
  if (!HeapShows(heap, process)) {
    HeapProcessDrop(heap, process);
    return;
  }
  --heap->living;
  processKeep(heap, process);
}

void HeapProcessPid(Heap heap, LogProcess reporter, uint32_t pid, const char *program, Size length, uint64_t time)
{
  Index i;

  for (i = 0; i < heap->count; ++i) {
    HeapProcess process = heap->place[i].process;
    if (process != NULL && !process->ended && processRecorded(process) && process->log != reporter &&
        process->log->header.pid == pid && strcmp(process->log->header.boot, reporter->header.boot) == 0 &&
        (program == NULL || !HeaderRuns(&process->log->header, program, length)) &&
        LogProcessNewest(heap->log, i) <= time)
      processEnd(heap, process, time);
  }
}

void HeapUntil(Heap heap, uint64_t time)
{
  HeaderTime one;

  if (HeaderTimesLook(&heap->times, heap->log) != ResOK)
    heap->res = ResMEMORY;
  while (heap->res == ResOK && (one = HeaderTimesNext(&heap->times, time)) != NULL) {
    HeapProcess process = HeapProcessAt(heap, one->process);
    if (one->fork)
      HeapForkDo(heap, one);
    else if (process != NULL && !process->ended && processRecorded(process))
      processEnd(heap, process, one->due - 1);
  }
}

void HeapProcessMeet(Heap heap, HeapProcess process, HeapThread thread, uint64_t time)
{
  Bool begins = process->order.sum.objects > 0;

  if (processRecorded(process) && !process->met)
    HeapProcessPid(heap, process->log, process->log->header.pid, NULL, 0, time);
  if (HeapShows(heap, process)) {
    ++heap->living;
    if (process->ended)
      keptOut(heap, process);
    else
      keptDrop(heap);
  }
  if (!process->met)
    HeapForkMet(heap, process);
  process->met = TRUE;
  if (begins) {
    HeapCatchUp(heap); /* what came before is told before */
    processTell(heap, process, HeapPROCESSBEGIN, thread, time);
  }
  process->ended = FALSE;
  if (begins && heap->client.each)
    HeapForkTell(heap, process, thread);
}
