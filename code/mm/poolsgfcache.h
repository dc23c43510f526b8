/* poolsgfcache.h -- slabs, and the caches of slabs that threads take blocks from
 *
 * A slab is a segment cut into blocks of one size; its state is the pool's part of the segment's descriptor.  It
 * belongs to one cache.  A cache belongs to one thread; as an orphan, to the thread that holds the pool's lock.  Only
 * the owner touches a slab's free list.  Others put a block on the slab's list `remote`, and whoever finds that list
 * empty also puts the slab on its cache's list `pending`, where the owner finds it when it runs out of blocks.
 *
 * A free block has a link in its first word, encoded by SlabKey and its own address (SlabLink); an object that is
 * handed out has 0 there.  So who writes over a free block is found when the block is next taken, and who frees a block
 * twice by the link that is still in it.
 *
 * Behind the last block of a slab, and behind a large object, is a fence where there is room: a word that depends on
 * SlabKey and its address.  Whoever writes there is found when the fence is next looked at, which the fast paths do
 * not.
 *
 * Always true (SlabCheck, SGFCacheCheck):
 *   used + length of free == SlabCarved <= capacity     blocks on `remote` count as used
 *   each list of blocks ends in a link to SlabEnd, which is odd
 *   remote != 0 if and only if the slab is on, or just going to, some cache's list `pending`; hence
 *   a slab with used == 0 is on no such list, and may be given away
 *   if `remote` is SlabGOING or SlabGONE all blocks are free, and nothing in their memory is to be read
 *   fence != 0 if there is a fence, `fence` bytes before the end of the segment; of a slab then all blocks are carved
 *   a slab is on its cache's list for its class; or its ring is alone, it has no free block, and all are carved
 *   direct[u] is the head of the list for u units of 16 bytes, or SlabNone
 *   a cache's memory is never used for anything else, so a stale pointer to one does no harm
 *
 * Design: design/mm.md .sgf .sgf.size .sgf.link .sgf.fence .sgf.remote .sgf.asleep .sgf.cache
 * Tests: test/mm/malloctest.c, test/mm/pooltest.c (every size)
 */
#ifndef MM_POOLSGFCACHE_H
#define MM_POOLSGFCACHE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/aver.h"
#include "mm/mmstate.h"
#include "mm/poolsgf.h"
#include "mm/seg.h"

/* Size classes.  Blocks are multiples of 16 bytes: each multiple up to 256; from there to 4096 eight sizes for each
 * doubling, so that rounding up costs an eighth at most; and from there one class for each number of blocks that a
 * slab holds, 15 to 2 in one grain and 3 or 2 in two: more classes would take as many slabs, and each class keeps
 * free blocks. Every class whose block size is a multiple of a power of two serves as aligned memory, because slabs
 * begin on grains; the powers of two are classes. */
#define SGFUnitSHIFT 4
#define SGFUnitSIZE  ((Size)1 << SGFUnitSHIFT) /* bytes; the alignment of every block, as malloc must have it */

#define SGFExactSHIFT 8                        /* up to 2^8 bytes each unit has a class of its own */
#define SGFClassEXACT (1u << (SGFExactSHIFT - SGFUnitSHIFT))
#define SGFFineSHIFT  12                       /* up to 2^12 bytes there are eight classes for each doubling */
#define SGFClassFINE  (SGFClassEXACT + 8u * (SGFFineSHIFT - SGFExactSHIFT))
#define SGFBlockSHIFT 16                       /* larger than 2^16 bytes: a segment of its own */
#define SGFBlockMAX   ((Size)1 << SGFBlockSHIFT)
#define SGFManyMAX    15u                      /* blocks above 2^12 bytes that one grain holds, */
#define SGFManyMIN    2u                       /* at least */
#define SGFClassTWO   (SGFClassFINE + SGFManyMAX - SGFManyMIN + 1u) /* from here on slabs have two grains */
#define SGFClassCOUNT (SGFClassTWO + 2u)

