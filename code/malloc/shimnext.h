/* shimnext.h -- the real malloc behind the wrappers: the allocator that serves the program
 *
 * A table of the functions behind the wrappers: those of the library that would have served without us (observe), or
 * of Pawprint's own pool (manage).  At first each is a function that fills the table and calls the right one, so that
 * the wrappers need no test.
 *
 * Design: design/shim.md .shim.next .shim.within .shim.other .shim.sanitize      Tests: test/malloc/shim.t,
 * test/malloc/shimnew.t, test/malloc/other.t, test/collect/unseen.t
 */
#ifndef MALLOC_SHIMNEXT_H
#define MALLOC_SHIMNEXT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/event.h"
#include "malloc/shimlarge.h"
#include "malloc/shimstack.h"
#include "mm/chunk.h"

/* Failure is NULL; errno then is the wrappers' business. */
typedef struct ShimNextStruct {
  void *(*malloc)(size_t size);
  void (*free)(void *p);
  void *(*calloc)(size_t count, size_t size);
  void *(*realloc)(void *p, size_t size);
  void *(*memalign)(size_t align, size_t size);
  size_t (*usable)(const void *p);
  void *pool; /* what events name as the pool */
  uint8_t depth;   /* of the stacks that events of allocations carry; 1: the caller alone, 0: nothing */
  uint8_t manages; /* Pawprint's own pool serves */
  uint8_t libc;    /* libc's own serves */
} ShimNextStruct;

extern ShimNextStruct ShimNext;

/* ShimOther -- where Pawprint's own pool serves: the allocator that would have served without us.  Functions that only
 * it has give objects to the program, which come back by free and realloc.  With libc, and where the pool does not
 * serve, its functions are NULL.
 * ShimIsOther -- may `p`, which is no object of the pool, be one of that allocator? */
extern ShimNextStruct ShimOther;

static inline Bool ShimIsOther(const void *p)
{
  return ShimOther.free != NULL && ChunkSlot(p) == ChunkSlotNONE;
}

/* ShimFrees -- events of frees carry stacks, too.  It stands alone, so that free can test it without a register. */
extern Bool ShimFrees;

/* ShimUsable -- an allocation that says who asked for it has a second event: how much memory the allocator gave */
extern Bool ShimUsable;

enum { ShimEarlySIZE = 65536 };
extern char ShimEarly[ShimEarlySIZE];

/* ShimEarlyTake -- allocate from the small memory that serves while the table is being filled, and in lookups.  It is
 * never freed.  NULL: there is none left
 * ShimIsEarly -- is `p` from there? */
extern void *ShimEarlyTake(Size size, Size align);

static inline Bool ShimIsEarly(const void *p)
{
  return (Word)p - (Word)ShimEarly < ShimEarlySIZE;
}

/* ShimStart -- choose, if nobody has, and name the pool
 * ShimAwake -- from here on the library may record: name the pool, if it was chosen before (EmitterSleeps)
 * ShimEnd -- tell what is known of the process before it ends
 * ShimTell -- name the pool that stands for the program's malloc; Pawprint's own has told of itself */
extern void ShimStart(void);
extern void ShimAwake(void);
extern void ShimTell(void);
extern void ShimEnd(void);

/* ---- Calls inside calls: only the outermost one has an event ----
 *
 * An operator new that calls malloc, and an allocator's malloc that calls realloc through the dynamic linker, pass our
 * wrappers twice.  The outer wrapper sets a mark of the thread while it is inside, and a wrapper that finds the mark
 * set calls the next function and emits nothing.  Where libc itself serves, no function of the malloc family calls
 * another one through the dynamic linker, so only the operators of C++ set the mark; where another allocator serves,
 * ShimNext has functions that set it (shimDeepen).
 *
 * The mark is read only where an event is wanted, by code that reads the thread's state anyway.
 */

typedef enum ShimDepth {
  ShimOUTSIDE,  /* in no wrapper: the next call has an event */
  ShimMALLOC,   /* inside a function of the malloc family */
  ShimOPERATOR, /* inside an operator new or delete */
  ShimINSIDE = ShimMALLOC | ShimOPERATOR,
  ShimLOOKUP = 4    /* in a lookup of the library: allocations are the library's own, frees have events */
} ShimDepth;

/* ShimWithin -- a ShimDepth: which call the thread is inside of */
extern __thread unsigned ShimWithin __attribute__((tls_model("initial-exec")));

/* ShimGotFrom, ShimAlignedFrom -- the events PoolAlloc and PoolAllocAligned of an outermost call, where they are to
 * have the site or the stack, and what the allocator gave, if that is wanted; they return `p`.  A wrapper calls them
 * last (SHIM_STACK). */
extern void *ShimGotFrom(void *p, size_t size, const void *site) __attribute__((noinline));
extern void *ShimAlignedFrom(void *p, size_t size, size_t align, const void *site) __attribute__((noinline));

/* SITE -- where the caller of a wrapper goes on. */
#define SITE __builtin_return_address(0)

/* SHIM_TELL_SITE -- the event `name` with the site
 * SHIM_TELL_MEMORY, SHIM_TELL_FREE -- the event of a call that has none with a site, for any call and for an outermost
 * one where frees are to have stacks */
#define SHIM_TELL_SITE(format, name, site, ...) \
  do { \
    if (EVENT_PRESENT(name) && EVENT_WANTED(Event##name##KIND)) { \
      const void *site_ = ShimStackRanged ? ShimStackFirst(site) : (site); \
      ShimSite(site_); \
      EVENT_##format##A(name##Site, __VA_ARGS__, (Addr)site_); \
    } \
  } while (0)

#define SHIM_TELL_MEMORY(format, name, site, ...) \
  do { \
    if (LIKELY(ShimNext.depth <= 1)) \
      EVENT_##format(name, __VA_ARGS__); \
    else \
      EVENT_##format##W(name##Stack, __VA_ARGS__, ShimStack(site)); \
  } while (0)

#define SHIM_TELL_FREE(p, site) \
  do { \
    if (UNLIKELY(ShimLargeMay(p))) \
      ShimLargeGone(p); \
    if (LIKELY(!ShimFrees)) \
      EVENT_PA(PoolFree, ShimNext.pool, (Addr)(p)); \
    else \
      EVENT_PAW(PoolFreeStack, ShimNext.pool, (Addr)(p), ShimStack(site)); \
  } while (0)

#endif /* MALLOC_SHIMNEXT_H */
