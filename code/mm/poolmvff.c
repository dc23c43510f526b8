/* poolmvff.c -- MVFF: first fit, with coalescing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Always true (mvffCheck), under the pool's lock:
 *   the blocks of the tree are in the pool's segments, before the marks at their ends, none in two; no two in a
 *   segment touch
 *   of the units before a segment's marks those are marked with which an object begins
 *   emptySize is the size of those segments that are one free block; emptySize <= spare
 *
 * Design: design/mm.md .mvff      Tests: test/mm/pooltest.c
 */
#include "mm/pool.h"

#include <string.h>

#include "base/aver.h"
#include "emit/event.h"
#include "mm/freetree.h"
#include "mm/pooldebug.h"

typedef struct MVFFStruct {
  PoolStruct poolStruct;
  Size extendBy;  /* bytes */
  Size align;     /* bytes, at least FreeTreeUNIT */
  Size spare;     /* bytes */
  FreeTree tree;
  Size emptySize; /* bytes */
} MVFFStruct, *MVFF;

#define PoolMVFF(pool) RING_ELT(MVFFStruct, poolStruct, pool)

enum { mvffEXTENDBY, mvffALIGN, mvffSPARE };
static const PoolParamStruct mvffParams[] = {
  [mvffEXTENDBY] = { "extendBy", ArenaGrainSIZE },
  [mvffALIGN] = { "align", 16 },
  [mvffSPARE] = { "spare", ArenaGrainSIZE },
};

#define mvffSizeMAX (SIZE_MAX / 4) /* so that sums of a size and an alignment do not overflow */

/* Marks: at the end of a segment is a bit for each of its units, set where an object begins.  Nothing else knows
 * that. */

#define mvffMarksSIZE(size) ((size) / (FreeTreeUNIT * 8)) /* bytes, of a segment of `size` */
#define mvffWhole(size)     ((size) + (size) / (FreeTreeUNIT * 8 - 1) + 1) /* of a segment that has room for `size` */

_Static_assert(mvffMarksSIZE(ArenaGrainSIZE) % FreeTreeUNIT == 0, "marks end where a unit does");

/* mvffRoom, mvffLimit -- how many bytes of a segment are for objects, and where they end */
static Size mvffRoom(Seg seg) { return SegSize(seg) - mvffMarksSIZE(SegSize(seg)); }
static Addr mvffLimit(Seg seg) { return (Addr)((Word)SegBase(seg) + mvffRoom(seg)); }

/* mvffMark -- an object begins at `addr` from now on, or no longer */
static void mvffMark(Seg seg, Addr addr)
{
  Index unit = ((Word)addr - (Word)SegBase(seg)) / FreeTreeUNIT;

  ((Word *)(void *)mvffLimit(seg))[unit / WORD_WIDTH] ^= (Word)1 << unit % WORD_WIDTH;
}

/* mvffMarked -- the first marked unit of a segment from `unit` on; `limit` if there is none before */
static Index mvffMarked(Seg seg, Index unit, Index limit)
{
  const Word *marks = (const Word *)(const void *)mvffLimit(seg);

  while (unit < limit) {
    Word word = marks[unit / WORD_WIDTH] >> unit % WORD_WIDTH;
    if (word != 0) {
      unit += (Index)__builtin_ctzll(word);
      return unit < limit ? unit : limit;
    }
    unit = (unit / WORD_WIDTH + 1) * WORD_WIDTH;
  }
  return limit;
}

static Res mvffInit(Pool pool, Word value[])
{
  MVFF mvff = PoolMVFF(pool);

  if (!WordIsPowerOf2(value[mvffALIGN]) || value[mvffALIGN] > ArenaGrainSIZE || value[mvffEXTENDBY] > mvffSizeMAX)
    return ResPARAM;
  mvff->align = value[mvffALIGN] > FreeTreeUNIT ? value[mvffALIGN] : FreeTreeUNIT;
  mvff->extendBy = value[mvffEXTENDBY];
  mvff->spare = value[mvffSPARE];
  return ResOK;
}

