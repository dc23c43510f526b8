/* poolsgfcache.c -- slabs and their lists, and blocks that come from other threads, and which thread has which cache
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .sgf.remote .sgf.cache .sgf.orphan .sgf.gone      Tests: test/mm/malloctest.c
 */
#include "mm/poolsgfcache.h"

#include <pthread.h>
#include <string.h>

#include "base/aver.h"
#include "mm/pages.h"

#define cacheBLOCKS 4u                /* blocks that a slab has at least */
#define cacheCARVE  4096u             /* bytes of blocks that are linked into the free list at a time */
#define cacheASK    8u                /* orphans that a thread asks for a slab before it gets a new one */
#define cachePENDS  16u               /* slabs pending on an orphan after which whoever frees looks after it */

SlabStruct SlabNone;

/* -- lists of slabs -- */

/* cacheHead -- let `direct` know the head of a list, which has changed */
static void cacheHead(SGFCache cache, Index class)
{
  Slab head = cache->list[class].head;
  Index u, first = class == 0 ? 0 : (SGFClassSize(class - 1) >> SGFUnitSHIFT) + 1;

  for (u = first; u <= SGFClassSize(class) >> SGFUnitSHIFT && u < SGFDirectCOUNT; ++u)
    cache->direct[u] = head != NULL ? head : &SlabNone;
}

static void cacheListFirst(SGFCache cache, Slab slab)
{
  Index class = slab->class;

  slab->prev = NULL;
  slab->next = cache->list[class].head;
  if (slab->next != NULL)
    slab->next->prev = slab;
  else
    cache->list[class].tail = slab;
  cache->list[class].head = slab;
  slab->listed = TRUE;
  cacheHead(cache, class);
}

/* cacheListLast -- behind all others: by the time its turn comes more of its blocks may have come back */
static void cacheListLast(SGFCache cache, Slab slab)
{
  Index class = slab->class;

  if (cache->list[class].head == NULL) {
    cacheListFirst(cache, slab);
    return;
  }
  slab->next = NULL;
  slab->prev = cache->list[class].tail;
  slab->prev->next = slab;
  cache->list[class].tail = slab;
  slab->listed = TRUE;
}

static void cacheUnlist(SGFCache cache, Slab slab)
{
  Index class = slab->class;

  if (slab->next != NULL)
    slab->next->prev = slab->prev;
  else
    cache->list[class].tail = slab->prev;
  if (slab->prev != NULL)
    slab->prev->next = slab->next;
  else
    cache->list[class].head = slab->next;
  slab->listed = FALSE;
  if (slab->prev == NULL)
    cacheHead(cache, class);
}

/* -- slabs -- */

static void slabInit(Slab slab, SGFCache cache, Index class)
{
  Size blockSize = SGFClassSize(class);

  slab->free = NULL;
  slab->used = slab->listed = slab->carved = 0;
  slab->remote = NULL;
  slab->class = (uint32_t)class;
  slab->blockSize = (uint32_t)blockSize;
  slab->capacity = (uint32_t)(SegSize(&slab->seg) / blockSize);
  SlabFresh(slab);
  __atomic_store_n(&slab->owner, cache, __ATOMIC_RELAXED);
}

/* slabCarve -- link some blocks that were never used into the free list, which is empty */
static Bool slabCarve(Slab slab)
{
  uint32_t size = slab->blockSize, n = cacheCARVE / size, i;
  char *block = (char *)SegBase(&slab->seg) + (Size)slab->carved * size;

  if (n == 0)
    n = 1;
  if (n > slab->capacity - slab->carved)
    n = slab->capacity - slab->carved;
  if (n == 0)
    return FALSE;
  slab->free = block;
  for (i = 1; i < n; ++i, block += size)
    *(void **)(void *)block = block + size;
  *(void **)(void *)block = NULL;
  slab->carved += n;
  return TRUE;
}

/* slabRelease -- a slab without used blocks, on no list, goes where it can serve other sizes */
static void slabRelease(SGFCache cache, Slab slab)
{
  AVER(slab->used == 0 && !slab->listed);
  AVER(__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) == NULL);
  if (slab->seg.grains == 1 && cache->emptyCount < cache->sgf->emptySlabs) {
    slab->next = cache->empty;
    cache->empty = slab;
    ++cache->emptyCount;
  } else {
    SegFree(&slab->seg);
  }
}

