/* arena.c -- reserving, committing, and keeping some spare
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .arena      Tests: test/mm/arenatest.c
 */
#include "mm/arena.h"

#include "base/aver.h"
#include "emit/event.h"
#include "mm/mmstate.h"
#include "mm/pages.h"
#include "mm/poolsettings.h"
#include "mm/seg.h"

LockStruct ArenaRegistryLock = LockINITIALIZER;
RingStruct ArenaRegistry = RingINITIALIZER(ArenaRegistry);

#define arenaHEADER      (ChunkHeaderGRAINS << ArenaGrainSHIFT) /* bytes of a plain chunk's header */
#define arenaHugeHEADER  ArenaGrainSIZE                         /* the same for a huge chunk */
#define arenaBytes(n)    ((Size)(n) << ArenaGrainSHIFT)
#define arenaChunk(node) RING_ELT(ChunkStruct, ring, node)

static Size arenaChunkSize(Chunk chunk) { return (Size)((Word)chunk->limit - (Word)chunk->base); }

/* arenaPurge -- decommit spare memory until no more than `limit` is left, from the emptiest end of the arena */
static void arenaPurge(Arena arena, Size limit)
{
  Ring node, after;

  RING_FOR(node, &arena->chunks, after) {
    Chunk chunk = arenaChunk(node);
    Count most = (arena->spare - limit) >> ArenaGrainSHIFT;
    Size size;
    if (arena->spare <= limit)
      break;
    size = arenaBytes(ChunkPurge(chunk, most > 0 ? most : 1));
    arena->spare -= size;
    arena->committed -= size;
  }
}

/* arenaMay -- may the arena commit `more` bytes?  If need be, spare ones go back to the system. */
static Bool arenaMay(Arena arena, Size more)
{
  Size used = arena->committed - arena->spare;

  if (LIKELY(more <= arena->commitLimit - arena->committed))
    return TRUE;
  if (used > arena->commitLimit || more > arena->commitLimit - used)
    return FALSE;
  arenaPurge(arena, arena->commitLimit - used - more);
  return TRUE;
}

/* arenaLength -- how many chunks are on a ring */
static Count arenaLength(Ring ring)
{
  Ring node;
  Count n = 0;

  for (node = ring->next; node != ring; node = node->next)
    ++n;
  return n;
}

/* arenaChunkRelease -- give back a plain chunk in which no grain is used */
static void arenaChunkRelease(Arena arena, Chunk chunk)
{
  Size spare;

  AVER(ChunkIsEmpty(chunk));
  spare = arenaBytes(ChunkPurge(chunk, chunk->spareCount));
  AVER(chunk->spareCount == 0);
  RingRemove(&chunk->ring);
  arena->spare -= spare;
  arena->committed -= spare + arenaHEADER;
  arena->reserved -= ChunkSIZE;
  ChunkDestroy(chunk);
}

static Res arenaChunkAdd(Chunk *chunkReturn, Arena arena)
{
  Chunk chunk;
  Res res = arenaMay(arena, arenaHEADER) ? ChunkCreate(&chunk, arena) : ResMEMORY;

  if (res != ResOK)
    return res;
  RingInsertAfter(&arena->chunks, &chunk->ring);
  arena->reserved += ChunkSIZE;
  arena->committed += arenaHEADER;
  *chunkReturn = chunk;
  return ResOK;
}

/* arenaSpareLimit -- the limit of spare memory, which the environment may give instead */
static Size arenaSpareLimit(Size limit)
{
  return (Size)PoolSettingOf("Arena", "spare", limit);
}

Res ArenaMake(Arena *arenaReturn, Size size)
{
  void *p;
  Arena arena;
  Chunk chunk;
  Res res = PagesMap(&p, sizeof(ArenaStruct));

  if (res != ResOK)
    return res;
  StateDumpHookAdd(MMState);
  arena = p;
  arena->sig = ArenaSIG;
  RingInit(&arena->arenasRing);
  RingInit(&arena->poolRing);
  RingInit(&arena->chunks);
  RingInit(&arena->hugeChunks);
  arena->spareLimit = arenaSpareLimit(ArenaSpareLimitDEFAULT);
  arena->commitLimit = SIZE_MAX;
  EVENT_PWW(ArenaCreate, arena, size > ChunkSIZE ? size : ChunkSIZE, ArenaGrainSIZE);
  do
    res = arenaChunkAdd(&chunk, arena);
  while (res == ResOK && arena->reserved < size);
  LockClaim(&ArenaRegistryLock);
  RingInsertBefore(&ArenaRegistry, &arena->arenasRing);
  LockRelease(&ArenaRegistryLock);
  if (res != ResOK) {
    ArenaDestroy(arena);
    return res;
  }
  EVENT_PW(ArenaSpare, arena, arena->spareLimit);
  AVER(ArenaCheck(arena));
  *arenaReturn = arena;
  return ResOK;
}

