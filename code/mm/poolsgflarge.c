/* poolsgflarge.c -- large objects: the fence behind each; those that were freed lately
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kept segments are in order of time, the newest last: it is most likely in the processor's cache.
 *
 * Design: design/mm.md .sgf.large .sgf.fence      Tests: test/mm/pooltest.c, test/mm/misuse.t
 */
#include "mm/poolsgfcache.h"

#include <string.h>

#include "base/aver.h"
#include "mm/misuse.h"

#define largePAGE 4096u /* bytes of the smallest page that a system has */

void SGFLargeInit(Slab slab)
{
  AVER(!slab->large && slab->owner == NULL);
  slab->fence = 0;
  SlabFresh(slab);
  __atomic_store_n(&slab->large, TRUE, __ATOMIC_RELEASE);
}

void SGFLargeFence(Slab slab, Size size)
{
  char *at = (char *)SegBase(&slab->seg) + size;
  Size onPage = size % largePAGE, behind = SegSize(&slab->seg) - size;
  Word fence = SlabFenceWord(at);

  AVER(slab->owner == NULL && size <= SegSize(&slab->seg));
  slab->fence = 0;
  if (!SGFGuarded || onPage == 0 || onPage > largePAGE - sizeof fence || behind > UINT32_MAX)
    return;
  memcpy(at, &fence, sizeof fence);
  slab->fence = (uint32_t)behind;
}

Bool SGFLargeHolds(Slab slab)
{
  const char *at = (const char *)SegLimit(&slab->seg) - slab->fence;
  Word fence = SlabFenceWord(at);

  if (slab->fence == 0 || memcmp(at, &fence, sizeof fence) == 0)
    return TRUE;
  MisuseFound(MisuseBEHIND, slab->seg.pool, SegBase(&slab->seg), SegSize(&slab->seg) - slab->fence, SegBase(&slab->seg));
  return FALSE;
}

/* ---- Those that were freed lately ---- */

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
