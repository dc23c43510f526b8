/* shimwithin.c -- the mark of a thread that is inside an allocator
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/shimwithin.h"

__thread unsigned ShimWithin __attribute__((tls_model("initial-exec")));

/* What serves behind the functions here. */
static ShimNextStruct within;

/* WITHIN -- make a call with the mark set */
#define WITHIN(call) \
  do { \
    unsigned before = ShimWithin; \
    ShimWithin = ShimMALLOC; \
    call; \
    ShimWithin = before; \
  } while (0)

static void *withinMalloc(size_t size)
{
  void *p;

  WITHIN(p = within.malloc(size));
  return p;
}

static void withinFree(void *p)
{
  WITHIN(within.free(p));
}

static void *withinCalloc(size_t count, size_t size)
{
  void *p;

  WITHIN(p = within.calloc(count, size));
  return p;
}

static void *withinRealloc(void *old, size_t size)
{
  void *p;

  WITHIN(p = within.realloc(old, size));
  return p;
}

static void *withinMemalign(size_t align, size_t size)
{
  void *p;

  WITHIN(p = within.memalign(align, size));
  return p;
}

void ShimDeepen(ShimNextStruct *next)
{
  within = *next;
  next->malloc = withinMalloc;
  next->free = withinFree;
  next->calloc = withinCalloc;
  next->realloc = withinRealloc;
  next->memalign = withinMemalign;
}
