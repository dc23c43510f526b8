/* heapdata.h -- what the live heaps of a log's processes consist of, for what feeds, saves and shows them
 *
 * Always true (HeapCheck):
 *   out <= fetched <= in;  in - out <= HeapQUEUE, and none of these inputs is of a process that has been forgotten
 *   each pool that lives, and each thread, is in the bucket of its address or number; a pool in `dead` has no table
 *   of a process of the log there is the process, or what is known of its past, but not both
 *   the process that `kept` names has ended; `child` of a process names one of the log
 *
 * Design: design/view.md .heap      Tests: test/heap/heaptest.c, test/heap/heapattest.c
 */
#ifndef HEAP_HEAPDATA_H
#define HEAP_HEAPDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/headertimes.h"
#include "heap/heap.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

enum {
  HeapBUCKETS = 256,
  HeapRECENT = 64
};

typedef struct HeapProcessStruct {
  HeapReorderStruct order;
  Heap heap;
  LogProcess log;
  HeapSeenStruct seen;                /* but for what HeapProcessSeen adds */
  Registry registry;
  HeapPlan plans;                     /* of the types of `registry`, by number; the heap's */
  Bool met;                           /* it had an event: before that no client knows of it */
  /* The processes that ended last are kept with their objects, in a list, in case no other process lives on: then they
   * are what is shown at the end. */
  Bool ended;                         /* it has ended, and is in that list */
  uint64_t last;                      /* if so: ns of the last event of all from here to the list's end */
  Index beside;                       /* if so: the number of the next process of the list, plus one; 0: none */
  Count pools, threads;
  Count inherited;                    /* so many of these threads were the parent's */
  Index child;                        /* number of the process that it has just forked, plus one; 0: none */
  uint32_t forker;                    /* and the thread that did */
  uint64_t childTime;                 /* when the child certainly was there */
  HeapPool lastPool;                  /* the one looked up last */
  HeapPool pool[HeapBUCKETS];         /* those alive, by address */
  HeapPool dead;                      /* destroyed pools: their numbers stay valid */
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

/* A process of the log: one of the two is NULL, or both. */
typedef struct HeapPlaceStruct {
  HeapProcess process; /* NULL if it had no event, or has ended */
  HeapSeen past;       /* what is known of one that has ended */
} HeapPlaceStruct;

struct HeapStruct {
  HeapClientStruct client;
  Log log;
  OfProcess of;          /* whose processes are shown; NULL: all are */
  Count count, capacity;
  HeapPlaceStruct *place; /* owned; by the log's number */
  Count living;          /* recorded programs among the processes that have not ended */
  Index kept;            /* number of the ended process that is kept, plus one; 0: none.  Its objects, and those of all
                            that are kept with it (`beside`), are shown while no other process lives: one process may
                            have several emitters, each of which is a process of the log. */
  HeaderTimesStruct times;
  Count forgotten;       /* children that were given up before an event of them came; heapfork.c */
  Count unlooked;        /* forks since the memory of children without events was checked last */
  HeapPlans plans;
  HeapOffStruct off;     /* `times`, `ns` and `until` */
  Bool later, earlier;   /* the events begin later than the log, or end earlier; */
  Bool counted;          /* because of a count, so that the time of the end is unknown */
  uint8_t *ahead;        /* owned; for so many processes, by number, if `earlier`: the state found by looking ahead
                            (switchedoff.c) */
  Count aheads;          /* 0: nobody has looked */
  Count objectTypes;
  uint32_t mark;
  Bool prompt;           /* nothing stays in the queue */
  Index in, fetched, out; /* of inputs, in the order of their coming: so many were put into the queue; the processor has
                            been told to fetch what they need; they were applied */
  struct {
    HeapReorder order;
    HeapInputStruct input;
  } queue[HeapQUEUE];    /* of all processes, so that clients get operations in one order; place i % HeapQUEUE for out
                            <= i < in */
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

/* HeapKeptRank -- how a process that ends stands to those that are kept: it is one more of them (0), or comes in their
 * place (1), or does not (-1), because they have the latest event.  If a parent's end is noticed first, the end of its
 * child is reported last.
 *
 * Emitters of one process have its number; if it ran another program before, that one was not kept when this one had
 * its first event. */
extern int HeapKeptRank(Heap heap, HeapProcess process);

/* HeapShows -- is this a recorded program, and one of those that are shown? */
extern Bool HeapShows(Heap heap, HeapProcess process);

/* HeapProcessAt -- the state of the log's process `number`; NULL: there is none */
static inline HeapProcess HeapProcessAt(Heap heap, Index number)
{
  return number < heap->count ? heap->place[number].process : NULL;
}

/* HeapProcessOf -- the state of the log's process `number`, made if there is none; NULL: no memory */
extern HeapProcess HeapProcessMake(Heap heap, Index number);

static inline HeapProcess HeapProcessOf(Heap heap, Index number)
{
  HeapProcess process = HeapProcessAt(heap, number);

  return LIKELY(process != NULL) ? process : HeapProcessMake(heap, number);
}

/* HeapSeenTypes -- room for the counts of so many types; FALSE: no memory */
extern Bool HeapSeenTypes(HeapSeen seen, Count types);

/* HeapProcessSeen -- everything seen of a process until now; `counts` stay the process's */
extern HeapSeenStruct HeapProcessSeen(HeapProcess process);

/* HeapProcessRegistry -- the process has another registry, or its registry has more types; FALSE: no memory */
extern Bool HeapProcessRegistry(Heap heap, HeapProcess process, LogProcess log);

/* HeapProcessMeet -- the first event of a process has come, or the first after it seemed to have ended: processes that
 * had its number before end, and the client gets what it begins with.  `thread` is the event's.
 * HeapProcessPid -- all that have this number in the system of `reporter` end, if the log has no later blocks of them;
 * but for the reporter itself, and for one that runs `program`, of `length` bytes, if that is not NULL */
extern void HeapProcessMeet(Heap heap, HeapProcess process, HeapThread thread, uint64_t time);
extern void HeapProcessPid(Heap heap, LogProcess reporter, uint32_t pid, const char *program, Size length,
                           uint64_t time);

/* HeapProcessDrop -- forget its objects, and keep what HeapLook needs of ended processes */
extern void HeapProcessDrop(Heap heap, HeapProcess process);

/* HeapProcessesFree -- forget all processes */
extern void HeapProcessesFree(Heap heap);

/* HeapPoolsByNumber -- the pools that live in a process, or none if it is NULL, in the order of their appearance, in an
 * array that the caller frees.  ResMEMORY. */
extern Res HeapPoolsByNumber(HeapPool **poolsReturn, Count *countReturn, HeapProcess process);

/* HeapThreadsByNumber -- the same of all threads that a process ever had, which are as many as their numbers */
extern Res HeapThreadsByNumber(HeapThread **threadsReturn, Count *countReturn, HeapProcess process);

/* HeapPoolBucket, HeapThreadBucket -- the chain in which a pool or a thread is */
extern HeapPool *HeapPoolBucket(HeapProcess process, uint64_t addr);
extern HeapThread *HeapThreadBucket(HeapProcess process, uint32_t id);

/* HeapThreadNew -- the thread of the event, if it is not in `recent`; NULL: no memory
 * HeapThreadStart -- the event is its thread's ThreadStart */
extern HeapThread HeapThreadNew(HeapProcess process, LogEvent event);
extern void HeapThreadStart(HeapProcess process, LogEvent event);

/* HeapOffBegins -- an event on the process's heap has come, perhaps the first; were kinds off until then?
 * HeapOffOn -- a KindsOn of it has come
 * HeapOffUnsent -- an event of it has come that only the flight recorder had
 * HeapOffState -- a StateBegin of it has come */
extern Bool HeapOffBegins(Heap heap, HeapProcess process, uint64_t time);
extern void HeapOffOn(Heap heap, HeapProcess process, LogEvent event);
extern void HeapOffUnsent(Heap heap, HeapProcess process, uint64_t time);
extern void HeapOffState(Heap heap, HeapProcess process, uint64_t time);

/* HeapProcessSettle -- apply or give up all that is queued, held back or being resized in the process */
extern void HeapProcessSettle(HeapProcess process);

#endif /* HEAP_HEAPDATA_H */
