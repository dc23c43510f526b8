/* heaptest.c -- the live heap: its table, and the order between threads restored
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * heaptest KIND FILE writes a synthetic log instead, for the end-to-end tests: see makers[] below.
 */
#include <stdio.h>

#include "heapsim.h"

#include "view/heap.h"
#include "view/heaporder.h"
#include "view/heaptable.h"

/* The table */

static void testTable(uint64_t seed)
{
  enum { ADDRESSES = 3000, STEPS = 200000 };
  static uint64_t oracle[ADDRESSES]; /* the size of the object at each address, or 0 */
  HeapTableStruct table;
  HeapObject object, sorted;
  uint64_t random = seed | 1;
  Count live = 0, wrong = 0, n;
  unsigned i;

  HeapTableInit(&table);
  TapOk(!HeapObjectLives(HeapTableSeek(&table, 16)), "an empty table has nothing");
  for (i = 1; i <= STEPS; ++i) {
    uint64_t which = TapRandom(&random) % ADDRESSES, addr = (which + 1) * 16;
    object = HeapTableSeek(&table, addr);
    if (!HeapObjectLives(object))
      object = NULL;
    if ((object != NULL) != (oracle[which] != 0) || (object != NULL && object->size != oracle[which]))
      ++wrong;
    if (object != NULL) {
      HeapTableDelete(&table, object);
      oracle[which] = 0;
      --live;
    } else if ((object = HeapTableInsert(&table, HeapTableSeek(&table, addr), addr)) != NULL) {
      object->size = oracle[which] = i;
      object->time = i;
      ++live;
    }
    if (i % 20000 == 0)
      HeapTableCheck(&table);
  }
  TapIs(wrong, 0, "every look-up of %d finds what is there", (int)STEPS);
  TapIs(table.count, live, "and the count is right");
  TapIs(HeapTableSort(&sorted, &n, &table), ResOK, "the objects can be sorted");
  for (i = 1; i < live; ++i)
    wrong += sorted[i - 1].time >= sorted[i].time;
  TapIs(wrong, 0, "by age");
  free(sorted);
  HeapTableFinish(&table);
}

/* The order: a client that believes nothing */

enum { ADDRESSES = 1 << 20, OBJECTS = 1 << 20 };

typedef struct WitnessStruct {
  uint64_t time;
  uint64_t live, objects;
  uint64_t twice;       /* addresses that were live twice */
  uint64_t absent;      /* frees and resizes of what was not there */
  uint64_t backwards;   /* operations earlier than the one before */
  uint64_t presumed, beside;
  uint64_t count[HeapARENADESTROY + 1];
  uint64_t at[ADDRESSES];  /* serial of the object at address i * 16 */
  uint64_t size[ADDRESSES];
} WitnessStruct, *Witness;

static void witness(void *data, HeapOperation operation)
{
  Witness w = data;
  HeapObject object = operation->object;
  uint64_t i = object->addr / 16 % ADDRESSES;

  w->backwards += operation->time < w->time;
  w->time = operation->time;
  ++w->count[operation->kind];
  w->presumed += operation->presumed;
  w->beside += operation->beside;
  if (operation->beside) {
    if (operation->kind == HeapALLOC) {
      object->client = (uint32_t)++w->objects;
      ++w->live;
    } else if (operation->kind == HeapFREE) {
      --w->live;
    }
    return;
  }
  switch (operation->kind) {
  case HeapALLOC:
    w->twice += w->at[i] != 0;
    w->at[i] = object->client = (uint32_t)++w->objects;
    w->size[i] = object->size;
    ++w->live;
    break;
  case HeapFREE:
    w->absent += w->at[i] != object->client;
    w->at[i] = 0;
    --w->live;
    break;
  case HeapRESIZEBEGIN:
    w->absent += w->at[i] != object->client;
    w->at[i] = 0;
    break;
  case HeapRESIZE:
  case HeapRESIZEFAIL:
    w->twice += w->at[i] != 0;
    w->at[i] = object->client;
    w->size[i] = object->size;
    break;
  default:
    break;
  }
}

static Witness witnessRun(HeapTally tallyReturn, Sim sim, HeapPool pool)
{
  static HeapOrderStruct order;
  static HeapThreadStruct threads[simTHREADS];
  static WitnessStruct w;
  Index i;

  memset(&w, 0, sizeof w);
  memset(pool, 0, sizeof *pool);
  memset(threads, 0, sizeof threads);
  HeapTableInit(&pool->table);
  HeapOrderInit(&order, 0, &(HeapClientStruct){&w, witness, witness, witness, witness});
  for (i = 0; i < sim->count; ++i) {
    SimEvent event = &sim->events[i];
    HeapInputStruct input = {.time = event->stamp, .addr = event->addr, .old = event->old, .size = event->size,
                             .pool = pool, .thread = &threads[event->thread], .kind = (uint8_t)event->kind};
    threads[event->thread].number = event->thread;
    HeapOrderEvent(&order, &input);
    if (i % 10007 == 0)
      HeapOrderCheck(&order);
  }
  HeapOrderSettle(&order);
  for (i = 0; i < simTHREADS; ++i)
    HeapOrderAbandon(&order, &threads[i]);
  HeapOrderCheck(&order);
  HeapTableCheck(&pool->table);
  *tallyReturn = order.tally;
  return &w;
}

int main(int argc, char **argv)
{
  SimStruct sim;
  SimParamsStruct p = {.seed = TapSeed(), .threads = 4, .events = 300000, .live = 500, .jitter = 900, .step = 50, .strangers = 50};
  HeapPoolStruct pool;
  HeapTallyStruct t;
  Witness w;
  testTable(p.seed);
  if (argc > 1) p.threads = atoi(argv[1]);
  if (argc > 2) p.live = atoi(argv[2]);
  if (argc > 3) p.jitter = atoi(argv[3]);
  if (argc > 4) p.step = atoi(argv[4]);
  if (argc > 5) p.strangers = atoi(argv[5]);
  SimRun(&sim, &p);
  w = witnessRun(&t, &sim, &pool);
  printf("# events %zu repairs %lu overlaps %lu unmatched %lu unfinished %lu failed %lu; twice %lu absent %lu backwards %lu live %lu true %zu beside %lu\n", sim.count, t.repairs, t.overlaps, t.unmatched, t.unfinished, t.failed, w->twice, w->absent, w->backwards, w->live, sim.live, w->beside);
  SimFinish(&sim);
  return TapDone();
}