/* SGFClassOfSize -- the class for `size` bytes, 1 to SGFBlockMAX */
static inline Index SGFClassOfSize(Size size)
{
  unsigned log, units;

  if (size <= (Size)1 << SGFExactSHIFT)
    return (size - 1) >> SGFUnitSHIFT;
  if (size <= (Size)1 << SGFFineSHIFT) {
    log = 63u - (unsigned)__builtin_clzll((unsigned long long)(size - 1));
    return SGFClassEXACT + (log - SGFExactSHIFT) * 8 + (((size - 1) >> (log - 3)) & 7);
  }
  units = (unsigned)((size + SGFUnitSIZE - 1) >> SGFUnitSHIFT);
  if (size <= ArenaGrainSIZE / SGFManyMIN)
    return SGFClassFINE + SGFManyMAX - (unsigned)(ArenaGrainSIZE >> SGFUnitSHIFT) / units;
  return SGFClassTWO + 3u - (unsigned)(2 * ArenaGrainSIZE >> SGFUnitSHIFT) / units;
}

/* SGFClassSize -- bytes of a class's blocks */
static inline Size SGFClassSize(Index class)
{
  Size size;

  if (class < SGFClassEXACT)
    return (class + 1) << SGFUnitSHIFT;
  if (class < SGFClassFINE) {
    class -= SGFClassEXACT;
    return (9 + class % 8) << (SGFExactSHIFT - 3 + class / 8);
  }
  if (class < SGFClassTWO)
    size = ArenaGrainSIZE / (SGFManyMAX - (class - SGFClassFINE));
  else
    size = 2 * ArenaGrainSIZE / (3 - (class - SGFClassTWO));
  return size >> SGFUnitSHIFT << SGFUnitSHIFT;
}

/* Slabs and caches. */

typedef struct SGFCacheStruct *SGFCache;

typedef struct SlabStruct {
  SegStruct seg;
  Word free;                /* the first free block; odd: there is none */
  SGFCache owner;           /* NULL: not a slab, but a large object or another pool's segment */
  uint16_t used;            /* blocks that the client has */
  uint16_t limit;           /* units of blocks that were ever used; those behind them were never touched; atomic */
  uint32_t inverse;         /* 2^32 / blockSize, rounded up; 0: it has more than one grain */
  /* From here on what others write, or the owner seldom: on the descriptor's second line of the cache. */
  Word remote;              /* blocks that others freed (SlabRemote); 0: none; atomic */
  struct SlabStruct *pending; /* the next slab with such blocks; atomic */
  RingStruct ring;          /* on the owner's list for its class, or of empty slabs; or alone */
  uint32_t capacity;        /* blocks */
  uint32_t blockSize;       /* bytes */
  uint32_t class;           /* index of the size class */
  uint32_t told;            /* MMStateRound in which its objects were told; under the arena's lock */
  uint32_t large;           /* an object of its own, no slab */
  uint32_t fence;           /* bytes from the fence behind its blocks, or the object, to its end; 0: there is none */
} SlabStruct, *Slab;

_Static_assert(sizeof(SlabStruct) <= ChunkSegSTRIDE, "a slab does not fit into a segment's descriptor");
_Static_assert(sizeof(Word) != 8 || offsetof(SlabStruct, remote) == 64, "a free reads one line of the descriptor");

/* What `remote` of a slab holds: the address of the block that another thread freed last, which links to the blocks
 * freed before it; and above the address the number of all these blocks.  When other threads have freed all blocks of
 * the slab it may be SlabGOING instead: a thread is decommitting the slab's memory; or SlabGONE: the memory is
 * decommitted. */
enum { SlabGOING = 1, SlabGONE = 3 };

