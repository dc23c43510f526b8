/* heap.c -- from the events of a log to the inputs of heaporder.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For each process and type that is met, a plan is made once (heapplan.h).
 */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include "view/heapdata.h"
#include "view/heapstate.h"

Res HeapCreate(Heap *heapReturn, HeapClient client)
{
  Heap heap = calloc(1, sizeof *heap);

  if (heap == NULL)
    return ResMEMORY;
  heap->client = *client;
  *heapReturn = heap;
  return ResOK;
}

static void heapPoolsFree(HeapPool pool)
{
  while (pool != NULL) {
    HeapPool next = pool->next;
    HeapTableFinish(&pool->table);
    free(pool);
    pool = next;
  }
}

static void heapProcessFree(HeapProcess process)
{
  Index i;

  for (i = 0; i < HeapBUCKETS; ++i) {
    HeapThread thread = process->thread[i];
    heapPoolsFree(process->pool[i]);
    while (thread != NULL) {
      HeapThread next = thread->next;
      free(thread);
      thread = next;
    }
  }
  heapPoolsFree(process->dead);
  HeapTableFinish(&process->arenas);
  HeapOrderFinish(&process->order);
  free(process->counts);
  free(process);
}

void HeapClear(Heap heap)
{
  Index i;

  for (i = 0; i < heap->count; ++i) {
    if (heap->process[i] != NULL)
      heapProcessFree(heap->process[i]);
  }
  free(heap->process);
  heap->process = NULL;
  heap->count = heap->objectTypes = 0;
  heap->res = ResOK;
}

void HeapDestroy(Heap heap)
{
  HeapClear(heap);
  free(heap);
}

Bool HeapWants(EventType type)
{
  HeapPlanStruct plan;

  return HeapPlanMake(&plan, type, FALSE);
}

static HeapProcess heapProcessNew(Heap heap, Index number)
{
  HeapProcess process = calloc(1, sizeof *process);

  if (process == NULL)
    return NULL;
  process->counts = calloc(RegistryTypesMAX, sizeof *process->counts);
  if (process->counts == NULL || HeapTableInit(&process->arenas) != ResOK) {
    free(process->counts);
    free(process);
    return NULL;
  }
  HeapOrderInit(&process->order, number, &heap->client);
  return process;
}

HeapProcess HeapProcessOf(Heap heap, Index number)
{
  if (UNLIKELY(number >= heap->count)) {
    Count count = number + 8;
    HeapProcess *grown = realloc(heap->process, count * sizeof *grown);
    if (grown == NULL)
      return NULL;
    memset(grown + heap->count, 0, (count - heap->count) * sizeof *grown);
    heap->process = grown;
    heap->count = count;
  }
  if (UNLIKELY(heap->process[number] == NULL))
    heap->process[number] = heapProcessNew(heap, number);
  return heap->process[number];
}

/* Threads and pools */

HeapThread *HeapThreadBucket(HeapProcess process, uint32_t serial, uint32_t id)
{
  return &process->thread[(serial ^ id) % HeapBUCKETS];
}

/* heapThreadNew -- the thread that the event's stream belongs to.  The writer numbers its threads, and a stream's
 * number begins with the thread's, so that a number that the system gave out again is another thread. */
static HeapThread heapThreadNew(HeapProcess process, LogEvent event)
{
  uint32_t serial = event->stream >> 5;
  HeapThread *bucket = HeapThreadBucket(process, serial, event->thread), thread;

  for (thread = *bucket; thread != NULL; thread = thread->next) {
    if (thread->serial == serial && thread->id == event->thread)
      return thread;
  }
  thread = calloc(1, sizeof *thread);
  if (thread != NULL) {
    thread->number = process->threads++;
    thread->id = event->thread;
    thread->serial = serial;
    thread->next = *bucket;
    *bucket = thread;
  }
  return thread;
}

static inline HeapThread heapThreadOf(HeapProcess process, LogEvent event)
{
  Index i = (event->stream >> 5) % HeapRECENT;

  if (UNLIKELY(process->recent[i].thread == NULL || process->recent[i].stream != event->stream ||
               process->recent[i].thread->id != event->thread)) {
    process->recent[i].stream = event->stream;
    process->recent[i].thread = heapThreadNew(process, event);
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

void HeapDrain(HeapProcess process)
{
  while (process->out != process->in)
    HeapOrderEvent(&process->order, &process->queue[process->out++ % HeapQUEUE]);
}

/* heapState -- an event of a process that tells what it already has */
static void heapState(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapPool pool;
  Index i;

  HeapDrain(process);
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
  HeapStateBegin(&process->order, event->time);
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = process->pool[i]; pool != NULL; pool = pool->next)
      HeapStatePool(pool);
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      HeapStateThread(&process->order, thread);
  }
}

/* heapRepeated -- is this the creation of an arena or a pool that is there, told once more, or a parameter of one? */
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
  HeapObject place = HeapTableSeek(&process->arenas, operation->addr);

  if (operation->kind == HeapARENADESTROY) {
    if (place->addr != 0)
      HeapTableDelete(&process->arenas, place);
  } else if (operation->addr != 0) {
    place = HeapTableInsert(&process->arenas, place, operation->addr);
    if (place == NULL) {
      heap->res = ResMEMORY;
      return;
    }
    place->size = operation->size < HeapSizeMAX ? operation->size : HeapSizeMAX;
    place->client = operation->grain < UINT32_MAX ? (uint32_t)operation->grain : UINT32_MAX;
    place->time = operation->time;
    place->thread = 0;
    place->align = place->told = place->stale = 0;
  }
}

