/* heaprestore.c -- a heap from its bytes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes may come out of a file that somebody made: every number that something is indexed or counted by is looked at.
 */
#include <string.h>

#include "base/grow.h"
#include "heap/heapbytes.h"
#include "heap/heapdata.h"
#include "heap/heapsave.h"
#include "heap/heapsavedata.h"

typedef struct restoreStruct {
  HeapBytes bytes;
  Count clients;       /* no object has a higher number from its client */
  HeapProcess process;
  HeapPool *pool;      /* by their number in the bytes */
  Count pools, poolCapacity;
  HeapThread *thread;  /* the same */
  Count threads;
  Res res;             /* ResMEMORY once there is none */
} restoreStruct, *Restore;

static Bool restoreGood(Restore restore)
{
  return restore->res == ResOK && !restore->bytes->failed;
}

/* restoreCount -- a number of things of which each takes a byte at least */
static Count restoreCount(Restore restore)
{
  uint64_t count = HeapBytesGet(restore->bytes);

  if (count > restore->bytes->size - restore->bytes->next) {
    restore->bytes->failed = TRUE;
    return 0;
  }
  return (Count)count;
}

/* restorePoolNew -- the next pool, of which nothing is known yet */
static HeapPool restorePoolNew(Restore restore)
{
  HeapPool pool;

  if (!Grow(&restore->pool, &restore->poolCapacity, restore->pools, sizeof *restore->pool)) {
    restore->res = ResMEMORY;
    return NULL;
  }
  pool = calloc(1, sizeof *pool);
  if (pool == NULL)
    restore->res = ResMEMORY;
  else
    restore->pool[restore->pools++] = pool;
  return pool;
}

/* restorePoolRef -- a pool that is referred to; one that has not been met is one of those destroyed */
static HeapPool restorePoolRef(Restore restore)
{
  uint64_t number = HeapBytesGet(restore->bytes);

  if (number == 0)
    return NULL;
  if (number == restore->pools + 1) {
    HeapPool pool = restorePoolNew(restore);
    if (pool != NULL) {
      pool->next = restore->process->dead;
      restore->process->dead = pool;
    }
    return pool;
  }
  if (number > restore->pools) {
    restore->bytes->failed = TRUE;
    return NULL;
  }
  return restore->pool[number - 1];
}

/* restoreObject -- *addr is that of the one before */
static inline void restoreObject(HeapObject object, HeapBytes from, uint64_t *addr, uint64_t now)
{
  uint64_t number[4];

  HeapBytesGetFour(number, from);
  object->addr = *addr += HeapBytesUnfold(number[0]);
  object->size = number[1] & HeapSizeMAX;
  object->time = now - number[2];
  object->thread = (uint32_t)(number[3] >> HeapSavedSHIFT);
  object->away = number[3] & 1;
  object->told = number[3] >> 1 & 1;
  object->stale = number[3] >> 2 & 1;
  object->align = 0;
  object->client = 0;
  if (UNLIKELY((number[3] >> 3 & 3) != 0)) {
    object->align = HeapBytesGet(from) & 63;
    object->client = (uint32_t)HeapBytesGet(from);
  }
}

/* restoreFits -- are its thread, and what its client has with it, of those that there are? */
static Bool restoreFits(Restore restore, HeapObject object)
{
  return object->thread < restore->process->threads && object->client <= restore->clients;
}

/* restoreTable -- into `table`, which holds nothing; `objects`: they have a thread, and something of the client's */
static void restoreTable(Restore restore, HeapTable table, Bool objects)
{
  Count count = restoreCount(restore);
  uint64_t addr = 0;
  HeapObject place;

  if (HeapTableMake(table, count) != ResOK)
    restore->res = ResMEMORY;
  for (; count > 0 && restoreGood(restore); --count) {
    HeapObjectStruct object;
    restoreObject(&object, restore->bytes, &addr, restore->process->order.now);
    place = HeapTableSeek(table, addr);
    if (UNLIKELY(addr == 0 || place->addr != 0 || (objects && !restoreFits(restore, &object))))
      restore->bytes->failed = TRUE;
    else if (UNLIKELY((place = HeapTableInsert(table, place, addr)) == NULL))
      restore->res = ResMEMORY;
    else
      *place = object;
  }
}

