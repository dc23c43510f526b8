/* mmstate.c -- the state dump of the memory manager
 *
 * The dump may begin inside any operation on an arena or a pool, in the thread that holds its locks: so no lock is
 * waited for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .state      Tests: test/emit/statedumptest.c, test/emit/statedump.t
 */
#include "mm/mmstate.h"

#include "emit/event.h"
#include "mm/arena.h"
#include "mm/pool.h"

uint32_t MMStateRound;

#define stateArena(node) RING_ELT(ArenaStruct, arenasRing, node)
#define stateChunk(node) RING_ELT(ChunkStruct, ring, node)

/* stateRelease -- release the locks of the arenas before `end`, and the lock of the list of arenas */
static void stateRelease(Ring end)
{
  Ring node;

  for (node = ArenaRegistry.next; node != end; node = node->next)
    LockRelease(&stateArena(node)->lock);
  LockRelease(&ArenaRegistryLock);
}

static Bool stateClaim(void)
{
  Ring node, after;

  if (!LockTry(&ArenaRegistryLock))
    return FALSE;
  RING_FOR(node, &ArenaRegistry, after)
    if (!LockTry(&stateArena(node)->lock)) {
      stateRelease(node);
      return FALSE;
    }
  return TRUE;
}

static void stateArenaTell(Arena arena)
{
  Ring node, after, inner, afterInner;

  EVENT_PWW(ArenaCreate, arena, arena->reserved, ArenaGrainSIZE);
  EVENT_PW(ArenaSpare, arena, arena->spareLimit);
  if (arena->commitLimit != SIZE_MAX)
    EVENT_PW(ArenaLimit, arena, arena->commitLimit);
  RING_FOR(node, &arena->chunks, after) {
    EVENT_PAW(ArenaReserve, arena, stateChunk(node)->base, ChunkSIZE);
    ChunkCommitTell(stateChunk(node), ChunkHeaderGRAINS, ChunkGRAINS, TRUE);
  }
  RING_FOR(node, &arena->hugeChunks, after) {
    Chunk chunk = stateChunk(node);
    EVENT_PAW(ArenaReserve, arena, chunk->base, ArenaChunkSize(chunk));
    EVENT_PAW(ArenaCommit, arena, chunk->hugeBase, ArenaBytes(ArenaHugeUsed(chunk) + chunk->spareCount));
  }
  RING_FOR(node, &arena->poolRing, after) {
    Pool pool = RING_ELT(PoolStruct, arenaRing, node);
    pool->liveCount = 0; /* the last dump may not have been finished */
    PoolTell(pool);
    RING_FOR(inner, &pool->segRing, afterInner) {
      Seg seg = RING_ELT(SegStruct, poolRing, inner);
      EVENT_PPAW(SegAlloc, seg, pool, SegBase(seg), SegSize(seg));
    }
  }
}

/* stateLive -- emit the live objects of a pool, as far as is possible now; FALSE: some are left */
static Bool stateLive(Pool pool, Bool late)
{
  Bool told;

  if (pool->liveRound == MMStateRound)
    return TRUE;
  if (!LockTry(&pool->lock))
    return FALSE;
  told = pool->class->live(pool, late);
  LockRelease(&pool->lock);
  if (told) {
    EVENT_PW(PoolLiveEnd, pool, pool->liveCount);
    pool->liveRound = MMStateRound;
  }
  return told;
}

/* stateObjects -- the same for all pools */
static Bool stateObjects(Bool late)
{
  Ring node, after, inner, afterInner;
  Bool told = TRUE;

  /* If the kind is off, its events go to the flight recorder, which is not for objects that exist already. */
  if ((__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> EventKindObject & 1) == 0)
    return TRUE;
  if (!stateClaim())
    return FALSE;
  RING_FOR(node, &ArenaRegistry, after)
    RING_FOR(inner, &stateArena(node)->poolRing, afterInner)
      told &= stateLive(RING_ELT(PoolStruct, arenaRing, inner), late);
  stateRelease(&ArenaRegistry);
  return told;
}

Bool MMState(StateDumpStep step)
{
  Ring node, after;

  switch (step) {
  case StateDumpCLAIM:
    return stateClaim();
  case StateDumpGIVEUP:
    stateRelease(&ArenaRegistry);
    return TRUE;
  case StateDumpTELL:
    (void)__atomic_add_fetch(&MMStateRound, 1, __ATOMIC_RELEASE);
    RING_FOR(node, &ArenaRegistry, after)
      stateArenaTell(stateArena(node));
    stateRelease(&ArenaRegistry);
    return TRUE;
  case StateDumpLIVE:
  case StateDumpLATE:
    return stateObjects(step == StateDumpLATE);
  }
  return TRUE;
}