/* mvffInsert -- [base, base + size) of a segment is free: join it with what it touches; give it back if it is empty */
static void mvffInsert(MVFF mvff, Seg seg, Addr base, Size size)
{
  Addr limit = (Addr)((Word)base + size);
  Size below = base != SegBase(seg) ? FreeTreeBelow(mvff->tree, base) : 0;
  Size above = limit != mvffLimit(seg) ? FreeTreeAt(mvff->tree, limit) : 0;

  AVER_CRITICAL(seg->pool == &mvff->poolStruct && limit <= mvffLimit(seg));
  if (below > 0)
    (void)FreeTreeRemove(&mvff->tree, (Addr)((Word)base - below));
  if (above > 0)
    (void)FreeTreeRemove(&mvff->tree, limit);
  base = (Addr)((Word)base - below);
  size += below + above;
  if (size == mvffRoom(seg)) {
    if (mvff->emptySize + SegSize(seg) > mvff->spare) {
      SegFree(seg);
      return;
    }
    mvff->emptySize += SegSize(seg);
  }
  FreeTreeInsert(&mvff->tree, base, size);
}

/* mvffTake -- the first `size` bytes that are free, and their segment; or NULL */
static Addr mvffTake(Seg *segReturn, MVFF mvff, Size size)
{
  Size block;
  Addr base = FreeTreeTake(&block, &mvff->tree, size);
  Seg seg;

  if (base == NULL)
    return NULL;
  seg = SegOfAddr(base);
  if (block == mvffRoom(seg))
    mvff->emptySize -= SegSize(seg);
  *segReturn = seg;
  return base;
}

static Res mvffExtend(MVFF mvff, Size size)
{
  Size whole = mvffWhole(size);
  Bool zero;
  Seg seg;
  Res res = SegAlloc(&seg, &zero, &mvff->poolStruct, whole > mvff->extendBy ? whole : mvff->extendBy, 1);

  if (res != ResOK && whole < mvff->extendBy)
    res = SegAlloc(&seg, &zero, &mvff->poolStruct, whole, 1);
  if (res != ResOK)
    return res;
  if (!zero)
    memset((void *)mvffLimit(seg), 0, mvffMarksSIZE(SegSize(seg)));
  FreeTreeInsert(&mvff->tree, SegBase(seg), mvffRoom(seg));
  mvff->emptySize += SegSize(seg); /* until mvffTake, which follows */
  return ResOK;
}

/* mvffTakeAligned -- an object: take more than is needed, and give back what is before and behind the aligned place */
static Addr mvffTakeAligned(MVFF mvff, Size size, Size align)
{
  Size whole = size + align - FreeTreeUNIT;
  Seg seg;
  Addr block = mvffTake(&seg, mvff, whole), addr;

  if (block == NULL)
    return NULL;
  AVER_CRITICAL(seg->pool == &mvff->poolStruct);
  addr = (Addr)WordAlignUp(block, align);
  mvffMark(seg, addr);
  if (addr != block)
    mvffInsert(mvff, seg, block, (Word)addr - (Word)block);
  if ((Word)addr + size != (Word)block + whole)
    mvffInsert(mvff, seg, (Addr)((Word)addr + size), (Word)block + whole - (Word)addr - size);
  return addr;
}

static Res mvffAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero)
{
  MVFF mvff = PoolMVFF(pool);
  Res res = ResOK;
  Addr addr;

  if (align < mvff->align)
    align = mvff->align;
  if (size > mvffSizeMAX || align > mvffSizeMAX)
    return ResMEMORY;
  size = WordAlignUp(size, FreeTreeUNIT);
  LockClaim(&pool->lock);
  addr = mvffTakeAligned(mvff, size, align);
  if (addr == NULL) {
    res = mvffExtend(mvff, size + align - FreeTreeUNIT);
    if (res == ResOK)
      addr = mvffTakeAligned(mvff, size, align);
  }
  LockRelease(&pool->lock);
  if (res != ResOK)
    return res;
  AVER_CRITICAL(addr != NULL);
  if (zero)
    memset(addr, 0, size);
  *addrReturn = addr;
  return ResOK;
}

