/* poolsgfcache.c -- slabs and their lists, and blocks that come from other threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .sgf.remote .sgf.asleep .sgf.cache .sgf.orphan .sgf.gone      Tests: test/mm/malloctest.c
 */
#include "mm/poolsgfcache.h"

#include "mm/misuse.h"
#include "mm/pages.h"

#define cacheBLOCKS 2u                /* blocks that a slab has at least */
#define cacheCARVE  4096u             /* bytes of blocks that are linked into the free list at a time */
#define cacheASK    8u                /* orphans that a thread asks for a slab before it gets a new one */
#define cachePENDS  16u               /* after so many grains pending on an orphan the freeing thread drains it */
#define cacheASLEEP 512u              /* and after so many grains, on another cache, its thread seems to sleep: slabs
                                         that are free as a whole go back to the system */

SlabStruct SlabNone = { .free = 1 };

Word SlabKey;

/* -- lists of slabs -- */

#define cacheSlab(node) RING_ELT(SlabStruct, ring, node)

/* cacheFirst -- the first slab of a list, or NULL */
static Slab cacheFirst(SGFCache cache, Index class)
{
  Ring list = &cache->list[class];

  return RingIsSingle(list) ? NULL : cacheSlab(list->next);
}

/* cacheIsFirst -- is a slab, which is on its list, the first there? */
static Bool cacheIsFirst(SGFCache cache, Slab slab) { return slab->ring.prev == &cache->list[slab->class]; }

/* cacheHead -- let `direct` know the head of a list, which has changed */
static void cacheHead(SGFCache cache, Index class)
{
  Slab head = cacheFirst(cache, class);
  Index u, first = class == 0 ? 0 : (SGFClassSize(class - 1) >> SGFUnitSHIFT) + 1;

  for (u = first; u <= SGFClassSize(class) >> SGFUnitSHIFT && u < SGFDirectCOUNT; ++u)
    cache->direct[u] = head != NULL ? head : &SlabNone;
}

/* cacheList -- put a slab on its list, behind `before`: the list itself, or its last slab, so that by the time its turn
 * comes more of its blocks may have come back */
static void cacheList(SGFCache cache, Slab slab, Ring before)
{
  AVER(RingIsSingle(&slab->ring));
  AVER(slab->owner == cache);
  RingInsertAfter(before, &slab->ring);
  if (cacheIsFirst(cache, slab))
    cacheHead(cache, slab->class);
}

static void cacheUnlist(SGFCache cache, Slab slab)
{
  Bool head = cacheIsFirst(cache, slab);

  RingRemove(&slab->ring);
  if (head)
    cacheHead(cache, slab->class);
}

/* -- slabs -- */

static void slabInit(Slab slab, SGFCache cache, Index class)
{
  Size blockSize = SGFClassSize(class);

  AVER(class < SGFClassCOUNT);
  AVER(slab->seg.grains > 0);
  slab->free = SlabEnd(slab);
  slab->used = 0;
  __atomic_store_n(&slab->limit, 0, __ATOMIC_RELAXED);
  slab->inverse = slab->seg.grains == 1 ? (uint32_t)((((uint64_t)1 << 32) + blockSize - 1) / blockSize) : 0;
  RingInit(&slab->ring);
  slab->remote = 0;
  slab->fence = 0;
  slab->class = (uint32_t)class;
  slab->blockSize = (uint32_t)blockSize;
  slab->capacity = (uint32_t)(SegSize(&slab->seg) / blockSize);
  SlabFresh(slab);
  __atomic_store_n(&slab->owner, cache, __ATOMIC_RELAXED);
}

/* slabFence -- all blocks are carved: put a fence behind the last one, and another one at the end of the slab, before
 * the first object of what lies there.  Only where both are on the page of the last block's end. */
static void slabFence(Slab slab)
{
  Size behind = SegSize(&slab->seg) - (Size)slab->capacity * slab->blockSize;
  Word *limit = (Word *)SegLimit(&slab->seg), *at = limit - behind / sizeof(Word);

  if (!SGFGuarded || behind < 2 * sizeof(Word) || behind >= cacheCARVE || slab->blockSize > cacheCARVE)
    return;
  at[0] = SlabFenceWord(at);
  limit[-1] = SlabFenceWord(limit - 1);
  slab->fence = (uint32_t)behind;
}

