/* extractstate.c -- the state dump with which an extract of a log begins
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/extract.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/heaplook.h"
#include "request/typecache.h"

/* The event types of a dump, by name. */
enum {
  stateBEGIN, stateEND, stateLIVE, stateLIVEEND, stateALLOC, stateALIGNED, stateFREE, stateRESIZE, stateRESIZED,
  stateTYPES
};
/* Each of them may have a form that says who asked, by a site or by a stack (HeapPlain). */
enum { statePLAIN, stateSITED, stateSTACKED, stateFORMS };

static const char *const stateName[stateTYPES] = {"StateBegin", "StateEnd", "PoolLive", "PoolLiveEnd", "PoolAlloc",
  "PoolAllocAligned", "PoolFree", "PoolResizeBegin", "PoolResizeEnd"};

/* Values for parameters, by name. */
enum {
  statePOOL, stateADDR, stateSIZE, stateALIGN, stateOLD, stateCOUNT, stateKINDS, stateSITE, stateSTACK, stateVALUES
};
static const char *const stateParam[stateVALUES] = {"pool", "addr", "size", "align", "old", "count", "kinds", "site",
                                                    "stack"};

/* One event that is written at its own time. */
typedef struct stateItemStruct {
  uint64_t ticks;
  Index number;           /* keeps those of one moment in their order */
  HeapInputStruct input;
  Bool begun;             /* a resize that goes on, */
  HeapObject object;      /* and of which object, if that is known */
} stateItemStruct, *StateItem;

typedef struct stateStruct {
  LogRewrite rewrite;
  LogProcess process;
  Heap heap;
  HeapSites sites;
  ExtractSymbols symbols; /* or NULL */
  EventType type[stateTYPES][stateFORMS]; /* NULL: the process has none */
  Bool lacks;             /* a form that says who asked was wanted, and the process has none */
  uint64_t extract;       /* ticks: the cut; the whole dump comes before it */
  uint64_t base;          /* ticks: the time of StateEnd.  StateBegin is written two ticks before it, PoolLive one.  An
                             object whose own time is written has a later one; one that has taken the address of an
                             object which has gone is written one tick after it. */
  uint64_t baseTime;      /* ns: objects that are allocated later are written at their own time */
  Bool stating;           /* the cut is in the middle of the process's own state dump */
  Bool stale;             /* objects are written that were there before that dump began */
  Bool begun;
  HeapThread thread;      /* whose stream gets the dump */
  HeapThread *threads;    /* that were seen; owned */
  Count threadCount;
  HeapThreadStruct nobody; /* stands for a thread that is not known, or not this process's: its first */
  HeapPool pool;          /* of the objects that are being written, */
  uint64_t told;          /* and how many have been written */
  Count items, capacity;
  Count pending;          /* of these items, so many are not settled at the cut */
  StateItem item;
  Res res;
} stateStruct, *State;

static void stateTypes(State state)
{
  Registry registry = state->process->registry;
  Index i, j;

  for (i = 0; i < registry->count; ++i) {
    EventType type = &registry->types[i];
    Size plain = HeapPlain(type);
    unsigned form = plain == type->nameLength ? statePLAIN :
                    TypeCacheParam(type, stateParam[stateSTACK], "PAWUD") >= 0 ? stateSTACKED : stateSITED;
    for (j = 0; j < stateTYPES; ++j)
      if (plain == strlen(stateName[j]) && memcmp(type->name, stateName[j], plain) == 0)
        state->type[j][form] = type;
  }
}

/* stateType -- the type of an event that was asked for by `site` (HeapSiteIsStack), which becomes one of its values.
 * The stack of another process has no frames in this one: an object that was inherited does not say who asked. */
