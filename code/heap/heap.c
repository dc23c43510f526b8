/* heap.c -- from the events of a log to the inputs of heapreorder.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "heap/heapdata.h"
#include "heap/heapstatedump.h"

Res HeapCreate(Heap *heapReturn, HeapClient client, Log log)
{
  Heap heap = calloc(1, sizeof *heap);

  AVER(client->alloc != NULL && client->free != NULL && client->resize != NULL && client->other != NULL);
  if (heap == NULL)
    return ResMEMORY;
  heap->client = *client;
  heap->log = log;
  AVER(HeapCheck(heap));
  *heapReturn = heap;
  return ResOK;
}

void HeapOf(Heap heap, OfProcess of)
{
  heap->of = of;
}

void HeapClear(Heap heap)
{
  HeapProcessesFree(heap);
  HeaderTimesFinish(&heap->times);
  heap->forgotten = heap->unlooked = 0;
  heap->off = (HeapOffStruct){0};
  free(heap->ahead);
  heap->ahead = NULL;
  heap->aheads = 0;
  heap->objectTypes = 0;
  heap->res = ResOK;
}

void HeapDestroy(Heap heap)
{
  HeapClear(heap);
  while (heap->plans != NULL) {
    HeapPlans next = heap->plans->next;
    free(heap->plans);
    heap->plans = next;
  }
  free(heap);
}

static Bool heapChoose(void *data, LogProcess process, EventType type)
{
  return HeapWants(type) && LogRequestChooses(data, process, type);
}

void HeapChoose(LogRequest request, const LogRequestStruct *only)
{
  request->choose = heapChoose;
  request->chooseData = (void *)only;
  if (only->count != UINT64_MAX) {
    request->choose = only->choose;
    request->chooseData = only->chooseData != NULL ? only->chooseData : only->data;
  }
}

void HeapIgnore(void *data, HeapOperation operation)
{
  UNUSED(data);
  UNUSED(operation);
}

/* Threads and pools */

static inline HeapThread heapThreadOf(HeapProcess process, LogEvent event)
{
  Index i = (event->stream >> 5) % HeapRECENT;

  if (UNLIKELY(process->recent[i].thread == NULL || process->recent[i].stream != event->stream ||
               process->recent[i].thread->id != event->thread)) {
    process->recent[i].stream = event->stream;
    process->recent[i].thread = HeapThreadNew(process, event);
  }
  return process->recent[i].thread;
}

HeapPool *HeapPoolBucket(HeapProcess process, uint64_t addr)
{
  return &process->pool[((addr * 0x9e3779b97f4a7c15ull) >> 32) % HeapBUCKETS];
}

static HeapPool heapPoolNew(HeapProcess process, uint64_t addr)
{
  HeapPool *bucket = HeapPoolBucket(process, addr), pool = calloc(1, sizeof *pool);

  if (pool == NULL || HeapTableInit(&pool->table) != ResOK) {
    free(pool);
    return NULL;
  }
  pool->number = process->pools++;
  pool->addr = addr;
  pool->next = *bucket;
  *bucket = pool;
  return pool;
}

static HeapPool heapPoolFind(HeapProcess process, uint64_t addr)
{
  HeapPool pool = *HeapPoolBucket(process, addr);

  while (pool != NULL && pool->addr != addr)
    pool = pool->next;
  return pool;
}

static inline HeapPool heapPoolOf(HeapProcess process, uint64_t addr)
{
  HeapPool pool = process->lastPool;

  if (UNLIKELY(pool == NULL || pool->addr != addr)) {
    pool = heapPoolFind(process, addr);
    if (pool == NULL)
      pool = heapPoolNew(process, addr);
    process->lastPool = pool;
  }
  return pool;
}

/* The queue */

static inline void heapTake(Heap heap)
{
  Index i = heap->out++ % HeapQUEUE;

  HeapReorderEvent(heap->queue[i].order, &heap->queue[i].input);
}