/* slabFenceLook -- has anybody written to a slab's fences? */
static void slabFenceLook(Slab slab)
{
  Word *limit = (Word *)SegLimit(&slab->seg), *at = limit - slab->fence / sizeof(Word);
  Bool behind, before;
  char *last;

  if (slab->fence == 0)
    return;
  behind = *at != SlabFenceWord(at);
  before = limit[-1] != SlabFenceWord(limit - 1);
  if (LIKELY(!behind && !before))
    return;
  /* Another thread may have given the slab's memory back to the system: it had set `remote` before. */
  if (SlabRemoteAll(__atomic_load_n(&slab->remote, __ATOMIC_ACQUIRE)))
    return;
  last = (char *)at - slab->blockSize;
  slabFence(slab);
  if (behind)
    MisuseFound(MisuseBEHIND, slab->seg.pool, last, slab->blockSize, last);
  if (before)
    MisuseFound(MisuseBEFORE, slab->seg.pool, limit, 0, limit);
}

/* slabCarve -- link some blocks that were never used into the free list, which is empty */
static Bool slabCarve(Slab slab)
{
  uint32_t size = slab->blockSize, carved = SlabCarved(slab), n = cacheCARVE / size, i;
  char *block = (char *)SegBase(&slab->seg) + (Size)carved * size;

  AVER(!SlabHasFree(slab) && carved <= slab->capacity);
  if (n == 0)
    n = 1;
  if (n > slab->capacity - carved)
    n = slab->capacity - carved;
  if (n == 0)
    return FALSE;
  slab->free = (Word)block;
  for (i = 1; i < n; ++i, block += size)
    *(Word *)(void *)block = SlabLink(block, (Word)block + size);
  *(Word *)(void *)block = SlabLink(block, SlabEnd(slab));
  __atomic_store_n(&slab->limit, (uint16_t)((Size)(carved + n) * size / SGFUnitSIZE), __ATOMIC_RELAXED);
  if (carved + n == slab->capacity)
    slabFence(slab);
  return TRUE;
}

/* slabRelease -- keep a slab without used blocks, which is on no list, for other sizes, or give it back to the arena */
static void slabRelease(SGFCache cache, Slab slab)
{
  AVER(slab->used == 0 && RingIsSingle(&slab->ring));
  AVER(__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) == 0);
  slabFenceLook(slab);
  if (slab->seg.grains == 1 && cache->emptyCount < cache->sgf->emptySlabs) {
    RingInsertAfter(&cache->empty, &slab->ring);
    ++cache->emptyCount;
  } else {
    SegFree(&slab->seg);
  }
}

static Slab slabNew(SGFCache cache, Index class)
{
  Size size = WordAlignUp(SGFClassSize(class) * cacheBLOCKS, ArenaGrainSIZE);
  Slab slab;
  Seg seg;

  if (size == ArenaGrainSIZE && !RingIsSingle(&cache->empty)) {
    slab = cacheSlab(cache->empty.next);
    RingRemove(&slab->ring);
    --cache->emptyCount;
  } else {
    if (SegAlloc(&seg, NULL, &cache->sgf->poolStruct, size, 1) != ResOK)
      return NULL;
    slab = (Slab)seg;
  }
  slabInit(slab, cache, class);
  return slab;
}

/* -- blocks that other threads freed -- */

