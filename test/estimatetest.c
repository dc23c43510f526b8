/* estimatetest.c -- live bytes out of blocks in any order, exactly while there is room, and nearly after that
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/estimate.h"

#include "collect/teller.h"
#include "plinth/clock.h"
#include "tap.h"

enum { TYPES_MAX = 512, BLOCK_MAX = 4096, THREADS = 3 };

static RegistryStruct registry;
static EventTypeStruct types[TYPES_MAX];
static Estimate estimate;
static uint64_t seed;

/* One thread's block, being filled. */
typedef struct {
  uint64_t room[BLOCK_MAX / 8];
  uint64_t first, epoch;
  Size used;
} Block;

static Block block[THREADS];
static uint64_t now = 0xfffff000; /* soon another epoch */

static void drain(Block *b, uint64_t process)
{
  EstimateBlock(estimate, &registry, process, b->room, b->used, 0, b->first);
  b->used = 0;
}

static void *place(Block *b, Size length, uint16_t code, uint64_t process)
{
  EventHeader header;

  if (b->used + length + 32 > BLOCK_MAX)
    drain(b, process);
  if (b->used == 0) {
    b->first = now;
    b->epoch = now >> 32;
    memset(b->room, 0, sizeof b->room);
  }
  now += 3;
  if (b->epoch != now >> 32) {
    header = (EventHeader)(void *)((char *)b->room + b->used);
    *header = (EventHeaderStruct){EventEpochCODE, 16, (uint32_t)now};
    memcpy(header + 1, &now, sizeof now);
    b->used += 16;
    b->epoch = now >> 32;
  }
  header = (EventHeader)(void *)((char *)b->room + b->used);
  *header = (EventHeaderStruct){code, (uint16_t)length, (uint32_t)now};
  b->used += EventSizeOfLength(length);
  return header;
}

static void alloc(Block *b, uint64_t process, Word addr, Word size)
{
  EventPAWStruct *event = place(b, sizeof *event, EventPoolAllocCODE, process);

  event->f0 = 1;
  event->f1 = addr;
  event->f2 = size;
}

static void release(Block *b, uint64_t process, Word addr)
{
  EventPAStruct *event = place(b, sizeof *event, EventPoolFreeCODE, process);

  event->f0 = 1;
  event->f1 = addr;
}

static void resize(Block *b, uint64_t process, Word old, Word addr, Word size)
{
  EventPAWStruct *begin = place(b, sizeof *begin, EventPoolResizeBeginCODE, process);
  EventPAAWStruct *end;

  begin->f0 = 1;
  begin->f1 = old;
  begin->f2 = size;
  end = place(b, sizeof *end, EventPoolResizeEndCODE, process);
  end->f0 = 1;
  end->f1 = old;
  end->f2 = addr;
  end->f3 = size;
}

static void drainAll(uint64_t process)
{
  Index i;

  for (i = THREADS; i-- > 0;)
    drain(&block[i], process);
}

static void testSimple(void)
{
  Bool exact;

  TapIs(EstimateCreate(&estimate, 0), ResOK, "nothing lives");
  alloc(&block[0], 1, 0x1000, 100);
  alloc(&block[0], 1, 0x2000, 50);
  drain(&block[0], 1);
  alloc(&block[0], 2, 0x1000, 7);
  drain(&block[0], 2);
  TapIs(EstimateBytes(&exact, estimate), 157, "the same address lives twice, in two processes");
  release(&block[0], 1, 0x2000);
  resize(&block[0], 1, 0x1000, 0x3000, 300);
  drain(&block[0], 1);
  TapIs(EstimateBytes(&exact, estimate), 307, "what is freed does not live, what is resized has its new size");
  resize(&block[0], 1, 0x3000, 0, 1000000);
  drain(&block[0], 1);
  TapIs(EstimateBytes(&exact, estimate), 307, "unless that failed");
  release(&block[0], 1, 0x7777);
  alloc(&block[0], 1, 0, 55);
  drain(&block[0], 1);
  TapIs(EstimateBytes(&exact, estimate), 307, "unknown objects, and none, are nothing");
  EstimateGone(estimate, 1);
  TapIs(EstimateBytes(&exact, estimate), 7, "a process takes its objects along");
  TapOk(exact, "and all that was exact");
  TapOk(EstimateCheck(estimate), "the table is sound");
  EstimateDestroy(estimate);
}

static void testOrder(void)
{
  Bool exact;

  (void)EstimateCreate(&estimate, 0);
  alloc(&block[0], 1, 0x1000, 100);   /* in the order in which it happened */
  release(&block[1], 1, 0x1000);
  alloc(&block[0], 1, 0x1000, 30);
  alloc(&block[0], 1, 0x2000, 5);
  release(&block[2], 1, 0x2000);
  drain(&block[2], 1);
  drain(&block[1], 1);
  drain(&block[0], 1);
  TapIs(EstimateBytes(&exact, estimate), 30, "frees that are seen before the allocations count all the same");
  EstimateDestroy(estimate);
}

