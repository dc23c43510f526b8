/* pawheap.c -- libpawlog: the live heap, for programs that read logs
 *
 * A heap is a state of the reader's (heap/heapat.h); operations and objects are copied into the structs of pawlog.h,
 * with sites and the system's numbers of threads in place of ours.
 *
 * Always true: of each process `thread` has the system's numbers of its threads, by ours, as far as anybody asked.
 *
 * Design: design/log.md .pawlog.heap      Tests: test/library/pawheaptest.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"
#include "heap/heapat.h"
#include "heap/heaplook.h"
#include "log/pawlog.h"
#include "request/frametable.h"

/* The system's numbers of a process's threads. */
typedef struct pawThreadsStruct {
  uint32_t *id; /* owned */
  Count count;
} pawThreadsStruct, *pawThreads;

struct PawHeapStruct {
  Log log;
  HeapAt state;
  PawOperationHook hook; /* or NULL */
  void *data;            /* for `hook` */
  PawOperation operation; /* handed to it */
  FrameTable frames;     /* of the log's stacks; NULL: nobody has asked */
  PawObject *objects;    /* owned: what PawHeapObjects gave */
  PawHeapCounts counts;  /* what PawHeapCount gave */
  pawThreads threads;    /* owned; by the number of a process */
  Count processes;
  uint64_t until;        /* no event at this time, or later, comes */
};

/* heapLearn -- the threads that a process has now; FALSE: no memory */
static Bool heapLearn(PawHeap heap, pawThreads threads, Index process)
{
  HeapThread *thread;
  Count count, i;
  uint32_t *id = NULL;

  if (HeapLookThreads(&thread, &count, heap->state->heap, process) != ResOK)
    return FALSE;
  if (count > threads->count && (id = reallocarray(threads->id, count, sizeof *id)) != NULL) {
    threads->id = id;
    for (i = threads->count; i < count; ++i)
      id[i] = thread[i] != NULL ? thread[i]->id : 0;
    threads->count = count;
  }
  free(thread);
  return id != NULL;
}

/* heapThread -- the system's number of a thread of a process; 0: unknown */
static uint32_t heapThread(PawHeap heap, Index process, uint32_t number)
{
  if (!GrowTo(&heap->threads, &heap->processes, process, sizeof *heap->threads))
    return 0;
  if (UNLIKELY(number >= heap->threads[process].count) && !heapLearn(heap, &heap->threads[process], process))
    return 0;
  return number < heap->threads[process].count ? heap->threads[process].id[number] : 0;
}

static void heapCopy(PawHeap heap, PawObject *to, Index process, HeapPool pool, HeapObject object)
{
  uint64_t site = HeapAtSite(heap->state, object);

  *to = (PawObject){
    .process = LogProcessAt(heap->log, process), .pool = pool->addr, .addr = object->addr, .size = object->size,
    .time = object->time, .site = HeapSiteIsStack(site) ? 0 : site, .stack = HeapSiteIsStack(site) ? site : 0,
    .thread = heapThread(heap, process, object->thread),
    .align = object->align == 0 ? 0 : object->align < 32 ? 1u << object->align : UINT32_MAX};
}

/* Operations */

static void heapTell(PawHeap heap, HeapOperation from, int kind, unsigned special)
{
  PawOperation *operation = &heap->operation;

  operation->kind = kind;
  operation->special = special;
  operation->time = from->time;
  operation->thread = from->thread != NULL ? from->thread->id : 0;
  heapCopy(heap, &operation->object, from->process, from->pool, from->object);
  heap->hook(heap->data, operation);
}

static inline unsigned heapBeside(HeapOperation from)
{
  return UNLIKELY(from->beside) ? PAW_BESIDE : 0;
}

static void heapAlloc(void *data, HeapOperation from)
{
  heapTell(data, from, PAW_ALLOC, heapBeside(from) | (UNLIKELY(from->told) ? PAW_TOLD : 0));
}

static void heapFree(void *data, HeapOperation from)
{
  heapTell(data, from, PAW_FREE, heapBeside(from) | (UNLIKELY(from->told) ? PAW_TOLD : 0) |
                                   (UNLIKELY(from->presumed || from->destroyed) ? PAW_PRESUMED : 0));
}

static void heapResize(void *data, HeapOperation from)
{
  PawHeap heap = data;

  heap->operation.oldAddr = from->oldAddr;
  heap->operation.oldSize = from->oldSize;
  heapTell(heap, from, PAW_RESIZE, heapBeside(from));
  heap->operation.oldAddr = heap->operation.oldSize = 0;
}

static void heapOther(void *data, HeapOperation from)
{
  PawHeap heap = data;

  if (from->kind == HeapRESIZEBEGIN) {
    heapTell(heap, from, PAW_MOVE, heapBeside(from));
  } else if (from->kind == HeapRESIZEFAIL) {
    heapTell(heap, from, PAW_RESIZE_FAIL, heapBeside(from));
  } else if (from->kind == HeapPROCESSEND) {
    heap->operation = (PawOperation){.kind = PAW_END, .time = from->time,
                                     .object = {.process = LogProcessAt(heap->log, from->process)}};
    heap->hook(heap->data, &heap->operation);
  }
}

/* Heaps */

/* heapUntil -- where a heap ends that is of what `only` is for */
static LogPositionStruct heapUntil(PawHeap heap, const PawRequest *only)
{
  LogPositionStruct end = LogPositionLAST;

  heap->until = only->to;
  if (only->to != UINT64_MAX)
    PawPositionOfTime(&end, heap->log, only->to);
  if (only->end != NULL && LogPositionCompare(only->end, &end) < 0)
    end = *only->end;
  return end;
}

