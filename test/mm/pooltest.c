/* pooltest.c -- pools are made by name and parameters, and each class allocates as it promises
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mm/arena.h"
#include "mm/freetree.h"
#include "mm/pool.h"
#include "mm/poolsgfcache.h"
#include "tap.h"

static Arena arena;

static Pool newPool(const char *class, const PoolParamStruct *params, Count n)
{
  Pool pool = NULL;

  if (PoolCreate(&pool, arena, class, params, n) != ResOK)
    abort();
  return pool;
}

static Bool filled(const void *p, int byte, Size size)
{
  const unsigned char *bytes = p;

  return size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void testCreate(void)
{
  static const PoolParamStruct unknown[] = { { "extendby", 1 } };
  static const PoolParamStruct twice[] = { { "unitSize", 8 }, { "unitSize", 40 } };
  static const PoolParamStruct badUnit[] = { { "unitSize", 0 } };
  static const PoolParamStruct badAlign[] = { { "align", 24 } };
  static const PoolParamStruct hugeExtend[] = { { "extendBy", SIZE_MAX } };
  Addr addr;
  Pool pool;

  TapIs(PoolCreate(&pool, arena, "NONE", NULL, 0), ResPARAM, "a class that is not there is refused");
  TapIs(PoolCreate(&pool, arena, "MVFF", unknown, 1), ResPARAM, "so is a parameter");
  TapIs(PoolCreate(&pool, arena, "MFS", badUnit, 1), ResPARAM, "and a value that cannot be meant:");
  TapIs(PoolCreate(&pool, arena, "MVFF", badAlign, 1), ResPARAM, "an alignment that is no power of two,");
  TapIs(PoolCreate(&pool, arena, "MVFF", hugeExtend, 1), ResPARAM, "an extension larger than memory");
  TapIs(PoolCreate(&pool, arena, "MFS", twice, 2), ResOK, "of a parameter given twice");
  TapOk(PoolAlloc(&addr, pool, 40) == ResOK && PoolAlloc(&addr, pool, 41) == ResPARAM, "the last counts");
  PoolDestroy(pool);
  TapOk(ArenaCheck(arena), "the arena is sound");
}

static void testMFS(void)
{
  static const PoolParamStruct params[] = { { "unitSize", 20 }, { "extendBy", 1 << 20 } };
  enum { N = 5000 };
  static Addr unit[N];
  Pool pool = newPool("MFS", params, 2);
  Addr addr;
  unsigned i;
  Bool good = TRUE;

  for (i = 0; i < N; ++i) {
    good = good && PoolAlloc(&unit[i], pool, 20) == ResOK;
    memset(unit[i], (int)(i % 251), 20);
  }
  for (i = 0; i < N; ++i)
    good = good && filled(unit[i], (int)(i % 251), 20);
  TapOk(good, "MFS: units do not overlap");
  TapIs(pool->segSize, 1 << 20, "MFS: it extends by what it was told");
  TapIs((Word)unit[N - 1] - (Word)unit[0], (N - 1) * 24, "MFS: units are multiples of a word");
  PoolFree(pool, unit[17], 20);
  TapOk(PoolCheck(pool), "MFS: it passes its check");
  TapOk(PoolAllocZero(&addr, pool, 20) == ResOK && addr == unit[17], "MFS: the unit freed last is used first");
  TapOk(filled(addr, 0, 20), "MFS: and zeroed if asked");
  TapIs(PoolAlloc(&addr, pool, 25), ResPARAM, "MFS: it has no larger units");
  TapIs(PoolAllocAligned(&addr, pool, 8, 64), ResPARAM, "MFS: nor aligned ones");
  TapOk(PoolResize(&addr, pool, unit[3], 20, 10) == ResOK && addr == unit[3], "MFS: a unit shrinks where it is");
  PoolDestroy(pool);
}

/* -- MVFF against an oracle: a table of what is free, block by block, that is searched from the start -- */

enum { OBJECTS = 400 };
static struct {
  Addr addr;
  Size size;
} object[OBJECTS];

