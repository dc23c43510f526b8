/* arena.c -- reserving and committing address space, and handing it out
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

#define arenaHEADER (ChunkHeaderGRAINS << ArenaGrainSHIFT) /* bytes of a plain chunk's header */

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
  spare = ArenaBytes(ChunkPurge(chunk, chunk->spareCount));
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
  Res res = ArenaMay(arena, arenaHEADER) ? ChunkCreate(&chunk, arena) : ResMEMORY;

  if (res != ResOK)
    return res;
  RingInsertAfter(&arena->chunks, &chunk->ring);
  arena->reserved += ChunkSIZE;
  arena->committed += arenaHEADER;
  *chunkReturn = chunk;
  return ResOK;
}

/* arenaSpareSet -- the limit of spare memory that the environment gives, or `limit` if it gives none */
static Size arenaSpareSet(Size limit) { return (Size)PoolSettingOf("Arena", "spare", limit); }

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
  arena->spareLimit = arenaSpareSet(ArenaSpareLimitDEFAULT);
  arena->spareFixed = arena->spareLimit == arenaSpareSet(0); /* the environment gave it */
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
  LockClaim(&ArenaRegistryLock);
  RingRemove(&arena->arenasRing);
  LockRelease(&ArenaRegistryLock);
  ArenaPurgeHuge(arena, 0);
  AVER(RingIsSingle(&arena->hugeChunks));
  RING_FOR(node, &arena->chunks, after)
    arenaChunkRelease(arena, ArenaChunk(node));
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
  if (ArenaUsed(arena) > limit) {
    res = ResLIMIT;
  } else {
    if (arena->committed > limit)
      ArenaPurge(arena, arena->spare - (arena->committed - limit));
    arena->commitLimit = limit;
    EVENT_PW(ArenaLimit, arena, limit);
  }
  LockRelease(&arena->lock);
  return res;
}

void ArenaSpareLimitSet(Arena arena, Size limit)
{
  AVER(arena->sig == ArenaSIG);
  limit = arenaSpareSet(limit);
  LockClaim(&arena->lock);
  arena->spareLimit = limit;
  arena->spareFixed = TRUE;
  ArenaPurge(arena, limit);
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

  if (UNLIKELY(ArenaBytes(n) > arena->commitLimit - ArenaUsed(arena)))
    return ResMEMORY;
  /* What goes back to the system meanwhile may be spare grains of this very run. */
  while (UNLIKELY(ArenaBytes(n - spare) > arena->commitLimit - arena->committed)) {
    (void)ArenaMay(arena, ArenaBytes(n - spare));
    spare = ChunkSpare(chunk, index, n);
  }
  res = ChunkTake(&spare, chunk, index, n);
  if (res != ResOK)
    return res;
  arena->spare -= ArenaBytes(spare);
  arena->committed += ArenaBytes(n - spare);
  if (chunk->freeCount == 0) {
    RingRemove(&chunk->ring);
    RingInsertBefore(&arena->chunks, &chunk->ring);
  }
  (void)ArenaPeak(arena);
  if (zeroReturn != NULL)
    *zeroReturn = spare == 0;
  return ResOK;
}

/* arenaHugeSet -- let the segment of a huge chunk have its first `n` grains
 *
 * What it had more is spare; but of a chunk of several slots it goes back at once, lest address space be kept that much
 * else could use. */
static Res arenaHugeSet(Arena arena, Chunk chunk, Count n)
{
  Count used = ArenaHugeUsed(chunk), spare = chunk->spareCount, has = used + spare;
  Addr end = (Addr)((Word)chunk->hugeBase + ArenaBytes(has));
  Size more = n > has ? ArenaBytes(n - has) : 0;
  Res res = ResOK;

  if (more > 0) {
    ArenaHugeSpare(arena, chunk, has, 0); /* lest it go back to the system meanwhile */
    res = ArenaMay(arena, more) ? PagesCommit(end, more) : ResMEMORY;
    if (res != ResOK) {
      ArenaHugeSpare(arena, chunk, used, spare);
      return res;
    }
    arena->committed += more;
    EVENT_PAW(ArenaCommit, arena, end, more);
    has = n;
  }
  ArenaHugeSpare(arena, chunk, n, has - n);
  (void)ArenaPeak(arena);
  if (has > n && ArenaChunkSize(chunk) > ChunkSIZE)
    ArenaHugeDecommit(arena, chunk, has - n);
  else
    ArenaHugeFew(arena);
  return ResOK;
}

/* arenaHugeKept -- the huge chunk without a segment that fits best, or NULL: what has least to be committed, and then
 * has least left over */
static Chunk arenaHugeKept(Arena arena, Count n, Size align)
{
  Chunk best = NULL;
  Ring node;

  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = ArenaChunk(node);
    Count has = chunk->spareCount;
    if (has == 0)
      break;
    if (n <= ChunkHugeRoom(chunk) && (Word)chunk->hugeBase % align == 0 && ArenaHugeUsed(chunk) == 0 &&
        (best == NULL || (has >= n ? best->spareCount < n || has < best->spareCount : has > best->spareCount)))
      best = chunk;
  }
  return best;
}

