/* heapfork.c -- a child of fork begins with the objects of its parent
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry of the child's `window` is an address at which another thread of the parent did something while the child
 * was made: `told` if something has come there, whose size it has; `stale` if something has gone.
 */
#include "heap/heapfork.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/heapdata.h"
#include "heap/heaplook.h"
#include "heap/heapstate.h"

enum {
  forkUnmetMIN = 64,        /* children of which no event has come, that are waited for in any case, */
  forkHeldMAX = 256 << 20,  /* and others, while all these hold no more bytes that nobody else needs; */
  forkLooks = 16            /* which is looked at when so many more have been made */
};

/* Which forks there are */

LogProcess HeapForkParent(Log log, LogProcess child)
{
  uint64_t identity = child->header.forked.identity;

  return identity != 0 ? LogProcessFind(log, identity) : NULL;
}

static int forkCompare(const void *a, const void *b)
{
  const HeapForkStruct *x = a, *y = b;

  if (x->before != y->before)
    return x->before < y->before ? -1 : 1;
  return x->child < y->child ? -1 : x->child > y->child;
}

Bool HeapForkLate(LogProcess child)
{
  return child->header.forked.identity != 0 && child->header.forked.thread == 0;
}

Res HeapForksLook(Heap heap)
{
  HeapForks forks = &heap->forks;
  Count known = forks->count;
  HeapForkStruct fork;

  for (; forks->looked < LogProcesses(heap->log); ++forks->looked) {
    LogProcess child = LogProcessAt(heap->log, forks->looked), parent = HeapForkParent(heap->log, child);
    if (parent == NULL)
      continue;
    if (!Grow(&forks->fork, &forks->capacity, forks->count, sizeof fork))
      return ResMEMORY;
    fork.forgotten = FALSE;
    fork.parent = parent->number;
    fork.child = forks->looked;
    fork.thread = child->header.forked.thread;
    fork.before = LogTime(heap->log, fork.child, child->header.forked.before);
    fork.after = LogTime(heap->log, fork.child, child->header.forked.after);
    forks->fork[forks->count++] = fork;
  }
  if (forks->count > known)
    qsort(forks->fork + forks->next, forks->count - forks->next, sizeof fork, forkCompare);
  forks->time = forks->next < forks->count ? forks->fork[forks->next].before : UINT64_MAX;
  return ResOK;
}

void HeapForksFree(HeapForks forks)
{
  free(forks->fork);
  memset(forks, 0, sizeof *forks);
}

/* What the child begins with */

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
      (*link)->saved = 0;
      (*link)->next = NULL;
      if (HeapTableShare(&(*link)->table, &pool->table) != ResOK)
        return FALSE;
      link = &(*link)->next;
    }
  }
  child->pools = parent->pools;
  return TRUE;
}

static HeapPool forkPool(HeapProcess child, uint64_t addr)
{
  HeapPool its = *HeapPoolBucket(child, addr);

  while (its != NULL && its->addr != addr)
    its = its->next;
  return its;
}

/* forkNote -- something has come to an address, or gone from it, while the child was made */
static void forkNote(HeapReorder order, HeapPool pool, uint64_t addr, Bool came, uint64_t size, unsigned align)
{
  uint64_t key = HeapStateAddr(addr, pool);
  HeapObject place;

  if (addr == 0 || (!order->windowed && HeapTableInit(&order->window) != ResOK))
    return;
  order->windowed = TRUE;
  place = HeapTableSeek(&order->window, key);
  if (place->addr == 0) {
    if ((place = HeapTableInsert(&order->window, place, key)) == NULL)
      return;
    place->told = place->stale = 0;
  }
  if (came) {
    place->told = 1;
    place->size = size < HeapSizeMAX ? size : HeapSizeMAX;
    place->align = align & 63;
  } else {
    place->stale = 1;
  }
}

/* forkResize -- a thread that is no more in the child was resizing an object: it is where it was, perhaps */
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

/* forkOthers -- each other thread of the parent may be in the middle of one call: what it frees, of which has been told, is
 * there yet, or what it allocates is there, of which has not been told.  Where it is not known which one forked one of
 * them did. */
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

/* forkHeld -- bytes that would be given back with a process, not counting what others need, too */
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

