/* service.c -- requests are filed, withdrawn, and counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/bound.h"

Bool ServiceCheck(LogService service)
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

Res LogServiceCreate(LogService *serviceReturn, Log log, uint64_t chunk)
{
  LogService service = calloc(1, sizeof *service);

  if (service == NULL)
    return ResMEMORY;
  service->log = log;
  service->chunk = chunk != 0 ? chunk : LogChunkDEFAULT;
  RoutesInit(service);
  *serviceReturn = service;
  return ResOK;
}

Bool ServiceNothing(Filed filed)
{
  return BoundCounted(filed->left) || BoundReached(&filed->end, &filed->start);
}

Bool ServiceOver(LogService service, Filed filed)
{
  return service->dry || filed->request->stop || ServiceNothing(filed) || BoundReached(&filed->end, &service->current);
}

static void serviceBury(LogService service)
{
  while (service->grave != NULL) {
    Filed next = service->grave->grave;
    free(service->grave);
    service->grave = next;
  }
}

Filed ServiceFind(LogService service, LogRequest request)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->request == request)
      return service->filed[i];
  return NULL;
}

/* serviceUnreckon -- passes do not reckon with one that came later */
static void serviceUnreckon(LogService service, uint64_t slot)
{
  Index i;

  service->pass.slots &= ~slot;
  for (i = 0; i < LogPriorityLIMIT; ++i)
    service->saved[i].slots &= ~slot;
}

void ServiceSlot(LogService service, Filed filed)
{
  Index i;

  for (i = 0; i < ServiceSlotMAX && filed->bit == 0; ++i)
    if (service->slot[i] == NULL) {
      service->slot[i] = filed;
      filed->bit = (uint64_t)1 << i;
      RoutesForget(service, filed->bit);
      serviceUnreckon(service, filed->bit);
    }
}

/* serviceBounds -- of time and position the narrower */
static void serviceBounds(LogService service, Filed filed)
{
  LogRequest request = filed->request;

  LogPositionOfTime(&filed->start, service->log, request->from);
  LogPositionOfTime(&filed->end, service->log, request->to);
  if (request->start != NULL && BoundBefore(&filed->start, request->start))
    filed->start = *request->start;
  if (request->end != NULL && BoundBefore(request->end, &filed->end))
    filed->end = *request->end;
  filed->left = request->count;
}

Res LogServiceFile(LogService service, LogRequest request)
{
  Filed filed;

  if (service->closing || ServiceFind(service, request) != NULL)
    return ResPARAM;
  AVER(request->priority < LogPriorityLIMIT);
  if (!Grow(&service->filed, &service->capacity, service->count, sizeof *service->filed))
    return ResMEMORY;
  filed = calloc(1, sizeof *filed);
  if (filed == NULL)
    return ResMEMORY;
  filed->request = request;
  filed->counter.data = filed;
  filed->state = FiledWAITING;
  serviceBounds(service, filed);
  service->filed[service->count++] = filed;
  ServiceSlot(service, filed);
  ServiceHalt(service);
  return ResOK;
}

Bool LogServiceWithdraw(LogService service, LogRequest request)
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

void ServicePassEnd(LogService service, Pass pass)
{
  if (pass->reading != NULL) {
    service->counts.blocks += pass->reading->blocks;
    service->counts.decoded += pass->reading->decoded;
    ReadingDestroy(pass->reading);
  }
  *pass = (PassStruct){.reading = NULL};
}

static void serviceCountPass(LogServiceCounts counts, const PassStruct *pass)
{
  if (pass->reading != NULL) {
    counts->blocks += pass->reading->blocks;
    counts->decoded += pass->reading->decoded;
  }
}

void LogServiceCount(LogServiceCounts countsReturn, LogService service)
{
  Index i;

  *countsReturn = service->counts;
  serviceCountPass(countsReturn, &service->pass);
  for (i = 0; i < LogPriorityLIMIT; ++i)
    serviceCountPass(countsReturn, &service->saved[i]);
}

/* serviceDrop -- nobody is served any more: away with the passes */
static void serviceDrop(LogService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED) {
      ServiceEnd(service, service->filed[i]);
      i = (Index)-1; /* its hooks may have changed anything */
    }
  ServicePassEnd(service, &service->pass);
  for (i = 0; i < LogPriorityLIMIT; ++i)
    ServicePassEnd(service, &service->saved[i]);
}

void LogServiceDestroy(LogService service)
{
  AVER(!service->running);
  service->closing = service->running = TRUE;
  while (service->count > 0)
    ServiceEnd(service, service->filed[0]);
  serviceBury(service);
  serviceDrop(service);
  RoutesFinish(service);
  free(service->filed);
  free(service->place);
  free(service);
}

Res LogServiceRun(LogService service, Bool (*pending)(void *data), void *data)
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

/* serviceEnough -- where nobody else waits, a hook that wants no more now wants no more */
static Bool serviceEnough(void *data)
{
  LogService service = data;

  return service->enough;
}

Res LogRead(Log log, LogRequest request)
{
  LogService service;
  Res res = LogServiceCreate(&service, log, 0);

  if (res != ResOK)
    return res;
  request->stop = FALSE;
  res = LogServiceFile(service, request);
  if (res == ResOK)
    res = LogServiceRun(service, serviceEnough, service);
  LogServiceDestroy(service);
  return res == ResLIMIT ? ResOK : res;
}
