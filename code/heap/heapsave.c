/* heapsave.c -- the whole state of a heap as bytes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools and threads are numbered as they are met, and what refers to one says its number plus one, or 0.  A pool that
 * was destroyed is saved if something refers to it: those come behind all others, as they are met.
 */
#include "heap/heapsave.h"

#include <string.h>

#include "base/grow.h"
#include "heap/heapbytes.h"
#include "heap/heapdata.h"
#include "heap/heapsavedata.h"

enum {
  saveObjectMAX = HeapBytesFourMAX + 2 * HeapBytesNumberMAX /* bytes */
};

typedef struct saveStruct {
  HeapBytes bytes;
  HeapProcess process;
  uint64_t now;
  Count pools;       /* met so far */
  HeapPool *dead;    /* of these, those destroyed, to be written yet */
  Count deads, deadCapacity;
} saveStruct, *Save;

/* savePoolRef -- the number of a pool, plus one */
static void savePoolRef(Save save, HeapPool pool)
{
  if (pool != NULL && pool->saved != save->process->saves) {
    if (!Grow(&save->dead, &save->deadCapacity, save->deads, sizeof *save->dead)) {
      save->bytes->failed = TRUE;
      return;
    }
    save->dead[save->deads++] = pool;
    pool->saved = save->process->saves;
    pool->mark = save->pools++;
  }
  HeapBytesPut(save->bytes, pool == NULL ? 0 : pool->mark + 1);
}

static inline void saveObject(HeapBytes to, HeapObject object, uint64_t *addr, uint64_t now)
{
  unsigned more = (object->align != 0) | (unsigned)(object->client != 0) << 1;
  uint64_t number[4] = {HeapBytesFold(object->addr - *addr), object->size, now - object->time,
                        (uint64_t)object->thread << HeapSavedSHIFT | object->away | (unsigned)object->told << 1 |
                          (unsigned)object->stale << 2 | more << 3};

  HeapBytesAddFour(to, number);
  if (UNLIKELY(more != 0)) {
    HeapBytesAdd(to, object->align);
    HeapBytesAdd(to, object->client);
  }
  *addr = object->addr;
}

/* saveTable -- the objects of a table, those that are away, too */
static void saveTable(Save save, HeapTable table)
{
  uint64_t addr = 0;
  Index i;

  HeapBytesPut(save->bytes, table->count);
  for (i = 0; i < table->capacity; ++i) {
    if (table->objects[i].addr != 0 && HeapBytesRoom(save->bytes, saveObjectMAX))
      saveObject(save->bytes, &table->objects[i], &addr, save->now);
  }
}

static void savePool(Save save, HeapPool pool)
{
  HeapBytes to = save->bytes;
  Size i;

  HeapBytesPut(to, pool->number);
  HeapBytesPut(to, pool->addr);
  HeapBytesPut(to, pool->arena);
  HeapBytesPut(to, pool->repeated);
  HeapBytesPut(to, pool->time);
  HeapBytesPut(to, pool->segments);
  HeapBytesPut(to, pool->reserved);
  HeapBytesPut(to, strlen(pool->class));
  for (i = 0; pool->class[i] != '\0'; ++i)
    HeapBytesPut(to, (unsigned char)pool->class[i]);
  if (pool->table.objects != NULL)
    saveTable(save, &pool->table);
}

/* savePools -- those that live; they are numbered before anything refers to them */
static void savePools(Save save)
{
  HeapPool pool;
  Index i;

  ++save->process->saves;
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = save->process->pool[i]; pool != NULL; pool = pool->next) {
      pool->saved = save->process->saves;
      pool->mark = save->pools++;
    }
  }
  HeapBytesPut(save->bytes, save->pools);
  for (i = 0; i < HeapBUCKETS; ++i) {
    for (pool = save->process->pool[i]; pool != NULL; pool = pool->next)
      savePool(save, pool);
  }
}

static void saveResize(Save save, HeapResize resize)
{
  uint64_t addr = 0;

  HeapBytesPut(save->bytes, (uint64_t)resize->state);
  HeapBytesPut(save->bytes, resize->ended);
  HeapBytesPut(save->bytes, resize->key);
  HeapBytesPut(save->bytes, resize->old);
  HeapBytesPut(save->bytes, resize->place);
  HeapBytesPut(save->bytes, resize->size);
  HeapBytesPut(save->bytes, resize->time);
  savePoolRef(save, resize->pool);
  if (resize->state == HeapResizeKNOWN && HeapBytesRoom(save->bytes, saveObjectMAX))
    saveObject(save->bytes, &resize->object, &addr, save->now);
}

