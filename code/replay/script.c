/* script.c -- what a process did to its heap, as a script that can be run again: compiled from operations, and its file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "replay/drift.h"
#include "replay/scripttables.h"

enum {
  scriptWaitedSIZE = 8, /* threads of which a thread remembers how far it has waited for them */
  scriptStackMAX = 64,  /* freed slots that a thread keeps for itself; the rest is for all, two epochs later */
  scriptDRIFT = 128,    /* in an epoch the order of threads is to change no more than this part of the bytes that live, */
  scriptDriftMIN = 64 << 10 /* or so many bytes */
};

#define scriptNONE UINT32_MAX

typedef struct ScriptSlotStruct {
  union {
    uint32_t next;  /* among free ones */
    uint32_t touch; /* of a large object: in the table of touches, + 1; else 0 */
  };
  uint32_t thread; /* that gave it its address; of a free one, nothing */
  uint64_t epoch;  /* in which that was, or in which it was freed */
  uint64_t done;   /* how many operations of that thread must be done */
} ScriptSlotStruct;

/* The operations of a thread. */
typedef struct ScriptListStruct {
  uint32_t number;
  ScriptThreadStruct public;
  uint64_t last;              /* the newest of its chunks, index + 1; 0 for none */
  uint64_t epoch;             /* that it entered last, + 1; 0 for none */
  uint64_t time;              /* of its last TIME */
  DriftThreadStruct drift;    /* in the newest epoch */
  uint32_t stack;             /* freed slots, the newest first */
  Count stacked;
  struct {
    uint32_t thread;
    uint64_t done;
  } waited[scriptWaitedSIZE];
  Count count;                /* operations in `ops`, not yet written */
  ScriptOpStruct ops[ScriptChunkOPS];
} ScriptListStruct, *ScriptList;

/* The tables of the compiler, behind those of the file. */
enum {
  scriptLISTS = ScriptTABLES, /* ScriptList, owned: of each thread */
  scriptTHREADNUMBERS,        /* uint32_t, by the heap's number of a thread: the script's + 1 */
  scriptPOOLNUMBERS,          /* the same of pools */
  scriptSLOTS,                /* ScriptSlotStruct */
  scriptTABLES
};

static const Size scriptSize[scriptTABLES] = {
  [ScriptCHUNKS] = sizeof(ScriptChunkStruct), [ScriptTHREADS] = sizeof(ScriptThreadStruct),
  [ScriptEPOCHS] = sizeof(ScriptEpochStruct), [ScriptPOOLS] = sizeof(ScriptPoolStruct),
  [ScriptPARAMS] = sizeof(ScriptParamStruct), [ScriptARENAS] = sizeof(ScriptArenaStruct),
  [ScriptTOUCHES] = sizeof(ScriptTouchStruct),
  [scriptLISTS] = sizeof(ScriptList),         [scriptTHREADNUMBERS] = sizeof(uint32_t),
  [scriptPOOLNUMBERS] = sizeof(uint32_t),     [scriptSLOTS] = sizeof(ScriptSlotStruct),
};

struct ScriptStruct {
  ScriptTablesStruct tables;
  Bool merged;
  uint64_t tick;                 /* ns between two TIME operations; 0 for none */
  Curve live;                    /* bytes that live, by time; NULL: nobody wants it */
  uint64_t bytes, objects;       /* live */
  uint64_t large, peakLarge;     /* bytes of large objects that live; at most */
  uint64_t inEpoch;              /* operations in the newest epoch */
  DriftStruct drift;             /* in it */
  uint32_t queueHead, queueTail; /* free slots for all threads, the oldest first */
  ScriptHeaderStruct header;
};

#define scriptCount(script, which)       ((script)->tables.table[which].count)
#define scriptAt(script, which, type, i) (&((type *)(script)->tables.table[which].base)[i])
#define scriptSlotAt(script, i)          scriptAt(script, scriptSLOTS, ScriptSlotStruct, i)
#define scriptListAt(script, i)          (*scriptAt(script, scriptLISTS, ScriptList, i))

static Bool scriptListCheck(Script script, Index i)
{
  ScriptList list = scriptListAt(script, i);
  uint32_t slot = list->stack;
  Count stacked = 0;

  for (; slot < scriptCount(script, scriptSLOTS) && stacked < list->stacked; slot = scriptSlotAt(script, slot)->next)
    ++stacked;
  return list->number == i && list->count <= ScriptChunkOPS && list->count <= list->public.count &&
         list->last <= scriptCount(script, ScriptCHUNKS) && (list->last == 0) == (list->public.chunk == 0) &&
         list->epoch <= scriptCount(script, ScriptEPOCHS) && stacked == list->stacked && slot == scriptNONE &&
         (script->merged || stacked <= scriptStackMAX);
}