static Res arenaHugeAlloc(Chunk *chunkReturn, Arena arena, Count n, Size align, Bool reserveOnly)
{
  Chunk chunk;
  Res res;

  if (n > (SIZE_MAX >> ArenaGrainSHIFT) - 1)
    return ResMEMORY;
  if (!reserveOnly && !ArenaMay(arena, ArenaBytes(n) + ArenaHugeHEADER))
    return ResMEMORY;
  res = ChunkCreateHuge(&chunk, arena, ArenaBytes(n), align, reserveOnly);
  if (res != ResOK)
    return res;
  RingInsertBefore(&arena->hugeChunks, &chunk->ring);
  chunk->freeCount -= n;
  arena->reserved += ArenaChunkSize(chunk);
  arena->committed += ArenaBytes(n) + ArenaHugeHEADER;
  EVENT_PAW(ArenaCommit, arena, chunk->hugeBase, ArenaBytes(n));
  *chunkReturn = chunk;
  return ResOK;
}

/* arenaHugeTake -- a huge chunk for a segment of `n` grains: one that is kept, or a new one */
static Res arenaHugeTake(Chunk *chunkReturn, Bool *zeroReturn, Arena arena, Count n, Size align)
{
  Chunk kept = arenaHugeKept(arena, n, align);
  Res res;

  if (zeroReturn != NULL)
    *zeroReturn = TRUE;
  if (kept != NULL) {
    /* Who wants zeros may want few of them touched. */
    if (zeroReturn != NULL)
      PagesDecommit(kept->hugeBase, ArenaBytes(kept->spareCount));
    *chunkReturn = kept;
    return arenaHugeSet(arena, kept, n);
  }
  res = arenaHugeAlloc(chunkReturn, arena, n, align, FALSE);
  if (res == ResOK)
    (void)ArenaPeak(arena);
  return res;
}