/* Random work of several threads over `objects` addresses; TRUE as long as the exact sum is met. */
static Bool churn(Count objects, Count steps, uint64_t (*sizes)(void), uint64_t *estimateReturn)
{
  uint64_t *size = calloc(objects, sizeof *size), sum = 0;
  Bool exact, right = TRUE;
  Count i;

  for (i = 0; i < steps; ++i) {
    Index n = TapRandom(&seed) % objects;
    Block *b = &block[TapRandom(&seed) % THREADS];
    Word addr = 0x10000 + n * 16;
    if (size[n] == 0) {
      size[n] = sizes();
      sum += size[n];
      alloc(b, 9, addr, size[n]);
    } else if (TapRandom(&seed) % 8 == 0) {
      uint64_t grown = sizes();
      sum += grown - size[n];
      size[n] = grown;
      resize(b, 9, addr, addr, grown);
    } else {
      sum -= size[n];
      size[n] = 0;
      release(b, 9, addr);
    }
    if (i % (steps / 8) == 0) {
      drainAll(9);
      right &= EstimateBytes(&exact, estimate) == sum && exact && EstimateCheck(estimate);
    }
  }
  drainAll(9);
  *estimateReturn = sum;
  free(size);
  return right;
}

static uint64_t small(void)
{
  return 1 + TapRandom(&seed) % 200;
}

static uint64_t mixed(void)
{
  return TapRandom(&seed) % 1000 == 0 ? 1 + TapRandom(&seed) % 5000000 : small();
}

static void testExact(void)
{
  uint64_t sum;
  Bool exact;

  (void)EstimateCreate(&estimate, 0);
  TapOk(churn(40000, 400000, mixed, &sum), "while all have room the sum is exact, whichever thread frees what");
  TapIs(EstimateBytes(&exact, estimate), sum, "at the end, too");
  EstimateDestroy(estimate);
}

static void testEstimate(uint64_t (*sizes)(void), const char *what)
{
  uint64_t sum, bytes, begin;
  Bool exact;
  double off;

  (void)EstimateCreate(&estimate, 0);
  begin = EventClockMonotonic();
  (void)churn(600000, 2000000, sizes, &sum);
  begin = EventClockMonotonic() - begin;
  bytes = EstimateBytes(&exact, estimate);
  off = (double)bytes / (double)sum - 1;
  printf("# %s: %.3f%% off; about %llu ns an event, with making it\n", what, off * 100,
         (unsigned long long)(begin / 2000000));
  TapOk(!exact, "%s: with more objects than there is room for it is an estimate", what);
  TapOk(off > -0.05 && off < 0.05, "and not far off");
  TapOk(EstimateCheck(estimate), "from a table that is sound");
  EstimateGone(estimate, 9);
  TapIs(EstimateBytes(&exact, estimate), 0, "and when all is gone");
  TapOk(exact, "it is exact again");
  EstimateDestroy(estimate);
}

/* testShare -- as little time as may be */
static void testShare(void)
{
  uint64_t sum, bytes;
  Bool exact;
  double off;

  (void)EstimateCreate(&estimate, 1000000);
  (void)churn(600000, 4000000, mixed, &sum);
  bytes = EstimateBytes(&exact, estimate);
  off = (double)bytes / (double)sum - 1;
  printf("# in a hurry: %.3f%% off\n", off * 100);
  TapOk(!exact, "where there is no time for all objects");
  TapOk(off > -0.2 && off < 0.2, "the estimate is a rougher one");
  TapOk(EstimateCheck(estimate), "from a table that is sound");
  EstimateDestroy(estimate);
}

static void testHostile(void)
{
  static uint64_t bytes[512];
  RegistryStruct *other = calloc(1, sizeof *other);
  EventTypeStruct type[4];
  WidthsStruct widths = {sizeof(Word), FALSE};
  Bool exact;
  Index i, j;

  (void)EstimateCreate(&estimate, 0);
  for (i = 0; i < 3000; ++i) {
    for (j = 0; j < ARRAY_LENGTH(bytes); ++j)
      bytes[j] = TapRandom(&seed) & (j % 3 == 0 ? 0xff7f060fu : UINT64_MAX);
    EstimateBlock(estimate, &registry, 1, bytes, TapRandom(&seed) % (sizeof bytes + 1), 0, TapRandom(&seed));
  }
  TapOk(EstimateCheck(estimate), "whatever stands in a block, the table is sound");
  EstimateDestroy(estimate);
  (void)EstimateCreate(&estimate, 0);
  RegistryInit(other, type, ARRAY_LENGTH(type), widths);
  TapIs(RegistryLine(other, "kind: 5 Object", 14), ResOK, "somebody else's registry");
  (void)RegistryLine(other, "event: 0x0601 PoolAlloc Object 0 PA pool addr", 45);
  alloc(&block[0], 1, 0x1000, 100);
  EstimateBlock(estimate, other, 1, block[0].room, block[0].used, 0, block[0].first);
  TapIs(EstimateBytes(&exact, estimate), 0, "in which events mean something else is not counted");
  block[0].used = 0;
  free(other);
  EstimateDestroy(estimate);
}

int main(void)
{
  static const char text[] = EventRegistryTEXT;
  WidthsStruct widths = {sizeof(Word), FALSE};

  seed = TapSeed() * 2 + 1;
  RegistryInit(&registry, types, TYPES_MAX, widths);
  (void)RegistryText(&registry, text, sizeof text - 1);
  testSimple();
  testOrder();
  testExact();
  testEstimate(small, "small objects");
  testEstimate(mixed, "small objects and a few large ones");
  testShare();
  testHostile();
  return TapDone();
}