/* oracleFree -- is nothing in [addr, limit) an object's?  If not, where does the first object there end? */
static Word oracleBusy(Word addr, Word limit)
{
  Word next = 0;
  unsigned i;

  for (i = 0; i < OBJECTS; ++i) {
    Word base = (Word)object[i].addr, end = base + WordAlignUp(object[i].size, FreeTreeUNIT);
    if (base != 0 && base < limit && end > addr && (next == 0 || end < next))
      next = end;
  }
  return next;
}

/* mvffLimit -- where the part of a segment ends in which objects can be: behind it are marks, a bit for each unit */
static Word mvffLimit(Seg seg)
{
  return (Word)SegLimit(seg) - SegSize(seg) / (FreeTreeUNIT * 8);
}

/* oracleFirst -- the first place, in order of address, for `size` bytes in the pool's segments; 0: none */
static Word oracleFirst(Pool pool, Size size)
{
  Word best = 0;
  Ring node, after;

  RING_FOR(node, &pool->segRing, after) {
    Seg seg = RING_ELT(SegStruct, poolRing, node);
    Word at = (Word)SegBase(seg), busy;
    while (at + size <= mvffLimit(seg) && (busy = oracleBusy(at, at + size)) != 0)
      at = busy;
    if (at + size <= mvffLimit(seg) && (best == 0 || at < best))
      best = at;
  }
  return best;
}

static Size mvffSize(uint64_t *state)
{
  switch (TapRandom(state) % 8) {
  case 0: return 1 + TapRandom(state) % 30000;
  case 1: return 1 + TapRandom(state) % 2000;
  default: return 1 + TapRandom(state) % 200;
  }
}

static Bool mvffStep(Pool pool, uint64_t *state)
{
  unsigned i = TapRandom(state) % OBJECTS;
  Size size = mvffSize(state);
  Addr addr = NULL;
  Bool good = TRUE;

  if (object[i].addr == NULL) {
    Word expected = oracleFirst(pool, WordAlignUp(size, FreeTreeUNIT));
    good = PoolAlloc(&addr, pool, size) == ResOK && (expected == 0 || (Word)addr == expected);
    good = good && oracleBusy((Word)addr, (Word)addr + size) == 0;
  } else {
    good = filled(object[i].addr, (int)i % 256, object[i].size);
    if (TapRandom(state) % 3 != 0) {
      PoolFree(pool, object[i].addr, object[i].size);
      object[i].addr = NULL;
      return good;
    }
    good = good && PoolResize(&addr, pool, object[i].addr, object[i].size, size) == ResOK;
    good = good && filled(addr, (int)i % 256, size < object[i].size ? size : object[i].size);
    object[i].addr = NULL;
    good = good && oracleBusy((Word)addr, (Word)addr + size) == 0;
  }
  if (!good)
    return FALSE;
  memset(addr, (int)i % 256, size);
  object[i].addr = addr;
  object[i].size = size;
  return good;
}

/* isEmpty -- has each of the pool's segments one free block, of all that can be free there? */
static Bool isEmpty(Pool pool)
{
  Ring node, after;

  RING_FOR(node, &pool->segRing, after) {
    Seg seg = RING_ELT(SegStruct, poolRing, node);
    FreeNode block = (FreeNode)(void *)SegBase(seg);
    if ((Word)block + block->size != mvffLimit(seg))
      return FALSE;
  }
  return TRUE;
}

static void testMVFF(void)
{
  static const PoolParamStruct params[] = { { "extendBy", 100000 }, { "align", 8 }, { "spare", 200000 } };
  uint64_t state = TapSeed() | 1;
  Pool pool = newPool("MVFF", params, 3);
  Bool good = TRUE;
  unsigned step, i;

  for (step = 0; good && step < 20000; ++step) {
    good = mvffStep(pool, &state);
    if (step % 100 == 0)
      good = good && PoolCheck(pool);
  }
  TapOk(good, "MVFF: every object is where a search from the start finds room first (%u steps)", step);
  for (i = 0; i < OBJECTS; ++i)
    if (object[i].addr != NULL)
      PoolFree(pool, object[i].addr, object[i].size);
  memset(object, 0, sizeof object);
  TapOk(PoolCheck(pool) && pool->segSize <= 200000, "MVFF: empty, it keeps what `spare` says");
  TapOk(pool->segSize > 0 && isEmpty(pool), "MVFF: all of which is free");
  PoolDestroy(pool);
}