#if UINTPTR_MAX > 0xffffffffu
#define SlabCountSHIFT ChunkAddressWIDTH
#define SlabRemoteFirst(remote) ((remote) & (((Word)1 << SlabCountSHIFT) - 1))
#define SlabRemoteCount(remote) ((remote) >> SlabCountSHIFT)
#define SlabRemote(first, count) ((Word)(first) | (Word)(count) << SlabCountSHIFT)
#else /* addresses have no room for a count: such memory does not go back */
#define SlabRemoteFirst(remote) (remote)
#define SlabRemoteCount(remote) ((Word)0)
#define SlabRemote(first, count) ((Word)(first))
#endif
#define SlabRemoteAll(remote) ((remote) == SlabGOING || (remote) == SlabGONE)

/* SGFUNGUARDED -- compiled so, lists are not encoded and what is freed is not looked at: for bench/part/managed alone,
 * which measures what that costs (design/mm.md .sgf.link) */
#if defined(SGFUNGUARDED)
#define SGFGuarded FALSE
#else
#define SGFGuarded TRUE
#endif

/* SlabKey -- random, the same for all slabs of the process; not 0 once there is an SGF pool */
extern Word SlabKey;

/* SlabLink -- the link in the first word of a free block, encoded and decoded alike: `link` is the next block's address
 * or SlabEnd, or what stands in the word.  The block's own address goes into it, so that a copy of the word elsewhere
 * is no link. */
static inline Word SlabLink(const void *block, Word link)
{
  Word own = (Word)block;

  if (!SGFGuarded)
    return link;
  return link ^ SlabKey ^ (own << ArenaGrainSHIFT | own >> (WORD_WIDTH - ArenaGrainSHIFT));
}

/* SlabEnd -- where a list of the slab's blocks ends: no block, for it is odd */
static inline Word SlabEnd(Slab slab) { return (Word)SegBase(&slab->seg) | 1; }

static inline Bool SlabHasFree(Slab slab) { return (slab->free & 1) == 0; }

/* SlabNear -- do these two addresses lie in one grain?  So in one slab, if that has one. */
static inline Bool SlabNear(Word a, Word b) { return (a ^ b) >> ArenaGrainSHIFT == 0; }

/* SlabCarved -- how many blocks were ever used */
static inline uint32_t SlabCarved(Slab slab)
{
  return (uint32_t)((Size)__atomic_load_n(&slab->limit, __ATOMIC_RELAXED) * SGFUnitSIZE / slab->blockSize);
}

#define SGFDirectSIZE  1024u                                   /* bytes up to which `direct` leads to the slab */
#define SGFDirectCOUNT ((SGFDirectSIZE >> SGFUnitSHIFT) + 1u)

#define SGFLargeCOUNT 16u

typedef struct SGFCacheStruct {
  SGF sgf;                         /* its pool; SGFDead: destroyed; atomic */
  SGFCache next;                   /* the thread's other caches, which end with SGFCacheNone; or the store's */
  Slab direct[SGFDirectCOUNT];
  RingStruct list[SGFClassCOUNT];  /* slabs that may have a free block */
  RingStruct empty;                /* slabs of one grain without class */
  Count emptyCount;
  Slab large[SGFLargeCOUNT];       /* segments of large objects that were freed (SGFLargePut) */
  Count largeCount;
  Size largeSize;                  /* bytes of these */
  RingStruct sgfRing;              /* all caches of the pool; under the pool's lock */
  RingStruct orphanRing;           /* those without a thread; under the pool's lock */
  Bool orphan;                     /* on that ring; written under the pool's lock, read by anybody */
  _Alignas(64) Slab pending;       /* slabs to which others freed blocks; atomic */
  uint32_t pends;                  /* grains of those put there since its thread last looked; atomic */
} SGFCacheStruct;

typedef struct SGFStruct {
  PoolStruct poolStruct;
  Count emptySlabs;      /* that each cache keeps */
  RingStruct caches;     /* all */
  RingStruct orphans;    /* those without a thread */
  Count orphanCount;     /* how many those are; written under the pool's lock, read by anybody */
} SGFStruct;

extern SlabStruct SlabNone;          /* never has a free block */
extern SGFCacheStruct SGFCacheNone;  /* the cache of a thread without one */
extern SGFCacheStruct SGFCacheGone;  /* the same after SGFThreadExit */
extern SGFStruct SGFDead;            /* the pool of caches whose pool was destroyed */

