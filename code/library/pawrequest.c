/* pawrequest.c -- libpawlog: requests and services
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For each request that is filed there is one of the reader's own, whose hooks call the caller's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/pawdata.h"
#include "log/filter.h"

/* A request that is filed. */
typedef struct pawFiledStruct {
  LogRequestStruct inner;   /* first: its hooks get it */
  PawRequest *request;      /* the caller's */
  LogPositionStruct start, end;
  LogEventHookStruct hooks[PAW_HOOKS_MAX];
  Bool ended;
  struct pawFiledStruct *next;
} pawFiledStruct, *PawFiled;

struct PawServiceStruct {
  LogService service;
  PawFiled filed;
  Bool running;
  int (*pending)(void *data);
  void *data;
};

void(PawRequestInit)(PawRequest *request, size_t size)
{
  memset(request, 0, size);
  request->size = size;
  request->to = UINT64_MAX;
  request->count = UINT64_MAX;
  request->kinds = UINT32_MAX;
}

/* A filter, and when events pass it. */
struct PawFilterStruct {
  Filter filter;
  uint64_t from, to;
};

/* pawCaller -- the caller's request */
static inline PawRequest *pawCaller(LogRequest inner)
{
  return ((PawFiled)(void *)inner)->request;
}

/* pawStop -- what the caller has written there counts; who has withdrawn the request may have freed it */
static inline void pawStop(LogRequest inner, const PawRequest *request)
{
  if (!((PawFiled)(void *)inner)->ended && request->stop)
    inner->stop = TRUE;
}

static Bool pawChoose(void *data, LogProcess process, EventType type)
{
  PawRequest *request = ((PawFiled)data)->request;

  return (request->filter == NULL || FilterChooses(request->filter->filter, process, type)) &&
         (request->choose == NULL || request->choose(request, (PawProcess)process, (PawType)type) != 0);
}

static Bool pawAccept(void *data, LogEvent event)
{
  return FilterMatches(data, event);
}

static Bool pawEvent(LogRequest inner, LogEvent event)
{
  PawRequest *request = pawCaller(inner);
  Bool ends = request->event(request, (PawEvent)event) != 0;

  pawStop(inner, request);
  return ends;
}

/* pawHook -- hook `i` of the caller's: the reader's hooks do not say which they are, so each has a function */
static inline Bool pawHook(LogRequest inner, LogEvent event, Index i)
{
  PawRequest *request = pawCaller(inner);
  Bool ends = request->hooks[i].call(request, (PawEvent)event) != 0;

  pawStop(inner, request);
  return ends;
}

#define pawHOOKS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define pawDEFINE(i)                                        \
  static Bool pawHook##i(LogRequest inner, LogEvent event)  \
  {                                                         \
    return pawHook(inner, event, i);                        \
  }
pawHOOKS(pawDEFINE)
#define pawNAME(i) pawHook##i,
static const LogEventHook pawHookNumber[] = {pawHOOKS(pawNAME)};
_Static_assert(ARRAY_LENGTH(pawHookNumber) == PAW_HOOKS_MAX, "a function for each hook");

/* The hooks around: each calls the caller's of the same meaning. */
#define pawAROUND(name, call, ...)                    \
  static void name(LogRequest inner __VA_ARGS__)      \
  {                                                   \
    PawRequest *request = pawCaller(inner);           \
    call;                                             \
    pawStop(inner, request);                          \
  }
pawAROUND(pawBefore, request->before(request))
pawAROUND(pawBeforeChunk, request->beforeChunk(request))
pawAROUND(pawAfterChunk, request->afterChunk(request))
pawAROUND(pawBeforeProcess, request->beforeProcess(request, (PawProcess)process), , LogProcess process)
pawAROUND(pawAfterProcess, request->afterProcess(request, (PawProcess)process), , LogProcess process)

static PawStream pawStream(LogStream stream)
{
  return (PawStream){(PawProcess)stream->process, stream->id, stream->thread, stream->kind};
}

static void pawBeforeStream(LogRequest inner, LogStream stream)
{
  PawStream given = pawStream(stream);

  pawCaller(inner)->beforeStream(pawCaller(inner), &given);
  pawStop(inner, pawCaller(inner));
}

