/* shimdebug.c -- a program's malloc from a debug pool
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pool is served by its class's functions.  Each function here first notes the stack of its caller: that is one of
 * our wrappers, or the program, if the wrapper jumped here.  Stacks have no frames of ours (design/unwind.md
 * .emit.own).
 */
#include "malloc/shimdebug.h"

#include <errno.h>

#include "base/aver.h"
#include "emit/emitter.h"
#include "malloc/shimdlsym.h"
#include "mm/mallocpool.h"
#include "mm/misuse.h"
#include "mm/pooldebug.h"
#include "unwind/stacktree.h"

enum { debugDEPTH = 16 }; /* frames of a stack, where events have fewer */

static Pool debugPool;

/* DEBUG_NOTE -- in a function that is not inlined: its caller's stack is who calls the pool now.  Without a tree of
 * stacks the site is the return address; and where the tree has no more numbers for inner frames it is the innermost
 * one's address, which is larger than any number. */
#define DEBUG_NOTE() \
  do { \
    StackWalk walk_ = StackTreeNodes != NULL ? ShimWalk() : NULL; \
    PoolDebugSite = walk_ != NULL            ? StackWalkCaller(walk_, 0) \
                    : StackTreeNodes != NULL ? StackTreeNode(StackBROKEN, (Word)SITE - 1) \
                                             : (Word)SITE; \
    if (UNLIKELY(walk_ != NULL && (PoolDebugSite & StackSHORT) != 0)) \
      PoolDebugSite = StackWalkInner(walk_); \
  } while (0)

static __attribute__((noinline)) void *debugMalloc(size_t size)
{
  Addr addr;

  DEBUG_NOTE();
  return PoolDebugAlloc(&addr, debugPool, size, 1, FALSE) == ResOK ? addr : NULL;
}

static __attribute__((noinline)) void debugFree(void *p)
{
  if (UNLIKELY(ShimIsOther(p))) {
    ShimOther.free(p);
    return;
  }
  DEBUG_NOTE();
  PoolDebugFree(debugPool, p, 0);
}

static __attribute__((noinline)) void *debugCalloc(size_t count, size_t size)
{
  size_t bytes;
  Addr addr;

  DEBUG_NOTE();
  return !__builtin_mul_overflow(count, size, &bytes) &&
             PoolDebugAlloc(&addr, debugPool, bytes, 1, TRUE) == ResOK
           ? addr
           : NULL;
}

static __attribute__((noinline)) void *debugRealloc(void *old, size_t size)
{
  Addr addr = NULL;

  if (UNLIKELY(old != NULL && ShimIsOther(old)))
    return ShimOther.realloc(old, size);
  DEBUG_NOTE();
  if (old == NULL)
    return PoolDebugAlloc(&addr, debugPool, size, 1, FALSE) == ResOK ? addr : NULL;
  if (size == 0) {
    PoolDebugFree(debugPool, old, 0);
    return NULL;
  }
  return PoolDebugResize(&addr, debugPool, old, 0, size) == ResOK ? addr : NULL;
}

static __attribute__((noinline)) void *debugMemalign(size_t align, size_t size)
{
  Addr addr;

  DEBUG_NOTE();
  return PoolDebugAlloc(&addr, debugPool, size, align, FALSE) == ResOK ? addr : NULL;
}

static size_t debugUsable(const void *p)
{
  if (UNLIKELY(ShimIsOther(p)))
    return ShimOther.usable != NULL ? ShimOther.usable(p) : 0;
  return PoolDebugSize(debugPool, p);
}

/* debugFrames -- the frames of a stack */
static Count debugFrames(Word at[], Count max, Word site)
{
  StackNumber node = (StackNumber)site;
  Count n = 0;

  if (StackTreeNodes == NULL || site >= StackTreeMAX) {
    at[0] = site;
    return 1;
  }
  for (; node >= StackFIRST && node < StackTreeMAX && n < max; node = StackTreeNodes[node].parent & ~StackSHORT)
    at[n++] = StackTreeNodes[node].at;
  return n;
}

/* What was written to after its free is told at the latest here. */
__attribute__((destructor(101))) static void debugEnd(void)
{
  if (debugPool == NULL)
    return;
  DEBUG_NOTE();
  PoolDebugDrain(debugPool);
}

void ShimDebug(ShimNextStruct *next)
{
  AVER(next->manages && next->pool != NULL);
  if (StackTreeNodes == NULL)
    (void)ShimStackStart(debugDEPTH);
  ShimStackKeep(); /* objects have numbers of stacks, also those that a child inherits */
  MisuseSiteHook = debugFrames;
  debugPool = next->pool;
  next->malloc = debugMalloc;
  next->free = debugFree;
  next->calloc = debugCalloc;
  next->realloc = debugRealloc;
  next->memalign = debugMemalign;
  next->usable = debugUsable;
}
