/* service.c -- the service of event requests, for its own files
 *
 * Every hook may file and withdraw, its own request too: after each call nothing is taken for granted but that what was
 * freed is only buried.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"

Bool ServiceCheck(PawService service)
{
  Count served = 0;
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    if (filed->state == FiledENDED || (filed->state == FiledSERVED && filed->bit == 0) ||
        (filed->chunk && !filed->begun))
      return FALSE;
    served += filed->state == FiledSERVED;
  }
  for (i = 0; i < ServiceSlotMAX; ++i)
    if (service->slot[i] != NULL && service->slot[i]->bit != (uint64_t)1 << i)
      return FALSE;
  return served == service->served && (served == 0 || service->pass.reading == NULL ||
         LogPositionCompare(&service->pass.reading->position, &service->current) == 0);
}

int PawServiceCreate(PawService *serviceReturn, PawLog log, uint64_t chunk)
{
  PawService service = calloc(1, sizeof *service);

  if (service == NULL)
    return ResMEMORY;
  service->log = log;
  service->chunk = chunk != 0 ? chunk : ServiceChunkDEFAULT;
  DispatchInit(service);
  *serviceReturn = service;
  return ResOK;
}

Bool ServiceNothing(Filed filed)
{
  return filed->left == 0 || LogPositionCompare(&filed->end, &filed->start) <= 0;
}

Bool ServiceOver(PawService service, Filed filed)
{
  return service->dry || filed->request->stop || ServiceNothing(filed) ||
         LogPositionCompare(&filed->end, &service->current) <= 0;
}

static void serviceBury(PawService service)
{
  while (service->grave != NULL) {
    Filed next = service->grave->grave;
    free(service->grave);
    service->grave = next;
  }
}

Filed ServiceFind(PawService service, LogRequest request)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->request == request)
      return service->filed[i];
  return NULL;
}

/* serviceUnreckon -- passes do not reckon with one that came later */
static void serviceUnreckon(PawService service, uint64_t slot)
{
  Index i;

  service->pass.slots &= ~slot;
  for (i = 0; i < ARRAY_LENGTH(service->saved); ++i)
    service->saved[i].slots &= ~slot;
}

void ServiceSlot(PawService service, Filed filed)
{
  Index i;

  for (i = 0; i < ServiceSlotMAX && filed->bit == 0; ++i)
    if (service->slot[i] == NULL) {
      service->slot[i] = filed;
      filed->bit = (uint64_t)1 << i;
      DispatchForget(service, filed->bit);
      serviceUnreckon(service, filed->bit);
    }
}

/* serviceBounds -- of time and position the narrower */
static void serviceBounds(PawService service, Filed filed)
{
  LogRequest request = filed->request;

  PawPositionOfTime(&filed->start, service->log, request->from);
  PawPositionOfTime(&filed->end, service->log, request->to);
  if (request->start != NULL && LogPositionCompare(&filed->start, request->start) < 0)
    filed->start = *request->start;
  if (request->end != NULL && LogPositionCompare(request->end, &filed->end) < 0)
    filed->end = *request->end;
  filed->left = request->count;
}

/* serviceMeans -- can the request be served, as it is? */
static Bool serviceMeans(LogRequest request)
{
  Index i;

  if (request->size != sizeof *request)
    return FALSE;
  for (i = 0; i < request->hookCount; ++i)
    if (request->hooks[i].call == NULL || request->hooks[i].code > UINT16_MAX)
      return FALSE;
  return TRUE;
}

int PawServiceFile(PawService service, PawRequest *request)
{
  Filed filed;

  if (service->closing || !serviceMeans(request) || ServiceFind(service, request) != NULL)
    return ResPARAM;
  if (!Grow(&service->filed, &service->capacity, service->count, sizeof *service->filed))
    return ResMEMORY;
  filed = calloc(1, sizeof *filed);
  if (filed == NULL)
    return ResMEMORY;
  request->stop = FALSE;
  filed->request = request;
  filed->high = request->high != 0;
  filed->counter.data = filed;
  filed->state = FiledWAITING;
  serviceBounds(service, filed);
  service->filed[service->count++] = filed;
  ServiceSlot(service, filed);
  ServiceHalt(service);
  return ResOK;
}