static EventType stateType(State state, unsigned which, uint64_t site, uint64_t *value)
{
  Bool stack = HeapSiteIsStack(site);
  unsigned form = stack ? stateSTACKED : stateSITED;

  if (site == 0 || (stack && HeapSiteProcess(site) != state->process->number))
    return state->type[which][statePLAIN];
  value[stack ? stateSTACK : stateSITE] = stack ? HeapSiteNumber(site) : site;
  if (state->type[which][form] == NULL) {
    state->lacks = TRUE;
    return state->type[which][statePLAIN];
  }
  if (!stack && state->symbols != NULL && !ExtractSymbolsSite(state->symbols, state->process, state->baseTime, site))
    state->res = ResMEMORY;
  return state->type[which][form];
}

/* stateTell -- write a made-up event, if the process has its type; parameters that `value` does not have are 0 */
static void stateTell(State state, EventType type, HeapThread thread, uint64_t ticks, const uint64_t *value)
{
  uint64_t param[EventParamMAX] = {0};
  Index j;

  if (type == NULL)
    return;
  for (j = 0; j < stateVALUES; ++j) {
    int i = TypeCacheParam(type, stateParam[j], "PAWUD");
    if (i >= 0)
      param[i] = value[j];
  }
  (void)LogRewriteMake(state->rewrite, state->process, type, thread->serial, thread->id, ticks, param, "");
}

/* stateTellPlain -- write one that nobody asked for */
static void stateTellPlain(State state, unsigned which, HeapThread thread, uint64_t ticks, const uint64_t *value)
{
  stateTell(state, state->type[which][statePLAIN], thread, ticks, value);
}

/* stateMark -- StateBegin or StateEnd */
static void stateMark(State state, unsigned which, HeapThread thread, uint64_t ticks)
{
  uint64_t value[stateVALUES] = {[stateKINDS] = (uint64_t)1 << state->type[stateLIVE][statePLAIN]->kind};

  stateTellPlain(state, which, thread, ticks, value);
}

/* stateOther -- a thread of the process but this one, that has not ended if there is such a one; NULL */
static HeapThread stateOther(State state, HeapThread but)
{
  HeapThread other = NULL;
  Index i;

  for (i = 0; i < state->threadCount; ++i)
    if (state->threads[i] != but && !state->threads[i]->inherited && (other == NULL || other->past))
      other = state->threads[i];
  return other;
}

/* statePoolEnd -- all objects of a pool have been written */
static void statePoolEnd(State state)
{
  if (state->pool != NULL && !state->stating) {
    uint64_t value[stateVALUES] = {[statePOOL] = state->pool->addr, [stateCOUNT] = state->told};
    stateTellPlain(state, stateLIVEEND, state->thread, state->base - 1, value);
  }
  state->pool = NULL;
  state->told = 0;
}

/* stateTicks -- the moment of an event at `time`, to the nanosecond where the clock is that fine, but before the cut */
static uint64_t stateTicks(State state, uint64_t time)
{
  uint64_t ticks = LogRewriteTicks(state->rewrite, state->process, time);

  return ticks < state->extract ? ticks : state->extract - 1;
}

static void stateLater(State state, HeapInput input, uint64_t ticks, Bool begun, HeapObject object)
{
  if (!Grow(&state->item, &state->capacity, state->items, sizeof *state->item)) {
    state->res = ResMEMORY;
    return;
  }
  state->item[state->items] = (stateItemStruct){ticks, state->items, *input, begun, object};
  ++state->items;
}

/* statePending -- something is not settled at the cut: the dump is moved in front of it */
static void statePending(void *data, HeapInput input, Bool begun, HeapObject object)
{
  State state = data;
  uint64_t ticks = stateTicks(state, input->time);

  stateLater(state, input, ticks, begun, object);
  if (ticks - 2 < state->base) {
    state->base = ticks - 2;
    state->baseTime = input->time - 1;
  }
}

/* stateBegin -- write StateBegin; if there were several threads, by another one than the rest, so that the reader knows
 * of two and holds events back */
