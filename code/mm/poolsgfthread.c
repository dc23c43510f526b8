/* poolsgfthread.c -- which thread has which cache: claimed, inherited, given up
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .sgf.cache .sgf.orphan .sgf.gone      Tests: test/mm/malloctest.c
 */
#include "mm/poolsgfcache.h"

#include <pthread.h>

#include "mm/pages.h"

#define cacheSTORE ((Size)64 << 10) /* bytes mapped at a time for caches */

#define cacheDIRECT { [0 ... SGFDirectCOUNT - 1] = &SlabNone }
SGFCacheStruct SGFCacheNone = { .direct = cacheDIRECT };
SGFCacheStruct SGFCacheGone = { .direct = cacheDIRECT };
SGFStruct SGFDead;

__thread SGFCache SGFThreadCache __attribute__((tls_model("initial-exec"))) = &SGFCacheNone;

__thread unsigned SGFThreadBusy __attribute__((tls_model("initial-exec")));

LockStruct SGFCacheStoreLock = LockINITIALIZER;
static SGFCache cacheStore; /* linked by next; under SGFCacheStoreLock */

static void cacheStorePut(SGFCache cache)
{
  LockClaim(&SGFCacheStoreLock);
  cache->next = cacheStore;
  cacheStore = cache;
  LockRelease(&SGFCacheStoreLock);
}

static SGFCache cacheStoreTake(void)
{
  SGFCache cache;

  LockClaim(&SGFCacheStoreLock);
  cache = cacheStore;
  if (cache != NULL)
    cacheStore = cache->next;
  LockRelease(&SGFCacheStoreLock);
  return cache;
}

/* cacheNew -- a cache from the store, which is filled as needed; NULL: no memory */
static SGFCache cacheNew(SGF sgf)
{
  SGFCache cache = cacheStoreTake();
  void *room;
  Index i;

  if (cache == NULL) {
    if (PagesMap(&room, cacheSTORE) != ResOK)
      return NULL;
    cache = room;
    for (i = 1; i < cacheSTORE / sizeof(SGFCacheStruct); ++i)
      cacheStorePut(cache + i);
  }
  for (i = 0; i < SGFClassCOUNT; ++i)
    RingInit(&cache->list[i]);
  for (i = 0; i < SGFDirectCOUNT; ++i)
    cache->direct[i] = &SlabNone;
  RingInit(&cache->empty);
  cache->emptyCount = cache->largeCount = 0;
  cache->largeSize = 0;
  __atomic_store_n(&cache->orphan, FALSE, __ATOMIC_RELAXED);
  __atomic_store_n(&cache->pending, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&cache->pends, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&cache->sgf, sgf, __ATOMIC_RELAXED);
  RingInit(&cache->sgfRing);
  RingInit(&cache->orphanRing);
  return cache;
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

  AVER(!cache->orphan && RingIsSingle(&cache->orphanRing));
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
