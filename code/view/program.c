/* program.c -- what a process did to its heap, as a program that can be run again
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/aver.h"

enum {
  programStackMAX = 64,     /* freed slots that a thread keeps for itself; the rest is for all, two epochs later */
  programWaitedSIZE = 8,    /* threads of which a thread remembers how far it has waited for them */
  programTimeMIN = 20000    /* ns between two TIME operations of a thread */
};

#define programNONE UINT32_MAX

/* A growing array of `size`-byte things. */
typedef struct tableStruct {
  void *base;
  Count count, capacity;
} tableStruct, *Table;

typedef struct slotStruct {
  uint32_t next;   /* among free ones */
  uint32_t thread; /* that gave it its address; of a free one, nothing */
  uint64_t epoch;  /* in which that was, or in which it was freed */
  uint64_t done;   /* how many operations of that thread must be done */
} slotStruct;

typedef struct threadStruct {
  ProgramThreadStruct public;
  Index process, number;      /* the heap's */
  uint64_t epoch;             /* that it entered last, + 1; 0 for none */
  uint64_t time;              /* of its last TIME */
  uint32_t stack;             /* freed slots, the newest first */
  Count stacked;
  struct {
    uint32_t thread;
    uint64_t done;
  } waited[programWaitedSIZE];
  Count count;                /* operations in `ops` */
  ProgramOp ops;              /* ProgramChunkOPS of them */
} threadStruct, *Thread;

typedef struct placedStruct {  /* a chunk that has been written */
  uint32_t thread;
  ProgramChunkStruct chunk;
} placedStruct;

struct ProgramStruct {
  int fd;
  Bool merged, timed;
  Res res;
  int error;                     /* errno of ResIO */
  uint64_t offset;               /* bytes written */
  uint64_t first;                /* time of the first operation; 0 before it */
  uint64_t bytes, objects;       /* live */
  uint64_t inEpoch;              /* operations in the newest epoch */
  ProgramHeaderStruct header;
  tableStruct threads;           /* Thread */
  tableStruct chunks;            /* placedStruct */
  tableStruct epochs;            /* ProgramEpochStruct */
  tableStruct pools, params, arenas; /* as in the file */
  tableStruct poolNumbers;       /* uint32_t: by the heap's number, program's + 1 */
  tableStruct arenaAddrs;        /* uint64_t: of each arena; 0 for one that is gone */
  tableStruct slots;             /* slotStruct */
  tableStruct threadNumbers;     /* uint32_t: by the heap's number, program's + 1 */
  uint32_t queueHead, queueTail; /* free slots for all, the oldest first */
};

/* tableAdd -- one more, zeroed; NULL without memory */
static void *tableAdd(Program program, Table table, Size size)
{
  void *new;

  if (table->count == table->capacity) {
    Count capacity = table->capacity == 0 ? 16 : table->capacity * 2;
    void *base = realloc(table->base, capacity * size);
    if (base == NULL) {
      program->res = ResMEMORY;
      return NULL;
    }
    table->base = base;
    table->capacity = capacity;
  }
  new = (char *)table->base + table->count++ * size;
  memset(new, 0, size);
  return new;
}

#define tableAt(table, type, i) (&((type *)(table).base)[i])

/* programTemporary -- a file without a name.  Not in memory if that can be helped: it may be larger. */
static int programTemporary(void)
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

Res ProgramCreate(Program *programReturn, Bool merged, Bool timed)
{
  Program program = calloc(1, sizeof *program);

  if (program == NULL)
    return ResMEMORY;
  program->fd = programTemporary();
  if (program->fd < 0) {
    free(program);
    return ResIO;
  }
  program->merged = merged;
  program->timed = timed;
  program->queueHead = program->queueTail = programNONE;
  *programReturn = program;
  return ResOK;
}

void ProgramDestroy(Program program)
{
  Index i;

  for (i = 0; i < program->threads.count; ++i) {
    Thread thread = *tableAt(program->threads, Thread, i);
    free(thread->ops);
    free(thread);
  }
  free(program->threads.base);
  free(program->chunks.base);
  free(program->epochs.base);
  free(program->pools.base);
  free(program->params.base);
  free(program->arenas.base);
  free(program->poolNumbers.base);
  free(program->arenaAddrs.base);
  free(program->slots.base);
  free(program->threadNumbers.base);
  close(program->fd);
  free(program);
}

