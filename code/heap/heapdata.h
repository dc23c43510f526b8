/* heapdata.h -- what the live heaps of a log's processes consist of, for what feeds, saves and shows them
 *
 * Always true: in - out <= HeapQUEUE, and of no process that has been forgotten;  each pool that lives is in the bucket
 * of its address, each other one in `dead`, with no table;  of a log's process number i, process[i] or past[i] is NULL:
 * what lives is known of those that live, and of the one that `kept` names
 *
 * Design: design/view.md .heap      Tests: test/heap/heaptest.c, test/heap/managerstatetest.c
 */
#ifndef HEAP_HEAPDATA_H
#define HEAP_HEAPDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/exittimes.h"
#include "heap/heap.h"
#include "heap/heapfork.h"
#include "heap/switchedoff.h"

enum {
  HeapBUCKETS = 256,
  HeapRECENT = 64
};

/* What is known of a process whether it lives or not. */
typedef struct HeapPastStruct {
  uint64_t *counts;    /* owned; events by the type's place in the registry, */
  Count types;         /* so many of them; 0 of those behind */
  Count threads;       /* of its own */
  Bool leader;         /* among these the one with the number of the process */
  Bool told;           /* it has told of objects, or begun to tell what it has */
  uint64_t unsentLast; /* ns of the last event that the flight recorder had, */
  uint64_t unsentFrom; /* and of the last on its heap that was sent before that; 0: there is none */
  uint64_t on;         /* ns when it told last that kinds were on again; 0 */
  uint64_t last;       /* ns of its last event on its heap, */
  HeapTallyStruct tally;
  HeapSumStruct sum;   /* and what lived in it, when it ended */
} HeapPastStruct, *HeapPast;

typedef struct HeapProcessStruct {
  HeapReorderStruct order;
  Heap heap;
  LogProcess log;
  HeapPastStruct seen;                /* `threads`, `last`, `tally` and `sum` once it has ended; until then `order` has them */
  Registry registry;
  HeapPlan plans;                     /* of the types of `registry`, by their place; the heap's */
  Bool met;                           /* an event of it has come: until then nobody is told of it */
  Bool ended;                         /* and its objects are kept nevertheless, because nobody may live on; */
  uint64_t last;                      /* then, ns of its last event */
  Count pools, threads;
  Count inherited;                    /* of these threads, so many were its parent's */
  Count saves;                        /* how often it has been saved; heapsave.c */
  Index child;                        /* number of the process that it has just forked, plus one; 0: none */
  uint32_t forker;                    /* and the thread that did */
  uint64_t childTime;                 /* when the child certainly was there */
  HeapPool lastPool;                  /* the one looked up last */
  HeapPool pool[HeapBUCKETS];         /* those alive, by address */
  HeapPool dead;                      /* those destroyed: their numbers stay good */
  HeapTableStruct arenas;             /* those alive; `client` is the grain */
  HeapThread thread[HeapBUCKETS];     /* by the system's number, the newest first */
  struct {
    uint32_t stream;
    HeapThread thread;
  } recent[HeapRECENT];
} HeapProcessStruct, *HeapProcess;

/* Plans for the types of a registry, which many processes may have. */
typedef struct HeapPlansStruct {
  Registry registry;
  Bool swapped;
  struct HeapPlansStruct *next;
  HeapPlanStruct plan[RegistryTypesMAX];
} HeapPlansStruct, *HeapPlans;

struct HeapStruct {
  HeapClientStruct client;
  Log log;
  OfProcess of;          /* whose processes are shown; NULL: all are */
  Count count;           /* places in `process` and `past` */
  HeapProcess *process;  /* by the log's number; NULL where no event has come, or it has ended */
  HeapPast *past;        /* the same of those that have ended */
  Count living;          /* recorded programs among the processes that have not ended */
  Index kept;            /* number of the one that has ended and is kept, plus one; 0: none.  Its objects are shown while
                            nobody lives. */
  HeapForksStruct forks;
  GoneStruct gone;
  HeapPlans plans;
  HeapOffStruct off;     /* `times`, `ns` and `until` */
  Bool later, earlier;   /* not all events come: none of the log's first, none of its last; */
  Bool counted;          /* and nobody knows how far they come */
  uint8_t *ahead;        /* owned; of so many processes, by the log's number, if `earlier`: what comes later */
  Count aheads;          /* 0: nobody has looked */
  Count objectTypes;
  uint32_t mark;
  Bool prompt;           /* nothing stays in the queue */
  Index in, out;
  struct {
    HeapReorder order;
    HeapInputStruct input;
  } queue[HeapQUEUE];    /* of all processes, so that clients are told in one order; place i % HeapQUEUE for
                            out <= i < in */
  Res res;
};