static Slab slabNew(SGFCache cache, Index class)
{
  Size size = WordAlignUp(SGFClassSize(class) * cacheBLOCKS, ArenaGrainSIZE);
  Slab slab = cache->empty;
  Seg seg;

  if (size == ArenaGrainSIZE && slab != NULL) {
    cache->empty = slab->next;
    --cache->emptyCount;
  } else {
    if (SegAlloc(&seg, NULL, &cache->sgf->poolStruct, size, 1) != ResOK)
      return NULL;
    slab = (Slab)seg;
  }
  slabInit(slab, cache, class);
  return slab;
}

/* -- blocks from other threads -- */

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

/* slabCollect -- move the remote blocks of an own slab, which is on no pending list now, to its free list */
static void slabCollect(SGFCache cache, Slab slab)
{
  void *first = __atomic_exchange_n(&slab->remote, NULL, __ATOMIC_ACQUIRE), *last = first;
  uint32_t n = 1;

  AVER(first != NULL);
  for (; *(void **)last != NULL; last = *(void **)last)
    ++n;
  AVER(n <= slab->used);
  *(void **)last = slab->free;
  slab->free = first;
  slab->used -= n;
  SGFCacheNotice(cache, slab);
}

/* cacheDrain -- take in all blocks that others gave back; FALSE if there are none */
static Bool cacheDrain(SGFCache cache)
{
  Slab slab = __atomic_load_n(&cache->pending, __ATOMIC_RELAXED);

  if (slab == NULL)
    return FALSE;
  slab = __atomic_exchange_n(&cache->pending, NULL, __ATOMIC_ACQUIRE);
  while (slab != NULL) {
    Slab next = __atomic_load_n(&slab->pending, __ATOMIC_RELAXED);
    if (__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == cache)
      slabCollect(cache, slab);
    else
      (void)cachePend(slab); /* it was stolen from here after the block's freer had looked */
    slab = next;
  }
  return TRUE;
}

void SGFCacheNotice(SGFCache cache, Slab slab)
{
  if (!slab->listed)
    cacheListLast(cache, slab);
  /* The head stays though it be empty, lest a program that takes and frees one block pay for a slab each time. */
  if (slab->used == 0 && slab->prev != NULL) {
    cacheUnlist(cache, slab);
    slabRelease(cache, slab);
  }
}

/* cacheEmptyRelease -- the empty slabs go back to the arena */
static void cacheEmptyRelease(SGFCache cache)
{
  while (cache->empty != NULL) {
    Slab slab = cache->empty;
    cache->empty = slab->next;
    SegFree(&slab->seg);
  }
  cache->emptyCount = 0;
}

/* cacheOrphanDrain -- an orphan has nobody who would take in what comes back to it */
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

