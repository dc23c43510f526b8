/* heaplook.c -- what is in a heap
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heaplook.h"

#include <stdlib.h>
#include <string.h>

#include "view/heapdata.h"

static HeapProcess lookProcess(Heap heap, Index number)
{
  return number < heap->count ? heap->process[number] : NULL;
}

static int lookPoolCompare(const void *a, const void *b)
{
  const HeapPool x = *(const HeapPool *)a, y = *(const HeapPool *)b;

  return x->number < y->number ? -1 : x->number > y->number;
}

static int lookThreadCompare(const void *a, const void *b)
{
  const HeapThread x = *(const HeapThread *)a, y = *(const HeapThread *)b;

  return x->number < y->number ? -1 : x->number > y->number;
}

Res HeapLookPools(HeapPool **poolsReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  HeapPool *pools, pool;
  Count count = 0;
  Index i;

  for (i = 0; process != NULL && i < HeapBUCKETS; ++i)
    for (pool = process->pool[i]; pool != NULL; pool = pool->next)
      ++count;
  pools = malloc((count + 1) * sizeof *pools);
  if (pools == NULL)
    return ResMEMORY;
  *countReturn = count;
  count = 0;
  for (i = 0; process != NULL && i < HeapBUCKETS; ++i)
    for (pool = process->pool[i]; pool != NULL; pool = pool->next)
      pools[count++] = pool;
  qsort(pools, count, sizeof *pools, lookPoolCompare);
  *poolsReturn = pools;
  return ResOK;
}

Res HeapLookThreads(HeapThread **threadsReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  Count count = process == NULL ? 0 : process->threads;
  HeapThread *threads = malloc((count + 1) * sizeof *threads), thread;
  Index i;

  if (threads == NULL)
    return ResMEMORY;
  count = 0;
  for (i = 0; process != NULL && i < HeapBUCKETS; ++i)
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      threads[count++] = thread;
  qsort(threads, count, sizeof *threads, lookThreadCompare);
  *threadsReturn = threads;
  *countReturn = count;
  return ResOK;
}

Res HeapLookArenas(HeapObject *arenasReturn, Count *countReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);
  static HeapTableStruct none;

  return HeapTableSort(arenasReturn, countReturn, process == NULL ? &none : &process->arenas);
}

void HeapLookTally(HeapTally tallyReturn, Heap heap, Index number)
{
  HeapProcess process = lookProcess(heap, number);

  if (process == NULL)
    memset(tallyReturn, 0, sizeof *tallyReturn);
  else
    *tallyReturn = process->order.tally;
}

Bool HeapSeen(Count *threadsReturn, const uint64_t **countsReturn, Heap heap, Index number)
{
  if (number >= heap->count || heap->process[number] == NULL)
    return FALSE;
  *threadsReturn = heap->process[number]->threads;
  *countsReturn = heap->process[number]->counts;
  return TRUE;
}

void HeapTallySum(HeapTally tallyReturn, Heap heap)
{
  Index i;

  memset(tallyReturn, 0, sizeof *tallyReturn);
  for (i = 0; i < heap->count; ++i) {
    if (heap->process[i] != NULL) {
      HeapTally tally = &heap->process[i]->order.tally;
      tallyReturn->repairs += tally->repairs;
      tallyReturn->overlaps += tally->overlaps;
      tallyReturn->unmatched += tally->unmatched;
      tallyReturn->early += tally->early;
      tallyReturn->unfinished += tally->unfinished;
      tallyReturn->failed += tally->failed;
    }
  }
}

Count HeapObjectTypes(Heap heap)
{
  return heap->objectTypes;
}