/* SGFThreadCache -- the thread's cache that was used last; the others follow by `next` */
extern __thread SGFCache SGFThreadCache __attribute__((tls_model("initial-exec")));

/* SGFThreadBusy -- the calling thread is in one of the slow paths; a signal handler must not look at its slabs */
extern __thread unsigned SGFThreadBusy __attribute__((tls_model("initial-exec")));

static inline void SGFBusyBegin(void) { __atomic_store_n(&SGFThreadBusy, SGFThreadBusy + 1, __ATOMIC_RELAXED); }
static inline void SGFBusyEnd(void) { __atomic_store_n(&SGFThreadBusy, SGFThreadBusy - 1, __ATOMIC_RELAXED); }

/* SlabFresh -- nothing in the slab is older than the state dump that goes on, if any: the dump may leave it out */
static inline void SlabFresh(Slab slab)
{
  /* A thread that sees the new number also sees which kinds of events were wanted when the dump began. */
  slab->told = __atomic_load_n(&MMStateRound, __ATOMIC_ACQUIRE);
}

/* SlabFenceWord -- what stands in a word of a fence: no byte is 0, for that is what programs most often write behind an
 * object, the end of a string */
static inline Word SlabFenceWord(const void *at) { return SlabLink(at, 0) | ~(Word)0 / 255; }

/* SGFCacheOfThread -- the calling thread's cache in `sgf`, made or inherited if it has none; NULL: no memory.
 * Not after SGFThreadExit: that is SGFCacheClaim. */
extern SGFCache SGFCacheOfThread(SGF sgf);

/* SGFCacheIsOwn -- is `cache` one of the calling thread's? */
extern Bool SGFCacheIsOwn(SGFCache cache);

/* SGFCacheClaim, SGFCacheDisown -- take an orphan, or a new cache, for the calling thread; give it up again */
extern SGFCache SGFCacheClaim(SGF sgf);
extern void SGFCacheDisown(SGFCache cache);

/* SGFCacheTidy -- take in what other threads freed, and give all slabs without used blocks back to the arena */
extern void SGFCacheTidy(SGFCache cache);

/* SGFCacheSlab -- a slab of the cache for `class` that has a free block; NULL: no memory */
extern Slab SGFCacheSlab(SGFCache cache, Index class);

/* SGFCacheNotice -- put a slab back on its list, if a block came back to it and it had no free one; release it, if all
 * of its blocks are free */
extern void SGFCacheNotice(SGFCache cache, Slab slab);

/* SlabLeads -- is a decoded link of the slab's one to a block of it that was ever used, or the end? */
extern Bool SlabLeads(Slab slab, Word link);

/* SlabBroken -- the free list of an own slab is broken, at its head or on the way there: say so, and if the program
 * goes on leave all blocks used */
extern void SlabBroken(Slab slab) __attribute__((cold, noinline));

/* SGFRemoteFree -- pass a block back to a slab of another cache */
extern void SGFRemoteFree(Slab slab, void *block);

/* SGFCachesFinish -- `sgf` is being destroyed: its caches are dead */
extern void SGFCachesFinish(SGF sgf);

/* SGFCacheStoreLock -- guards the caches that are in no use; for mallocpool.c */
extern LockStruct SGFCacheStoreLock;

/* SGFCacheCheck -- does all hold that must always be true of a cache, which no other thread uses, and of its slabs? */
extern Bool SGFCacheCheck(SGFCache cache);

/* ---- Large objects that were freed lately, kept for the thread that freed them (poolsgflarge.c) ----
 *
 * A large object is a segment.  Getting one from the arena costs a lock and a search; so each cache keeps a few of
 * those that its thread freed last, up to SGFLargeKEEP bytes, for objects of about the same size.
 *
 * Always true (SGFLargeCheck):  a kept segment is the pool's, in a plain chunk, of SGFLargeMAX bytes at most, and no
 * object (`large` is FALSE);  largeSize == the sum of their sizes
 *
 * Threads: the cache's own, or who holds the pool's lock of an orphan.
 */

