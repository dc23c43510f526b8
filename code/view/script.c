/* script.c -- what a process did to its heap, as a script that can be run again: the compiler
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "scriptdata.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"

enum {
  scriptStackMAX = 64   /* freed slots that a thread keeps for itself; the rest is for all, two epochs later */
};

/* scriptEmit -- room for one operation at the end of the thread's list */
static inline ScriptOp scriptEmit(Script script, ScriptList thread, Index number)
{
  if (UNLIKELY(thread->count == ScriptChunkOPS)) {
    ScriptFlush(script, thread, number);
    if (script->res != ResOK)
      thread->count = 0; /* nobody will read it */
  }
  ++thread->public.count;
  return &thread->ops[thread->count++];
}

/* scriptSync -- an operation that is none on an object */
static void scriptSync(Script script, ScriptList thread, Index number, ScriptKind kind, uint32_t slot, uint64_t size)
{
  ScriptOp op = scriptEmit(script, thread, number);

  memset(op, 0, sizeof *op);
  op->kind = (uint32_t)kind & 15;
  op->slot = slot;
  op->size = size;
}

/* Threads */

/* scriptThreadNew -- the list of a thread that is met for the first time; its number, or ScriptNONE */
static uint32_t scriptThreadNew(Script script, HeapThread heapThread)
{
  ScriptList *place = ScriptTableAdd(script, &script->threads, sizeof *place), thread;

  if (place == NULL)
    return ScriptNONE;
  *place = thread = calloc(1, sizeof *thread);
  if (thread == NULL || (thread->ops = malloc(ScriptChunkOPS * sizeof *thread->ops)) == NULL) {
    --script->threads.count;
    free(thread);
    script->res = ResMEMORY;
    return ScriptNONE;
  }
  thread->stack = ScriptNONE;
  thread->public.id = heapThread->id;
  thread->public.epoch = script->epochs.count == 0 ? 0 : script->epochs.count - 1;
  memset(thread->waited, 0xff, sizeof thread->waited);
  return (uint32_t)script->threads.count - 1;
}

static uint32_t scriptThread(Script script, HeapThread heapThread)
{
  Index i = script->merged ? 0 : heapThread->number;
  uint32_t *number;

  while (UNLIKELY(script->threadNumbers.count <= i)) {
    if (ScriptTableAdd(script, &script->threadNumbers, sizeof *number) == NULL)
      return ScriptNONE;
  }
  number = ScriptTableAt(script->threadNumbers, uint32_t, i);
  if (UNLIKELY(*number == 0))
    *number = scriptThreadNew(script, heapThread) + 1;
  return *number - 1;
}

/* Epochs */

static void scriptEpoch(Script script, uint32_t lag)
{
  ScriptEpochStruct *epoch = NULL;

  if (script->epochs.count > 0)
    epoch = ScriptTableAt(script->epochs, ScriptEpochStruct, script->epochs.count - 1);
  if (epoch == NULL || epoch->threads > 0)
    epoch = ScriptTableAdd(script, &script->epochs, sizeof *epoch);
  if (epoch != NULL)
    epoch->lag = lag;
  script->inEpoch = 0;
}

/* scriptEnter -- the thread is about to do something: in the newest epoch */
static inline void scriptEnter(Script script, ScriptList thread, Index number)
{
  if (script->merged)
    return;
  if (script->inEpoch >= ScriptEpochOPS || script->epochs.count == 0)
    scriptEpoch(script, 2);
  ++script->inEpoch;
  if (thread->epoch != script->epochs.count) {
    uint64_t epoch = script->epochs.count - 1;
    if (script->epochs.count == 0)
      return; /* no memory */
    scriptSync(script, thread, number, ScriptENTER, 0, epoch);
    if (thread->epoch == 0)
      thread->public.epoch = epoch;
    thread->epoch = epoch + 1;
    ++ScriptTableAt(script->epochs, ScriptEpochStruct, epoch)->threads;
  }
}

/* scriptWait -- the slot's address comes from another thread, and no epoch has made sure of it */
static void scriptWait(Script script, ScriptList thread, Index number, ScriptSlotStruct *slot)
{
  Index i = slot->thread % ScriptWaitedSIZE;

  ++script->header.crossings;
  if (slot->epoch + 2 < script->epochs.count)
    return;
  if (thread->waited[i].thread == slot->thread && thread->waited[i].done >= slot->done)
    return;
  thread->waited[i].thread = slot->thread;
  thread->waited[i].done = slot->done;
  scriptSync(script, thread, number, ScriptWAIT, slot->thread, slot->done);
}

static void scriptTime(Script script, ScriptList thread, Index number, uint64_t time)
{
  if (script->first == 0)
    script->first = time;
  if (time - script->first > script->header.span)
    script->header.span = time - script->first;
  if (script->tick == 0 || time - thread->time < script->tick)
    return;
  thread->time = time;
  scriptSync(script, thread, number, ScriptTIME, 0, time - script->first);
}

/* Slots */