void HeapCatchUp(Heap heap)
{
  while (heap->out != heap->in)
    heapTake(heap);
  heap->fetched = heap->in;
}

/* heapBatch -- half the queue is full: let the processor fetch what these inputs need, all at once, so that it waits
 * for none of them, and apply those before, for which it has done so */
static void heapBatch(Heap heap)
{
  Index i;

  for (i = heap->fetched; i != heap->in; ++i) {
    HeapInput input = &heap->queue[i % HeapQUEUE].input;
    HeapTableTouch(&input->pool->table, input->addr);
  }
  while (heap->out != heap->fetched)
    heapTake(heap);
  heap->fetched = heap->in;
}

/* heapTouch -- of an object so many bytes are in memory.  Where the object is not known, it is that of an allocation
 * whose event comes late; then its pages are not known, either. */
static void heapTouch(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapOperationStruct operation = {.kind = HeapTOUCH, .process = event->process->number, .thread = thread};
  HeapPool pool = heapPoolOf(process, LogEventWord(event, (Index)plan->param[HeapParamPOOL]));
  HeapObject object;

  if (pool == NULL) {
    heap->res = ResMEMORY;
    return;
  }
  object = pool->table.objects != NULL
             ? HeapTableSeek(&pool->table, LogEventWord(event, (Index)plan->param[HeapParamADDR])) : NULL;
  if (object == NULL || !HeapObjectLives(object))
    return;
  operation.pool = pool;
  operation.object = object;
  operation.time = process->order.now;
  operation.size = LogEventWord(event, (Index)plan->param[HeapParamTOUCHED]);
  heap->client.other(heap->client.data, &operation);
}

/* heapState -- an event of a process's state dump, or one that tells more of an object */
static void heapState(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapPool pool;
  Index i;

  HeapCatchUp(heap);
  if (plan->does == HeapDoesTOUCH) {
    heapTouch(heap, process, thread, plan, event);
    return;
  }
  if (plan->does == HeapDoesKINDSON) {
    HeapOffOn(heap, process, event);
    return;
  }
  if (plan->does == HeapDoesLIVEEND) {
    pool = heapPoolOf(process, LogEventWord(event, (Index)plan->param[HeapParamPOOL]));
    if (pool == NULL)
      heap->res = ResMEMORY;
    else
      HeapStatePurge(&process->order, pool, thread, event->time);
    return;
  }
  if (plan->does == HeapDoesSTATEEND) {
    HeapStateEnd(&process->order, event->time);
    return;
  }
  HeapOffState(heap, process, event->time);
  HeapStateBegin(&process->order, event->time);
  HeapEACHPOOL(process, i, pool)
    HeapStatePool(&process->order, pool);
  HeapEACHTHREAD(process, i, thread)
    HeapStateThread(&process->order, thread);
}

/* heapRepeated -- does a state dump repeat the creation of an arena or a pool that is known, or one of its
 * parameters? */
static Bool heapRepeated(HeapProcess process, HeapPlan plan, LogEvent event)
{
  HeapPool pool;
  Size length;

  if (plan->does == HeapDoesARENACREATE)
    return HeapTableSeek(&process->arenas, LogEventWord(event, (Index)plan->param[HeapParamARENA]))->addr != 0;
  if (plan->does != HeapDoesPOOLCREATE && plan->does != HeapDoesPOOLPARAM)
    return FALSE;
  pool = heapPoolFind(process, LogEventWord(event, (Index)plan->param[HeapParamPOOL]));
  if (pool == NULL)
    return FALSE;
  if (plan->does == HeapDoesPOOLCREATE) {
    const char *class = LogEventString(event, (Index)plan->param[HeapParamCLASS], &length);
    pool->repeated = length > 0 && strlen(pool->class) == length && memcmp(pool->class, class, length) == 0 &&
                     pool->arena == LogEventWord(event, (Index)plan->param[HeapParamARENA]);
  }
  return pool->repeated;
}

