/* mmchecktest.c -- each check of the memory manager sees each thing that is wrong
 *
 * Each clause is broken in a live structure, and mended again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/arena.h"
#include "mm/freetree.h"
#include "mm/pool.h"
#include "mm/poolsgfcache.h"
#include "tap.h"

static Arena arena;

static Pool newPool(const char *class)
{
  Pool pool = NULL;

  if (PoolCreate(&pool, arena, class, NULL, 0) != ResOK)
    abort();
  return pool;
}

static Addr newObject(Pool pool, Size size)
{
  Addr addr = NULL;

  if (PoolAlloc(&addr, pool, size) != ResOK)
    abort();
  memset(addr, 1, size);
  return addr;
}

static void testChunk(void)
{
  Pool pool = newPool("SGF");
  Chunk chunk = ChunkOfAddr(newObject(pool, 100)), huge = ChunkOfAddr(newObject(pool, ChunkSIZE));
  RingStruct alone = RingINITIALIZER(alone);

  TapSees(chunk->sig, 0, ChunkCheck(chunk), "chunk: no chunk");
  TapSees(chunk->ring.next, &alone, ChunkCheck(chunk), "chunk: its ring is broken");
  TapSees(chunk->base, (Word)chunk + 1, ChunkCheck(chunk), "chunk: it is not where it begins");
  TapSees(ChunkSlots.at[(Word)chunk >> ChunkSHIFT], ChunkSlotNONE, ChunkCheck(chunk), "chunk: its slot is not its own");
  TapSees(chunk->used[0], chunk->used[0] & ~(Word)1, ChunkCheck(chunk), "chunk: its header's grain is free");
  TapSees(chunk->freeCount, chunk->freeCount + 1, ChunkCheck(chunk), "chunk: its free grains are counted wrong");
  TapSees(chunk->spareCount, chunk->spareCount + 1, ChunkCheck(chunk), "chunk: its spare grains are counted wrong");
  TapSees(chunk->accessible, ChunkGRAINS + 1, ChunkCheck(chunk), "chunk: more grains are accessible than it has");
  TapSees(chunk->accessible, ChunkHeaderGRAINS, ChunkCheck(chunk), "chunk: a grain was touched that is not accessible");
  TapSees(chunk->runBound, 1, ChunkCheck(chunk), "chunk: a free run is longer than is believed");
  TapSees(huge->hugeBase, huge->base, ChunkCheck(huge), "huge chunk: its segment begins with its header");
  TapSees(huge->hugeBase, huge->limit, ChunkCheck(huge), "huge chunk: its segment begins behind its end");
  TapSees(huge->freeCount, ChunkHugeRoom(huge) + 1, ChunkCheck(huge), "huge chunk: more is free than there is room");
  TapSees(huge->spareCount, huge->freeCount + 1, ChunkCheck(huge), "huge chunk: more is spare than free");
  TapSees(ChunkSlots.at[(Word)huge >> ChunkSHIFT], ChunkSlotPLAIN, ChunkCheck(huge), "huge chunk: its slot is a plain one's");
  PoolDestroy(pool);
}

static void testArena(void)
{
  Pool pool = newPool("SGF");
  Chunk chunk = ChunkOfAddr(newObject(pool, 100)), huge = ChunkOfAddr(newObject(pool, ChunkSIZE));
  RingStruct alone = RingINITIALIZER(alone);

  TapSees(arena->sig, 0, ArenaCheck(arena), "arena: no arena");
  TapSees(arena->arenasRing.next, &alone, ArenaCheck(arena), "arena: the ring of arenas is broken");
  TapSees(arena->poolRing.next, &alone, ArenaCheck(arena), "arena: its ring of pools is broken");
  TapSees(chunk->arena, NULL, ArenaCheck(arena), "arena: another one has its chunk");
  TapSees(huge->arena, NULL, ArenaCheck(arena), "arena: another one has its huge chunk");
  TapSees(huge->freeCount, huge->freeCount - 1, ArenaCheck(arena), "arena: a huge chunk has not what its segment has");
  TapSees(chunk->runBound, 1, ArenaCheck(arena), "arena: one of its chunks is wrong");
  TapSees(arena->reserved, arena->reserved - 1, ArenaCheck(arena), "arena: what it has reserved does not add up");
  TapSees(arena->committed, arena->committed - 1, ArenaCheck(arena), "arena: what is committed does not add up");
  TapSees(arena->spare, arena->spare + 1, ArenaCheck(arena), "arena: what is spare does not add up");
  PoolDestroy(pool);
  TapOk(ArenaCheck(arena) && arena->spare > 0, "arena: with memory spare");
  ArenaSpareLimitSet(arena, ArenaSpareLimitDEFAULT);
  TapSees(arena->spareLimit, 0, ArenaCheck(arena), "arena: it keeps more spare than it may");
}

static void testSeg(void)
{
  Pool pool = newPool("SGF");
  Seg seg = SegOfAddr(newObject(pool, 3 * ArenaGrainSIZE)), second = (Seg)(void *)((char *)seg + ChunkSegSTRIDE);
  Chunk chunk = ChunkOfAddr(seg);
  Index i = ((Word)SegBase(seg) - (Word)chunk) >> ArenaGrainSHIFT;
  RingStruct alone = RingINITIALIZER(alone);

  TapSees(seg->grains, 0, SegCheck(seg), "segment: it has no grains");
  TapSees(seg->grains, 4, SegCheck(seg), "segment: its last grain is not its own");
  TapSees(chunk->back[i], 1, SegCheck(seg), "segment: it is not its own head");
  TapSees(seg->pool, NULL, SegCheck(seg), "segment: it has no pool");
  TapSees(seg->poolRing.next, &alone, SegCheck(seg), "segment: the ring of its pool is broken");
  TapSees(seg->base, (Word)seg->base + 16, SegCheck(seg), "segment: it begins inside of a grain");
  TapSees(chunk->back[i + 1], 0, SegCheck(seg), "segment: its second grain does not lead to it");
  TapSees(second->pool, pool, SegCheck(seg), "segment: its second grain has a pool of its own");
  TapSees(second->grains, 1, SegCheck(seg), "segment: its second grain begins another one");
  TapSees(((Word *)(void *)(second + 1))[3], 1, SegCheck(seg), "segment: the pool has something in its second grain");
  PoolDestroy(pool);
}

static void testPool(void)
{
  Pool pool = newPool("SGF");
  Seg seg = SegOfAddr(newObject(pool, 100));
  RingStruct alone = RingINITIALIZER(alone);

  TapSees(pool->sig, 0, PoolCheck(pool), "pool: no pool");
  TapSees(arena->sig, 0, PoolCheck(pool), "pool: its arena is none");
  TapSees(pool->arenaRing, ((RingStruct){&pool->arenaRing, &pool->arenaRing}), PoolCheck(pool),
       "pool: its arena does not know it");
  TapSees(pool->arenaRing.next, &alone, PoolCheck(pool), "pool: the ring of its arena is broken");
  TapSees(pool->segSize, 1, PoolCheck(pool), "pool: its segments do not add up");
  TapSees(seg->pool, NULL, PoolCheck(pool), "pool: it does not own its segment");
  TapSees(seg->grains, 0, PoolCheck(pool), "pool: its segment is wrong");
  PoolDestroy(pool);
}

static void testMFS(void)
{
  Pool pool = newPool("MFS");
  Addr first = newObject(pool, 16), second = newObject(pool, 16);
  Addr *link = (Addr *)(void *)first;

  PoolFree(pool, second, 16);
  PoolFree(pool, first, 16);
  TapSees(*link, &arena, PoolCheck(pool), "MFS: a unit is free that is nowhere in the pool");
  TapSees(*link, (Word)second + 8, PoolCheck(pool), "MFS: what is free is no unit");
  TapSees(*link, first, PoolCheck(pool), "MFS: the list of free units does not end");
  PoolDestroy(pool);
}

static void testMVFF(void)
{
  Pool pool = newPool("MVFF");
  Addr object[7];
  FreeNode block, last;
  Word *marks;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(object); ++i)
    object[i] = newObject(pool, 64);
  PoolFree(pool, object[1], 64);
  PoolFree(pool, object[3], 64);
  PoolFree(pool, object[5], 64);
  block = (FreeNode)(void *)object[1];
  last = (FreeNode)(void *)((Word)object[6] + 64);
  marks = (Word *)(void *)((Word)last + last->size);
  TapSees(block->size, 32, PoolCheck(pool), "MVFF: what is behind a free block is nobody's");
  TapSees(block->size, 96, PoolCheck(pool), "MVFF: a free block reaches into an object");
  TapSees(block->size, 72, PoolCheck(pool), "MVFF: a free block is no multiple of the unit");
  TapSees(block->size, 0, PoolCheck(pool), "MVFF: a free block has no bytes");
  TapSees(block->most, block->most + 32, PoolCheck(pool), "MVFF: a subtree has a larger block than it has");
  TapSees(last->size, last->size + 32, PoolCheck(pool), "MVFF: a free block reaches into the marks");
  TapSees(*marks, *marks ^ 1, PoolCheck(pool), "MVFF: an object has no mark");
  TapSees(*marks, *marks ^ 4, PoolCheck(pool), "MVFF: a free block has one");
  PoolDestroy(pool);
}

static void testSGF(void)
{
  Pool pool = newPool("SGF");
  Addr first = newObject(pool, 100), second = newObject(pool, 100), other = newObject(pool, 2000);
  Slab slab = (Slab)SegOfAddr(first);
  SGFCache cache = slab->owner;
  SGF sgf = PoolSGF(pool);
  Word *link = (Word *)(void *)first;

  PoolFree(pool, first, 100);
  PoolFree(pool, other, 2000);
  TapSees(slab->used, slab->used + 1, PoolCheck(pool), "slab: its used blocks are counted wrong");
  TapSees(slab->limit, slab->limit * 20, PoolCheck(pool), "slab: it has more blocks than have room");
  TapSees(slab->inverse, 0, PoolCheck(pool), "slab: it has one grain, and a free would not know");
  TapSees(slab->capacity, slab->capacity * 2, PoolCheck(pool), "slab: its blocks are more than its segment");
  TapSees(slab->blockSize, 16, PoolCheck(pool), "slab: its blocks are not of its class");
  TapSees(slab->class, slab->class + 1, PoolCheck(pool), "slab: it is on another class's list");
  TapSees(slab->owner, &SGFCacheNone, PoolCheck(pool), "slab: it is on a list of who does not own it");
  TapSees(slab->ring.next, &slab->ring, PoolCheck(pool), "slab: its list is broken");
  TapSees(*link, SlabLink(first, (Word)second + 8), PoolCheck(pool), "slab: what is free is no block");
  TapSees(*link, SlabLink(first, (Word)&arena), PoolCheck(pool), "slab: what is free is nowhere in it");
  TapSees(*link, SlabLink(first, (Word)first), PoolCheck(pool), "slab: its list of free blocks does not end");
  TapSees(*link, *link ^ 1 << 20, PoolCheck(pool), "slab: a free block was written to");
  TapSees(cache->direct[7], &SlabNone, PoolCheck(pool), "cache: a size does not lead to its slab");
  TapSees(cache->emptyCount, cache->emptyCount + 1, PoolCheck(pool), "cache: its empty slabs are counted wrong");
  TapSees(cache->orphan, TRUE, PoolCheck(pool), "cache: it is an orphan, and not among them");
  TapSees(cache->sgf, &SGFDead, PoolCheck(pool), "cache: it is another pool's");
  TapSees(sgf->orphanCount, 1, PoolCheck(pool), "SGF: its orphans are counted wrong");
  PoolDestroy(pool);
}

int main(void)
{
  if (ArenaCreate(&arena, 1) != ResOK)
    abort();
  testChunk();
  testArena();
  testSeg();
  testPool();
  testMFS();
  testMVFF();
  testSGF();
  ArenaDestroy(arena);
  return TapDone();
}
