/* heaplook.h -- queries about a heap: arenas, pools, threads and objects, and what is not settled yet
 *
 * The caller frees the arrays.  Their elements belong to the heap, and are valid until its next event.  The objects of
 * a pool are in its table; an object that is being resized is not there (HeapObjectLives).
 *
 * A query changes nothing in the heap, except that those which call hooks apply the queue first.
 *
 * Design: design/view.md .state, .heap.walk      Tests: test/heap/heapattest.c, test/export/extract.t
 */
#ifndef HEAP_HEAPLOOK_H
#define HEAP_HEAPLOOK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"

/* HeapLookPools -- the live pools of a process in the order of their appearance; none if no event of it has come.
 * ResMEMORY.
 * HeapLookThreads -- all threads that it ever had, those of its parent first, in the order of their appearance
 * HeapLookArenas -- its live arenas by age; `client` is the grain */
extern Res HeapLookPools(HeapPool **poolsReturn, Count *countReturn, Heap heap, Index process);
extern Res HeapLookThreads(HeapThread **threadsReturn, Count *countReturn, Heap heap, Index process);
extern Res HeapLookArenas(HeapObject *arenasReturn, Count *countReturn, Heap heap, Index process);

/* What has been seen of a process, whether it has ended or not. */
typedef struct HeapSeenStruct {
  uint64_t *counts;    /* the heap's; events by the type's place in the registry, */
  Count types;         /* so many of them; 0 of those behind */
  Count capacity;      /* places in `counts` */
  Count threads;       /* of its own */
  Bool leader;         /* among these the one with the number of the process */
  Bool told;           /* it had an event on objects, or began a state dump */
  uint64_t unsentLast; /* ns of the last event that came from the flight recorder, */
  uint64_t unsentFrom; /* and of the last event on its heap that was sent before that; 0: none */
  uint64_t on;         /* ns of its last KindsOn; 0: none */
  uint64_t last;       /* ns of its last event on its heap */
  uint64_t doubt;      /* objects that it may have more or less: other threads of its parent were at work when it was
                          forked */
  HeapTallyStruct tally;
  HeapSumStruct sum;   /* what lives in it, or lived when it ended */
} HeapSeenStruct, *HeapSeen;

/* HeapLook -- what has been seen of the log's process `number`; `counts` has a place for each type of its registry,
 * and is valid until the next event.  FALSE: no event of it has come, or there is no memory; all is 0 then. */
extern Bool HeapLook(HeapSeen seenReturn, Heap heap, Index number);

/* HeapEnded -- has the process ended, so that nothing lives in it?  If no process lives, FALSE for the one with the
 * latest event, with all its emitters: its objects can still be looked at. */
extern Bool HeapEnded(Heap heap, Index process);

/* HeapLiving -- how many recorded programs live, as far as is known
 * HeapKeeps -- process `ending` ends (HeapPROCESSEND): can the objects of process `number` be looked at from then on,
 * if no process lives? */
extern Count HeapLiving(Heap heap);
extern Bool HeapKeeps(Heap heap, Index ending, Index number);

/* HeapTallySum -- how well the events of a process fitted together, or, with NULL, of all
 * HeapObjectTypes -- how many types were met that allocate, free, or tell what lives */
extern void HeapTallySum(HeapTally tallyReturn, Heap heap, LogProcess only);
extern Count HeapObjectTypes(Heap heap);

/* HeapHas -- may something live in the process?  TRUE also for a child of fork of which no event has come; FALSE for a
 * process that has ended. */
extern Bool HeapHas(Heap heap, Index process);

/* HeapPending -- call `hook` for the beginning of each resize that has not ended, and for each event that is held back,
 * in no order
 * begun    `input` is the beginning of a resize
 * object   the object that is being resized, or NULL if it is unknown */
extern void HeapPending(Heap heap, Index process,
                        void (*hook)(void *data, HeapInput input, Bool begun, HeapObject object), void *data);

/* HeapObjects -- call `hook` for each live object, pool by pool, the oldest first, and for each object that is being
 * resized as it was before, which HeapPending names, too.  `thread` allocated it.  ResMEMORY. */
extern Res HeapObjects(Heap heap, Index process,
                       void (*hook)(void *data, HeapPool pool, HeapThread thread, HeapObject object), void *data);

/* HeapLiveObjects -- call `hook` for each live object in the pools of a process, in no order; also from inside a hook
 * of the heap: nothing is applied, nothing allocated.  Objects that are being resized are left out. */
typedef void (*HeapLiveHook)(void *data, Index process, HeapPool pool, HeapObject object);
extern void HeapLiveObjects(Heap heap, Index process, HeapLiveHook hook, void *data);

/* HeapStating -- is the process in the middle of a state dump (heapstatedump.h)?
 * HeapGone -- if so, call `hook` for the address of each object that was freed or resized since the dump began
 * HeapIsGone -- is this one of those addresses?  Another object may be there now. */
extern Bool HeapStating(Heap heap, Index process);
extern Bool HeapIsGone(Heap heap, Index process, HeapPool pool, uint64_t addr);
extern void HeapGone(Heap heap, Index process, void (*hook)(void *data, HeapPool pool, uint64_t addr), void *data);

#endif /* HEAP_HEAPLOOK_H */
