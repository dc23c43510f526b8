/* heaptest.c -- the live heap: its table, and the order between threads restored
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * heaptest KIND FILE writes a synthetic log instead, for the end-to-end tests: see makeLog below.
 */
#include <stdio.h>
#include <time.h>

#include "heap/heap.h"
#include "heap/heapreorder.h"
#include "heap/heapstatedump.h"
#include "heap/heaptable.h"
#include "heapsim.h"
#include "logmake.h"

/* The table */

static void testTable(uint64_t seed)
{
  enum { PLACES = 3000, STEPS = 200000 };
  static uint64_t oracle[PLACES]; /* the size of the object at each address, or 0 */
  HeapTableStruct table;
  HeapObject object, sorted;
  uint64_t random = seed | 1;
  Count live = 0, wrong = 0, n;
  unsigned i;

  HeapTableInit(&table);
  TapOk(!HeapObjectLives(HeapTableSeek(&table, 16)), "an empty table has nothing");
  for (i = 1; i <= STEPS; ++i) {
    uint64_t which = TapRandom(&random) % PLACES, addr = (which + 1) * 16;
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
      wrong += !HeapTableCheck(&table);
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

/* testTableChosen -- addresses that were chosen so that all have one place */
static void testTableChosen(void)
{
  enum { CHOSEN = 5000, FAR = 1100 };
  HeapTableStruct table, other;
  uint64_t inverse = HeapTableFACTOR, addr;
  Count found = 0, furthest = 0;
  Index i, distance;

  for (i = 0; i < 6; ++i)
    inverse *= 2 - HeapTableFACTOR * inverse;
  if (HeapTableInit(&table) != ResOK)
    makeFail("no memory");
  for (i = 1; i <= CHOSEN; ++i)
    (void)HeapTablePut(&table, i * inverse);
  for (i = 0; i < table.capacity; ++i)
    if ((addr = table.objects[i].addr) != 0) {
      distance = (i - heapTableHome(&table, addr)) & (table.capacity - 1);
      furthest = distance > furthest ? distance : furthest;
    }
  TapOk(HeapTableCheck(&table) && table.count == CHOSEN && furthest < FAR,
        "addresses that would all have one place get others: none is further than %zu from its own", furthest);
  if (HeapTableShare(&other, &table) != ResOK || HeapTableOwn(&other) != ResOK)
    makeFail("no memory");
  HeapTableFinish(&table);
  for (i = 1; i <= CHOSEN; ++i)
    found += HeapTableSeek(&other, i * inverse)->addr == i * inverse;
  TapIs(found, CHOSEN, "a copy has them where they are looked for");
  HeapTableFinish(&other);
}

/* testTableCheck -- each thing that is always true of a table, made untrue */
static void testTableCheck(void)
{
  HeapTableStruct table, other;
  HeapObject object;
  uint64_t addr;

  if (HeapTableInit(&table) != ResOK)
    makeFail("no memory");
  for (addr = 16; addr <= 800; addr += 16)
    (void)HeapTablePut(&table, addr);
  TapOk(HeapTableCheck(&table), "a table with 50 objects is as it should be");
  PLANT(table.capacity, table.capacity - 1, HeapTableCheck(&table), "a capacity that is no power of two");
  PLANT(table.shift, table.shift + 1, HeapTableCheck(&table), "a shift of another capacity");
  PLANT(table.limit, table.count - 1, HeapTableCheck(&table), "more objects than the limit");
  PLANT(table.limit, table.capacity, HeapTableCheck(&table), "a limit that leaves no empty place");
  PLANT(table.count, table.count - 1, HeapTableCheck(&table), "a count that is wrong");
  object = HeapTableSeek(&table, 16);
  PLANT(object->addr, 0, HeapTableCheck(&table), "an object that is missing");
  PLANT(object->addr, 32, HeapTableCheck(&table), "an object where no search finds it");
  if (HeapTableShare(&other, &table) != ResOK)
    makeFail("no memory");
  PLANT(*table.shares, 0, HeapTableCheck(&table), "shared objects that nobody shares");
  HeapTableFinish(&other);
  HeapTableFinish(&table);
}

/* The order: a client that believes nothing */

enum { ADDRESSES = 1 << 16 };

typedef struct ProcessWatchStruct {
  uint64_t time;
  uint64_t live, objects;
  uint64_t twice;       /* addresses that were live twice */
  uint64_t absent;      /* frees and resizes of what was not there */
  uint64_t backwards;   /* operations earlier than the one before */
  uint64_t presumed, beside;
  uint64_t resized;     /* objects that became known by a resize */
  uint64_t count[HeapARENADESTROY + 1];
  uint64_t at[ADDRESSES];  /* serial of the object at address i * 16 */
  uint64_t size[ADDRESSES];
} ProcessWatchStruct, *ProcessWatch;

static void watcher(void *data, HeapOperation operation)
{
  ProcessWatch w = data;
  HeapObject object = operation->object;
  uint64_t i = object->addr / 16 % ADDRESSES;

  w->backwards += operation->time < w->time;
  w->time = operation->time;
  ++w->count[operation->kind];
  w->presumed += operation->presumed;
  w->beside += operation->beside;
  w->resized += operation->resized;
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

static HeapReorderStruct order;
static HeapPoolStruct pool;
static HeapThreadStruct threads[simTHREADS];
static ProcessWatchStruct seen;

static void begin(void)
{
  Index i;

  memset(&seen, 0, sizeof seen);
  memset(&pool, 0, sizeof pool);
  memset(threads, 0, sizeof threads);
  for (i = 0; i < simTHREADS; ++i)
    threads[i].number = i;
  HeapTableInit(&pool.table);
  HeapReorderInit(&order, 0, &(HeapClientStruct){&seen, watcher, watcher, watcher, watcher, FALSE});
  order.several = TRUE;
}

static void end(void)
{
  Index i;

  HeapReorderSettle(&order);
  for (i = 0; i < simTHREADS; ++i)
    HeapReorderAbandon(&order, &threads[i]);
  if (!HeapReorderCheck(&order) || !HeapTableCheck(&pool.table))
    makeFail("the order or the table is not as it should be");
}

static void event(uint64_t time, unsigned thread, HeapInputKind kind, uint64_t addr, uint64_t old, uint64_t size)
{
  HeapInputStruct input = {.time = time, .addr = addr, .old = old, .size = size, .pool = &pool,
                           .thread = &threads[thread], .kind = (uint8_t)kind};

  HeapReorderEvent(&order, &input);
}

/* testOrderCheck -- the same of an order with four events held back, three of them in one bucket, two of a thread */
static void testOrderCheck(void)
{
  HeapHold oldest, second, behind;
  Index bucket = heapOrderBucket(0x100);

  begin();
  event(1000, 0, HeapInFREE, 0x100, 0, 0);
  event(1010, 1, HeapInFREE, 0x100, 0, 0);
  event(1020, 1, HeapInFREE, 0x900, 0, 0);
  event(1030, 0, HeapInFREE, 0x100, 0, 0);
  oldest = &order.hold[order.oldest - 1];
  second = &order.hold[oldest->newer - 1];
  behind = &order.hold[order.newest - 1];
  TapOk(order.held == 4 && HeapReorderCheck(&order), "an order that holds four events is as it should be");
  PLANT(order.held, HeapBoundEVENTS + 1, HeapReorderCheck(&order), "more held events than may be");
  PLANT(order.used, 3, HeapReorderCheck(&order), "more than places were used");
  PLANT(order.held, 3, HeapReorderCheck(&order), "a count that is wrong");
  PLANT(order.oldest, 0, HeapReorderCheck(&order), "a list without a beginning");
  PLANT(order.newest, order.oldest, HeapReorderCheck(&order), "a list with another end");
  PLANT(second->older, 0, HeapReorderCheck(&order), "neighbours that do not agree");
  PLANT(second->arrival, oldest->arrival, HeapReorderCheck(&order), "events out of the order of arrival");
  PLANT(order.bucket[bucket].first, 0, HeapReorderCheck(&order), "a bucket without its events");
  PLANT(order.bucket[bucket].last, order.bucket[bucket].first, HeapReorderCheck(&order), "a bucket with another end");
  PLANT(second->before, 0, HeapReorderCheck(&order), "neighbours in a bucket that do not agree");
  PLANT(second->input.addr, 0x900, HeapReorderCheck(&order), "an event in another address's bucket");
  PLANT(oldest->next, 0, HeapReorderCheck(&order), "a queue without its second event");
  PLANT(oldest->last, order.oldest, HeapReorderCheck(&order), "a queue with another end");
  PLANT(behind->input.thread, &threads[1], HeapReorderCheck(&order), "an event in another thread's queue");
  PLANT(behind->arrival, oldest->arrival, HeapReorderCheck(&order), "a queue out of the order of arrival");
  PLANT(second->input.thread, &threads[0], HeapReorderCheck(&order), "two queues of one thread on one address");
  PLANT(order.bucket[bucket].due, 3, HeapReorderCheck(&order), "more due events than a bucket has");
  PLANT(order.dirty[0], 1, HeapReorderCheck(&order), "a bucket that was not tried again");
  end();
  HeapTableFinish(&pool.table);
}

static void replaySim(Sim sim)
{
  Index i;

  begin();
  for (i = 0; i < sim->count; ++i) {
    SimEvent e = &sim->events[i];
    event(e->stamp, e->thread, e->kind, e->addr, e->old, e->size);
    if (i % 10007 == 0 && !HeapReorderCheck(&order))
      makeFail("the order is not as it should be");
  }
  end();
}

/* wrongAtEnd -- objects that live in the simulation, and not, or with another size, in what the witness saw; and the
 * other way */
static Count wrongAtEnd(Sim sim)
{
  Count wrong = seen.live != sim->live || pool.table.count != sim->live;
  Index i;

  for (i = 0; i < sim->live; ++i) {
    HeapObject object = HeapTableSeek(&pool.table, sim->object[i].addr);
    wrong += !HeapObjectLives(object) || object->size != sim->object[i].size ||
             seen.size[object->addr / 16] != object->size;
  }
  return wrong;
}

/* wrongCounts -- how far what was told differs from what was done, in number, though it may have been put right: each
 * allocation is one, each free, and each resize, also one that is told beside others */
static Count wrongCounts(Sim sim)
{
  uint64_t did[HeapInLIVE + 1] = {0}, failed = 0, told[4], true[4];
  Count wrong = 0;
  Index i;

  for (i = 0; i < sim->count; ++i) {
    ++did[sim->events[i].kind];
    failed += sim->events[i].kind == HeapInEND && sim->events[i].addr == 0;
  }
  told[0] = seen.count[HeapALLOC] - seen.resized;
  told[1] = seen.count[HeapFREE] - seen.presumed + order.tally.unmatched;
  told[2] = seen.count[HeapRESIZE] + seen.count[HeapRESIZEPAST] + seen.resized;
  told[3] = order.tally.failed;
  true[0] = did[HeapInALLOC];
  true[1] = did[HeapInFREE];
  true[2] = did[HeapInEND] - failed;
  true[3] = failed;
  for (i = 0; i < ARRAY_LENGTH(told); ++i)
    wrong += told[i] > true[i] ? told[i] - true[i] : true[i] - told[i];
  return wrong;
}

/* Random threads: everything put right where stamps are off by less than what happens in between, and what can be
 * said at all where they are not. */
static void testRandom(uint64_t seed)
{
  static const struct {
    unsigned threads, step, strangers;
    Bool exact;
  } cases[] = {{1, 50, 0, TRUE}, {2, 4000, 50, TRUE}, {4, 2000, 50, TRUE}, {16, 2000, 100, TRUE},
               {4, 50, 50, FALSE}, {2, 20, 100, FALSE}};
  uint64_t repairs = 0;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    SimParamsStruct params = {.seed = seed + 2 * i, .threads = cases[i].threads,
                              .events = cases[i].exact ? 150000 : 40000,
                              .live = cases[i].exact ? 500 : 20, .jitter = 900, .step = cases[i].step,
                              .strangers = cases[i].strangers};
    SimStruct sim;
    SimRun(&sim, &params);
    replaySim(&sim);
    TapIs(seen.twice, 0, "%u threads, a step each %u ns: no address lives twice", cases[i].threads, cases[i].step);
    TapIs(seen.absent, 0, "  nothing is freed or resized that is not there");
    TapIs(seen.backwards, 0, "  time does not go back");
    if (cases[i].exact) {
      /* Steps are random: once in some hundred thousand events two fall closer together than the stamps are exact. */
      Count few = cases[i].threads > 1 ? params.events / 20000 : 0;
      TapOk(order.tally.overlaps + order.tally.unmatched + order.tally.unfinished <= few,
            "  every event has its match");
      TapOk(wrongAtEnd(&sim) <= few, "  what lives at the end is what lives");
      TapOk(wrongCounts(&sim) <= 2 * few, "  and each thing that was done is told once (%llu)",
            (unsigned long long)wrongCounts(&sim));
      repairs += cases[i].threads > 1 ? order.tally.repairs + seen.beside : 0;
    } else {
      TapIs(seen.live, seen.count[HeapALLOC] - seen.count[HeapFREE], "  what came and did not go is live");
      TapOk(order.tally.repairs > 1000, "  and much was put right (%llu)", (unsigned long long)order.tally.repairs);
    }
    if (cases[i].threads == 1)
      TapIs(order.tally.repairs, 0, "  one thread needs no repair");
    HeapTableFinish(&pool.table);
    SimFinish(&sim);
  }
  TapOk(repairs > 100, "and that took repairs (%llu)", (unsigned long long)repairs);
}

/* found -- events that did not fit together */
static uint64_t found(void)
{
  return order.tally.overlaps + order.tally.unmatched + order.tally.unfinished;
}

enum { denseMAX = 4 };

/* testDense -- threads that pass their objects to each other in less time than their stamps are exact, resizes that
 * take as long among them: nothing is missing, and nothing is said to be.  Stamps leave a few of a hundred thousand
 * undecided, in one of fifty runs. */
static void testDense(uint64_t seed)
{
  static const SimParamsStruct cases[] = {
    {.threads = 8, .events = 100000, .live = 64, .jitter = 300, .step = 170, .strangers = 100},
    {.threads = 8, .events = 100000, .live = 64, .jitter = 900, .step = 200, .strangers = 100},
    {.threads = 3, .events = 100000, .live = 200, .jitter = 500, .step = 150, .strangers = 100},
    {.threads = 2, .events = 100000, .live = 64, .jitter = 300, .step = 100, .strangers = 100}};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cases); ++i) {
    SimParamsStruct params = cases[i];
    SimStruct sim;
    params.seed = seed + 2 * i;
    SimRun(&sim, &params);
    replaySim(&sim);
    TapOk(found() <= denseMAX,
          "%u threads, a step each %llu ns, stamps off by %llu: every event has its match, but for %u", params.threads,
          (unsigned long long)params.step, (unsigned long long)params.jitter, (unsigned)found());
    TapOk(wrongCounts(&sim) <= denseMAX, "  and each thing that was done is told once");
    TapIs(seen.twice + seen.absent + seen.backwards, 0, "  as it can have happened");
    HeapTableFinish(&pool.table);
    SimFinish(&sim);
  }
}

