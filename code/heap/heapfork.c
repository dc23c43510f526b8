/* heapfork.c -- a child of fork begins with the objects of its parent
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry of the child's `window` is an address at which another thread of the parent allocated or freed during the
 * fork, so that it is not known whether the child has the object: `told` is set if an object was allocated there, whose
 * size the entry has; `stale` if one was freed.
 */
#include "heap/heapfork.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "heap/heapdata.h"
#include "heap/heaplook.h"
#include "heap/heapstatedump.h"

enum {
  forkUnmetMIN = 64,        /* so many children without an event keep their objects in any case, */
  forkHeldMAX = 256 << 20,  /* and more of them while these take no more than this many bytes of their own; */
  forkLooks = 16            /* checked after each so many forks */
};

Bool HeapForkLate(LogProcess child)
{
  return child->header.forked.identity != 0 && child->header.forked.thread == 0;
}

/* The objects with which the child begins */

/* forkThreads, forkPools, forkArenas -- FALSE: no memory, and the child has not all of them */
static Bool forkThreads(HeapProcess child, HeapProcess parent)
{
  HeapThread thread, *link;
  Index i;

  for (i = 0; i < HeapBUCKETS; ++i) {
    link = &child->thread[i];
    for (thread = parent->thread[i]; thread != NULL; thread = thread->next) {
      if ((*link = calloc(1, sizeof **link)) == NULL)
        return FALSE;
      (*link)->number = thread->number;
      (*link)->id = thread->id;
      (*link)->serial = thread->serial;
      (*link)->past = (*link)->inherited = TRUE; /* only the one that forked is there, with another number */
      link = &(*link)->next;
    }
  }
  child->threads = child->inherited = parent->threads;
  return TRUE;
}

static Bool forkPools(HeapProcess child, HeapProcess parent)
{
  HeapPool pool, *link;
  Index i;

  for (i = 0; i < HeapBUCKETS; ++i) {
    link = &child->pool[i];
    for (pool = parent->pool[i]; pool != NULL; pool = pool->next) {
      if ((*link = malloc(sizeof **link)) == NULL)
        return FALSE;
      **link = *pool;
      (*link)->next = NULL;
      if (HeapTableShare(&(*link)->table, &pool->table) != ResOK)
        return FALSE;
      link = &(*link)->next;
    }
  }
  child->pools = parent->pools;
  return TRUE;
}

static Bool forkArenas(HeapProcess child, HeapProcess parent)
{
  HeapTableFinish(&child->arenas);
  return HeapTableShare(&child->arenas, &parent->arenas) == ResOK;
}

static HeapPool forkPool(HeapProcess child, uint64_t addr)
{
  HeapPool its = *HeapPoolBucket(child, addr);

  while (its != NULL && its->addr != addr)
    its = its->next;
  return its;
}

/* forkNote -- during the fork an object was allocated at an address, or freed */
static void forkNote(HeapReorder order, HeapPool pool, uint64_t addr, Bool came, uint64_t size, unsigned align)
{
  uint64_t key = HeapStateAddr(addr, pool);
  HeapObject place;

  if (addr == 0 || (!order->windowed && HeapTableInit(&order->window) != ResOK))
    return;
  order->windowed = TRUE;
  if ((place = HeapTablePut(&order->window, key)) == NULL)
    return;
  if (came) {
    place->told = 1;
    place->size = size < HeapSizeMAX ? size : HeapSizeMAX;
    place->align = align & 63;
  } else {
    place->stale = 1;
  }
}

/* forkResize -- a thread that the child does not have was resizing an object: in the child it may be where it was */
static void forkResize(HeapProcess child, HeapResize resize)
{
  HeapPool pool = resize->state == HeapResizeKNOWN ? forkPool(child, resize->pool->addr) : NULL;
  HeapObject place;

  if (pool == NULL || HeapTableOwn(&pool->table) != ResOK)
    return;
  place = HeapTableSeek(&pool->table, resize->old);
  if (!HeapObjectLives(place) && (place = HeapTableInsert(&pool->table, place, resize->old)) != NULL) {
    *place = resize->object;
    forkNote(&child->order, pool, resize->old, FALSE, 0, 0);
  } else {
    --child->order.sum.objects;
    child->order.sum.bytes -= resize->object.size;
  }
}

/* forkChild -- a child that begins with all that its parent has now; NULL: no memory.  A child with a part of it would
 * have pools without tables, and threads that its numbers promise and nobody finds. */