static void mvffFree(Pool pool, Addr addr, Size size)
{
  Seg seg;

  LockClaim(&pool->lock);
  seg = SegOfAddr(addr);
  mvffMark(seg, addr);
  mvffInsert(PoolMVFF(pool), seg, addr, WordAlignUp(size, FreeTreeUNIT));
  LockRelease(&pool->lock);
}

/* mvffGrow -- take `more` bytes behind an object, if they are free */
static Bool mvffGrow(MVFF mvff, Addr limit, Size more)
{
  Size block = limit != mvffLimit(SegOfAddr((const char *)limit - 1)) ? FreeTreeAt(mvff->tree, limit) : 0;

  if (block < more)
    return FALSE;
  (void)FreeTreeRemove(&mvff->tree, limit);
  if (block > more)
    FreeTreeInsert(&mvff->tree, (Addr)((Word)limit + more), block - more);
  return TRUE;
}

static Res mvffResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  MVFF mvff = PoolMVFF(pool);
  Size had = WordAlignUp(oldSize, FreeTreeUNIT), need;
  Bool done = TRUE;

  if (size > mvffSizeMAX)
    return ResMEMORY;
  need = WordAlignUp(size, FreeTreeUNIT);
  LockClaim(&pool->lock);
  if (need < had)
    mvffInsert(mvff, SegOfAddr(old), (Addr)((Word)old + need), had - need);
  else if (need > had)
    done = mvffGrow(mvff, (Addr)((Word)old + had), need - had);
  LockRelease(&pool->lock);
  *addrReturn = old;
  return done ? ResOK : ResFAIL;
}

/* mvffEnd -- where the object ends that begins at `unit`: where the next one begins, or `free`, the block behind */
static Index mvffEnd(Seg seg, Index unit, Addr free)
{
  Index limit = mvffRoom(seg) / FreeTreeUNIT;

  if (free != NULL && free < mvffLimit(seg))
    limit = ((Word)free - (Word)SegBase(seg)) / FreeTreeUNIT;
  return mvffMarked(seg, unit + 1, limit);
}

/* mvffBlock -- the object that begins last before `addr`, or there, and does not end before */
static Bool mvffBlock(Addr *baseReturn, Size *sizeReturn, Pool pool, Addr addr)
{
  Seg seg = SegOfAddr(addr);
  Index unit = ((Word)addr - (Word)SegBase(seg)) / FreeTreeUNIT, end;
  Bool found;

  LockClaim(&pool->lock);
  found = addr < mvffLimit(seg);
  while (found && mvffMarked(seg, unit, unit + 1) != unit)
    if (unit-- == 0)
      found = FALSE;
  if (found) {
    *baseReturn = (Addr)((Word)SegBase(seg) + unit * FreeTreeUNIT);
    end = mvffEnd(seg, unit, FreeTreeNext(PoolMVFF(pool)->tree, *baseReturn));
    *sizeReturn = (end - unit) * FreeTreeUNIT;
    found = (Word)addr < (Word)*baseReturn + *sizeReturn;
  }
  LockRelease(&pool->lock);
  return found;
}

/* mvffLive -- emit all objects, with the bytes that they take up */
static Bool mvffLive(Pool pool, Bool late)
{
  FreeTree tree = PoolMVFF(pool)->tree;
  Ring node, after;

  UNUSED(late);
  RING_FOR(node, &pool->segRing, after) {
    Seg seg = RING_ELT(SegStruct, poolRing, node);
    Word base = (Word)SegBase(seg);
    Index limit = mvffRoom(seg) / FreeTreeUNIT, unit, end;
    Addr free = FreeTreeNext(tree, (Addr)base);
    for (unit = mvffMarked(seg, 0, limit); unit < limit; unit = mvffMarked(seg, end, limit)) {
      Addr addr = (Addr)(base + unit * FreeTreeUNIT);
      if (free != NULL && free < addr)
        free = FreeTreeNext(tree, addr);
      end = mvffEnd(seg, unit, free);
      PoolTellLive(pool, addr, (end - unit) * FreeTreeUNIT);
    }
  }
  return TRUE;
}

