/* mmalloc.c -- a process's malloc from an SGF pool
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .mmalloc .fork      Tests: test/mm/malloctest.c
 */
#include "mm/mmalloc.h"

#include "mm/arena.h"
#include "mm/poolsgfcache.h"

/* Until there is a pool this is NULL, as is the pool of SGFCacheNone, which has no block: so the first call takes the
 * slow path without a test of its own. */
static SGF mmSGF;

/* Guards the making of the pool; the first in the order of locks. */
static LockStruct mmCreateLock = LockINITIALIZER;

static SGF mmGet(void) { return __atomic_load_n(&mmSGF, __ATOMIC_ACQUIRE); }

static __attribute__((noinline, cold)) SGF mmCreate(void)
{
  Arena arena;
  Pool pool;
  SGF sgf;

  LockClaim(&mmCreateLock);
  sgf = mmGet();
  if (sgf == NULL && ArenaCreate(&arena, ChunkSIZE) == ResOK) {
    if (PoolCreate(&pool, arena, "SGF", NULL, 0) == ResOK) {
      sgf = PoolSGF(pool);
      __atomic_store_n(&mmSGF, sgf, __ATOMIC_RELEASE);
    } else {
      ArenaDestroy(arena);
    }
  }
  LockRelease(&mmCreateLock);
  return sgf;
}

/* mmNeed -- the pool, made if need be; NULL: no memory */
static SGF mmNeed(void)
{
  SGF sgf = mmGet();

  return LIKELY(sgf != NULL) ? sgf : mmCreate();
}

Pool MMPool(void)
{
  SGF sgf = mmNeed();

  return sgf != NULL ? &sgf->poolStruct : NULL;
}

static __attribute__((noinline)) void *mmAllocSlow(Size size)
{
  SGF sgf = mmNeed();

  return sgf != NULL ? SGFAlloc(sgf, size) : NULL;
}

void *MMAlloc(Size size)
{
  void *p = SGFAllocFast(__atomic_load_n(&mmSGF, __ATOMIC_RELAXED), size);

  return LIKELY(p != NULL) ? p : mmAllocSlow(size);
}

void *MMAllocZero(Size size)
{
  SGF sgf = mmNeed();

  return sgf != NULL ? SGFAllocZero(sgf, size) : NULL;
}

void *MMAllocAligned(Size size, Size align)
{
  SGF sgf = mmNeed();

  return sgf != NULL ? SGFAllocAligned(sgf, size, align) : NULL;
}

Bool MMFree(void *p) { return LIKELY(SGFFreeFast(p)) ? TRUE : SGFFree(p); }

void *MMResize(void *old, Size size) { return SGFResize(mmGet(), old, size > 0 ? size : 1); }

Size MMUsableSize(const void *p) { return SGFUsableSize(p); }

Bool MMOwns(const void *p)
{
  SGF sgf = mmGet();

  return sgf != NULL && PoolOfAddr(p) == &sgf->poolStruct;
}

void MMThreadExit(void) { SGFThreadExit(); }

void MMThreadsWatch(void) { SGFThreadsWatch(); }

/* ---- Taking every lock of the memory manager ---- */

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
  LockClaim(&mmCreateLock);
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
  LockRelease(&mmCreateLock);
}

/* The forking thread, which holds the locks, is the one that lives on in the child. */
void MMForkChild(void) { MMForkParent(); }