int PawHeapCreate(PawHeap *heapReturn, PawLog log, const PawRequest *only, PawOperationHook operation, void *data)
{
  HeapClientStruct client = {.alloc = heapAlloc, .free = heapFree, .resize = heapResize, .other = heapOther,
                             .each = TRUE};
  static const LogRequestStruct all = LogRequestALL;
  LogRequestStruct part = only != NULL ? *only : all;
  LogPositionStruct end;
  PawHeap heap;

  if (part.size != sizeof part)
    return PAW_PARAM;
  heap = calloc(1, sizeof *heap);
  if (heap == NULL)
    return PAW_MEMORY;
  heap->log = log;
  heap->hook = operation;
  heap->data = data;
  client.data = heap;
  end = heapUntil(heap, &part);
  part.to = UINT64_MAX; /* `end` has it, and with no other bound there may be a check point */
  part.end = NULL;
  if (HeapAtCreate(&heap->state, log, &part, &end, operation != NULL ? &client : NULL) != ResOK) {
    free(heap);
    return PAW_MEMORY;
  }
  *heapReturn = heap;
  return PAW_OK;
}

void PawHeapDestroy(PawHeap heap)
{
  Index i;

  if (heap == NULL)
    return;
  HeapAtDestroy(heap->state);
  if (heap->frames != NULL)
    FrameTableDestroy(heap->frames);
  for (i = 0; i < heap->processes; ++i)
    free(heap->threads[i].id);
  free(heap->threads);
  free(heap->objects);
  free(heap);
}

PawRequest *PawHeapRequest(PawHeap heap)
{
  return &heap->state->request;
}

int PawHeapSettle(PawHeap heap)
{
  if (heap->until != UINT64_MAX)
    HeapUntil(heap->state->heap, heap->until);
  return (int)HeapSettle(heap->state->heap);
}

int PawHeapRead(PawHeap heap)
{
  int error = PawRead(heap->log, PawHeapRequest(heap));
  int settled = PawHeapSettle(heap);

  return error != PAW_OK ? error : settled;
}

/* heapPool -- append the objects of a pool, the oldest first; FALSE: no memory */
static Bool heapPool(PawHeap heap, Index process, HeapPool pool, Count *count)
{
  HeapObject objects;
  Count n, i;

  if (HeapTableSort(&objects, &n, &pool->table) != ResOK)
    return FALSE;
  for (i = 0; i < n; ++i)
    heapCopy(heap, &heap->objects[(*count)++], process, pool, &objects[i]);
  free(objects);
  return TRUE;
}

int PawHeapObjects(PawHeap heap, PawProcess process, const PawObject **objectsReturn, size_t *countReturn)
{
  HeapPool *pool;
  Count pools, room = 0, count = 0;
  Index i;
  Bool done = TRUE;

  HeapCatchUp(heap->state->heap);
  free(heap->objects);
  heap->objects = NULL;
  if (HeapLookPools(&pool, &pools, heap->state->heap, process->number) != ResOK)
    return PAW_MEMORY;
  for (i = 0; i < pools; ++i)
    room += pool[i]->table.count;
  heap->objects = calloc(room + 1, sizeof *heap->objects);
  for (i = 0; i < pools && heap->objects != NULL && done; ++i)
    done = heapPool(heap, process->number, pool[i], &count);
  free(pool);
  AVER(count <= room);
  if (heap->objects == NULL || !done)
    return PAW_MEMORY;
  *objectsReturn = heap->objects;
  *countReturn = count;
  return PAW_OK;
}

const PawHeapCounts *PawHeapCount(PawHeap heap, PawProcess process)
{
  HeapSeenStruct seen;

  HeapCatchUp(heap->state->heap);
  if (!HeapLook(&seen, heap->state->heap, process->number))
    return NULL;
  heap->counts = (PawHeapCounts){
    .objects = seen.sum.objects, .bytes = seen.sum.bytes, .peakObjects = seen.sum.peakObjects,
    .peakBytes = seen.sum.peakBytes, .peakTime = seen.sum.peakTime, .repairs = seen.tally.repairs,
    .overlaps = seen.tally.overlaps, .unmatched = seen.tally.unmatched, .doubt = seen.doubt};
  return &heap->counts;
}

/* heapFrames -- the frames of all stacks in the log are known; errors as PawRead */
static int heapFrames(PawHeap heap)
{
  int error;

  if (heap->frames != NULL)
    return PAW_OK;
  if (FrameTableCreate(&heap->frames) != ResOK) {
    heap->frames = NULL;
    return PAW_MEMORY;
  }
  error = PawRead(heap->log, FrameTableRequest(heap->frames));
  if (error == PAW_OK)
    error = (int)FrameTableStatus(heap->frames);
  if (error != PAW_OK) {
    FrameTableDestroy(heap->frames);
    heap->frames = NULL;
  }
  return error;
}

int PawHeapStack(PawHeap heap, uint64_t stack, uint64_t *frames, size_t most, size_t *countReturn)
{
  uint32_t at = HeapSiteNumber(stack);
  Frame frame = NULL;
  Count count = 0;
  int error = HeapSiteIsStack(stack) ? heapFrames(heap) : PAW_FAIL;

  *countReturn = 0;
  if (error != PAW_OK)
    return error;
  while ((frame = FrameTableFind(heap->frames, HeapSiteProcess(stack), at)) != NULL && count < most) {
    frames[count++] = frame->address;
    at = frame->parent;
  }
  *countReturn = count;
  return frame != NULL || at != FrameWHOLE || (stack & FrameSHORT) != 0 ? PAW_FAIL : PAW_OK;
}
