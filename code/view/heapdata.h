/* heapdata.h -- what the live heaps of a log's processes consist of, for what feeds, saves and shows them
 *
 * Always true: in - out <= HeapQUEUE;  each pool that lives is in the bucket of its address, each other one in `dead`,
 * with no table.
 *
 * Design: design/view.md .heap      Tests: test/heaptest.c, test/heapsavetest.c
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
  Count saves;                        /* how often it has been saved; heapsave.c */
  HeapPool lastPool;                  /* the one looked up last */
  HeapPool pool[HeapBUCKETS];         /* those alive, by address */
  HeapPool dead;                      /* those destroyed: their numbers stay good */
  HeapTableStruct arenas;             /* those alive; `client` is the grain */
  HeapThread thread[HeapBUCKETS];
  struct {
    uint32_t stream;
    HeapThread thread;
  } recent[HeapRECENT];
  Index in, out;
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

/* HeapProcessOf -- the state of the log's process `number`, made if there is none; NULL: no memory */
extern HeapProcess HeapProcessOf(Heap heap, Index number);

/* HeapPoolBucket, HeapThreadBucket -- where a pool or a thread is looked for */
extern HeapPool *HeapPoolBucket(HeapProcess process, uint64_t addr);
extern HeapThread *HeapThreadBucket(HeapProcess process, uint32_t serial, uint32_t id);

/* HeapDrain -- take what is queued: its turn would come with the next event */
extern void HeapDrain(HeapProcess process);

#endif /* VIEW_HEAPDATA_H */
