/* heapdata.h -- what is kept of the heap of each process, from the inside
 *
 * For those files that take events into a heap, and those that look at what it has come to.
 *
 * Always true: in - out <= HeapQUEUE.
 *
 * Design: design/view.md .heap      Tests: test/heaptest.c
 */
#ifndef VIEW_HEAPDATA_H
#define VIEW_HEAPDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heap.h"
#include "view/heapplan.h"

enum {
  HeapBUCKETS = 1024,
  HeapRECENT = 64
};

typedef struct HeapProcessStruct {
  HeapOrderStruct order;
  uint64_t *counts;                   /* events by the type's place in the registry, RegistryTypesMAX of them */
  HeapPlanStruct plans[RegistryTypesMAX]; /* the same way */
  Count pools, threads;
  HeapPool lastPool;                  /* the one looked up last */
  HeapPool pool[HeapBUCKETS];         /* those alive, by address */
  HeapPool dead;                      /* those destroyed: their numbers stay good */
  HeapTableStruct arenas;             /* those alive: addresses */
  HeapThread thread[HeapBUCKETS];
  struct {
    uint32_t stream;
    HeapThread thread;
  } recent[HeapRECENT];
  Index in, out;                      /* in - out <= HeapQUEUE */
  HeapInputStruct queue[HeapQUEUE];   /* place i % HeapQUEUE for out <= i < in */
} HeapProcessStruct, *HeapProcess;

struct HeapStruct {
  HeapClientStruct client;
  Count count;           /* places in `process` */
  HeapProcess *process;  /* by the log's number; NULL where no event has come */
  Count objectTypes;
  uint32_t mark;
  Bool prompt;           /* nothing stays in the queues */
  Res res;
};

/* HeapDrain -- take what waits in the queue */
extern void HeapDrain(HeapProcess process);

#endif /* VIEW_HEAPDATA_H */