/* Something is missing */

enum { LOOPS = 20000 };

/* loop -- one of two threads allocates, resizes and frees all the time; the event number `lost` is missing
 * returns  what kind that is */
static HeapInputKind loop(Index lost)
{
  HeapInputKind kind = HeapInLIVE;
  uint64_t time = 1000;
  Index i, n = 0;

  begin();
  event(500, 1, HeapInALLOC, 1024, 0, 7);
  for (i = 0; i < LOOPS; ++i) {
    uint64_t addr = 16 * (1 + i % 7), to = i % 3 == 0 ? addr : 16 * (20 + i % 2);
    struct {
      HeapInputKind kind;
      uint64_t addr, old, size;
    } does[] = {
        {HeapInALLOC, addr, 0, 10}, {HeapInBEGIN, addr, 0, 600}, {HeapInEND, to, addr, 600}, {HeapInFREE, to, 0, 0}};
    Index j;
    for (j = 0; j < ARRAY_LENGTH(does); ++j, ++n) {
      time += 30;
      if (n == lost)
        kind = does[j].kind;
      else
        event(time, 0, does[j].kind, does[j].addr, does[j].old, does[j].size);
    }
  }
  end();
  HeapTableFinish(&pool.table);
  return kind;
}

/* testLost -- one event that is missing in a loop costs one finding, and all else is right at once.  Of a resize that
 * has no end, and goes elsewhere, that costs two: what is freed then was never seen. */