static void restorePool(Restore restore, HeapPool pool, Bool lives)
{
  HeapBytes from = restore->bytes;
  Size i, length;

  pool->number = (Index)HeapBytesGet(from);
  pool->addr = HeapBytesGet(from);
  pool->arena = HeapBytesGet(from);
  pool->repeated = HeapBytesGet(from) != 0;
  pool->time = HeapBytesGet(from);
  pool->segments = HeapBytesGet(from);
  pool->reserved = HeapBytesGet(from);
  length = restoreCount(restore);
  if (length >= HeapClassMAX) {
    from->failed = TRUE;
    length = 0;
  }
  for (i = 0; i < length; ++i)
    pool->class[i] = (char)HeapBytesGet(from);
  if (lives)
    restoreTable(restore, &pool->table, TRUE);
}

/* restorePools -- those that live, each bucket's in their order */
static void restorePools(Restore restore)
{
  Count count = restoreCount(restore);
  HeapPool *link = NULL, *last = NULL;

  for (; count > 0 && restoreGood(restore); --count) {
    HeapPool pool = restorePoolNew(restore), *bucket;
    if (pool == NULL)
      return;
    restorePool(restore, pool, TRUE);
    bucket = HeapPoolBucket(restore->process, pool->addr);
    if (bucket != last) /* another bucket's turn */
      for (link = last = bucket; *link != NULL; link = &(*link)->next)
        ;
    *link = pool;
    link = &pool->next;
  }
}

static void restoreResize(Restore restore, HeapResize resize)
{
  HeapBytes from = restore->bytes;
  uint64_t state = HeapBytesGet(from), addr = 0;

  resize->state = state == HeapResizeKNOWN   ? HeapResizeKNOWN :
                  state == HeapResizeUNKNOWN ? HeapResizeUNKNOWN : HeapResizeHELD;
  resize->ended = HeapBytesGet(from) != 0;
  resize->key = HeapBytesGet(from);
  resize->old = HeapBytesGet(from);
  resize->place = HeapBytesGet(from);
  resize->size = HeapBytesGet(from);
  resize->time = HeapBytesGet(from);
  resize->pool = restorePoolRef(restore);
  if (resize->pool == NULL)
    from->failed = TRUE;
  if (resize->state == HeapResizeKNOWN) {
    restoreObject(&resize->object, from, &addr, restore->process->order.now);
    from->failed |= !restoreFits(restore, &resize->object);
  }
}

static void restoreThread(Restore restore, HeapThread thread)
{
  HeapBytes from = restore->bytes;
  unsigned busy, flags;

  thread->number = (Index)HeapBytesGet(from);
  thread->id = (uint32_t)HeapBytesGet(from);
  thread->serial = (uint32_t)HeapBytesGet(from);
  flags = (unsigned)HeapBytesGet(from);
  thread->past = flags & 1;
  thread->inherited = flags >> 1 & 1;
  thread->ended = flags >> 2 & 1;
  thread->swing = (int32_t)HeapBytesGet(from);
  thread->swung = (uint32_t)HeapBytesGet(from);
  thread->gone = HeapBytesGet(from);
  thread->goneTime = HeapBytesGet(from);
  thread->gonePool = restorePoolRef(restore);
  thread->busy = (unsigned)HeapBytesGet(from) & ((1u << HeapResizePLACES) - 1);
  for (busy = thread->busy; busy != 0; busy &= busy - 1)
    restoreResize(restore, &thread->resize[__builtin_ctz(busy)]);
}

/* restoreNumbered -- have the threads the numbers below their count, each one? */
static Bool restoreNumbered(Restore restore)
{
  Bool *met = calloc(restore->threads + 1, sizeof *met), good = restore->threads == restore->process->threads;
  Index i;

  if (met == NULL)
    restore->res = ResMEMORY;
  for (i = 0; i < restore->threads && good && met != NULL; ++i) {
    Index number = restore->thread[i]->number;
    good = number < restore->threads && !met[number];
    if (good)
      met[number] = TRUE;
  }
  free(met);
  return good;
}

