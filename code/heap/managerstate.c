/* managerstate.c -- what the memory manager had at a time of a log: arenas, pools and live objects of each process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/managerstate.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/heapsave.h"

enum {
  stateSitesMAX = 1 << 24,
  stateVERSION = 1 /* of check points: another one whenever a heap remembers something else, or takes events otherwise */
};

struct ManagerStateStruct {
  Log log;
  Heap heap;
  LogRequestStruct request;
  Bool (*choose)(void *data, LogProcess process, EventType type); /* of the request that was given, */
  void *chooseData;                 /* and what it is handed */
  LogPositionStruct from, to;       /* the request's bounds */
  HeapTableStruct sites;            /* by address; `client` is the place in `site` plus one */
  uint64_t *site;
  Count siteCapacity;
};

/* Sites */

/* stateSiteAdd -- the number of a site, from 1; 0: there is no room for it */
static uint32_t stateSiteAdd(ManagerState state, uint64_t site)
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

uint64_t ManagerStateSite(ManagerState state, const HeapObjectStruct *object)
{
  return object->client == 0 ? 0 : state->site[object->client - 1];
}

Count ManagerStateSites(ManagerState state)
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

/* Check points: the sites, and the heap */

/* stateSave -- what there is, appended to `to`, whose `failed` says so; ResMEMORY */
static Res stateSave(ManagerState state, HeapBytes to)
{
  Index i;

  HeapCatchUp(state->heap); /* which may come upon sites */
  HeapBytesPut(to, state->sites.count);
  for (i = 0; i < state->sites.count; ++i)
    HeapBytesPut(to, state->site[i]);
  return HeapSave(to, state->heap);
}

/* stateSites -- read the sites into `state`, or, if that is NULL, pass them; FALSE: there can be no such ones */
static Bool stateSites(Count *countReturn, ManagerState state, HeapBytes from)
{
  uint64_t count = HeapBytesGet(from), i;

  for (i = 0; i < count && !from->failed; ++i) {
    uint64_t site = HeapBytesGet(from);
    if (state != NULL && (site == 0 || stateSiteAdd(state, site) != i + 1))
      return FALSE;
  }
  *countReturn = (Count)count;
  return !from->failed;
}

/* stateAll -- does the request choose all events, wherever it begins and ends? */
static Bool stateAll(const LogRequestStruct *only)
{
  return only->kinds == UINT32_MAX && only->choose == NULL && only->accept == NULL;
}

/* stateRestore -- ManagerStateRestore, and the sites go to `state` if it is not NULL */
static Res stateRestore(LogPosition position, Heap heap, ManagerState state, Log log, const LogPositionStruct *before)
{
  static const LogPositionStruct first = LogPositionFIRST;
  HeapBytesStruct from = {.next = 0};
  IndexFile file = LogKnown(log);
  Count sites;
  Res res = file != NULL ? IndexFileNearest(position, &from.bytes, &from.size, file, stateVERSION, before) : ResEND;

  if (res == ResOK && !stateSites(&sites, state, &from))
    res = ResFORMAT;
  if (res == ResOK)
    res = HeapRestore(heap, &from, sites);
  free(from.bytes);
  if (res != ResOK)
    *position = first;
  if (res == ResFORMAT && state != NULL) {
    HeapTableFinish(&state->sites);
    return HeapTableInit(&state->sites);
  }
  return res == ResMEMORY ? res : ResOK;
}

Res ManagerStateRestore(LogPosition position, Heap heap, Log log, const LogRequestStruct *only,
                        const LogPositionStruct *before)
{
  static const LogPositionStruct first = LogPositionFIRST;

  *position = first;
  return stateAll(only) ? stateRestore(position, heap, NULL, log, before) : ResOK;
}

/* The request */

static Bool stateChoose(void *data, LogProcess process, EventType type)
{
  ManagerState state = data;

  return HeapWants(type) && (state->choose == NULL || state->choose(state->chooseData, process, type));
}

static Bool stateEvent(LogRequest request, LogEvent event)
{
  ManagerState state = request->data;

  HeapEvent(state->heap, event);
  return FALSE;
}

/* stateKinds -- the kinds that have a type which is wanted */
static uint32_t stateKinds(ManagerState state, uint32_t only)
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
static void stateRequest(ManagerState state, const LogRequestStruct *only)
{
  LogRequest request = &state->request;

  *request = (LogRequestStruct){.size = sizeof *request,
                                .data = state, .from = only->from, .to = only->to, .start = &state->from,
                                .end = &state->to, .count = only->count, .kinds = only->kinds,
                                .accept = only->accept, .acceptData = only->acceptData, .event = stateEvent};
  state->choose = only->choose;
  state->chooseData = only->chooseData != NULL ? only->chooseData : only->data;
  if (only->count != UINT64_MAX) {
    request->choose = only->choose;
    request->chooseData = state->chooseData;
  } else {
    request->kinds = stateKinds(state, only->kinds);
    request->choose = stateChoose;
  }
}

