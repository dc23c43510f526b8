/* mallocpool.c -- a process's malloc from an SGF pool
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .mallocpool      Tests: test/mm/malloctest.c
 */
#include "mm/mallocpool.h"

#include "mm/forks.h"
#include "mm/pooldebug.h"
#include "mm/poolsgfcache.h"

/* The pool behind malloc; NULL until there is one.  A thread without a cache has SGFCacheNone, whose pool is NULL, too,
 * and which has no free block.  So the first call of malloc takes the slow path, though nothing tests whether the pool
 * is there. */
static SGF mallocPoolSGF;

static Bool mallocPoolDebug; /* it is, or will be, of the debug variety */

static SGF mallocPoolGet(void) { return __atomic_load_n(&mallocPoolSGF, __ATOMIC_ACQUIRE); }

static __attribute__((noinline, cold)) SGF mallocPoolCreate(void)
{
  Arena arena;
  Pool pool;
  SGF sgf;

  LockClaim(&ForksMallocLock);
  sgf = mallocPoolGet();
  /* By the handlers of the malloc itself: none can be set in the middle of a malloc. */
  __atomic_store_n(&ForksWatched, TRUE, __ATOMIC_RELAXED);
  if (sgf == NULL && ArenaCreate(&arena, ChunkSIZE) == ResOK) {
    if (PoolCreate(&pool, arena, mallocPoolDebug ? "SGFDebug" : "SGF", NULL, 0) == ResOK) {
      sgf = PoolSGF(pool);
      __atomic_store_n(&mallocPoolSGF, sgf, __ATOMIC_RELEASE);
    } else {
      ArenaDestroy(arena);
    }
  }
  LockRelease(&ForksMallocLock);
  return sgf;
}

/* mallocPoolNeed -- the pool, made if need be; NULL: no memory */
static SGF mallocPoolNeed(void)
{
  SGF sgf = mallocPoolGet();

  return LIKELY(sgf != NULL) ? sgf : mallocPoolCreate();
}

void MMDebug(void)
{
  AVER(mallocPoolSGF == NULL);
  mallocPoolDebug = TRUE;
}

Pool MMPool(void)
{
  SGF sgf = mallocPoolNeed();

  return sgf != NULL ? &sgf->poolStruct : NULL;
}

static __attribute__((noinline)) void *mallocPoolAllocSlow(Size size)
{
  SGF sgf = mallocPoolNeed();

  return sgf != NULL ? SGFAlloc(sgf, size) : NULL;
}

void *MMAlloc(Size size)
{
  void *p = SGFAllocFast(__atomic_load_n(&mallocPoolSGF, __ATOMIC_RELAXED), size);

  return LIKELY(p != NULL) ? p : mallocPoolAllocSlow(size);
}

void *MMAllocZero(Size size)
{
  SGF sgf = mallocPoolNeed();

  return sgf != NULL ? SGFAllocZero(sgf, size) : NULL;
}

void *MMAllocAligned(Size size, Size align)
{
  SGF sgf = mallocPoolNeed();

  return sgf != NULL ? SGFAllocAligned(sgf, size, align) : NULL;
}

Bool MMFree(void *p) { return LIKELY(SGFFreeFast(p)) ? TRUE : SGFFree(p); }

void *MMResize(void *old, Size size) { return SGFResize(mallocPoolGet(), old, size > 0 ? size : 1); }

Bool MMOwns(const void *p)
{
  SGF sgf = mallocPoolGet();

  return sgf != NULL && PoolOfAddr(p) == &sgf->poolStruct;
}
