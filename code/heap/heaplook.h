/* heaplook.h -- queries about a heap: arenas, pools, threads and objects, and what is not settled yet
 *
 * The arrays are the caller's to free, what their elements point to is the heap's, and good until its next event.  The
 * objects of a pool are in its table; those that are being resized are not there (HeapObjectLives).
 *
 * Nothing of the heap changes by being looked at, but that what waits in its queue is taken for what is told by hooks.
 *
 * Design: design/view.md .state, .heap.walk      Tests: test/heap/managerstatetest.c, test/export/extract.t
 */
#ifndef HEAP_HEAPLOOK_H
#define HEAP_HEAPLOOK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"

/* HeapLookPools -- the pools that live, in the order of their appearance; no event of the process: none.  ResMEMORY.
 * HeapLookThreads -- the threads that were ever seen, those of its parent at first, in the same order
 * HeapLookArenas -- the arenas that live, by age: `client` is the grain */
extern Res HeapLookPools(HeapPool **poolsReturn, Count *countReturn, Heap heap, Index process);
extern Res HeapLookThreads(HeapThread **threadsReturn, Count *countReturn, Heap heap, Index process);
extern Res HeapLookArenas(HeapObject *arenasReturn, Count *countReturn, Heap heap, Index process);

/* HeapLookTally -- how well the events of a process fitted together; no event of it: all 0 */
extern void HeapLookTally(HeapTally tallyReturn, Heap heap, Index process);

/* HeapLookSum -- what lives in a process, or lived when it ended, and what lived at its peak; no event of it: all 0 */
extern void HeapLookSum(HeapSum sumReturn, Heap heap, Index process);

/* HeapDoubt -- so many objects more or less it may have: other threads of its parent were at work when it was forked */
extern uint64_t HeapDoubt(Heap heap, Index process);

/* HeapEnded -- has it ended, so that nothing lives in it?  If no process lives, the last one that did has not, here:
 * what lived in it then is still to be seen. */
extern Bool HeapEnded(Heap heap, Index process);

/* HeapLiving -- how many recorded programs live, as far as is known */
extern Count HeapLiving(Heap heap);

/* HeapSeen -- what has been seen of the log's process `number`; FALSE: no event of it
 * countsReturn  events by the type's place in the registry; good until HeapDestroy */
extern Bool HeapSeen(Count *threadsReturn, const uint64_t **countsReturn, Heap heap, Index number);

/* HeapLeader -- has an event of the thread that has its process's number been seen? */
extern Bool HeapLeader(Heap heap, Index process);

/* HeapTallySum -- of all processes
 * HeapObjectTypes -- how many types were met that allocate, free, or tell what lives */
extern void HeapTallySum(HeapTally tallyReturn, Heap heap);
extern Count HeapObjectTypes(Heap heap);

/* HeapHas -- may something live in the process?  So it may in a child of fork before an event of it has come, and not
 * in one that has ended. */
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

#endif /* HEAP_HEAPLOOK_H */