/* mvffCheckNode -- no two free blocks of the pool touch unless a segment's end parts them */
static Bool mvffCheckNode(MVFF mvff, FreeNode node, Size *emptyIO)
{
  Seg seg;
  Addr limit;

  if (node == NULL)
    return TRUE;
  seg = SegOfAddr(node);
  limit = (Addr)((Word)node + node->size);
  if (seg == NULL || seg->pool != &mvff->poolStruct || limit > mvffLimit(seg) ||
      (limit != mvffLimit(seg) && FreeTreeAt(mvff->tree, limit) != 0))
    return FALSE;
  if (node->size == mvffRoom(seg))
    *emptyIO += SegSize(seg);
  return mvffCheckNode(mvff, node->left, emptyIO) && mvffCheckNode(mvff, node->right, emptyIO);
}

/* mvffCheckMarks -- in no free block of a segment does an object begin, and what is no free block belongs to one */
static Bool mvffCheckMarks(MVFF mvff, Seg seg)
{
  Index limit = mvffRoom(seg) / FreeTreeUNIT, unit, end;

  for (unit = 0; unit < limit; unit = end) {
    Addr addr = (Addr)((Word)SegBase(seg) + unit * FreeTreeUNIT);
    Size free = FreeTreeAt(mvff->tree, addr);
    end = free > 0 ? unit + free / FreeTreeUNIT : mvffEnd(seg, unit, FreeTreeNext(mvff->tree, addr));
    if (mvffMarked(seg, unit, end) != (free > 0 ? end : unit))
      return FALSE;
  }
  return TRUE;
}

static Bool mvffCheck(Pool pool)
{
  MVFF mvff = PoolMVFF(pool);
  Size empty = 0;
  Ring node, after;

  if (!WordIsPowerOf2(mvff->align) || !FreeTreeCheck(mvff->tree) || !mvffCheckNode(mvff, mvff->tree, &empty))
    return FALSE;
  RING_FOR(node, &pool->segRing, after)
    if (!mvffCheckMarks(mvff, RING_ELT(SegStruct, poolRing, node)))
      return FALSE;
  return mvff->emptySize == empty && empty <= mvff->spare;
}

const PoolClassStruct PoolClassMVFF = {
  .name = "MVFF",
  .instanceSize = sizeof(MVFFStruct),
  .params = mvffParams,
  .paramCount = ARRAY_LENGTH(mvffParams),
  .client = 1u << mvffALIGN,
  .init = mvffInit,
  .alloc = mvffAlloc,
  .free = mvffFree,
  .resize = mvffResize,
  .check = mvffCheck,
  .block = mvffBlock,
  .sized = TRUE,
  .live = mvffLive,
};

static const PoolParamStruct mvffDebugParams[] = {
  [mvffEXTENDBY] = { "extendBy", ArenaGrainSIZE },
  [mvffALIGN] = { "align", 16 },
  [mvffSPARE] = { "spare", ArenaGrainSIZE },
  { "quarantine", PoolDebugQUARANTINE },
};

const PoolClassStruct PoolClassMVFFDebug = {
  .name = "MVFFDebug",
  .instanceSize = sizeof(MVFFStruct),
  .params = mvffDebugParams,
  .paramCount = ARRAY_LENGTH(mvffDebugParams),
  .client = 1u << mvffALIGN,
  .debugs = &PoolClassMVFF,
  .live = mvffLive,
  PoolDebugFUNCTIONS,
};
