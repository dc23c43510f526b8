/* heapwalk.c -- what a heap has come to
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/heapwalk.h"

#include <stdlib.h>

#include "view/heapdata.h"
#include "view/heapstate.h"

typedef void (*heapWalkHook)(void *data, HeapPool pool, HeapThread thread, HeapObject object);
typedef void (*heapWalkPending)(void *data, HeapInput input, Bool begun, HeapObject object);

/* heapWalkProcess -- the process, with nothing in its queue; NULL: no event of it has come */
static HeapProcess heapWalkProcess(Heap heap, Index number)
{
  if (number >= heap->count || heap->process[number] == NULL || heap->process[number]->ended)
    return NULL;
  HeapDrain(heap);
  return heap->process[number];
}

static void heapWalkResizes(HeapThread thread, heapWalkPending hook, void *data)
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
  return heapWalkProcess(heap, number) != NULL && (heap->of == NULL || !OfProcessBefore(heap->of, number));
}

void HeapPending(Heap heap, Index number, heapWalkPending hook, void *data)
{
  HeapProcess process = heapWalkProcess(heap, number);
  HeapThread thread;
  Index i;

  if (process == NULL)
    return;
  for (i = 0; i < HeapBUCKETS; ++i)
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      heapWalkResizes(thread, hook, data);
  for (i = process->order.oldest; i != 0; i = process->order.hold[i - 1].newer)
    hook(data, &process->order.hold[i - 1].input, FALSE, NULL);
}

/* heapWalkAway -- the objects that the thread resizes */
static void heapWalkAway(HeapThread thread, HeapThread *byNumber, heapWalkHook hook, void *data)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (resize->state == HeapResizeKNOWN && resize->pool->table.objects != NULL)
      hook(data, resize->pool, byNumber[resize->object.thread], &resize->object);
  }
}

static Res heapWalkPool(HeapPool pool, HeapThread *byNumber, heapWalkHook hook, void *data)
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

Res HeapObjects(Heap heap, Index number, heapWalkHook hook, void *data)
{
  HeapProcess process = heapWalkProcess(heap, number);
  HeapThread thread, *byNumber;
  HeapPool pool;
  Index i;
  Res res = ResOK;

  if (process == NULL)
    return ResOK;
  byNumber = calloc(process->threads + 1, sizeof *byNumber);
  if (byNumber == NULL)
    return ResMEMORY;
  for (i = 0; i < HeapBUCKETS; ++i)
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      byNumber[thread->number] = thread;
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = process->pool[i]; pool != NULL && res == ResOK; pool = pool->next)
      res = heapWalkPool(pool, byNumber, hook, data);
    for (thread = process->thread[i]; thread != NULL; thread = thread->next)
      heapWalkAway(thread, byNumber, hook, data);
  }
  free(byNumber);
  return res;
}

Bool HeapStating(Heap heap, Index number)
{
  HeapProcess process = heapWalkProcess(heap, number);

  return process != NULL && process->order.stating;
}

Bool HeapIsGone(Heap heap, Index number, HeapPool pool, uint64_t addr)
{
  HeapProcess process = heapWalkProcess(heap, number);

  return process != NULL && HeapStateIsGone(&process->order, pool, addr);
}

void HeapGone(Heap heap, Index number, void (*hook)(void *data, HeapPool pool, uint64_t addr), void *data)
{
  HeapProcess process = heapWalkProcess(heap, number);
  HeapPool pool;
  Index i, j;

  if (process == NULL || !process->order.stating)
    return;
  for (i = 0; i < HeapBUCKETS; ++i)
    for (pool = process->pool[i]; pool != NULL; pool = pool->next)
      for (j = 0; j < process->order.gone.capacity; ++j) {
        uint64_t key = process->order.gone.objects[j].addr;
        if (key != 0 && HeapStateAddr(key, pool) >> 48 == 0)
          hook(data, pool, HeapStateAddr(key, pool));
      }
}
