/* heap.h -- the live heap of every process in a log, fed with the log's events
 *
 * What allocates, frees or resizes is known by name: an event type called PoolAlloc whose parameters are called pool,
 * addr and size is understood, whatever its code and whoever's registry it comes from.  Each process has objects, pools
 * and threads of its own.  The owner's hook is told of clean operations, in repaired order (heapreorder.h).
 *
 * Events pass through a short queue, so that the memory that each one needs is on its way before its turn comes: what
 * the hook is told lags behind the events by up to HeapQUEUE of them, and by what is held back.
 *
 * Design: design/view.md .heap, .heap.names      Tests: test/heap/heaptest.c, test/replay/replay.t
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heapreorder.h"
#include "heap/processevents.h"
#include "log/log.h"

enum {
  HeapQUEUE = 32,
  HeapOffMIN = 1000000 /* ns; nobody switches kinds off and on from outside in less */
};

typedef struct HeapStruct *Heap;

/* HeapCreate -- no processes, no objects yet, of those of `log`; `client` is copied.  ResMEMORY. */
extern Res HeapCreate(Heap *heapReturn, HeapClient client, Log log);
extern void HeapDestroy(Heap heap);

/* HeapOf -- only these processes are shown, and count as living; events of others are there because these inherit of
 * them, and the client is told of those, too
 * of  the caller's, and stays; NULL, as at first: all */
extern void HeapOf(Heap heap, OfProcess of);

/* HeapClear -- as HeapCreate made it; its client is told nothing */
extern void HeapClear(Heap heap);

/* HeapWants -- is the type one of those that HeapEvent understands?  For a request's `choose`. */
extern Bool HeapWants(EventType type);

/* HeapTells -- the same, but for those that only say that threads and processes begin and end */
extern Bool HeapTells(EventType type);

/* HeapEvent -- take an event, in the order of LogRead; one that is not understood is only counted
 * cost: about 20 ns for one on an object, hook not counted */
extern void HeapEvent(Heap heap, LogEvent event);

/* HeapMark -- `mark` goes with each event from here on, and the operation that it becomes is told with it; 0 at first
 * HeapPrompt -- from now on each event is told of at once, unless it is held back, and does not wait in the queue: for
 * whoever needs operations and events in one order.  Slower where the heap is large. */
extern void HeapMark(Heap heap, uint32_t mark);
extern void HeapPrompt(Heap heap);

/* HeapUntil -- all events before `time` have come: children are made, and processes end, until then, though nobody
 * tells anything any more */
extern void HeapUntil(Heap heap, uint64_t time);

/* HeapCatchUp -- tell the hook of what is queued; what is held back stays so */
extern void HeapCatchUp(Heap heap);

/* HeapSettle -- all events have come: tell the hook of what is still queued or held back
 * ResMEMORY: memory ran out at some time, and what was told is not the whole. */
extern Res HeapSettle(Heap heap);

/* ---- What an event type does to a heap, by its name and the names of its parameters ---- */

/* Parameters by their names, in the order of a plan's places. */
enum {
  HeapParamPOOL, HeapParamADDR, HeapParamSIZE, HeapParamALIGN, HeapParamOLD, HeapParamARENA, HeapParamCLASS,
  HeapParamVALUE, HeapParamNAME, HeapParamGRAIN, HeapParamSITE, HeapParamTHREAD, HeapParamPID, HeapParamPROGRAM,
  HeapParamLIMIT
};

/* HeapParamIsText -- is the parameter a string? */
static inline Bool HeapParamIsText(Index param)
{
  return param == HeapParamCLASS || param == HeapParamNAME || param == HeapParamPROGRAM;
}

/* What a type of event does. */
typedef enum HeapDoes {
  HeapDoesNOTHING, HeapDoesALLOC, HeapDoesZERO, HeapDoesALIGNED, HeapDoesFREE, HeapDoesBEGIN, HeapDoesEND, HeapDoesLIVE,
  HeapDoesSTATEBEGIN, HeapDoesSTATEEND, HeapDoesLIVEEND, HeapDoesKINDSON,
  HeapDoesPOOLCREATE, HeapDoesPOOLPARAM, HeapDoesPOOLDESTROY, HeapDoesARENACREATE, HeapDoesARENADESTROY,
  HeapDoesSEGALLOC, HeapDoesSEGFREE,
  HeapDoesTHREAD, HeapDoesTHREADEND, HeapDoesEXIT, HeapDoesEXEC
} HeapDoes;

/* A plan is made when `made`; param[i] is the place of parameter i among the event's, or -1.  `plain` events on
 * objects have 64-bit words in our order, which are at the offsets given; one that the event does not have is
 * anywhere in it.  `old` is the site where an allocation says it; oldMask is 0 where the event has neither. */
typedef struct HeapPlanStruct {
  Bool made, plain;
  uint8_t does; /* HeapDoes */
  uint8_t kind; /* HeapInputKind */
  uint16_t pool, addr, old, size, align;
  uint64_t oldMask;
  int8_t param[HeapParamLIMIT];
} HeapPlanStruct, *HeapPlan;

/* HeapPlanOld -- which parameter HeapInputStruct has as `old` */
static inline Index HeapPlanOld(HeapPlan plan)
{
  return plan->does == HeapDoesBEGIN || plan->does == HeapDoesEND ? HeapParamOLD : HeapParamSITE;
}

/* HeapPlain -- the length of the type's name, without the Site of a type XSite that says where besides, in its
 * parameter site */
extern Size HeapPlain(EventType type);

/* HeapPlanMake -- the plan for a type, whose writer's byte order may not be ours.  TRUE: it does something. */
extern Bool HeapPlanMake(HeapPlan plan, EventType type, Bool swapped);

#endif /* HEAP_HEAP_H */
