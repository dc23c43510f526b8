/* heapplan.h -- what an event type does to a heap, by its name and the names of its parameters
 *
 * Design: design/view.md .heap.names      Tests: test/heaptest.c, test/replay.t
 */
#ifndef VIEW_HEAPPLAN_H
#define VIEW_HEAPPLAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "view/heaporder.h"

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
  HeapDoesPOOLCREATE, HeapDoesPOOLPARAM, HeapDoesPOOLDESTROY, HeapDoesARENACREATE, HeapDoesARENADESTROY, HeapDoesSEGALLOC, HeapDoesSEGFREE,
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

/* HeapPlanMake -- the plan for a type, whose writer's byte order may not be ours.  TRUE: it does something. */
extern Bool HeapPlanMake(HeapPlan plan, EventType type, Bool swapped);

#endif /* VIEW_HEAPPLAN_H */
