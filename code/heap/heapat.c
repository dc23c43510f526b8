/* heapat.c -- what the memory manager had at a time of a log: arenas, pools and live objects of each process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heapat.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "heap/heapsave.h"

enum {
  atSitesMAX = 1 << 24,
  atSiteBYTES = 2 * sizeof(uint64_t) + 4 * sizeof(HeapObjectStruct), /* of memory, about */
  atRoomMIN = 64 << 20, /* bytes of memory that a check point of any log may take; besides, */
  atRoomBYTE = 8,       /* so many for each byte of the log, */
  atRoomEVENT = 128     /* and no more than so many for each event */
};

/* Sites */

/* atSiteAdd -- the number of a site, from 1; 0: there is no room for it */
static uint32_t atSiteAdd(HeapAt state, uint64_t site)
{
  HeapObject place = HeapTableSeek(&state->sites, site);
  Count count = state->sites.count;

  if (LIKELY(place->addr != 0))
    return place->client;
  if (count == atSitesMAX || !Grow(&state->site, &state->siteCapacity, count, sizeof *state->site) ||
      (place = HeapTablePut(&state->sites, site)) == NULL)
    return 0;
  state->site[count] = site;
  place->client = (uint32_t)count + 1;
  return place->client;
}

uint64_t HeapAtSite(HeapAt state, const HeapObjectStruct *object)
{
  AVER_CRITICAL(object->client <= state->sites.count);
  return object->client == 0 ? 0 : state->site[object->client - 1];
}

/* atAsked -- give an object the site of its allocation or last resize, if that was recorded */
static void atAsked(void *data, HeapOperation operation)
{
  if (operation->site != 0)
    operation->object->client = atSiteAdd(data, operation->site);
}

/* atTellAlloc, atTellResize -- the same, and call the client's hook; the others only do that */
static void atTellAlloc(void *data, HeapOperation operation)
{
  HeapAt state = data;

  atAsked(data, operation);
  state->client.alloc(state->client.data, operation);
}

static void atTellFree(void *data, HeapOperation operation)
{
  HeapAt state = data;

  state->client.free(state->client.data, operation);
}

static void atTellResize(void *data, HeapOperation operation)
{
  HeapAt state = data;

  atAsked(data, operation);
  state->client.resize(state->client.data, operation);
}

static void atTellOther(void *data, HeapOperation operation)
{
  HeapAt state = data;

  state->client.other(state->client.data, operation);
}

/* Check points: the sites, and the heap */

/* atSave -- append the state to `to`, whose `failed` is set without memory; ResMEMORY */
static Res atSave(HeapAt state, HeapBytes to)
{
  Index i;

  HeapCatchUp(state->heap); /* which may come upon sites */
  HeapBytesPut(to, state->sites.count);
  for (i = 0; i < state->sites.count; ++i)
    HeapBytesPut(to, state->site[i]);
  return HeapSave(to, state->heap);
}

/* atSites -- read the sites into `state`, or skip them if that is NULL; FALSE: they are impossible, or there is no room
 * for them in so many bytes of memory, of which those that they take are subtracted */
static Bool atSites(Count *countReturn, Size *room, HeapAt state, HeapBytes from)
{
  uint64_t count = HeapBytesGet(from), i;

  if (count > *room / atSiteBYTES)
    return FALSE;
  *room -= (Size)count * atSiteBYTES;
  for (i = 0; i < count && !from->failed; ++i) {
    uint64_t site = HeapBytesGet(from);
    if (state != NULL && (site == 0 || atSiteAdd(state, site) != i + 1))
      return FALSE;
  }
  *countReturn = (Count)count;
  return !from->failed;
}

/* atAll -- does the request choose all events, wherever it begins and ends? */
static Bool atAll(const LogRequestStruct *only)
{
  return only->kinds == UINT32_MAX && only->choose == NULL && only->accept == NULL;
}

/* atRoom -- bytes of memory that a check point of the log may take, so that a file beside a log costs no more than the
 * log itself might.  A log may be a hole, mostly, and its blocks may announce more events than they have. */
static Size atRoom(Log log)
{
  LogSummaryStruct summary;
  uint64_t bytes, events;

  LogSummarize(&summary, log);
  bytes = summary.bytes * atRoomBYTE;
  events = summary.events * atRoomEVENT;
  return atRoomMIN + (Size)(events < bytes ? events : bytes);
}

/* atPoint -- restore the nearest check point before `before`, its sites to `state` if that is not NULL; else why not */
static Res atPoint(LogPosition position, Heap heap, HeapAt state, Log log, const LogPositionStruct *before)
{
  HeapBytesStruct from = {.next = 0};
  IndexFile file = LogKnown(log);
  Size room = file != NULL ? atRoom(log) : 0;
  Count sites;
  Res res = file != NULL ? IndexFileNearest(position, &from.bytes, &from.size, file, HeapSaveVERSION, before) : ResEND;

  if (res == ResOK && !atSites(&sites, &room, state, &from))
    res = ResFORMAT;
  if (res == ResOK)
    res = HeapRestore(heap, &from, sites, room);
  free(from.bytes);
  return res;
}

void HeapAtRestore(LogPosition position, Heap heap, Log log, const LogRequestStruct *only,
                   const LogPositionStruct *before)
{
  static const LogPositionStruct first = LogPositionFIRST;

  if (!atAll(only) || atPoint(position, heap, NULL, log, before) != ResOK)
    *position = first;
}