static void saveThread(Save save, HeapThread thread)
{
  HeapBytes to = save->bytes;
  unsigned busy;

  HeapBytesPut(to, thread->number);
  HeapBytesPut(to, thread->id);
  HeapBytesPut(to, thread->serial);
  HeapBytesPut(to, thread->past | (unsigned)thread->inherited << 1 | (unsigned)thread->ended << 2);
  HeapBytesPut(to, (uint32_t)thread->swing);
  HeapBytesPut(to, thread->swung);
  HeapBytesPut(to, thread->gone);
  HeapBytesPut(to, thread->goneTime);
  savePoolRef(save, thread->gonePool);
  HeapBytesPut(to, thread->busy);
  for (busy = thread->busy; busy != 0; busy &= busy - 1)
    saveResize(save, &thread->resize[__builtin_ctz(busy)]);
}

static void saveThreads(Save save)
{
  HeapThread thread;
  Count count = 0;
  Index i;

  for (i = 0; i < HeapBUCKETS; ++i)
    for (thread = save->process->thread[i]; thread != NULL; thread = thread->next)
      thread->mark = count++;
  HeapBytesPut(save->bytes, count);
  for (i = 0; i < HeapBUCKETS; ++i)
    for (thread = save->process->thread[i]; thread != NULL; thread = thread->next)
      saveThread(save, thread);
}

static void saveHeld(Save save, HeapInput input)
{
  HeapBytes to = save->bytes;

  HeapBytesPut(to, input->kind);
  HeapBytesPut(to, input->time);
  HeapBytesPut(to, input->addr);
  HeapBytesPut(to, input->old);
  HeapBytesPut(to, input->size);
  HeapBytesPut(to, input->key);
  HeapBytesPut(to, input->align);
  HeapBytesPut(to, input->zero);
  HeapBytesPut(to, input->mark);
  savePoolRef(save, input->pool);
  HeapBytesPut(to, input->thread->mark);
}

static void saveOrder(Save save, HeapReorder order)
{
  HeapBytes to = save->bytes;
  Index i;

#define NUMBER(field) HeapBytesPut(to, (uint64_t)field);
  HeapSavedNUMBERS
#undef NUMBER
  if (order->stating)
    saveTable(save, &order->gone);
  if (order->windowed)
    saveTable(save, &order->window);
  for (i = 0; i < HeapMovesMAX; ++i)
    if (HeapReorderFresh(order, &order->move[i])) {
      HeapBytesPut(to, i + 1);
      HeapBytesPut(to, order->move[i].key);
      HeapBytesPut(to, order->move[i].time);
      HeapBytesPut(to, order->move[i].other);
      HeapBytesPut(to, order->move[i].thread);
    }
  HeapBytesPut(to, 0);
  for (i = order->oldest; i != 0; i = order->hold[i - 1].newer)
    saveHeld(save, &order->hold[i - 1].input);
}

static void saveCounts(Save save, HeapPast seen)
{
  Index i;

  HeapBytesPut(save->bytes, seen->leader);
  HeapBytesPut(save->bytes, seen->told);
  HeapBytesPut(save->bytes, seen->types);
  for (i = 0; i < seen->types; ++i)
    HeapBytesPut(save->bytes, seen->counts[i]);
}

static void savePast(Save save, HeapPast past)
{
  HeapBytes to = save->bytes;

  saveCounts(save, past);
#define NUMBER(field) HeapBytesPut(to, (uint64_t)field);
  NUMBER(past->threads) NUMBER(past->last) NUMBER(past->unsentLast) NUMBER(past->unsentFrom) HeapSavedTALLY((*past))
#undef NUMBER
}

static void saveProcess(Save save, HeapProcess process)
{
  Index i;

  HeapDrain(process->heap);
  save->process = process;
  save->now = process->order.now;
  save->pools = save->deads = 0;
#define NUMBER(field) HeapBytesPut(save->bytes, (uint64_t)field);
  HeapSavedPROCESS
#undef NUMBER
  saveCounts(save, &process->seen);
  saveTable(save, &process->arenas);
  savePools(save);
  saveThreads(save);
  saveOrder(save, &process->order);
  HeapBytesPut(save->bytes, save->deads);
  for (i = 0; i < save->deads; ++i)
    savePool(save, save->dead[i]);
}

Res HeapSave(HeapBytes to, Heap heap)
{
  saveStruct save = {.bytes = to};
  Index i;

#define NUMBER(field) HeapBytesPut(to, (uint64_t)field);
  HeapSavedHEAP
#undef NUMBER
  for (i = 0; i < heap->count; ++i) {
    if (heap->process[i] == NULL && heap->past[i] == NULL)
      continue;
    HeapBytesPut(to, i + 1);
    HeapBytesPut(to, heap->process[i] != NULL ? HeapSavedLIVES : HeapSavedPAST);
    if (heap->process[i] != NULL)
      saveProcess(&save, heap->process[i]);
    else
      savePast(&save, heap->past[i]);
  }
  HeapBytesPut(to, 0);
  free(save.dead);
  if (HeapBytesRoom(to, HeapSavedPAD)) {
    memset(to->bytes + to->size, 0, HeapSavedPAD);
    to->size += HeapSavedPAD;
  }
  return to->failed ? ResMEMORY : ResOK;
}
