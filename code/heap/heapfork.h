/* heapfork.h -- a child of fork begins with the objects of its parent
 *
 * When the child was made is said by its header: after all that the forking thread had told before, and not later than
 * the child looked at the clock.  What other threads of the parent did in between may have happened before or after:
 * the child has what lived at the earlier time, and what it does afterwards decides about the rest.
 *
 * What may be wrong all the same is bounded (HeapDoubt): a call of another thread may not have been done.
 *
 * The tables of parent and child are shared until one of the two changes them.
 *
 * Design: design/view.md .heap.fork      Tests: test/emit/fork.t
 */
#ifndef HEAP_HEAPFORK_H
#define HEAP_HEAPFORK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heapreorder.h"
#include "log/log.h"

/* A fork of which a header tells. */
typedef struct HeapForkStruct {
  uint64_t before, after; /* ns: the child is made in between */
  Index parent, child;    /* processes of the log */
  uint32_t thread;        /* the one that forked */
  Bool forgotten;         /* the child was waited for, and given up */
} HeapForkStruct, *HeapFork;

/* Those that are still to come, in the order of `before`, from `next` on. */
typedef struct HeapForksStruct {
  Count looked;      /* processes of the log whose headers have been looked at */
  Index next;
  Count count, capacity;
  HeapFork fork;     /* owned */
  uint64_t time;     /* `before` of the next; UINT64_MAX: none */
  Count forgotten;   /* of them */
  Count unlooked;    /* so many were done since it was looked at what those hold that are waited for */
} HeapForksStruct, *HeapForks;

struct HeapStruct;
struct HeapProcessStruct;

/* HeapForkParent -- the process of the log whose child by fork this one is, or NULL */
extern LogProcess HeapForkParent(Log log, LogProcess child);

/* HeapForkLate -- was it made past the library, so that it is only known when it came to its first event? */
extern Bool HeapForkLate(LogProcess child);

/* HeapForksLook -- look for processes that the log did not have before.  ResMEMORY.
 * HeapForksFree -- forget all */
extern Res HeapForksLook(struct HeapStruct *heap);
extern void HeapForksFree(HeapForks forks);

/* HeapForksDo -- do those that come before `time` */
extern void HeapForksDo(struct HeapStruct *heap, uint64_t time);

/* HeapForkMet -- the process's first event has come; was it given up before that? */
extern void HeapForkMet(struct HeapStruct *heap, struct HeapProcessStruct *process);

/* HeapForkTell -- tell the client of each object that a process begins with, as of allocations of `thread` */
extern void HeapForkTell(struct HeapStruct *heap, struct HeapProcessStruct *process, HeapThread thread);

/* HeapForkSee -- an event of a process that has just forked: if another thread's, the child may have seen what it does,
 * or not */
extern void HeapForkSee(struct HeapStruct *heap, struct HeapProcessStruct *parent, HeapInput input);

/* HeapForkCome -- an event takes away what is not there: did its process inherit that perhaps?  Then it is there now.
 * HeapForkGone -- an event brings something to where an object lives: was that gone perhaps when the process was
 * forked?  Then it is now. */
extern Bool HeapForkCome(HeapReorder order, HeapInput input);
extern Bool HeapForkGone(HeapReorder order, HeapInput input);

/* HeapForkDoubts -- may it be found out later that the process has inherited more, or that its newest child has?
 * HeapForkHad -- that has been found out: from now on the object is there, unless something else is.  ResMEMORY. */
extern Bool HeapForkDoubts(struct HeapStruct *heap, Index process);
extern Res HeapForkHad(struct HeapStruct *heap, Index process, uint64_t pool, const HeapObjectStruct *object);

#endif /* HEAP_HEAPFORK_H */
