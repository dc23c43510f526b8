/* heaplook.c -- queries about a heap: arenas, pools, threads and objects, and what is not settled yet
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heaplook.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/heapdata.h"
#include "heap/heapstate.h"

typedef void (*lookHook)(void *data, HeapPool pool, HeapThread thread, HeapObject object);
typedef void (*lookPendingHook)(void *data, HeapInput input, Bool begun, HeapObject object);

/* lookHidden -- is it there only because others inherit of it? */
static Bool lookHidden(Heap heap, Index number)
{
  return heap->of != NULL && OfProcessBefore(heap->of, number);
}

static HeapProcess lookProcess(Heap heap, Index number)
{
  return number < heap->count && heap->process[number] != NULL && heap->process[number]->met && !lookHidden(heap, number)
           ? heap->process[number] : NULL;
}

/* lookPast -- what is known of one that has ended; NULL: it has not, or no event of it has come */
static HeapPast lookPast(Heap heap, Index number)
{
  return number < heap->count && !lookHidden(heap, number) ? heap->past[number] : NULL;
}

/* lookLives -- a process whose objects are to be seen; NULL: there are none */
static HeapProcess lookLives(Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);

  return process != NULL && process->ended && heap->living > 0 ? NULL : process;
}

/* lookCompare -- by the numbers of pools or threads, with which both begin */
static int lookCompare(const void *a, const void *b)
{
  Index x = **(const Index *const *)a, y = **(const Index *const *)b;

  return x < y ? -1 : x > y;
}

_Static_assert(offsetof(HeapPoolStruct, number) == 0 && offsetof(HeapThreadStruct, number) == 0, "for lookCompare");

Res HeapLookPools(HeapPool **poolsReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookLives(heap, number);
  HeapPool *pools, pool;
  Count live = 0;
  Index i;

  /* They are counted: `pools` is how many there ever were, as the bytes say that the heap was restored from. */
  if (process != NULL)
    HeapEACHPOOL(process, i, pool)
      ++live;
  pools = malloc((live + 1) * sizeof *pools);
  if (pools == NULL)
    return ResMEMORY;
  *countReturn = 0;
  if (process != NULL)
    HeapEACHPOOL(process, i, pool)
      pools[(*countReturn)++] = pool;
  qsort(pools, *countReturn, sizeof *pools, lookCompare);
  *poolsReturn = pools;
  return ResOK;
}

Res HeapLookThreads(HeapThread **threadsReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapThread *threads = malloc(((process == NULL ? 0 : process->threads) + 1) * sizeof *threads), thread;
  Index i;

  if (threads == NULL)
    return ResMEMORY;
  *countReturn = 0;
  if (process != NULL)
    HeapEACHTHREAD(process, i, thread)
      threads[(*countReturn)++] = thread;
  qsort(threads, *countReturn, sizeof *threads, lookCompare);
  *threadsReturn = threads;
  return ResOK;
}

Res HeapLookArenas(HeapObject *arenasReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookLives(heap, number);
  static HeapTableStruct none;

  return HeapTableSort(arenasReturn, countReturn, process == NULL ? &none : &process->arenas);
}

void HeapLookTally(HeapTally tallyReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapPast past = lookPast(heap, number);

  *tallyReturn = process != NULL ? process->order.tally : past != NULL ? past->tally : (HeapTallyStruct){0};
}

void HeapLookSum(HeapSum sumReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapPast past = lookPast(heap, number);

  *sumReturn = process != NULL ? process->order.sum : past != NULL ? past->sum : (HeapSumStruct){0};
}

Bool HeapSeen(Count *threadsReturn, const uint64_t **countsReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapPast seen = process != NULL ? &process->seen : lookPast(heap, number);

  if (seen == NULL || !HeapSeenTypes(seen, LogProcessAt(heap->log, number)->registry->count))
    return FALSE;
  *threadsReturn = process != NULL ? process->threads - process->inherited : seen->threads;
  *countsReturn = seen->counts;
  return TRUE;
}

Bool HeapLeader(Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapPast seen = process != NULL ? &process->seen : lookPast(heap, number);

  return seen != NULL && seen->leader;
}

uint64_t HeapDoubt(Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);

  return process != NULL ? process->order.doubt : 0;
}

Bool HeapEnded(Heap heap, Index number)
{
  return lookPast(heap, number) != NULL || (lookProcess(heap, number) != NULL && lookLives(heap, number) == NULL);
}

Count HeapLiving(Heap heap)
{
  return heap->living;
}