int PawServiceWithdraw(PawService service, PawRequest *request)
{
  Filed filed = ServiceFind(service, request);
  Bool running = service->running;

  if (filed == NULL)
    return FALSE;
  service->running = TRUE; /* its hooks may withdraw others, which must not bury this one under them */
  ServiceEnd(service, filed);
  service->running = running;
  if (!running)
    serviceBury(service);
  return TRUE;
}

/* ---- Entering and leaving ---- */

static Res servicePlace(PawService service, Process process, Stream stream)
{
  if (!Grow(&service->place, &service->placeCapacity, service->places, sizeof *service->place))
    return ResMEMORY;
  service->place[service->places++] = (PlaceStruct){process, stream};
  return ResOK;
}

/* servicePlaces -- list processes and streams that came since this was called last; those that are listed stay */
static Res servicePlaces(PawService service)
{
  Table table = &service->log->table;
  Index p, s;
  Res res = ResOK;

  if (service->knownProcesses == table->processes && service->knownStreams == table->streams)
    return ResOK;
  for (p = 0; p < table->processes && res == ResOK; ++p) {
    if (p >= service->knownProcesses)
      res = servicePlace(service, table->process[p], NULL);
    for (s = service->knownStreams; s < table->streams && res == ResOK; ++s)
      if (table->stream[s]->process == table->process[p])
        res = servicePlace(service, table->process[p], table->stream[s]);
  }
  service->knownProcesses = table->processes;
  service->knownStreams = table->streams;
  return res;
}

/* servicePlaceCall -- the one of two hooks that a place is for */
static void servicePlaceCall(LogRequest request, const PlaceStruct *place, void (*each)(LogRequest, LogProcess),
                             void (*stream)(LogRequest, const PawStream *))
{
  LogProcess process = &place->process->public;

  if (place->stream == NULL) {
    if (each != NULL)
      each(request, process);
  } else if (stream != NULL && ServiceKind(request->kinds, place->stream->kind)) {
    PawStream the = {process, place->stream->id, place->stream->thread, place->stream->kind};
    stream(request, &the);
  }
}

/* serviceBegin -- the before-hooks, as far as the request goes along */
static void serviceBegin(PawService service, Filed filed)
{
  LogRequest request = filed->request;
  Bool each = request->beforeProcess != NULL || request->beforeStream != NULL || request->afterProcess != NULL ||
              request->afterStream != NULL;
  Count places;

  filed->begun = TRUE;
  if (request->before != NULL)
    request->before(request);
  if (!each)
    return;
  if (servicePlaces(service) != ResOK)
    service->res = ResMEMORY;
  places = service->res == ResOK ? service->places : 0;
  while (filed->places < places && filed->state == FiledSERVED && !request->stop) {
    PlaceStruct place = service->place[filed->places++];
    servicePlaceCall(request, &place, request->beforeProcess, request->beforeStream);
  }
}

void ServiceEnter(PawService service, Filed filed)
{
  LogRequest request = filed->request;

  AVER(filed->state == FiledWAITING && !filed->chunk);
  filed->state = FiledSERVED;
  ++service->served;
  ++service->generation;
  if (!filed->begun)
    serviceBegin(service, filed);
  if (filed->state == FiledSERVED && !request->stop) {
    filed->chunk = TRUE;
    if (request->beforeChunk != NULL)
      request->beforeChunk(request);
  }
  if (filed->state == FiledSERVED && ServiceOver(service, filed))
    ServiceEnd(service, filed);
}

static void serviceChunkEnd(Filed filed)
{
  if (!filed->chunk)
    return;
  filed->chunk = FALSE;
  if (filed->request->afterChunk != NULL)
    filed->request->afterChunk(filed->request);
}

/* serviceAfter -- the after-hooks, in reverse */
static void serviceAfter(PawService service, Filed filed)
{
  LogRequest request = filed->request;

  while (filed->places > 0) {
    PlaceStruct place = service->place[--filed->places];
    servicePlaceCall(request, &place, request->afterProcess, request->afterStream);
  }
  if (filed->begun && request->after != NULL)
    request->after(request);
}

