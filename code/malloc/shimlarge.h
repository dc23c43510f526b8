/* shimlarge.h -- the program's large objects, and how much of each it has touched
 *
 * Programs allocate tables of which they use a part: only the kernel knows which pages are there.  So the large objects
 * that live are kept in a table, and when one is freed or resized, or the process ends, its pages are counted (mincore)
 * and an event says how many bytes there are (PoolTouch).  Counting takes less than a hundredth of the time, unless
 * libc is about to give the memory back to the system, which takes longer by far: what is not counted has no event.
 *
 * Any thread may call these functions, also in a signal handler and after fork.  No function changes errno.
 *
 * Always true: a hint is the number of objects in the table whose first page it stands for; an object is in the table
 * once at most.
 *
 * Design: design/shim.md .shim.large      Tests: test/malloc/touched.t
 */
#ifndef MALLOC_SHIMLARGE_H
#define MALLOC_SHIMLARGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/large.h"
#include "base/types.h"

enum { ShimLargeHINTS = 1024 };

/* Of large objects, by the number of their first page. */
extern uint16_t ShimLargeHint[ShimLargeHINTS];

/* ShimLargeMay -- may there be a large object at `p`?  One load: for the path of each free. */
static inline Bool ShimLargeMay(const void *p)
{
  return __atomic_load_n(&ShimLargeHint[(Word)p >> 12 & (ShimLargeHINTS - 1)], __ATOMIC_RELAXED) != 0;
}

/* ShimLargeNew -- the program has allocated an object of at least LargeSIZE bytes.  Its pages will not be counted if
 * the table is full, or events of objects are off.
 * ShimLargeGone -- the object at `p`, if it is a large one, is about to be freed
 * ShimLargeMoves -- the same of one that is about to be resized; returns its size, with which it is new again if that
 * fails, or 0
 * ShimLargeEnd -- the process ends: tell of those that live, as far as that takes no longer than so many ns */
extern void ShimLargeNew(void *p, Size size);
extern void ShimLargeGone(void *p);
extern Size ShimLargeMoves(void *p);
extern void ShimLargeEnd(uint64_t ns);

#endif /* MALLOC_SHIMLARGE_H */