/* cachePend -- `slab` has remote blocks: tell its owner; returns that */
static SGFCache cachePend(Slab slab)
{
  SGFCache owner = __atomic_load_n(&slab->owner, __ATOMIC_RELAXED);
  Slab first = __atomic_load_n(&owner->pending, __ATOMIC_RELAXED);

  do
    __atomic_store_n(&slab->pending, first, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&owner->pending, &first, slab, TRUE, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  return owner;
}

Bool SlabLeads(Slab slab, Word link)
{
  Word offset = link - (Word)SegBase(&slab->seg);

  return link == SlabEnd(slab) || (offset % slab->blockSize == 0 && offset / slab->blockSize < SlabCarved(slab));
}

/* The fast path follows a link to any place near its block.  If no block is where the list goes on, the link was that
 * of a block which was handed out since, and nobody knows any more which one. */
void SlabBroken(Slab slab)
{
  Word at = slab->free & ~(Word)1;
  Bool known = SlabHasFree(slab) && SlabLeads(slab, at);

  slab->free = SlabEnd(slab);
  slab->used = (uint16_t)SlabCarved(slab); /* nobody knows which blocks were free */
  MisuseFound(known ? MisuseOVERWRITTEN : MisuseNEAR, slab->seg.pool, (void *)at, slab->blockSize, (void *)at);
}

/* slabRenew -- all blocks of a slab are free, and were never used, as far as anybody can tell */
static void slabRenew(Slab slab)
{
  AVER(!SlabHasFree(slab) && slab->used == slab->capacity);
  slab->used = 0;
  slab->fence = 0;
  __atomic_store_n(&slab->limit, 0, __ATOMIC_RELAXED);
}

/* slabTakeIn -- put a list of remote blocks in front of the slab's free list */
static void slabTakeIn(Slab slab, Word first)
{
  Word last = first, next;
  uint16_t n = 1;

  AVER(first != 0);
  while (next = SlabLink((void *)last, *(Word *)last), SlabLeads(slab, next) && next != SlabEnd(slab) && n < slab->used)
    ++n, last = next;
  if (next != SlabEnd(slab)) { /* the blocks that were freed by others stay used */
    MisuseFound(MisuseOVERWRITTEN, slab->seg.pool, (void *)last, slab->blockSize, (void *)last);
    return;
  }
  *(Word *)last = SlabLink((void *)last, slab->free);
  slab->free = first;
  slab->used = (uint16_t)(slab->used - n);
}

/* slabCollect -- move the remote blocks of an own slab, which is on no pending list now, to its free list; FALSE: not
 * now, another thread is giving their memory back */
static Bool slabCollect(SGFCache cache, Slab slab)
{
  Word remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

  do
    if (remote == SlabGOING)
      return FALSE;
  while (!__atomic_compare_exchange_n(&slab->remote, &remote, 0, TRUE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
  if (remote == SlabGONE)
    slabRenew(slab);
  else
    slabTakeIn(slab, SlabRemoteFirst(remote));
  SGFCacheNotice(cache, slab);
  return TRUE;
}

/* cacheDrain -- take in all blocks that other threads freed; FALSE: there are none */
static Bool cacheDrain(SGFCache cache)
{
  Slab slab = __atomic_load_n(&cache->pending, __ATOMIC_RELAXED);
  Bool some = FALSE;

  if (slab == NULL)
    return FALSE;
  __atomic_store_n(&cache->pends, 0, __ATOMIC_RELAXED);
  slab = __atomic_exchange_n(&cache->pending, NULL, __ATOMIC_ACQUIRE);
  while (slab != NULL) {
    Slab next = __atomic_load_n(&slab->pending, __ATOMIC_RELAXED);
    if (__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == cache && slabCollect(cache, slab))
      some = TRUE;
    else
      (void)cachePend(slab); /* for later, or it was stolen from here after the block's freer had looked */
    slab = next;
  }
  return some;
}

/* slabFreed -- a block of a slab came back by its owner; FALSE: it was free already, with all others */
static Bool slabFreed(Slab slab)
{
  Word *block = (Word *)slab->free;

  if (LIKELY(!SlabRemoteAll(__atomic_load_n(&slab->remote, __ATOMIC_RELAXED))))
    return TRUE;
  slab->free = SlabEnd(slab);
  ++slab->used;
  MisuseFound(MisuseFREED, slab->seg.pool, block, slab->blockSize, block);
  return FALSE;
}

void SGFCacheNotice(SGFCache cache, Slab slab)
{
  if (UNLIKELY(!slabFreed(slab)))
    return;
  if (RingIsSingle(&slab->ring)) {
    slabFenceLook(slab);
    cacheList(cache, slab, cache->list[slab->class].prev);
  }
  /* The head stays though it be empty, lest a program that takes and frees one block pay for a slab each time. */
  if (slab->used == 0 && !cacheIsFirst(cache, slab)) {
    cacheUnlist(cache, slab);
    slabRelease(cache, slab);
  }
}

/* cacheEmptyRelease -- the empty slabs go back to the arena */
static void cacheEmptyRelease(SGFCache cache)
{
  Ring node, after;

  RING_FOR(node, &cache->empty, after)
    SegFree(&cacheSlab(node)->seg);
  RingInit(&cache->empty);
  cache->emptyCount = 0;
}

/* cacheOrphanDrain -- take in what came back to an orphan, which has no thread that would do so */
static void cacheOrphanDrain(SGFCache cache)
{
  SGF sgf = __atomic_load_n(&cache->sgf, __ATOMIC_RELAXED);

  LockClaim(&sgf->poolStruct.lock);
  if (cache->orphan) {
    (void)cacheDrain(cache);
    cacheEmptyRelease(cache);
  }
  LockRelease(&sgf->poolStruct.lock);
}

/* slabAsleep -- are all blocks of a slab free but one that goes to `remote` now, and does its thread not come for them?
 */
static Bool slabAsleep(Slab slab, Word remote)
{
  SGFCache owner;

  if (LIKELY(SlabRemoteCount(remote) + 1 != slab->capacity))
    return FALSE;
  owner = __atomic_load_n(&slab->owner, __ATOMIC_RELAXED);
  return __atomic_load_n(&owner->pends, __ATOMIC_RELAXED) >= cacheASLEEP;
}

/* slabGo -- give the memory of a slab, all of whose blocks were freed by others, back to the system */
static __attribute__((noinline)) void slabGo(Slab slab)
{
  PagesDecommit(SegBase(&slab->seg), SegSize(&slab->seg));
  __atomic_store_n(&slab->remote, SlabGONE, __ATOMIC_RELEASE);
}

/* A slab is not released while this block counts as used.  So what is read of the slab before the exchange still holds
 * when the exchange succeeds. */
void SGFRemoteFree(Slab slab, void *block)
{
  Word remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED), now;
  uint32_t grains = (uint32_t)slab->seg.grains, pends;
  SGFCache owner;

  do {
    if (UNLIKELY(SlabRemoteAll(remote))) {
      MisuseFound(MisuseFREED, slab->seg.pool, block, slab->blockSize, block);
      return;
    }
    *(Word *)block = SlabLink(block, remote != 0 ? SlabRemoteFirst(remote) : SlabEnd(slab));
    now = UNLIKELY(slabAsleep(slab, remote)) ? SlabGOING : SlabRemote(block, SlabRemoteCount(remote) + 1);
  } while (!__atomic_compare_exchange_n(&slab->remote, &remote, now, TRUE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  if (now == SlabGOING)
    slabGo(slab);
  if (remote != 0)
    return;
  owner = cachePend(slab);
  pends = __atomic_fetch_add(&owner->pends, grains, __ATOMIC_RELAXED);
  if (UNLIKELY(__atomic_load_n(&owner->orphan, __ATOMIC_RELAXED)) &&
      pends / cachePENDS != (pends + grains) / cachePENDS)
    cacheOrphanDrain(owner);
}

/* -- getting a slab -- */

/* cacheReady -- make the head of the list have a free block; FALSE: no slab of the list has any, and it is empty now */
static Bool cacheReady(SGFCache cache, Index class)
{
  for (;;) {
    Slab slab = cacheFirst(cache, class);
    if (slab != NULL && SlabHasFree(slab))
      return TRUE;
    if (slab != NULL && UNLIKELY(slab->free != SlabEnd(slab)))
      SlabBroken(slab);
    if (cacheDrain(cache))
      continue;
    if (slab == NULL)
      return FALSE;
    if (slabCarve(slab))
      return TRUE;
    slabFenceLook(slab);
    cacheUnlist(cache, slab);
  }
}

/* cacheTakeFrom -- a slab with a free block from an orphan, if it has one.  The pool's lock is held. */
static Slab cacheTakeFrom(SGFCache orphan, SGFCache cache, Index class)
{
  Slab slab = NULL;

  AVER(orphan->orphan && orphan->sgf == cache->sgf);
  if (cacheReady(orphan, class)) {
    slab = cacheFirst(orphan, class);
    cacheUnlist(orphan, slab);
    __atomic_store_n(&slab->owner, cache, __ATOMIC_RELAXED);
  }
  cacheEmptyRelease(orphan);
  return slab;
}

/* cacheSteal -- a slab with a free block from an orphan; each call asks some of them, in turn */
static Slab cacheSteal(SGFCache cache, Index class)
{
  SGF sgf = cache->sgf;
  Slab slab = NULL;
  Count n;

  if (__atomic_load_n(&sgf->orphanCount, __ATOMIC_RELAXED) == 0)
    return NULL;
  LockClaim(&sgf->poolStruct.lock);
  for (n = 0; slab == NULL && n < sgf->orphanCount && n < cacheASK; ++n) {
    SGFCache orphan = RING_ELT(SGFCacheStruct, orphanRing, sgf->orphans.next);
    RingRemove(&orphan->orphanRing);
    RingInsertBefore(&sgf->orphans, &orphan->orphanRing);
    slab = cacheTakeFrom(orphan, cache, class);
  }
  LockRelease(&sgf->poolStruct.lock);
  return slab;
}

Slab SGFCacheSlab(SGFCache cache, Index class)
{
  Slab slab;

  if (!cacheReady(cache, class)) {
    slab = cacheSteal(cache, class);
    if (slab == NULL) {
      slab = slabNew(cache, class);
      if (slab == NULL)
        return NULL;
      (void)slabCarve(slab);
    }
    cacheList(cache, slab, &cache->list[class]);
  }
  return cacheFirst(cache, class);
}

void SGFCacheTidy(SGFCache cache)
{
  Index class;

  (void)cacheDrain(cache);
  for (class = 0; class < SGFClassCOUNT; ++class) {
    Slab slab = cacheFirst(cache, class);
    if (slab != NULL && slab->used == 0) { /* others without used blocks do not stay on a list */
      cacheUnlist(cache, slab);
      slabRelease(cache, slab);
    }
  }
  cacheEmptyRelease(cache);
  SGFLargeDrop(cache);
}

/* -- checking -- */

/* slabCheck -- a slab of a cache, and its free list */
static Bool slabCheck(SGFCache cache, Slab slab)
{
  uint32_t left = SlabCarved(slab) - slab->used;
  Word block;

  if (!SegCheck(&slab->seg) || slab->owner != cache || slab->seg.pool != &cache->sgf->poolStruct ||
      slab->blockSize != SGFClassSize(slab->class) || SlabCarved(slab) > slab->capacity ||
      slab->used > SlabCarved(slab) || (Size)slab->capacity * slab->blockSize > SegSize(&slab->seg) ||
      (slab->inverse != 0) != (slab->seg.grains == 1))
    return FALSE;
  for (block = slab->free; block != SlabEnd(slab); block = SlabLink((void *)block, *(Word *)block))
    if (!SlabLeads(slab, block) || left-- == 0)
      return FALSE;
  return left == 0;
}

/* cacheListCheck -- the slabs on the list of a class; only the first may be empty */
static Bool cacheListCheck(SGFCache cache, Index class)
{
  Ring node, after;

  RING_FOR(node, &cache->list[class], after) {
    Slab slab = cacheSlab(node);
    if (!RingCheck(node) || slab->class != class || (slab->used == 0 && !cacheIsFirst(cache, slab)) ||
        !slabCheck(cache, slab))
      return FALSE;
  }
  return TRUE;
}

Bool SGFCacheCheck(SGFCache cache)
{
  Index class, u;
  Count n = 0;
  Ring node, after;

  for (class = 0; class < SGFClassCOUNT; ++class)
    if (!cacheListCheck(cache, class))
      return FALSE;
  for (u = 0; u < SGFDirectCOUNT; ++u) {
    Slab slab = cacheFirst(cache, SGFClassOfSize(u > 0 ? u << SGFUnitSHIFT : 1));
    if (cache->direct[u] != (slab != NULL ? slab : &SlabNone))
      return FALSE;
  }
  RING_FOR(node, &cache->empty, after) {
    if (cacheSlab(node)->used != 0 || cacheSlab(node)->seg.grains != 1)
      return FALSE;
    ++n;
  }
  return n == cache->emptyCount && SGFLargeCheck(cache);
}