Bool ScriptCheck(Script script)
{
  const ScriptHeaderStruct *header = &script->header;
  uint64_t operations = 0;
  Index i;

  for (i = 0; i < scriptCount(script, scriptLISTS); ++i) {
    if (!scriptListCheck(script, i))
      return FALSE;
    operations += scriptListAt(script, i)->public.count;
  }
  return script->tables.fd >= 0 && header->allocs + header->frees + header->resizes <= operations &&
         script->bytes <= header->peakBytes && script->objects <= header->peakObjects &&
         header->frees + script->objects == header->allocs &&
         (script->queueHead == scriptNONE || script->queueHead < scriptCount(script, scriptSLOTS));
}

Res ScriptCreate(Script *scriptReturn, Bool merged, uint64_t tick)
{
  Script script = calloc(1, sizeof *script);
  Res res;

  if (script == NULL)
    return ResMEMORY;
  res = ScriptTablesBegin(&script->tables, scriptSize, scriptTABLES);
  if (res != ResOK) {
    free(script);
    return res;
  }
  script->merged = merged;
  script->tick = tick;
  script->queueHead = scriptNONE;
  AVER(ScriptCheck(script));
  *scriptReturn = script;
  return ResOK;
}

void ScriptDestroy(Script script)
{
  Index i;

  AVER(ScriptCheck(script));
  for (i = 0; i < scriptCount(script, scriptLISTS); ++i)
    free(scriptListAt(script, i));
  ScriptTablesEnd(&script->tables);
  free(script);
}

const char *ScriptPoolClass(const char *recorded)
{
  static const char *const classes[][2] = {
    {"MFS", "MFS"}, {"MVFF", "MVFF"}, {"SGF", "SGF"}, {"AMS", "MVFF"}, {"MVFFDebug", "MVFF"}, {"SGFDebug", "SGF"}};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(classes); ++i)
    if (strcmp(recorded, classes[i][0]) == 0)
      return classes[i][1];
  return "SGF";
}

Bool ScriptHasPools(Script script, const char *class)
{
  Index i;

  for (i = 0; i < scriptCount(script, ScriptPOOLS); ++i)
    if (strcmp(ScriptPoolClass(scriptAt(script, ScriptPOOLS, ScriptPoolStruct, i)->class), class) == 0)
      return TRUE;
  return FALSE;
}

const char *ScriptRecordedClass(Script script, Index i)
{
  return i < scriptCount(script, ScriptPOOLS) ? scriptAt(script, ScriptPOOLS, ScriptPoolStruct, i)->class : NULL;
}

ScriptHeader ScriptHeaderOf(Script script)
{
  return &script->header;
}

void ScriptDraw(Script script, Curve curve)
{
  script->live = curve;
}

int ScriptFile(Script script)
{
  return script->tables.fd;
}

/* ---- The file ---- */

/* scriptFlush -- write the list's operations as a chunk */
static void scriptFlush(Script script, ScriptList list)
{
  ScriptChunkStruct *chunk = list->count > 0 ? ScriptTablesAdd(&script->tables, ScriptCHUNKS) : NULL;

  AVER(list->count <= ScriptChunkOPS);
  if (chunk != NULL) {
    uint64_t next = scriptCount(script, ScriptCHUNKS);
    *chunk = (ScriptChunkStruct){.offset = script->tables.offset, .count = list->count};
    if (list->last == 0)
      list->public.chunk = next;
    else
      scriptAt(script, ScriptCHUNKS, ScriptChunkStruct, list->last - 1)->next = next;
    list->last = next;
    ScriptTablesWrite(&script->tables, list->ops, list->count * sizeof list->ops[0]);
  }
  list->count = 0; /* without memory, too: the script has failed then, and is not read */
}

/* scriptUnknown -- how much of large objects may have been in memory, or not, at a time */
static void scriptUnknown(Script script)
{
  uint64_t unknown = 0;
  Index i;

  for (i = 0; i < scriptCount(script, ScriptTOUCHES) && unknown < script->peakLarge; ++i) {
    const ScriptTouchStruct *touch = scriptAt(script, ScriptTOUCHES, ScriptTouchStruct, i);
    unknown += touch->touched == ScriptTouchUNKNOWN ? touch->size : 0;
  }
  script->header.peakUnknown = unknown < script->peakLarge ? unknown : script->peakLarge;
}

