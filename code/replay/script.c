/* script.c -- what a process did to its heap, as a script that can be run again: its memory, the compiler, its file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/logfile.h"

enum {
  ScriptWaitedSIZE = 8     /* threads of which a thread remembers how far it has waited for them */
};

#define ScriptNONE UINT32_MAX

/* A growing array of `size`-byte things. */
typedef struct ScriptTableStruct {
  void *base;
  Count count, capacity;
} ScriptTableStruct, *ScriptTable;

typedef struct ScriptSlotStruct {
  uint32_t next;   /* among free ones */
  uint32_t thread; /* that gave it its address; of a free one, nothing */
  uint64_t epoch;  /* in which that was, or in which it was freed */
  uint64_t done;   /* how many operations of that thread must be done */
} ScriptSlotStruct;

typedef struct ScriptListStruct {
  ScriptThreadStruct public;
  uint64_t epoch;             /* that it entered last, + 1; 0 for none */
  uint64_t time;              /* of its last TIME */
  uint32_t stack;             /* freed slots, the newest first */
  Count stacked;
  struct {
    uint32_t thread;
    uint64_t done;
  } waited[ScriptWaitedSIZE];
  Count count;                /* operations in `ops` */
  ScriptOp ops;               /* ScriptChunkOPS of them */
} ScriptListStruct, *ScriptList;

typedef struct ScriptPlacedStruct {  /* a chunk that has been written */
  uint32_t thread;
  ScriptChunkStruct chunk;
} ScriptPlacedStruct;

struct ScriptStruct {
  int fd;
  Bool merged;
  uint64_t tick;                 /* ns between two TIME operations; 0 for none */
  Res res;
  int error;                     /* errno of ResIO */
  uint64_t offset;               /* bytes written */
  uint64_t first;                /* time of the first operation; 0 before it */
  uint64_t bytes, objects;       /* live */
  uint64_t inEpoch;              /* operations in the newest epoch */
  ScriptHeaderStruct header;
  ScriptTableStruct threads;                /* ScriptList */
  ScriptTableStruct chunks;                 /* ScriptPlacedStruct */
  ScriptTableStruct epochs;                 /* ScriptEpochStruct */
  ScriptTableStruct pools, params, arenas;  /* as in the file */
  ScriptTableStruct poolNumbers;            /* uint32_t: by the heap's number, script's + 1 */
  ScriptTableStruct arenaAddrs;             /* uint64_t: of each arena; 0 for one that is gone */
  ScriptTableStruct slots;                  /* ScriptSlotStruct */
  ScriptTableStruct threadNumbers;          /* uint32_t: by the heap's number, script's + 1 */
  uint32_t queueHead, queueTail; /* free slots for all, the oldest first */
};

#define scriptTableAt(table, type, i) (&((type *)(table).base)[i])

/* scriptTableAdd -- one more thing of `size` bytes, zeroed; NULL without memory, which the script remembers */
static void *scriptTableAdd(Script script, ScriptTable table, Size size)
{
  void *new;

  if (!Grow(&table->base, &table->capacity, table->count, size)) {
    script->res = ResMEMORY;
    return NULL;
  }
  new = (char *)table->base + table->count++ * size;
  memset(new, 0, size);
  return new;
}

/* scriptTemporary -- a file without a name.  Not in memory if that can be helped: it may be larger. */
static int scriptTemporary(void)
{
  const char *folder = getenv("TMPDIR");
  int fd;

  if (folder == NULL || *folder == '\0')
    folder = "/tmp";
  fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    char path[4096];
    snprintf(path, sizeof path, "%s/replay-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
      unlink(path);
  }
  return fd >= 0 ? fd : memfd_create("replay", MFD_CLOEXEC);
}

Res ScriptCreate(Script *scriptReturn, Bool merged, uint64_t tick)
{
  Script script = calloc(1, sizeof *script);

  if (script == NULL)
    return ResMEMORY;
  script->fd = scriptTemporary();
  if (script->fd < 0) {
    free(script);
    return ResIO;
  }
  script->merged = merged;
  script->tick = tick;
  script->queueHead = script->queueTail = ScriptNONE;
  *scriptReturn = script;
  return ResOK;
}

void ScriptDestroy(Script script)
{
  ScriptTable tables[] = {&script->threads, &script->chunks, &script->epochs, &script->pools, &script->params,
                          &script->arenas, &script->poolNumbers, &script->arenaAddrs, &script->slots,
                          &script->threadNumbers};
  Index i;

  for (i = 0; i < script->threads.count; ++i) {
    ScriptList thread = *scriptTableAt(script->threads, ScriptList, i);
    free(thread->ops);
    free(thread);
  }
  for (i = 0; i < ARRAY_LENGTH(tables); ++i)
    free(tables[i]->base);
  close(script->fd);
  free(script);
}

