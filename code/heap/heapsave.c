/* heapsave.c -- the whole state of a heap as bytes, and back
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * There is one routine for each structure, which writes the fields or reads them (`reads`), so that both directions
 * have the same fields in the same order.  NUMBER(field) is one number in either direction.
 *
 * Pools and threads are written in the order of their numbers, in which they were put at the fronts of their chains, so
 * that the chains are as they were.  A reference to a pool is its place in this order plus one, or 0 for none.  A pool
 * that was destroyed is written only if something refers to it; those pools come last, in the order of references.
 *
 * The bytes may come from a hostile file.  Each number is checked before it indexes or counts anything, and saveTake
 * subtracts each allocation from a bound before it is made.
 */
#include "heap/heapsave.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "heap/heapdata.h"

enum {
  saveSHIFT = 5, /* of an object's thread; below it: away, told, stale, align is not 0, client is not 0 */
  saveObjectMAX = HeapBytesFourMAX + 2 * LebMAX, /* bytes */
  savePAD = HeapBytesFourMAX /* zeros at the end, so that four numbers can be read from any place before them */
};

enum { saveLIVES = 1, savePAST };

typedef struct saveStruct {
  HeapBytes bytes;
  Bool reads;          /* the heap is read from the bytes; else it is written */
  Heap heap;
  Count clients;       /* reading: the largest `client` that an object may have, */
  Size room;           /* and the bytes of memory that may still be taken */
  Res res;             /* ResMEMORY once there is none */
  HeapProcess process; /* the process that is being saved, and its parts: */
  HeapPool *pool;      /* owned; pools by their order in the bytes */
  Count pools, poolCapacity;
  HeapThread *thread;  /* owned; threads by their number */
} saveStruct, *Save;

#define NUMBER(field) ((field) = (__typeof__(field))saveNumber(save, (uint64_t)(field)))

static Bool saveGood(Save save)
{
  return save->res == ResOK && !save->bytes->failed;
}

/* saveNumber -- write the number; or, reading, return the one that is read */
static uint64_t saveNumber(Save save, uint64_t number)
{
  if (save->reads)
    return HeapBytesGet(save->bytes);
  HeapBytesPut(save->bytes, number);
  return number;
}

/* saveCount -- the same for the number of things that take a byte at least; an impossible one becomes 0 */
static Count saveCount(Save save, Count count)
{
  uint64_t number = saveNumber(save, count);

  if (save->reads && number > save->bytes->size - save->bytes->next) {
    save->bytes->failed = TRUE;
    return 0;
  }
  return (Count)number;
}

/* saveTake -- reading: memory for so many things is going to be taken; FALSE: there is no room for them */
static Bool saveTake(Save save, Count count, Size size)
{
  if (!save->reads)
    return TRUE;
  if (count > save->room / size) {
    save->bytes->failed = TRUE;
    return FALSE;
  }
  save->room -= count * size;
  return TRUE;
}

/* Objects */

/* saveObjectPut -- write an object; *addr is the previous object's address */
static inline void saveObjectPut(HeapBytes to, HeapObject object, uint64_t *addr, uint64_t now)
{
  unsigned more = (object->align != 0) | (unsigned)(object->client != 0) << 1;
  uint64_t number[4] = {HeapBytesFold(object->addr - *addr), object->size, now - object->time,
                        (uint64_t)object->thread << saveSHIFT | object->away | (unsigned)object->told << 1 |
                          (unsigned)object->stale << 2 | more << 3};

  HeapBytesAddFour(to, number);
  if (UNLIKELY(more != 0)) {
    HeapBytesAdd(to, object->align);
    HeapBytesAdd(to, object->client);
  }
  *addr = object->addr;
}

