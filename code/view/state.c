/* state.c -- what the memory manager had at any time of a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "view/heapsave.h"
#include "view/statecheck.h"

enum { stateSitesMAX = 1 << 24 };

/* Settling a heap with something held back makes another heap of it, that cannot be gone on with.  Then `resume` is
 * what was before. */
struct StateStruct {
  Log log;
  Heap heap;
  LogRequestStruct request;
  Bool (*choose)(void *data, LogProcess process, EventType type); /* of the request that was given, */
  void *chooseData;                 /* and what it is handed */
  LogPositionStruct from, to;       /* the request's bounds, */
  uint64_t count;                   /* and how many events from the beginning on it may have */
  LogPositionStruct position;       /* of the heap */
  uint64_t events;                  /* before it */
  uint64_t nextCheck;               /* at this number of events the next check point is made */
  unsigned char *resume;            /* owned; NULL: the heap can be gone on with */
  Size resumeSize;
  StateChecksStruct checks;
  StateCountsStruct counts;
  HeapTableStruct sites;            /* by address; `client` is the place in `site` plus one */
  uint64_t *site;
  Count siteCapacity;
};

/* Sites */

/* stateSiteAdd -- the number of a site, from 1; 0: there is no room for it */
static uint32_t stateSiteAdd(State state, uint64_t site)
{
  HeapObject place = HeapTableSeek(&state->sites, site);
  Count count = state->sites.count;

  if (LIKELY(place->addr != 0))
    return place->client;
  if (count == stateSitesMAX)
    return 0;
  if (!Grow(&state->site, &state->siteCapacity, count, sizeof *state->site))
    return 0;
  place = HeapTableInsert(&state->sites, place, site);
  if (place == NULL)
    return 0;
  state->site[count] = site;
  place->client = (uint32_t)count + 1;
  return place->client;
}

uint64_t StateSite(State state, const HeapObjectStruct *object)
{
  return object->client == 0 ? 0 : state->site[object->client - 1];
}

Count StateSites(State state)
{
  return state->sites.count;
}

static void stateAlloc(void *data, HeapOperation operation)
{
  if (operation->site != 0)
    operation->object->client = stateSiteAdd(data, operation->site);
}

static void stateNothing(void *data, HeapOperation operation)
{
  UNUSED(data);
  UNUSED(operation);
}

/* The request */

static Bool stateChoose(void *data, LogProcess process, EventType type)
{
  State state = data;

  return HeapWants(type) && (state->choose == NULL || state->choose(state->chooseData, process, type));
}

/* stateCheckPoint -- keep what the heap is before the event; a check point less is no harm */
static void stateCheckPoint(State state, LogEvent event)
{
  LogPositionStruct position;
  unsigned char *bytes;
  uint64_t least = state->checks.interval;
  Count weight;
  Size size;

  LogEventPosition(&position, event);
  if (HeapSave(&bytes, &size, &weight, state->heap) == ResOK) {
    StateChecksAdd(&state->checks, &position, state->events, bytes, size);
    least = weight / 2; /* so that saving costs some 40 ns for each event at most */
  }
  state->nextCheck = state->events + (least > state->checks.interval ? least : state->checks.interval);
}

static Bool stateEvent(LogRequest request, LogEvent event)
{
  State state = request->data;

  if (UNLIKELY(state->events >= state->nextCheck))
    stateCheckPoint(state, event);
  HeapEvent(state->heap, event);
  LogEventPosition(&state->position, event);
  ++state->position.at;
  ++state->events;
  ++state->counts.events;
  return FALSE;
}

/* stateKinds -- the kinds that have a type which is wanted */
static uint32_t stateKinds(State state, uint32_t only)
{
  Registry last = NULL; /* families of one program stand together, and share one */
  uint32_t kinds = 0;
  Index i, j;

  for (i = 0; i < LogProcesses(state->log); ++i) {
    Registry registry = LogProcessAt(state->log, i)->registry;
    for (j = 0; registry != last && j < registry->count; ++j)
      if (registry->types[j].kind < 32 && HeapWants(&registry->types[j]))
        kinds |= 1u << registry->types[j].kind;
    last = registry;
  }
  return kinds & only;
}

/* stateRequest -- what is wanted, of what `only` leaves.  A count counts what is not wanted, too. */
static void stateRequest(State state, const LogRequestStruct *only)
{
  LogRequest request = &state->request;

  *request = (LogRequestStruct){.data = state, .from = only->from, .to = only->to, .start = &state->from,
                                .end = &state->to, .count = only->count, .kinds = only->kinds,
                                .accept = only->accept, .acceptData = only->acceptData, .event = stateEvent};
  state->choose = only->choose;
  state->count = only->count;
  state->chooseData = only->chooseData != NULL ? only->chooseData : only->data;
  if (only->count != UINT64_MAX) {
    request->choose = only->choose;
    request->chooseData = state->chooseData;
  } else {
    request->kinds = stateKinds(state, only->kinds);
    request->choose = stateChoose;
  }
}

