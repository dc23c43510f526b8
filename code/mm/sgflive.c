/* sgflive.c -- which objects of an SGF pool live, while its threads go on
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A block of a slab lives unless it was never carved, is on the free list, or on the list of those that other threads
 * freed.  Who may read these lists: the owner of the slab; for a slab of an orphan, whoever holds the pool's lock; and
 * where the owner does not come, anybody who reads them twice and finds the same, a list that adds up.  Threads that
 * allocate come: they ask for attention with each event.  What is freed or allocated after the look has its own event.
 *
 * One caller at a time (StateAttend), with the locks of arena and pool: no slab goes, or leaves an orphan, meanwhile.
 *
 * Design: design/mm.md .state      Tests: test/statetest.c, test/state.t
 */
#include <string.h>

#include "emit/event.h"
#include "mm/mmstate.h"
#include "mm/sgfcache.h"

enum { liveWORD = sizeof(Word) * 8, liveBLOCKS = ArenaGrainSIZE / SGFUnitSIZE };

/* What one look at a slab found. */
typedef struct LiveStruct {
  uint32_t carved, used;
  Count dead;                          /* blocks on the free list */
  Word sum;                            /* of the addresses in the order of both lists */
  Word free[liveBLOCKS / liveWORD];    /* a bit for each block on either list */
} LiveStruct, *Live;

/* liveList -- mark the blocks of a list; FALSE: it is no list of this slab's blocks */
__attribute__((no_sanitize("thread"))) static Bool liveList(Live live, Slab slab, uint32_t blockSize, void *first,
                                                             Count *countIO)
{
  Word base = (Word)SegBase(&slab->seg);
  void *block;

  for (block = first; block != NULL; block = *(void *volatile *)block) {
    Size offset = (Word)block - base;
    Index i = offset / blockSize;
    if (offset % blockSize != 0 || i >= live->carved || (live->free[i / liveWORD] >> i % liveWORD & 1) != 0)
      return FALSE;
    live->free[i / liveWORD] |= (Word)1 << i % liveWORD;
    live->sum = live->sum * 31 + offset;
    ++*countIO;
  }
  return TRUE;
}

/* liveLook -- one look; FALSE: it makes no sense, because the owner is at work */
__attribute__((no_sanitize("thread"))) static Bool liveLook(Live live, Slab slab)
{
  volatile SlabStruct *now = slab;
  uint32_t blockSize = now->blockSize;
  Count remote = 0;
  Size sum;

  memset(live, 0, sizeof *live);
  live->carved = now->carved;
  live->used = now->used;
  if (blockSize == 0 || blockSize % SGFUnitSIZE != 0 || live->carved > liveBLOCKS ||
      (Size)live->carved * blockSize > SegSize(&slab->seg) ||
      !liveList(live, slab, blockSize, now->free, &live->dead) ||
      !liveList(live, slab, blockSize, __atomic_load_n(&slab->remote, __ATOMIC_ACQUIRE), &remote))
    return FALSE;
  /* A signal handler may have come between the two halves of taking or giving back one block. */
  sum = live->used + live->dead;
  return sum <= live->carved + 1u && sum + 1u >= live->carved && remote <= live->used;
}

/* liveTell -- tell of the blocks that one look found alive */
static void liveTell(Live live, Slab slab)
{
  Word base = (Word)SegBase(&slab->seg);
  Pool pool = slab->seg.pool;
  Index i;

  for (i = 0; i < live->carved; ++i)
    if ((live->free[i / liveWORD] >> i % liveWORD & 1) == 0) {
      EVENT_PAW(PoolLive, pool, (Addr)(base + i * slab->blockSize), slab->blockSize);
      ++pool->liveCount;
    }
}

/* liveSlab -- tell of a slab; FALSE: its owner must, or later */
static Bool liveSlab(Slab slab, SGFCache owner, Bool late)
{
  static LiveStruct live[2]; /* no stack has room for it; there is one caller */
  Bool ours = SGFCacheIsOwn(owner) || __atomic_load_n(&owner->orphan, __ATOMIC_RELAXED);

  if ((SGFThreadBusy > 0 && SGFCacheIsOwn(owner)) || (!ours && !late) || !liveLook(&live[0], slab))
    return FALSE;
  if (!ours && (!liveLook(&live[1], slab) || memcmp(&live[0], &live[1], sizeof live[0]) != 0 ||
                __atomic_load_n(&slab->owner, __ATOMIC_ACQUIRE) != owner))
    return FALSE;
  liveTell(&live[0], slab);
  return TRUE;
}

/* liveLarge -- an object that is a segment; one that is only about to become one, or a slab, is no object yet */
static void liveLarge(Slab slab)
{
  if (!__atomic_load_n(&slab->large, __ATOMIC_ACQUIRE))
    return;
  EVENT_PAW(PoolLive, slab->seg.pool, SegBase(&slab->seg), SegSize(&slab->seg));
  ++slab->seg.pool->liveCount;
}

Bool SGFLive(Pool pool, Bool late)
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