static void testLost(void)
{
  Count wrong = 0;
  Index i;

  for (i = 0; i < 60; ++i) {
    Index lost = i * 997, at = lost / 4;
    HeapInputKind kind = loop(lost);
    Bool gone = kind == HeapInEND && at % 3 != 0;
    Bool right = found() == (kind == HeapInBEGIN ? 0u : gone ? 2u : 1u) && order.tally.repairs == 0 &&
                 seen.beside <= 1 && seen.count[HeapFREE] - seen.presumed + gone == LOOPS - (kind == HeapInFREE) &&
                 seen.count[HeapRESIZE] + seen.resized == LOOPS - (kind == HeapInEND);
    wrong += !right;
    if (!right)
      printf("# event %u, of kind %d: %llu found, %llu repairs, %llu beside, %llu frees, %llu resizes\n",
             (unsigned)lost, (int)kind, (unsigned long long)found(), (unsigned long long)order.tally.repairs,
             (unsigned long long)seen.beside, (unsigned long long)seen.count[HeapFREE],
             (unsigned long long)seen.count[HeapRESIZE]);
  }
  TapIs(wrong, 0, "one missing event of a thread beside another is one finding, wherever it is");
}

/* testHeld -- a thread goes on while its events wait for another's, which comes late */
static void testHeld(void)
{
  Index i;

  begin();
  event(1000, 0, HeapInALLOC, 16, 0, 8);
  for (i = 0; i < 3 * HeapResizesMAX; ++i) {
    event(2000 + i * 60, 1, i == 0 ? HeapInALLOC : HeapInEND, 16, i == 0 ? 0 : 32, 9);
    event(2015 + i * 60, 1, HeapInBEGIN, 16, 0, 9);
    event(2030 + i * 60, 1, HeapInEND, 32, 16, 9);
    event(2045 + i * 60, 1, HeapInBEGIN, 32, 0, 9);
  }
  event(2900, 0, HeapInFREE, 16, 0, 0);
  event(2910, 1, HeapInEND, 48, 32, 9);
  TapOk(found() == 0 && seen.count[HeapRESIZE] == 6 * HeapResizesMAX && seen.at[3] != 0,
        "resizes that wait are as many as they are");
  end();
  TapIs(found(), 0, "and all have their end");
  HeapTableFinish(&pool.table);

  begin();
  event(1000, 0, HeapInALLOC, 16, 0, 8);
  event(2000, 0, HeapInFREE, 16, 0, 0); /* of what comes next, by its stamp before */
  event(2100, 1, HeapInFREE, 16, 0, 0);
  event(2110, 1, HeapInALLOC, 16, 0, 9);
  event(1000000000, 1, HeapInALLOC, 32, 0, 1);
  end();
  TapOk(found() == 0 && seen.live == 1, "however long nothing comes afterwards, what is known of an address is");
  HeapTableFinish(&pool.table);
}

