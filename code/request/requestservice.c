/* requestservice.c -- the service of event requests, for its own files
 *
 * Every hook may file and withdraw, its own request too: after each call nothing is taken for granted but that what was
 * freed is only buried.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/requestservice.h"

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
        (filed->chunk && !filed->begun) || filed->places > filed->processes + filed->streams ||
        (filed->bit != 0 && service->slot[__builtin_ctzll(filed->bit)] != filed))
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

void ServiceSlot(PawService service, Filed filed)
{
  Index i = 0, k;

  while (i < ServiceSlotMAX && service->slot[i] != NULL)
    ++i;
  if (filed->bit != 0 || i == ServiceSlotMAX)
    return;
  service->slot[i] = filed;
  filed->bit = (uint64_t)1 << i;
  DispatchForget(service, filed->bit);
  /* No pass that there is reckons with it. */
  service->pass.slots &= ~filed->bit;
  for (k = 0; k < ARRAY_LENGTH(service->saved); ++k)
    service->saved[k].slots &= ~filed->bit;
}

/* serviceBounds -- the start and end positions: the narrower of the bounds by time and by position */
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

/* serviceMeans -- is the request valid? */
static Bool serviceMeans(LogRequest request)
{
  Index i;

  if (request->size != sizeof *request || (request->hooks == NULL && request->hookCount > 0))
    return FALSE;
  for (i = 0; i < request->hookCount; ++i)
    if (request->hooks[i].call == NULL || request->hooks[i].code > UINT16_MAX)
      return FALSE;
  return TRUE;
}

int PawServiceFile(PawService service, PawRequest *request)
{
  Filed filed;

  AVER(ServiceCheck(service) || service->running);
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
  service->running = TRUE; /* its hooks may withdraw others, which must not free it meanwhile */
  ServiceEnd(service, filed);
  service->running = running;
  if (!running)
    serviceBury(service);
  return TRUE;
}

/* ---- Entering and leaving ---- */

/* serviceCall -- call one of two hooks: the one for a process or, unless NULL, for a stream of it */
static void serviceCall(LogRequest request, Process process, LogStream stream, void (*each)(LogRequest, LogProcess),
                        void (*eachStream)(LogRequest, const PawStream *))
{
  if (stream == NULL) {
    if (each != NULL)
      each(request, &process->public);
  } else if (eachStream != NULL && ServiceKind(request->kinds, stream->kind)) {
    PawStream the = {&process->public, stream->id, stream->thread, stream->kind};
    eachStream(request, &the);
  }
}

/* serviceBefore -- call the before-hooks of each process and each of its streams, until the request ends */
static void serviceBefore(PawService service, Filed filed)
{
  Table table = &service->log->table;
  LogRequest request = filed->request;
  Index i;

  filed->processes = table->processes;
  filed->streams = table->streams;
  for (i = 0; i < filed->processes; ++i) {
    Process process = table->process[i];
    LogStream stream = NULL;
    do {
      if (filed->state != FiledSERVED || request->stop)
        return;
      ++filed->places;
      serviceCall(request, process, stream, request->beforeProcess, request->beforeStream);
      stream = stream == NULL ? process->first : stream->next;
    } while (stream != NULL && stream->number < filed->streams);
  }
}

/* serviceAfter -- call the after-hooks, in reverse, of the processes and streams whose before-hooks were called */
static void serviceAfter(PawService service, Filed filed)
{
  LogRequest request = filed->request;
  Count place = filed->processes + filed->streams;
  Index i;

  for (i = filed->places > 0 ? filed->processes : 0; i-- > 0;) {
    Process process = service->log->table.process[i];
    LogStream stream = process->last;
    while (stream != NULL && stream->number >= filed->streams)
      stream = stream->previous;
    for (; stream != NULL; stream = stream->previous)
      if (place-- <= filed->places)
        serviceCall(request, process, stream, request->afterProcess, request->afterStream);
    if (place-- <= filed->places)
      serviceCall(request, process, NULL, request->afterProcess, request->afterStream);
  }
  if (filed->begun && request->after != NULL)
    request->after(request);
}

/* serviceBegin -- all before-hooks */
static void serviceBegin(PawService service, Filed filed)
{
  LogRequest request = filed->request;

  filed->begun = TRUE;
  if (request->before != NULL)
    request->before(request);
  if (request->beforeProcess != NULL || request->beforeStream != NULL || request->afterProcess != NULL ||
      request->afterStream != NULL)
    serviceBefore(service, filed);
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

/* serviceLeft -- a request that has left service and whose hook was not called yet; or NULL */
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
    return; /* the pass stays at its position, for a request that can use it */
  for (i = 0; i < service->count; ++i) {
    filed = service->filed[i];
    if (filed->state == FiledSERVED) {
      high |= filed->high;
      filed->state = FiledWAITING;
      filed->start = service->current;
    } else if (LogPositionCompare(&filed->start, &service->current) < 0) {
      service->pass.slots &= ~filed->bit; /* the pass has not loaded blocks for it from its start on */
    }
  }
  service->served = 0;
  ++service->generation;
  if (service->pass.reading != NULL) {
    ServicePassEnd(&service->saved[high]);
    service->saved[high] = service->pass;
    service->pass = (PassStruct){.reading = NULL};
  }
  while ((filed = serviceLeft(service)) != NULL)
    serviceChunkEnd(filed);
}

/* ---- Running ---- */

void ServicePassEnd(Pass pass)
{
  if (pass->reading != NULL)
    ReadingDestroy(pass->reading);
  *pass = (PassStruct){.reading = NULL};
}

/* serviceDrop -- end all requests that are served, and destroy the passes */
static void serviceDrop(PawService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED) {
      ServiceEnd(service, service->filed[i]);
      i = (Index)-1; /* its hooks may have changed anything */
    }
  ServicePassEnd(&service->pass);
  for (i = 0; i < ARRAY_LENGTH(service->saved); ++i)
    ServicePassEnd(&service->saved[i]);
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

/* serviceEnough -- if no other request waits, a hook that ends the chunk ends the service */
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

Res LogServe(Log log, const LogRequest *requests, Count n)
{
  PawService service;
  Res res = PawServiceCreate(&service, log, 0);
  Index i;

  if (res != ResOK)
    return res;
  for (i = 0; i < n && res == ResOK; ++i)
    res = PawServiceFile(service, requests[i]);
  if (res == ResOK)
    res = PawServiceRun(service, NULL, NULL);
  PawServiceDestroy(service);
  return res;
}