void HeapTallySum(HeapTally tallyReturn, Heap heap)
{
  HeapTallyStruct tally;
  Index i;

  memset(tallyReturn, 0, sizeof *tallyReturn);
  for (i = 0; i < heap->count; ++i) {
    HeapLookTally(&tally, heap, i);
    tallyReturn->repairs += tally.repairs;
    tallyReturn->overlaps += tally.overlaps;
    tallyReturn->forgotten += tally.forgotten;
    tallyReturn->unmatched += tally.unmatched;
    tallyReturn->early += tally.early;
    tallyReturn->unfinished += tally.unfinished;
    tallyReturn->failed += tally.failed;
  }
}

Count HeapObjectTypes(Heap heap)
{
  return heap->objectTypes;
}

/* What lives, and what is not settled */

/* lookSettled -- the process, with nothing in its queue; NULL: no event of it has come */
static HeapProcess lookSettled(Heap heap, Index number)
{
  if (number >= heap->count || heap->process[number] == NULL || heap->process[number]->ended)
    return NULL;
  HeapDrain(heap);
  return heap->process[number];
}

static void lookResizes(HeapThread thread, lookPendingHook hook, void *data)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    HeapInputStruct begin = {.kind = HeapInBEGIN, .time = resize->time, .addr = resize->old, .size = resize->size,
                             .pool = resize->pool, .thread = thread};
    if (resize->state != HeapResizeHELD)
      hook(data, &begin, TRUE, resize->state == HeapResizeKNOWN ? &resize->object : NULL);
  }
}

Bool HeapHas(Heap heap, Index number)
{
  return lookSettled(heap, number) != NULL && (heap->of == NULL || !OfProcessBefore(heap->of, number));
}

void HeapPending(Heap heap, Index number, lookPendingHook hook, void *data)
{
  HeapProcess process = lookSettled(heap, number);
  HeapThread thread;
  Index i;

  if (process == NULL)
    return;
  HeapEACHTHREAD(process, i, thread)
    lookResizes(thread, hook, data);
  for (i = process->order.oldest; i != 0; i = process->order.hold[i - 1].newer)
    hook(data, &process->order.hold[i - 1].input, FALSE, NULL);
}

/* lookAway -- the objects that the thread resizes */
static void lookAway(HeapThread thread, HeapThread *byNumber, lookHook hook, void *data)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (resize->state == HeapResizeKNOWN && resize->pool->table.objects != NULL)
      hook(data, resize->pool, byNumber[resize->object.thread], &resize->object);
  }
}

static Res lookPool(HeapPool pool, HeapThread *byNumber, lookHook hook, void *data)
{
  HeapObject objects;
  Count i, n;

  if (HeapTableSort(&objects, &n, &pool->table) != ResOK)
    return ResMEMORY;
  for (i = 0; i < n; ++i)
    hook(data, pool, byNumber[objects[i].thread], &objects[i]);
  free(objects);
  return ResOK;
}

Res HeapObjects(Heap heap, Index number, lookHook hook, void *data)
{
  HeapProcess process = lookSettled(heap, number);
  HeapThread thread, *byNumber;
  HeapPool pool;
  Index i;
  Res res = ResOK;

  if (process == NULL)
    return ResOK;
  byNumber = calloc(process->threads + 1, sizeof *byNumber);
  if (byNumber == NULL)
    return ResMEMORY;
  HeapEACHTHREAD(process, i, thread)
    byNumber[thread->number] = thread;
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = process->pool[i]; pool != NULL && res == ResOK; pool = pool->next)
      res = lookPool(pool, byNumber, hook, data);
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      lookAway(thread, byNumber, hook, data);
  }
  free(byNumber);
  return res;
}

Bool HeapStating(Heap heap, Index number)
{
  HeapProcess process = lookSettled(heap, number);

  return process != NULL && process->order.stating;
}

Bool HeapIsGone(Heap heap, Index number, HeapPool pool, uint64_t addr)
{
  HeapProcess process = lookSettled(heap, number);

  return process != NULL && HeapStateIsGone(&process->order, pool, addr);
}

void HeapGone(Heap heap, Index number, void (*hook)(void *data, HeapPool pool, uint64_t addr), void *data)
{
  HeapProcess process = lookSettled(heap, number);
  HeapPool pool;
  Index i, j;

  if (process == NULL || !process->order.stating)
    return;
  HeapEACHPOOL(process, i, pool)
    for (j = 0; j < process->order.gone.capacity; ++j) {
      uint64_t key = process->order.gone.objects[j].addr;
      if (key != 0 && HeapStateAddr(key, pool) >> 48 == 0)
        hook(data, pool, HeapStateAddr(key, pool));
    }
}