/* stateMake -- a state that has taken nothing, and whose request is not made yet */
static Res stateMake(ManagerState *stateReturn, Log log)
{
  HeapClientStruct client = {.alloc = stateAlloc, .free = stateNothing, .resize = stateNothing, .other = stateNothing};
  ManagerState state = calloc(1, sizeof *state);

  if (state == NULL)
    return ResMEMORY;
  state->log = log;
  client.data = state;
  if (HeapCreate(&state->heap, &client, log) != ResOK) {
    free(state);
    return ResMEMORY;
  }
  if (HeapTableInit(&state->sites) != ResOK) {
    ManagerStateDestroy(state);
    return ResMEMORY;
  }
  *stateReturn = state;
  return ResOK;
}

Res ManagerStateCreate(ManagerState *stateReturn, Log log, const LogRequestStruct *only, const LogPositionStruct *position)
{
  Res res = stateMake(stateReturn, log);
  ManagerState state = *stateReturn;

  if (res != ResOK)
    return res;
  state->to = *position;
  stateRequest(state, only);
  if (stateAll(only) && only->from == 0 && only->to == UINT64_MAX && only->start == NULL && only->end == NULL &&
      only->count == UINT64_MAX)
    res = stateRestore(&state->from, state->heap, state, log, position);
  if (res != ResOK)
    ManagerStateDestroy(state);
  return res;
}

void ManagerStateDestroy(ManagerState state)
{
  HeapTableFinish(&state->sites);
  HeapDestroy(state->heap);
  free(state->site);
  free(state);
}

LogRequest ManagerStateRequest(ManagerState state)
{
  return &state->request;
}

Res ManagerStateSettle(ManagerState state)
{
  return HeapSettle(state->heap);
}

Heap ManagerStateHeap(ManagerState state)
{
  return state->heap;
}

/* Keeping check points */

typedef struct stateKeeperStruct {
  ManagerState state;
  IndexFile file;
  uint64_t interval, events; /* from one check point to the next, and since the last one */
  Count due;                 /* check points that were due, kept or not */
  uint64_t bytes;            /* of those that were kept */
  Res res;
} stateKeeperStruct, *StateKeeper;

/* stateKeep -- a check point is due: it is kept if it takes no more than its share, and what those before it left */
static Res stateKeep(StateKeeper keeper, LogEvent event)
{
  uint64_t room = IndexFileRoom(keeper->file) / IndexFileChecksMAX;
  LogPositionStruct position;
  HeapBytesStruct to = {.size = 0};
  Res res = stateSave(keeper->state, &to);

  room *= keeper->due < IndexFileChecksMAX ? ++keeper->due : keeper->due;
  LogEventPosition(&position, event);
  if (res == ResOK && to.size <= room - keeper->bytes) {
    IndexFileKeep(keeper->file, stateVERSION, &position, to.bytes, to.size);
    keeper->bytes += to.size;
  }
  free(to.bytes);
  return res;
}

static Bool stateKeepEvent(LogRequest request, LogEvent event)
{
  StateKeeper keeper = request->data;

  if (UNLIKELY(keeper->events++ == keeper->interval)) {
    keeper->res = stateKeep(keeper, event);
    keeper->events = 1;
  }
  HeapEvent(keeper->state->heap, event);
  return keeper->res != ResOK;
}

Res ManagerStateKeepEvery(IndexFile file, Log log, uint64_t interval)
{
  static const LogRequestStruct all = LogRequestALL;
  LogRequestStruct request;
  stateKeeperStruct keeper = {.file = file, .interval = interval};
  Res res = stateMake(&keeper.state, log);

  if (res != ResOK)
    return res;
  request = all;
  request.data = &keeper;
  request.chooseData = keeper.state;
  request.choose = stateChoose; /* of all kinds: whatever is damaged is to be known */
  request.event = stateKeepEvent;
  res = LogRead(log, &request);
  ManagerStateDestroy(keeper.state);
  return res == ResOK ? keeper.res : res;
}

Res ManagerStateKeep(IndexFile file, Log log)
{
  LogSummaryStruct summary;
  uint64_t interval;

  LogSummarize(&summary, log);
  interval = summary.events / IndexFileChecksMAX + 1;
  return ManagerStateKeepEvery(file, log, interval > ManagerStateIntervalMIN ? interval : ManagerStateIntervalMIN);
}
