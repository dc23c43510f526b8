/* arenaspare.c -- memory that an arena has committed and no pool owns, and how much of it stays
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .arena.spare .arena.lately      Tests: test/mm/arenatest.c, test/mm/limittest.c
 */
#include "base/readclock.h"
#include "emit/event.h"
#include "mm/arena.h"
#include "mm/pages.h"

#define arenaPeakNS    ((uint64_t)1000000000)
#define arenaHugeMOST  ((Count)32)            /* huge chunks that have spare grains: they are searched one by one */
#define arenaTrimMOST  ((Size)1 << 20)        /* bytes that go back at a time, which takes a tenth of a millisecond */

/* ---- Spare memory of huge chunks ---- */

void ArenaHugeSpare(Arena arena, Chunk chunk, Count used, Count spare)
{
  arena->spare -= ArenaHugeSpares(chunk);
  arena->hugeSpares = arena->hugeSpares - (chunk->spareCount > 0) + (spare > 0);
  chunk->freeCount = ChunkHugeRoom(chunk) - used;
  chunk->spareCount = spare;
  arena->spare += ArenaHugeSpares(chunk);
  RingRemove(&chunk->ring);
  if (spare > 0)
    RingInsertAfter(&arena->hugeChunks, &chunk->ring);
  else
    RingInsertBefore(&arena->hugeChunks, &chunk->ring);
}

void ArenaHugeDecommit(Arena arena, Chunk chunk, Count n)
{
  Count used = ArenaHugeUsed(chunk), left = chunk->spareCount - n;
  Addr end = (Addr)((Word)chunk->hugeBase + ArenaBytes(used + left));

  EVENT_PAW(ArenaDecommit, arena, end, ArenaBytes(n));
  arena->committed -= ArenaBytes(n);
  ArenaHugeSpare(arena, chunk, used, left);
  if (used + left > 0) {
    PagesDecommit(end, ArenaBytes(n));
  } else {
    RingRemove(&chunk->ring);
    arena->reserved -= ArenaChunkSize(chunk);
    arena->committed -= ArenaHugeHEADER;
    arena->spare -= ArenaHugeHEADER;
    ChunkDestroy(chunk);
  }
}

/* arenaHugeOldest -- the huge chunk that has had its spare grains longest, or NULL */
static Chunk arenaHugeOldest(Arena arena)
{
  Chunk oldest = NULL;
  Ring node;

  for (node = arena->hugeChunks.next; node != &arena->hugeChunks && ArenaChunk(node)->spareCount > 0; node = node->next)
    oldest = ArenaChunk(node);
  return oldest;
}

void ArenaPurgeHuge(Arena arena, Size limit)
{
  Chunk chunk;

  while (arena->spare > limit && (chunk = arenaHugeOldest(arena)) != NULL) {
    Count most = (arena->spare - limit + ArenaGrainSIZE - 1) >> ArenaGrainSHIFT;
    ArenaHugeDecommit(arena, chunk, most < chunk->spareCount ? most : chunk->spareCount);
  }
}

void ArenaHugeFew(Arena arena)
{
  while (arena->hugeSpares > arenaHugeMOST) {
    Chunk chunk = arenaHugeOldest(arena);
    ArenaHugeDecommit(arena, chunk, chunk->spareCount);
  }
}

/* ---- Spare memory ---- */

/* arenaPurgePlain -- the same of plain chunks alone, from the emptiest end of the arena */
static void arenaPurgePlain(Arena arena, Size limit)
{
  Ring node, after;

  RING_FOR(node, &arena->chunks, after) {
    Chunk chunk = ArenaChunk(node);
    Count most = (arena->spare - limit) >> ArenaGrainSHIFT;
    Size size;
    if (arena->spare <= limit)
      break;
    size = ArenaBytes(ChunkPurge(chunk, most > 0 ? most : 1));
    arena->spare -= size;
    arena->committed -= size;
  }
}

void ArenaPurge(Arena arena, Size limit)
{
  ArenaPurgeHuge(arena, limit);
  arenaPurgePlain(arena, limit);
}

/* The coarse clock is in memory: it takes neither a system call nor the processor's counter, which the program may have
 * forbidden itself. */
Size ArenaPeak(Arena arena)
{
  Size used = ArenaUsed(arena);
  uint64_t since = ReadClock(CLOCK_MONOTONIC_COARSE) - arena->peakSince;

  if (since > arenaPeakNS) {
    arena->peakBefore = since > 2 * arenaPeakNS ? 0 : arena->peak;
    arena->peak = 0;
    arena->peakSince += since;
  }
  if (used > arena->peak)
    arena->peak = used;
  return arena->peak > arena->peakBefore ? arena->peak : arena->peakBefore;
}

/* Beyond the arena's limit it keeps what was in use lately, but no more of that than is in use now: what comes and goes
 * in a program at work does not come from the system each time, and of a program that has freed everything the limit is
 * what it keeps. */
Size ArenaSpareMost(Arena arena)
{
  Size used = ArenaUsed(arena), freed;

  if (arena->spareFixed || arena->spare <= arena->spareLimit)
    return arena->spareLimit;
  freed = ArenaPeak(arena) - used;
  return arena->spareLimit + (freed < used ? freed : used);
}

/* arenaBound -- no more bytes are ever spare */
static Size arenaBound(Arena arena) { return arena->spareLimit + (arena->spareFixed ? 0 : ArenaUsed(arena)); }

/* A quarter below the limit, lest each further free at the limit be a system call; but what was in use lately, and is
 * not to be kept any longer, goes in pieces, lest one call take long. */
void ArenaTrim(Arena arena, Bool huge)
{
  Size most = ArenaSpareMost(arena), left = most - most / 4, bound = arenaBound(arena);

  if (LIKELY(arena->spare <= most))
    return;
  if (arena->spare - left > arenaTrimMOST)
    left = arena->spare - arenaTrimMOST < bound ? arena->spare - arenaTrimMOST : bound;
  if (huge)
    arenaPurgePlain(arena, left);
  ArenaPurge(arena, left);
}

Bool ArenaMay(Arena arena, Size more)
{
  Size used = ArenaUsed(arena);

  if (LIKELY(more <= arena->commitLimit - arena->committed))
    return TRUE;
  if (used > arena->commitLimit || more > arena->commitLimit - used)
    return FALSE;
  ArenaPurge(arena, arena->commitLimit - used - more);
  return TRUE;
}