/* By hand */

static void testRepairs(void)
{
  begin();
  event(1000, 0, HeapInALLOC, 16, 0, 8);
  event(2000, 1, HeapInALLOC, 16, 0, 9);
  TapIs(seen.count[HeapALLOC], 1, "an allocation where an object lives is held back");
  event(2100, 0, HeapInFREE, 16, 0, 0);
  TapIs(seen.count[HeapALLOC], 2, "until the free comes");
  TapOk(seen.size[1] == 9 && seen.time == 2100, "and then stands behind it");
  TapIs(order.tally.repairs, 1, "and is counted");
  event(2200, 1, HeapInFREE, 16, 0, 0);
  event(3000, 0, HeapInFREE, 32, 0, 0);
  event(3010, 1, HeapInALLOC, 32, 0, 1);
  TapIs(seen.live, 0, "a free is held back until another thread's allocation comes");
  event(4000, 0, HeapInFREE, 48, 0, 0);
  event(4010, 0, HeapInALLOC, 48, 0, 1);
  event(40000, 0, HeapInALLOC, 64, 0, 1);
  TapIs(order.tally.unmatched, 1, "but not for the same thread's, whose order is certain");
  TapIs(seen.live, 2, "and both allocations stand");
  end();
  TapIs(order.tally.overlaps, 0, "nothing overlapped");
  HeapTableFinish(&pool.table);
}

static void testMissing(void)
{
  begin();
  event(1000, 0, HeapInALLOC, 16, 0, 8);
  event(2000, 1, HeapInALLOC, 16, 0, 9);
  event(2000 + HeapBoundTIME, 0, HeapInALLOC, 32, 0, 1);
  TapIs(seen.count[HeapALLOC], 2, "an allocation waits for as long as the bound");
  event(2001 + HeapBoundTIME, 0, HeapInFREE, 32, 0, 0);
  TapIs(order.tally.overlaps, 1, "and no longer: the old object has gone unseen");
  TapOk(seen.presumed == 1 && seen.size[1] == 9, "and the new one stands in its place");
  event(20000, 0, HeapInFREE, 4096, 0, 0);
  end();
  TapIs(order.tally.unmatched, 1, "a free of what was never seen is counted");
  TapIs(seen.live, 1, "and changes nothing");
  HeapTableFinish(&pool.table);
}

