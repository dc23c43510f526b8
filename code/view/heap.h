/* heap.h -- the live heap of every process in a log, fed with the log's events
 *
 * What allocates, frees or resizes is known by name: an event type called PoolAlloc whose parameters are called pool,
 * addr and size is understood, whatever its code and whoever's registry it comes from.  Each process has objects, pools
 * and threads of its own.  The owner's hook is told of clean operations, in repaired order (heaporder.h).
 *
 * Events pass through a short queue, so that the memory that each one needs is on its way before its turn comes: what
 * the hook is told lags behind the events by up to HeapQUEUE of them, and by what is held back.
 *
 * Design: design/view.md .heap      Tests: test/heaptest.c
 */
#ifndef VIEW_HEAP_H
#define VIEW_HEAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "view/heaporder.h"
#include "view/ofprocess.h"

enum {
  HeapQUEUE = 32,
  HeapOffMIN = 1000000 /* ns; nobody switches kinds off and on from outside in less */
};

typedef struct HeapStruct *Heap;

/* HeapCreate -- no processes, no objects yet, of those of `log`; `client` is copied.  ResMEMORY. */
extern Res HeapCreate(Heap *heapReturn, HeapClient client, Log log);
extern void HeapDestroy(Heap heap);

/* HeapOf -- only these processes are shown, and count as living; events of others are there because these inherit of
 * them, and the client is told of those, too
 * of  the caller's, and stays; NULL, as at first: all */
extern void HeapOf(Heap heap, OfProcess of);

/* HeapClear -- as HeapCreate made it; its client is told nothing */
extern void HeapClear(Heap heap);

/* HeapWants -- is the type one of those that HeapEvent understands?  For a request's `choose`. */
extern Bool HeapWants(EventType type);

/* HeapTells -- the same, but for those that only say that threads and processes begin and end */
extern Bool HeapTells(EventType type);

/* HeapEvent -- take an event, in the order of LogRead; one that is not understood is only counted
 * cost: about 20 ns for one on an object, hook not counted */
extern void HeapEvent(Heap heap, LogEvent event);

/* HeapMark -- `mark` goes with each event from here on, and the operation that it becomes is told with it; 0 at first
 * HeapPrompt -- from now on each event is told of at once, unless it is held back, and does not wait in the queue: for
 * whoever needs operations and events in one order.  Slower where the heap is large. */
extern void HeapMark(Heap heap, uint32_t mark);
extern void HeapPrompt(Heap heap);

/* HeapUntil -- all events before `time` have come: children are made, and processes end, until then, though nobody tells
 * anything any more */
extern void HeapUntil(Heap heap, uint64_t time);

/* HeapCatchUp -- tell the hook of what is queued; what is held back stays so */
extern void HeapCatchUp(Heap heap);

/* HeapSettle -- all events have come: tell the hook of what is still queued or held back
 * ResMEMORY: memory ran out at some time, and what was told is not the whole. */
extern Res HeapSettle(Heap heap);

#endif /* VIEW_HEAP_H */