Res StateCreate(State *stateReturn, Log log, const LogRequestStruct *only, uint64_t interval)
{
  static const LogRequestStruct all = LogRequestALL;
  HeapClientStruct client = {.alloc = stateAlloc, .free = stateNothing, .resize = stateNothing, .other = stateNothing};
  State state = calloc(1, sizeof *state);

  if (state == NULL)
    return ResMEMORY;
  client.data = state;
  if (HeapCreate(&state->heap, &client, log) != ResOK) {
    free(state);
    return ResMEMORY;
  }
  StateChecksInit(&state->checks, interval == 0 ? StateIntervalDEFAULT : interval);
  if (HeapTableInit(&state->sites) != ResOK) {
    StateDestroy(state);
    return ResMEMORY;
  }
  state->log = log;
  state->nextCheck = state->checks.interval;
  stateRequest(state, only == NULL ? &all : only);
  *stateReturn = state;
  return ResOK;
}

void StateDestroy(State state)
{
  StateChecksFinish(&state->checks);
  HeapTableFinish(&state->sites);
  HeapDestroy(state->heap);
  free(state->site);
  free(state->resume);
  free(state);
}

/* Going to a position */

static void stateBegin(State state)
{
  static const LogPositionStruct first = LogPositionFIRST;

  HeapClear(state->heap);
  state->position = first;
  state->events = 0;
}

/* stateRestore -- to a check point, or the last one before it that can be had, or the beginning */
static Res stateRestore(State state, StateCheck check)
{
  const unsigned char *bytes;
  unsigned char *owned;
  Res res = ResIO;

  while (check != NULL) {
    res = StateChecksBytes(&bytes, &owned, &state->checks, check);
    if (res == ResOK) {
      res = HeapRestore(state->heap, bytes, check->size);
      free(owned);
    }
    if (res == ResOK) {
      state->position = check->position;
      state->events = check->events;
      ++state->counts.restores;
      return ResOK;
    }
    if (res == ResMEMORY)
      break;
    StateChecksForget(&state->checks, check);
    state->nextCheck = state->checks.interval + (check == state->checks.check ? 0 : check[-1].events);
    check = StateChecksFind(&state->checks, &check->position);
  }
  stateBegin(state);
  return check == NULL ? ResOK : res;
}

/* stateResume -- the heap as it was before it was settled */
static Res stateResume(State state)
{
  Res res = state->resume == NULL ? ResOK : HeapRestore(state->heap, state->resume, state->resumeSize);

  free(state->resume);
  state->resume = NULL;
  if (res != ResOK)
    stateBegin(state);
  return res;
}

Res StateSeek(State state, const LogPositionStruct *position)
{
  StateCheck check = StateChecksFind(&state->checks, position);
  Res res;

  if (LogPositionCompare(&state->position, position) <= 0 &&
      (check == NULL || LogPositionCompare(&check->position, &state->position) <= 0)) {
    res = stateResume(state);
  } else {
    free(state->resume);
    state->resume = NULL;
    res = stateRestore(state, check);
  }
  state->from = state->position;
  state->to = *position;
  if (state->count != UINT64_MAX)
    state->request.count = state->count - state->events; /* those that are behind us are of them */
  return res;
}

LogRequest StateRequest(State state)
{
  return &state->request;
}

Res StateSettle(State state)
{
  Count weight;
  Res res;

  if (state->resume == NULL && HeapUnsettled(state->heap)) {
    res = HeapSave(&state->resume, &state->resumeSize, &weight, state->heap);
    if (res != ResOK)
      return res;
  }
  return HeapSettle(state->heap);
}

Res StateAt(State state, const LogPositionStruct *position)
{
  Res res = StateSeek(state, position);

  if (res == ResOK && LogPositionCompare(&state->from, &state->to) < 0)
    res = LogRead(state->log, &state->request);
  if (res != ResOK)
    return res;
  state->position = *position; /* there is nothing between the last event and there */
  return StateSettle(state);
}

Res StateAtTime(State state, uint64_t time)
{
  LogPositionStruct position = LogPositionLAST;

  if (time != UINT64_MAX)
    LogPositionOfTime(&position, state->log, time);
  return StateAt(state, &position);
}

Heap StateHeap(State state)
{
  return state->heap;
}

void StateCount(StateCounts countsReturn, State state)
{
  *countsReturn = state->counts;
  countsReturn->checks = state->checks.count;
  countsReturn->memory = state->checks.memory;
  countsReturn->file = state->checks.file;
}

void StateBound(State state, uint64_t memory, uint64_t file)
{
  AVER(state->checks.count == 0);
  state->checks.memoryMax = memory;
  state->checks.fileMax = file;
}

Bool StateCheckAll(State state)
{
  StateChecksCheck(&state->checks);
  AVER(state->checks.count == 0 ||
       state->nextCheck > state->checks.check[state->checks.count - 1].events);
  return TRUE;
}
