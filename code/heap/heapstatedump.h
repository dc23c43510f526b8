/* heapstatedump.h -- live objects from a state dump: those that a process had before it was recorded
 *
 * Between StateBegin and StateEnd ordinary events stand among those of the dump, and they prevail: an object that was
 * freed meanwhile is gone although the dump lists it later.  An object that the dump lists may be allocated once more,
 * by a thread that was in the middle of its allocation.
 *
 * Always true: a `told` object was listed by a dump, and no event of its own has come since;  a `stale` object lived
 * before StateBegin, as far as is known, and the dump has not listed it yet.  An allocation at either's address
 * replaces it.
 *
 * Design: design/view.md .heap.state      Tests: test/heap/heaptest.c, test/emit/statedump.t
 */
#ifndef HEAP_HEAPSTATEDUMP_H
#define HEAP_HEAPSTATEDUMP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heapreorder.h"

/* HeapStateBegin, HeapStateEnd -- a dump begins and ends.  In between an event that matches nothing is no fault.
 * HeapStateThread, HeapStatePool -- called when a dump begins, for each thread and each pool that is known */
extern void HeapStateBegin(HeapReorder order, uint64_t time);
extern void HeapStateThread(HeapReorder order, HeapThread thread);
extern void HeapStatePool(HeapReorder order, HeapPool pool);
extern void HeapStateEnd(HeapReorder order, uint64_t time);

/* HeapStateGone -- an object is freed or resized during a dump
 * HeapStateIsGone -- was there such an object at this address?  Another may be there now. */
extern void HeapStateGone(HeapReorder order, HeapPool pool, uint64_t addr);
extern Bool HeapStateIsGone(HeapReorder order, HeapPool pool, uint64_t addr);

/* HeapStateAddr -- the key of an address in a pool, which is never 0 and no other pool's; or the address of a key,
 * which is no user's address if the key is another pool's */
static inline uint64_t HeapStateAddr(uint64_t addr, HeapPool pool)
{
  return addr ^ ((uint64_t)pool->number + 1) << 48;
}

/* HeapStateLive -- the dump lists an object; TRUE: it was unknown */
extern Bool HeapStateLive(HeapReorder order, HeapInput input);

/* HeapStatePurge -- the dump has listed all objects of the pool: presume that the others are gone */
extern void HeapStatePurge(HeapReorder order, HeapPool pool, HeapThread thread, uint64_t time);

/* HeapStateUnmatched -- count a free or resize of an unknown object */
extern void HeapStateUnmatched(HeapReorder order, HeapInput input);

#endif /* HEAP_HEAPSTATEDUMP_H */
