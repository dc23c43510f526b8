/* poolmfs.c -- MFS: objects of one size
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Always true (mfsCheck), under the pool's lock:
 *   a freed unit's first word is the next freed unit
 *   the list ends, and its units are in the pool's segments
 *   [next, limit) is the part of the newest segment that no unit was ever taken from
 *
 * Design: design/mm.md .mfs      Tests: test/mm/pooltest.c
 */
#include "mm/pool.h"

#include <string.h>

#include "base/aver.h"
#include "emit/event.h"
#include "mm/pages.h"

typedef struct MFSStruct {
  PoolStruct poolStruct;
  Size unitSize;   /* bytes, a multiple of a Word */
  Size extendBy;   /* bytes, at least unitSize */
  Addr free;       /* the free list */
  Word next, limit;
} MFSStruct, *MFS;

#define PoolMFS(pool) RING_ELT(MFSStruct, poolStruct, pool)

enum { mfsUNITSIZE, mfsEXTENDBY };
static const PoolParamStruct mfsParams[] = {
  [mfsUNITSIZE] = { "unitSize", 16 },
  [mfsEXTENDBY] = { "extendBy", ArenaGrainSIZE },
};

static Res mfsInit(Pool pool, Word value[])
{
  MFS mfs = PoolMFS(pool);

  if (value[mfsUNITSIZE] == 0 || value[mfsUNITSIZE] > SIZE_MAX / 4 || value[mfsEXTENDBY] > SIZE_MAX / 4)
    return ResPARAM;
  mfs->unitSize = WordAlignUp(value[mfsUNITSIZE], sizeof(Word));
  mfs->extendBy = value[mfsEXTENDBY] > mfs->unitSize ? value[mfsEXTENDBY] : mfs->unitSize;
  value[mfsEXTENDBY] = mfs->extendBy;
  return ResOK;
}

static Res mfsTake(Addr *addrReturn, MFS mfs)
{
  Seg seg;

  if (mfs->free != NULL) {
    *addrReturn = mfs->free;
    mfs->free = *(Addr *)(void *)mfs->free;
    return ResOK;
  }
  if (mfs->limit - mfs->next < mfs->unitSize) {
    Res res = SegAlloc(&seg, NULL, &mfs->poolStruct, mfs->extendBy, 1);
    if (res != ResOK)
      return res;
    mfs->next = (Word)SegBase(seg);
    mfs->limit = (Word)SegLimit(seg);
  }
  *addrReturn = (Addr)mfs->next;
  mfs->next += mfs->unitSize;
  return ResOK;
}

static Res mfsAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero)
{
  MFS mfs = PoolMFS(pool);
  Res res;

  if (size > mfs->unitSize || align > sizeof(Word))
    return ResPARAM;
  LockClaim(&pool->lock);
  res = mfsTake(addrReturn, mfs);
  LockRelease(&pool->lock);
  if (res == ResOK && zero)
    memset(*addrReturn, 0, mfs->unitSize);
  return res;
}

static void mfsFree(Pool pool, Addr addr, Size size)
{
  MFS mfs = PoolMFS(pool);

  AVER_CRITICAL(size <= mfs->unitSize);
  LockClaim(&pool->lock);
  AVER_CRITICAL(addr != mfs->free);
  *(Addr *)(void *)addr = mfs->free;
  mfs->free = addr;
  LockRelease(&pool->lock);
}

static Res mfsResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  UNUSED(oldSize);
  if (size > PoolMFS(pool)->unitSize)
    return ResPARAM;
  *addrReturn = old;
  return ResOK;
}

/* A segment, with the index of its first unit's mark. */
typedef struct MFSSegStruct {
  SegStruct seg;
  Count first;
} MFSSegStruct, *MFSSeg;

/* mfsUnits -- how many units of a segment were ever taken */
static Count mfsUnits(MFS mfs, Seg seg)
{
  Word limit = (Word)SegLimit(seg);

  if (mfs->limit == limit)
    limit = mfs->next;
  return (limit - (Word)SegBase(seg)) / mfs->unitSize;
}

/* mfsLive -- emit all units that are not on the free list.  If there is no memory for the marks, none is emitted. */
static Bool mfsLive(Pool pool, Bool late)
{
  MFS mfs = PoolMFS(pool);
  Size size = pool->segSize / mfs->unitSize + 1;
  Ring node, after;
  Count count = 0;
  void *marks;
  Addr addr;
  Index i;

  UNUSED(late);
  if (PagesMap(&marks, size) != ResOK)
    return TRUE;
  RING_FOR(node, &pool->segRing, after) {
    MFSSeg seg = (MFSSeg)RING_ELT(SegStruct, poolRing, node);
    seg->first = count;
    count += mfsUnits(mfs, &seg->seg);
  }
  for (addr = mfs->free; addr != NULL; addr = *(Addr *)(void *)addr) {
    MFSSeg seg = (MFSSeg)SegOfAddr(addr);
    ((char *)marks)[seg->first + ((Word)addr - (Word)SegBase(&seg->seg)) / mfs->unitSize] = TRUE;
  }
  RING_FOR(node, &pool->segRing, after) {
    MFSSeg seg = (MFSSeg)RING_ELT(SegStruct, poolRing, node);
    for (i = 0; i < mfsUnits(mfs, &seg->seg); ++i)
      if (!((char *)marks)[seg->first + i]) {
        EVENT_PAW(PoolLive, pool, (Addr)((Word)SegBase(&seg->seg) + i * mfs->unitSize), mfs->unitSize);
        ++pool->liveCount;
      }
  }
  PagesRelease(marks, size);
  return TRUE;
}

static Bool mfsCheck(Pool pool)
{
  MFS mfs = PoolMFS(pool);
  Count left = pool->segSize / mfs->unitSize;
  Addr addr;

  for (addr = mfs->free; addr != NULL; addr = *(Addr *)(void *)addr) {
    Seg seg = SegOfAddr(addr);
    if (seg == NULL || seg->pool != pool || ((Word)addr - (Word)SegBase(seg)) % mfs->unitSize != 0 || left-- == 0)
      return FALSE;
  }
  return mfs->unitSize % sizeof(Word) == 0 && mfs->unitSize <= mfs->extendBy && mfs->next <= mfs->limit;
}

const PoolClassStruct PoolClassMFS = {
  .name = "MFS",
  .instanceSize = sizeof(MFSStruct),
  .params = mfsParams,
  .paramCount = ARRAY_LENGTH(mfsParams),
  .client = 1u << mfsUNITSIZE,
  .init = mfsInit,
  .alloc = mfsAlloc,
  .free = mfsFree,
  .resize = mfsResize,
  .check = mfsCheck,
  .live = mfsLive,
};
