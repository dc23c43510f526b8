/* poolsgflarge.c -- large objects that were freed lately
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kept segments are in order of time, the newest last: it is most likely in the processor's cache.
 *
 * Design: design/mm.md .sgf.large      Tests: test/mm/pooltest.c, test/mm/misuse.t
 */
#include "mm/poolsgfcache.h"

#include "base/aver.h"

/* largeOut -- a kept segment is no longer kept */
static Slab largeOut(SGFCache cache, Index i)
{
  Slab slab = cache->large[i];

  for (--cache->largeCount; i < cache->largeCount; ++i)
    cache->large[i] = cache->large[i + 1];
  cache->largeSize -= SegSize(&slab->seg);
  return slab;
}

Slab SGFLargeTake(SGFCache cache, Size size)
{
  Index i;

  for (i = cache->largeCount; i > 0; --i) {
    Size has = SegSize(&cache->large[i - 1]->seg);
    if (has >= size && has - size < ArenaGrainSIZE + size / 8)
      return largeOut(cache, i - 1);
  }
  return NULL;
}

Bool SGFLargePut(SGFCache cache, Slab slab)
{
  Size size = SegSize(&slab->seg);

  AVER(!__atomic_load_n(&slab->large, __ATOMIC_RELAXED));
  if (size > SGFLargeMAX || ChunkSlot(SegBase(&slab->seg)) != ChunkSlotPLAIN)
    return FALSE;
  while (cache->largeCount == SGFLargeCOUNT || cache->largeSize + size > SGFLargeKEEP)
    SegFree(&largeOut(cache, 0)->seg);
  cache->large[cache->largeCount++] = slab;
  cache->largeSize += size;
  return TRUE;
}

void SGFLargeDrop(SGFCache cache)
{
  while (cache->largeCount > 0)
    SegFree(&largeOut(cache, cache->largeCount - 1)->seg);
}

Bool SGFLargeCheck(SGFCache cache)
{
  Size size = 0;
  Index i;

  for (i = 0; i < cache->largeCount; ++i) {
    Slab slab = cache->large[i];
    if (!SegCheck(&slab->seg) || slab->seg.pool != &cache->sgf->poolStruct || slab->large || slab->owner != NULL)
      return FALSE;
    size += SegSize(&slab->seg);
  }
  return cache->largeCount <= SGFLargeCOUNT && size == cache->largeSize && size <= SGFLargeKEEP;
}