ProgramHeader ProgramHeaderOf(Program program)
{
  return &program->header;
}

int ProgramFile(Program program)
{
  return program->fd;
}

/* The file */

static void programWrite(Program program, const void *data, Size size)
{
  const char *p = data;

  while (size > 0 && program->res == ResOK) {
    ssize_t n = pwrite(program->fd, p, size, (off_t)program->offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      program->res = ResIO;
      program->error = n < 0 ? errno : ENOSPC;
      return;
    }
    p += n;
    size -= (Size)n;
    program->offset += (uint64_t)n;
  }
}

static void programFlush(Program program, Thread thread, Index number)
{
  placedStruct *placed;

  if (thread->count == 0)
    return;
  placed = tableAdd(program, &program->chunks, sizeof *placed);
  if (placed == NULL)
    return;
  placed->thread = (uint32_t)number;
  placed->chunk.offset = program->offset;
  placed->chunk.count = thread->count;
  ++thread->public.chunks;
  programWrite(program, thread->ops, thread->count * sizeof *thread->ops);
  thread->count = 0;
}

/* programEmit -- room for one operation at the end of the thread's list */
static inline ProgramOp programEmit(Program program, Thread thread, Index number)
{
  if (UNLIKELY(thread->count == ProgramChunkOPS)) {
    programFlush(program, thread, number);
    if (program->res != ResOK)
      thread->count = 0; /* nobody will read it */
  }
  ++thread->public.count;
  return &thread->ops[thread->count++];
}

/* programSync -- an operation that is none on an object */
static void programSync(Program program, Thread thread, Index number, ProgramKind kind, uint32_t slot, uint64_t size)
{
  ProgramOp op = programEmit(program, thread, number);

  memset(op, 0, sizeof *op);
  op->kind = (uint32_t)kind & 15;
  op->slot = slot;
  op->size = size;
}

/* Threads */

/* programThreadNew -- the list of a thread that is met for the first time; its number, or programNONE */
static uint32_t programThreadNew(Program program, HeapThread heapThread)
{
  Thread *place = tableAdd(program, &program->threads, sizeof *place), thread;

  if (place == NULL)
    return programNONE;
  *place = thread = calloc(1, sizeof *thread);
  if (thread == NULL || (thread->ops = malloc(ProgramChunkOPS * sizeof *thread->ops)) == NULL) {
    --program->threads.count;
    free(thread);
    program->res = ResMEMORY;
    return programNONE;
  }
  thread->stack = programNONE;
  thread->public.id = heapThread->id;
  thread->public.epoch = program->epochs.count == 0 ? 0 : program->epochs.count - 1;
  memset(thread->waited, 0xff, sizeof thread->waited);
  return (uint32_t)program->threads.count - 1;
}

static uint32_t programThread(Program program, HeapThread heapThread)
{
  Index i = program->merged ? 0 : heapThread->number;
  uint32_t *number;

  while (UNLIKELY(program->threadNumbers.count <= i)) {
    if (tableAdd(program, &program->threadNumbers, sizeof *number) == NULL)
      return programNONE;
  }
  number = tableAt(program->threadNumbers, uint32_t, i);
  if (UNLIKELY(*number == 0))
    *number = programThreadNew(program, heapThread) + 1;
  return *number - 1;
}

/* Epochs */

static void programEpoch(Program program, uint32_t lag)
{
  ProgramEpochStruct *epoch = NULL;

  if (program->epochs.count > 0)
    epoch = tableAt(program->epochs, ProgramEpochStruct, program->epochs.count - 1);
  if (epoch == NULL || epoch->threads > 0)
    epoch = tableAdd(program, &program->epochs, sizeof *epoch);
  if (epoch != NULL)
    epoch->lag = lag;
  program->inEpoch = 0;
}

/* programEnter -- the thread is about to do something: in the newest epoch */
static inline void programEnter(Program program, Thread thread, Index number)
{
  if (program->merged)
    return;
  if (program->inEpoch >= ProgramEpochOPS || program->epochs.count == 0)
    programEpoch(program, 2);
  ++program->inEpoch;
  if (thread->epoch != program->epochs.count) {
    uint64_t epoch = program->epochs.count - 1;
    if (program->epochs.count == 0)
      return; /* no memory */
    programSync(program, thread, number, ProgramENTER, 0, epoch);
    if (thread->epoch == 0)
      thread->public.epoch = epoch;
    thread->epoch = epoch + 1;
    ++tableAt(program->epochs, ProgramEpochStruct, epoch)->threads;
  }
}

