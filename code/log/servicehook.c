/* servicehook.c -- requests enter and leave the service, and their hooks are called in pairs
 *
 * Every hook may file and withdraw, its own request too: after each call nothing is taken for granted but that what was
 * freed is only buried.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "log/bound.h"

static Res hookPlace(LogService service, Process process, Stream stream)
{
  if ((service->places & (service->places + 1)) == 0) { /* 0, 1, 3, 7 ... are full */
    Place more = realloc(service->place, 2 * (service->places + 1) * sizeof *more);
    if (more == NULL)
      return ResMEMORY;
    service->place = more;
  }
  service->place[service->places++] = (PlaceStruct){process, stream};
  return ResOK;
}

/* hookPlaces -- list processes and streams that came since this was called last; those that are listed stay */
static Res hookPlaces(LogService service)
{
  Table table = &service->log->table;
  Index p, s;
  Res res = ResOK;

  if (service->knownProcesses == table->processes && service->knownStreams == table->streams)
    return ResOK;
  for (p = 0; p < table->processes && res == ResOK; ++p) {
    if (p >= service->knownProcesses)
      res = hookPlace(service, table->process[p], NULL);
    for (s = service->knownStreams; s < table->streams && res == ResOK; ++s)
      if (table->stream[s]->process == table->process[p])
        res = hookPlace(service, table->process[p], table->stream[s]);
  }
  service->knownProcesses = table->processes;
  service->knownStreams = table->streams;
  return res;
}

/* hookPlaceCall -- the one of two hooks that a place is for */
static void hookPlaceCall(LogRequest request, const PlaceStruct *place, void (*trace)(LogRequest, LogProcess),
                          void (*stream)(LogRequest, LogStream))
{
  LogProcess process = &place->process->public;

  if (place->stream == NULL) {
    if (trace != NULL)
      trace(request, process);
  } else if (stream != NULL && BoundKind(request->kinds, place->stream->kind)) {
    LogStreamStruct the = {process, place->stream->id, place->stream->thread, place->stream->kind};
    stream(request, &the);
  }
}

/* hookBegin -- the before-hooks, as far as the request goes along */
static void hookBegin(LogService service, Filed filed)
{
  LogRequest request = filed->request;
  Bool each = request->beforeTrace != NULL || request->beforeStream != NULL || request->afterTrace != NULL ||
              request->afterStream != NULL;
  Count places;

  filed->begun = TRUE;
  if (request->beforeTraceset != NULL)
    request->beforeTraceset(request);
  if (!each)
    return;
  if (hookPlaces(service) != ResOK)
    service->res = ResMEMORY;
  places = service->res == ResOK ? service->places : 0;
  while (filed->places < places && filed->state == FiledSERVED && !request->stop) {
    PlaceStruct place = service->place[filed->places++];
    hookPlaceCall(request, &place, request->beforeTrace, request->beforeStream);
  }
}

void ServiceEnter(LogService service, Filed filed)
{
  LogRequest request = filed->request;

  AVER(filed->state == FiledWAITING && !filed->chunk);
  filed->state = FiledSERVED;
  ++service->served;
  ++service->generation;
  if (!filed->begun)
    hookBegin(service, filed);
  if (filed->state == FiledSERVED && !request->stop) {
    filed->chunk = TRUE;
    if (request->beforeChunk != NULL)
      request->beforeChunk(request);
  }
  if (filed->state == FiledSERVED && ServiceOver(service, filed))
    ServiceEnd(service, filed);
}

static void hookChunkEnd(Filed filed)
{
  if (!filed->chunk)
    return;
  filed->chunk = FALSE;
  if (filed->request->afterChunk != NULL)
    filed->request->afterChunk(filed->request);
}

/* hookEnd -- the after-hooks, in reverse */
static void hookEnd(LogService service, Filed filed)
{
  LogRequest request = filed->request;

  while (filed->places > 0) {
    PlaceStruct place = service->place[--filed->places];
    hookPlaceCall(request, &place, request->afterTrace, request->afterStream);
  }
  if (filed->begun && request->afterTraceset != NULL)
    request->afterTraceset(request);
}

void ServiceEnd(LogService service, Filed filed)
{
  Index i;

  AVER(filed->state != FiledENDED);
  for (i = 0; service->filed[i] != filed; ++i)
    AVER(i + 1 < service->count);
  memmove(&service->filed[i], &service->filed[i + 1], (--service->count - i) * sizeof *service->filed);
  service->served -= filed->state == FiledSERVED;
  filed->state = FiledENDED;
  if (filed->bit != 0)
    service->slot[__builtin_ctzll(filed->bit)] = NULL;
  ++service->generation;
  ServiceHalt(service);
  filed->grave = service->grave;
  service->grave = filed;
  hookChunkEnd(filed);
  hookEnd(service, filed);
}

/* hookLeft -- one that has left, and was not told yet; or NULL */
static Filed hookLeft(LogService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledWAITING && service->filed[i]->chunk)
      return service->filed[i];
  return NULL;
}

void ServiceLeave(LogService service)
{
  LogPriority priority = LogPriorityLOW;
  Filed filed;
  Index i;

  if (service->served == 0)
    return; /* the pass stays where it is, for whoever can go on with it */
  for (i = 0; i < service->count; ++i) {
    filed = service->filed[i];
    if (filed->state == FiledSERVED) {
      if (BoundUrgent(filed->request->priority, priority))
        priority = filed->request->priority;
      filed->state = FiledWAITING;
      filed->start = service->current;
    } else if (BoundBefore(&filed->start, &service->current)) {
      service->pass.slots &= ~filed->bit; /* the pass has not loaded for it what lies behind its start */
    }
  }
  service->served = 0;
  ++service->generation;
  if (service->pass.reading != NULL) {
    ServicePassEnd(service, &service->saved[priority]);
    service->saved[priority] = service->pass;
    service->pass = (PassStruct){.reading = NULL};
  }
  while ((filed = hookLeft(service)) != NULL)
    hookChunkEnd(filed);
}
