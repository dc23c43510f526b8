/* seg.c -- segments, and the table of their descriptors
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .seg      Tests: test/mm/arenatest.c
 */
#include "mm/seg.h"

#include <string.h>

#include "base/aver.h"
#include "emit/event.h"
#include "mm/pool.h"

#define segEntryAt(chunk, i) ((Seg)(void *)((char *)(chunk) + ChunkSegOFFSET + (i)*ChunkSegSTRIDE))
#define segPrivate(seg)      ((void *)((seg) + 1))
#define segPrivateSIZE       (ChunkSegSTRIDE - sizeof(SegStruct))
#define segGrains(size)      (((size) >> ArenaGrainSHIFT) + (((size) & (ArenaGrainSIZE - 1)) != 0))
#define segHugeMIN           8u /* grains for which a chunk of one's own is not too much, once one has it */
#define segChunk(seg)        ((Chunk)WordAlignDown(seg, ChunkSIZE))

/* segIndex -- which grain a segment begins with; entry 0 stands for all of a huge chunk */
#define segIndex(chunk, seg) ((Index)(((Word)(seg) - (Word)(chunk)-ChunkSegOFFSET) / ChunkSegSTRIDE))

/* segBack -- the entry of the table that leads from a grain of a chunk to its segment's first one */
#define segBack(chunk, i) (&(chunk)->back[i])

Seg SegOfAddr(const void *addr)
{
  Seg seg;

  if (LIKELY(ChunkSlot(addr) == ChunkSlotPLAIN)) {
    Chunk chunk = (Chunk)WordAlignDown(addr, ChunkSIZE);
    Index i = ((Word)addr - (Word)chunk) >> ArenaGrainSHIFT;
    seg = segEntryAt(chunk, i - __atomic_load_n(segBack(chunk, i), __ATOMIC_RELAXED));
  } else {
    Chunk chunk = ChunkOfAddr(addr);
    if (chunk == NULL)
      return NULL;
    seg = segEntryAt(chunk, 0);
    if ((const char *)addr < (char *)SegBase(seg) || (const char *)addr >= (char *)SegLimit(seg))
      return NULL;
  }
  return __atomic_load_n(&seg->pool, __ATOMIC_RELAXED) != NULL ? seg : NULL;
}

/* segInit -- the entry that heads a segment; its ring and private part are as they are */
static void segInit(Seg seg, Pool pool, Addr base, Count n)
{
  seg->base = base;
  seg->grains = n;
  __atomic_store_n(&seg->pool, pool, __ATOMIC_RELAXED);
}

/* segSpread -- let the grains [from, to) lead to the segment that begins with grain `first` */
static void segSpread(Chunk chunk, Index first, Index from, Index to)
{
  Index i;

  for (i = from; i < to; ++i)
    __atomic_store_n(segBack(chunk, i), (uint16_t)(i - first), __ATOMIC_RELAXED);
}

/* segForget -- the grains [from, to) lead nowhere but to their own entries, which head no segment */
static void segForget(Chunk chunk, Index from, Index to)
{
  Index i;

  for (i = from; i < to; ++i)
    __atomic_store_n(segBack(chunk, i), 0, __ATOMIC_RELAXED);
}

static Res segAlloc(Seg *segReturn, Bool *zeroReturn, Pool pool, Size size, Size align, Bool alone)
{
  Arena arena = PoolArena(pool);
  Count n = segGrains(size);
  Chunk chunk;
  Index i;
  Seg seg;
  Res res;

  AVER(size > 0);
  AVER(WordIsPowerOf2(align));
  LockClaim(&arena->lock);
  res = ArenaGrainsAlloc(&chunk, &i, zeroReturn, arena, n, align, alone);
  if (res == ResOK) {
    seg = segEntryAt(chunk, i);
    AVER(seg->pool == NULL && *segBack(chunk, i) == 0);
    RingInit(&seg->poolRing);
    segInit(seg, pool, ChunkIsHuge(chunk) ? chunk->hugeBase : ChunkGrainAddr(chunk, i), n);
    if (!ChunkIsHuge(chunk))
      segSpread(chunk, i, i + 1, i + n);
    RingInsertBefore(&pool->segRing, &seg->poolRing);
    pool->segSize += SegSize(seg);
    EVENT_PPAW(SegAlloc, seg, pool, SegBase(seg), SegSize(seg));
  }
  LockRelease(&arena->lock);
  if (res != ResOK)
    return res;
  *segReturn = seg;
  return ResOK;
}

Res SegAlloc(Seg *segReturn, Bool *zeroReturn, Pool pool, Size size, Size align)
{
  return segAlloc(segReturn, zeroReturn, pool, size, align, FALSE);
}

Res SegAllocToGrow(Seg *segReturn, Pool pool, Size size)
{
  return segAlloc(segReturn, NULL, pool, size, 1, TRUE);
}