static uint32_t scriptSlotNew(Script script, ScriptList thread)
{
  uint32_t i = thread->stack;

  if (i != ScriptNONE) {
    thread->stack = ScriptTableAt(script->slots, ScriptSlotStruct, i)->next;
    --thread->stacked;
    return i;
  }
  i = script->queueHead;
  if (i != ScriptNONE && ScriptTableAt(script->slots, ScriptSlotStruct, i)->epoch + 2 < script->epochs.count) {
    script->queueHead = ScriptTableAt(script->slots, ScriptSlotStruct, i)->next;
    return i;
  }
  if (script->slots.count == ScriptNONE) {
    script->res = ResLIMIT;
    return ScriptNONE;
  }
  if (ScriptTableAdd(script, &script->slots, sizeof(ScriptSlotStruct)) == NULL)
    return ScriptNONE;
  script->header.slots = script->slots.count;
  return (uint32_t)script->slots.count - 1;
}

static void scriptSlotFree(Script script, ScriptList thread, uint32_t i)
{
  ScriptSlotStruct *slot = ScriptTableAt(script->slots, ScriptSlotStruct, i);

  if (script->merged || thread->stacked < scriptStackMAX) {
    slot->next = thread->stack;
    thread->stack = i;
    ++thread->stacked;
    return;
  }
  slot->next = ScriptNONE;
  slot->epoch = script->epochs.count - 1;
  if (script->queueHead == ScriptNONE)
    script->queueHead = i;
  else
    ScriptTableAt(script->slots, ScriptSlotStruct, script->queueTail)->next = i;
  script->queueTail = i;
}

/* Pools and arenas */

static uint64_t scriptArena(Script script, uint64_t addr)
{
  Index i;

  for (i = script->arenaAddrs.count; addr != 0 && i > 0; --i) {
    if (*ScriptTableAt(script->arenaAddrs, uint64_t, i - 1) == addr)
      return i;
  }
  return 0;
}

static void scriptArenaAdd(Script script, uint64_t addr, uint64_t size)
{
  uint64_t *place = ScriptTableAdd(script, &script->arenaAddrs, sizeof *place);
  ScriptArenaStruct *arena = ScriptTableAdd(script, &script->arenas, sizeof *arena);

  if (place == NULL || arena == NULL)
    return;
  *place = addr;
  arena->size = size;
}

/* scriptAlone -- emit an operation that no other thread's may overtake, either way */
static void scriptAlone(Script script, ScriptList thread, Index number, ScriptKind kind, uint32_t pool)
{
  ScriptOp op;

  if (!script->merged)
    scriptEpoch(script, 1);
  scriptEnter(script, thread, number);
  op = scriptEmit(script, thread, number);
  memset(op, 0, sizeof *op);
  op->kind = (uint32_t)kind & 15;
  op->pool = pool & (ScriptPoolsMAX - 1);
  if (!script->merged)
    scriptEpoch(script, 1);
}

static uint32_t *scriptPoolPlace(Script script, HeapPool pool)
{
  while (script->poolNumbers.count <= pool->number) {
    if (ScriptTableAdd(script, &script->poolNumbers, sizeof(uint32_t)) == NULL)
      return NULL;
  }
  return ScriptTableAt(script->poolNumbers, uint32_t, pool->number);
}

static void scriptPoolDescribe(Script script, HeapPool heapPool, uint32_t number)
{
  ScriptPoolStruct *pool = ScriptTableAt(script->pools, ScriptPoolStruct, number);

  _Static_assert((int)HeapClassMAX <= (int)ScriptNameMAX, "a class fits");
  strcpy(pool->class, heapPool->class);
  pool->arena = scriptArena(script, heapPool->arena);
}

/* scriptPool -- the script's number of a pool; one met for the first time is created first, recorded or not */
static uint32_t scriptPool(Script script, ScriptList thread, Index number, HeapPool heapPool)
{
  uint32_t *place = scriptPoolPlace(script, heapPool);

  if (place == NULL)
    return 0;
  if (UNLIKELY(*place == 0)) {
    if (script->pools.count == ScriptPoolsMAX ||
        ScriptTableAdd(script, &script->pools, sizeof(ScriptPoolStruct)) == NULL) {
      script->res = script->res != ResOK ? script->res : ResLIMIT;
      return 0;
    }
    *place = (uint32_t)script->pools.count;
    scriptPoolDescribe(script, heapPool, *place - 1);
    scriptAlone(script, thread, number, ScriptPOOLCREATE, *place - 1);
  }
  return *place - 1;
}

static void scriptParam(Script script, uint32_t pool, HeapOperation operation)
{
  ScriptPoolStruct *owner = ScriptTableAt(script->pools, ScriptPoolStruct, pool);
  ScriptParamStruct *param;
  Size length = operation->nameLength < ScriptNameMAX ? operation->nameLength : ScriptNameMAX - 1;

  /* They follow the pool's creation, so that a pool's stand together; one that comes late is left out. */
  if (owner->params != 0 && owner->param + owner->params != script->params.count)
    return;
  param = ScriptTableAdd(script, &script->params, sizeof *param);
  if (param == NULL)
    return;
  memcpy(param->name, operation->name, length);
  param->value = operation->size;
  if (owner->params++ == 0)
    owner->param = script->params.count - 1;
}

