/* poolsgfcache.h -- slabs, and the caches of slabs that threads take blocks from
 *
 * A slab is a segment cut into blocks of one size; its state is the pool's part of the segment's descriptor.  It
 * belongs to one cache; a cache belongs to one thread, or, being an orphan, to whoever holds the pool's lock.  Only
 * the owner touches a slab's free list.  Others put a block on the slab's list `remote`, and whoever finds that list
 * empty also puts the slab on its cache's list `pending`, where the owner finds it when it runs out of blocks.
 *
 * Always true (SlabCheck, SGFCacheCheck):
 *   used + length of free == carved <= capacity     blocks on `remote` count as used
 *   remote != NULL if and only if the slab is on, or just going to, some cache's list `pending`; hence
 *   a slab with used == 0 is on no such list, and may be given away
 *   listed: the slab is on its cache's list for its class; not listed: free == NULL and carved == capacity
 *   direct[u] is the head of the list for u units of 16 bytes, or SlabNone
 *   a cache's memory is never used for anything else, so a stale pointer to one does no harm
 *
 * Design: design/mm.md .sgf .sgf.remote .sgf.cache      Tests: test/mm/malloctest.c
 */
#ifndef MM_POOLSGFCACHE_H
#define MM_POOLSGFCACHE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/aver.h"
#include "mm/mmstate.h"
#include "mm/poolsgf.h"
#include "mm/poolsgfsize.h"
#include "mm/seg.h"

typedef struct SGFCacheStruct *SGFCache;

typedef struct SlabStruct {
  SegStruct seg;
  void *free;               /* blocks that were freed, linked by their first words */
  SGFCache owner;           /* NULL: not a slab, but a large object or another pool's segment */
  uint32_t used;            /* blocks that the client has */
  uint32_t listed;          /* on the owner's list */
  /* From here on what others write, or the owner seldom: on the descriptor's second line of the cache. */
  void *remote;             /* blocks that others freed; atomic */
  struct SlabStruct *pending; /* the next slab with such blocks; atomic */
  struct SlabStruct *next, *prev; /* on the owner's list; prev == NULL: the head */
  uint32_t carved;          /* blocks that were ever used; those behind them were never touched */
  uint32_t capacity;        /* blocks */
  uint32_t blockSize;       /* bytes */
  uint32_t class;           /* index of the size class */
  uint32_t told;            /* MMStateRound in which its objects were told; under the arena's lock */
  uint32_t large;           /* an object of its own, no slab */
} SlabStruct, *Slab;

_Static_assert(sizeof(SlabStruct) <= ChunkSegSTRIDE, "a slab does not fit into a segment's descriptor");

#define SGFDirectSIZE  1024u                                   /* bytes up to which `direct` leads to the slab */
#define SGFDirectCOUNT ((SGFDirectSIZE >> SGFUnitSHIFT) + 1u)

typedef struct SGFCacheStruct {
  SGF sgf;                         /* its pool; SGFDead: destroyed; atomic */
  SGFCache next;                   /* the thread's other caches, which end with SGFCacheNone; or the store's */
  Slab direct[SGFDirectCOUNT];
  struct {
    Slab head, tail;
  } list[SGFClassCOUNT];           /* slabs that may have a free block */
  Slab empty;                      /* slabs of one grain without class, linked by next */
  Count emptyCount;
  RingStruct sgfRing;              /* all caches of the pool; under the pool's lock */
  RingStruct orphanRing;           /* those without a thread; under the pool's lock */
  Bool orphan;                     /* on that ring; written under the pool's lock, read by anybody */
  _Alignas(64) Slab pending;       /* slabs to which others freed blocks; atomic */
  uint32_t pends;                  /* how often one was put there while this was an orphan; atomic */
} SGFCacheStruct;

typedef struct SGFStruct {
  PoolStruct poolStruct;
  Count emptySlabs;      /* that each cache keeps */
  RingStruct caches;     /* all */
  RingStruct orphans;    /* those without a thread */
  Count orphanCount;     /* how many those are; written under the pool's lock, read by anybody */
} SGFStruct;

extern SlabStruct SlabNone;          /* has never a free block */
extern SGFCacheStruct SGFCacheNone;  /* the cache of a thread without one */
extern SGFCacheStruct SGFCacheGone;  /* the same after SGFThreadExit */
extern SGFStruct SGFDead;            /* the pool of caches whose pool was destroyed */

/* SGFThreadCache -- the thread's cache that was used last; the others follow by `next` */
extern __thread SGFCache SGFThreadCache __attribute__((tls_model("initial-exec")));