void ArenaDestroy(Arena arena)
{
  Ring node, after;

  AVER(ArenaCheck(arena));
  AVER(RingIsSingle(&arena->poolRing));
  AVER(RingIsSingle(&arena->hugeChunks));
  LockClaim(&ArenaRegistryLock);
  RingRemove(&arena->arenasRing);
  LockRelease(&ArenaRegistryLock);
  RING_FOR(node, &arena->chunks, after)
    arenaChunkRelease(arena, arenaChunk(node));
  AVER(arena->committed == 0);
  AVER(arena->reserved == 0);
  EVENT_P(ArenaDestroy, arena);
  arena->sig = 0;
  PagesRelease((Addr)arena, sizeof(ArenaStruct));
}

Res ArenaCommitLimitSet(Arena arena, Size limit)
{
  Res res = ResOK;

  AVER(arena->sig == ArenaSIG);
  LockClaim(&arena->lock);
  if (arena->committed - arena->spare > limit) {
    res = ResLIMIT;
  } else {
    if (arena->committed > limit)
      arenaPurge(arena, arena->spare - (arena->committed - limit));
    arena->commitLimit = limit;
    EVENT_PW(ArenaLimit, arena, limit);
  }
  LockRelease(&arena->lock);
  return res;
}

void ArenaSpareLimitSet(Arena arena, Size limit)
{
  AVER(arena->sig == ArenaSIG);
  limit = arenaSpareLimit(limit);
  LockClaim(&arena->lock);
  arena->spareLimit = limit;
  if (arena->spare > limit)
    arenaPurge(arena, limit);
  EVENT_PW(ArenaSpare, arena, limit);
  LockRelease(&arena->lock);
}

void ArenaStatsGet(ArenaStats stats, Arena arena)
{
  AVER(arena->sig == ArenaSIG);
  LockClaim(&arena->lock);
  stats->reserved = arena->reserved;
  stats->committed = arena->committed;
  stats->spare = arena->spare;
  stats->spareLimit = arena->spareLimit;
  stats->commitLimit = arena->commitLimit;
  stats->hugeChunks = arenaLength(&arena->hugeChunks);
  stats->chunks = arenaLength(&arena->chunks) + stats->hugeChunks;
  LockRelease(&arena->lock);
}

/* -- grains -- */

/* arenaTake -- take a run that is known to be free */
static Res arenaTake(Bool *zeroReturn, Arena arena, Chunk chunk, Index index, Count n)
{
  Count spare = ChunkSpare(chunk, index, n);
  Res res;

  if (UNLIKELY(arenaBytes(n) > arena->commitLimit - (arena->committed - arena->spare)))
    return ResMEMORY;
  /* What goes back to the system meanwhile may be spare grains of this very run. */
  while (UNLIKELY(arenaBytes(n - spare) > arena->commitLimit - arena->committed)) {
    (void)arenaMay(arena, arenaBytes(n - spare));
    spare = ChunkSpare(chunk, index, n);
  }
  res = ChunkTake(&spare, chunk, index, n);
  if (res != ResOK)
    return res;
  arena->spare -= arenaBytes(spare);
  arena->committed += arenaBytes(n - spare);
  if (chunk->freeCount == 0) {
    RingRemove(&chunk->ring);
    RingInsertBefore(&arena->chunks, &chunk->ring);
  }
  *zeroReturn = spare == 0;
  return ResOK;
}