static void stateBegin(State state, HeapThread thread)
{
  HeapThread other = stateOther(state, thread);

  if (state->begun)
    return;
  state->begun = TRUE;
  state->thread = thread;
  stateMark(state, stateBEGIN, other != NULL ? other : thread, state->base - 2);
}

/* stateGone -- free an object that has gone since the process's own dump began, so that its PoolLive means nothing */
static void stateGone(void *data, HeapPool pool, uint64_t addr)
{
  State state = data;
  uint64_t value[stateVALUES] = {[statePOOL] = pool->addr, [stateADDR] = addr};

  stateTellPlain(state, stateFREE, state->thread, state->base, value);
}

static int stateCompare(const void *a, const void *b)
{
  const stateItemStruct *x = a, *y = b;

  if (x->ticks != y->ticks)
    return x->ticks < y->ticks ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* stateOwn -- the beginning of the resize of this object, if it is being resized; or NULL */
static StateItem stateOwn(State state, HeapObject object)
{
  Index i;

  for (i = 0; i < state->pending; ++i)
    if (state->item[i].object == object)
      return &state->item[i];
  return NULL;
}

/* stateWhen -- ticks at which the object can be written, if it cannot stand with all others; else 0
 *
 * Its time is that of the event that made it possible (HeapReorder), which may be later than what its own thread did
 * then, or earlier where a resize has brought it.  So it is written behind the beginning of the resize of what stood
 * there before, and in front of what waits for it: its own resize, or events that are held back on its address. */
static uint64_t stateWhen(State state, HeapPool pool, HeapObject object)
{
  uint64_t ticks = object->time > state->baseTime ? stateTicks(state, object->time) : 0, first = 0, last = UINT64_MAX;
  Index i;

  for (i = 0; i < state->pending; ++i) {
    StateItem item = &state->item[i], own;
    if (item->input.pool != pool || HeapActPlace(&item->input) != object->addr)
      continue;
    own = stateOwn(state, object);
    if (item != own && item->begun && (own == NULL || stateCompare(item, own) < 0))
      first = item->ticks + 1 > first ? item->ticks + 1 : first;
    else if (item == own || (own == NULL && !item->begun))
      last = item->ticks - 1 < last ? item->ticks - 1 : last;
  }
  ticks = ticks > last ? last : ticks;
  ticks = ticks < first ? first : ticks;
  return ticks < state->extract ? ticks : state->extract - 1;
}

static void stateObject(void *data, HeapPool pool, HeapThread thread, HeapObject object)
{
  State state = data;
  uint64_t value[stateVALUES] = {[statePOOL] = pool->addr, [stateADDR] = object->addr, [stateSIZE] = object->size};

  HeapInputStruct input = {.kind = HeapInALLOC, .addr = object->addr, .size = object->size, .align = object->align,
                           .site = HeapSitesOf(state->sites, object), .pool = pool, .thread = thread};
  uint64_t when = stateWhen(state, pool, object);
  EventType live = stateType(state, stateLIVE, input.site, value);

  if (thread->inherited) /* which has no stream in this process */
    input.thread = thread = &state->nobody;

  if (state->stating && (object->stale != 0) != state->stale)
    return;
  if ((when != 0 || HeapIsGone(state->heap, state->process->number, pool, object->addr)) &&
      state->type[stateALLOC][statePLAIN] != NULL) {
    stateLater(state, &input, when != 0 ? when : state->base + 1, FALSE, NULL);
    return;
  }
  if (state->stale) {
    stateTell(state, live, thread, state->base - 3, value);
    return;
  }
  stateBegin(state, thread);
  if (state->pool != pool)
    statePoolEnd(state);
  state->pool = pool;
  ++state->told;
  /* All are in one thread's stream, and so in one order. */
  stateTell(state, live, state->thread, state->base - 1, value);
}

/* stateItems -- write what comes at its own time */
static void stateItems(State state)
{
  static const unsigned does[] = {[HeapInALLOC] = stateALLOC, [HeapInFREE] = stateFREE, [HeapInBEGIN] = stateRESIZE,
                             [HeapInEND] = stateRESIZED, [HeapInLIVE] = stateLIVE};
  Index i;

  if (state->items > 0)
    qsort(state->item, state->items, sizeof *state->item, stateCompare);
  for (i = 0; i < state->items; ++i) {
    HeapInput input = &state->item[i].input;
    unsigned which = does[input->kind];
    uint64_t value[stateVALUES] = {[statePOOL] = input->pool->addr, [stateADDR] = input->addr,
                                   [stateSIZE] = input->size, [stateALIGN] = (uint64_t)1 << input->align,
                                   [stateOLD] = input->kind == HeapInBEGIN ? input->addr : input->old};
    if (input->kind == HeapInALLOC && input->align > 0 && state->type[stateALIGNED][statePLAIN] != NULL)
      which = stateALIGNED;
    stateTell(state, stateType(state, which, input->site, value), input->thread, state->item[i].ticks, value);
  }
}

/* stateObjects -- write what lives.  Where the cut is in the middle of the process's own dump, that goes on behind the
 * cut: what was there before it began is written first, what has gone since is freed again, and its own StateEnd
 * follows. */
static Res stateObjects(State state)
{
  Heap heap = state->heap;
  Index number = state->process->number;
  HeapThread first = stateOther(state, NULL);
  Res res = ResOK;

  state->stale = state->stating = HeapStating(heap, number);
  if (state->stale)
    res = HeapObjects(heap, number, stateObject, state);
  state->stale = FALSE;
  if (res == ResOK)
    res = HeapObjects(heap, number, stateObject, state);
  if (state->stating)
    stateBegin(state, &state->nobody);
  else if (stateOther(state, first) != NULL)
    stateBegin(state, first);
  statePoolEnd(state);
  HeapGone(heap, number, stateGone, state);
  if (state->begun && !state->stating)
    stateMark(state, stateEND, state->thread, state->base);
  return res;
}

/* stateProcess -- what lives in one process */
static Res stateProcess(State state, uint64_t from)
{
  Res res = HeapLookThreads(&state->threads, &state->threadCount, state->heap, state->process->number);

  if (res != ResOK)
    return res;
  state->extract = LogRewriteTicks(state->rewrite, state->process, from);
  state->base = state->extract - 2;
  state->baseTime = from - 1;
  HeapPending(state->heap, state->process->number, statePending, state);
  state->pending = state->items;
  res = stateObjects(state);
  stateItems(state);
  free(state->item);
  free(state->threads);
  return res == ResOK ? state->res : res;
}

Res ExtractStateOf(ExtractHeap heap, Index number, HeapThread thread, uint64_t from)
{
  stateStruct state = {.rewrite = heap->rewrite, .process = LogProcessAt(heap->log, number), .heap = heap->heap,
                       .sites = heap->sites, .symbols = heap->symbols};
  Res res = ResOK;

  state.nobody.id = thread != NULL ? thread->id : HeaderLeader(&state.process->header);
  state.nobody.serial = thread != NULL ? thread->serial : 0;
  stateTypes(&state);
  if (state.type[stateBEGIN][statePLAIN] != NULL && state.type[stateEND][statePLAIN] != NULL &&
      state.type[stateLIVE][statePLAIN] != NULL)
    res = stateProcess(&state, from);
  else
    ++heap->lacking->objects;
  heap->lacking->callers += state.lacks;
  return res;
}

Res ExtractState(ExtractHeap heap, uint64_t from)
{
  Index i;
  Res res = ResOK;

  for (i = 0; i < LogProcesses(heap->log) && res == ResOK; ++i)
    if (HeapHas(heap->heap, i))
      res = ExtractStateOf(heap, i, NULL, from);
  return res;
}