static void testMVFFAlign(void)
{
  static const PoolParamStruct params[] = { { "align", 256 } };
  Pool pool = newPool("MVFF", params, 1);
  Addr a[40], addr;
  unsigned i;
  Bool good = TRUE;

  for (i = 0; i < 40; ++i) {
    Size align = (Size)1 << (i % 18);
    good = good && PoolAllocAligned(&a[i], pool, 10 + i, align) == ResOK;
    good = good && (Word)a[i] % align == 0 && (Word)a[i] % 256 == 0;
    memset(a[i], 1, 10 + i);
  }
  TapOk(good && PoolCheck(pool), "MVFF: objects are aligned as the pool and as the call say");
  TapIs(PoolAllocAligned(&addr, pool, 10, 48), ResPARAM, "an alignment is a power of two");
  TapOk(PoolAlloc(&addr, pool, SIZE_MAX) != ResOK, "MVFF: a size beyond memory is refused");
  for (i = 0; i < 40; ++i)
    PoolFree(pool, a[i], 10 + i);
  TapOk(PoolCheck(pool) && isEmpty(pool), "MVFF: nothing is lost by alignment");
  PoolDestroy(pool);
}

/* testMVFFMany -- with many free blocks, a search from the start would take minutes */
static void testMVFFMany(void)
{
  enum { N = 200000 };
  static Addr a[N];
  static const PoolParamStruct params[] = { { "extendBy", 1 << 24 } };
  Pool pool = newPool("MVFF", params, 1);
  Bool good = TRUE;
  unsigned i;

  for (i = 0; i < N; ++i)
    good = good && PoolAlloc(&a[i], pool, 64) == ResOK;
  for (i = 0; i < N; i += 2)
    PoolFree(pool, a[i], 64);
  for (i = 0; i < N; i += 2)
    good = good && PoolAlloc(&a[i], pool, 128) == ResOK;
  TapOk(good && PoolCheck(pool), "MVFF: a hundred thousand holes that are too small do not slow it down");
  PoolDestroy(pool);
}

static void testSizes(void)
{
  Size size;
  Index class;
  Bool fits = TRUE, tight = TRUE, many = TRUE, rising = TRUE;

  for (size = 1; size <= SGFBlockMAX; ++size) {
    Size block = SGFClassSize(SGFClassOfSize(size));
    fits = fits && block >= size && block % 16 == 0;
    tight = tight && (size > 4096 || block - size < 16 || block <= size + size / 8);
    /* As many fit into 64 KiB, or 128, as of the size itself, in units. */
    many = many && (size <= 4096 || (size <= 32768 ? 65536 : 131072) / block ==
                                      (size <= 32768 ? 65536 : 131072) / ((size + 15) / 16 * 16));
  }
  for (class = 0; class < SGFClassCOUNT; ++class)
    rising = rising && SGFClassOfSize(SGFClassSize(class)) == class;
  TapOk(fits, "SGF: every size fits its class's blocks");
  TapOk(tight, "SGF: which are an eighth too large at most, up to a page");
  TapOk(many, "SGF: above that a slab has as many of them as it could have of that size");
  TapOk(rising, "SGF: every class serves its own size");
}

/* nothingUsed -- is each of the pool's segments a slab of which no block is used, or one that was a large object? */
static Bool nothingUsed(Pool pool)
{
  Bool nothing = TRUE;
  Ring node, after;

  RING_FOR(node, &pool->segRing, after) {
    Slab slab = (Slab)RING_ELT(SegStruct, poolRing, node);
    nothing = nothing && (slab->owner != NULL ? slab->used == 0 : !slab->large);
  }
  return nothing;
}