/* A process tells what it has while two threads go on. */
static void testState(void)
{
  enum { MS = 1000000 };
  Index i;

  begin();
  event(1 * MS, 0, HeapInALLOC, 16, 0, 10);   /* lives on */
  event(1 * MS, 0, HeapInALLOC, 32, 0, 20);   /* goes while nobody listens */
  event(1 * MS, 0, HeapInALLOC, 48, 0, 30);   /* and so does this, and another comes */
  event(1 * MS, 1, HeapInFREE, 512, 0, 0);    /* nobody knows */
  event(95 * MS, 1, HeapInFREE, 64, 0, 0);    /* not done yet when objects are looked at */
  event(96 * MS, 0, HeapInFREE, 528, 0, 0);
  HeapReorderSettle(&order);
  TapIs(order.tally.unmatched, 3, "what is freed before is unmatched,");
  HeapStateBegin(&order, 100 * MS);
  for (i = 0; i < simTHREADS; ++i)
    HeapStateThread(&order, &threads[i]);
  HeapStatePool(&order, &pool);
  TapOk(order.tally.unmatched == 0 && order.tally.early == 3, "until the process tells: then it is early");
  event(101 * MS, 0, HeapInFREE, 80, 0, 0);
  event(101 * MS, 1, HeapInBEGIN, 96, 0, 50);
  event(101 * MS + 10, 1, HeapInEND, 112, 96, 50);
  for (i = 16; i <= 112; i += 16)
    if (i != 32)
      event(102 * MS, 0, HeapInLIVE, i, 0, i == 48 ? 16 : 160);
  TapIs(seen.count[HeapALLOC], 3 + 1 + 1, "told are one that is new, and one in the place of what was larger");
  TapOk(seen.at[1] == 1 && seen.size[1] == 10, "what was known stays as it is");
  TapOk(seen.at[4] == 0, "a thread's last free may not have been done yet");
  TapOk(seen.at[5] == 0 && seen.at[6] == 0, "what has gone meanwhile is gone");
  TapOk(seen.at[7] != 0 && seen.size[7] == 50, "what has come is there");
  event(103 * MS, 0, HeapInLIVE, 128, 0, 160);
  event(103 * MS + 10, 0, HeapInALLOC, 128, 0, 150);
  TapOk(seen.at[8] != 0 && seen.size[8] == 150, "who was in the middle of an allocation tells it again");
  HeapStatePurge(&order, &pool, &threads[0], 104 * MS);
  TapOk(seen.at[2] == 0 && seen.at[1] != 0, "what is not told any more is presumed gone");
  HeapStateEnd(&order, 105 * MS);
  event(106 * MS, 0, HeapInFREE, 144, 0, 0);
  event(106 * MS, 0, HeapInFREE, 16, 0, 0);
  end();
  TapOk(order.tally.unmatched == 1 && order.tally.overlaps == 0 && order.tally.unfinished == 0,
        "afterwards all is as ever");
  TapIs(seen.twice + seen.absent + seen.backwards, 0, "and only what can be was told to the client");
  HeapReorderFinish(&order);
  HeapTableFinish(&pool.table);
}

/* A resize in place of what another thread's free has taken already; and frees by one thread of what nobody saw. */
static void testCounts(void)
{
  unsigned i;

  begin();
  event(1000, 0, HeapInALLOC, 16, 0, 8);
  event(2000, 1, HeapInFREE, 16, 0, 0); /* which was after the resize, but is stamped before */
  event(2010, 0, HeapInBEGIN, 16, 0, 9);
  event(2020, 0, HeapInEND, 16, 16, 9);
  event(2030 + HeapBoundTIME, 0, HeapInALLOC, 32, 0, 1);
  TapOk(seen.count[HeapALLOC] == 2 && seen.count[HeapFREE] == 1 && seen.count[HeapRESIZEPAST] == 1,
        "a resize in place that is told beside others is a resize");
  TapIs(seen.live, 1, "and brings nothing");
  event(50000, 0, HeapInBEGIN, 64, 0, 9);
  event(50010, 0, HeapInEND, 80, 64, 9);
  event(90000, 0, HeapInFREE, 80, 0, 0);
  TapOk(order.tally.unmatched == 1 && seen.resized == 1 && order.tally.repairs == 1,
        "a resize of what was never seen is one, and no repair");
  end();
  HeapTableFinish(&pool.table);

  begin();
  order.several = FALSE;
  for (i = 1; i <= 1000; ++i) {
    event(1000 + i, 0, HeapInFREE, i * 16, 0, 0);
    if (order.held != 0)
      break;
  }
  TapOk(i == 1001 && order.tally.unmatched == 1000, "one thread's events are not held back");
  end();
  HeapTableFinish(&pool.table);
}

/* possible -- how many held allocations and frees could be applied, and wait for none of their thread: an oracle that
 * looks at all of them */
static Count possible(void)
{
  Count n = 0;
  Index i, j;

  for (i = order.oldest; i != 0; i = order.hold[i - 1].newer) {
    HeapInput input = &order.hold[i - 1].input;
    for (j = order.oldest; j != i; j = order.hold[j - 1].newer)
      if (order.hold[j - 1].input.thread == input->thread && order.hold[j - 1].input.addr == input->addr)
        break;
    n += j == i && HeapObjectLives(HeapTableSeek(&pool.table, input->addr)) == (input->kind == HeapInFREE);
  }
  return n;
}

/* testOverlooked -- threads that allocate and free at random at a few addresses, some of them in one bucket, so that
 * most events are held back */
