/* poolsgf.c -- SGF: allocation by size, free by address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .sgf .state      Tests: test/mm/pooltest.c, test/mm/malloctest.c, test/emit/statedumptest.c
 */
#include "mm/poolsgf.h"

#include <string.h>

#include "base/aver.h"
#include "emit/event.h"
#include "mm/misuse.h"
#include "mm/mmstate.h"
#include "mm/pooldebug.h"
#include "mm/poolsgfcache.h"
#include "plinth/rawsyscall.h"

enum { sgfEMPTYSLABS };
static const PoolParamStruct sgfParams[] = {
  [sgfEMPTYSLABS] = { "emptySlabs", 4 },
};

#define sgfGROWING ((Size)1 << 20) /* bytes from which an object that has grown gets room to grow more */

SGF PoolSGF(Pool pool)
{
  AVER(PoolClassPlain(pool->class) == &PoolClassSGF);
  return RING_ELT(SGFStruct, poolStruct, pool);
}

/* sgfSlab -- the slab, or large object's segment, of an SGF pool that `p` lies in, or NULL */
static Slab sgfSlab(const void *p)
{
  Seg seg = SegOfAddr(p);

  return seg != NULL && PoolClassPlain(seg->pool->class) == &PoolClassSGF ? (Slab)seg : NULL;
}

/* -- allocation -- */

/* sgfLargeCache -- the calling thread's cache, where large objects are kept; NULL: there is none */
static SGFCache sgfLargeCache(SGF sgf)
{
  SGFCache cache = SGFThreadCache;

  if (LIKELY(__atomic_load_n(&cache->sgf, __ATOMIC_RELAXED) == sgf))
    return cache;
  return cache != &SGFCacheGone ? SGFCacheOfThread(sgf) : NULL;
}

/* sgfLargeKept -- the memory of a large object that was freed lately, or NULL */
static void *sgfLargeKept(SGF sgf, Size size)
{
  SGFCache cache;
  Slab slab = NULL;

  SGFBusyBegin();
  cache = sgfLargeCache(sgf);
  if (cache != NULL)
    slab = SGFLargeTake(cache, size);
  SGFBusyEnd();
  if (slab == NULL)
    return NULL;
  SGFLargeInit(slab);
  SGFLargeFence(slab, size);
  return SegBase(&slab->seg);
}

/* sgfLargeFree -- a large object, which was found to be one, is free; not if what is behind it was written to.  Of two
 * threads that free it at the same time one does so. */
static void sgfLargeFree(Slab slab)
{
  SGFCache cache;
  Bool kept;

  if (UNLIKELY(!__atomic_exchange_n(&slab->large, FALSE, __ATOMIC_ACQ_REL))) {
    MisuseFound(MisuseFREED, slab->seg.pool, SegBase(&slab->seg), SegSize(&slab->seg), SegBase(&slab->seg));
    return;
  }
  if (UNLIKELY(!SGFLargeHolds(slab))) {
    __atomic_store_n(&slab->large, TRUE, __ATOMIC_RELEASE);
    return;
  }
  SGFBusyBegin();
  cache = sgfLargeCache(PoolSGF(slab->seg.pool));
  kept = cache != NULL && SGFLargePut(cache, slab);
  SGFBusyEnd();
  if (!kept)
    SegFree(&slab->seg);
}

static void *sgfLarge(Bool *zeroReturn, SGF sgf, Size size, Size align)
{
  void *p = size <= SGFLargeMAX && align <= ArenaGrainSIZE ? sgfLargeKept(sgf, size) : NULL;
  Seg seg;

  if (p != NULL)
    return p;
  if (SegAlloc(&seg, zeroReturn, &sgf->poolStruct, size, align) != ResOK)
    return NULL;
  SGFLargeInit((Slab)seg);
  if (zeroReturn == NULL || !*zeroReturn) /* else nobody has touched it yet, and perhaps nobody will */
    SGFLargeFence((Slab)seg, size);
  return SegBase(seg);
}