ScriptHeader ScriptHeaderOf(Script script)
{
  return &script->header;
}

int ScriptFile(Script script)
{
  return script->fd;
}

/* The file */

static void scriptWrite(Script script, const void *data, Size size)
{
  if (script->res != ResOK)
    return;
  script->res = FileWriteAt(script->fd, script->offset, data, size);
  if (script->res == ResOK)
    script->offset += size;
  else
    script->error = errno;
}

/* scriptFlush -- write what the list `number` has as a chunk */
static void scriptFlush(Script script, ScriptList thread, Index number)
{
  ScriptPlacedStruct *placed;

  if (thread->count == 0)
    return;
  placed = scriptTableAdd(script, &script->chunks, sizeof *placed);
  if (placed == NULL)
    return;
  placed->thread = (uint32_t)number;
  placed->chunk.offset = script->offset;
  placed->chunk.count = thread->count;
  ++thread->public.chunks;
  scriptWrite(script, thread->ops, thread->count * sizeof *thread->ops);
  thread->count = 0;
}

/* Tables */

/* scriptChunks -- each thread's chunks in one run */
static void scriptChunks(Script script)
{
  ScriptChunkStruct *sorted = malloc((script->chunks.count + 1) * sizeof *sorted);
  uint64_t next = 0;
  Index i;

  if (sorted == NULL) {
    script->res = ResMEMORY;
    return;
  }
  for (i = 0; i < script->threads.count; ++i) {
    ScriptList thread = *scriptTableAt(script->threads, ScriptList, i);
    thread->public.chunk = next;
    next += thread->public.chunks;
    thread->public.chunks = 0;
  }
  for (i = 0; i < script->chunks.count; ++i) {
    ScriptPlacedStruct *placed = scriptTableAt(script->chunks, ScriptPlacedStruct, i);
    ScriptList thread = *scriptTableAt(script->threads, ScriptList, placed->thread);
    sorted[thread->public.chunk + thread->public.chunks++] = placed->chunk;
  }
  script->header.chunks = script->chunks.count;
  script->header.chunkTable = script->offset;
  scriptWrite(script, sorted, script->chunks.count * sizeof *sorted);
  free(sorted);
}

static void scriptTable(Script script, uint64_t *count, uint64_t *place, ScriptTable table, Size size)
{
  *count = table->count;
  *place = script->offset;
  scriptWrite(script, table->base, table->count * size);
}

Res ScriptFinish(Script script)
{
  ScriptHeader header = &script->header;
  Index i;

  /* The last epoch may have been opened behind something that stood alone, for nobody. */
  if (script->epochs.count > 0 &&
      scriptTableAt(script->epochs, ScriptEpochStruct, script->epochs.count - 1)->threads == 0)
    --script->epochs.count;
  for (i = 0; i < script->threads.count; ++i)
    scriptFlush(script, *scriptTableAt(script->threads, ScriptList, i), i);
  scriptChunks(script);
  header->threads = script->threads.count;
  header->threadTable = script->offset;
  for (i = 0; i < script->threads.count; ++i) {
    ScriptList thread = *scriptTableAt(script->threads, ScriptList, i);
    scriptWrite(script, &thread->public, sizeof thread->public);
  }
  scriptTable(script, &header->epochs, &header->epochTable, &script->epochs, sizeof(ScriptEpochStruct));
  scriptTable(script, &header->pools, &header->poolTable, &script->pools, sizeof(ScriptPoolStruct));
  scriptTable(script, &header->params, &header->paramTable, &script->params, sizeof(ScriptParamStruct));
  scriptTable(script, &header->arenas, &header->arenaTable, &script->arenas, sizeof(ScriptArenaStruct));
  header->operations = header->allocs + header->frees + header->resizes + header->drops;
  scriptWrite(script, header, sizeof *header);
  if (script->res == ResIO)
    errno = script->error;
  return script->res;
}

enum {
  scriptStackMAX = 64   /* freed slots that a thread keeps for itself; the rest is for all, two epochs later */
};

