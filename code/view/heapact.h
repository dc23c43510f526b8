/* heapact.h -- what an event does to the live objects, once it can be true
 *
 * The client is told here, and resizes are kept here from their begin to their end.  When an event's turn comes is
 * heaporder.c's business.
 *
 * Design: design/view.md .heap.order      Tests: test/heaptest.c
 */
#ifndef VIEW_HEAPACT_H
#define VIEW_HEAPACT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heaporder.h"

/* HeapActPlace -- the address that an event waits for: a failed resize wants its old one back */
static inline uint64_t HeapActPlace(HeapInput input)
{
  return input->kind == HeapInEND && input->addr == 0 ? input->old : input->addr;
}

/* HeapActBrings -- does the event bring an object to its place, rather than take one away? */
static inline Bool HeapActBrings(HeapInput input)
{
  return input->kind == HeapInALLOC || input->kind == HeapInEND;
}

/* HeapActOpen -- a resize begins: input->key becomes its key; an open one of the same object has lost its end
 * HeapActMatch -- find the resize that the event ends, for input->key.  If its begin was lost, what lives at the old
 * address is what was resized. */
extern void HeapActOpen(HeapOrder order, HeapInput input);
extern void HeapActMatch(HeapOrder order, HeapInput input);

/* HeapActUnknown -- the object of a resize that begins with this event was never seen */
extern void HeapActUnknown(HeapOrder order, HeapInput input);

/* HeapActOrphan -- is it the end of a resize whose object was never seen, or which was given up?
 * HeapActMay -- may `come` be told before `go`, which stands before it?  Not if it ends a resize whose begin, another
 * event than `go`, has not come true yet. */
extern Bool HeapActOrphan(HeapInput input);
extern Bool HeapActMay(HeapInput come, HeapInput go);

/* HeapActOwn -- the pool's objects are going to change: from now on nobody shares its table.  FALSE: no memory, which
 * the order remembers. */
extern Bool HeapActCopy(HeapOrder order, HeapPool pool);
static inline Bool HeapActOwn(HeapOrder order, HeapPool pool)
{
  return LIKELY(pool->table.shares == NULL) || HeapActCopy(order, pool);
}

/* HeapActTry -- do what the event says; FALSE: it cannot be true now, and nothing has been done */
extern Bool HeapActTry(HeapOrder order, HeapInput input);

/* HeapActPresume -- tell that an object has gone of which no event says so */
extern void HeapActPresume(HeapOrder order, HeapInput input, HeapObject object);

/* HeapActCome, HeapActGo -- tell of an object that is at its address no longer, and in no table: what brings it,
 * which fills in *objectReturn, and what takes it away */
extern void HeapActCome(HeapOrder order, HeapInput input, HeapObject objectReturn);
extern void HeapActGo(HeapOrder order, HeapInput input, HeapObject object);

/* HeapActPast -- tell of a resize, by its end, of an object that has been told gone */
extern void HeapActPast(HeapOrder order, HeapInput end);

#endif /* VIEW_HEAPACT_H */
