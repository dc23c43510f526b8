/* arenatest.c -- address space is reserved, committed, kept spare and given back; addresses lead to segments
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aver.h"
#include "mm/arena.h"
#include "mm/pages.h"
#include "mm/pool.h"
#include "mm/seg.h"
#include "tap.h"

#define GRAIN ArenaGrainSIZE

/* newPool -- segments need an owner; this one has none of its own accord */
static Pool newPool(Arena arena)
{
  Pool pool = NULL;

  if (PoolCreate(&pool, arena, "MFS", NULL, 0) != ResOK)
    abort();
  return pool;
}

static Arena newArena(void)
{
  Arena arena = NULL;

  if (ArenaCreate(&arena, 1) != ResOK)
    abort();
  return arena;
}

static Bool allBytes(const void *p, Size size, int byte)
{
  const unsigned char *bytes = p;

  return size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void testLife(void)
{
  Arena arena;
  Addr inside;

  TapIs(ArenaCreate(&arena, ChunkSIZE * 2 + 1), ResOK, "an arena is created");
  TapIs(arena->reserved, 3 * ChunkSIZE, "its address space is rounded up to chunks");
  TapOk(arena->committed < ChunkSIZE / 16, "of which little is committed");
  TapIs(arena->spare, 0, "none of that spare");
  TapIs(arena->spareLimit, ArenaSpareLimitDEFAULT, "the spare limit has its default");
  TapOk(ArenaCheck(arena), "it passes its check");
  inside = arena->chunks.next == &arena->chunks ? NULL : (Addr)(void *)arena->chunks.next;
  TapOk(ChunkOfAddr(inside) != NULL, "an address inside is known");
  ArenaDestroy(arena);
  TapOk(ChunkOfAddr(inside) == NULL, "and forgotten with the arena");
}

static void testForeign(void)
{
  static char data;
  char local = 0;

  TapOk(SegOfAddr(NULL) == NULL, "NULL is in no segment");
  TapOk(SegOfAddr(&local) == NULL && SegOfAddr(&data) == NULL, "nor are a stack's and a program's data");
  TapOk(SegOfAddr((void *)~(Word)0) == NULL && SegOfAddr((void *)((Word)1 << (WORD_WIDTH - 1))) == NULL,
        "nor are the highest addresses");
}

static void testLookup(void)
{
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Seg small, large, huge;
  Bool zero;

  TapIs(SegAlloc(&small, &zero, pool, 1, 1), ResOK, "a segment of one byte");
  TapIs(SegSize(small), GRAIN, "has a grain");
  TapOk(zero && allBytes(SegBase(small), GRAIN, 0), "that is zero, and says so");
  TapIs(SegAlloc(&large, NULL, pool, 5 * GRAIN, 8 * GRAIN), ResOK, "an aligned segment");
  TapIs((Word)SegBase(large) % (8 * GRAIN), 0, "is aligned");
  TapIs(SegAlloc(&huge, NULL, pool, ChunkSIZE + 1, 1), ResOK, "a segment larger than a chunk");
  memset(SegBase(huge), 1, SegSize(huge));
  TapOk(SegOfAddr((char *)SegBase(large) + 4 * GRAIN + 17) == large, "an address leads to its segment");
  TapOk(SegOfAddr(SegLimit(large)) == NULL, "the one behind does not");
  TapOk(SegOfAddr((char *)SegLimit(huge) - 1) == huge && SegOfAddr(SegBase(huge)) == huge, "also in a huge one");
  TapOk(SegOfAddr(SegLimit(huge)) == NULL && SegOfAddr((char *)SegBase(huge) - 1) == NULL, "and not beside it");
  TapOk(SegOfAddr(small) == NULL, "descriptors are in no segment");
  TapOk(PoolCheck(pool) && ArenaCheck(arena), "all is well");
  SegFree(small);
  SegFree(large);
  SegFree(huge);
  TapOk(SegOfAddr(SegBase(small)) == NULL, "a freed segment is not found");
  TapOk(ArenaCheck(arena), "all is well after they have gone");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static void testAlignHuge(void)
{
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Seg seg;
  Size align;
  Bool good = TRUE;

  for (align = 1; align <= ChunkSIZE * 4; align *= 2) {
    if (SegAlloc(&seg, NULL, pool, 100, align) != ResOK || (Word)SegBase(seg) % align != 0 || !SegCheck(seg))
      good = FALSE;
    memset(SegBase(seg), 1, 100);
    good = good && SegOfAddr((char *)SegBase(seg) + 99) == seg;
    SegFree(seg);
  }
  TapOk(good, "segments can be aligned to any power of two");
  TapOk(SegAlloc(&seg, NULL, pool, 1, (Size)1 << (WORD_WIDTH - 1)) != ResOK, "or are refused");
  TapOk(SegAlloc(&seg, NULL, pool, SIZE_MAX, 1) != ResOK, "as are impossible sizes");
  TapOk(SegAlloc(&seg, NULL, pool, SIZE_MAX / 2, 1) != ResOK, "large and small");
  TapOk(ArenaCheck(arena), "which leaves no trace");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static void testSpare(void)
{
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Size before = arena->committed;
  Bool zero;
  Seg seg;

  ArenaSpareLimitSet(arena, 8 * GRAIN);
  if (SegAlloc(&seg, NULL, pool, 6 * GRAIN, 1) != ResOK)
    abort();
  memset(SegBase(seg), 0xaa, SegSize(seg));
  TapIs(arena->committed, before + 6 * GRAIN, "a segment is committed");
  SegFree(seg);
  TapIs(arena->spare, 6 * GRAIN, "and spare when it was freed");
  TapIs(arena->committed, before + 6 * GRAIN, "but still committed");
  if (SegAlloc(&seg, &zero, pool, GRAIN, 1) != ResOK)
    abort();
  TapOk(!zero, "spare memory is used first, and not called zero");
  SegFree(seg);
  if (SegAlloc(&seg, NULL, pool, 20 * GRAIN, 1) != ResOK)
    abort();
  memset(SegBase(seg), 0xaa, SegSize(seg));
  SegFree(seg);
  TapOk(arena->spare <= 8 * GRAIN, "no more stays spare than the limit says");
  if (SegAlloc(&seg, NULL, pool, GRAIN, 1) != ResOK)
    abort();
  ArenaSpareLimitSet(arena, 0);
  SegFree(seg);
  TapIs(arena->spare, 0, "a lower limit takes effect with the next segment that is freed");
  TapIs(arena->committed, before, "and gives the memory back");
  if (SegAlloc(&seg, &zero, pool, 20 * GRAIN, 1) != ResOK)
    abort();
  TapOk(zero && allBytes(SegBase(seg), 20 * GRAIN, 0), "what comes again is zero");
  TapOk(ArenaCheck(arena), "all is well");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static void testResize(void)
{
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Seg seg, behind, moved;

  if (SegAlloc(&seg, NULL, pool, 4 * GRAIN, 1) != ResOK)
    abort();
  memset(SegBase(seg), 7, SegSize(seg));
  TapIs(SegResize(&seg, 9 * GRAIN), ResOK, "a segment grows where there is room");
  TapIs(SegSize(seg), 9 * GRAIN, "to the size asked for");
  TapOk(SegOfAddr((char *)SegLimit(seg) - 1) == seg, "and is found by its new addresses");
  TapIs(SegAlloc(&behind, NULL, pool, GRAIN, 1), ResOK, "another one is behind it");
  TapIs(SegResize(&seg, 10 * GRAIN), ResFAIL, "and it grows no more");
  TapIs(SegResize(&seg, 2 * GRAIN), ResOK, "it shrinks");
  TapOk(SegOfAddr((char *)SegBase(seg) + 2 * GRAIN) == NULL, "and what it had is nobody's");
  TapOk(allBytes(SegBase(seg), 2 * GRAIN, 7), "contents stay");
  TapOk(PoolCheck(pool) && ArenaCheck(arena), "all is well");
  if (SegAlloc(&seg, NULL, pool, ChunkSIZE / 2, 1) != ResOK)
    abort();
  memset(SegBase(seg), 9, SegSize(seg));
  moved = seg;
  TapIs(SegResize(&seg, ChunkSIZE * 3), ResOK, "a huge segment grows");
  TapOk(seg != moved && ChunkSlot(moved) == ChunkSlotNONE, "by moving, and where it was is not ours any more");
  TapOk(allBytes(SegBase(seg), ChunkSIZE / 2, 9), "with its contents");
  TapOk(allBytes((char *)SegBase(seg) + ChunkSIZE / 2, ChunkSIZE * 5 / 2, 0), "and what is new is zero");
  TapOk(PoolCheck(pool) && ArenaCheck(arena), "all is well");
  TapIs(SegResize(&seg, ChunkSIZE), ResOK, "it shrinks");
  TapIs(SegResize(&seg, GRAIN), ResFAIL, "but does not stay huge for little");
  TapOk(PoolCheck(pool) && ArenaCheck(arena), "all is well");
  PoolDestroy(pool);
  TapOk(ArenaCheck(arena), "and without the pool");
  ArenaDestroy(arena);
}

/* segOf -- a segment of so many grains */
static Seg segOf(Pool pool, Count grains, Bool *zeroReturn)
{
  Seg seg;

  if (SegAlloc(&seg, zeroReturn, pool, grains * GRAIN, 1) != ResOK)
    abort();
  return seg;
}

/* testHugeSpare -- huge chunks are used again */
static void testHugeSpare(void)
{
  enum { N = 200 };
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Size before = arena->committed, reserved = arena->reserved;
  Seg seg, second;
  Addr base;
  Bool zero;

  ArenaSpareLimitSet(arena, 2 * N * GRAIN);
  seg = segOf(pool, N, NULL), base = SegBase(seg);
  memset(base, 1, N * GRAIN);
  SegFree(seg);
  TapOk(SegOfAddr(base) == NULL, "what is kept of a huge segment is nobody's");
  TapIs(arena->spare, (N + 1) * GRAIN, "and spare, with its header");
  seg = segOf(pool, N + 50, NULL);
  TapOk(SegBase(seg) == base, "the next one, though larger, has its place");
  TapOk(allBytes(base, N * GRAIN, 1) && allBytes((char *)base + N * GRAIN, 50 * GRAIN, 0), "only what is more is new");
  TapIs(arena->spare, 0, "nothing is spare");
  SegFree(seg);
  seg = segOf(pool, N - 20, NULL);
  TapOk(SegBase(seg) == base && arena->spare == 70 * GRAIN, "what a smaller one does not need stays spare");
  TapOk(SegOfAddr((char *)SegLimit(seg)) == NULL, "and is nobody's");
  TapOk(SegResize(&seg, N * GRAIN) == ResOK && arena->spare == 50 * GRAIN, "it grows into that,");
  TapOk(SegResize(&seg, 100 * GRAIN) == ResOK && arena->spare == 150 * GRAIN && ArenaCheck(arena), "and shrinks");
  second = segOf(pool, N, NULL);
  TapOk(SegBase(second) != base && arena->reserved == reserved + 2 * ChunkSIZE, "which is no place for another one");
  ArenaSpareLimitSet(arena, 30 * GRAIN);
  TapOk(arena->spare == 30 * GRAIN && allBytes(base, 130 * GRAIN, 1), "a limit takes from the end");
  TapOk(SegResize(&seg, 150 * GRAIN) == ResOK && allBytes((char *)base + 130 * GRAIN, 20 * GRAIN, 0), "what was taken is zero");
  SegFree(second);
  TapOk(arena->spare <= 30 * GRAIN && arena->spare > 0 && ArenaCheck(arena), "what is freed is kept as far as the limit allows");
  TapOk(SegResize(&seg, 2 * ChunkSIZE) == ResOK && seg != NULL && ArenaCheck(arena), "one with spare grains moves");
  ArenaSpareLimitSet(arena, 0);
  ArenaSpareLimitSet(arena, 2 * N * GRAIN);
  TapOk(SegResize(&seg, ChunkSIZE) == ResOK && arena->spare == 0 && ArenaCheck(arena), "of several slots nothing is kept");
  SegFree(seg);
  TapOk(arena->reserved == reserved && arena->spare == 0, "nor is it afterwards");
  seg = segOf(pool, N, NULL);
  memset(SegBase(seg), 1, N * GRAIN);
  SegFree(seg);
  seg = segOf(pool, N + 20, &zero);
  TapOk(zero && allBytes(SegBase(seg), (N + 20) * GRAIN, 0), "who wants zeros gets them in what was kept");
  SegFree(seg);
  TapOk(ArenaCommitLimitSet(arena, before) == ResOK && arena->committed == before, "what is kept stands in no limit's way");
  TapOk(SegAlloc(&seg, NULL, pool, N * GRAIN, 1) == ResMEMORY && ArenaCommitLimitSet(arena, SIZE_MAX) == ResOK, "which holds");
  ArenaSpareLimitSet(arena, 0);
  TapOk(arena->committed == before && arena->reserved == reserved && ArenaCheck(arena), "in the end all is given back");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

/* testHugeMany -- many huge chunks are neither all kept nor searched, and headers of those kept are not in use */
static void testHugeMany(void)
{
  enum { N = 300 };
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Seg large = segOf(pool, 900 * 16, NULL), seg[N];
  unsigned i;

  for (i = 0; i < N; ++i)
    if (SegAllocToGrow(&seg[i], pool, GRAIN) != ResOK)
      abort();
  for (i = 0; i < N; ++i)
    SegFree(seg[i]);
  TapOk(arena->hugeSpares < 50 && ArenaCheck(arena), "of many huge chunks some are kept (%zu)", arena->hugeSpares);
  SegFree(large);
  TapOk(ArenaCheck(arena), "also when nothing else is in use");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

/* testHugeRetry -- where the system refuses memory what is kept goes, and it is asked again */
static void testHugeRetry(void)
{
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Seg seg, large;

  SegFree(segOf(pool, 200, NULL));
  PagesFailAt = 2; /* the second call, which commits the header */
  TapOk(SegAlloc(&large, NULL, pool, ChunkSIZE, 1) == ResOK && arena->spare == 0, "a refused segment is asked for again");
  SegFree(large);
  seg = segOf(pool, 300, NULL);
  SegFree(segOf(pool, 200, NULL));
  PagesFailAt = 2; /* the second call, which commits the header */
  TapOk(SegResize(&seg, 2 * ChunkSIZE) == ResOK && arena->spare == 0, "and a refused move");
  PagesFailAt = 2; /* the second call, which commits the header */
  TapOk(SegAlloc(&large, NULL, pool, ChunkSIZE, 1) == ResMEMORY && ArenaCheck(arena), "but where nothing is kept, that is it");
  PagesFailAt = 0;
  SegFree(seg);
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

/* testSpareLately -- what was in use lately is kept for a while, but no more than is in use */
static void testSpareLately(void)
{
  enum { N = 60, MORE = 24, EACH = 32 /* grains, 2 MiB */ };
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Seg seg[N];
  Size most;
  unsigned i;

  for (i = 0; i < N; ++i)
    seg[i] = segOf(pool, EACH, NULL);
  for (i = 0; i < MORE; ++i)
    SegFree(seg[i]);
  TapIs(arena->spare, MORE * EACH * GRAIN, "beyond the limit what was in use lately is kept");
  arena->peakSince -= 3000000000;
  most = arena->spare;
  seg[0] = segOf(pool, 1, NULL);
  TapOk(arena->spare < most && arena->spare >= most - (9 << 20), "seconds later it goes, but in pieces");
  for (i = 0; i < 20; ++i) {
    SegFree(seg[0]);
    seg[0] = segOf(pool, 1, NULL);
  }
  TapOk(arena->spare <= ArenaSpareLimitDEFAULT && ArenaCheck(arena), "until only the limit is left,");
  TapOk(arena->spare >= ArenaSpareLimitDEFAULT / 2, "but as much");
  SegFree(seg[0]);
  for (i = MORE; i < N - 4; ++i)
    SegFree(seg[i]);
  TapOk(arena->spare <= ArenaSpareLimitDEFAULT + ArenaUsed(arena) && ArenaCheck(arena), "nor is more kept than is in use");
  for (; i < N; ++i)
    SegFree(seg[i]);
  TapOk(arena->spare <= ArenaSpareLimitDEFAULT + ArenaUsed(arena) && ArenaUsed(arena) < GRAIN * EACH, "and where nothing is, the limit holds");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

/* testRandom -- segments never overlap, keep their contents, and the arena's books stay right */
static void testRandom(void)
{
  enum { SLOTS = 64 };
  struct {
    Seg seg;
    unsigned char byte;
  } slot[SLOTS] = { { NULL, 0 } };
  uint64_t state = TapSeed() | 1;
  Arena arena = newArena();
  Pool pool = newPool(arena);
  Bool good = TRUE;
  unsigned step;

  ArenaSpareLimitSet(arena, TapRandom(&state) % 3 * 40 * GRAIN);
  if (TapRandom(&state) % 2 == 0)
    arena->spareFixed = FALSE;
  for (step = 0; good && step < 4000; ++step) {
    unsigned i = TapRandom(&state) % SLOTS;
    Size size = 1 + TapRandom(&state) % ((TapRandom(&state) % 16 == 0 ? 300 : 12) * GRAIN);
    Bool zero;
    if (slot[i].seg != NULL) {
      unsigned char *base = (unsigned char *)SegBase(slot[i].seg);
      good = base[0] == slot[i].byte && base[SegSize(slot[i].seg) - 1] == slot[i].byte;
      if (TapRandom(&state) % 4 == 0 && SegResize(&slot[i].seg, size) == ResOK) {
        base = (unsigned char *)SegBase(slot[i].seg);
        good = good && base[0] == slot[i].byte;
        base[SegSize(slot[i].seg) - 1] = slot[i].byte;
      } else {
        SegFree(slot[i].seg);
        slot[i].seg = NULL;
      }
    } else if (SegAlloc(&slot[i].seg, &zero, pool, size, TapRandom(&state) % 2 ? 1 : 4 * GRAIN) == ResOK) {
      unsigned char *base = (unsigned char *)SegBase(slot[i].seg);
      Size last = SegSize(slot[i].seg) - 1;
      good = !zero || (base[0] == 0 && base[last / 2] == 0 && base[last] == 0);
      slot[i].byte = (unsigned char)(1 + step % 255);
      base[0] = base[last / 2] = base[last] = slot[i].byte;
    } else {
      slot[i].seg = NULL;
    }
    if (step % 64 == 0)
      good = good && PoolCheck(pool) && ArenaCheck(arena);
  }
  TapOk(good, "segments at random keep apart, keep their contents and the promise of zero");
  PoolDestroy(pool);
  TapOk(ArenaCheck(arena), "and all can be given back at once");
  ArenaDestroy(arena);
}

/* testNoMemory -- in a child, since a limit cannot always be taken back */
static void testNoMemory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  TapSkip("address space cannot be limited under this sanitizer");
#else
  int status = -1;
  pid_t pid = fork();

  if (pid == 0) {
    struct rlimit limit = { (rlim_t)400 << 20, (rlim_t)400 << 20 };
    Arena arena = newArena();
    Pool pool = newPool(arena);
    Count n = 0;
    Seg seg;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
      _exit(2);
    errno = 0;
    while (n < 10000 && SegAlloc(&seg, NULL, pool, 32 * GRAIN, 1) == ResOK)
      ++n;
    if (n < 30 || n == 10000 || errno != 0 || !ArenaCheck(arena) || !PoolCheck(pool))
      _exit(3);
    PoolDestroy(pool);
    if (!ArenaCheck(arena))
      _exit(4);
    ArenaDestroy(arena);
    _exit(0);
  }
  (void)waitpid(pid, &status, 0);
  TapIs(status, 0, "without memory a segment is refused, errno kept, and the arena sound");
#endif
}

static void *churn(void *closure)
{
  Pool pool = closure;
  Seg seg[8];
  unsigned i, k;

  for (i = 0; i < 400; ++i) {
    for (k = 0; k < 8; ++k) {
      if (SegAlloc(&seg[k], NULL, pool, (1 + (i + k) % 7) * GRAIN, 1) != ResOK)
        return NULL;
      *(volatile char *)SegBase(seg[k]) = 1;
    }
    for (k = 0; k < 8; ++k)
      SegFree(seg[k]);
  }
  return pool;
}

static void testThreads(void)
{
  Arena arena = newArena();
  Pool pool = newPool(arena);
  pthread_t thread[4];
  void *result;
  unsigned i;
  Bool good = TRUE;

  for (i = 0; i < 4; ++i)
    if (pthread_create(&thread[i], NULL, churn, pool) != 0)
      abort();
  for (i = 0; i < 4; ++i) {
    (void)pthread_join(thread[i], &result);
    good = good && result == pool;
  }
  TapOk(good && ArenaCheck(arena) && PoolCheck(pool), "threads share an arena");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

int main(void)
{
  testLife();
  testForeign();
  testLookup();
  testAlignHuge();
  testHugeSpare();
  testHugeMany();
  testHugeRetry();
  testSpareLately();
  testSpare();
  testResize();
  testRandom();
  testNoMemory();
  testThreads();
  return TapDone();
}