Res ScriptFinish(Script script)
{
  ScriptHeader header = &script->header;
  Index i;

  AVER(ScriptCheck(script));
  /* The last epoch may have been opened behind an operation that stood alone, and no thread has entered it. */
  i = scriptCount(script, ScriptEPOCHS);
  if (i > 0 && scriptAt(script, ScriptEPOCHS, ScriptEpochStruct, i - 1)->threads == 0)
    --scriptCount(script, ScriptEPOCHS);
  for (i = 0; i < scriptCount(script, scriptLISTS); ++i) {
    ScriptThreadStruct *thread = ScriptTablesAdd(&script->tables, ScriptTHREADS);
    scriptFlush(script, scriptListAt(script, i));
    if (thread != NULL)
      *thread = scriptListAt(script, i)->public;
  }
  for (i = 0; i < ScriptTABLES; ++i) {
    header->table[i].offset = script->tables.offset;
    header->table[i].count = scriptCount(script, i);
    ScriptTablesWrite(&script->tables, script->tables.table[i].base, scriptCount(script, i) * scriptSize[i]);
  }
  scriptUnknown(script);
  header->slots = scriptCount(script, scriptSLOTS);
  header->operations = header->allocs + header->frees + header->resizes;
  ScriptTablesWrite(&script->tables, header, sizeof *header);
  if (script->tables.res == ResIO)
    errno = script->tables.error;
  return script->tables.res;
}

/* ---- Threads ---- */

/* scriptEmit -- one operation more at the end of the thread's list */
static inline void scriptEmit(Script script, ScriptList list, ScriptOpStruct op)
{
  if (UNLIKELY(list->count == ScriptChunkOPS))
    scriptFlush(script, list);
  ++list->public.count;
  list->ops[list->count++] = op;
}

/* scriptNumber -- the script's number + 1 for a thread or pool by the heap's number, 0 for a new one; NULL without
 * memory */
static uint32_t *scriptNumber(Script script, unsigned which, Index i)
{
  while (UNLIKELY(scriptCount(script, which) <= i))
    if (ScriptTablesAdd(&script->tables, which) == NULL)
      return NULL;
  return scriptAt(script, which, uint32_t, i);
}

/* scriptList -- the list of a thread; NULL without memory */
static ScriptList scriptList(Script script, Index thread)
{
  uint32_t *number = scriptNumber(script, scriptTHREADNUMBERS, script->merged ? 0 : thread);
  ScriptList list, *place;

  if (LIKELY(number != NULL && *number != 0))
    return scriptListAt(script, *number - 1);
  list = number != NULL ? calloc(1, sizeof *list) : NULL;
  place = list != NULL ? ScriptTablesAdd(&script->tables, scriptLISTS) : NULL;
  if (place == NULL) {
    free(list);
    script->tables.res = ResMEMORY;
    return NULL;
  }
  *place = list;
  *number = (uint32_t)scriptCount(script, scriptLISTS);
  list->number = *number - 1;
  list->stack = scriptNONE;
  list->public.epoch = scriptCount(script, ScriptEPOCHS) == 0 ? 0 : scriptCount(script, ScriptEPOCHS) - 1;
  memset(list->waited, 0xff, sizeof list->waited);
  return list;
}

/* ---- Epochs ---- */

static void scriptEpoch(Script script, uint32_t lag)
{
  Count epochs = scriptCount(script, ScriptEPOCHS);
  ScriptEpochStruct *epoch = epochs > 0 ? scriptAt(script, ScriptEPOCHS, ScriptEpochStruct, epochs - 1) : NULL;

  if (epoch == NULL || epoch->threads > 0)
    epoch = ScriptTablesAdd(&script->tables, ScriptEPOCHS);
  if (epoch != NULL)
    epoch->lag = lag;
  script->inEpoch = 0;
  DriftBegin(&script->drift);
}

/* scriptFull -- does the newest epoch end before the next operation?  Within two epochs threads may run in any order:
 * so it ends when, by that, the bytes that live could differ from those that were recorded. */
static inline Bool scriptFull(Script script)
{
  uint64_t differ = script->bytes / scriptDRIFT > scriptDriftMIN ? script->bytes / scriptDRIFT : scriptDriftMIN;

  return script->inEpoch >= ScriptEpochMIN &&
         (script->inEpoch >= ScriptEpochMAX || DriftBeyond(&script->drift, differ));
}