static void *sgfBlock(SGFCache cache, Index class)
{
  Slab slab;

  while ((slab = SGFCacheSlab(cache, class)) != NULL) {
    Word *block = (Word *)slab->free, next = SlabLink(block, *block);
    if (LIKELY(SlabLeads(slab, next))) {
      slab->free = next;
      ++slab->used;
      *block = 0;
      return block;
    }
    SlabBroken(slab);
  }
  return NULL;
}

/* sgfOfClass -- allocate a block of a class, also after SGFThreadExit */
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

/* sgfSize -- how many bytes an object may use */
static Size sgfSize(Slab slab)
{
  return __atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == NULL ? SegSize(&slab->seg) : slab->blockSize;
}

/* sgfMisused -- is `p`, in the slab or large object's segment, no object, so that it can be neither freed nor resized?
 * If so, MisuseFound has reported it. */
static Bool sgfMisused(Slab slab, const void *p)
{
  Size offset = (Word)p - (Word)SegBase(&slab->seg), size = sgfSize(slab);
  Bool large = __atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == NULL;
  Misuse misuse = MisuseFREED;

  if (!SGFGuarded)
    return FALSE;
  if (offset % size != 0)
    misuse = MisuseINNER;
  else if (!large && offset / size >= SlabCarved(slab))
    misuse = MisuseFOREIGN;
  else if (large ? __atomic_load_n(&slab->large, __ATOMIC_RELAXED)
                 : !SlabLeads(slab, SlabLink(p, *(const Word *)p)) &&
                     !SlabRemoteAll(__atomic_load_n(&slab->remote, __ATOMIC_RELAXED)))
    return FALSE;
  MisuseFound(misuse, slab->seg.pool, (const char *)p - offset % size, size, p);
  return TRUE;
}

static __attribute__((noinline)) Bool sgfFreeSlow(void *p)
{
  Slab slab = sgfSlab(p);
  SGFCache owner;

  if (slab == NULL)
    return FALSE;
  if (UNLIKELY(sgfMisused(slab, p)))
    return TRUE;
  owner = __atomic_load_n(&slab->owner, __ATOMIC_RELAXED);
  if (owner == NULL) {
    sgfLargeFree(slab);
    return TRUE;
  }
  SGFBusyBegin();
  if (SGFCacheIsOwn(owner))
    SlabPut(owner, slab, p);
  else
    SGFRemoteFree(slab, p);
  SGFBusyEnd();
  return TRUE;
}

Bool SGFFree(void *p) { return LIKELY(SGFFreeFast(p)) ? TRUE : sgfFreeSlow(p); }

/* Who asks how much there is may use it. */
Size SGFUsableSize(const void *p)
{
  Slab slab = sgfSlab(p);

  if (slab == NULL)
    return 0;
  if (__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == NULL)
    slab->fence = 0;
  return sgfSize(slab);
}

/* sgfMove -- another place for an object that grows or shrinks; NULL: no memory.  The old one is not freed. */
static void *sgfMove(SGF sgf, void *old, Size had, Size size)
{
  void *p = NULL;
  Seg seg;

  if (size > had && size >= sgfGROWING && SegAllocToGrow(&seg, &sgf->poolStruct, size) == ResOK) {
    SGFLargeInit((Slab)seg);
    SGFLargeFence((Slab)seg, size);
    p = SegBase(seg);
  }
  if (p == NULL)
    p = SGFAlloc(sgf, size);
  if (p != NULL)
    memcpy(p, old, size < had ? size : had);
  return p;
}

/* sgfStay -- the object at `p`, which needs no other place, has `size` bytes from now on; returns `p` */
static void *sgfStay(Slab slab, void *p, Size size)
{
  if (__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == NULL)
    SGFLargeFence(slab, size);
  return p;
}

void *SGFResize(SGF sgf, void *old, Size size)
{
  Slab slab = sgfSlab(old);
  Size had;
  void *p;

  AVER(slab != NULL);
  if (UNLIKELY(sgfMisused(slab, old)))
    return NULL;
  had = sgfSize(slab);
  if (UNLIKELY(__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == NULL && !SGFLargeHolds(slab)))
    return NULL;
  /* A block that would be less than half full moves to a smaller one. */
  if (size <= had && size >= had / 2)
    return sgfStay(slab, old, size);
  if (size > SGFBlockMAX && had > SGFBlockMAX) {
    Seg seg = &slab->seg;
    if (SegResize(&seg, size) == ResOK)
      return sgfStay((Slab)seg, SegBase(seg), size);
  }
  p = sgfMove(sgf, old, had, size);
  if (p == NULL)
    return size <= had ? sgfStay(slab, old, size) : NULL;
  (void)SGFFree(old);
  return p;
}