static void restoreThreads(Restore restore)
{
  Count count = restoreCount(restore);
  HeapThread *link = NULL, *last = NULL;

  free(restore->thread);
  restore->threads = 0;
  restore->thread = malloc((count + 1) * sizeof *restore->thread);
  if (restore->thread == NULL)
    restore->res = ResMEMORY;
  for (; count > 0 && restoreGood(restore); --count) {
    HeapThread thread = calloc(1, sizeof *thread), *bucket;
    if (thread == NULL) {
      restore->res = ResMEMORY;
      return;
    }
    restore->thread[restore->threads++] = thread;
    restoreThread(restore, thread);
    bucket = HeapThreadBucket(restore->process, thread->id);
    if (bucket != last)
      for (link = last = bucket; *link != NULL; link = &(*link)->next)
        ;
    *link = thread;
    link = &thread->next;
  }
  if (restoreGood(restore) && !restoreNumbered(restore))
    restore->bytes->failed = TRUE;
}

static void restoreHeld(Restore restore, HeapReorder order)
{
  HeapInputStruct event = {.time = 0};
  HeapInput input = &event;
  HeapBytes from = restore->bytes;
  uint64_t thread;

  input->kind = (uint8_t)HeapBytesGet(from);
  input->time = HeapBytesGet(from);
  input->addr = HeapBytesGet(from);
  input->old = HeapBytesGet(from);
  input->size = HeapBytesGet(from);
  input->key = HeapBytesGet(from);
  input->align = (uint8_t)HeapBytesGet(from);
  input->zero = (uint8_t)HeapBytesGet(from);
  input->mark = (uint32_t)HeapBytesGet(from);
  input->pool = restorePoolRef(restore);
  thread = HeapBytesGet(from);
  if (input->kind > HeapInLIVE || input->pool == NULL || input->pool->table.objects == NULL ||
      thread >= restore->threads) {
    from->failed = TRUE;
  } else {
    input->thread = restore->thread[thread];
    (void)HeapReorderHeld(order, input);
  }
}

static void restoreOrder(Restore restore, HeapReorder order)
{
  HeapBytes from = restore->bytes;
  uint64_t place;
  Count held;
  Index i;

#define NUMBER(field) field = (__typeof__(field))HeapBytesGet(from);
  HeapSavedNUMBERS
#undef NUMBER
  held = order->held;
  order->held = 0;
  if (order->stating)
    restoreTable(restore, &order->gone, FALSE);
  if (order->windowed)
    restoreTable(restore, &order->window, FALSE);
  while ((place = HeapBytesGet(from)) != 0 && restoreGood(restore)) {
    HeapMove move = &order->move[(place - 1) % HeapMovesMAX];
    move->key = HeapBytesGet(from);
    move->time = HeapBytesGet(from);
    move->other = HeapBytesGet(from);
    move->thread = (uint32_t)HeapBytesGet(from);
  }
  if (held > HeapBoundEVENTS)
    from->failed = TRUE;
  for (i = 0; i < held && restoreGood(restore); ++i)
    restoreHeld(restore, order);
}

static void restoreCounts(Restore restore, HeapPast seen)
{
  Count types;
  Index i;

  seen->leader = HeapBytesGet(restore->bytes) != 0;
  seen->told = HeapBytesGet(restore->bytes) != 0;
  types = restoreCount(restore);
  free(seen->counts);
  seen->types = 0;
  seen->counts = calloc(types + 1, sizeof *seen->counts);
  if (seen->counts == NULL) {
    restore->res = ResMEMORY;
    return;
  }
  seen->types = types;
  for (i = 0; i < types; ++i)
    seen->counts[i] = HeapBytesGet(restore->bytes);
}

static void restorePast(Restore restore, Heap heap, Index number)
{
  HeapBytes from = restore->bytes;
  HeapPast past = calloc(1, sizeof *past);

  if (past == NULL) {
    restore->res = ResMEMORY;
    return;
  }
  HeapProcessDrop(heap, heap->process[number]);
  heap->past[number] = past;
  restoreCounts(restore, past);
#define NUMBER(field) field = (__typeof__(field))HeapBytesGet(from);
  NUMBER(past->threads) NUMBER(past->last) NUMBER(past->unsentLast) NUMBER(past->unsentFrom) HeapSavedTALLY((*past))
#undef NUMBER
}

