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
#define arenaPeakTICKS   ((uint64_t)3000000000) /* about a second */
#define arenaChunk(node) RING_ELT(ChunkStruct, ring, node)

static Size arenaChunkSize(Chunk chunk) { return (Size)((Word)chunk->limit - (Word)chunk->base); }

static Size arenaUsed(Arena arena) { return arena->committed - arena->spare; }

/* ---- Spare memory of huge chunks ----
 *
 * A huge chunk has first the grains of its segment, then `spareCount` spare ones; one without a segment is kept for the
 * next.  Chunks with spare grains come before those without, and the ones that had some last come first.
 */

/* arenaHugeUsed -- how many grains the segment of a huge chunk has; 0: there is none */
static Count arenaHugeUsed(Chunk chunk) { return ChunkHugeRoom(chunk) - chunk->freeCount; }

/* arenaHugeSpare -- so many grains of a huge chunk are spare from now on */
static void arenaHugeSpare(Arena arena, Chunk chunk, Count spare)
{
  arena->spare = arena->spare - arenaBytes(chunk->spareCount) + arenaBytes(spare);
  chunk->spareCount = spare;
  RingRemove(&chunk->ring);
  if (spare > 0)
    RingInsertAfter(&arena->hugeChunks, &chunk->ring);
  else
    RingInsertBefore(&arena->hugeChunks, &chunk->ring);
}

/* arenaHugeDecommit -- decommit the last `n` spare grains of a huge chunk, which goes with them if nothing is left */
static void arenaHugeDecommit(Arena arena, Chunk chunk, Count n)
{
  Count used = arenaHugeUsed(chunk), left = chunk->spareCount - n;
  Addr end = (Addr)((Word)chunk->hugeBase + arenaBytes(used + left));

  EVENT_PAW(ArenaDecommit, arena, end, arenaBytes(n));
  arena->committed -= arenaBytes(n);
  arenaHugeSpare(arena, chunk, left);
  if (used + left > 0) {
    PagesDecommit(end, arenaBytes(n));
  } else {
    RingRemove(&chunk->ring);
    arena->reserved -= arenaChunkSize(chunk);
    arena->committed -= arenaHugeHEADER;
    ChunkDestroy(chunk);
  }
}

/* arenaHugeOldest -- the huge chunk that has had its spare grains longest, or NULL */
static Chunk arenaHugeOldest(Arena arena)
{
  Chunk oldest = NULL;
  Ring node;

  for (node = arena->hugeChunks.next; node != &arena->hugeChunks && arenaChunk(node)->spareCount > 0; node = node->next)
    oldest = arenaChunk(node);
  return oldest;
}

/* arenaPurgeHuge -- decommit spare memory of huge chunks until no more than `limit` is left in the arena */
static void arenaPurgeHuge(Arena arena, Size limit)
{
  Chunk chunk;

  while (arena->spare > limit && (chunk = arenaHugeOldest(arena)) != NULL) {
    Count most = (arena->spare - limit + ArenaGrainSIZE - 1) >> ArenaGrainSHIFT;
    arenaHugeDecommit(arena, chunk, most < chunk->spareCount ? most : chunk->spareCount);
  }
}

/* ---- Spare memory ---- */

/* arenaPurgePlain -- the same with that of plain chunks, from the emptiest end of the arena */
static void arenaPurgePlain(Arena arena, Size limit)
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

/* arenaPurge -- decommit spare memory until no more than `limit` is left */
static void arenaPurge(Arena arena, Size limit)
{
  arenaPurgeHuge(arena, limit);
  arenaPurgePlain(arena, limit);
}

/* arenaPeak -- the most bytes that were in use within the last second or two */
static Size arenaPeak(Arena arena)
{
  Size used = arenaUsed(arena);
  uint64_t since = EventClock(EVENT_SLOW) - arena->peakSince;

  if (since > arenaPeakTICKS) {
    arena->peakBefore = since > 2 * arenaPeakTICKS ? 0 : arena->peak;
    arena->peak = 0;
    arena->peakSince += since;
  }
  if (used > arena->peak)
    arena->peak = used;
  return arena->peak > arena->peakBefore ? arena->peak : arena->peakBefore;
}

/* arenaSpareMost -- how many bytes may be spare now
 *
 * Beyond the arena's limit it keeps what was in use lately, but no more of that than is in use now: what comes and goes
 * in a program at work does not come from the system each time, and of a program that has freed everything the limit is
 * what it keeps. */