void ServiceEnd(PawService service, Filed filed)
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
  serviceChunkEnd(filed);
  serviceAfter(service, filed);
}

/* serviceLeft -- one that has left, and was not told yet; or NULL */
static Filed serviceLeft(PawService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledWAITING && service->filed[i]->chunk)
      return service->filed[i];
  return NULL;
}

void ServiceLeave(PawService service)
{
  Bool high = FALSE;
  Filed filed;
  Index i;

  if (service->served == 0)
    return; /* the pass stays where it is, for whoever can go on with it */
  for (i = 0; i < service->count; ++i) {
    filed = service->filed[i];
    if (filed->state == FiledSERVED) {
      high |= filed->high;
      filed->state = FiledWAITING;
      filed->start = service->current;
    } else if (LogPositionCompare(&filed->start, &service->current) < 0) {
      service->pass.slots &= ~filed->bit; /* the pass has not loaded for it what lies behind its start */
    }
  }
  service->served = 0;
  ++service->generation;
  if (service->pass.reading != NULL) {
    ServicePassEnd(service, &service->saved[high]);
    service->saved[high] = service->pass;
    service->pass = (PassStruct){.reading = NULL};
  }
  while ((filed = serviceLeft(service)) != NULL)
    serviceChunkEnd(filed);
}

/* ---- Running ---- */

static void serviceCountPass(ServiceCounts counts, const PassStruct *pass)
{
  if (pass->reading != NULL) {
    counts->blocks += pass->reading->blocks;
    counts->decoded += pass->reading->decoded;
  }
}

void ServicePassEnd(PawService service, Pass pass)
{
  serviceCountPass(&service->counts, pass);
  if (pass->reading != NULL)
    ReadingDestroy(pass->reading);
  *pass = (PassStruct){.reading = NULL};
}

void ServiceCount(ServiceCounts countsReturn, PawService service)
{
  Index i;

  *countsReturn = service->counts;
  serviceCountPass(countsReturn, &service->pass);
  for (i = 0; i < ARRAY_LENGTH(service->saved); ++i)
    serviceCountPass(countsReturn, &service->saved[i]);
}

/* serviceDrop -- nobody is served any more: away with the passes */
static void serviceDrop(PawService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED) {
      ServiceEnd(service, service->filed[i]);
      i = (Index)-1; /* its hooks may have changed anything */
    }
  ServicePassEnd(service, &service->pass);
  for (i = 0; i < ARRAY_LENGTH(service->saved); ++i)
    ServicePassEnd(service, &service->saved[i]);
}

void PawServiceDestroy(PawService service)
{
  if (service == NULL)
    return;
  AVER(!service->running);
  service->closing = service->running = TRUE;
  while (service->count > 0)
    ServiceEnd(service, service->filed[0]);
  serviceBury(service);
  serviceDrop(service);
  DispatchFinish(service);
  free(service->filed);
  free(service->place);
  free(service);
}

int PawServiceRun(PawService service, int (*pending)(void *data), void *data)
{
  Res res = ResOK;

  AVER(!service->running);
  service->running = TRUE;
  while (res == ResOK && service->count > 0) {
    Bool look = FALSE;
    AVER_CRITICAL(ServiceCheck(service));
    res = ServiceStep(service, &look);
    serviceBury(service);
    if (res == ResOK && look && service->count > 0 && pending != NULL && pending(data)) {
      ServiceLeave(service);
      serviceBury(service);
      res = service->count > 0 ? ResLIMIT : ResOK;
    }
  }
  if (res != ResLIMIT)
    serviceDrop(service);
  serviceBury(service);
  service->running = FALSE;
  return res;
}

/* serviceEnough -- where nobody else waits, a hook that ends the chunk ends it all */
static Bool serviceEnough(void *data)
{
  PawService service = data;

  return service->enough;
}

int PawRead(PawLog log, PawRequest *request)
{
  PawService service;
  Res res = PawServiceCreate(&service, log, 0);

  if (res != ResOK)
    return res;
  res = PawServiceFile(service, request);
  if (res == ResOK)
    res = PawServiceRun(service, serviceEnough, service);
  PawServiceDestroy(service);
  return res == ResLIMIT ? ResOK : res;
}
