/* heapprocess.c -- the processes of a heap: their beginning, their threads, their end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

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
    if (heap->process[i] != NULL)
      processFree(heap->process[i]);
    if (heap->past[i] != NULL)
      free(heap->past[i]->counts);
    free(heap->past[i]);
  }
  free(heap->process);
  free(heap->past);
  heap->process = NULL;
  heap->past = NULL;
  heap->count = heap->living = 0;
  heap->kept = heap->in = heap->out = 0;
}

/* processPast -- a process that has ended is there all the same: what was said of it goes on */
static void processPast(HeapProcess process, HeapPast past)
{
  process->seen = *past;
  process->order.tally = past->tally;
  process->inherited = 0 - past->threads; /* so that they count as its own */
  free(past);
}

static HeapProcess processNew(Heap heap, Index number)
{
  HeapProcess process = calloc(1, sizeof *process);

  if (process == NULL || HeapTableInit(&process->arenas) != ResOK) {
    free(process);
    return NULL;
  }
  HeapReorderInit(&process->order, number, &heap->client);
  process->heap = heap;
  process->log = LogProcessAt(heap->log, number);
  if (heap->past[number] != NULL)
    processPast(process, heap->past[number]);
  heap->past[number] = NULL;
  heap->process[number] = process;
  return process;
}

/* processRoom -- there are so many places for processes; FALSE: no memory */
static Bool processRoom(Heap heap, Count count)
{
  HeapProcess *process = realloc(heap->process, count * sizeof *process);
  HeapPast *past;

  if (process == NULL)
    return FALSE;
  heap->process = process;
  past = realloc(heap->past, count * sizeof *past);
  if (past == NULL)
    return FALSE;
  heap->past = past;
  memset(process + heap->count, 0, (count - heap->count) * sizeof *process);
  memset(past + heap->count, 0, (count - heap->count) * sizeof *past);
  heap->count = count;
  return TRUE;
}

HeapProcess HeapProcessOf(Heap heap, Index number)
{
  if (UNLIKELY(number >= heap->count) && !processRoom(heap, number + number / 2 + 8))
    return NULL;
  if (UNLIKELY(heap->process[number] == NULL))
    return processNew(heap, number);
  return heap->process[number];
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

Bool HeapSeenTypes(HeapPast seen, Count types)
{
  uint64_t *counts;

  if (types <= seen->types)
    return TRUE;
  counts = realloc(seen->counts, types * sizeof *counts);
  if (counts == NULL)
    return FALSE;
  memset(counts + seen->types, 0, (types - seen->types) * sizeof *counts);
  seen->counts = counts;
  seen->types = types;
  return TRUE;
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
    HeapDrain(process->heap); /* what is queued was there when there was one thread */
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
  HeapDrain(process->heap);
  HeapReorderAbandon(&process->order, thread);
  thread->past = TRUE;
  for (i = 0; i < HeapRECENT; ++i)
    if (process->recent[i].thread == thread)
      process->recent[i].thread = NULL;
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

  HeapDrain(process->heap);
  HeapReorderSettle(&process->order);
  HeapEACHTHREAD(process, i, thread)
    HeapReorderAbandon(&process->order, thread);
}

/* processTell -- tell of all objects of a process together */
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

void HeapProcessDrop(Heap heap, HeapProcess process)
{
  Index number = process->order.operation.process;
  HeapPast past = process->met ? malloc(sizeof *past) : NULL;

  if (process->met && past == NULL) {
    heap->res = ResMEMORY;
  } else if (process->met) {
    *past = process->seen;
    past->threads = process->threads - process->inherited;
    past->last = process->last;
    past->tally = process->order.tally;
    past->sum = process->order.sum;
    process->seen.counts = NULL;
  }
  heap->past[number] = past;
  heap->process[number] = NULL;
  if (heap->kept == number + 1)
    heap->kept = 0;
  processFree(process);
}

/* processKeep -- of those that have ended the one with the latest event stays, in case nobody lives on.  It is told
 * last of others' ends where a parent's is noticed first. */
static void processKeep(Heap heap, HeapProcess process)
{
  Index number = process->order.operation.process;

  if (heap->kept != 0 && heap->process[heap->kept - 1]->last > process->last) {
    HeapProcessDrop(heap, process);
    return;
  }
  if (heap->kept != 0)
    HeapProcessDrop(heap, heap->process[heap->kept - 1]);
  heap->kept = number + 1;
}

void HeapProcessEnd(Heap heap, HeapProcess process, uint64_t time)
{
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

/* processIs -- may the process be the one that has this number in the system that `reporter` belongs to? */
static Bool processIs(HeapProcess process, LogProcess reporter, uint32_t pid)
{
  return process != NULL && !process->ended && processRecorded(process) && process->log->header.pid == pid &&
         strcmp(process->log->header.boot, reporter->header.boot) == 0;
}

void HeapProcessPid(Heap heap, LogProcess reporter, uint32_t pid, const char *program, Size length, uint64_t time)
{
  Index i;

  for (i = 0; i < heap->count; ++i) {
    HeapProcess process = heap->process[i];
    if (processIs(process, reporter, pid) && (program == NULL || !HeaderRuns(&process->log->header, program, length)) &&
        LogProcessNewest(heap->log, i) <= time)
      HeapProcessEnd(heap, process, time);
  }
}

void HeapProcessesGone(Heap heap, uint64_t time)
{
  uint64_t gone;
  Index i;

  if (GoneLook(&heap->gone, heap->log) != ResOK)
    heap->res = ResMEMORY;
  while (GoneNext(&i, &gone, &heap->gone, time)) {
    HeapProcess process = i < heap->count ? heap->process[i] : NULL;
    if (process != NULL && !process->ended && processRecorded(process))
      HeapProcessEnd(heap, process, gone);
  }
}

/* processBefore -- those that had its number before have ended, if nothing more comes of them */
static void processBefore(Heap heap, HeapProcess process, uint64_t time)
{
  Index i;

  for (i = 0; i < heap->count; ++i)
    if (heap->process[i] != process && processIs(heap->process[i], process->log, process->log->header.pid) &&
        LogProcessNewest(heap->log, i) <= time)
      HeapProcessEnd(heap, heap->process[i], time);
}

void HeapProcessMeet(Heap heap, HeapProcess process, HeapThread thread, uint64_t time)
{
  Bool begins = process->order.sum.objects > 0;

  if (processRecorded(process) && !process->met)
    processBefore(heap, process, time);
  if (HeapShows(heap, process)) {
    ++heap->living;
    if (process->ended)
      heap->kept = 0;
    else if (heap->kept != 0)
      HeapProcessDrop(heap, heap->process[heap->kept - 1]);
  }
  if (!process->met)
    HeapForkMet(heap, process);
  process->met = TRUE;
  if (begins) {
    HeapDrain(heap); /* what came before is told before */
    processTell(heap, process, HeapPROCESSBEGIN, thread, time);
  }
  process->ended = FALSE;
  if (begins && heap->client.each)
    HeapForkTell(heap, process, thread);
}