/* scriptEnter -- the thread is about to do something: in the newest epoch */
static inline void scriptEnter(Script script, ScriptList list)
{
  uint64_t epochs;

  if (script->merged)
    return;
  if (scriptFull(script) || scriptCount(script, ScriptEPOCHS) == 0)
    scriptEpoch(script, 2);
  ++script->inEpoch;
  epochs = scriptCount(script, ScriptEPOCHS);
  if (list->epoch == epochs || epochs == 0) /* 0: no memory */
    return;
  scriptEmit(script, list, (ScriptOpStruct){.kind = ScriptENTER, .size = epochs - 1});
  if (list->epoch == 0)
    list->public.epoch = epochs - 1;
  list->epoch = epochs;
  ++scriptAt(script, ScriptEPOCHS, ScriptEpochStruct, epochs - 1)->threads;
}

/* scriptWait -- the slot's address comes from another thread, and perhaps no epoch guarantees that it is there */
static void scriptWait(Script script, ScriptList list, ScriptSlotStruct *slot)
{
  Index i = slot->thread % scriptWaitedSIZE;

  ++script->header.crossings;
  if (slot->epoch + 2 < scriptCount(script, ScriptEPOCHS) ||
      (list->waited[i].thread == slot->thread && list->waited[i].done >= slot->done))
    return;
  list->waited[i].thread = slot->thread;
  list->waited[i].done = slot->done;
  scriptEmit(script, list, (ScriptOpStruct){.kind = ScriptWAIT, .slot = slot->thread, .size = slot->done});
}

static void scriptTime(Script script, ScriptList list, uint64_t time)
{
  if (script->header.first == 0)
    script->header.first = time;
  if (script->tick == 0 || time - list->time < script->tick)
    return;
  list->time = time;
  scriptEmit(script, list, (ScriptOpStruct){.kind = ScriptTIME, .size = time - script->header.first});
}

/* ---- Slots ---- */

static uint32_t scriptSlotNew(Script script, ScriptList list)
{
  uint32_t i = list->stack;

  if (i != scriptNONE) {
    list->stack = scriptSlotAt(script, i)->next;
    --list->stacked;
    return i;
  }
  i = script->queueHead;
  if (i != scriptNONE && scriptSlotAt(script, i)->epoch + 2 < scriptCount(script, ScriptEPOCHS)) {
    script->queueHead = scriptSlotAt(script, i)->next;
    return i;
  }
  if (scriptCount(script, scriptSLOTS) == scriptNONE) {
    script->tables.res = ResLIMIT;
    return scriptNONE;
  }
  return ScriptTablesAdd(&script->tables, scriptSLOTS) != NULL ? (uint32_t)scriptCount(script, scriptSLOTS) - 1 : scriptNONE;
}

static void scriptSlotFree(Script script, ScriptList list, uint32_t i)
{
  ScriptSlotStruct *slot = scriptSlotAt(script, i);

  if (script->merged || list->stacked < scriptStackMAX) {
    slot->next = list->stack;
    list->stack = i;
    ++list->stacked;
    return;
  }
  slot->next = scriptNONE;
  slot->epoch = scriptCount(script, ScriptEPOCHS) - 1;
  if (script->queueHead == scriptNONE)
    script->queueHead = i;
  else
    scriptSlotAt(script, script->queueTail)->next = i;
  script->queueTail = i;
}

/* ---- Pools and arenas ---- */

/* scriptArena -- the newest arena at this address, its number + 1; 0 for none */
static uint64_t scriptArena(Script script, uint64_t addr)
{
  Index i = addr != 0 ? scriptCount(script, ScriptARENAS) : 0;

  while (i > 0 && scriptAt(script, ScriptARENAS, ScriptArenaStruct, i - 1)->addr != addr)
    --i;
  return i;
}

/* scriptArenaOperation -- no thread's */
static void scriptArenaOperation(Script script, HeapOperation operation)
{
  uint64_t arena = scriptArena(script, operation->addr);

  if (operation->kind == HeapARENACREATE) {
    ScriptArenaStruct *new = ScriptTablesAdd(&script->tables, ScriptARENAS);
    if (new != NULL)
      *new = (ScriptArenaStruct){.size = operation->size, .addr = operation->addr};
  } else if (arena != 0) {
    scriptAt(script, ScriptARENAS, ScriptArenaStruct, arena - 1)->addr = 0;
  }
}

