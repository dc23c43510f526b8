/* forks.c -- a fork while other threads are in the memory manager: every lock is taken first
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .fork      Tests: test/mm/malloctest.c, test/mm/pooltest.c
 */
#include "mm/forks.h"

#include <pthread.h>

#include "mm/arena.h"
#include "mm/pooldebug.h"
#include "mm/poolsgfcache.h"
#include "plinth/rawsyscall.h"

LockStruct ForksMallocLock = LockINITIALIZER;
Bool ForksWatched;

/* forksEachLock -- `visit` every lock of every pool, and then of every arena */
static void forksEachLock(void (*visit)(Lock))
{
  Ring a, p, afterA, afterP;

  RING_FOR(a, &ArenaRegistry, afterA)
    RING_FOR(p, &RING_ELT(ArenaStruct, arenasRing, a)->poolRing, afterP)
      visit(&RING_ELT(PoolStruct, arenaRing, p)->lock);
  RING_FOR(a, &ArenaRegistry, afterA)
    visit(&RING_ELT(ArenaStruct, arenasRing, a)->lock);
}

/* Handlers of the malloc, of arenas and of collected pools (code/ams) may all be there: the first has the locks, and
 * gives them back last. */
static unsigned forksNested;

static Bool forksAlone; /* there is no other thread, so no lock was taken */

Bool MMForkAlone(void)
{
  return RawAlone();
}

void MMForkPrepare(void)
{
  if (LockForking || forksAlone) {
    ++forksNested;
    return;
  }
  forksAlone = MMForkAlone();
  if (forksAlone)
    return;
  LockClaim(&ForksMallocLock);
  LockClaim(&ArenaRegistryLock);
  forksEachLock(LockClaim);
  LockClaim(&SGFCacheStoreLock);
  LockForking = TRUE;
}

void MMForkDone(void)
{
  if (forksNested > 0) {
    --forksNested;
    return;
  }
  PoolDebugForked();
  if (forksAlone) {
    forksAlone = FALSE;
    return;
  }
  LockForking = FALSE;
  LockRelease(&SGFCacheStoreLock);
  forksEachLock(LockRelease);
  LockRelease(&ArenaRegistryLock);
  LockRelease(&ForksMallocLock);
}

Res ArenaCreate(Arena *arenaReturn, Size size)
{
  if (!__atomic_exchange_n(&ForksWatched, TRUE, __ATOMIC_RELAXED) &&
      pthread_atfork(MMForkPrepare, MMForkDone, MMForkDone) != 0)
    return ResMEMORY;
  return ArenaMake(arenaReturn, size);
}