static void testOverlooked(uint64_t seed)
{
  enum { EVENTS = 20000, FEW = 12 };
  uint64_t random = seed | 1, time = 1000, at[FEW], next = 0;
  Count overlooked = 0, wrong = 0, held = 0;
  Index i;

  for (i = 0; i < FEW; ++i) {
    do
      next += 16;
    while (i % 3 != 0 && heapOrderBucket(next) != heapOrderBucket(at[i - 1]));
    at[i] = next;
  }
  begin();
  for (i = 0; i < EVENTS; ++i) {
    uint64_t which = TapRandom(&random);
    event(time += which / 7 % 300, which / 4096 % 5, which / 1024 % 2 != 0 ? HeapInALLOC : HeapInFREE,
          at[which % FEW], 0, 8);
    held += order.held;
    overlooked += possible();
    wrong += i % 16 == 0 && !HeapReorderCheck(&order);
  }
  TapIs(overlooked, 0, "no event waits that could be applied, though only those are tried that may have become possible");
  TapOk(wrong == 0 && held / EVENTS > 4, "with %u held on average", (unsigned)(held / EVENTS));
  end();
  TapIs(seen.twice + seen.absent + seen.backwards, 0, "and all that is reported can have happened");
  HeapTableFinish(&pool.table);
}

/* spent -- processor time for events by 16 threads on one address: frees of what was never seen, or matched pairs */
static clock_t spent(Bool frees)
{
  clock_t from = clock();
  Index i;

  begin();
  for (i = 0; i < LOOPS; ++i)
    event(1000 + i * 20, frees ? i % 16 : i / 2 % 16, frees || i % 2 != 0 ? HeapInFREE : HeapInALLOC, 16, 0, 8);
  from = clock() - from;
  end();
  HeapTableFinish(&pool.table);
  return from;
}

/* testUnmatched -- frees of one address by many threads, which all wait, cost a few times what matched pairs do, not a
 * pass over all that is held: that was 900 times as much */
static void testUnmatched(void)
{
  clock_t pairs = 0, frees = 0;
  Index i;

  for (i = 0; i < 4; ++i) {
    pairs += spent(FALSE);
    frees += spent(TRUE);
    if (order.tally.unmatched != LOOPS)
      makeFail("frees that are not unmatched");
  }
  TapOk(frees < 80 * pairs, "frees of what was never seen cost %u times as much as matched pairs do",
        (unsigned)(frees / (pairs + 1)));
}

static void testManyHeld(void)
{
  unsigned i;

  begin();
  for (i = 1; i <= 4 * HeapBoundEVENTS; ++i)
    event(1000, i % 2, HeapInFREE, i * 16, 0, 0);
  TapIs(order.held, HeapBoundEVENTS, "no more events are held back than the bound");
  end();
  TapIs(order.tally.unmatched, 4 * HeapBoundEVENTS, "the others are given up in their order");
  HeapTableFinish(&pool.table);
}

static void testResizes(void)
{
  begin();
  event(1000, 0, HeapInALLOC, 16, 0, 8);
  event(1010, 0, HeapInBEGIN, 16, 0, 80);
  event(1020, 1, HeapInALLOC, 16, 0, 3);
  TapIs(seen.count[HeapALLOC], 2, "from its begin on, a resize gives the address free");
  event(1030, 0, HeapInEND, 64, 16, 80);
  TapOk(seen.live == 2 && seen.size[4] == 80 && seen.size[1] == 3, "and its end is the object elsewhere");
  event(1040, 0, HeapInBEGIN, 64, 0, 800);
  event(1050, 0, HeapInEND, 0, 64, 800);
  TapOk(seen.count[HeapRESIZEFAIL] == 1 && seen.size[4] == 80, "a failed one gives the old object back");
  event(1060, 0, HeapInEND, 128, 64, 90);
  TapOk(seen.at[4] == 0 && seen.size[8] == 90, "an end without its begin resizes what lives at the old address");
  event(1070, 0, HeapInEND, 256, 240, 7);
  TapOk(seen.live == 3 && order.tally.unmatched == 1, "and is an allocation where nothing does");
  event(1080, 0, HeapInBEGIN, 288, 0, 1);
  event(1090, 0, HeapInEND, 0, 288, 1);
  event(1100, 0, HeapInBEGIN, 128, 0, 1);
  end();
  TapIs(order.tally.unmatched, 2, "a failed resize of what was never seen is counted, and nothing comes of it");
  TapIs(order.tally.unfinished, 1, "one without an end is counted");
  TapOk(seen.live == 3 && seen.at[8] != 0, "and its object lives on");
  HeapTableFinish(&pool.table);
}

static void testManyResizes(void)
{
  unsigned i;

  begin();
  for (i = 1; i <= 2 * HeapResizesMAX; ++i)
    event(1000 + i, 0, HeapInALLOC, i * 16, 0, i);
  for (i = 1; i <= 2 * HeapResizesMAX; ++i)
    event(2000 + i, 0, HeapInBEGIN, i * 16, 0, 1);
  TapIs(seen.count[HeapRESIZEFAIL], HeapResizesMAX, "more resizes at a time than are kept: the oldest are given up");
  end();
  TapIs(seen.live, 2 * HeapResizesMAX, "and no object is lost");
  HeapTableFinish(&pool.table);
}

static void testDestroy(void)
{
  unsigned i;

  begin();
  for (i = 1; i <= 100; ++i)
    event(1000 + i, i % 3, HeapInALLOC, i * 16, 0, i);
  event(2000, 1, HeapInBEGIN, 160, 0, 1);
  HeapReorderDestroy(&order, &pool, &threads[0], 3000);
  TapIs(seen.count[HeapFREE], 99, "a pool's end is the end of its objects");
  for (i = 0; i < simTHREADS; ++i)
    HeapReorderAbandon(&order, &threads[i]);
  TapIs(seen.live, 0, "of one that was being resized, too");
}

/* Logs */

static int makeFailed(const char *what)
{
  fprintf(stderr, "heaptest: %s\n", what);
  return 1;
}

static MakeStruct make;
static MakeBlockStruct block;

