/* heapwalk.h -- what a heap has come to: what lives in it, and what is not settled yet
 *
 * Objects and events are those of one process of the log.  Nothing of the heap changes, but that what waits in its
 * queue is taken.
 *
 * Design: design/view.md .heap.walk      Tests: test/cut.t
 */
#ifndef VIEW_HEAPWALK_H
#define VIEW_HEAPWALK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heap.h"

/* HeapHas -- may something live in the process?  So it may in a child of fork before an event of it has come, and not in
 * one that has ended. */
extern Bool HeapHas(Heap heap, Index process);

/* HeapPending -- tell `hook` of the beginnings of the resizes that have not ended, and of the events that still wait to
 * come true, in no order
 * begun    it is such a beginning
 * object   of which, if that is known; else NULL */
extern void HeapPending(Heap heap, Index process,
                        void (*hook)(void *data, HeapInput input, Bool begun, HeapObject object), void *data);

/* HeapObjects -- tell `hook` of each object that lives, pool by pool, the oldest first; those that are being resized
 * are among them, as they were, and are those that HeapPending names.  `thread` is who allocated it.  ResMEMORY. */
extern Res HeapObjects(Heap heap, Index process,
                       void (*hook)(void *data, HeapPool pool, HeapThread thread, HeapObject object), void *data);

/* HeapStating -- does the process still tell what it already has (heapstate.h)?
 * HeapGone -- if so, tell `hook` of the addresses of objects that have gone since it began to
 * HeapIsGone -- is this one of them?  Another object may be there now. */
extern Bool HeapStating(Heap heap, Index process);
extern Bool HeapIsGone(Heap heap, Index process, HeapPool pool, uint64_t addr);
extern void HeapGone(Heap heap, Index process, void (*hook)(void *data, HeapPool pool, uint64_t addr), void *data);

#endif /* VIEW_HEAPWALK_H */