/* heapSegment -- a pool gets or gives back memory of its arena; of what it had at first nobody may have told */
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

/* heapPool -- an event on a pool: what it says of it */
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
    HeapOrderDestroy(&process->order, pool, operation->thread, event->time);
    while (*link != pool)
      link = &(*link)->next;
    *link = pool->next;
    pool->next = process->dead;
    process->dead = pool;
    process->lastPool = NULL;
    operation->kind = HeapPOOLDESTROY;
  }
}

/* heapRare -- an event on a pool or an arena: these wait for what is queued, and are told at once */
static void heapRare(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapOperationStruct operation = {.process = event->process->number, .thread = thread};
  uint64_t word[HeapParamLIMIT] = {0};
  Index i;

  for (i = 0; i < HeapParamLIMIT; ++i) {
    if (plan->param[i] >= 0 && i != HeapParamCLASS && i != HeapParamNAME)
      word[i] = LogEventWord(event, (Index)plan->param[i]);
  }
  if (heapRepeated(process, plan, event))
    return;
  if (plan->does >= HeapDoesSEGALLOC) {
    heapSegment(heap, process, plan, event);
    return;
  }
  HeapDrain(process);
  HeapOrderSettle(&process->order);
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

static inline uint64_t heapWord(LogEvent event, uint16_t offset)
{
  uint64_t word;

  memcpy(&word, event->bytes + offset, sizeof word);
  return word;
}

/* heapDecode -- the event's parameters from a writer like us: no branches but for what is rare */
static inline void heapDecode(HeapInput input, uint64_t *pool, uint64_t *align, HeapPlan plan, LogEvent event)
{
  *pool = heapWord(event, plan->pool);
  input->addr = heapWord(event, plan->addr);
  input->old = heapWord(event, plan->old) & plan->oldMask;
  input->size = heapWord(event, plan->size);
  *align = UNLIKELY(plan->does == HeapDoesALIGNED) ? heapWord(event, plan->align) : 0;
}

/* heapDecodeAny -- the same from any writer */
static void heapDecodeAny(HeapInput input, uint64_t *pool, uint64_t *align, HeapPlan plan, LogEvent event)
{
#define WORD(i) (plan->param[i] < 0 ? 0 : LogEventWord(event, (Index)plan->param[i]))
  *pool = WORD(HeapParamPOOL);
  input->addr = WORD(plan->does == HeapDoesBEGIN ? HeapParamOLD : HeapParamADDR);
  input->old = WORD(HeapPlanOld(plan));
  input->size = WORD(HeapParamSIZE);
  *align = plan->does == HeapDoesALIGNED ? WORD(HeapParamALIGN) : 0;
#undef WORD
}

/* heapObject -- an event on an object: into the queue, while the processor fetches what it will need */
static inline void heapObject(Heap heap, HeapProcess process, HeapThread thread, HeapPlan plan, LogEvent event)
{
  HeapInput input = &process->queue[process->in % HeapQUEUE];
  uint64_t pool, align;

  if (UNLIKELY(process->in - process->out == HeapQUEUE))
    HeapOrderEvent(&process->order, &process->queue[process->out++ % HeapQUEUE]);
  if (LIKELY(plan->plain))
    heapDecode(input, &pool, &align, plan, event);
  else
    heapDecodeAny(input, &pool, &align, plan, event);
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
  /* Address 0 is no object: an allocation that failed, a free of nothing. */
  if (UNLIKELY(input->addr == 0 && (input->kind != HeapInEND || input->old == 0)))
    return;
  HeapTableTouch(&input->pool->table, input->addr);
  ++process->in;
  if (heap->prompt)
    HeapDrain(process);
}

void HeapEvent(Heap heap, LogEvent event)
{
  HeapProcess process = HeapProcessOf(heap, event->process->number);
  HeapThread thread;
  Index type;
  HeapPlan plan;

  if (UNLIKELY(process == NULL || (thread = heapThreadOf(process, event)) == NULL)) {
    heap->res = ResMEMORY;
    return;
  }
  type = (Index)(event->type - event->process->registry->types);
  plan = &process->plans[type];
  if (UNLIKELY(process->counts[type]++ == 0 || !plan->made)) {
    HeapPlanMake(plan, event->type, event->process->header.widths.swapped);
    if (process->counts[type] == 1 && plan->does >= HeapDoesALLOC && plan->does <= HeapDoesLIVE)
      ++heap->objectTypes;
  }
  if (UNLIKELY(plan->does >= HeapDoesPOOLCREATE))
    heapRare(heap, process, thread, plan, event);
  else if (UNLIKELY(plan->does >= HeapDoesSTATEBEGIN))
    heapState(heap, process, thread, plan, event);
  else if (LIKELY(plan->does != HeapDoesNOTHING))
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

void HeapCatchUp(Heap heap, Index number)
{
  if (number < heap->count && heap->process[number] != NULL)
    HeapDrain(heap->process[number]);
}

Res HeapSettle(Heap heap)
{
  Index i, j;

  for (i = 0; i < heap->count; ++i) {
    HeapProcess process = heap->process[i];
    if (process == NULL)
      continue;
    HeapDrain(process);
    HeapOrderSettle(&process->order);
    for (j = 0; j < HeapBUCKETS; ++j) {
      HeapThread thread;
      for (thread = process->thread[j]; thread != NULL; thread = thread->next)
        HeapOrderAbandon(&process->order, thread);
    }
    if (process->order.res != ResOK)
      heap->res = process->order.res;
  }
  return heap->res;
}
