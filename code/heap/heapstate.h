/* heapstate.h -- live objects out of a state dump: those that a process had before it was recorded
 *
 * Between StateBegin and StateEnd the events of what happens go on, among those that tell what is.  What happens is
 * stronger: an object that was freed meanwhile is gone, though it is told of later; one that is told of may have its
 * allocation told once more, by a thread that was in the middle of it.
 *
 * Always true: an object that is `told` was told of, and nothing of its own has been heard since; one that is `stale`
 * lived before StateBegin, as far as was known, and has not been told of yet.  An allocation on either replaces it.
 *
 * Design: design/view.md .heap.state      Tests: test/heap/heaptest.c, test/emit/state.t
 */
#ifndef HEAP_HEAPSTATE_H
#define HEAP_HEAPSTATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heapreorder.h"

/* HeapStateBegin, HeapStateEnd -- the process begins and ends to tell.  In between: what cannot be matched is no fault.
 * HeapStateThread, HeapStatePool -- at the beginning, for each thread and each pool that is known */
extern void HeapStateBegin(HeapReorder order, uint64_t time);
extern void HeapStateThread(HeapReorder order, HeapThread thread);
extern void HeapStatePool(HeapReorder order, HeapPool pool);
extern void HeapStateEnd(HeapReorder order, uint64_t time);

/* HeapStateGone -- an object is freed or resized while the process tells
 * HeapStateIsGone -- has one been at this address?  Another may be there now. */
extern void HeapStateGone(HeapReorder order, HeapPool pool, uint64_t addr);
extern Bool HeapStateIsGone(HeapReorder order, HeapPool pool, uint64_t addr);

/* HeapStateAddr -- the address whose key in order->gone is `key`, if it is one of this pool's; else something that is
 * no user's address */
static inline uint64_t HeapStateAddr(uint64_t key, HeapPool pool)
{
  return key ^ ((uint64_t)pool->number + 1) << 48;
}

/* HeapStateLive -- the process tells of an object; TRUE: it is new to us */
extern Bool HeapStateLive(HeapReorder order, HeapInput input);

/* HeapStatePurge -- all objects of the pool have been told: what else was known is gone */
extern void HeapStatePurge(HeapReorder order, HeapPool pool, HeapThread thread, uint64_t time);

/* HeapStateUnmatched -- count an event on an object that was never seen */
extern void HeapStateUnmatched(HeapReorder order, HeapInput input);

#endif /* HEAP_HEAPSTATE_H */