#define SGFLargeKEEP ((Size)2 << 20) /* bytes that a cache keeps */
#define SGFLargeMAX  ((Size)1 << 20) /* bytes of a segment that is kept */

/* SGFLargeInit -- the segment, which was just taken, is an object of its own */
extern void SGFLargeInit(Slab slab);

/* SGFLargeFence -- put a fence behind the `size` bytes of a large object, in place of the one that it had
 *
 * Only where the page of its last byte has room for it: no page is touched for a fence alone. */
extern void SGFLargeFence(Slab slab, Size size);

/* SGFLargeHolds -- is what is behind a large object untouched, as far as its fence can tell?  If not, MisuseFound has
 * said so. */
extern Bool SGFLargeHolds(Slab slab);

/* SGFLargeTake -- a kept segment that has `size` bytes, and not an eighth more; NULL: none.  Its contents are old. */
extern Slab SGFLargeTake(SGFCache cache, Size size);

/* SGFLargePut -- keep a segment whose object was freed, and give back those that are too much then
 * returns  FALSE: it is not one to be kept */
extern Bool SGFLargePut(SGFCache cache, Slab slab);

/* SGFLargeDrop -- give all back */
extern void SGFLargeDrop(SGFCache cache);

extern Bool SGFLargeCheck(SGFCache cache);

/* -- the fast paths, which SGFAlloc and the malloc interface share -- */

/* SGFAllocFast -- a block without further ado, or NULL */
static inline void *SGFAllocFast(SGF sgf, Size size)
{
  SGFCache cache = SGFThreadCache;

  if (LIKELY(size <= SGFDirectSIZE && __atomic_load_n(&cache->sgf, __ATOMIC_RELAXED) == sgf)) {
    Slab slab = cache->direct[(size + SGFUnitSIZE - 1) >> SGFUnitSHIFT];
    Word *block = (Word *)slab->free, next;
    if (LIKELY(SlabHasFree(slab))) {
      next = SlabLink(block, *block);
      if (LIKELY(!SGFGuarded || SlabNear(next, (Word)block))) {
        slab->free = next;
        ++slab->used;
        if (SGFGuarded)
          *block = 0;
        return block;
      }
    }
  }
  return NULL;
}

/* SlabPut -- a block of one of the calling thread's slabs is free again */
static inline void SlabPut(SGFCache cache, Slab slab, void *block)
{
  Word next = slab->free;

  *(Word *)block = SlabLink(block, next);
  slab->free = (Word)block;
  if (UNLIKELY(--slab->used == 0 || (next & 1) != 0))
    SGFCacheNotice(cache, slab);
}

/* slabIsObject -- is `p`, in a slab's first grain, surely an object of it?  One multiplication shows whether the offset
 * is a multiple of blockSize: the product with 2^32 / blockSize, modulo 2^32, is then smaller than that factor. */
static inline Bool slabIsObject(Slab slab, const void *p)
{
  uint32_t offset = (uint32_t)((Word)p & (ArenaGrainSIZE - 1));

  if (!SGFGuarded)
    return TRUE;
  return offset * slab->inverse < slab->inverse && offset >> SGFUnitSHIFT < slab->limit &&
         !SlabNear(SlabLink(p, *(const Word *)p), (Word)p);
}

/* SGFFreeFast -- FALSE: it is not this easy, nothing was done.  Any address may be given. */
static inline Bool SGFFreeFast(void *p)
{
  if (LIKELY(ChunkSlot(p) == ChunkSlotPLAIN)) {
    Slab slab = (Slab)SegEntry(p);
    SGFCache cache = SGFThreadCache;
    if (LIKELY(__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) == cache && slabIsObject(slab, p))) {
      SlabPut(cache, slab, p);
      return TRUE;
    }
  }
  return FALSE;
}

#endif /* MM_POOLSGFCACHE_H */