/* SGFThreadBusy -- the calling thread is in one of the slow paths; a signal handler must not look at its slabs */
extern __thread unsigned SGFThreadBusy __attribute__((tls_model("initial-exec")));

static inline void SGFBusyBegin(void) { __atomic_store_n(&SGFThreadBusy, SGFThreadBusy + 1, __ATOMIC_RELAXED); }
static inline void SGFBusyEnd(void) { __atomic_store_n(&SGFThreadBusy, SGFThreadBusy - 1, __ATOMIC_RELAXED); }

/* SlabFresh -- nothing in the slab is older than the round of MMState that goes on, if one does: no need to tell of it
 * SGFLargeInit -- the segment is an object of its own */
static inline void SlabFresh(Slab slab)
{
  /* Who sees the round also sees the kinds of events that were wanted when it began. */
  slab->told = __atomic_load_n(&MMStateRound, __ATOMIC_ACQUIRE);
}

static inline void SGFLargeInit(Slab slab)
{
  SlabFresh(slab);
  __atomic_store_n(&slab->large, TRUE, __ATOMIC_RELEASE);
}

/* SGFCacheOfThread -- the calling thread's cache in `sgf`, made or inherited if it has none; NULL: no memory.
 * Not after SGFThreadExit: that is SGFCacheClaim. */
extern SGFCache SGFCacheOfThread(SGF sgf);

/* SGFCacheIsOwn -- is `cache` one of the calling thread's? */
extern Bool SGFCacheIsOwn(SGFCache cache);

/* SGFCacheClaim, SGFCacheDisown -- take an orphan, or a new cache, for the calling thread; give it up again */
extern SGFCache SGFCacheClaim(SGF sgf);
extern void SGFCacheDisown(SGFCache cache);

/* SGFCacheSlab -- a slab of the cache for `class` whose `free` is not NULL; NULL: no memory */
extern Slab SGFCacheSlab(SGFCache cache, Index class);

/* SGFCacheNotice -- look after a slab of the cache's to which a block came back while it had none, or to which the
 * last one came back */
extern void SGFCacheNotice(SGFCache cache, Slab slab);

/* SGFCacheTidy -- take in what others freed, and give all slabs that nobody uses back to the arena */
extern void SGFCacheTidy(SGFCache cache);

/* SGFRemoteFree -- pass a block back to a slab of another cache */
extern void SGFRemoteFree(Slab slab, void *block);

/* SGFCachesFinish -- `sgf` is being destroyed: its caches are dead */
extern void SGFCachesFinish(SGF sgf);

/* SGFCacheStoreLock -- guards the caches that are in no use; for mmalloc.c */
extern LockStruct SGFCacheStoreLock;

/* SGFCacheCheck -- AVERs what must be true of a cache that nobody else uses; TRUE */
extern Bool SGFCacheCheck(SGFCache cache);

/* -- the fast paths, which SGFAlloc and the malloc interface share -- */

/* SGFAllocFast -- a block without further ado, or NULL */
static inline void *SGFAllocFast(SGF sgf, Size size)
{
  SGFCache cache = SGFThreadCache;

  if (LIKELY(size <= SGFDirectSIZE && __atomic_load_n(&cache->sgf, __ATOMIC_RELAXED) == sgf)) {
    Slab slab = cache->direct[(size + SGFUnitSIZE - 1) >> SGFUnitSHIFT];
    void *block = slab->free;
    if (LIKELY(block != NULL)) {
      slab->free = *(void **)block;
      ++slab->used;
      return block;
    }
  }
  return NULL;
}

/* SlabPut -- a block of one of the calling thread's slabs is free again */
static inline void SlabPut(SGFCache cache, Slab slab, void *block)
{
  void *next = slab->free;

  AVER_CRITICAL(slab->used > 0 && next != block);
  *(void **)block = next;
  slab->free = block;
  if (UNLIKELY(--slab->used == 0 || next == NULL))
    SGFCacheNotice(cache, slab);
}

/* SGFFreeFast -- FALSE: it is not this easy, nothing was done.  Any address may be given. */
static inline Bool SGFFreeFast(void *p)
{
  if (LIKELY(ChunkSlot(p) == ChunkSlotPLAIN)) {
    Slab slab = (Slab)SegEntry(p);
    SGFCache cache = SGFThreadCache;
    if (LIKELY(__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == cache)) {
      SlabPut(cache, slab, p);
      return TRUE;
    }
  }
  return FALSE;
}

#endif /* MM_POOLSGFCACHE_H */