/* scriptArenaOperation -- no thread's */
static void scriptArenaOperation(Script script, HeapOperation operation)
{
  uint64_t arena;

  if (operation->kind == HeapARENACREATE) {
    scriptArenaAdd(script, operation->addr, operation->size);
    return;
  }
  AVER(operation->kind == HeapARENADESTROY);
  arena = scriptArena(script, operation->addr);
  if (arena != 0)
    *ScriptTableAt(script->arenaAddrs, uint64_t, arena - 1) = 0;
}

static void scriptRare(Script script, HeapOperation operation, uint32_t number)
{
  ScriptList thread = *ScriptTableAt(script->threads, ScriptList, number);

  /* Threads are started in the order of their lists: each begins in an epoch no earlier than the one before it. */
  scriptEnter(script, thread, number);
  switch (operation->kind) {
  case HeapPOOLCREATE:
    scriptPoolDescribe(script, operation->pool, scriptPool(script, thread, number, operation->pool));
    break;
  case HeapPOOLPARAM:
    scriptParam(script, scriptPool(script, thread, number, operation->pool), operation);
    break;
  default:
    AVER(operation->kind == HeapPOOLDESTROY);
    scriptAlone(script, thread, number, ScriptPOOLDESTROY, scriptPool(script, thread, number, operation->pool));
    break;
  }
}

/* Objects */

static void scriptGrow(Script script, uint64_t bytes)
{
  script->bytes += bytes;
  if (script->bytes > script->header.peakBytes)
    script->header.peakBytes = script->bytes;
}

static void scriptAlloc(Script script, HeapOperation operation, ScriptOp op)
{
  op->kind = operation->object->align != 0 ? ScriptALIGNED : operation->zero ? ScriptZERO : ScriptALLOC;
  op->align = operation->object->align;
  ++script->header.allocs;
  if (++script->objects > script->header.peakObjects)
    script->header.peakObjects = script->objects;
  scriptGrow(script, operation->object->size);
}

static void scriptFree(Script script, HeapOperation operation, ScriptOp op)
{
  op->kind = operation->destroyed ? ScriptDROP : ScriptFREE;
  op->align = 0;
  ++*(operation->destroyed ? &script->header.drops : &script->header.frees);
  --script->objects;
  script->bytes -= operation->object->size;
}

static void scriptObject(Script script, HeapOperation operation, uint32_t number)
{
  ScriptList thread = *ScriptTableAt(script->threads, ScriptList, number);
  uint32_t pool = scriptPool(script, thread, number, operation->pool);
  uint32_t slot = operation->kind == HeapALLOC ? scriptSlotNew(script, thread) : operation->object->client;
  ScriptSlotStruct *state;
  ScriptOp op;

  if (slot == ScriptNONE)
    return;
  operation->object->client = slot;
  state = ScriptTableAt(script->slots, ScriptSlotStruct, slot);
  scriptTime(script, thread, number, operation->time);
  scriptEnter(script, thread, number);
  if (operation->kind != HeapALLOC && state->thread != number)
    scriptWait(script, thread, number, state);
  if (operation->kind == HeapRESIZE)
    scriptSync(script, thread, number, ScriptOLD, 0, operation->oldSize);
  op = scriptEmit(script, thread, number);
  op->slot = slot;
  op->pool = pool & (ScriptPoolsMAX - 1);
  op->size = operation->object->size;
  if (operation->object->size > script->header.largest)
    script->header.largest = operation->object->size;
  state->thread = number;
  state->epoch = script->epochs.count - 1;
  state->done = thread->public.count;
  if (operation->kind == HeapALLOC) {
    scriptAlloc(script, operation, op);
  } else if (operation->kind == HeapFREE) {
    scriptFree(script, operation, op);
    scriptSlotFree(script, thread, slot);
  } else {
    op->kind = ScriptRESIZE;
    op->align = 0;
    ++script->header.resizes;
    script->bytes -= operation->oldSize;
    scriptGrow(script, operation->object->size);
  }
}

void ScriptAdd(Script script, HeapOperation operation)
{
  uint32_t number;

  if (script->res != ResOK || operation->kind >= HeapPROCESSBEGIN || (operation->kind >= HeapRESIZEFAIL && operation->kind <= HeapRESIZEPAST) ||
      operation->kind == HeapRESIZEBEGIN)
    return;
  if (operation->kind >= HeapARENACREATE) {
    scriptArenaOperation(script, operation);
    return;
  }
  number = scriptThread(script, operation->thread);
  if (number == ScriptNONE)
    return;
  if (operation->kind <= HeapRESIZE)
    scriptObject(script, operation, number);
  else
    scriptRare(script, operation, number);
}