static void pawAfterStream(LogRequest inner, LogStream stream)
{
  PawStream given = pawStream(stream);

  pawCaller(inner)->afterStream(pawCaller(inner), &given);
}

static void pawGap(LogRequest inner, LogGap gap)
{
  PawGap given = {gap->path, gap->offset, gap->what, gap->lost, (int)gap->exact};

  pawCaller(inner)->gap(pawCaller(inner), &given);
  pawStop(inner, pawCaller(inner));
}

/* pawAfter -- the last that is called of a request: it may be filed again */
static void pawAfter(LogRequest inner)
{
  PawFiled filed = (PawFiled)(void *)inner;

  filed->ended = TRUE;
  if (filed->request->after != NULL)
    filed->request->after(filed->request);
}

static int pawCheck(const PawRequest *request)
{
  Index i;

  if (request->size != sizeof *request || request->hookCount > PAW_HOOKS_MAX)
    return PAW_PARAM;
  for (i = 0; i < request->hookCount; ++i)
    if (request->hooks[i].call == NULL || request->hooks[i].code > UINT16_MAX)
      return PAW_PARAM;
  return PAW_OK;
}

/* pawFillFilter -- what the filter says goes into the request as far as it can, so that blocks are skipped */
static void pawFillFilter(PawFiled filed, PawFilter filter)
{
  if (filed->inner.from < filter->from)
    filed->inner.from = filter->from;
  if (filed->inner.to > filter->to)
    filed->inner.to = filter->to;
  filed->inner.kinds &= FilterKinds(filter->filter);
  filed->inner.choose = pawChoose;
  if (!FilterExhausted(filter->filter)) {
    filed->inner.accept = pawAccept;
    filed->inner.acceptData = filter->filter;
  }
}

/* pawFill -- the reader's request for the caller's, which is sound */
static void pawFill(PawFiled filed, PawRequest *request)
{
  Index i;

  memset(filed, 0, sizeof *filed);
  filed->request = request;
  filed->inner = (LogRequestStruct){
    .data = filed, .from = request->from, .to = request->to, .count = request->count, .kinds = request->kinds,
    .priority = request->high ? LogPriorityHIGH : LogPriorityLOW,
    .choose = request->choose != NULL ? pawChoose : NULL, .event = request->event != NULL ? pawEvent : NULL,
    .hooks = filed->hooks, .hookCount = request->hookCount,
    .beforeTraceset = request->before != NULL ? pawBefore : NULL, .afterTraceset = pawAfter,
    .beforeTrace = request->beforeProcess != NULL ? pawBeforeProcess : NULL,
    .afterTrace = request->afterProcess != NULL ? pawAfterProcess : NULL,
    .beforeStream = request->beforeStream != NULL ? pawBeforeStream : NULL,
    .afterStream = request->afterStream != NULL ? pawAfterStream : NULL,
    .beforeChunk = request->beforeChunk != NULL ? pawBeforeChunk : NULL,
    .afterChunk = request->afterChunk != NULL ? pawAfterChunk : NULL,
    .gap = request->gap != NULL ? pawGap : NULL,
  };
  for (i = 0; i < request->hookCount; ++i)
    filed->hooks[i] =
        (LogEventHookStruct){pawHookNumber[i], request->hooks[i].priority, (uint16_t)request->hooks[i].code};
  if (request->filter != NULL)
    pawFillFilter(filed, request->filter);
  if (request->start != NULL) {
    filed->start = PawThePosition(request->start);
    filed->inner.start = &filed->start;
  }
  if (request->end != NULL) {
    filed->end = PawThePosition(request->end);
    filed->inner.end = &filed->end;
  }
}

int PawFilterMake(PawFilter *filterReturn, PawLog log, const char *expression, char *message, size_t size)
{
  char ignored[256];
  PawFilter filter = calloc(1, sizeof *filter);
  Res res;

  if (message == NULL || size == 0) {
    message = ignored;
    size = sizeof ignored;
  }
  if (filter == NULL) {
    (void)snprintf(message, size, "no memory");
    return PAW_MEMORY;
  }
  res = FilterMake(&filter->filter, log->log, expression, message, size);
  if (res != ResOK) {
    free(filter);
    return PawResult(res);
  }
  /* Once for all requests that will have it: it is then asked about no other times. */
  filter->to = UINT64_MAX;
  FilterTimes(filter->filter, &filter->from, &filter->to);
  *filterReturn = filter;
  return PAW_OK;
}