/* -- the class -- */

static Res sgfInit(Pool pool, Word value[])
{
  SGF sgf = PoolSGF(pool);

  Word none = 0;

  /* Whoever is first: the key of a process never changes. */
  (void)__atomic_compare_exchange_n(&SlabKey, &none, (Word)RawRandom(), FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
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
  UNUSED(size);
  if (!SGFFree(addr))
    MisuseFound(MisuseFOREIGN, pool, addr, 0, addr);
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

/* sgfBlockOf -- the block, or large object's segment, in which `addr` lies */
static Bool sgfBlockOf(Addr *baseReturn, Size *sizeReturn, Pool pool, Addr addr)
{
  Slab slab = sgfSlab(addr);
  Size offset = (Word)addr - (Word)SegBase(&slab->seg);

  UNUSED(pool);
  *sizeReturn = sgfSize(slab);
  *baseReturn = (Addr)((Word)addr - offset % *sizeReturn);
  return TRUE;
}

static Bool sgfCheck(Pool pool)
{
  SGF sgf = PoolSGF(pool);
  Count orphans = 0;
  Ring node, after;

  RING_FOR(node, &sgf->caches, after) {
    SGFCache cache = RING_ELT(SGFCacheStruct, sgfRing, node);
    if (cache->sgf != sgf || !SGFCacheCheck(cache) || cache->orphan != !RingIsSingle(&cache->orphanRing))
      return FALSE;
    orphans += cache->orphan;
  }
  return sgf->orphanCount == orphans;
}

/* ---- Which objects of an SGF pool live, while its threads go on ----
 *
 * A block of a slab is a live object unless it was never carved, or is on the free list, or on the list of blocks that
 * other threads freed.  The owner of the slab may read these lists; for a slab of an orphan, the thread that holds the
 * pool's lock; and if the owner does not come, any thread that reads them twice and finds the same lists, which add up.
 * An owner that allocates does come: it looks for requests with each event.  What is freed or allocated after the lists
 * were read has an event of its own.
 *
 * One caller at a time (StateDumpAttend), with the locks of arena and pool: no slab goes, or leaves an orphan,
 * meanwhile.
 */

enum { liveWORD = sizeof(Word) * 8, liveBLOCKS = ArenaGrainSIZE / SGFUnitSIZE };

/* What reading a slab's lists once has found. */
typedef struct SlabLiveStruct {
  uint32_t carved, used;
  Count dead;                          /* blocks on the free list */
  Word sum;                            /* of the addresses in the order of both lists */
  Word free[liveBLOCKS / liveWORD];    /* a bit for each block on either list */
} SlabLiveStruct, *SlabLive;

/* liveList -- mark the blocks of a list; FALSE: it is no list of this slab's blocks */
__attribute__((no_sanitize("thread"))) static Bool liveList(SlabLive live, Slab slab, uint32_t blockSize, Word first,
                                                             Count *countIO)
{
  Word base = (Word)SegBase(&slab->seg), block;

  for (block = first; (block & 1) == 0; block = SlabLink((void *)block, *(volatile Word *)block)) {
    Size offset = block - base;
    Index i = offset / blockSize;
    if (offset % blockSize != 0 || i >= live->carved || (live->free[i / liveWORD] >> i % liveWORD & 1) != 0)
      return FALSE;
    live->free[i / liveWORD] |= (Word)1 << i % liveWORD;
    live->sum = live->sum * 31 + offset;
    ++*countIO;
  }
  return TRUE;
}

/* liveLook -- read a slab's lists once; FALSE: they do not add up, because the owner is changing them */
__attribute__((no_sanitize("thread"))) static Bool liveLook(SlabLive live, Slab slab)
{
  volatile SlabStruct *now = slab;
  uint32_t blockSize = now->blockSize;
  Word freed = __atomic_load_n(&slab->remote, __ATOMIC_ACQUIRE);
  Count remote = 0;
  Size sum;

  memset(live, 0, sizeof *live);
  if (blockSize == 0 || blockSize % SGFUnitSIZE != 0)
    return FALSE;
  live->carved = (uint32_t)(now->limit * SGFUnitSIZE / blockSize);
  live->used = now->used;
  if (SlabRemoteAll(freed)) { /* and the lists are not there */
    memset(live->free, 0xff, sizeof live->free);
    return live->carved <= liveBLOCKS;
  }
  if (live->carved > liveBLOCKS ||
      (Size)live->carved * blockSize > SegSize(&slab->seg) ||
      !liveList(live, slab, blockSize, now->free, &live->dead) ||
      !liveList(live, slab, blockSize, freed != 0 ? SlabRemoteFirst(freed) : SlabEnd(slab), &remote))
    return FALSE;
  /* A signal handler may have come between the two halves of taking or giving back one block. */
  sum = live->used + live->dead;
  return sum <= live->carved + 1u && sum + 1u >= live->carved && remote <= live->used;
}

/* liveTell -- emit the blocks that are live objects, as liveLook found */
static void liveTell(SlabLive live, Slab slab)
{
  Word base = (Word)SegBase(&slab->seg);
  Pool pool = slab->seg.pool;
  Index i;

  for (i = 0; i < live->carved; ++i)
    if ((live->free[i / liveWORD] >> i % liveWORD & 1) == 0)
      PoolTellLive(pool, (Addr)(base + i * slab->blockSize), slab->blockSize);
}

/* liveSlab -- emit the objects of a slab; FALSE: only its owner can, or not now */
static Bool liveSlab(Slab slab, SGFCache owner, Bool late)
{
  static SlabLiveStruct live[2]; /* no stack has room for it; there is one caller */
  Bool ours = SGFCacheIsOwn(owner) || __atomic_load_n(&owner->orphan, __ATOMIC_RELAXED);

  if ((SGFThreadBusy > 0 && SGFCacheIsOwn(owner)) || (!ours && !late) || !liveLook(&live[0], slab))
    return FALSE;
  if (!ours && (!liveLook(&live[1], slab) || memcmp(&live[0], &live[1], sizeof live[0]) != 0 ||
                __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE) != owner))
    return FALSE;
  liveTell(&live[0], slab);
  return TRUE;
}

/* liveLarge -- emit an object that is a segment.  A segment that is about to become an object, or a slab, is none
 * yet. */
static void liveLarge(Slab slab)
{
  if (!__atomic_load_n(&slab->large, __ATOMIC_ACQUIRE))
    return;
  PoolTellLive(slab->seg.pool, SegBase(&slab->seg), SegSize(&slab->seg));
}

/* sgfLive -- emit all objects; FALSE: some are left to their owners, or for later */
static Bool sgfLive(Pool pool, Bool late)
{
  Ring node, after;
  Bool told = TRUE;

  RING_FOR(node, &pool->segRing, after) {
    Slab slab = (Slab)RING_ELT(SegStruct, poolRing, node);
    SGFCache owner = __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE);
    if (slab->told == MMStateRound)
      continue;
    if (owner == NULL)
      liveLarge(slab);
    else if (!liveSlab(slab, owner, late)) {
      told = FALSE;
      continue;
    }
    slab->told = MMStateRound;
  }
  return told;
}

/* ---- The class ---- */

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
  .block = sgfBlockOf,
  .live = sgfLive,
};

static const PoolParamStruct sgfDebugParams[] = {
  [sgfEMPTYSLABS] = { "emptySlabs", 4 },
  { "quarantine", PoolDebugQUARANTINE },
};

const PoolClassStruct PoolClassSGFDebug = {
  .name = "SGFDebug",
  .instanceSize = sizeof(SGFStruct),
  .params = sgfDebugParams,
  .paramCount = ARRAY_LENGTH(sgfDebugParams),
  .debugs = &PoolClassSGF,
  .live = sgfLive,
  PoolDebugFUNCTIONS,
};