/* programWait -- the slot's address comes from another thread, and no epoch has made sure of it */
static void programWait(Program program, Thread thread, Index number, slotStruct *slot)
{
  Index i = slot->thread % programWaitedSIZE;

  ++program->header.crossings;
  if (slot->epoch + 2 < program->epochs.count)
    return;
  if (thread->waited[i].thread == slot->thread && thread->waited[i].done >= slot->done)
    return;
  thread->waited[i].thread = slot->thread;
  thread->waited[i].done = slot->done;
  programSync(program, thread, number, ProgramWAIT, slot->thread, slot->done);
}

static void programTime(Program program, Thread thread, Index number, uint64_t time)
{
  if (program->first == 0)
    program->first = time;
  if (time - program->first > program->header.span)
    program->header.span = time - program->first;
  if (!program->timed || time - thread->time < programTimeMIN)
    return;
  thread->time = time;
  programSync(program, thread, number, ProgramTIME, 0, time - program->first);
}

/* Slots */

static uint32_t programSlotNew(Program program, Thread thread)
{
  uint32_t i = thread->stack;

  if (i != programNONE) {
    thread->stack = tableAt(program->slots, slotStruct, i)->next;
    --thread->stacked;
    return i;
  }
  i = program->queueHead;
  if (i != programNONE && tableAt(program->slots, slotStruct, i)->epoch + 2 < program->epochs.count) {
    program->queueHead = tableAt(program->slots, slotStruct, i)->next;
    return i;
  }
  if (program->slots.count == programNONE) {
    program->res = ResLIMIT;
    return programNONE;
  }
  if (tableAdd(program, &program->slots, sizeof(slotStruct)) == NULL)
    return programNONE;
  program->header.slots = program->slots.count;
  return (uint32_t)program->slots.count - 1;
}

static void programSlotFree(Program program, Thread thread, uint32_t i)
{
  slotStruct *slot = tableAt(program->slots, slotStruct, i);

  if (program->merged || thread->stacked < programStackMAX) {
    slot->next = thread->stack;
    thread->stack = i;
    ++thread->stacked;
    return;
  }
  slot->next = programNONE;
  slot->epoch = program->epochs.count - 1;
  if (program->queueHead == programNONE)
    program->queueHead = i;
  else
    tableAt(program->slots, slotStruct, program->queueTail)->next = i;
  program->queueTail = i;
}

/* Pools and arenas */

static uint64_t programArena(Program program, uint64_t addr)
{
  Index i;

  for (i = program->arenaAddrs.count; addr != 0 && i > 0; --i) {
    if (*tableAt(program->arenaAddrs, uint64_t, i - 1) == addr)
      return i;
  }
  return 0;
}

static void programArenaAdd(Program program, uint64_t addr, uint64_t size)
{
  uint64_t *place = tableAdd(program, &program->arenaAddrs, sizeof *place);
  ProgramArenaStruct *arena = tableAdd(program, &program->arenas, sizeof *arena);

  if (place == NULL || arena == NULL)
    return;
  *place = addr;
  arena->size = size;
}

/* programAlone -- emit an operation that no other thread's may overtake, either way */
static void programAlone(Program program, Thread thread, Index number, ProgramKind kind, uint32_t pool)
{
  ProgramOp op;

  if (!program->merged)
    programEpoch(program, 1);
  programEnter(program, thread, number);
  op = programEmit(program, thread, number);
  memset(op, 0, sizeof *op);
  op->kind = (uint32_t)kind & 15;
  op->pool = pool & (ProgramPoolsMAX - 1);
  if (!program->merged)
    programEpoch(program, 1);
}

static uint32_t *programPoolPlace(Program program, HeapPool pool)
{
  while (program->poolNumbers.count <= pool->number) {
    if (tableAdd(program, &program->poolNumbers, sizeof(uint32_t)) == NULL)
      return NULL;
  }
  return tableAt(program->poolNumbers, uint32_t, pool->number);
}