void SegFree(Seg seg)
{
  Pool pool = seg->pool;
  Arena arena = PoolArena(pool);
  Chunk chunk = segChunk(seg);
  Index i = segIndex(chunk, seg);
  Count n = seg->grains;

  AVER(n > 0);
  AVER(*segBack(chunk, i) == 0 && pool != NULL);
  LockClaim(&arena->lock);
  EVENT_PPAW(SegFree, seg, pool, SegBase(seg), SegSize(seg));
  pool->segSize -= SegSize(seg);
  RingRemove(&seg->poolRing);
  seg->grains = 0;
  memset(segPrivate(seg), 0, segPrivateSIZE);
  __atomic_store_n(&seg->pool, NULL, __ATOMIC_RELAXED);
  if (!ChunkIsHuge(chunk))
    segForget(chunk, i + 1, i + n);
  ArenaGrainsFree(arena, chunk, i, n);
  LockRelease(&arena->lock);
}

/* segResizeHuge -- the descriptor moves with its segment */
static Res segResizeHuge(Seg *segIO, Arena arena, Count n)
{
  _Alignas(SegStruct) char saved[ChunkSegSTRIDE];
  Seg seg = *segIO;
  Chunk chunk = segChunk(seg);
  Pool pool = seg->pool;
  Res res;

  AVER(ChunkIsHuge(chunk));
  RingRemove(&seg->poolRing);
  memcpy(saved, seg, sizeof saved);
  res = ArenaHugeResize(&chunk, arena, n);
  if (res == ResOK) {
    seg = segEntryAt(chunk, 0);
    memcpy(seg, saved, sizeof saved);
    RingInit(&seg->poolRing);
    segInit(seg, pool, chunk->hugeBase, n);
    *segIO = seg;
  }
  RingInsertBefore(&pool->segRing, &seg->poolRing);
  return res;
}

static Res segResizePlain(Seg seg, Arena arena, Count n)
{
  Chunk chunk = segChunk(seg);
  Index i = segIndex(chunk, seg);
  Count old = seg->grains;

  if (n > ChunkRunMAX)
    return ResFAIL;
  if (n > old) {
    Res res = ArenaGrainsExtend(arena, chunk, i, old, n - old);
    if (res != ResOK)
      return res;
    segSpread(chunk, i, i + old, i + n);
  } else if (n < old) {
    segForget(chunk, i + n, i + old);
    ArenaGrainsFree(arena, chunk, i + n, old - n);
  }
  seg->grains = n;
  return ResOK;
}

Res SegResize(Seg *segIO, Size size)
{
  Seg seg = *segIO;
  Pool pool = seg->pool;
  Arena arena = PoolArena(pool);
  Addr oldBase = SegBase(seg);
  Size oldSize = SegSize(seg);
  Count n = segGrains(size);
  Bool huge = ChunkIsHuge(segChunk(seg));
  Res res;

  AVER(size > 0);
  AVER(seg->grains > 0 && pool != NULL);
  if (n == seg->grains)
    return ResOK;
  if (huge && n < segHugeMIN)
    return ResFAIL; /* it should move to a plain chunk */
  LockClaim(&arena->lock);
  if (n < seg->grains) /* shrinking does not fail; the event comes before the memory is given up */
    EVENT_PPAW(SegFree, seg, pool, oldBase, oldSize);
  res = huge ? segResizeHuge(segIO, arena, n) : segResizePlain(seg, arena, n);
  if (res == ResOK) {
    pool->segSize = pool->segSize - oldSize + SegSize(*segIO);
    if (SegSize(*segIO) > oldSize)
      EVENT_PPAW(SegFree, seg, pool, oldBase, oldSize);
    EVENT_PPAW(SegAlloc, *segIO, pool, SegBase(*segIO), SegSize(*segIO));
  }
  LockRelease(&arena->lock);
  return res;
}

/* segCheckGrain -- the `k`th grain of a segment, which is not its first */
static Bool segCheckGrain(Chunk chunk, Index first, Index k)
{
  Seg entry = segEntryAt(chunk, first + k);
  const Word *private = segPrivate(entry);
  Index i;

  for (i = 0; i < segPrivateSIZE / sizeof *private; ++i)
    if (private[i] != 0)
      return FALSE;
  return *segBack(chunk, first + k) == k && entry->pool == NULL && entry->grains == 0;
}

Bool SegCheck(Seg seg)
{
  Chunk chunk = segChunk(seg);
  Index i = segIndex(chunk, seg), k;

  if (seg->grains == 0 || *segBack(chunk, i) != 0 || seg->pool == NULL || !RingCheck(&seg->poolRing) ||
      WordAlignDown(seg->base, ArenaGrainSIZE) != (Word)seg->base || SegOfAddr(seg->base) != seg ||
      SegOfAddr((const char *)SegLimit(seg) - 1) != seg)
    return FALSE;
  for (k = 1; !ChunkIsHuge(chunk) && k < seg->grains; ++k)
    if (!segCheckGrain(chunk, i, k))
      return FALSE;
  return TRUE;
}