static void testSGF(void)
{
  enum { N = 3000 };
  static struct {
    Addr addr;
    Size size;
  } o[N];
  uint64_t state = TapSeed() | 1;
  Pool pool = newPool("SGF", NULL, 0);
  Bool good = TRUE;
  unsigned step, i;

  for (step = 0; good && step < 60000; ++step) {
    Size size = TapRandom(&state) % (TapRandom(&state) % 50 == 0 ? 300000 : TapRandom(&state) % 10 == 0 ? 9000 : 300);
    Size align = (Size)1 << TapRandom(&state) % (TapRandom(&state) % 100 == 0 ? 19 : 5);
    i = TapRandom(&state) % N;
    if (o[i].addr == NULL) {
      switch (TapRandom(&state) % 3) {
      case 0: good = PoolAlloc(&o[i].addr, pool, size) == ResOK && (Word)o[i].addr % 16 == 0; break;
      case 1: good = PoolAllocZero(&o[i].addr, pool, size) == ResOK && filled(o[i].addr, 0, size); break;
      default: good = PoolAllocAligned(&o[i].addr, pool, size, align) == ResOK && (Word)o[i].addr % align == 0; break;
      }
      good = good && SGFUsableSize(o[i].addr) >= size;
      memset(o[i].addr, (int)i % 256, SGFUsableSize(o[i].addr));
      o[i].size = size;
    } else {
      good = filled(o[i].addr, (int)i % 256, o[i].size);
      if (TapRandom(&state) % 3 == 0) {
        good = good && PoolResize(&o[i].addr, pool, o[i].addr, o[i].size, size) == ResOK;
        good = good && filled(o[i].addr, (int)i % 256, size < o[i].size ? size : o[i].size);
        memset(o[i].addr, (int)i % 256, SGFUsableSize(o[i].addr));
        o[i].size = size;
      } else {
        PoolFree(pool, o[i].addr, o[i].size);
        o[i].addr = NULL;
      }
    }
    if (step % 1000 == 0)
      good = good && PoolCheck(pool);
  }
  TapOk(good, "SGF: objects of all sizes keep apart, keep their contents and alignment (%u steps)", step);
  for (i = 0; i < N; ++i)
    if (o[i].addr != NULL)
      PoolFree(pool, o[i].addr, o[i].size);
  TapOk(PoolCheck(pool), "SGF: it passes its check");
  TapOk(nothingUsed(pool), "SGF: all is free in the end");
  PoolDestroy(pool);
  TapOk(ArenaCheck(arena), "SGF: and the arena sound");
}

/* testSGFLarge -- large objects that were freed are kept by the thread, for others of their size */
static void testSGFLarge(void)
{
  enum { N = 100 };
  Pool pool = newPool("SGF", NULL, 0);
  Addr addr = NULL, other = NULL, many[N];
  Bool good;
  unsigned i;

  good = PoolAlloc(&addr, pool, 200000) == ResOK;
  memset(addr, 7, 200000);
  PoolFree(pool, addr, 200000);
  good = good && PoolAllocZero(&other, pool, 190000) == ResOK;
  TapOk(good && other == addr, "SGF: a large object that was freed is had again");
  TapOk(filled(other, 0, 190000), "SGF: and is zero if asked");
  PoolFree(pool, other, 190000);
  good = PoolAlloc(&other, pool, 70000) == ResOK;
  TapOk(good && other != addr, "SGF: not for an object that is much smaller");
  TapOk(PoolCheck(pool), "SGF: the pool is sound");
  for (i = 0; i < N; ++i)
    good = good && PoolAlloc(&many[i], pool, 300000) == ResOK;
  for (i = 0; i < N && good; ++i)
    PoolFree(pool, many[i], 300000);
  TapOk(good && pool->segSize <= (Size)(2 << 20) + 10 * ArenaGrainSIZE, "SGF: no more than 2 MiB are kept (%lu)",
        (unsigned long)pool->segSize);
  SGFThreadExit();
  TapOk(pool->segSize <= 3 * ArenaGrainSIZE, "SGF: and none beyond the end of the thread");
  SGFThreadCache = &SGFCacheNone;
  PoolDestroy(pool);
}

