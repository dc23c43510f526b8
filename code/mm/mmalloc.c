/* mmalloc.c -- a process's malloc from an SGF pool
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .mmalloc      Tests: test/malloctest.c
 */
#include "mm/mmalloc.h"

#include "mm/mmfork.h"
#include "mm/sgf.h"
#include "mm/sgfcache.h"

/* Until there is a pool this is NULL, as is the pool of SGFCacheNone, which has no block: so the first call takes the
 * slow path without a test of its own. */
static SGF mmSGF;

static SGF mmGet(void) { return __atomic_load_n(&mmSGF, __ATOMIC_ACQUIRE); }

static __attribute__((noinline, cold)) SGF mmCreate(void)
{
  Arena arena;
  Pool pool;
  SGF sgf;

  LockClaim(&MMCreateLock);
  sgf = mmGet();
  if (sgf == NULL && ArenaCreate(&arena, ChunkSIZE) == ResOK) {
    if (PoolCreate(&pool, arena, "SGF", NULL, 0) == ResOK) {
      sgf = PoolSGF(pool);
      __atomic_store_n(&mmSGF, sgf, __ATOMIC_RELEASE);
    } else {
      ArenaDestroy(arena);
    }
  }
  LockRelease(&MMCreateLock);
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
