/* livetop.h -- the first so many of any number of objects, by an order
 *
 * Always true: until LiveTopSort, no element comes before its parent in the order of `before`: the last is at the
 * front.
 *
 * Design: design/view.md .live      Tests: test/live.t
 */
#ifndef VIEW_LIVETOP_H
#define VIEW_LIVETOP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heaporder.h"

typedef struct LiveObjectStruct {
  HeapPool pool;
  HeapObjectStruct object;
} LiveObjectStruct, *LiveObject;

/* LiveBefore -- does `a` come before `b`?  For qsort, too: less than, equal to or greater than 0. */
typedef int (*LiveBefore)(const void *a, const void *b);

typedef struct LiveTopStruct {
  LiveBefore before;
  Count count, most;
  LiveObject object; /* owned */
} LiveTopStruct, *LiveTop;

/* LiveTopInit -- none yet, `most` at most.  ResMEMORY.  LiveTopFinish gives its memory back. */
extern Res LiveTopInit(LiveTop top, Count most, LiveBefore before);
extern void LiveTopFinish(LiveTop top);

/* LiveTopAdd -- an object, which is kept if it is one of the first.  Cost: mostly one comparison. */
extern void LiveTopAdd(LiveTop top, HeapPool pool, HeapObject object);

/* LiveTopSort -- all have been added: put them into their order */
extern void LiveTopSort(LiveTop top);

#endif /* VIEW_LIVETOP_H */