static Size arenaSpareMost(Arena arena)
{
  Size used = arenaUsed(arena), freed;

  if (arena->spareFixed || arena->spare <= arena->spareLimit)
    return arena->spareLimit;
  freed = arenaPeak(arena) - used;
  return arena->spareLimit + (freed < used ? freed : used);
}

/* arenaTrim -- memory has come back: what is too much goes to the system, that of the other sort of chunks first, which
 * has not been used as lately */
static void arenaTrim(Arena arena, Bool huge)
{
  Size most = arenaSpareMost(arena);

  if (LIKELY(arena->spare <= most))
    return;
  /* A quarter below the limit, lest each further free at the limit be a system call. */
  most -= most / 4;
  if (huge)
    arenaPurgePlain(arena, most);
  arenaPurge(arena, most);
}

/* arenaMay -- may the arena commit `more` bytes?  If need be, spare ones go back to the system. */
static Bool arenaMay(Arena arena, Size more)
{
  Size used = arenaUsed(arena);

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
  arenaPurgeHuge(arena, 0);
  AVER(RingIsSingle(&arena->hugeChunks));
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
  if (arenaUsed(arena) > limit) {
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
  limit = arenaSpareSet(limit);
  LockClaim(&arena->lock);
  arena->spareLimit = limit;
  arena->spareFixed = TRUE;
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

  if (UNLIKELY(arenaBytes(n) > arena->commitLimit - arenaUsed(arena)))
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
  (void)arenaPeak(arena);
  *zeroReturn = spare == 0;
  return ResOK;
}

/* arenaHugeSet -- let the segment of a huge chunk have its first `n` grains; what it had more is spare */
static Res arenaHugeSet(Arena arena, Chunk chunk, Count n)
{
  Count spare = chunk->spareCount, has = arenaHugeUsed(chunk) + spare;
  Addr end = (Addr)((Word)chunk->hugeBase + arenaBytes(has));
  Size more = n > has ? arenaBytes(n - has) : 0;
  Res res = ResOK;

  if (more > 0) {
    arenaHugeSpare(arena, chunk, 0); /* lest it go back to the system meanwhile */
    res = arenaMay(arena, more) ? PagesCommit(end, more) : ResMEMORY;
    if (res != ResOK) {
      arenaHugeSpare(arena, chunk, spare);
      return res;
    }
    arena->committed += more;
    EVENT_PAW(ArenaCommit, arena, end, more);
    has = n;
  }
  chunk->freeCount = ChunkHugeRoom(chunk) - n;
  arenaHugeSpare(arena, chunk, has - n);
  (void)arenaPeak(arena);
  return ResOK;
}

/* arenaHugeKept -- the huge chunk without a segment that fits best, or NULL: what has least to be committed, and then
 * has least left over */
static Chunk arenaHugeKept(Arena arena, Count n, Size align)
{
  Chunk best = NULL;
  Ring node;

  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    Count has = chunk->spareCount;
    if (has == 0)
      break;
    if (n <= ChunkHugeRoom(chunk) && (Word)chunk->hugeBase % align == 0 && arenaHugeUsed(chunk) == 0 &&
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
  if (!reserveOnly && !arenaMay(arena, arenaBytes(n) + arenaHugeHEADER))
    return ResMEMORY;
  res = ChunkCreateHuge(&chunk, arena, arenaBytes(n), align, reserveOnly);
  if (res != ResOK)
    return res;
  RingInsertBefore(&arena->hugeChunks, &chunk->ring);
  chunk->freeCount -= n;
  arena->reserved += arenaChunkSize(chunk);
  arena->committed += arenaBytes(n) + arenaHugeHEADER;
  EVENT_PAW(ArenaCommit, arena, chunk->hugeBase, arenaBytes(n));
  *chunkReturn = chunk;
  return ResOK;
}

/* arenaHugeTake -- a huge chunk for a segment of `n` grains: one that is kept, or a new one */
static Res arenaHugeTake(Chunk *chunkReturn, Bool *zeroReturn, Arena arena, Count n, Size align)
{
  Chunk kept = arenaHugeKept(arena, n, align);
  Res res;

  *zeroReturn = kept == NULL;
  if (kept != NULL) {
    *chunkReturn = kept;
    return arenaHugeSet(arena, kept, n);
  }
  res = arenaHugeAlloc(chunkReturn, arena, n, align, FALSE);
  if (res == ResOK)
    (void)arenaPeak(arena);
  return res;
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
  Bool huge;
  Res res;

  AVER(n > 0);
  AVER(WordIsPowerOf2(align));
  huge = alone || n > ChunkRunMAX || align > ChunkSIZE / 4;
  if (huge) {
    *indexReturn = 0;
    res = arenaHugeTake(chunkReturn, zeroReturn, arena, n, align);
  } else {
    res = arenaFind(chunkReturn, indexReturn, arena, n, align);
    if (res == ResOK)
      res = arenaTake(zeroReturn, arena, *chunkReturn, *indexReturn, n);
  }
  if (res == ResOK)
    arenaTrim(arena, huge);
  else
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
    AVER(n == arenaHugeUsed(chunk));
    (void)arenaHugeSet(arena, chunk, 0); /* which takes nothing */
    arenaTrim(arena, TRUE);
    return;
  }
  ChunkGive(chunk, index, n);
  arena->spare += arenaBytes(n);
  if (wasFull) {
    RingRemove(&chunk->ring);
    RingInsertAfter(&arena->chunks, &chunk->ring);
  }
  if (ChunkIsEmpty(chunk) && arena->spare > arenaSpareMost(arena) && arena->chunks.next != arena->chunks.prev)
    arenaChunkRelease(arena, chunk);
  arenaTrim(arena, FALSE);
}

/* arenaHugeMove -- replace a huge chunk by a larger one */
static Res arenaHugeMove(Chunk *chunkIO, Arena arena, Count n)
{
  Chunk chunk = *chunkIO, moved;
  Size reserved = arenaChunkSize(chunk);
  Count old = arenaHugeUsed(chunk);
  Res res;

  if (chunk->spareCount > 0)
    arenaHugeDecommit(arena, chunk, chunk->spareCount);
  if (n > SIZE_MAX >> ArenaGrainSHIFT || !arenaMay(arena, arenaBytes(n - old) + arenaHugeHEADER))
    return ResMEMORY;
  res = arenaHugeAlloc(&moved, arena, n, ArenaGrainSIZE, TRUE);
  if (res != ResOK)
    return res;
  RingRemove(&chunk->ring);
  res = ChunkMove(chunk, arenaBytes(old), moved, arenaBytes(n));
  if (res != ResOK) {
    RingInsertBefore(&arena->hugeChunks, &chunk->ring);
    (void)arenaHugeSet(arena, moved, 0);
    arenaHugeDecommit(arena, moved, n);
    return res;
  }
  arena->reserved -= reserved;
  arena->committed -= arenaBytes(old) + arenaHugeHEADER;
  (void)arenaPeak(arena);
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
  if (n > ChunkHugeRoom(chunk))
    return arenaHugeMove(chunkIO, arena, n);
  res = arenaHugeSet(arena, chunk, n);
  arenaTrim(arena, TRUE);
  return res;
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

/* arenaCheckHuge -- are the huge chunks the arena's own, with the grains of their segments, and those without spare
 * ones last? */
static Bool arenaCheckHuge(Arena arena)
{
  Bool none = FALSE;
  Ring node;

  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    Seg seg = SegOfAddr(chunk->hugeBase);
    if (!ChunkCheck(chunk) || chunk->arena != arena || !ChunkIsHuge(chunk) || (none && chunk->spareCount != 0) ||
        arenaBytes(arenaHugeUsed(chunk)) != (seg != NULL ? SegSize(seg) : 0))
      return FALSE;
    none = chunk->spareCount == 0;
  }
  return TRUE;
}

Bool ArenaCheck(Arena arena)
{
  Size committed = 0, spare = 0, reserved = 0;
  Ring node;

  if (arena->sig != ArenaSIG || !RingCheck(&arena->arenasRing) || !RingCheck(&arena->poolRing) ||
      !arenaCheckOrder(arena) || !arenaCheckHuge(arena))
    return FALSE;
  for (node = arena->chunks.next; node != &arena->chunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    committed += arenaBytes(ChunkGRAINS - chunk->freeCount + chunk->spareCount);
    spare += arenaBytes(chunk->spareCount);
    reserved += arenaChunkSize(chunk);
  }
  for (node = arena->hugeChunks.next; node != &arena->hugeChunks; node = node->next) {
    Chunk chunk = arenaChunk(node);
    committed += arenaBytes(arenaHugeUsed(chunk) + chunk->spareCount) + arenaHugeHEADER;
    spare += arenaBytes(chunk->spareCount);
    reserved += arenaChunkSize(chunk);
  }
  return arena->reserved == reserved && arena->spare == spare &&
         spare <= arena->spareLimit + (arena->spareFixed ? 0 : committed - spare) &&
         committed <= arena->commitLimit && arena->committed == committed && committed <= reserved;
}