/* arenaFind -- find a free run in a plain chunk, which is added if need be */
static Res arenaFind(Chunk *chunkReturn, Index *indexReturn, Arena arena, Count n, Size align)
{
  Ring node, after;
  Res res;

  RING_FOR(node, &arena->chunks, after) {
    *chunkReturn = ArenaChunk(node);
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

/* arenaGrains -- ArenaGrainsAlloc, with what the arena has or gets at once */
static Res arenaGrains(Chunk *chunkReturn, Index *indexReturn, Bool *zeroReturn, Arena arena, Count n, Size align,
                       Bool huge)
{
  Res res;

  if (huge) {
    *indexReturn = 0;
    return arenaHugeTake(chunkReturn, zeroReturn, arena, n, align);
  }
  res = arenaFind(chunkReturn, indexReturn, arena, n, align);
  return res == ResOK ? arenaTake(zeroReturn, arena, *chunkReturn, *indexReturn, n) : res;
}

Res ArenaGrainsAlloc(Chunk *chunkReturn, Index *indexReturn, Bool *zeroReturn, Arena arena, Count n, Size align,
                     Bool alone)
{
  Bool huge = alone || n > ChunkRunMAX || align > ChunkSIZE / 4;
  Res res;

  AVER(n > 0);
  AVER(WordIsPowerOf2(align));
  res = arenaGrains(chunkReturn, indexReturn, zeroReturn, arena, n, align, huge);
  if (res != ResOK && arena->hugeSpares > 0) { /* the address space that these keep may be what the system lacks */
    ArenaPurgeHuge(arena, 0);
    res = arenaGrains(chunkReturn, indexReturn, zeroReturn, arena, n, align, huge);
  }
  if (res == ResOK)
    ArenaTrim(arena, huge);
  else
    EVENT_PW(ArenaFail, arena, ArenaBytes(n));
  return res;
}

Res ArenaGrainsExtend(Arena arena, Chunk chunk, Index index, Count n, Count more)
{
  AVER(more > 0);
  AVER(!ChunkIsHuge(chunk));
  if (!ChunkIsFree(chunk, index + n, more))
    return ResFAIL;
  return arenaTake(NULL, arena, chunk, index + n, more);
}

void ArenaGrainsFree(Arena arena, Chunk chunk, Index index, Count n)
{
  Bool wasFull = chunk->freeCount == 0;

  AVER(n > 0);
  AVER(chunk->arena == arena);
  if (ChunkIsHuge(chunk)) {
    AVER(n == ArenaHugeUsed(chunk));
    (void)arenaHugeSet(arena, chunk, 0); /* which takes nothing */
    ArenaTrim(arena, TRUE);
    return;
  }
  ChunkGive(chunk, index, n);
  arena->spare += ArenaBytes(n);
  if (wasFull) {
    RingRemove(&chunk->ring);
    RingInsertAfter(&arena->chunks, &chunk->ring);
  }
  if (ChunkIsEmpty(chunk) && arena->spare > ArenaSpareMost(arena) && arena->chunks.next != arena->chunks.prev)
    arenaChunkRelease(arena, chunk);
  ArenaTrim(arena, FALSE);
}

/* arenaHugeMove -- replace a huge chunk by a larger one */
static Res arenaHugeMove(Chunk *chunkIO, Arena arena, Count n)
{
  Chunk chunk = *chunkIO, moved;
  Size reserved = ArenaChunkSize(chunk);
  Count old = ArenaHugeUsed(chunk);
  Res res;

  if (chunk->spareCount > 0)
    ArenaHugeDecommit(arena, chunk, chunk->spareCount);
  if (n > SIZE_MAX >> ArenaGrainSHIFT || !ArenaMay(arena, ArenaBytes(n - old) + ArenaHugeHEADER))
    return ResMEMORY;
  res = arenaHugeAlloc(&moved, arena, n, ArenaGrainSIZE, TRUE);
  if (res != ResOK)
    return res;
  RingRemove(&chunk->ring);
  res = ChunkMove(chunk, ArenaBytes(old), moved, ArenaBytes(n));
  if (res != ResOK) {
    RingInsertBefore(&arena->hugeChunks, &chunk->ring);
    ArenaHugeSpare(arena, moved, 0, n);
    ArenaHugeDecommit(arena, moved, n);
    return res;
  }
  arena->reserved -= reserved;
  arena->committed -= ArenaBytes(old) + ArenaHugeHEADER;
  (void)ArenaPeak(arena);
  *chunkIO = moved;
  return ResOK;
}

Res ArenaHugeResize(Chunk *chunkIO, Arena arena, Count n)
{
  Chunk chunk = *chunkIO;
  Res res;

  AVER(ChunkIsHuge(chunk));
  AVER(chunk->arena == arena);
  AVER(n > 0);
  if (n > ChunkHugeRoom(chunk)) {
    res = arenaHugeMove(chunkIO, arena, n);
    if (res != ResOK && arena->hugeSpares > 0) {
      ArenaPurgeHuge(arena, 0);
      res = arenaHugeMove(chunkIO, arena, n);
    }
    return res;
  }
  res = arenaHugeSet(arena, chunk, n);
  ArenaTrim(arena, TRUE);
  return res;
}

/* arenaCheckOrder -- are the plain chunks the arena's own, and those without free grains last? */
static Bool arenaCheckOrder(Arena arena)
{
  Bool full = FALSE;
  Ring node;

  for (node = arena->chunks.next; node != &arena->chunks; node = node->next) {
    Chunk chunk = ArenaChunk(node);
    if (!ChunkCheck(chunk) || chunk->arena != arena || ChunkIsHuge(chunk) || (full && chunk->freeCount != 0))
      return FALSE;
    full = chunk->freeCount == 0;
  }
  return TRUE;
}

/* arenaCheckHuge -- are the huge chunks the arena's own, with the grains of their segments, and those without spare
 * ones last? */
static Bool arenaCheckHuge(Arena arena)
{
  Bool none = FALSE;
  Ring node;

  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = ArenaChunk(node);
    Seg seg = SegOfAddr(chunk->hugeBase);
    if (!ChunkCheck(chunk) || chunk->arena != arena || !ChunkIsHuge(chunk) || (none && chunk->spareCount != 0) ||
        ArenaBytes(ArenaHugeUsed(chunk)) != (seg != NULL ? SegSize(seg) : 0))
      return FALSE;
    none = chunk->spareCount == 0;
  }
  return TRUE;
}

Bool ArenaCheck(Arena arena)
{
  Size committed = 0, spare = 0, reserved = 0;
  Count hugeSpares = 0;
  Ring node;

  if (arena->sig != ArenaSIG || !RingCheck(&arena->arenasRing) || !RingCheck(&arena->poolRing) ||
      !arenaCheckOrder(arena) || !arenaCheckHuge(arena))
    return FALSE;
  for (node = arena->chunks.next; node != &arena->chunks; node = node->next) {
    Chunk chunk = ArenaChunk(node);
    committed += ArenaBytes(ChunkGRAINS - chunk->freeCount + chunk->spareCount);
    spare += ArenaBytes(chunk->spareCount);
    reserved += ArenaChunkSize(chunk);
  }
  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = ArenaChunk(node);
    committed += ArenaBytes(ArenaHugeUsed(chunk) + chunk->spareCount) + ArenaHugeHEADER;
    spare += ArenaHugeSpares(chunk);
    hugeSpares += chunk->spareCount > 0;
    reserved += ArenaChunkSize(chunk);
  }
  return arena->hugeSpares == hugeSpares && arena->reserved == reserved && arena->spare == spare &&
         spare <= arena->spareLimit + (arena->spareFixed ? 0 : committed - spare) &&
         committed <= arena->commitLimit && arena->committed == committed && committed <= reserved;
}