/* heapArena -- an arena comes or goes */
static void heapArena(Heap heap, HeapProcess process, HeapOperation operation)
{
  HeapObject place;

  if (HeapTableOwn(&process->arenas) != ResOK) {
    heap->res = ResMEMORY;
    return;
  }
  if (operation->kind == HeapARENADESTROY) {
    place = HeapTableSeek(&process->arenas, operation->addr);
    if (place->addr != 0)
      HeapTableDelete(&process->arenas, place);
  } else if (operation->addr != 0) {
    place = HeapTablePut(&process->arenas, operation->addr);
    if (place == NULL) {
      heap->res = ResMEMORY;
      return;
    }
    place->size = operation->size < HeapSizeMAX ? operation->size : HeapSizeMAX;
    place->client = operation->grain < UINT32_MAX ? (uint32_t)operation->grain : UINT32_MAX;
    place->time = operation->time;
  }
}

/* heapSegment -- a pool gets memory from its arena or gives it back; its first memory may have no event */
static void heapSegment(Heap heap, HeapProcess process, HeapPlan plan, LogEvent event)
{
  HeapPool pool = heapPoolOf(process, LogEventWord(event, (Index)plan->param[HeapParamPOOL]));
  uint64_t size = LogEventWord(event, (Index)plan->param[HeapParamSIZE]);

  if (pool == NULL) {
    heap->res = ResMEMORY;
  } else if (plan->does == HeapDoesSEGALLOC) {
    ++pool->segments;
    pool->reserved += size;
  } else if (pool->segments > 0) {
    --pool->segments;
    pool->reserved -= size < pool->reserved ? size : pool->reserved;
  }
}

/* heapPool -- an event on a pool: store its parameters */
static void heapPool(HeapProcess process, HeapPlan plan, LogEvent event, HeapOperation operation, const uint64_t *word)
{
  HeapPool pool = operation->pool, *link;

  if (plan->does == HeapDoesPOOLCREATE) {
    Size length;
    const char *class = LogEventString(event, (Index)plan->param[HeapParamCLASS], &length);
    if (length >= HeapClassMAX)
      length = HeapClassMAX - 1;
    memcpy(pool->class, class, length);
    pool->class[length] = '\0';
    pool->arena = word[HeapParamARENA];
    pool->time = operation->time;
    operation->kind = HeapPOOLCREATE;
  } else if (plan->does == HeapDoesPOOLPARAM) {
    operation->name = LogEventString(event, (Index)plan->param[HeapParamNAME], &operation->nameLength);
    operation->size = word[HeapParamVALUE];
    operation->kind = HeapPOOLPARAM;
  } else {
    link = HeapPoolBucket(process, pool->addr);
    HeapReorderDestroy(&process->order, pool, operation->thread, event->time);
    while (*link != pool)
      link = &(*link)->next;
    *link = pool->next;
    pool->next = process->dead;
    process->dead = pool;
    process->lastPool = NULL;
    operation->kind = HeapPOOLDESTROY;
  }
}

/* heapRare -- an event on a pool or an arena: apply the queue first, then the event, at once */
static void heapRare(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapOperationStruct operation = {.process = event->process->number, .thread = thread};
  uint64_t word[HeapParamLIMIT] = {0};
  Index i;

  for (i = 0; i < HeapParamLIMIT; ++i) {
    if (plan->param[i] >= 0 && !HeapParamIsText(i))
      word[i] = LogEventWord(event, (Index)plan->param[i]);
  }
  if (heapRepeated(process, plan, event))
    return;
  if (plan->does >= HeapDoesSEGALLOC) {
    heapSegment(heap, process, plan, event);
    return;
  }
  HeapCatchUp(heap);
  HeapReorderSettle(&process->order);
  if (event->time > process->order.now)
    process->order.now = event->time;
  operation.time = process->order.now;
  if (plan->does == HeapDoesARENACREATE || plan->does == HeapDoesARENADESTROY) {
    operation.kind = plan->does == HeapDoesARENACREATE ? HeapARENACREATE : HeapARENADESTROY;
    operation.addr = word[HeapParamARENA];
    operation.size = word[HeapParamSIZE];
    operation.grain = word[HeapParamGRAIN];
    heapArena(heap, process, &operation);
  } else {
    HeapPool pool = heapPoolOf(process, word[HeapParamPOOL]);
    if (pool == NULL) {
      heap->res = ResMEMORY;
      return;
    }
    operation.pool = pool;
    heapPool(process, plan, event, &operation, word);
  }
  heap->client.other(heap->client.data, &operation);
}

