/* heapdecode.c -- what an event type does to a heap, by its name and the names of its parameters
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heapdecode.h"

#include <string.h>

#include "heap/heapreorder.h"
#include "request/typecache.h"

static const char *const heapParams[HeapParamLIMIT] = {"pool", "addr", "size", "align", "old",
                                                   "arena", "class", "value", "name", "grain", "site", "stack",
                                                   "thread", "pid", "program", "touched",
                                                   "usable"};

/* The names that are understood, and the parameters that each must have. */
static const struct {
  const char *name;
  HeapDoes does;
  unsigned needs;
} heapKnown[] = {
#define N(param) (1u << HeapParam##param)
  {"PoolAlloc", HeapDoesALLOC, N(POOL) | N(ADDR) | N(SIZE)},
  {"PoolFree", HeapDoesFREE, N(POOL) | N(ADDR)},
  {"PoolReclaim", HeapDoesFREE, N(POOL) | N(ADDR)},
  {"PoolAllocZero", HeapDoesZERO, N(POOL) | N(ADDR) | N(SIZE)},
  {"PoolAllocAligned", HeapDoesALIGNED, N(POOL) | N(ADDR) | N(SIZE) | N(ALIGN)},
  {"PoolResizeBegin", HeapDoesBEGIN, N(POOL) | N(OLD)},
  {"PoolResizeEnd", HeapDoesEND, N(POOL) | N(OLD) | N(ADDR) | N(SIZE)},
  {"PoolLive", HeapDoesLIVE, N(POOL) | N(ADDR) | N(SIZE)},
  {"PoolLiveEnd", HeapDoesLIVEEND, N(POOL)},
  {"PoolUsable", HeapDoesUSABLE, N(SIZE) | N(USABLE)},
  {"PoolTouch", HeapDoesTOUCH, N(POOL) | N(ADDR) | N(TOUCHED)},
  {"StateBegin", HeapDoesSTATEBEGIN, 0},
  {"StateEnd", HeapDoesSTATEEND, 0},
  {"KindsOn", HeapDoesKINDSON, 0},
  {"PoolCreate", HeapDoesPOOLCREATE, N(POOL) | N(ARENA) | N(CLASS)},
  {"PoolParam", HeapDoesPOOLPARAM, N(POOL) | N(VALUE) | N(NAME)},
  {"PoolDestroy", HeapDoesPOOLDESTROY, N(POOL)},
  {"ArenaCreate", HeapDoesARENACREATE, N(ARENA) | N(SIZE)},
  {"ArenaDestroy", HeapDoesARENADESTROY, N(ARENA)},
  {"SegAlloc", HeapDoesSEGALLOC, N(POOL) | N(SIZE)},
  {"SegFree", HeapDoesSEGFREE, N(POOL) | N(SIZE)},
  {"ThreadStart", HeapDoesTHREAD, N(THREAD)},
  {"ThreadEnd", HeapDoesTHREADEND, N(THREAD)},
  {"ProcessExit", HeapDoesEXIT, N(PID)},
  {"ProcessExec", HeapDoesEXEC, N(PID) | N(PROGRAM)},
#undef N
};

Size HeapPlain(EventType type)
{
  static const struct {
    const char *suffix, *param;
  } forms[] = {{"Site", "site"}, {"Stack", "stack"}};
  Size length = type->nameLength;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(forms); ++i) {
    Size more = strlen(forms[i].suffix);
    if (length > more && memcmp(type->name + length - more, forms[i].suffix, more) == 0 &&
        TypeCacheParam(type, forms[i].param, "PAWUDS") >= 0)
      return length - more;
  }
  return length;
}

/* heapPlanNames -- find the parameters, and what the event does if it has all that are needed */
static void heapPlanNames(HeapPlan plan, EventType type)
{
  Size length = HeapPlain(type);
  unsigned has = 0;
  Index i;

  memset(plan, 0, sizeof *plan);
  plan->made = TRUE;
  for (i = 0; i < HeapParamLIMIT; ++i) {
    plan->param[i] = (int8_t)TypeCacheParam(type, heapParams[i], HeapParamIsText(i) ? "S" : "PAWU");
    has |= (unsigned)(plan->param[i] >= 0) << i;
  }
  for (i = 0; i < ARRAY_LENGTH(heapKnown); ++i) {
    if (length == strlen(heapKnown[i].name) && memcmp(type->name, heapKnown[i].name, length) == 0 &&
        (heapKnown[i].needs & ~has) == 0)
      plan->does = (uint8_t)heapKnown[i].does;
  }
}

static uint16_t heapOffset(HeapPlan plan, EventType type, Index param)
{
  return plan->param[param] < 0 ? 0 : type->offset[plan->param[param]];
}

/* heapPlanPlain -- work out where the words of an event on an object are */
static void heapPlanPlain(HeapPlan plan, EventType type, Bool swapped)
{
  Index i;

  plan->plain = !swapped;
  for (i = 0; i < HeapParamTHREAD; ++i) {
    if (plan->param[i] >= 0 && !HeapParamIsText(i) && type->width[plan->param[i]] != 8)
      plan->plain = FALSE;
  }
  plan->kind = plan->does == HeapDoesFREE ? HeapInFREE : plan->does == HeapDoesBEGIN ? HeapInBEGIN :
               plan->does == HeapDoesEND ? HeapInEND : plan->does == HeapDoesLIVE ? HeapInLIVE : HeapInALLOC;
  plan->pool = heapOffset(plan, type, HeapParamPOOL);
  plan->addr = heapOffset(plan, type, plan->does == HeapDoesBEGIN ? HeapParamOLD : HeapParamADDR);
  plan->old = heapOffset(plan, type, HeapParamOLD);
  plan->oldMask = plan->param[HeapParamOLD] < 0 ? 0 : UINT64_MAX;
  plan->site = heapOffset(plan, type, HeapPlanSite(plan));
  plan->siteMask = plan->param[HeapPlanSite(plan)] < 0 ? 0 : ~HeapSiteSTACK;
  if (plan->param[HeapParamSTACK] >= 0) {
    plan->siteMask = UINT32_MAX;
    plan->stackMask = UINT64_MAX;
  }
  plan->size = heapOffset(plan, type, HeapParamSIZE);
  plan->align = heapOffset(plan, type, HeapParamALIGN);
}

Bool HeapPlanMake(HeapPlan plan, EventType type, Bool swapped)
{
  heapPlanNames(plan, type);
  heapPlanPlain(plan, type, swapped);
  return plan->does != HeapDoesNOTHING;
}

HeapDoes HeapTypeDoes(EventType type)
{
  HeapPlanStruct plan;

  heapPlanNames(&plan, type);
  return plan.does;
}

Bool HeapWants(EventType type)
{
  return HeapTypeDoes(type) != HeapDoesNOTHING;
}