/* saveObjectGet -- read one */
static inline void saveObjectGet(HeapObject object, HeapBytes from, uint64_t *addr, uint64_t now)
{
  uint64_t number[4];

  HeapBytesGetFour(number, from);
  object->addr = *addr += HeapBytesUnfold(number[0]);
  object->size = number[1] & HeapSizeMAX;
  object->time = now - number[2];
  object->thread = (uint32_t)(number[3] >> saveSHIFT);
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

/* saveFits -- do the object's thread and `client` exist? */
static Bool saveFits(Save save, HeapObject object)
{
  return object->thread < save->process->threads && object->client <= save->clients;
}

/* saveTableGet -- read `count` objects into a table; `objects`: each has a thread, and something of the client's */
static void saveTableGet(Save save, HeapTable table, Count count, Bool objects)
{
  uint64_t addr = 0;

  HeapTableFinish(table);
  if (!saveTake(save, HeapTableCapacity(count), sizeof(HeapObjectStruct)))
    return;
  if (HeapTableMake(table, count) != ResOK)
    save->res = ResMEMORY;
  for (; count > 0 && saveGood(save); --count) {
    HeapObjectStruct object;
    HeapObject place;
    saveObjectGet(&object, save->bytes, &addr, save->process->order.now);
    place = HeapTableSeek(table, addr);
    if (UNLIKELY(addr == 0 || place->addr != 0 || (objects && !saveFits(save, &object))))
      save->bytes->failed = TRUE;
    else if (UNLIKELY((place = HeapTableInsert(table, place, addr)) == NULL))
      save->res = ResMEMORY;
    else
      *place = object;
  }
}

/* saveTable -- the objects of a table, including those that are away */
static void saveTable(Save save, HeapTable table, Bool objects)
{
  Count count = saveCount(save, table->count);
  uint64_t addr = 0;
  Index i;

  if (save->reads) {
    saveTableGet(save, table, count, objects);
    return;
  }
  for (i = 0; i < table->capacity; ++i)
    if (table->objects[i].addr != 0 && HeapBytesRoom(save->bytes, saveObjectMAX))
      saveObjectPut(save->bytes, &table->objects[i], &addr, save->process->order.now);
}

/* saveObject -- an object that is in no table */
static void saveObject(Save save, HeapObject object)
{
  uint64_t addr = 0;

  if (save->reads) {
    saveObjectGet(object, save->bytes, &addr, save->process->order.now);
    save->bytes->failed |= !saveFits(save, object);
  } else if (HeapBytesRoom(save->bytes, saveObjectMAX)) {
    saveObjectPut(save->bytes, object, &addr, save->process->order.now);
  }
}

/* Pools */

/* savePoolMeet -- the next pool; if it is NULL, a new one, still empty; NULL: no memory, or no room */
static HeapPool savePoolMeet(Save save, HeapPool pool)
{
  if (pool == NULL && !saveTake(save, 1, sizeof *pool))
    return NULL;
  if (!Grow(&save->pool, &save->poolCapacity, save->pools, sizeof *save->pool) ||
      (pool == NULL && (pool = calloc(1, sizeof *pool)) == NULL)) {
    save->res = ResMEMORY;
    return NULL;
  }
  pool->mark = save->pools;
  return save->pool[save->pools++] = pool;
}

/* savePoolRef -- a reference to a pool.  A pool without a number was destroyed. */
static void savePoolRef(Save save, HeapPool *link)
{
  HeapPool pool = *link;
  uint64_t number;

  if (pool != NULL && (pool->mark >= save->pools || save->pool[pool->mark] != pool))
    pool = savePoolMeet(save, pool);
  number = saveNumber(save, pool == NULL ? 0 : pool->mark + 1);
  if (!save->reads)
    return;
  if (number == save->pools + 1 && (pool = savePoolMeet(save, NULL)) != NULL) {
    pool->next = save->process->dead;
    save->process->dead = pool;
  }
  save->bytes->failed |= number > save->pools;
  *link = number == 0 || number > save->pools ? NULL : save->pool[number - 1];
}

static void savePool(Save save, HeapPool pool, Bool lives)
{
  Index i;

  NUMBER(pool->number);
  NUMBER(pool->addr);
  NUMBER(pool->arena);
  NUMBER(pool->repeated);
  NUMBER(pool->time);
  NUMBER(pool->segments);
  NUMBER(pool->reserved);
  for (i = 0; i < HeapClassMAX - 1; ++i)
    if ((pool->class[i] = (char)saveNumber(save, (unsigned char)pool->class[i])) == '\0')
      break;
  if (lives)
    saveTable(save, &pool->table, TRUE);
}

static void savePools(Save save)
{
  HeapPool *pools = NULL;
  Count count = 0;
  Index i;

  if (!save->reads && HeapPoolsByNumber(&pools, &count, save->process) != ResOK)
    save->res = ResMEMORY;
  for (i = 0; i < count && saveGood(save); ++i)
    (void)savePoolMeet(save, pools[i]);
  free(pools);
  count = saveCount(save, count);
  for (i = 0; i < count && saveGood(save); ++i) {
    HeapPool pool = save->reads ? savePoolMeet(save, NULL) : save->pool[i], *bucket;
    if (pool == NULL)
      return;
    savePool(save, pool, TRUE);
    if (save->reads) {
      bucket = HeapPoolBucket(save->process, pool->addr);
      pool->next = *bucket;
      *bucket = pool;
    }
  }
}

/* Threads */

static void saveResize(Save save, HeapResize resize)
{
  NUMBER(resize->state);
  NUMBER(resize->ended);
  NUMBER(resize->key);
  NUMBER(resize->old);
  NUMBER(resize->place);
  NUMBER(resize->size);
  NUMBER(resize->time);
  savePoolRef(save, &resize->pool);
  if (resize->state > HeapResizeKNOWN || resize->pool == NULL)
    save->bytes->failed = TRUE;
  else if (resize->state == HeapResizeKNOWN)
    saveObject(save, &resize->object);
}

static void saveThread(Save save, HeapThread thread)
{
  unsigned busy;

  NUMBER(thread->id);
  NUMBER(thread->serial);
  NUMBER(thread->past);
  NUMBER(thread->inherited);
  NUMBER(thread->ended);
  NUMBER(thread->swing);
  NUMBER(thread->swung);
  NUMBER(thread->gone);
  NUMBER(thread->goneTime);
  savePoolRef(save, &thread->gonePool);
  NUMBER(thread->busy);
  thread->busy &= (1u << HeapResizePLACES) - 1;
  for (busy = thread->busy; busy != 0; busy &= busy - 1)
    saveResize(save, &thread->resize[__builtin_ctz(busy)]);
}

static void saveThreads(Save save)
{
  HeapProcess process = save->process;
  HeapThread thread, *bucket;
  Count count;
  Index i;

  free(save->thread);
  save->thread = NULL;
  if (!saveTake(save, process->threads, sizeof *thread + sizeof thread))
    return;
  save->res = HeapThreadsByNumber(&save->thread, &count, process);
  for (i = 0; i < count && saveGood(save); ++i) {
    if (save->reads && (save->thread[i] = calloc(1, sizeof *thread)) == NULL) {
      save->res = ResMEMORY;
      return;
    }
    thread = save->thread[i];
    saveThread(save, thread);
    if (save->reads) {
      thread->number = i;
      bucket = HeapThreadBucket(process, thread->id);
      thread->next = *bucket;
      *bucket = thread;
    }
  }
}

/* The held events, and the remembered order of events */

static void saveHeld(Save save, HeapInput input)
{
  uint64_t thread = saveNumber(save, save->reads ? 0 : input->thread->number);

  NUMBER(input->kind);
  NUMBER(input->time);
  NUMBER(input->addr);
  NUMBER(input->old);
  NUMBER(input->size);
  NUMBER(input->key);
  NUMBER(input->site);
  NUMBER(input->align);
  NUMBER(input->zero);
  NUMBER(input->mark);
  savePoolRef(save, &input->pool);
  if (!saveGood(save) || !save->reads)
    return;
  if (thread >= save->process->threads || input->kind > HeapInLIVE || input->pool == NULL ||
      input->pool->table.objects == NULL) {
    save->bytes->failed = TRUE;
  } else {
    input->thread = save->thread[thread];
    (void)HeapReorderHeld(&save->process->order, input);
  }
}

/* saveHolds -- the events that are held back, in the order in which they came */
static void saveHolds(Save save, HeapReorder order)
{
  uint64_t count = saveNumber(save, order->held);
  Index i, place = order->oldest;

  save->bytes->failed |= count > HeapBoundEVENTS;
  for (i = 0; i < count && saveGood(save); ++i) {
    HeapInputStruct input = {.pool = NULL};
    if (!save->reads) {
      input = order->hold[place - 1].input;
      place = order->hold[place - 1].newer;
    }
    saveHeld(save, &input);
  }
}

/* saveMoves -- the moves that a held event may need, each after its place plus one; then 0 */
static void saveMoves(Save save, HeapReorder order)
{
  uint64_t place = 0;

  do {
    if (!save->reads)
      while (place++ < HeapMovesMAX && !HeapReorderFresh(order, &order->move[place - 1]))
        ;
    place = saveNumber(save, place > HeapMovesMAX ? 0 : place);
    if (place != 0) {
      HeapMove move = &order->move[(place - 1) % HeapMovesMAX];
      NUMBER(move->key);
      NUMBER(move->time);
      NUMBER(move->other);
      NUMBER(move->thread);
    }
  } while (place != 0 && saveGood(save));
}

static void saveSums(Save save, HeapTally tally, HeapSum sum)
{
  uint64_t *tallied = (uint64_t *)tally, *summed = (uint64_t *)sum;
  Index i;

  for (i = 0; i < HeapTallyNUMBERS; ++i)
    NUMBER(tallied[i]);
  for (i = 0; i < HeapSumNUMBERS; ++i)
    NUMBER(summed[i]);
}

/* saveOrder -- the members of HeapReorder except `now`, on which the times of objects depend */
static void saveOrder(Save save, HeapReorder order)
{
  if (order->res != ResOK)
    save->res = order->res;
  NUMBER(order->key);
  saveSums(save, &order->tally, &order->sum);
  NUMBER(order->stateFrom);
  NUMBER(order->stateTo);
  NUMBER(order->several);
  NUMBER(order->doubt);
  NUMBER(order->stating);
  if (order->stating)
    saveTable(save, &order->gone, FALSE);
  NUMBER(order->windowed);
  if (order->windowed)
    saveTable(save, &order->window, FALSE);
  saveMoves(save, order);
  saveHolds(save, order);
}

/* Processes */

static void saveSeen(Save save, HeapSeen seen)
{
  Count types = saveCount(save, seen->types);
  Index i;

  if (!saveTake(save, types, sizeof *seen->counts))
    return;
  if (!HeapSeenTypes(seen, types)) {
    save->res = ResMEMORY;
    return;
  }
  for (i = 0; i < types; ++i)
    NUMBER(seen->counts[i]);
  NUMBER(seen->threads);
  NUMBER(seen->leader);
  NUMBER(seen->told);
  NUMBER(seen->unsentLast);
  NUMBER(seen->unsentFrom);
  NUMBER(seen->on);
  NUMBER(seen->last);
  NUMBER(seen->doubt);
  saveSums(save, &seen->tally, &seen->sum);
}

/* savePlans -- a process of which an event has come has plans for the types that were met */
static void savePlans(Save save, HeapProcess process)
{
  Registry registry = process->log->registry;
  Index i;

  if (!HeapProcessRegistry(process->heap, process, process->log))
    save->res = ResMEMORY;
  for (i = 0; i < registry->count && saveGood(save); ++i)
    if (process->seen.counts[i] != 0 && !process->plans[i].made)
      HeapPlanMake(&process->plans[i], &registry->types[i], process->log->header.widths.swapped);
}

static void saveProcess(Save save, HeapProcess process)
{
  Index i, living;

  save->process = process;
  save->pools = 0;
  process->threads = saveCount(save, process->threads);
  NUMBER(process->order.now);
  NUMBER(process->met);
  NUMBER(process->ended);
  NUMBER(process->last);
  NUMBER(process->beside);
  NUMBER(process->pools);
  NUMBER(process->inherited);
  NUMBER(process->child);
  NUMBER(process->forker);
  NUMBER(process->childTime);
  saveSeen(save, &process->seen);
  if (save->reads && process->met && saveGood(save))
    savePlans(save, process);
  saveTable(save, &process->arenas, FALSE);
  savePools(save);
  living = save->pools;
  if (saveGood(save))
    saveThreads(save);
  if (saveGood(save))
    saveOrder(save, &process->order);
  for (i = living; i < save->pools && saveGood(save); ++i)
    savePool(save, save->pool[i], FALSE);
}

/* savePast -- the record of a process that has ended; its place exists */
static void savePast(Save save, Index number)
{
  HeapSeen *past = &save->heap->place[number].past;

  if (save->reads) {
    HeapProcessDrop(save->heap, save->heap->place[number].process);
    *past = calloc(1, sizeof **past);
  }
  if (*past == NULL)
    save->res = ResMEMORY;
  else
    saveSeen(save, *past);
}

/* saveNext -- the number of the next process, plus one, and in *isReturn its state; 0: there are no more */
static uint64_t saveNext(uint64_t *isReturn, Save save, uint64_t number)
{
  Heap heap = save->heap;
  uint64_t before = number;

  if (!save->reads)
    while (number++ < heap->count && heap->place[number - 1].process == NULL && heap->place[number - 1].past == NULL)
      ;
  number = saveNumber(save, save->reads || number > heap->count ? 0 : number);
  if (number == 0)
    return 0;
  save->bytes->failed |= number <= before || number > LogProcesses(heap->log);
  *isReturn = saveNumber(save, save->reads || heap->place[number - 1].process != NULL ? saveLIVES : savePAST);
  return saveGood(save) ? number : 0;
}

static void saveHeap(Save save)
{
  Heap heap = save->heap;
  uint64_t number = 0, is;

  save->bytes->failed |= saveNumber(save, HeapSaveVERSION) != HeapSaveVERSION;
  NUMBER(heap->objectTypes);
  NUMBER(heap->living);
  NUMBER(heap->kept);
  NUMBER(heap->times.next);
  NUMBER(heap->off.times);
  NUMBER(heap->off.ns);
  NUMBER(heap->off.until);
  if (heap->res != ResOK)
    save->res = heap->res;
  while (saveGood(save) && (number = saveNext(&is, save, number)) != 0) {
    HeapProcess process;
    if (!saveTake(save, 1, is == saveLIVES ? sizeof *process : sizeof(HeapSeenStruct)))
      break;
    process = save->reads || is == saveLIVES ? HeapProcessOf(heap, (Index)number - 1) : NULL;
    if (is != saveLIVES && (process != NULL || !save->reads))
      savePast(save, (Index)number - 1);
    else if (process != NULL)
      saveProcess(save, process);
    else
      save->res = ResMEMORY;
  }
  free(save->pool);
  free(save->thread);
}

Res HeapSave(HeapBytes to, Heap heap)
{
  saveStruct save = {.bytes = to, .heap = heap};

  AVER(to->size <= to->capacity);
  HeapCatchUp(heap);
  AVER(heap->res != ResOK || HeapCheck(heap));
  saveHeap(&save);
  if (HeapBytesRoom(to, savePAD)) {
    memset(to->bytes + to->size, 0, savePAD);
    to->size += savePAD;
  }
  return saveGood(&save) ? ResOK : ResMEMORY;
}

Res HeapRestore(Heap heap, HeapBytes from, Count clients, Size room)
{
  saveStruct save = {.bytes = from, .reads = TRUE, .heap = heap, .clients = clients, .room = room};

  HeapClear(heap);
  save.res = HeaderTimesLook(&heap->times, heap->log);
  if (saveGood(&save))
    saveHeap(&save);
  from->failed |= from->size - from->next != savePAD || !HeaderTimesFrom(&heap->times, heap->times.next) ||
                  !HeapCheck(heap);
  if (saveGood(&save))
    return ResOK;
  HeapClear(heap);
  return save.res != ResOK ? save.res : ResFORMAT;
}