/* put -- an event into the block, which is ended and begun anew when it is full */
static void put(uint16_t code, uint64_t time, const uint64_t *params, const char *string)
{
  if (!MakeEvent(&block, code, time, params, string)) {
    MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
    MakeBlockNext(&block, time);
    if (!MakeEvent(&block, code, time, params, string))
      makeFail("an event that never fits");
  }
}

static void putSim(SimEvent e, uint64_t at)
{
  switch (e->kind) {
  case HeapInALLOC:
    if (e->align != 0)
      put(EventPoolAllocAlignedCODE, at, (uint64_t[]){1, e->addr, e->size, (uint64_t)1 << e->align}, NULL);
    else
      put(e->zero ? EventPoolAllocZeroCODE : EventPoolAllocCODE, at, (uint64_t[]){1, e->addr, e->size}, NULL);
    break;
  case HeapInFREE:
    put(EventPoolFreeCODE, at, (uint64_t[]){1, e->addr}, NULL);
    break;
  case HeapInBEGIN:
    put(EventPoolResizeBeginCODE, at, (uint64_t[]){1, e->addr, e->size}, NULL);
    break;
  default:
    put(EventPoolResizeEndCODE, at, (uint64_t[]){1, e->old, e->addr, e->size}, NULL);
    break;
  }
}

/* makeChurn -- threads that free each other's objects, with the stamps of a recorder */
static void makeChurn(MakeProcess process, unsigned count)
{
  SimParamsStruct params = {.seed = 7, .threads = count, .events = 60000, .live = 300, .jitter = count > 1 ? 900 : 0,
                            .step = 2000, .strangers = 50};
  SimStruct sim;
  unsigned thread;
  Index i;

  SimRun(&sim, &params);
  MakeBlockBegin(&block, process, process->header.pid, EventKindPool, 0, 1000);
  put(EventPoolCreateCODE, 1000, (uint64_t[]){1, 0}, "malloc");
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  for (thread = 0; thread < count; ++thread) {
    MakeBlockBegin(&block, process, process->header.pid + thread, EventKindObject, 0, 2000);
    for (i = 0; i < sim.count; ++i) {
      if (sim.events[i].thread == thread)
        putSim(&sim.events[i], sim.events[i].stamp);
    }
    MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  }
  SimFinish(&sim);
}