static HeapProcess forkChild(Heap heap, Index number, HeapProcess parent)
{
  HeapProcess child = HeapProcessOf(heap, number);

  if (child == NULL)
    return NULL;
  if (forkThreads(child, parent) && forkPools(child, parent) && forkArenas(child, parent))
    return child;
  HeapProcessDrop(heap, child);
  return NULL;
}

/* forkOthers -- how many other threads the parent has.  Each may be inside one call: the child may still have an object
 * whose free has an event already, or may have one whose allocation has none yet.  If it is not known which thread
 * forked (0), it was one of them. */
static Count forkOthers(HeapProcess parent, uint32_t forker)
{
  HeapThread thread;
  Count others = 0;
  Index i;

  HeapEACHTHREAD(parent, i, thread) {
    others += !thread->past && !thread->ended && thread->id != forker;
    thread->swing = 0;
    thread->swung = 0;
  }
  return others - (forker == 0 && others > 0);
}

static void forkResizes(HeapProcess child, HeapProcess parent)
{
  HeapThread thread;
  unsigned busy;
  Index i;

  HeapEACHTHREAD(parent, i, thread)
    for (busy = thread->busy; busy != 0; busy &= busy - 1)
      forkResize(child, &thread->resize[__builtin_ctz(busy)]);
}

/* forkHeld -- the bytes that dropping a process would free; of a shared table only its share counts */
static Size forkHeld(HeapProcess process)
{
  Size size = sizeof *process + process->threads * sizeof(HeapThreadStruct);
  HeapPool pool;
  Index i;

  HeapEACHPOOL(process, i, pool)
    size += sizeof *pool + pool->table.capacity * sizeof(HeapObjectStruct) /
                                 (pool->table.shares == NULL ? 1 : *pool->table.shares);
  return size;
}

/* forkUnmet -- if the children that have had no event yet hold too much memory, drop the oldest of them */
static void forkUnmet(Heap heap)
{
  Count unmet = 0;
  Size held = 0;
  Index i;

  if (++heap->unlooked < forkLooks)
    return;
  heap->unlooked = 0;
  for (i = heap->times.next; i > 0; --i) {
    HeaderTime fork = &heap->times.one[i - 1];
    HeapProcess child = fork->fork ? HeapProcessAt(heap, fork->process) : NULL;
    if (child == NULL || child->met)
      continue;
    held += forkHeld(child);
    if (++unmet > forkUnmetMIN && held > forkHeldMAX) {
      fork->forgotten = TRUE;
      ++heap->forgotten;
      HeapProcessDrop(heap, child);
    }
  }
}

void HeapForkMet(Heap heap, HeapProcess process)
{
  Index i;

  for (i = 0; heap->forgotten > 0 && i < heap->times.next; ++i)
    if (heap->times.one[i].forgotten && heap->times.one[i].process == process->order.operation.process)
      process->order.tally.forgotten = 1;
}

void HeapForkDo(Heap heap, HeaderTime fork)
{
  LogProcess log = LogProcessAt(heap->log, fork->process);
  HeapProcess parent = HeapProcessAt(heap, HeaderTimesParent(heap->log, log)->number), child;
  uint64_t now;

  if (parent == NULL || parent->ended || HeapProcessAt(heap, fork->process) != NULL ||
      (fork->process < heap->count && heap->place[fork->process].past != NULL))
    return;
  AVER(fork->fork);
  HeapCatchUp(heap);
  now = parent->order.now;
  HeapReorderUntil(&parent->order, fork->due);
  child = forkChild(heap, fork->process, parent);
  if (child == NULL) {
    parent->order.now = now;
    heap->res = ResMEMORY;
    return;
  }
  child->order.now = parent->order.now;
  child->order.sum.objects = parent->order.sum.objects;
  child->order.sum.bytes = parent->order.sum.bytes;
  child->order.doubt = parent->order.doubt + forkOthers(parent, log->header.forked.thread);
  forkResizes(child, parent);
  child->order.sum.peakObjects = child->order.sum.objects;
  child->order.sum.peakBytes = child->order.sum.bytes;
  child->order.sum.peakTime = fork->due;
  parent->order.now = now; /* the time of its last event: the fork is no event */
  parent->child = fork->process + 1;
  parent->forker = log->header.forked.thread;
  parent->childTime = LogTime(heap->log, fork->process, log->header.forked.after);
  forkUnmet(heap);
}