/* atRestore -- the same for a state and its sites; ResMEMORY */
static Res atRestore(HeapAt state, const LogPositionStruct *before)
{
  static const LogPositionStruct first = LogPositionFIRST;

  if (atPoint(&state->from, state->heap, state, state->log, before) == ResOK)
    return ResOK;
  state->from = first;
  HeapTableFinish(&state->sites);
  free(state->site);
  state->site = NULL;
  state->siteCapacity = 0;
  return HeapTableInit(&state->sites);
}

/* The request */

static Bool atEvent(LogRequest request, LogEvent event)
{
  HeapAt state = request->data;

  HeapEvent(state->heap, event);
  return FALSE;
}

/* atRequest -- make the state's request, within what `only` chooses */
static void atRequest(HeapAt state, const LogRequestStruct *only)
{
  LogRequest request = &state->request;

  *request = (LogRequestStruct){.size = sizeof *request,
                                .data = state, .from = only->from, .to = only->to, .start = &state->from,
                                .end = &state->to, .count = only->count, .kinds = only->kinds,
                                .accept = only->accept, .acceptData = only->acceptData, .event = atEvent};
  state->only = *only;
  HeapChoose(request, &state->only);
}

/* atMake -- a state without events, whose request is not made yet; `told`, if not NULL, gets the operations */
static Res atMake(HeapAt *stateReturn, Log log, HeapClient told)
{
  HeapClientStruct quiet = {.alloc = atAsked, .free = HeapIgnore, .resize = atAsked, .other = HeapIgnore};
  HeapClientStruct tells = {.alloc = atTellAlloc, .free = atTellFree, .resize = atTellResize, .other = atTellOther};
  HeapClient client = told != NULL ? &tells : &quiet;
  HeapAt state = calloc(1, sizeof *state);

  if (state == NULL)
    return ResMEMORY;
  state->log = log;
  client->data = state;
  if (told != NULL) {
    state->client = *told;
    client->each = told->each;
  }
  if (HeapCreate(&state->heap, client, log) != ResOK) {
    free(state);
    return ResMEMORY;
  }
  if (HeapTableInit(&state->sites) != ResOK) {
    HeapAtDestroy(state);
    return ResMEMORY;
  }
  *stateReturn = state;
  return ResOK;
}

Res HeapAtCreate(HeapAt *stateReturn, Log log, const LogRequestStruct *only, const LogPositionStruct *position,
                 HeapClient client)
{
  Res res = atMake(stateReturn, log, client);
  HeapAt state = *stateReturn;

  if (res != ResOK)
    return res;
  state->to = *position;
  atRequest(state, only);
  if (client == NULL && atAll(only) && only->from == 0 && only->to == UINT64_MAX && only->start == NULL &&
      only->end == NULL && only->count == UINT64_MAX)
    res = atRestore(state, position);
  if (res != ResOK)
    HeapAtDestroy(state);
  return res;
}

void HeapAtDestroy(HeapAt state)
{
  HeapTableFinish(&state->sites);
  HeapDestroy(state->heap);
  free(state->site);
  free(state);
}

/* Keeping check points */

typedef struct atKeeperStruct {
  HeapAt state;
  IndexFile file;
  uint64_t interval, events; /* from one check point to the next, and since the last one */
  Count due;                 /* check points that were due, kept or not */
  uint64_t bytes;            /* of those that were kept */
  Res res;
} atKeeperStruct, *AtKeeper;

/* atKeep -- a check point is due: keep it if it fits its share of the room, and what earlier ones left of theirs */
static Res atKeep(AtKeeper keeper, LogEvent event)
{
  uint64_t room = IndexFileRoom(keeper->file) / IndexFileChecksMAX;
  LogPositionStruct position;
  HeapBytesStruct to = {.size = 0};
  Res res = atSave(keeper->state, &to);

  AVER(keeper->bytes <= room * keeper->due);
  room *= keeper->due < IndexFileChecksMAX ? ++keeper->due : keeper->due;
  LogEventPosition(&position, event);
  if (res == ResOK && to.size <= room - keeper->bytes) {
    IndexFileKeep(keeper->file, HeapSaveVERSION, &position, to.bytes, to.size);
    keeper->bytes += to.size;
  }
  free(to.bytes);
  return res;
}

static Bool atKeepEvent(LogRequest request, LogEvent event)
{
  AtKeeper keeper = request->data;

  if (UNLIKELY(keeper->events++ == keeper->interval)) {
    keeper->res = atKeep(keeper, event);
    keeper->events = 1;
  }
  HeapEvent(keeper->state->heap, event);
  return keeper->res != ResOK;
}

Res HeapAtKeepEvery(IndexFile file, Log log, uint64_t interval)
{
  static const LogRequestStruct all = LogRequestALL;
  LogRequestStruct request;
  atKeeperStruct keeper = {.file = file, .interval = interval};
  Res res = atMake(&keeper.state, log, NULL);

  if (res != ResOK)
    return res;
  request = all;
  request.data = &keeper;
  HeapChoose(&request, &all);
  request.event = atKeepEvent;
  res = LogRead(log, &request);
  HeapAtDestroy(keeper.state);
  return res == ResOK ? keeper.res : res;
}

Res HeapAtKeep(IndexFile file, Log log)
{
  LogSummaryStruct summary;
  uint64_t interval;

  LogSummarize(&summary, log);
  interval = summary.events / IndexFileChecksMAX + 1;
  return HeapAtKeepEvery(file, log, interval > HeapAtIntervalMIN ? interval : HeapAtIntervalMIN);
}