static Res arenaHugeAlloc(Chunk *chunkReturn, Arena arena, Count n, Size align, Bool reserveOnly)
{
  Chunk chunk;
  Res res;

  if (n > (SIZE_MAX >> ArenaGrainSHIFT) - 1)
    return ResMEMORY;
  if (!reserveOnly && !arenaMay(arena, arenaBytes(n) + arenaHugeHEADER))
    return ResMEMORY;
  res = ChunkCreateHuge(&chunk, arena, arenaBytes(n), align, reserveOnly);
  if (res != ResOK)
    return res;
  RingInsertAfter(&arena->hugeChunks, &chunk->ring);
  arena->reserved += arenaChunkSize(chunk);
  arena->committed += arenaBytes(n) + arenaHugeHEADER;
  EVENT_PAW(ArenaCommit, arena, chunk->hugeBase, arenaBytes(n));
  *chunkReturn = chunk;
  return ResOK;
}

static void arenaHugeFree(Arena arena, Chunk chunk, Count n)
{
  RingRemove(&chunk->ring);
  arena->reserved -= arenaChunkSize(chunk);
  arena->committed -= arenaBytes(n) + arenaHugeHEADER;
  EVENT_PAW(ArenaDecommit, arena, chunk->hugeBase, arenaBytes(n));
  ChunkDestroy(chunk);
}

/* arenaFind -- find a free run in a plain chunk, which is added if need be */
static Res arenaFind(Chunk *chunkReturn, Index *indexReturn, Arena arena, Count n, Size align)
{
  Ring node, after;
  Res res;

  RING_FOR(node, &arena->chunks, after) {
    *chunkReturn = arenaChunk(node);
    if ((*chunkReturn)->freeCount == 0)
      break; /* the chunks behind it are full, too */
    if (ChunkFind(indexReturn, *chunkReturn, n, align))
      return ResOK;
  }
  res = arenaChunkAdd(chunkReturn, arena);
  if (res == ResOK && !ChunkFind(indexReturn, *chunkReturn, n, align))
    NOTREACHED; /* ArenaGrainsAlloc has seen to it that an empty chunk will do */
  return res;
}

Res ArenaGrainsAlloc(Chunk *chunkReturn, Index *indexReturn, Bool *zeroReturn, Arena arena, Count n, Size align,
                     Bool alone)
{
  Res res;

  AVER(n > 0);
  AVER(WordIsPowerOf2(align));
  if (alone || n > ChunkRunMAX || align > ChunkSIZE / 4) {
    *indexReturn = 0;
    *zeroReturn = TRUE;
    res = arenaHugeAlloc(chunkReturn, arena, n, align, FALSE);
  } else {
    res = arenaFind(chunkReturn, indexReturn, arena, n, align);
    if (res == ResOK)
      res = arenaTake(zeroReturn, arena, *chunkReturn, *indexReturn, n);
  }
  if (res != ResOK)
    EVENT_PW(ArenaFail, arena, arenaBytes(n));
  return res;
}

Res ArenaGrainsExtend(Arena arena, Chunk chunk, Index index, Count n, Count more)
{
  Bool zero;

  AVER(more > 0);
  AVER(!ChunkIsHuge(chunk));
  if (!ChunkIsFree(chunk, index + n, more))
    return ResFAIL;
  return arenaTake(&zero, arena, chunk, index + n, more);
}

void ArenaGrainsFree(Arena arena, Chunk chunk, Index index, Count n)
{
  Bool wasFull = chunk->freeCount == 0;

  AVER(n > 0);
  AVER(chunk->arena == arena);
  if (ChunkIsHuge(chunk)) {
    arenaHugeFree(arena, chunk, n);
    return;
  }
  ChunkGive(chunk, index, n);
  arena->spare += arenaBytes(n);
  if (wasFull) {
    RingRemove(&chunk->ring);
    RingInsertAfter(&arena->chunks, &chunk->ring);
  }
  if (ChunkIsEmpty(chunk) && arena->spare > arena->spareLimit && arena->chunks.next != arena->chunks.prev)
    arenaChunkRelease(arena, chunk);
  /* A quarter below the limit, lest each further free at the limit be a system call. */
  if (arena->spare > arena->spareLimit)
    arenaPurge(arena, arena->spareLimit - arena->spareLimit / 4);
}