/* scriptAlone -- emit an operation that no other thread's may overtake, either way */
static void scriptAlone(Script script, ScriptList list, ScriptKind kind, uint32_t pool)
{
  if (!script->merged)
    scriptEpoch(script, 1);
  scriptEnter(script, list);
  scriptEmit(script, list, (ScriptOpStruct){.kind = kind, .pool = pool});
  if (!script->merged)
    scriptEpoch(script, 1);
}

static void scriptPoolDescribe(Script script, HeapPool heapPool, uint32_t number)
{
  ScriptPoolStruct *pool = scriptAt(script, ScriptPOOLS, ScriptPoolStruct, number);

  AVER(number < scriptCount(script, ScriptPOOLS));
  _Static_assert((int)HeapClassMAX <= (int)ScriptNameMAX, "a class fits");
  strcpy(pool->class, heapPool->class);
  pool->arena = scriptArena(script, heapPool->arena);
}

/* scriptPool -- the script's number of a pool; one met for the first time is created first, recorded or not.
 * scriptNONE: there are too many, or no memory, which the script remembers. */
static uint32_t scriptPool(Script script, ScriptList list, HeapPool heapPool)
{
  uint32_t *place = scriptNumber(script, scriptPOOLNUMBERS, heapPool->number), number;

  if (LIKELY(place != NULL && *place != 0))
    return *place - 1;
  if (place == NULL)
    return scriptNONE;
  if (scriptCount(script, ScriptPOOLS) == ScriptPoolsMAX) {
    script->tables.res = ResLIMIT;
    return scriptNONE;
  }
  if (ScriptTablesAdd(&script->tables, ScriptPOOLS) == NULL)
    return scriptNONE;
  *place = (uint32_t)scriptCount(script, ScriptPOOLS);
  number = *place - 1;
  scriptPoolDescribe(script, heapPool, number);
  scriptAlone(script, list, ScriptPOOLCREATE, number);
  return number;
}

static void scriptParam(Script script, uint32_t pool, HeapOperation operation)
{
  ScriptPoolStruct *owner = scriptAt(script, ScriptPOOLS, ScriptPoolStruct, pool);
  ScriptParamStruct *param;

  /* They follow the pool's creation, so that a pool's stand together; one that comes late is left out. */
  if (owner->params != 0 && owner->param + owner->params != scriptCount(script, ScriptPARAMS))
    return;
  param = ScriptTablesAdd(&script->tables, ScriptPARAMS);
  if (param == NULL)
    return;
  memcpy(param->name, operation->name,
         operation->nameLength < ScriptNameMAX ? operation->nameLength : ScriptNameMAX - 1);
  param->value = operation->size;
  if (owner->params++ == 0)
    owner->param = scriptCount(script, ScriptPARAMS) - 1;
}

static void scriptPoolOperation(Script script, ScriptList list, HeapOperation operation)
{
  uint32_t pool;

  /* Threads are started in the order of their lists: each begins in an epoch no earlier than the one before it. */
  scriptEnter(script, list);
  pool = scriptPool(script, list, operation->pool);
  if (pool == scriptNONE)
    return;
  if (operation->kind == HeapPOOLCREATE)
    scriptPoolDescribe(script, operation->pool, pool);
  else if (operation->kind == HeapPOOLPARAM)
    scriptParam(script, pool, operation);
  else
    scriptAlone(script, list, ScriptPOOLDESTROY, pool);
}

/* ---- Objects ---- */

static ScriptKind scriptKind(HeapOperation operation)
{
  if (operation->kind == HeapALLOC)
    return operation->object->align != 0 ? ScriptALIGNED : operation->zero ? ScriptZERO : ScriptALLOC;
  return operation->kind == HeapRESIZE ? ScriptRESIZE : operation->destroyed ? ScriptDROP : ScriptFREE;
}

/* scriptLarge -- the bytes of an object of this size that count as those of a large one */
static uint64_t scriptLarge(uint64_t size) { return size >= LargeSIZE ? size : 0; }

/* scriptSum -- the numbers of the header and of the epoch, with this operation of a thread */
static void scriptSum(Script script, ScriptList list, HeapOperation operation)
{
  ScriptHeader header = &script->header;
  uint64_t size = operation->object->size, bytes = script->bytes;

  if (operation->kind != HeapALLOC)
    script->large -= scriptLarge(operation->kind == HeapRESIZE ? operation->oldSize : size);
  if (operation->kind != HeapFREE)
    script->large += scriptLarge(size);
  if (script->large > script->peakLarge)
    script->peakLarge = script->large;

  if (operation->kind == HeapALLOC) {
    ++header->allocs;
    ++script->objects;
    script->bytes += size;
  } else if (operation->kind == HeapFREE) {
    ++header->frees;
    --script->objects;
    script->bytes -= size;
  } else {
    ++header->resizes;
    script->bytes += size - operation->oldSize;
  }
  DriftAdd(&script->drift, &list->drift, (int64_t)(script->bytes - bytes));
  if (script->objects > header->peakObjects)
    header->peakObjects = script->objects;
  if (script->bytes > header->peakBytes)
    header->peakBytes = script->bytes;
}

