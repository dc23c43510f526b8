/* mmfork.c -- taking every lock of the memory manager
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .fork      Tests: test/malloctest.c
 */
#include "mm/mmfork.h"

#include "mm/arena.h"
#include "mm/pool.h"
#include "mm/sgfcache.h"

LockStruct MMCreateLock = LockINITIALIZER;

/* forkEach -- `visit` every lock of every pool, and then of every arena */
static void forkEach(void (*visit)(Lock))
{
  Ring a, p, afterA, afterP;

  RING_FOR(a, &ArenaRegistry, afterA)
    RING_FOR(p, &RING_ELT(ArenaStruct, arenasRing, a)->poolRing, afterP)
      visit(&RING_ELT(PoolStruct, arenaRing, p)->lock);
  RING_FOR(a, &ArenaRegistry, afterA)
    visit(&RING_ELT(ArenaStruct, arenasRing, a)->lock);
}

void MMForkPrepare(void)
{
  LockClaim(&MMCreateLock);
  LockClaim(&ArenaRegistryLock);
  forkEach(LockClaim);
  LockClaim(&SGFCacheStoreLock);
  LockForking = TRUE;
}

void MMForkParent(void)
{
  LockForking = FALSE;
  LockRelease(&SGFCacheStoreLock);
  forkEach(LockRelease);
  LockRelease(&ArenaRegistryLock);
  LockRelease(&MMCreateLock);
}

/* The forking thread, which holds the locks, is the one that lives on in the child. */
void MMForkChild(void) { MMForkParent(); }
