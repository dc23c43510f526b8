/* switchedoff.h -- tells where a log has no events of objects, because their kinds were switched off
 *
 * Three things tell of it.  KindsOn says which kinds were off, and for how long; who is of a version that has no such event
 * and tells what it has, although it has told of objects, has had kinds switched off, and on again.  A header block says
 * which kinds were sent when the process began to be recorded, and which at last.
 *
 * Design: design/view.md .heap.state, .heap.off      Tests: test/emit/state.t
 */
#ifndef HEAP_SWITCHEDOFF_H
#define HEAP_SWITCHEDOFF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/heap.h"
#include "request/request.h"

/* All processes together. */
typedef struct HeapOffStruct {
  uint64_t times;      /* that it was noticed that kinds were on from then on, and had been off; */
  uint64_t ns;         /* not more than so long, all together; */
  uint64_t until;      /* when they were switched on, the last time */
  Count ends;          /* processes in which they were off at last: */
  uint64_t from;       /* the earliest time after which one of these told nothing */
  Count never;         /* processes that have not told of objects, and in which they were off at first */
} HeapOffStruct;

enum { HeapOffLinesMAX = 3, HeapOffLineMAX = 192 };

/* HeapOffPart -- only the events of this request come: what was off before and behind them is nothing to it
 * HeapOffAhead -- no event from `position` on has come: look which processes tell of their heaps later.  ResMEMORY,
 * ResIO. */
extern void HeapOffPart(Heap heap, const LogRequestStruct *request);
extern Res HeapOffAhead(Heap heap, const LogPositionStruct *position);

/* HeapOff -- what is known of it, of the processes that are shown, or of `only` if that is not NULL; all that will come
 * has come */
extern HeapOffStruct HeapOff(Heap heap, LogProcess only);

/* HeapOffLine -- the `i`th sentence about it, in `line`; FALSE: there are no more.  `first`: ns when the log begins */
extern Bool HeapOffLine(char line[HeapOffLineMAX], const HeapOffStruct *off, uint64_t first, Index i);

/* HeapOffText -- all of them, as lines of a view; HeapOffJson -- as members of an object */
extern void HeapOffText(FILE *out, const HeapOffStruct *off, uint64_t first);
extern void HeapOffJson(FILE *out, const HeapOffStruct *off);

#endif /* HEAP_SWITCHEDOFF_H */