static void testSGFLimits(void)
{
  Pool pool = newPool("SGF", NULL, 0), second = newPool("SGF", NULL, 0);
  Addr addr, other;
  char local = 0;

  TapOk(PoolAlloc(&addr, pool, SIZE_MAX) != ResOK, "SGF: a size beyond memory is refused");
  TapOk(PoolAlloc(&addr, pool, SIZE_MAX - 70000) != ResOK, "SGF: and one just below it");
  TapOk(PoolAllocAligned(&addr, pool, 100, (Size)1 << (WORD_WIDTH - 1)) != ResOK, "SGF: or such an alignment");
  TapOk(!SGFFree(NULL) && !SGFFree(&local) && !SGFFree(&arena), "SGF: foreign addresses are not freed");
  TapIs(SGFUsableSize(&local), 0, "SGF: and have no size");
  if (PoolAlloc(&addr, pool, 100) != ResOK || PoolAlloc(&other, second, 100) != ResOK)
    abort();
  TapOk(PoolOfAddr(addr) == pool && PoolOfAddr(other) == second, "SGF: two pools keep apart");
  PoolFree(pool, addr, 100);
  PoolFree(second, other, 100);
  TapOk(PoolCheck(pool) && PoolCheck(second), "SGF: and a thread has a cache in each");
  PoolDestroy(pool);
  TapIs(PoolAlloc(&other, second, 100), ResOK, "SGF: one outlives the other");
  PoolDestroy(second);
  pool = newPool("SGF", NULL, 0);
  TapOk(PoolAlloc(&addr, pool, 100) == ResOK && PoolCheck(pool), "SGF: and a new one starts afresh");
  PoolDestroy(pool);
}

/* testSGFSlabs -- a slab that is empty goes back to the arena, whatever the order in which its objects were freed */
static void testSGFSlabs(void)
{
  enum { N = 40000 };
  static Addr a[N];
  Pool pool = newPool("SGF", NULL, 0);
  uint64_t state = TapSeed() | 1;
  Size full;
  unsigned i;

  for (i = 0; i < N; ++i)
    if (PoolAlloc(&a[i], pool, 200) != ResOK)
      abort();
  full = pool->segSize;
  TapOk(full < (Size)N * 208 * 101 / 100 + ArenaGrainSIZE, "SGF: slabs are full to the brim");
  for (i = N - 1; i > 0; --i) {
    unsigned k = (unsigned)(TapRandom(&state) % (i + 1));
    Addr addr = a[i];
    a[i] = a[k];
    a[k] = addr;
  }
  for (i = 0; i < N; ++i)
    PoolFree(pool, a[i], 200);
  TapOk(pool->segSize <= 6 * ArenaGrainSIZE, "SGF: and go back when empty");
  TapOk(PoolCheck(pool) && ArenaCheck(arena), "SGF: all is well");
  PoolDestroy(pool);
}

/* -- for test/mm/mmevent.t: do things, and print the events that the log must have of them, in eventcnv's words -- */