void HeapForkTell(Heap heap, HeapProcess process, HeapThread thread)
{
  HeapOperationStruct operation = {.kind = HeapALLOC, .told = TRUE, .inherited = TRUE, .thread = thread,
                                   .time = process->order.now,
                                   .process = process->order.operation.process};
  HeapPool *pools;
  HeapObject objects;
  Count count, n;
  Index i, j;

  if (HeapLookPools(&pools, &count, heap, operation.process) != ResOK) {
    heap->res = ResMEMORY;
    return;
  }
  for (i = 0; i < count; ++i) {
    if (HeapTableOwn(&pools[i]->table) != ResOK || HeapTableSort(&objects, &n, &pools[i]->table) != ResOK) {
      heap->res = ResMEMORY;
      break;
    }
    operation.pool = pools[i];
    for (j = 0; j < n; ++j) {
      operation.object = HeapTableSeek(&pools[i]->table, objects[j].addr);
      heap->client.alloc(heap->client.data, &operation);
    }
    free(objects);
  }
  free(pools);
}

/* What other threads did during the fork */

/* forkSwing -- by how much an event of another thread, during the fork, raises the doubt about the child's number of
 * objects: the child was made before the event or after it.
 * fresh  forkOthers did not count the thread: it began during the fork, or had emitted ThreadEnd, after which its
 *        destructors may still run */
static Count forkSwing(HeapInput input, Bool fresh)
{
  HeapThread thread = input->thread;
  Count first = fresh && thread->swung == 0;

  thread->swing += input->kind == HeapInALLOC ? 1 : input->kind == HeapInFREE ? -1 : 0;
  if ((uint32_t)(thread->swing < 0 ? -thread->swing : thread->swing) <= thread->swung)
    return 0;
  ++thread->swung;
  return 1 + first;
}

void HeapForkSee(Heap heap, HeapProcess parent, HeapInput input)
{
  HeapProcess child = HeapProcessAt(heap, parent->child - 1);
  HeapPool pool;

  AVER(parent->child > 0);
  if (child == NULL || input->thread->id == parent->forker || input->time > parent->childTime) {
    parent->child = 0;
    return;
  }
  pool = forkPool(child, input->pool->addr);
  child->order.doubt += forkSwing(input, input->thread->number >= child->inherited || input->thread->ended);
  if (pool != NULL)
    forkNote(&child->order, pool, input->addr, HeapActBrings(input), input->size, input->align);
}

/* forkNoted -- the entry for the event's address; its address is 0 if there is none */
static HeapObject forkNoted(HeapReorder order, HeapInput input)
{
  return HeapTableSeek(&order->window, HeapStateAddr(HeapActPlace(input), input->pool));
}

Bool HeapForkCome(HeapReorder order, HeapInput input)
{
  HeapObject noted = forkNoted(order, input);
  HeapInputStruct come = *input;

  if (noted->addr == 0 || !noted->told)
    return FALSE;
  noted->told = 0;
  come.kind = HeapInLIVE;
  come.size = noted->size;
  come.align = noted->align;
  order->operation.inherited = TRUE;
  (void)HeapActTry(order, &come);
  order->operation.inherited = FALSE;
  return TRUE;
}

Bool HeapForkGone(HeapReorder order, HeapInput input)
{
  HeapObject noted = forkNoted(order, input), place;

  place = HeapTableSeek(&input->pool->table, HeapActPlace(input));
  if (noted->addr == 0 || !noted->stale || !HeapObjectLives(place))
    return FALSE;
  noted->stale = 0;
  HeapActPresume(order, input, place);
  HeapTableDelete(&input->pool->table, place);
  return TRUE;
}

/* Corrections by later events */

Bool HeapForkDoubts(Heap heap, Index number)
{
  HeapProcess process = HeapProcessAt(heap, number);

  return process != NULL && !process->ended && (process->order.windowed || process->child != 0);
}

Res HeapForkHad(Heap heap, Index number, uint64_t pool, const HeapObjectStruct *object)
{
  HeapProcess process = HeapProcessAt(heap, number);
  HeapPool its = process == NULL || process->threads == 0 ? NULL : forkPool(process, pool);
  HeapObject place;

  if (its == NULL)
    return ResOK;
  if (HeapTableOwn(&its->table) != ResOK)
    return ResMEMORY;
  place = HeapTableSeek(&its->table, object->addr);
  if (place->addr != 0)
    return ResOK;
  if ((place = HeapTableInsert(&its->table, place, object->addr)) == NULL)
    return ResMEMORY;
  *place = (HeapObjectStruct){.addr = object->addr, .size = object->size, .align = object->align, .told = 1,
                              .client = object->client};
  HeapReorderDue(&process->order, object->addr);
  ++process->order.sum.objects;
  process->order.sum.bytes += object->size;
  return ResOK;
}