static void programPoolDescribe(Program program, HeapPool heapPool, uint32_t number)
{
  ProgramPoolStruct *pool = tableAt(program->pools, ProgramPoolStruct, number);

  _Static_assert((int)HeapClassMAX <= (int)ProgramNameMAX, "a class fits");
  strcpy(pool->class, heapPool->class);
  pool->arena = programArena(program, heapPool->arena);
}

/* programPool -- the program's number of a pool; one met for the first time is created first, recorded or not */
static uint32_t programPool(Program program, Thread thread, Index number, HeapPool heapPool)
{
  uint32_t *place = programPoolPlace(program, heapPool);

  if (place == NULL)
    return 0;
  if (UNLIKELY(*place == 0)) {
    if (program->pools.count == ProgramPoolsMAX || tableAdd(program, &program->pools, sizeof(ProgramPoolStruct)) == NULL) {
      program->res = program->res != ResOK ? program->res : ResLIMIT;
      return 0;
    }
    *place = (uint32_t)program->pools.count;
    programPoolDescribe(program, heapPool, *place - 1);
    programAlone(program, thread, number, ProgramPOOLCREATE, *place - 1);
  }
  return *place - 1;
}

static void programParam(Program program, uint32_t pool, HeapOperation operation)
{
  ProgramPoolStruct *owner = tableAt(program->pools, ProgramPoolStruct, pool);
  ProgramParamStruct *param;
  Size length = operation->nameLength < ProgramNameMAX ? operation->nameLength : ProgramNameMAX - 1;

  /* They follow the pool's creation, so that a pool's stand together; one that comes late is left out. */
  if (owner->params != 0 && owner->param + owner->params != program->params.count)
    return;
  param = tableAdd(program, &program->params, sizeof *param);
  if (param == NULL)
    return;
  memcpy(param->name, operation->name, length);
  param->value = operation->size;
  if (owner->params++ == 0)
    owner->param = program->params.count - 1;
}

static void programRare(Program program, HeapOperation operation, uint32_t number)
{
  Thread thread = *tableAt(program->threads, Thread, number);
  uint64_t arena;

  switch (operation->kind) {
  case HeapPOOLCREATE:
    programPoolDescribe(program, operation->pool, programPool(program, thread, number, operation->pool));
    break;
  case HeapPOOLPARAM:
    programParam(program, programPool(program, thread, number, operation->pool), operation);
    break;
  case HeapPOOLDESTROY:
    programAlone(program, thread, number, ProgramPOOLDESTROY, programPool(program, thread, number, operation->pool));
    break;
  case HeapARENACREATE:
    programArenaAdd(program, operation->addr, operation->size);
    break;
  default:
    AVER(operation->kind == HeapARENADESTROY);
    arena = programArena(program, operation->addr);
    if (arena != 0)
      *tableAt(program->arenaAddrs, uint64_t, arena - 1) = 0;
    break;
  }
}

/* Objects */

static void programGrow(Program program, uint64_t bytes)
{
  program->bytes += bytes;
  if (program->bytes > program->header.peakBytes)
    program->header.peakBytes = program->bytes;
}

static void programAlloc(Program program, HeapOperation operation, ProgramOp op)
{
  op->kind = operation->object->align != 0 ? ProgramALIGNED : operation->zero ? ProgramZERO : ProgramALLOC;
  op->align = operation->object->align;
  ++program->header.allocs;
  if (++program->objects > program->header.peakObjects)
    program->header.peakObjects = program->objects;
  programGrow(program, operation->size);
}

static void programFree(Program program, HeapOperation operation, ProgramOp op)
{
  op->kind = operation->destroyed ? ProgramDROP : ProgramFREE;
  op->align = 0;
  ++*(operation->destroyed ? &program->header.drops : &program->header.frees);
  --program->objects;
  program->bytes -= operation->size;
}

