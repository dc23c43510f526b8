/* shimnext.h -- who serves the program's malloc
 *
 * A table of the functions behind the wrappers: those of the library that would have served without us (observe), or of
 * Pawprint's own pool (manage).  Each begins as a function that chooses the table and calls on, so that the wrappers
 * ask nothing.
 *
 * Design: design/shim.md .shim.next .shim.within .shim.sanitize      Tests: test/malloc/shim.t, test/malloc/shimnew.t, test/collect/unseen.t
 */
#ifndef MALLOC_SHIMNEXT_H
#define MALLOC_SHIMNEXT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/event.h"

/* Failure is NULL; errno then is the wrappers' business. */
typedef struct ShimNextStruct {
  void *(*malloc)(size_t size);
  void (*free)(void *p);
  void *(*calloc)(size_t count, size_t size);
  void *(*realloc)(void *p, size_t size);
  void *(*memalign)(size_t align, size_t size);
  size_t (*usable)(void *p);
  void *pool; /* what events name as the pool */
  Bool sites;   /* events of allocations say where they were asked for, too */
  Bool manages; /* Pawprint's own pool serves */
} ShimNextStruct;

extern ShimNextStruct ShimNext;

enum { ShimEarlySIZE = 65536 };
extern char ShimEarly[ShimEarlySIZE];

/* ShimEarlyTake -- from the little memory that serves while the table is being chosen, and in lookups.  It is never given
 * back.  NULL: there is none left
 * ShimIsEarly -- is `p` from there? */
extern void *ShimEarlyTake(Size size, Size align);

static inline Bool ShimIsEarly(const void *p)
{
  return (Word)p - (Word)ShimEarly < ShimEarlySIZE;
}

/* ShimForked -- the child of a fork has a trace of its own: name the pool there, and its thread
 * ShimForkStart -- register what is to be done at each fork; once, and before anybody else does */
extern void ShimForked(void);
extern void ShimForkStart(void);

/* ShimStart -- choose, if nobody has, and tell of the pool */
extern void ShimStart(void);

/* ---- Calls inside calls: only the outermost one is told ----
 *
 * An operator new that calls malloc, and an allocator's malloc that calls realloc through the dynamic linker, pass our
 * wrappers twice.  The outer wrapper sets a mark of the thread while it is inside, and a wrapper that finds the mark
 * set calls on and tells nothing.  Where libc itself serves, no function of the malloc family calls another one
 * through the dynamic linker, so only the operators of C++ set the mark; where another allocator serves, functions
 * that set it (shimDeepen) stand in ShimNext.
 *
 * The mark is read only where an event is wanted, by code that reads the thread's state anyway.
 */

typedef enum ShimDepth {
  ShimOUTSIDE,  /* in no wrapper: what is called now is told */
  ShimMALLOC,   /* inside a function of the malloc family */
  ShimOPERATOR, /* inside an operator new or delete */
  ShimINSIDE = ShimMALLOC | ShimOPERATOR,
  ShimLOOKUP = 4    /* the library looks something up: what is allocated is its own, what is freed is told */
} ShimDepth;

/* ShimWithin -- what the calling thread is inside of: a ShimDepth */
extern __thread unsigned ShimWithin __attribute__((tls_model("initial-exec")));

/* SITE -- where the caller of a wrapper goes on. */
#define SITE __builtin_return_address(0)

/* SHIM_TELL -- the event `name` of an outermost call, or, where sites are wanted, the one that has the site besides */
#define SHIM_TELL(format, name, site, ...) \
  do { \
    if (UNLIKELY(ShimWithin != ShimOUTSIDE)) \
      break; \
    if (LIKELY(!ShimNext.sites)) \
      EVENT_##format(name, __VA_ARGS__); \
    else \
      EVENT_##format##A(name##Site, __VA_ARGS__, (Addr)(site)); \
  } while (0)

#endif /* MALLOC_SHIMNEXT_H */