/* scriptEmit -- room for one operation at the end of the thread's list */
static inline ScriptOp scriptEmit(Script script, ScriptList thread, Index number)
{
  if (UNLIKELY(thread->count == ScriptChunkOPS)) {
    scriptFlush(script, thread, number);
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
  ScriptList *place = scriptTableAdd(script, &script->threads, sizeof *place), thread;

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
    if (scriptTableAdd(script, &script->threadNumbers, sizeof *number) == NULL)
      return ScriptNONE;
  }
  number = scriptTableAt(script->threadNumbers, uint32_t, i);
  if (UNLIKELY(*number == 0))
    *number = scriptThreadNew(script, heapThread) + 1;
  return *number - 1;
}

/* Epochs */

static void scriptEpoch(Script script, uint32_t lag)
{
  ScriptEpochStruct *epoch = NULL;

  if (script->epochs.count > 0)
    epoch = scriptTableAt(script->epochs, ScriptEpochStruct, script->epochs.count - 1);
  if (epoch == NULL || epoch->threads > 0)
    epoch = scriptTableAdd(script, &script->epochs, sizeof *epoch);
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
    ++scriptTableAt(script->epochs, ScriptEpochStruct, epoch)->threads;
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
    thread->stack = scriptTableAt(script->slots, ScriptSlotStruct, i)->next;
    --thread->stacked;
    return i;
  }
  i = script->queueHead;
  if (i != ScriptNONE && scriptTableAt(script->slots, ScriptSlotStruct, i)->epoch + 2 < script->epochs.count) {
    script->queueHead = scriptTableAt(script->slots, ScriptSlotStruct, i)->next;
    return i;
  }
  if (script->slots.count == ScriptNONE) {
    script->res = ResLIMIT;
    return ScriptNONE;
  }
  if (scriptTableAdd(script, &script->slots, sizeof(ScriptSlotStruct)) == NULL)
    return ScriptNONE;
  script->header.slots = script->slots.count;
  return (uint32_t)script->slots.count - 1;
}

static void scriptSlotFree(Script script, ScriptList thread, uint32_t i)
{
  ScriptSlotStruct *slot = scriptTableAt(script->slots, ScriptSlotStruct, i);

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
    scriptTableAt(script->slots, ScriptSlotStruct, script->queueTail)->next = i;
  script->queueTail = i;
}

/* Pools and arenas */

static uint64_t scriptArena(Script script, uint64_t addr)
{
  Index i;

  for (i = script->arenaAddrs.count; addr != 0 && i > 0; --i) {
    if (*scriptTableAt(script->arenaAddrs, uint64_t, i - 1) == addr)
      return i;
  }
  return 0;
}

static void scriptArenaAdd(Script script, uint64_t addr, uint64_t size)
{
  uint64_t *place = scriptTableAdd(script, &script->arenaAddrs, sizeof *place);
  ScriptArenaStruct *arena = scriptTableAdd(script, &script->arenas, sizeof *arena);

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
    if (scriptTableAdd(script, &script->poolNumbers, sizeof(uint32_t)) == NULL)
      return NULL;
  }
  return scriptTableAt(script->poolNumbers, uint32_t, pool->number);
}

static void scriptPoolDescribe(Script script, HeapPool heapPool, uint32_t number)
{
  ScriptPoolStruct *pool = scriptTableAt(script->pools, ScriptPoolStruct, number);

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
        scriptTableAdd(script, &script->pools, sizeof(ScriptPoolStruct)) == NULL) {
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
  ScriptPoolStruct *owner = scriptTableAt(script->pools, ScriptPoolStruct, pool);
  ScriptParamStruct *param;
  Size length = operation->nameLength < ScriptNameMAX ? operation->nameLength : ScriptNameMAX - 1;

  /* They follow the pool's creation, so that a pool's stand together; one that comes late is left out. */
  if (owner->params != 0 && owner->param + owner->params != script->params.count)
    return;
  param = scriptTableAdd(script, &script->params, sizeof *param);
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
    *scriptTableAt(script->arenaAddrs, uint64_t, arena - 1) = 0;
}

static void scriptRare(Script script, HeapOperation operation, uint32_t number)
{
  ScriptList thread = *scriptTableAt(script->threads, ScriptList, number);

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
  ScriptList thread = *scriptTableAt(script->threads, ScriptList, number);
  uint32_t pool = scriptPool(script, thread, number, operation->pool);
  uint32_t slot = operation->kind == HeapALLOC ? scriptSlotNew(script, thread) : operation->object->client;
  ScriptSlotStruct *state;
  ScriptOp op;

  if (slot == ScriptNONE)
    return;
  operation->object->client = slot;
  state = scriptTableAt(script->slots, ScriptSlotStruct, slot);
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