/* arenaHugeShrink -- decommit the end of a huge chunk's segment */
static void arenaHugeShrink(Arena arena, Chunk chunk, Count old, Count n)
{
  Addr end = (Addr)((Word)chunk->hugeBase + arenaBytes(n));

  PagesDecommit(end, arenaBytes(old - n));
  arena->committed -= arenaBytes(old - n);
  EVENT_PAW(ArenaDecommit, arena, end, arenaBytes(old - n));
}

/* arenaHugeGrow -- commit more of a huge chunk's slots */
static Res arenaHugeGrow(Arena arena, Chunk chunk, Count old, Count n)
{
  Addr end = (Addr)((Word)chunk->hugeBase + arenaBytes(old));
  Res res = arenaMay(arena, arenaBytes(n - old)) ? PagesCommit(end, arenaBytes(n - old)) : ResMEMORY;

  if (res != ResOK)
    return res;
  arena->committed += arenaBytes(n - old);
  EVENT_PAW(ArenaCommit, arena, end, arenaBytes(n - old));
  return ResOK;
}

/* arenaHugeMove -- replace a huge chunk by a larger one */
static Res arenaHugeMove(Chunk *chunkIO, Arena arena, Count old, Count n)
{
  Chunk chunk = *chunkIO, moved;
  Size reserved = arenaChunkSize(chunk);
  Res res;

  if (n > SIZE_MAX >> ArenaGrainSHIFT || !arenaMay(arena, arenaBytes(n - old) + arenaHugeHEADER))
    return ResMEMORY;
  res = arenaHugeAlloc(&moved, arena, n, ArenaGrainSIZE, TRUE);
  if (res != ResOK)
    return res;
  RingRemove(&chunk->ring);
  res = ChunkMove(chunk, arenaBytes(old), moved, arenaBytes(n));
  if (res != ResOK) {
    RingInsertAfter(&arena->hugeChunks, &chunk->ring);
    arenaHugeFree(arena, moved, n);
    return res;
  }
  arena->reserved -= reserved;
  arena->committed -= arenaBytes(old) + arenaHugeHEADER;
  *chunkIO = moved;
  return ResOK;
}

Res ArenaHugeResize(Chunk *chunkIO, Arena arena, Count old, Count n)
{
  Chunk chunk = *chunkIO;

  AVER(ChunkIsHuge(chunk));
  AVER(chunk->arena == arena);
  AVER(old > 0 && n > 0);
  if (n <= old) {
    arenaHugeShrink(arena, chunk, old, n);
    return ResOK;
  }
  if (n <= ((Word)chunk->limit - (Word)chunk->hugeBase) >> ArenaGrainSHIFT)
    return arenaHugeGrow(arena, chunk, old, n);
  return arenaHugeMove(chunkIO, arena, old, n);
}

/* arenaCheckOrder -- are the plain chunks the arena's own, and those without free grains last? */
static Bool arenaCheckOrder(Arena arena)
{
  Bool full = FALSE;
  Ring node;

  for (node = arena->chunks.next; node != &arena->chunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    if (!ChunkCheck(chunk) || chunk->arena != arena || ChunkIsHuge(chunk) || (full && chunk->freeCount != 0))
      return FALSE;
    full = chunk->freeCount == 0;
  }
  return TRUE;
}

Bool ArenaCheck(Arena arena)
{
  Size committed = 0, spare = 0, reserved = 0;
  Ring node;

  if (arena->sig != ArenaSIG || !RingCheck(&arena->arenasRing) || !RingCheck(&arena->poolRing) ||
      !arenaCheckOrder(arena))
    return FALSE;
  for (node = arena->chunks.next; node != &arena->chunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    committed += arenaBytes(ChunkGRAINS - chunk->freeCount + chunk->spareCount);
    spare += arenaBytes(chunk->spareCount);
    reserved += arenaChunkSize(chunk);
  }
  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    if (!ChunkCheck(chunk) || chunk->arena != arena || !ChunkIsHuge(chunk))
      return FALSE;
    committed += SegSize(SegOfAddr(chunk->hugeBase)) + arenaHugeHEADER;
    reserved += arenaChunkSize(chunk);
  }
  return arena->reserved == reserved && arena->spare == spare && spare <= arena->spareLimit &&
         committed <= arena->commitLimit && arena->committed == committed && committed <= reserved;
}
