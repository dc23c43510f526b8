/* heapdecode.h -- what an event type does to a heap, by its name and the names of its parameters
 *
 * A type called PoolAlloc whose parameters are called pool, addr and size is understood, whatever its code and its
 * registry.  A plan says where in an event the parameters are; it is made once for each process and type.
 *
 * Design: design/view.md .heap.names      Tests: test/heap/heaptest.c
 */
#ifndef HEAP_HEAPDECODE_H
#define HEAP_HEAPDECODE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

/* Parameters by their names, in the order of a plan's places. */
enum {
  HeapParamPOOL, HeapParamADDR, HeapParamSIZE, HeapParamALIGN, HeapParamOLD, HeapParamARENA, HeapParamCLASS,
  HeapParamVALUE, HeapParamNAME, HeapParamGRAIN, HeapParamSITE, HeapParamSTACK, HeapParamTHREAD, HeapParamPID,
  HeapParamPROGRAM, HeapParamTOUCHED, HeapParamUSABLE,
  HeapParamLIMIT
};

/* HeapParamIsText -- is the parameter a string? */
static inline Bool HeapParamIsText(Index param)
{
  return param == HeapParamCLASS || param == HeapParamNAME || param == HeapParamPROGRAM;
}

/* What a type of event does.  USABLE: nothing to a heap; it says more of the allocation before it. */
typedef enum HeapDoes {
  HeapDoesNOTHING, HeapDoesUSABLE,
  HeapDoesALLOC, HeapDoesZERO, HeapDoesALIGNED, HeapDoesFREE, HeapDoesBEGIN, HeapDoesEND, HeapDoesLIVE,
  HeapDoesSTATEBEGIN, HeapDoesSTATEEND, HeapDoesLIVEEND, HeapDoesKINDSON, HeapDoesTOUCH,
  HeapDoesPOOLCREATE, HeapDoesPOOLPARAM, HeapDoesPOOLDESTROY, HeapDoesARENACREATE, HeapDoesARENADESTROY,
  HeapDoesSEGALLOC, HeapDoesSEGFREE,
  HeapDoesTHREAD, HeapDoesTHREADEND, HeapDoesEXIT, HeapDoesEXEC
} HeapDoes;

/* HeapTypeDoes -- what an event of this type does */
extern HeapDoes HeapTypeDoes(EventType type);

/* HeapWants -- does HeapEvent know events of this type?  For a request's `choose`. */
extern Bool HeapWants(EventType type);

/* A plan is made when `made`; param[i] is the place of parameter i among the event's, or -1.  `plain` events on
 * objects have 64-bit words in our order, which are at the offsets given; one that the event does not have is
 * anywhere in it, and its mask is 0. */
typedef struct HeapPlanStruct {
  Bool made, plain;
  uint8_t does; /* HeapDoes */
  uint8_t kind; /* HeapInputKind */
  uint16_t pool, addr, old, size, align, site;
  uint64_t oldMask;
  uint64_t siteMask;
  uint64_t stackMask; /* the bit that marks a site as the number of a stack (HeapSite) */
  int8_t param[HeapParamLIMIT];
} HeapPlanStruct, *HeapPlan;

/* HeapPlanSite -- which parameter says who asked for it */
static inline Index HeapPlanSite(HeapPlan plan)
{
  return plan->param[HeapParamSTACK] >= 0 ? HeapParamSTACK : HeapParamSITE;
}

/* HeapPlain -- the length of the type's name; of a type called XSite with a parameter `site`, or XStack with a
 * parameter `stack`, that of X */
extern Size HeapPlain(EventType type);

/* HeapPlanMake -- the plan for a type; `swapped`: its writer's byte order is not ours.  TRUE: the type does
 * something. */
extern Bool HeapPlanMake(HeapPlan plan, EventType type, Bool swapped);

#endif /* HEAP_HEAPDECODE_H */