void SGFRemoteFree(Slab slab, void *block)
{
  void *first = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

  do
    *(void **)block = first;
  while (!__atomic_compare_exchange_n(&slab->remote, &first, block, TRUE, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  if (first == NULL) {
    SGFCache owner = cachePend(slab);
    if (UNLIKELY(__atomic_load_n(&owner->orphan, __ATOMIC_RELAXED)) &&
        __atomic_add_fetch(&owner->pends, 1, __ATOMIC_RELAXED) % cachePENDS == 0)
      cacheOrphanDrain(owner);
  }
}

/* -- getting a slab -- */

/* cacheReady -- make the head of the list have a free block; FALSE: no slab of the list has any, and it is empty now */
static Bool cacheReady(SGFCache cache, Index class)
{
  for (;;) {
    Slab slab = cache->list[class].head;
    if (slab != NULL && slab->free != NULL)
      return TRUE;
    if (cacheDrain(cache))
      continue;
    if (slab == NULL)
      return FALSE;
    if (slabCarve(slab))
      return TRUE;
    cacheUnlist(cache, slab);
  }
}

/* cacheTakeFrom -- a slab with a free block from an orphan, if it has one.  The pool's lock is held. */
static Slab cacheTakeFrom(SGFCache orphan, SGFCache cache, Index class)
{
  Slab slab = NULL;

  if (cacheReady(orphan, class)) {
    slab = orphan->list[class].head;
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
    cacheListFirst(cache, slab);
  }
  return cache->list[class].head;
}

void SGFCacheTidy(SGFCache cache)
{
  Index class;

  (void)cacheDrain(cache);
  for (class = 0; class < SGFClassCOUNT; ++class) {
    Slab slab = cache->list[class].head;
    if (slab != NULL && slab->used == 0) { /* others without used blocks do not stay on a list */
      cacheUnlist(cache, slab);
      slabRelease(cache, slab);
    }
  }
  cacheEmptyRelease(cache);
}

/* -- checking -- */

static void slabCheck(SGFCache cache, Slab slab)
{
  Word base = (Word)SegBase(&slab->seg);
  uint32_t n = 0;
  void *block;

  AVER(SegCheck(&slab->seg));
  AVER(slab->owner == cache && slab->seg.pool == &cache->sgf->poolStruct);
  AVER(slab->blockSize == SGFClassSize(slab->class));
  AVER(slab->carved <= slab->capacity && slab->used <= slab->carved);
  AVER((Size)slab->capacity * slab->blockSize <= SegSize(&slab->seg));
  for (block = slab->free; block != NULL; block = *(void **)block) {
    AVER((Word)block >= base && ((Word)block - base) % slab->blockSize == 0);
    AVER(((Word)block - base) / slab->blockSize < slab->carved);
    ++n;
    AVER(n <= slab->carved - slab->used);
  }
  AVER(slab->used + n == slab->carved);
}

Bool SGFCacheCheck(SGFCache cache)
{
  Index class, u;
  Slab slab;
  Count n = 0;

  for (class = 0; class < SGFClassCOUNT; ++class) {
    Slab prev = NULL;
    for (slab = cache->list[class].head; slab != NULL; prev = slab, slab = slab->next) {
      AVER(slab->listed && slab->class == class && slab->prev == prev);
      AVER(slab->used > 0 || prev == NULL);
      slabCheck(cache, slab);
    }
    AVER(cache->list[class].tail == prev);
  }
  for (u = 0; u < SGFDirectCOUNT; ++u) {
    slab = cache->list[SGFClassOfSize(u > 0 ? u << SGFUnitSHIFT : 1)].head;
    AVER(cache->direct[u] == (slab != NULL ? slab : &SlabNone));
  }
  for (slab = cache->empty; slab != NULL; slab = slab->next) {
    AVER(slab->used == 0 && slab->seg.grains == 1);
    ++n;
  }
  AVER(n == cache->emptyCount);
  return TRUE;
}

/* ---- Which thread has which cache: claimed, inherited, given up ---- */

#define cacheSTORE ((Size)64 << 10) /* bytes mapped at a time for caches */

#define cacheDIRECT { [0 ... SGFDirectCOUNT - 1] = &SlabNone }
SGFCacheStruct SGFCacheNone = { .direct = cacheDIRECT };
SGFCacheStruct SGFCacheGone = { .direct = cacheDIRECT };
SGFStruct SGFDead;

__thread SGFCache SGFThreadCache __attribute__((tls_model("initial-exec"))) = &SGFCacheNone;

__thread unsigned SGFThreadBusy __attribute__((tls_model("initial-exec")));

LockStruct SGFCacheStoreLock = LockINITIALIZER;
static SGFCache cacheStore; /* linked by next; under SGFCacheStoreLock */

/* cacheNew -- from the store, which is filled as needed */
static SGFCache cacheNew(SGF sgf)
{
  SGFCache cache;
  void *room;
  Index i;

  LockClaim(&SGFCacheStoreLock);
  if (cacheStore == NULL && PagesMap(&room, cacheSTORE) == ResOK)
    for (i = 0; i < cacheSTORE / sizeof(SGFCacheStruct); ++i) {
      cache = (SGFCache)room + i;
      cache->next = cacheStore;
      cacheStore = cache;
    }
  cache = cacheStore;
  if (cache != NULL)
    cacheStore = cache->next;
  LockRelease(&SGFCacheStoreLock);
  if (cache == NULL)
    return NULL;
  memset(cache->list, 0, sizeof cache->list);
  for (i = 0; i < SGFDirectCOUNT; ++i)
    cache->direct[i] = &SlabNone;
  cache->empty = NULL;
  cache->emptyCount = 0;
  __atomic_store_n(&cache->orphan, FALSE, __ATOMIC_RELAXED);
  __atomic_store_n(&cache->pending, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&cache->sgf, sgf, __ATOMIC_RELAXED);
  RingInit(&cache->sgfRing);
  RingInit(&cache->orphanRing);
  return cache;
}

static void cacheStorePut(SGFCache cache)
{
  LockClaim(&SGFCacheStoreLock);
  cache->next = cacheStore;
  cacheStore = cache;
  LockRelease(&SGFCacheStoreLock);
}

SGFCache SGFCacheClaim(SGF sgf)
{
  SGFCache cache = NULL;

  LockClaim(&sgf->poolStruct.lock);
  if (!RingIsSingle(&sgf->orphans)) {
    cache = RING_ELT(SGFCacheStruct, orphanRing, sgf->orphans.next);
    RingRemove(&cache->orphanRing);
    __atomic_store_n(&cache->orphan, FALSE, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&sgf->orphanCount, 1, __ATOMIC_RELAXED);
  } else {
    cache = cacheNew(sgf);
    if (cache != NULL)
      RingInsertBefore(&sgf->caches, &cache->sgfRing);
  }
  LockRelease(&sgf->poolStruct.lock);
  return cache;
}

void SGFCacheDisown(SGFCache cache)
{
  SGF sgf = cache->sgf;

  SGFCacheTidy(cache);
  LockClaim(&sgf->poolStruct.lock);
  RingInsertBefore(&sgf->orphans, &cache->orphanRing);
  __atomic_store_n(&cache->orphan, TRUE, __ATOMIC_RELAXED);
  __atomic_add_fetch(&sgf->orphanCount, 1, __ATOMIC_RELAXED);
  LockRelease(&sgf->poolStruct.lock);
}

/* cacheIsDead -- the pool of one of the calling thread's caches was destroyed */
static Bool cacheIsDead(SGFCache cache) { return __atomic_load_n(&cache->sgf, __ATOMIC_ACQUIRE) == &SGFDead; }

static pthread_key_t threadKey; /* its destructor tells of a thread's end */
static Bool threadsWatched;

static void threadEnded(void *unused)
{
  UNUSED(unused);
  SGFThreadExit();
}

void SGFThreadsWatch(void)
{
  if (!threadsWatched && pthread_key_create(&threadKey, threadEnded) == 0)
    threadsWatched = TRUE;
}

SGFCache SGFCacheOfThread(SGF sgf)
{
  SGFCache *link = &SGFThreadCache, cache;

  while ((cache = *link) != &SGFCacheNone) {
    if (__atomic_load_n(&cache->sgf, __ATOMIC_RELAXED) == sgf) {
      *link = cache->next;
      break;
    }
    if (cacheIsDead(cache)) {
      *link = cache->next;
      cacheStorePut(cache);
    } else {
      link = &cache->next;
    }
  }
  if (cache == &SGFCacheNone) {
    if (SGFThreadCache == &SGFCacheNone && threadsWatched)
      (void)pthread_setspecific(threadKey, &threadKey);
    cache = SGFCacheClaim(sgf);
  }
  if (cache != NULL) {
    cache->next = SGFThreadCache;
    SGFThreadCache = cache;
  }
  return cache;
}

Bool SGFCacheIsOwn(SGFCache cache)
{
  SGFCache own;

  for (own = SGFThreadCache; own != NULL; own = own->next)
    if (own == cache)
      return TRUE;
  return FALSE;
}

void SGFThreadExit(void)
{
  SGFCache cache = SGFThreadCache, next;

  SGFBusyBegin();
  SGFThreadCache = &SGFCacheGone;
  for (; cache != &SGFCacheNone && cache != &SGFCacheGone; cache = next) {
    next = cache->next;
    if (cacheIsDead(cache))
      cacheStorePut(cache);
    else
      SGFCacheDisown(cache);
  }
  SGFBusyEnd();
}

void SGFCachesFinish(SGF sgf)
{
  Ring node, after;

  LockClaim(&sgf->poolStruct.lock);
  RING_FOR(node, &sgf->caches, after) {
    SGFCache cache = RING_ELT(SGFCacheStruct, sgfRing, node);
    RingRemove(&cache->sgfRing);
    RingRemove(&cache->orphanRing);
    /* An orphan goes to the store at once, any other when its thread next looks through its caches, or ends. */
    __atomic_store_n(&cache->sgf, &SGFDead, __ATOMIC_RELEASE);
    if (cache->orphan)
      cacheStorePut(cache);
  }
  LockRelease(&sgf->poolStruct.lock);
}
