/* mmstate.c -- the state dump of the memory manager
 *
 * We may be called inside any operation on an arena or a pool, by whoever holds its locks: nothing is waited for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .state      Tests: test/emit/statetest.c, test/emit/state.t
 */
#include "mm/mmstate.h"

#include "emit/event.h"
#include "mm/arena.h"
#include "mm/pool.h"

uint32_t MMStateRound;

#define stateArena(node) RING_ELT(ArenaStruct, arenasRing, node)
#define stateChunk(node) RING_ELT(ChunkStruct, ring, node)

/* stateRelease -- the locks of the arenas before `end`, and the registry's */
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

/* stateCommitted -- what of a plain chunk holds memory: its grains that are used or spare, but for the header */
static void stateCommitted(Chunk chunk)
{
  Index i, from = ChunkHeaderGRAINS;

  for (i = from; i <= ChunkGRAINS; ++i)
    if (i == ChunkGRAINS || !BTGet(chunk->touched, i)) {
      if (i > from)
        EVENT_PAW(ArenaCommit, chunk->arena, ChunkGrainAddr(chunk, from), (i - from) << ArenaGrainSHIFT);
      from = i + 1;
    }
}

static void stateArenaTell(Arena arena)
{
  Ring node, after, inner, afterInner;

  EVENT_PWW(ArenaCreate, arena, arena->reserved, ArenaGrainSIZE);
  EVENT_PW(ArenaSpare, arena, arena->spareLimit);
  RING_FOR(node, &arena->chunks, after) {
    EVENT_PAW(ArenaReserve, arena, stateChunk(node)->base, ChunkSIZE);
    stateCommitted(stateChunk(node));
  }
  RING_FOR(node, &arena->hugeChunks, after) {
    Chunk chunk = stateChunk(node);
    EVENT_PAW(ArenaReserve, arena, chunk->base, (Word)chunk->limit - (Word)chunk->base);
  }
  RING_FOR(node, &arena->poolRing, after) {
    Pool pool = RING_ELT(PoolStruct, arenaRing, node);
    pool->liveCount = 0; /* the round before may not have come to its end */
    PoolTell(pool);
    RING_FOR(inner, &pool->segRing, afterInner) {
      Seg seg = RING_ELT(SegStruct, poolRing, inner);
      if (ChunkIsHuge(ChunkOfAddr(SegBase(seg))))
        EVENT_PAW(ArenaCommit, arena, SegBase(seg), SegSize(seg));
      EVENT_PPAW(SegAlloc, seg, pool, SegBase(seg), SegSize(seg));
    }
  }
}

/* stateLive -- what can be told of a pool's objects; FALSE: some are left */
static Bool stateLive(Pool pool, Bool late)
{
  Bool told;

  if (pool->class->live == NULL || pool->liveRound == MMStateRound)
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

/* stateObjects -- the same of all pools */
static Bool stateObjects(Bool late)
{
  Ring node, after, inner, afterInner;
  Bool told = TRUE;

  /* The flight recorder is for what happens. */
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
