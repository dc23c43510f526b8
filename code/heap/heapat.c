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

Res HeapSitesInit(HeapSites sites)
{
  *sites = (HeapSitesStruct){.capacity = 0};
  return HeapTableInit(&sites->table);
}

void HeapSitesFinish(HeapSites sites)
{
  HeapTableFinish(&sites->table);
  free(sites->site);
  *sites = (HeapSitesStruct){.capacity = 0};
}

/* sitesAdd -- the number of a site, from 1; 0: there is no room for it */
static uint32_t sitesAdd(HeapSites sites, uint64_t site)
{
  HeapObject place = HeapTableSeek(&sites->table, site);
  Count count = sites->table.count;

  if (LIKELY(place->addr != 0))
    return place->client;
  if (count == atSitesMAX || !Grow(&sites->site, &sites->capacity, count, sizeof *sites->site) ||
      (place = HeapTablePut(&sites->table, site)) == NULL)
    return 0;
  sites->site[count] = site;
  place->client = (uint32_t)count + 1;
  return place->client;
}

void HeapSitesAsked(HeapSites sites, HeapOperation operation)
{
  if (operation->site != 0)
    operation->object->client = sitesAdd(sites, operation->site);
}

uint64_t HeapSitesOf(const HeapSitesStruct *sites, const HeapObjectStruct *object)
{
  AVER_CRITICAL(object->client <= sites->table.count);
  return object->client == 0 ? 0 : sites->site[object->client - 1];
}

uint64_t HeapAtSite(HeapAt state, const HeapObjectStruct *object)
{
  return HeapSitesOf(&state->sites, object);
}

/* atAsked -- give an object the site of its allocation or last resize, if that was recorded */
static void atAsked(void *data, HeapOperation operation)
{
  HeapSitesAsked(&((HeapAt)data)->sites, operation);
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
  HeapBytesPut(to, state->sites.table.count);
  for (i = 0; i < state->sites.table.count; ++i)
    HeapBytesPut(to, state->sites.site[i]);
  return HeapSave(to, state->heap);
}

/* atSites -- read the sites, or skip them if `sites` is NULL; FALSE: they are impossible, or there is no room for them
 * in so many bytes of memory, of which those that they take are subtracted */
static Bool atSites(Count *countReturn, Size *room, HeapSites sites, HeapBytes from)
{
  uint64_t count = HeapBytesGet(from), i;

  if (count > *room / atSiteBYTES)
    return FALSE;
  *room -= (Size)count * atSiteBYTES;
  for (i = 0; i < count && !from->failed; ++i) {
    uint64_t site = HeapBytesGet(from);
    if (sites != NULL && (site == 0 || sitesAdd(sites, site) != i + 1))
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

/* atPoint -- restore the nearest check point before `before`, its sites to `sites` if that is not NULL; else why not */
static Res atPoint(LogPosition position, Heap heap, HeapSites sites, Log log, const LogPositionStruct *before)
{
  HeapBytesStruct from = {.next = 0};
  IndexFile file = LogKnown(log);
  Size room = file != NULL ? atRoom(log) : 0;
  Count count;
  Res res = file != NULL ? IndexFileNearest(position, &from.bytes, &from.size, file, HeapSaveVERSION, before) : ResEND;

  if (res == ResOK && !atSites(&count, &room, sites, &from))
    res = ResFORMAT;
  if (res == ResOK)
    res = HeapRestore(heap, &from, count, room);
  free(from.bytes);
  return res;
}

Res HeapAtRestore(LogPosition position, Heap heap, HeapSites sites, Log log, const LogRequestStruct *only,
                  const LogPositionStruct *before)
{
  static const LogPositionStruct first = LogPositionFIRST;

  if (atAll(only) && atPoint(position, heap, sites, log, before) == ResOK)
    return ResOK;
  *position = first;
  if (sites == NULL)
    return ResOK;
  HeapSitesFinish(sites); /* of a check point that was not used */
  return HeapSitesInit(sites);
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
  if (HeapSitesInit(&state->sites) != ResOK) {
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
    res = HeapAtRestore(&state->from, state->heap, &state->sites, log, only, position);
  if (res != ResOK)
    HeapAtDestroy(state);
  return res;
}

void HeapAtDestroy(HeapAt state)
{
  HeapSitesFinish(&state->sites);
  HeapDestroy(state->heap);
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