/* scriptTouch -- the object has this size from here on: how much of it is touched may become known */
static void scriptTouch(Script script, ScriptList list, uint32_t slot, uint64_t size)
{
  ScriptTouchStruct *touch = size >= LargeSIZE ? ScriptTablesAdd(&script->tables, ScriptTOUCHES) : NULL;
  uint64_t number = scriptCount(script, ScriptTOUCHES);

  scriptSlotAt(script, slot)->touch = 0;
  if (touch == NULL || number > UINT32_MAX)
    return;
  *touch = (ScriptTouchStruct){.size = size, .touched = ScriptTouchUNKNOWN};
  scriptSlotAt(script, slot)->touch = (uint32_t)number;
  scriptEmit(script, list, (ScriptOpStruct){.kind = ScriptTOUCH, .slot = slot, .size = number - 1});
}

/* scriptTouched -- so much of an object was in memory before its next operation */
static void scriptTouched(Script script, HeapOperation operation)
{
  uint32_t slot = operation->object->client;
  uint32_t touch = slot < scriptCount(script, scriptSLOTS) ? scriptSlotAt(script, slot)->touch : 0;
  ScriptTouchStruct *touched;

  if (touch == 0 || touch > scriptCount(script, ScriptTOUCHES))
    return;
  touched = scriptAt(script, ScriptTOUCHES, ScriptTouchStruct, touch - 1);
  touched->touched = operation->size < touched->size ? operation->size : touched->size;
}

static void scriptObject(Script script, ScriptList list, HeapOperation operation)
{
  HeapObject object = operation->object;
  uint32_t pool = scriptPool(script, list, operation->pool);
  uint32_t slot = operation->kind == HeapALLOC ? scriptSlotNew(script, list) : object->client;
  ScriptSlotStruct *state;

  if (pool == scriptNONE || slot == scriptNONE)
    return;
  object->client = slot;
  AVER(slot < scriptCount(script, scriptSLOTS));
  state = scriptSlotAt(script, slot);
  scriptTime(script, list, operation->time);
  scriptEnter(script, list);
  if (operation->kind != HeapALLOC && state->thread != list->number)
    scriptWait(script, list, state);
  if (operation->kind == HeapRESIZE)
    scriptEmit(script, list, (ScriptOpStruct){.kind = ScriptOLD, .size = operation->oldSize});
  scriptEmit(script, list, (ScriptOpStruct){.kind = scriptKind(operation), .slot = slot, .pool = pool,
                                            .size = object->size,
                                            .align = operation->kind == HeapALLOC ? object->align : 0});
  if (operation->kind != HeapFREE)
    scriptTouch(script, list, slot, object->size);
  scriptSum(script, list, operation);
  if (script->live != NULL && operation->time >= script->header.first)
    CurveChange(script->live, operation->time - script->header.first, script->bytes);
  state->thread = list->number;
  state->epoch = scriptCount(script, ScriptEPOCHS) - 1;
  state->done = list->public.count;
  if (operation->kind == HeapFREE)
    scriptSlotFree(script, list, slot);
}

void ScriptAdd(Script script, HeapOperation operation, Index thread)
{
  HeapOperationKind kind = operation->kind;
  ScriptList list;

  if (script->tables.res != ResOK)
    return;
  if (kind == HeapARENACREATE || kind == HeapARENADESTROY) {
    scriptArenaOperation(script, operation);
  } else if (kind == HeapALLOC || kind == HeapFREE || kind == HeapRESIZE) {
    list = scriptList(script, thread);
    if (list != NULL)
      scriptObject(script, list, operation);
  } else if (kind >= HeapPOOLCREATE && kind <= HeapPOOLDESTROY) {
    list = scriptList(script, thread);
    if (list != NULL)
      scriptPoolOperation(script, list, operation);
  } else if (kind == HeapTOUCH) {
    scriptTouched(script, operation);
  } /* else: the middle of a resize, and ends of processes, are not replayed */
}
