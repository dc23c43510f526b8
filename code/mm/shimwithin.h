/* shimwithin.h -- calls inside calls: only the outermost one is told
 *
 * An operator new that calls malloc, and an allocator's malloc that calls realloc through the dynamic linker, pass our
 * wrappers twice.  The outer wrapper sets a mark of the thread while it is inside, and a wrapper that finds the mark
 * set calls on and tells nothing.  Where libc itself serves, no function of the malloc family calls another one
 * through the dynamic linker, so only the operators of C++ set the mark; where another allocator serves, functions
 * that set it (ShimDeepen) stand in ShimNext.
 *
 * The mark is read only where an event is wanted, by code that reads the thread's state anyway.
 *
 * Design: design/shim.md .shim.within      Tests: test/shimnew.t
 */
#ifndef MM_SHIMWITHIN_H
#define MM_SHIMWITHIN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/event.h"
#include "mm/shimnext.h"

typedef enum ShimDepth {
  ShimOUTSIDE,  /* in no wrapper: what is called now is told */
  ShimMALLOC,   /* inside a function of the malloc family */
  ShimOPERATOR, /* inside an operator new or delete */
  ShimINSIDE = ShimMALLOC | ShimOPERATOR,
  ShimLOOKUP = 4    /* the library looks something up: what is allocated is its own, what is freed is told */
} ShimDepth;

/* ShimWithin -- what the calling thread is inside of: a ShimDepth */
extern __thread unsigned ShimWithin __attribute__((tls_model("initial-exec")));

/* ShimDeepen -- let the functions of `next` be called with the mark set */
extern void ShimDeepen(ShimNextStruct *next);

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

#endif /* MM_SHIMWITHIN_H */