/* restoreDead -- what there is to say of pools that were referred to, and are behind the `living` */
static void restoreDead(Restore restore, Count living)
{
  Count deads = restoreCount(restore);
  Index i;

  if (deads != restore->pools - living)
    restore->bytes->failed = TRUE;
  for (i = living; i < restore->pools && restoreGood(restore); ++i)
    restorePool(restore, restore->pool[i], FALSE);
}

/* restorePlans -- a process whose first event has come has plans of the types that have been met */
static void restorePlans(Restore restore, HeapProcess process)
{
  Count types = process->log->registry->count;
  Index i;

  if (!HeapProcessRegistry(process->heap, process, process->log))
    restore->res = ResMEMORY;
  for (i = 0; i < types && restoreGood(restore); ++i)
    if (process->seen.counts[i] != 0 && !process->plans[i].made)
      HeapPlanMake(&process->plans[i], &process->log->registry->types[i], process->log->header.widths.swapped);
}

static void restoreProcess(Restore restore, HeapProcess process)
{
  Count living;

  restore->process = process;
  restore->pools = 0;
#define NUMBER(field) field = (__typeof__(field))HeapBytesGet(restore->bytes);
  HeapSavedPROCESS
#undef NUMBER
  restoreCounts(restore, &process->seen);
  if (restoreGood(restore) && process->met)
    restorePlans(restore, process);
  HeapTableFinish(&process->arenas);
  restoreTable(restore, &process->arenas, FALSE);
  restorePools(restore);
  living = restore->pools;
  if (restoreGood(restore))
    restoreThreads(restore);
  if (restoreGood(restore))
    restoreOrder(restore, &process->order);
  if (restoreGood(restore))
    restoreDead(restore, living);
}

/* restoreSound -- do processes name processes that there are, and was memory enough until it was saved? */
static Bool restoreSound(Heap heap)
{
  HeapProcess kept = heap->kept > 0 && heap->kept <= heap->count ? heap->process[heap->kept - 1] : NULL;
  Bool sound = heap->res == ResOK && (heap->kept == 0 || (kept != NULL && kept->ended));
  Index i;

  for (i = 0; i < heap->count; ++i)
    if (heap->process[i] != NULL)
      sound = sound && heap->process[i]->child <= heap->count && heap->process[i]->order.res == ResOK;
  return sound;
}

/* restoreHeap -- `processes`: so many has the log */
static void restoreHeap(Restore restore, Heap heap, Count processes)
{
  HeapForks forks = &heap->forks;
  uint64_t number, before = 0;

#define NUMBER(field) field = (__typeof__(field))HeapBytesGet(restore->bytes);
  HeapSavedHEAP
#undef NUMBER
  forks->time = forks->next < forks->count ? forks->fork[forks->next].before : UINT64_MAX;
  GoneFrom(&heap->gone, heap->gone.next);
  while (restoreGood(restore) && (number = HeapBytesGet(restore->bytes)) != 0) {
    uint64_t saved = HeapBytesGet(restore->bytes);
    Bool can = number > before && number <= processes;
    HeapProcess process = can ? HeapProcessOf(heap, (Index)number - 1) : NULL;
    before = number;
    if (!can)
      restore->bytes->failed = TRUE;
    else if (process == NULL)
      restore->res = ResMEMORY;
    else if (saved == HeapSavedLIVES)
      restoreProcess(restore, process);
    else
      restorePast(restore, heap, (Index)number - 1);
  }
}

Res HeapRestore(Heap heap, HeapBytes from, Count clients)
{
  restoreStruct restore = {.bytes = from, .clients = clients};

  HeapClear(heap);
  if (HeapForksLook(heap) != ResOK || GoneLook(&heap->gone, heap->log) != ResOK)
    return ResMEMORY;
  restoreHeap(&restore, heap, LogProcesses(heap->log));
  if (from->size - from->next != HeapSavedPAD || !restoreSound(heap))
    from->failed = TRUE;
  free(restore.pool);
  free(restore.thread);
  if (!restoreGood(&restore)) {
    HeapClear(heap);
    return restore.res != ResOK ? restore.res : ResFORMAT;
  }
  return ResOK;
}