/* heapProcesses -- the collector's event that a process ends or executes a program; or a thread begins or ends */
static void heapProcesses(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  const char *program = NULL;
  Size length = 0;

  if (plan->does == HeapDoesTHREAD || plan->does == HeapDoesTHREADEND) {
    if (LogEventWord(event, (Index)plan->param[HeapParamTHREAD]) != event->thread || process->order.stating)
      return;
    if (plan->does == HeapDoesTHREAD)
      HeapThreadStart(process, event);
    else
      thread->ended = TRUE;
    return;
  }
  if (plan->does == HeapDoesEXEC)
    program = LogEventString(event, (Index)plan->param[HeapParamPROGRAM], &length);
  HeapProcessPid(heap, event->process, (uint32_t)LogEventWord(event, (Index)plan->param[HeapParamPID]), program,
                 length, event->time);
}

static inline uint64_t heapWord(LogEvent event, uint16_t offset)
{
  uint64_t word;

  memcpy(&word, event->bytes + offset, sizeof word);
  return word;
}

/* heapDecode -- the event's parameters, from a writer with our byte order and word: branches only for rare cases */
static inline void heapDecode(HeapInput input, uint64_t *pool, uint64_t *align, HeapPlan plan, LogEvent event)
{
  *pool = heapWord(event, plan->pool);
  input->addr = heapWord(event, plan->addr);
  input->old = heapWord(event, plan->old) & plan->oldMask;
  input->site = heapWord(event, plan->site) & plan->siteMask;
  input->size = heapWord(event, plan->size);
  *align = UNLIKELY(plan->does == HeapDoesALIGNED) ? heapWord(event, plan->align) : 0;
}

/* heapDecodeAny -- the same from any writer */
static void heapDecodeAny(HeapInput input, uint64_t *pool, uint64_t *align, HeapPlan plan, LogEvent event)
{
#define WORD(i) (plan->param[i] < 0 ? 0 : LogEventWord(event, (Index)plan->param[i]))
  *pool = WORD(HeapParamPOOL);
  input->addr = WORD(plan->does == HeapDoesBEGIN ? HeapParamOLD : HeapParamADDR);
  input->old = WORD(HeapParamOLD);
  input->site = WORD(HeapPlanSite(plan)) & plan->siteMask;
  input->size = WORD(HeapParamSIZE);
  *align = plan->does == HeapDoesALIGNED ? WORD(HeapParamALIGN) : 0;
#undef WORD
}

