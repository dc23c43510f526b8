/* shimnext.h -- who serves the program's malloc
 *
 * A table of the functions behind the wrappers: those of the library that would have served without us (observe), or of
 * Pawprint's own pool (manage).  Each begins as a function that chooses the table and calls on, so that the wrappers
 * ask nothing.
 *
 * Design: design/shim.md      Tests: test/shim.t
 */
#ifndef MM_SHIMNEXT_H
#define MM_SHIMNEXT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

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

#endif /* MM_SHIMNEXT_H */