/* makePipeline -- one thread allocates, another frees much later, and nothing else holds them together */
static void makePipeline(MakeProcess process)
{
  enum { OBJECTS = 30000, BEHIND = 5000 };
  unsigned i;

  MakeBlockBegin(&block, process, 4711, EventKindObject, 0, 1000);
  for (i = 1; i <= OBJECTS; ++i)
    put(EventPoolAllocCODE, 1000 + i * 10, (uint64_t[]){1, i * 64, i % 60 + 1}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockBegin(&block, process, 4712, EventKindObject, 0, 1000);
  for (i = 1; i <= OBJECTS; ++i)
    put(EventPoolFreeCODE, 1005 + (i + BEHIND) * 10, (uint64_t[]){1, i * 64}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
}

/* makeLost -- of two threads one allocates, resizes and frees all the time, and one of its frees is missing */
static void makeLost(MakeProcess process)
{
  uint64_t time = 2000;
  unsigned i;

  MakeBlockBegin(&block, process, 4711, EventKindObject, 0, 1000);
  put(EventPoolAllocCODE, 1000, (uint64_t[]){1, 64, 10}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockBegin(&block, process, 4712, EventKindObject, 0, time);
  for (i = 0; i < LOOPS; ++i) {
    uint64_t addr = 64 * (2 + i % 7), to = i % 3 == 0 ? addr : 64 * (20 + i % 2);
    put(EventPoolAllocCODE, time += 40, (uint64_t[]){1, addr, i % 500 + 1}, NULL);
    put(EventPoolResizeBeginCODE, time += 40, (uint64_t[]){1, addr, 600}, NULL);
    put(EventPoolResizeEndCODE, time += 40, (uint64_t[]){1, addr, to, 600}, NULL);
    time += 40;
    if (i != 100)
      put(EventPoolFreeCODE, time, (uint64_t[]){1, to}, NULL);
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
}

/* makePools -- an arena with a pool of each class, with parameters, one of which is destroyed with its objects */
static void makePools(MakeProcess process)
{
  static const char *const classes[] = {"MFS", "MVFF", "SGF"};
  uint64_t time = 10000;
  unsigned i, j;

  MakeBlockBegin(&block, process, 4711, EventKindArena, 0, 1000);
  put(EventArenaCreateCODE, 1000, (uint64_t[]){0xa0, 1 << 26, 65536}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  MakeBlockBegin(&block, process, 4711, EventKindPool, 0, 1000);
  for (i = 0; i < 3; ++i)
    put(EventPoolCreateCODE, 2000 + i * 100, (uint64_t[]){i + 1, 0xa0}, classes[i]);
  put(EventPoolParamCODE, 2050, (uint64_t[]){1, 48}, "unitSize");
  put(EventPoolParamCODE, 2150, (uint64_t[]){2, 8}, "align");
  put(EventPoolDestroyCODE, 900000, (uint64_t[]){2}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  MakeBlockBegin(&block, process, 4711, EventKindObject, 0, 1000);
  for (j = 1; j <= 300; ++j) {
    for (i = 0; i < 3; ++i)
      put(EventPoolAllocCODE, time += 10, (uint64_t[]){i + 1, (i * 1000 + j) * 64, i == 0 ? 48 : j * 3}, NULL);
    if (j % 2 == 0)
      put(EventPoolFreeCODE, time += 10, (uint64_t[]){1, j * 64}, NULL);
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

static void makeHuge(MakeProcess process)
{
  MakeBlockBegin(&block, process, 4711, EventKindObject, 0, 1000);
  put(EventPoolAllocCODE, 1000, (uint64_t[]){1, 4096, (uint64_t)1 << 36}, NULL);
  put(EventPoolAllocCODE, 2000, (uint64_t[]){1, (uint64_t)1 << 40, UINT64_MAX}, NULL);
  put(EventPoolFreeCODE, 3000, (uint64_t[]){1, 4096}, NULL);
  put(EventPoolAllocFailCODE, 4000, (uint64_t[]){1, UINT64_MAX}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

/* makePart -- the middle of a recording: frees of what was there before */
static void makePart(MakeProcess process)
{
  MakeBlockBegin(&block, process, 4711, EventKindObject, 0, 1000);
  put(EventPoolFreeCODE, 1000, (uint64_t[]){1, 64}, NULL);
  put(EventPoolAllocCODE, 2000, (uint64_t[]){1, 128, 100}, NULL);
  put(EventPoolAllocCODE, 100000, (uint64_t[]){1, 128, 50}, NULL);
  block.header.discarded = 5;
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

static void makeNone(MakeProcess process)
{
  MakeBlockBegin(&block, process, 4711, EventKindPool, 0, 1000);
  put(EventPoolCreateCODE, 1000, (uint64_t[]){1, 0}, "malloc");
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

/* makeChain -- stacks each of which is a call from the one before, as no recorder tells them, and an object of each */
static void makeChain(MakeProcess process, uint64_t stacks)
{
  uint64_t i;

  MakeBlockBegin(&block, process, 4711, EventKindUser, 0, 1000);
  for (i = 0; i < stacks; ++i)
    put(EventStackFrameCODE, 1000, (uint64_t[]){4 + i, i == 0 ? 2 : 3 + i, 0x1000 + 16 * i}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockBegin(&block, process, 4711, EventKindObject, 0, 2000);
  for (i = 0; i < stacks; ++i)
    put(EventPoolAllocStackCODE, 2000 + i, (uint64_t[]){1, 64 * (i + 1), 10, 4 + i}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
}

/* makeForeign -- somebody else's registry; on a machine of 32 bits and the other byte order, or (`wide`) on one like
 * ours */
static const char foreignRegistry[] =
  "kind: 0 Thing\n"
  "event: 0x0997 PoolAllocZero Thing 0 PAW pool place amount\n"
  "event: 0x0998 PoolFree Thing 0 PA pool addr\n"
  "event: 0x0999 PoolAlloc Thing 0 UAP size addr pool\n";

static void makeForeign(MakeProcess process)
{
  MakeBlockBegin(&block, process, 4711, 0, 0, 1000);
  put(0x0999, 1000, (uint64_t[]){100, 64, 1}, NULL);
  put(0x0999, 2000, (uint64_t[]){50, 192, 1}, NULL);
  put(0x0998, 3000, (uint64_t[]){1, 64}, NULL);
  put(0x0997, 4000, (uint64_t[]){1, 1024, 9}, NULL);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

static int makeLog(const char *kind, const char *path)
{
  Bool foreign = strcmp(kind, "foreign") == 0, wide = strcmp(kind, "wide") == 0;
  MakeProcess process = foreign ? MakeProcessForeign(4711, 1, 4, TRUE, foreignRegistry) :
                        wide ? MakeProcessForeign(4711, 1, 8, FALSE, foreignRegistry) : MakeProcessNew(4711, 1);
  MakeProcess other;

  if (strcmp(kind, "newer") == 0)
    ++process->header.median;
  MakeHeader(&make, process);
  if (strcmp(kind, "churn") == 0 || strcmp(kind, "newer") == 0) {
    makeChurn(process, 4);
  } else if (strcmp(kind, "single") == 0) {
    makeChurn(process, 1);
  } else if (strcmp(kind, "family") == 0) {
    makePart(process);
    other = MakeProcessNew(5000, 2);
    MakeHeader(&make, other);
    makeChurn(other, 2);
    MakeProcessFree(other);
  } else if (strcmp(kind, "pipeline") == 0) {
    makePipeline(process);
  } else if (strcmp(kind, "lost") == 0) {
    makeLost(process);
  } else if (strcmp(kind, "pools") == 0) {
    makePools(process);
  } else if (strcmp(kind, "huge") == 0) {
    makeHuge(process);
  } else if (strcmp(kind, "part") == 0) {
    makePart(process);
  } else if (strcmp(kind, "none") == 0) {
    makeNone(process);
  } else if (strncmp(kind, "chain", 5) == 0) {
    makeChain(process, strtoull(kind + 5, NULL, 10));
  } else if (foreign || wide) {
    makeForeign(process);
  } else {
    return makeFailed("churn, single, family, pipeline, newer, lost, pools, huge, part, none, chainN, foreign or wide");
  }
  MakeWrite(&make, path);
  MakeFree(&make);
  MakeProcessFree(process);
  return 0;
}

int main(int argc, char **argv)
{
  uint64_t seed;

  if (argc == 3)
    return makeLog(argv[1], argv[2]);
  seed = TapSeed();
  testTable(seed);
  testTableChosen();
  testTableCheck();
  testOrderCheck();
  testRepairs();
  testMissing();
  testHeld();
  testLost();
  testState();
  testCounts();
  testManyHeld();
  testOverlooked(seed);
  testUnmatched();
  testResizes();
  testManyResizes();
  testDestroy();
  testRandom(seed);
  testDense(seed);
  return TapDone();
}
