/* switchedoff.h -- when a log has no events of objects because their kinds were switched off
 *
 * There are three sources.  The event KindsOn says which kinds were off, and for how long.  A state dump in a process
 * of which objects are known already means the same, if its version has no KindsOn.  A header block says which kinds
 * were sent when the recording of the process began, and which at last.
 *
 * Design: design/view.md .heap.state, .heap.off      Tests: test/emit/statedump.t
 */
#ifndef HEAP_SWITCHEDOFF_H
#define HEAP_SWITCHEDOFF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/heap.h"
#include "request/request.h"

/* All processes together. */
typedef struct HeapOffStruct {
  uint64_t times;      /* times that kinds were found to be on again, and had been off before; */
  uint64_t ns;         /* at most so many ns, all together; */
  uint64_t until;      /* when they were switched on, the last time */
  Count ends;          /* processes in which they were off at the end: */
  uint64_t from;       /* the earliest time after which one of these had no event */
  Count never;         /* processes without events on objects, in which they were off at the beginning */
} HeapOffStruct;

enum { HeapOffLinesMAX = 3, HeapOffLineMAX = 192 };

/* HeapOffPart -- only the events of this request come: times before and after them do not count
 * HeapOffAhead -- no event from `position` on has come: read on, to see which processes have events on their heaps
 * later. ResMEMORY, ResIO. */
extern void HeapOffPart(Heap heap, const LogRequestStruct *request);
extern Res HeapOffAhead(Heap heap, const LogPositionStruct *position);

/* HeapOff -- the result for all processes that are shown, or for `only` if that is not NULL, after all events */
extern HeapOffStruct HeapOff(Heap heap, LogProcess only);

/* HeapOffLine -- the `i`th sentence about it, in `line`; FALSE: there is none.  `first`: ns when the log begins */
extern Bool HeapOffLine(char line[HeapOffLineMAX], const HeapOffStruct *off, uint64_t first, Index i);

/* HeapOffText -- all sentences as lines of a view; HeapOffJson -- the numbers as members of an object */
extern void HeapOffText(FILE *out, const HeapOffStruct *off, uint64_t first);
extern void HeapOffJson(FILE *out, const HeapOffStruct *off);

#endif /* HEAP_SWITCHEDOFF_H */
