/* heaplook.c -- queries about a heap: arenas, pools, threads and objects, and what is not settled yet
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heaplook.h"

#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/heapdata.h"
#include "heap/heapstatedump.h"

typedef void (*lookHook)(void *data, HeapPool pool, HeapThread thread, HeapObject object);
typedef void (*lookPendingHook)(void *data, HeapInput input, Bool begun, HeapObject object);

/* lookHidden -- is the process kept only because others inherit its objects? */
static Bool lookHidden(Heap heap, Index number)
{
  return heap->of != NULL && OfProcessBefore(heap->of, number);
}

static HeapProcess lookProcess(Heap heap, Index number)
{
  HeapProcess process = HeapProcessAt(heap, number);

  return process != NULL && process->met && !lookHidden(heap, number) ? process : NULL;
}

/* lookPast -- the record of a process that has ended; NULL: it has not, or it had no event */
static HeapSeen lookPast(Heap heap, Index number)
{
  return number < heap->count && !lookHidden(heap, number) ? heap->place[number].past : NULL;
}

/* lookLives -- the process, if its objects are shown; else NULL */
static HeapProcess lookLives(Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);

  return process != NULL && process->ended && heap->living > 0 ? NULL : process;
}

static int lookCompare(const void *a, const void *b)
{
  Index x = (*(const HeapPool *)a)->number, y = (*(const HeapPool *)b)->number;

  return x < y ? -1 : x > y;
}

Res HeapPoolsByNumber(HeapPool **poolsReturn, Count *countReturn, HeapProcess process)
{
  HeapPool pool;
  Count count = 0;
  Index i;

  /* They are counted: `pools` is how many there ever were, as the bytes say that the heap was restored from. */
  if (process != NULL)
    HeapEACHPOOL(process, i, pool)
      ++count;
  *poolsReturn = malloc((count + 1) * sizeof **poolsReturn);
  if (*poolsReturn == NULL)
    return ResMEMORY;
  *countReturn = 0;
  if (process != NULL)
    HeapEACHPOOL(process, i, pool)
      (*poolsReturn)[(*countReturn)++] = pool;
  qsort(*poolsReturn, count, sizeof **poolsReturn, lookCompare);
  return ResOK;
}

Res HeapLookPools(HeapPool **poolsReturn, Count *countReturn, Heap heap, Index number)
{
  return HeapPoolsByNumber(poolsReturn, countReturn, lookLives(heap, number));
}

Res HeapThreadsByNumber(HeapThread **threadsReturn, Count *countReturn, HeapProcess process)
{
  HeapThread thread;
  Index i;

  *countReturn = process == NULL ? 0 : process->threads;
  *threadsReturn = calloc(*countReturn + 1, sizeof **threadsReturn);
  if (*threadsReturn == NULL)
    return ResMEMORY;
  if (process != NULL)
    HeapEACHTHREAD(process, i, thread)
      (*threadsReturn)[thread->number] = thread;
  return ResOK;
}

Res HeapLookThreads(HeapThread **threadsReturn, Count *countReturn, Heap heap, Index number)
{
  return HeapThreadsByNumber(threadsReturn, countReturn, lookProcess(heap, number));
}

Res HeapLookArenas(HeapObject *arenasReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookLives(heap, number);
  static HeapTableStruct none;

  return HeapTableSort(arenasReturn, countReturn, process == NULL ? &none : &process->arenas);
}

Bool HeapLook(HeapSeen seenReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapSeen seen = process != NULL ? &process->seen : lookPast(heap, number);

  *seenReturn = (HeapSeenStruct){0};
  if (seen == NULL || !HeapSeenTypes(seen, LogProcessAt(heap->log, number)->registry->count))
    return FALSE;
  *seenReturn = process != NULL ? HeapProcessSeen(process) : *seen;
  return TRUE;
}

Bool HeapEnded(Heap heap, Index number)
{
  return lookPast(heap, number) != NULL || (lookProcess(heap, number) != NULL && lookLives(heap, number) == NULL);
}

Count HeapLiving(Heap heap)
{
  return heap->living;
}

Bool HeapKeeps(Heap heap, Index ending, Index number)
{
  HeapProcess process = HeapProcessAt(heap, ending), kept = HeapProcessAt(heap, number);
  int rank = process != NULL ? HeapKeptRank(heap, process) : 1;

  return number == ending ? rank >= 0 : rank <= 0 && kept != NULL && kept->ended;
}

void HeapTallySum(HeapTally tallyReturn, Heap heap, LogProcess only)
{
  HeapSeenStruct seen;
  Index i, n;

  memset(tallyReturn, 0, sizeof *tallyReturn);
  for (i = 0; i < heap->count; ++i) {
    if ((only != NULL && only->number != i) || !HeapLook(&seen, heap, i))
      continue;
    for (n = 0; n < HeapTallyNUMBERS; ++n)
      ((uint64_t *)tallyReturn)[n] += ((uint64_t *)&seen.tally)[n];
  }
}

Count HeapObjectTypes(Heap heap)
{
  return heap->objectTypes;
}

/* What lives, and what is not settled */

/* lookSettled -- the process, after its queue was applied; NULL: it had no event */
static HeapProcess lookSettled(Heap heap, Index number)
{
  HeapProcess process = HeapProcessAt(heap, number);

  if (process == NULL || process->ended)
    return NULL;
  HeapCatchUp(heap);
  return process;
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
  return lookSettled(heap, number) != NULL && !lookHidden(heap, number);
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

/* lookAway -- the objects that the thread is resizing */
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
  Count threads;
  Index i;
  Res res = HeapThreadsByNumber(&byNumber, &threads, process);

  if (process == NULL || res != ResOK) {
    free(byNumber);
    return res;
  }
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = process->pool[i]; pool != NULL && res == ResOK; pool = pool->next)
      res = lookPool(pool, byNumber, hook, data);
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      lookAway(thread, byNumber, hook, data);
  }
  free(byNumber);
  return res;
}

void HeapLiveObjects(Heap heap, Index number, HeapLiveHook hook, void *data)
{
  HeapProcess process = HeapProcessAt(heap, number);
  HeapPool pool;
  Index i, j;

  if (process == NULL)
    return;
  HeapEACHPOOL(process, i, pool)
    for (j = 0; j < pool->table.capacity; ++j)
      if (HeapObjectLives(&pool->table.objects[j]))
        hook(data, number, pool, &pool->table.objects[j]);
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