static void eventsOfClass(const char *class, uint64_t *state)
{
  enum { N = 100 };
  static Addr addr[N];
  static Size size[N];
  static const PoolParamStruct params[] = { { "unitSize", 3000 } };
  Bool mfs = strcmp(class, "MFS") == 0;
  Pool pool = newPool(class, params, mfs);
  Word w = (Word)pool;
  unsigned step;

  for (step = 0; step < 3000; ++step) {
    unsigned i = (unsigned)(TapRandom(state) % N);
    Size want = 1 + TapRandom(state) % (mfs ? 3000 : TapRandom(state) % 20 == 0 ? 3000000 : 4000);
    Addr old = addr[i];
    switch (TapRandom(state) % 4 + (old != NULL ? 4 : 0)) {
    case 0: case 1:
      (void)PoolAlloc(&addr[i], pool, want);
      printf("PoolAlloc pool=0x%zx addr=0x%zx size=%zu\n", w, (Word)addr[i], want);
      break;
    case 2:
      (void)PoolAllocZero(&addr[i], pool, want);
      printf("PoolAllocZero pool=0x%zx addr=0x%zx size=%zu\n", w, (Word)addr[i], want);
      break;
    case 3:
      if (PoolAllocAligned(&addr[i], pool, want, mfs ? 8 : 256) != ResOK)
        abort();
      printf("PoolAllocAligned pool=0x%zx addr=0x%zx size=%zu align=%d\n", w, (Word)addr[i], want, mfs ? 8 : 256);
      break;
    case 4:
      printf("PoolResizeBegin pool=0x%zx old=0x%zx size=%zu\n", w, (Word)old, want);
      (void)PoolResize(&addr[i], pool, old, size[i], want);
      printf("PoolResizeEnd pool=0x%zx old=0x%zx addr=0x%zx size=%zu\n", w, (Word)old, (Word)addr[i], want);
      break;
    case 5:
      printf("PoolResizeBegin pool=0x%zx old=0x%zx size=%zu\n", w, (Word)old, SIZE_MAX);
      if (PoolResize(&addr[i], pool, old, size[i], SIZE_MAX) == ResOK)
        abort();
      printf("PoolResizeEnd pool=0x%zx old=0x%zx addr=0x0 size=%zu\n", w, (Word)old, SIZE_MAX);
      want = size[i];
      break;
    default:
      printf("PoolFree pool=0x%zx addr=0x%zx\n", w, (Word)old);
      PoolFree(pool, old, size[i]);
      addr[i] = NULL;
      break;
    }
    size[i] = want;
  }
  if (PoolAlloc(&addr[0], pool, SIZE_MAX) == ResOK)
    abort();
  printf("PoolAllocFail pool=0x%zx size=%zu\n", w, SIZE_MAX);
  memset(addr, 0, sizeof addr);
  PoolDestroy(pool);
}

static int events(void)
{
  uint64_t state = 20230401;

  arena->spareLimit = 1 << 20;
  eventsOfClass("MFS", &state);
  eventsOfClass("MVFF", &state);
  eventsOfClass("SGF", &state);
  ArenaDestroy(arena);
  return 0;
}

/* ---- Fork ---- */

static Pool forkPool;
static Bool forkOver;

static void forkUse(Pool pool, Size size)
{
  Addr addr;

  if (PoolAlloc(&addr, pool, size) == ResOK)
    PoolFree(pool, addr, size);
}

static void *forkBusy(void *closure)
{
  while (!__atomic_load_n(&forkOver, __ATOMIC_RELAXED)) {
    forkUse(forkPool, 100);
    forkUse(forkPool, 200000);
  }
  return closure;
}

/* testFork -- children of fork use a pool in which other threads were busy */
static void testFork(const char *class)
{
  pthread_t thread[2];
  int i, status, bad = 0;

  forkPool = newPool(class, NULL, 0);
  forkOver = FALSE;
  for (i = 0; i < 2; ++i)
    if (pthread_create(&thread[i], NULL, forkBusy, NULL) != 0)
      abort();
  for (i = 0; i < 50; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      (void)alarm(20);
      forkUse(forkPool, 100);
      forkUse(forkPool, 300000);
      _exit(0);
    }
    bad += waitpid(pid, &status, 0) != pid || status != 0;
  }
  __atomic_store_n(&forkOver, TRUE, __ATOMIC_RELAXED);
  for (i = 0; i < 2; ++i)
    pthread_join(thread[i], NULL);
  TapIs(bad, 0, "%s: children of fork allocate, whatever other threads were doing", class);
  PoolDestroy(forkPool);
}

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "events") == 0)
    return ArenaCreate(&arena, 1) == ResOK ? events() : 1;
  if (ArenaCreate(&arena, 1) != ResOK)
    abort();
  testCreate();
  testMFS();
  testMVFF();
  testMVFFAlign();
  testMVFFMany();
  testSizes();
  testSGF();
  testSGFLarge();
  testSGFLimits();
  testSGFSlabs();
  testFork("MVFF");
  testFork("SGF");
  testFork("MVFFDebug");
  ArenaDestroy(arena);
  return TapDone();
}