static void programObject(Program program, HeapOperation operation, uint32_t number)
{
  Thread thread = *tableAt(program->threads, Thread, number);
  uint32_t pool = programPool(program, thread, number, operation->pool);
  uint32_t slot = operation->kind == HeapALLOC ? programSlotNew(program, thread) : operation->object->client;
  slotStruct *state;
  ProgramOp op;

  if (slot == programNONE)
    return;
  operation->object->client = slot;
  state = tableAt(program->slots, slotStruct, slot);
  programTime(program, thread, number, operation->time);
  programEnter(program, thread, number);
  if (operation->kind != HeapALLOC && state->thread != number)
    programWait(program, thread, number, state);
  if (operation->kind == HeapRESIZE)
    programSync(program, thread, number, ProgramOLD, 0, operation->oldSize);
  op = programEmit(program, thread, number);
  op->slot = slot;
  op->pool = pool & (ProgramPoolsMAX - 1);
  op->size = operation->size;
  if (operation->size > program->header.largest)
    program->header.largest = operation->size;
  state->thread = number;
  state->epoch = program->epochs.count - 1;
  state->done = thread->public.count;
  if (operation->kind == HeapALLOC) {
    programAlloc(program, operation, op);
  } else if (operation->kind == HeapFREE) {
    programFree(program, operation, op);
    programSlotFree(program, thread, slot);
  } else {
    op->kind = ProgramRESIZE;
    op->align = 0;
    ++program->header.resizes;
    program->bytes -= operation->oldSize;
    programGrow(program, operation->size);
  }
}

void ProgramAdd(Program program, HeapOperation operation)
{
  uint32_t number;

  if (program->res != ResOK || operation->kind == HeapRESIZEBEGIN || operation->kind == HeapRESIZEFAIL)
    return;
  number = programThread(program, operation->thread);
  if (number == programNONE)
    return;
  if (operation->kind <= HeapRESIZE)
    programObject(program, operation, number);
  else
    programRare(program, operation, number);
}

/* Tables */

/* programChunks -- each thread's chunks in one run */
static void programChunks(Program program)
{
  ProgramChunkStruct *sorted = malloc((program->chunks.count + 1) * sizeof *sorted);
  uint64_t next = 0;
  Index i;

  if (sorted == NULL) {
    program->res = ResMEMORY;
    return;
  }
  for (i = 0; i < program->threads.count; ++i) {
    Thread thread = *tableAt(program->threads, Thread, i);
    thread->public.chunk = next;
    next += thread->public.chunks;
    thread->public.chunks = 0;
  }
  for (i = 0; i < program->chunks.count; ++i) {
    placedStruct *placed = tableAt(program->chunks, placedStruct, i);
    Thread thread = *tableAt(program->threads, Thread, placed->thread);
    sorted[thread->public.chunk + thread->public.chunks++] = placed->chunk;
  }
  program->header.chunks = program->chunks.count;
  program->header.chunkTable = program->offset;
  programWrite(program, sorted, program->chunks.count * sizeof *sorted);
  free(sorted);
}

static void programTable(Program program, uint64_t *count, uint64_t *place, Table table, Size size)
{
  *count = table->count;
  *place = program->offset;
  programWrite(program, table->base, table->count * size);
}

Res ProgramFinish(Program program)
{
  ProgramHeader header = &program->header;
  Index i;

  /* The last epoch may have been opened behind something that stood alone, for nobody. */
  if (program->epochs.count > 0 && tableAt(program->epochs, ProgramEpochStruct, program->epochs.count - 1)->threads == 0)
    --program->epochs.count;
  for (i = 0; i < program->threads.count; ++i)
    programFlush(program, *tableAt(program->threads, Thread, i), i);
  programChunks(program);
  header->threads = program->threads.count;
  header->threadTable = program->offset;
  for (i = 0; i < program->threads.count; ++i) {
    Thread thread = *tableAt(program->threads, Thread, i);
    programWrite(program, &thread->public, sizeof thread->public);
  }
  programTable(program, &header->epochs, &header->epochTable, &program->epochs, sizeof(ProgramEpochStruct));
  programTable(program, &header->pools, &header->poolTable, &program->pools, sizeof(ProgramPoolStruct));
  programTable(program, &header->params, &header->paramTable, &program->params, sizeof(ProgramParamStruct));
  programTable(program, &header->arenas, &header->arenaTable, &program->arenas, sizeof(ProgramArenaStruct));
  header->operations = header->allocs + header->frees + header->resizes + header->drops;
  programWrite(program, header, sizeof *header);
  if (program->res == ResIO)
    errno = program->error;
  return program->res;
}