/* heapObject -- an event on an object: into the queue, until the processor has fetched what it will need */
static inline void heapObject(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapInput input = &heap->queue[heap->in % HeapQUEUE].input;
  uint64_t pool, align;

  if (UNLIKELY(heap->in - heap->fetched == HeapQUEUE / 2))
    heapBatch(heap);
  if (LIKELY(plan->plain))
    heapDecode(input, &pool, &align, plan, event);
  else
    heapDecodeAny(input, &pool, &align, plan, event);
  input->site |= HeapSiteOf(event->process->number) & plan->stackMask;
  input->time = event->time;
  input->kind = plan->kind;
  input->zero = plan->does == HeapDoesZERO;
  input->align = LIKELY(align == 0) ? 0 : (uint8_t)(63 - __builtin_clzll(align));
  input->pool = heapPoolOf(process, pool);
  input->thread = thread;
  input->mark = heap->mark;
  if (UNLIKELY(input->pool == NULL)) {
    heap->res = ResMEMORY;
    return;
  }
  /* Address 0 is no object: a failed allocation, or a free of NULL. */
  if (UNLIKELY(input->addr == 0 && (input->kind != HeapInEND || input->old == 0)))
    return;
  heap->queue[heap->in++ % HeapQUEUE].order = &process->order;
  if (UNLIKELY(process->child != 0)) {
    HeapCatchUp(heap); /* the child's queued events come before the fork's */
    HeapForkSee(heap, process, input);
  }
  if (heap->prompt)
    HeapCatchUp(heap);
}

/* heapFirst -- the event is the first of its process, or the first after a seeming end, or of a new type */
static Bool heapFirst(Heap heap, HeapProcess process, LogEvent event)
{
  HeapThread thread;

  if (!HeapProcessRegistry(heap, process, event->process) || (thread = heapThreadOf(process, event)) == NULL) {
    heap->res = ResMEMORY;
    return FALSE;
  }
  if (!process->met || process->ended)
    HeapProcessMeet(heap, process, thread, event->time);
  return TRUE;
}

void HeapEvent(Heap heap, LogEvent event)
{
  HeapProcess process;
  HeapThread thread;
  Index type = event->type->number;
  HeapPlan plan;

  if (UNLIKELY(heap->res != ResOK))
    return; /* the client would get operations that contradict those that are missing */
  if (UNLIKELY(event->time >= heap->times.due))
    HeapUntil(heap, event->time);
  process = HeapProcessOf(heap, event->process->number);
  if (UNLIKELY(process == NULL)) {
    heap->res = ResMEMORY;
    return;
  }
  if (UNLIKELY(process->registry != event->process->registry || type >= process->seen.types || process->ended) &&
      !heapFirst(heap, process, event))
    return;
  if (UNLIKELY((thread = heapThreadOf(process, event)) == NULL)) {
    heap->res = ResMEMORY;
    return;
  }
  plan = &process->plans[type];
  if (UNLIKELY(process->seen.counts[type]++ == 0)) {
    if (!plan->made)
      HeapPlanMake(plan, event->type, event->process->header.widths.swapped);
    if (plan->does >= HeapDoesALLOC && plan->does <= HeapDoesLIVE) {
      ++heap->objectTypes;
      if (!LogEventUnsent(event))
        (void)HeapOffBegins(heap, process, event->time);
    }
  }
  if (UNLIKELY(LogEventUnsent(event)))
    HeapOffUnsent(heap, process, event->time);
  if (UNLIKELY(plan->does >= HeapDoesTHREAD))
    heapProcesses(heap, process, thread, plan, event);
  else if (UNLIKELY(plan->does >= HeapDoesPOOLCREATE))
    heapRare(heap, process, thread, plan, event);
  else if (UNLIKELY(plan->does >= HeapDoesSTATEBEGIN))
    heapState(heap, process, thread, plan, event);
  else if (LIKELY(plan->does >= HeapDoesALLOC))
    heapObject(heap, process, thread, plan, event);
}

void HeapMark(Heap heap, uint32_t mark)
{
  heap->mark = mark;
}

void HeapPrompt(Heap heap)
{
  heap->prompt = TRUE;
}

Res HeapSettle(Heap heap)
{
  Index i;

  for (i = 0; i < heap->count; ++i) {
    HeapProcess process = heap->place[i].process;
    if (process == NULL)
      continue;
    HeapProcessSettle(process);
    if (process->order.res != ResOK)
      heap->res = process->order.res;
  }
  AVER(heap->in == heap->out && (heap->res != ResOK || HeapCheck(heap)));
  return heap->res;
}
