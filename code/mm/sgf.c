/* sgf.c -- SGF: allocation by size, free by address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .sgf      Tests: test/pooltest.c, test/malloctest.c
 */
#include "mm/sgf.h"

#include <string.h>

#include "base/aver.h"
#include "mm/sgfcache.h"

enum { sgfEMPTYSLABS };
static const PoolParamStruct sgfParams[] = {
  [sgfEMPTYSLABS] = { "emptySlabs", 4 },
};

#define sgfGROWING ((Size)1 << 20) /* bytes from which an object that has grown gets room to grow more */

SGF PoolSGF(Pool pool)
{
  AVER(pool->class == &PoolClassSGF);
  return RING_ELT(SGFStruct, poolStruct, pool);
}

/* sgfSlab -- the slab, or large object's segment, of an SGF pool that `p` lies in, or NULL */
static Slab sgfSlab(const void *p)
{
  Seg seg = SegOfAddr(p);

  return seg != NULL && seg->pool->class == &PoolClassSGF ? (Slab)seg : NULL;
}

/* -- allocation -- */

static void *sgfLarge(Bool *zeroReturn, SGF sgf, Size size, Size align)
{
  Seg seg;

  if (SegAlloc(&seg, zeroReturn, &sgf->poolStruct, size, align) != ResOK)
    return NULL;
  SGFLargeInit((Slab)seg);
  return SegBase(seg);
}

static void *sgfBlock(SGFCache cache, Index class)
{
  Slab slab = SGFCacheSlab(cache, class);
  void *block;

  if (slab == NULL)
    return NULL;
  block = slab->free;
  slab->free = *(void **)block;
  ++slab->used;
  return block;
}

/* sgfOfClass -- a block of a class, also after SGFThreadExit */
static void *sgfOfClass(SGF sgf, Index class)
{
  Bool gone = SGFThreadCache == &SGFCacheGone;
  SGFCache cache;
  void *block = NULL;

  SGFBusyBegin();
  cache = gone ? SGFCacheClaim(sgf) : SGFCacheOfThread(sgf);
  if (cache != NULL)
    block = sgfBlock(cache, class);
  if (cache != NULL && gone)
    SGFCacheDisown(cache);
  SGFBusyEnd();
  return block;
}

static __attribute__((noinline)) void *sgfAllocSlow(SGF sgf, Size size)
{
  if (size > SGFBlockMAX)
    return sgfLarge(NULL, sgf, size, SGFUnitSIZE);
  return sgfOfClass(sgf, SGFClassOfSize(size > 0 ? size : 1));
}

void *SGFAlloc(SGF sgf, Size size)
{
  void *p = SGFAllocFast(sgf, size);

  return LIKELY(p != NULL) ? p : sgfAllocSlow(sgf, size);
}

void *SGFAllocZero(SGF sgf, Size size)
{
  Bool zero = FALSE;
  void *p = SGFAllocFast(sgf, size);

  if (p == NULL)
    p = size > SGFBlockMAX ? sgfLarge(&zero, sgf, size, SGFUnitSIZE) : sgfAllocSlow(sgf, size);
  return p != NULL && !zero ? memset(p, 0, size) : p;
}

void *SGFAllocAligned(SGF sgf, Size size, Size align)
{
  Index class;

  AVER(WordIsPowerOf2(align));
  if (align <= SGFUnitSIZE)
    return SGFAlloc(sgf, size);
  if (size == 0)
    size = 1;
  if (size > SGFBlockMAX || align > SGFBlockMAX)
    return sgfLarge(NULL, sgf, size, align);
  /* The next power of two is a class, so this ends. */
  class = SGFClassOfSize(size > align ? size : align);
  while (SGFClassSize(class) % align != 0)
    ++class;
  return sgfOfClass(sgf, class);
}

/* -- giving back -- */

static __attribute__((noinline)) Bool sgfFreeSlow(void *p)
{
  Slab slab = sgfSlab(p);
  SGFCache owner;

  if (slab == NULL)
    return FALSE;
  owner = __atomic_load_n(&slab->owner, __ATOMIC_RELAXED);
  if (owner == NULL) {
    AVER(p == (void *)SegBase(&slab->seg));
    SegFree(&slab->seg);
    return TRUE;
  }
  AVER_CRITICAL(((Word)p - (Word)SegBase(&slab->seg)) % slab->blockSize == 0);
  SGFBusyBegin();
  if (SGFCacheIsOwn(owner))
    SlabPut(owner, slab, p);
  else
    SGFRemoteFree(slab, p);
  SGFBusyEnd();
  return TRUE;
}

Bool SGFFree(void *p) { return LIKELY(SGFFreeFast(p)) ? TRUE : sgfFreeSlow(p); }

