/* heapfork.h -- a child of fork begins with the objects of its parent
 *
 * The child's header block gives two times: the fork happened after all earlier events of the forking thread, and not
 * later than the child's first look at the clock.  Other threads' events in between may have happened before or after
 * the fork: the child gets what lived at the earlier time, and its own later events decide about the rest.
 *
 * The remaining error is bounded (`doubt`): a call of another thread may have been unfinished.
 *
 * Parent and child share their tables until one of the two changes them.
 *
 * Design: design/view.md .heap.fork      Tests: test/emit/fork.t
 */
#ifndef HEAP_HEAPFORK_H
#define HEAP_HEAPFORK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/headertimes.h"
#include "heap/heapreorder.h"
#include "log/log.h"

struct HeapStruct;
struct HeapProcessStruct;

/* HeapForkLate -- was the child made by a system call past the library?  Then only the time of its first event is
 * known. */
extern Bool HeapForkLate(LogProcess child);

/* HeapForkDo -- a process forks: its child begins with the parent's objects, pools and threads */
extern void HeapForkDo(struct HeapStruct *heap, HeaderTime fork);

/* HeapForkMet -- the process's first event has come: count it as forgotten if it was given up before that */
extern void HeapForkMet(struct HeapStruct *heap, struct HeapProcessStruct *process);

/* HeapForkTell -- call the client's `alloc` for each object that a process begins with, as if `thread` had allocated
 * it */
extern void HeapForkTell(struct HeapStruct *heap, struct HeapProcessStruct *process, HeapThread thread);

/* HeapForkSee -- an event of a process that has just forked: if it is another thread's, it may have happened before or
 * after the fork */
extern void HeapForkSee(struct HeapStruct *heap, struct HeapProcessStruct *parent, HeapInput input);

/* HeapForkCome -- an event frees or resizes an object that is not there.  If the process may have inherited it, it is
 * there afterwards.
 * HeapForkGone -- an event brings an object to an address where another lives.  If that may have been gone when the
 * process was forked, it is gone afterwards. */
extern Bool HeapForkCome(HeapReorder order, HeapInput input);
extern Bool HeapForkGone(HeapReorder order, HeapInput input);

/* HeapForkDoubts -- can later events show that the process, or its newest child, has inherited more?
 * HeapForkHad -- later events have shown it: add the object, unless another is at its address.  ResMEMORY. */
extern Bool HeapForkDoubts(struct HeapStruct *heap, Index process);
extern Res HeapForkHad(struct HeapStruct *heap, Index process, uint64_t pool, const HeapObjectStruct *object);

#endif /* HEAP_HEAPFORK_H */