/* HeapEACHPOOL, HeapEACHTHREAD -- for each pool that lives in a process, or each thread that it ever had; `i` is an
 * Index */
#define HeapEACHPOOL(process, i, at) \
  for ((i) = 0; (i) < HeapBUCKETS; ++(i)) \
    for ((at) = (process)->pool[i]; (at) != NULL; (at) = (at)->next)
#define HeapEACHTHREAD(process, i, at) \
  for ((i) = 0; (i) < HeapBUCKETS; ++(i)) \
    for ((at) = (process)->thread[i]; (at) != NULL; (at) = (at)->next)

/* HeapShows -- is that a recorded program which is to be shown? */
extern Bool HeapShows(Heap heap, HeapProcess process);

/* HeapProcessOf -- the state of the log's process `number`, made if there is none; NULL: no memory */
extern HeapProcess HeapProcessOf(Heap heap, Index number);

/* HeapSeenTypes -- room for the counts of so many types; FALSE: no memory */
extern Bool HeapSeenTypes(HeapPast seen, Count types);

/* HeapProcessRegistry -- the process has another registry, or more types in it; FALSE: no memory */
extern Bool HeapProcessRegistry(Heap heap, HeapProcess process, LogProcess log);

/* HeapProcessMeet -- the first event of a process has come, or the first after it seemed to have ended: whoever had its
 * number before has ended, and the client is told what it begins with.  `thread` is the event's.
 * HeapProcessEnd -- it ends: the client is told, and its objects are forgotten
 * HeapProcessPid -- all that have this number in the system that `reporter` tells of end, but for one that runs
 * `program`, of `length` bytes, if that is not NULL */
extern void HeapProcessMeet(Heap heap, HeapProcess process, HeapThread thread, uint64_t time);
extern void HeapProcessEnd(Heap heap, HeapProcess process, uint64_t time);
extern void HeapProcessPid(Heap heap, LogProcess reporter, uint32_t pid, const char *program, Size length,
                           uint64_t time);

/* HeapProcessesGone -- all end that have ended before `time`, as their headers say */
extern void HeapProcessesGone(Heap heap, uint64_t time);

/* HeapProcessDrop -- forget its objects, and keep what is said of processes that have ended */
extern void HeapProcessDrop(Heap heap, HeapProcess process);

/* HeapProcessesFree -- as if nothing had ever been heard of any */
extern void HeapProcessesFree(Heap heap);

/* HeapPoolBucket, HeapThreadBucket -- where a pool or a thread is looked for */
extern HeapPool *HeapPoolBucket(HeapProcess process, uint64_t addr);
extern HeapThread *HeapThreadBucket(HeapProcess process, uint32_t id);

/* HeapThreadNew -- the thread that the event's stream belongs to, when it is not the one met last; NULL: no memory
 * HeapThreadStart -- the event says of its thread that it begins */
extern HeapThread HeapThreadNew(HeapProcess process, LogEvent event);
extern void HeapThreadStart(HeapProcess process, LogEvent event);

/* HeapOffBegins -- the process tells of its heap, perhaps for the first time; were kinds off until then?
 * HeapOffOn -- it tells which kinds are on again
 * HeapOffUnsent -- it has told something that only the flight recorder had
 * HeapOffState -- it tells what it has */
extern Bool HeapOffBegins(Heap heap, HeapProcess process, uint64_t time);
extern void HeapOffOn(Heap heap, HeapProcess process, LogEvent event);
extern void HeapOffUnsent(Heap heap, HeapProcess process, uint64_t time);
extern void HeapOffState(Heap heap, HeapProcess process, uint64_t time);

/* HeapDrain -- take what is queued: its turn would come with the next events */
extern void HeapDrain(Heap heap);

/* HeapProcessSettle -- nothing of the process is held back or being resized any longer */
extern void HeapProcessSettle(HeapProcess process);

#endif /* HEAP_HEAPDATA_H */