void PawFilterFree(PawFilter filter)
{
  if (filter == NULL)
    return;
  FilterFree(filter->filter);
  free(filter);
}

int PawRead(PawLog log, PawRequest *request)
{
  pawFiledStruct filed;
  Res res;

  if (pawCheck(request) != PAW_OK)
    return PAW_PARAM;
  request->stop = 0;
  pawFill(&filed, request);
  res = LogRead(log->log, &filed.inner);
  if (res == ResOK && request->filter != NULL)
    res = FilterRes(request->filter->filter);
  return PawResult(res);
}

int PawPositionStep(PawPosition *position, uint64_t *nReturn, PawLog log, PawRequest *request, int64_t n)
{
  pawFiledStruct filed;
  LogPositionStruct from = PawThePosition(position), to;
  uint64_t ignored;
  Res res;

  if (pawCheck(request) != PAW_OK)
    return PAW_PARAM;
  pawFill(&filed, request);
  res = LogPositionStep(&to, nReturn != NULL ? nReturn : &ignored, log->log, &filed.inner, &from, n);
  if (res == ResOK)
    *position = PawPositionOf(&to);
  return PawResult(res);
}

/* Services */

int PawServiceCreate(PawService *serviceReturn, PawLog log, uint64_t chunk)
{
  PawService service = calloc(1, sizeof *service);
  Res res = service != NULL ? LogServiceCreate(&service->service, log->log, chunk) : ResMEMORY;

  if (res == ResOK)
    *serviceReturn = service;
  else
    free(service);
  return PawResult(res);
}

/* pawBury -- away with what has ended; not while the service runs, which may still look at it */
static void pawBury(PawService service, Bool all)
{
  PawFiled *link = &service->filed;

  while (*link != NULL) {
    PawFiled filed = *link;
    if (filed->ended || all) {
      *link = filed->next;
      free(filed);
    } else {
      link = &filed->next;
    }
  }
}

void PawServiceDestroy(PawService service)
{
  if (service == NULL)
    return;
  service->running = TRUE;
  LogServiceDestroy(service->service);
  pawBury(service, TRUE);
  free(service);
}

static PawFiled pawFind(PawService service, const PawRequest *request)
{
  PawFiled filed = service->filed;

  while (filed != NULL && (filed->request != request || filed->ended))
    filed = filed->next;
  return filed;
}

int PawServiceFile(PawService service, PawRequest *request)
{
  PawFiled filed;
  Res res;

  if (pawCheck(request) != PAW_OK || pawFind(service, request) != NULL)
    return PAW_PARAM;
  if (!service->running)
    pawBury(service, FALSE);
  filed = malloc(sizeof *filed);
  if (filed == NULL)
    return PAW_MEMORY;
  request->stop = 0;
  pawFill(filed, request);
  res = LogServiceFile(service->service, &filed->inner);
  if (res != ResOK) {
    free(filed);
    return PawResult(res);
  }
  filed->next = service->filed;
  service->filed = filed;
  return PAW_OK;
}

int PawServiceWithdraw(PawService service, PawRequest *request)
{
  PawFiled filed = pawFind(service, request);
  Bool running = service->running, was;

  if (filed == NULL)
    return 0;
  service->running = TRUE; /* its hooks may file and withdraw */
  was = LogServiceWithdraw(service->service, &filed->inner);
  filed->ended = TRUE;
  service->running = running;
  if (!running)
    pawBury(service, FALSE);
  return was != FALSE;
}

static Bool pawPending(void *data)
{
  PawService service = data;

  return service->pending(service->data) != 0;
}

int PawServiceRun(PawService service, int (*pending)(void *data), void *data)
{
  Res res;

  service->pending = pending;
  service->data = data;
  service->running = TRUE;
  res = LogServiceRun(service->service, pending != NULL ? pawPending : NULL, service);
  service->running = FALSE;
  pawBury(service, res == ResOK);
  return PawResult(res);
}