/* forkUnmet -- where the children of which no event has come, and perhaps never will, hold too much: give up those
 * that have waited for longest. */
static void forkUnmet(Heap heap)
{
  HeapForks forks = &heap->forks;
  Count unmet = 0;
  Size held = 0;
  Index i;

  if (++forks->unlooked < forkLooks)
    return;
  forks->unlooked = 0;
  for (i = forks->next + 1; i > 0; --i) {
    HeapFork fork = &forks->fork[i - 1];
    HeapProcess child = fork->child < heap->count ? heap->process[fork->child] : NULL;
    if (child == NULL || child->met)
      continue;
    held += forkHeld(child);
    if (++unmet > forkUnmetMIN && held > forkHeldMAX) {
      fork->forgotten = TRUE;
      ++forks->forgotten;
      HeapProcessDrop(heap, child);
    }
  }
}

void HeapForkMet(Heap heap, HeapProcess process)
{
  HeapForks forks = &heap->forks;
  Index i;

  for (i = 0; forks->forgotten > 0 && i < forks->next; ++i)
    if (forks->fork[i].forgotten && forks->fork[i].child == process->order.operation.process)
      process->order.tally.forgotten = 1;
}

static void forkDo(Heap heap, HeapFork fork)
{
  HeapProcess parent = fork->parent < heap->count ? heap->process[fork->parent] : NULL, child;
  uint64_t now;

  if (parent == NULL || parent->ended ||
      (fork->child < heap->count && (heap->process[fork->child] != NULL || heap->past[fork->child] != NULL)))
    return;
  HeapDrain(heap);
  now = parent->order.now;
  HeapReorderUntil(&parent->order, fork->before);
  child = HeapProcessOf(heap, fork->child);
  if (child == NULL) {
    heap->res = ResMEMORY;
    return;
  }
  HeapTableFinish(&child->arenas);
  if (!forkThreads(child, parent) || !forkPools(child, parent) ||
      HeapTableShare(&child->arenas, &parent->arenas) != ResOK)
    heap->res = ResMEMORY;
  child->order.now = parent->order.now;
  child->order.sum.objects = parent->order.sum.objects;
  child->order.sum.bytes = parent->order.sum.bytes;
  child->order.doubt = parent->order.doubt + forkOthers(parent, fork->thread);
  forkResizes(child, parent);
  child->order.sum.peakObjects = child->order.sum.objects;
  child->order.sum.peakBytes = child->order.sum.bytes;
  child->order.sum.peakTime = fork->before;
  parent->order.now = now; /* its last event: that it forks is none */
  parent->child = fork->child + 1;
  parent->forker = fork->thread;
  parent->childTime = fork->after;
  forkUnmet(heap);
}

void HeapForksDo(Heap heap, uint64_t time)
{
  HeapForks forks = &heap->forks;

  if (HeapForksLook(heap) != ResOK)
    heap->res = ResMEMORY;
  for (; forks->next < forks->count && forks->fork[forks->next].before <= time; ++forks->next)
    forkDo(heap, &forks->fork[forks->next]);
  forks->time = forks->next < forks->count ? forks->fork[forks->next].before : UINT64_MAX;
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

/* What other threads did meanwhile */

/* forkSwing -- by how many objects more may what the child has be another number than its parent had `before`?  The child
 * was made before the event or after it.
 * fresh  the thread was not counted among the others: it began meanwhile, or had told its end, behind which its
 *        destructors are */
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
  HeapProcess child = heap->process[parent->child - 1];
  HeapPool pool;

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

/* What is found out later */

Bool HeapForkDoubts(Heap heap, Index number)
{
  HeapProcess process = number < heap->count ? heap->process[number] : NULL;

  return process != NULL && !process->ended && (process->order.windowed || process->child != 0);
}

Res HeapForkHad(Heap heap, Index number, uint64_t pool, const HeapObjectStruct *object)
{
  HeapProcess process = number < heap->count ? heap->process[number] : NULL;
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
  *place = (HeapObjectStruct){.addr = object->addr, .size = object->size, .align = object->align, .told = 1};
  ++process->order.sum.objects;
  process->order.sum.bytes += object->size;
  return ResOK;
}
