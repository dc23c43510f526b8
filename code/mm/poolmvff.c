/* poolmvff.c -- MVFF: first fit, with coalescing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Always true (mvffCheck), under the pool's lock:
 *   the blocks of the tree are in the pool's segments, none in two; no two in a segment touch
 *   freeSize is the sum of their sizes
 *   emptySize is the sum of those segments that are one free block; emptySize <= spare
 *
 * Design: design/mm.md .mvff      Tests: test/pooltest.c
 */
#include "mm/poolmvff.h"

#include <string.h>

#include "base/aver.h"
#include "mm/freetree.h"

typedef struct MVFFStruct {
  PoolStruct poolStruct;
  Size extendBy;  /* bytes */
  Size align;     /* bytes, at least FreeTreeUNIT */
  Size spare;     /* bytes */
  FreeTree tree;
  Size freeSize;  /* bytes */
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

static void mvffFinish(Pool pool) { PoolMVFF(pool)->tree = NULL; }

/* mvffInsert -- [base, base + size) is free: join it with what it touches; give back a segment that is empty */
static void mvffInsert(MVFF mvff, Addr base, Size size)
{
  Seg seg = SegOfAddr(base);
  Addr limit = (Addr)((Word)base + size);
  Size below = base != SegBase(seg) ? FreeTreeBelow(mvff->tree, base) : 0;
  Size above = limit != SegLimit(seg) ? FreeTreeAt(mvff->tree, limit) : 0;

  AVER_CRITICAL(seg->pool == &mvff->poolStruct && limit <= SegLimit(seg));
  mvff->freeSize += size;
  if (below > 0)
    (void)FreeTreeRemove(&mvff->tree, (Addr)((Word)base - below));
  if (above > 0)
    (void)FreeTreeRemove(&mvff->tree, limit);
  base = (Addr)((Word)base - below);
  size += below + above;
  if (size == SegSize(seg)) {
    if (mvff->emptySize + size > mvff->spare) {
      mvff->freeSize -= size;
      SegFree(seg);
      return;
    }
    mvff->emptySize += size;
  }
  FreeTreeInsert(&mvff->tree, base, size);
}

/* mvffTake -- the first `size` bytes that are free, or NULL */
static Addr mvffTake(MVFF mvff, Size size)
{
  Size block;
  Addr base = FreeTreeTake(&block, &mvff->tree, size);

  if (base != NULL) {
    mvff->freeSize -= size;
    if (block == SegSize(SegOfAddr(base)))
      mvff->emptySize -= block;
  }
  return base;
}

static Res mvffExtend(MVFF mvff, Size size)
{
  Seg seg;
  Res res = SegAlloc(&seg, NULL, &mvff->poolStruct, size > mvff->extendBy ? size : mvff->extendBy, 1);

  if (res != ResOK && size < mvff->extendBy)
    res = SegAlloc(&seg, NULL, &mvff->poolStruct, size, 1);
  if (res != ResOK)
    return res;
  FreeTreeInsert(&mvff->tree, SegBase(seg), SegSize(seg));
  mvff->freeSize += SegSize(seg);
  mvff->emptySize += SegSize(seg); /* until mvffTake, which follows */
  return ResOK;
}

/* mvffTakeAligned -- take more than is needed, and give back what is before and behind the aligned place */
static Addr mvffTakeAligned(MVFF mvff, Size size, Size align)
{
  Size whole = size + align - FreeTreeUNIT;
  Addr block = mvffTake(mvff, whole), addr;

  if (block == NULL)
    return NULL;
  addr = (Addr)WordAlignUp(block, align);
  if (addr != block)
    mvffInsert(mvff, block, (Word)addr - (Word)block);
  if ((Word)addr + size != (Word)block + whole)
    mvffInsert(mvff, (Addr)((Word)addr + size), (Word)block + whole - (Word)addr - size);
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
  LockClaim(&pool->lock);
  mvffInsert(PoolMVFF(pool), addr, WordAlignUp(size, FreeTreeUNIT));
  LockRelease(&pool->lock);
}

/* mvffGrow -- take `more` bytes behind an object, if they are free */
static Bool mvffGrow(MVFF mvff, Addr limit, Size more)
{
  Size block = limit != SegLimit(SegOfAddr((const char *)limit - 1)) ? FreeTreeAt(mvff->tree, limit) : 0;

  if (block < more)
    return FALSE;
  (void)FreeTreeRemove(&mvff->tree, limit);
  if (block > more)
    FreeTreeInsert(&mvff->tree, (Addr)((Word)limit + more), block - more);
  mvff->freeSize -= more;
  return TRUE;
}

static Res mvffResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  MVFF mvff = PoolMVFF(pool);
  Size had = WordAlignUp(oldSize, FreeTreeUNIT), need;
  Bool done = TRUE;
  Res res;

  if (size > mvffSizeMAX)
    return ResMEMORY;
  need = WordAlignUp(size, FreeTreeUNIT);
  LockClaim(&pool->lock);
  if (need < had)
    mvffInsert(mvff, (Addr)((Word)old + need), had - need);
  else if (need > had)
    done = mvffGrow(mvff, (Addr)((Word)old + had), need - had);
  LockRelease(&pool->lock);
  if (done) {
    *addrReturn = old;
    return ResOK;
  }
  res = mvffAlloc(addrReturn, pool, size, 1, FALSE);
  if (res != ResOK)
    return res;
  memcpy(*addrReturn, old, oldSize < size ? oldSize : size);
  mvffFree(pool, old, oldSize);
  return ResOK;
}

static Size mvffFreeSize(Pool pool)
{
  Size size;

  LockClaim(&pool->lock);
  size = PoolMVFF(pool)->freeSize;
  LockRelease(&pool->lock);
  return size;
}

/* mvffCheckNode -- no two free blocks of the pool touch unless a segment's end parts them */
static void mvffCheckNode(MVFF mvff, FreeNode node, Size *emptyIO)
{
  Seg seg;
  Addr limit;

  if (node == NULL)
    return;
  seg = SegOfAddr(node);
  limit = (Addr)((Word)node + node->size);
  AVER(seg != NULL && seg->pool == &mvff->poolStruct && limit <= SegLimit(seg));
  AVER(limit == SegLimit(seg) || FreeTreeAt(mvff->tree, limit) == 0);
  if (node->size == SegSize(seg))
    *emptyIO += node->size;
  mvffCheckNode(mvff, node->left, emptyIO);
  mvffCheckNode(mvff, node->right, emptyIO);
}

static Bool mvffCheck(Pool pool)
{
  MVFF mvff = PoolMVFF(pool);
  Size total, empty = 0;

  LockClaim(&pool->lock);
  AVER(WordIsPowerOf2(mvff->align));
  AVER(FreeTreeCheck(&total, mvff->tree));
  AVER(mvff->freeSize == total);
  mvffCheckNode(mvff, mvff->tree, &empty);
  AVER(mvff->emptySize == empty);
  AVER(mvff->emptySize <= mvff->spare);
  LockRelease(&pool->lock);
  return TRUE;
}

const PoolClassStruct PoolClassMVFF = {
  .name = "MVFF",
  .instanceSize = sizeof(MVFFStruct),
  .params = mvffParams,
  .paramCount = ARRAY_LENGTH(mvffParams),
  .init = mvffInit,
  .finish = mvffFinish,
  .alloc = mvffAlloc,
  .free = mvffFree,
  .resize = mvffResize,
  .check = mvffCheck,
  .freeSize = mvffFreeSize,
};