/* sgfSize -- how many bytes an object may use */
static Size sgfSize(Slab slab)
{
  return __atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == NULL ? SegSize(&slab->seg) : slab->blockSize;
}

Size SGFUsableSize(const void *p)
{
  Slab slab = sgfSlab(p);

  return slab != NULL ? sgfSize(slab) : 0;
}

/* sgfMove -- another place for an object that grows or shrinks; NULL: no memory.  The old one is not freed. */
static void *sgfMove(SGF sgf, void *old, Size had, Size size)
{
  void *p = NULL;
  Seg seg;

  if (size > had && size >= sgfGROWING && SegAllocToGrow(&seg, &sgf->poolStruct, size) == ResOK) {
    SGFLargeInit((Slab)seg);
    p = SegBase(seg);
  }
  if (p == NULL)
    p = SGFAlloc(sgf, size);
  if (p != NULL)
    memcpy(p, old, size < had ? size : had);
  return p;
}

void *SGFResize(SGF sgf, void *old, Size size)
{
  Slab slab = sgfSlab(old);
  Size had;
  void *p;

  AVER(slab != NULL);
  had = sgfSize(slab);
  /* A block that would be less than half full moves to a smaller one. */
  if (size <= had && size >= had / 2)
    return old;
  if (size > SGFBlockMAX && had > SGFBlockMAX) {
    Seg seg = &slab->seg;
    if (SegResize(&seg, size) == ResOK)
      return SegBase(seg);
  }
  p = sgfMove(sgf, old, had, size);
  if (p == NULL)
    return size <= had ? old : NULL;
  (void)SGFFree(old);
  return p;
}

/* -- the class -- */

static Res sgfInit(Pool pool, Word value[])
{
  SGF sgf = PoolSGF(pool);

  sgf->emptySlabs = value[sgfEMPTYSLABS];
  RingInit(&sgf->caches);
  RingInit(&sgf->orphans);
  return ResOK;
}

static void sgfFinish(Pool pool) { SGFCachesFinish(PoolSGF(pool)); }

static Res sgfAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero)
{
  SGF sgf = PoolSGF(pool);
  void *p;

  if (LIKELY(align <= SGFUnitSIZE))
    p = zero ? SGFAllocZero(sgf, size) : SGFAlloc(sgf, size);
  else
    p = SGFAllocAligned(sgf, size, align);
  if (p == NULL)
    return ResMEMORY;
  if (zero && align > SGFUnitSIZE)
    memset(p, 0, size);
  *addrReturn = p;
  return ResOK;
}

static void sgfFree(Pool pool, Addr addr, Size size)
{
  UNUSED(pool);
  UNUSED(size);
  if (!SGFFree(addr))
    NOTREACHED;
}

static Res sgfResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  void *p = SGFResize(PoolSGF(pool), old, size);

  UNUSED(oldSize);
  if (p == NULL)
    return ResMEMORY;
  *addrReturn = p;
  return ResOK;
}

/* sgfFreeSize -- what the slabs' owners know of; they may be changing it meanwhile */
static Size sgfFreeSize(Pool pool)
{
  Size size = 0;
  Ring node, after;

  LockClaim(&pool->arena->lock);
  RING_FOR(node, &pool->segRing, after) {
    Slab slab = (Slab)RING_ELT(SegStruct, poolRing, node);
    if (__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) != NULL)
      size += SegSize(&slab->seg) - (Size)__atomic_load_n(&slab->used, __ATOMIC_RELAXED) * slab->blockSize;
  }
  LockRelease(&pool->arena->lock);
  return size;
}

static Bool sgfCheck(Pool pool)
{
  SGF sgf = PoolSGF(pool);
  Count orphans = 0;
  Ring node, after;

  LockClaim(&pool->lock);
  RING_FOR(node, &sgf->caches, after) {
    SGFCache cache = RING_ELT(SGFCacheStruct, sgfRing, node);
    AVER(cache->sgf == sgf);
    AVER(SGFCacheCheck(cache));
    AVER(cache->orphan == !RingIsSingle(&cache->orphanRing));
    orphans += cache->orphan;
  }
  AVER(sgf->orphanCount == orphans);
  LockRelease(&pool->lock);
  return TRUE;
}

const PoolClassStruct PoolClassSGF = {
  .name = "SGF",
  .instanceSize = sizeof(SGFStruct),
  .params = sgfParams,
  .paramCount = ARRAY_LENGTH(sgfParams),
  .init = sgfInit,
  .finish = sgfFinish,
  .alloc = sgfAlloc,
  .free = sgfFree,
  .resize = sgfResize,
  .check = sgfCheck,
  .freeSize = sgfFreeSize,
  .live = SGFLive,
};
