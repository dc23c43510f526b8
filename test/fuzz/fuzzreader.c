/* fuzzreader.c -- the reader, given any bytes as a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of the bytes is in fuzzlog.h.
 */
#include "filter/filter.h"
#include "fuzzlog.h"
#include "request/request.h"
#include "view/viewclasses.h"

enum { fuzzREQUESTS = 4, fuzzStepsMAX = 1 << 16 };

static FILE *nowhere;

/* What a pass saw; the second pass over the same must see the same. */
typedef struct FuzzPassStruct {
  uint64_t events, sum, last;
  LogPositionStruct middle; /* of some event */
} FuzzPassStruct, *FuzzPass;

static Bool fuzzEvent(LogRequest request, LogEvent event)
{
  FuzzPass pass = request->data;
  Index i;
  Size length, k;

  if (event->fine < pass->last)
    FuzzFail("time goes back");
  pass->last = event->fine;
  if (pass->events++ % 16 == 8)
    LogEventPosition(&pass->middle, event);
  for (i = 0; i < event->type->params; ++i)
    if (event->type->letter[i] == 'S') {
      const char *string = LogEventString(event, i, &length);
      for (k = 0; k < length; ++k)
        pass->sum += (unsigned char)string[k];
    } else {
      pass->sum += LogEventWord(event, i);
    }
  pass->sum = pass->sum * 31 + event->time + event->type->code + event->thread;
  return FALSE;
}

static FuzzPassStruct fuzzPass(Log log, LogRequest request)
{
  FuzzPassStruct pass = {0};

  request->data = &pass;
  request->event = fuzzEvent;
  (void)LogRead(log, request);
  return pass;
}

/* fuzzPasses -- all of it twice; a part by kinds, time, count and position */
static void fuzzPasses(Log log, uint32_t how)
{
  LogRequestStruct request = LogRequestALL;
  LogSummaryStruct summary;
  FuzzPassStruct first = fuzzPass(log, &request), again = fuzzPass(log, &request), part;

  if (first.events != again.events || first.sum != again.sum)
    FuzzFail("a second pass sees something else");
  LogSummarize(&summary, log);
  request.count = first.events / 2;
  request.start = &first.middle;
  part = fuzzPass(log, &request);
  if (part.events > request.count)
    FuzzFail("more events than were asked for");
  request = (LogRequestStruct)LogRequestALL;
  request.kinds = how;
  request.from = summary.first + (how & 0xffff);
  request.to = how % 2 == 0 ? summary.last : summary.first + (how >> 8);
  part = fuzzPass(log, &request);
  if (part.events > first.events)
    FuzzFail("more events than there are");
}

/* fuzzPlaces -- positions stepped, and as text */
static void fuzzPlaces(Log log, uint32_t how)
{
  LogRequestStruct request = LogRequestALL;
  FuzzPassStruct all = fuzzPass(log, &request);
  LogPositionStruct place = all.middle, again;
  char text[PAW_POSITION_TEXT];
  int64_t steps = (int64_t)(how % 64) - 32;
  uint64_t n;

  if (all.events < 9)
    return;
  PawPositionText(text, log, &place);
  if (PawPositionRead(&again, log, text) == ResOK && LogPositionCompare(&place, &again) != 0)
    FuzzFail("a position is another one as text");
  again = place;
  if (PawPositionStep(&again, &n, log, &request, steps) == ResOK && n > (uint64_t)llabs(steps))
    FuzzFail("more steps than were asked for");
}

/* Several requests over shared passes */
static uint64_t fuzzAsked;

static Bool fuzzPending(void *data)
{
  return ++fuzzAsked % *(uint32_t *)data == 0;
}

static void fuzzServe(PawService service, uint32_t how)
{
  uint32_t every = 2 + how % 3;
  Count n = 0;

  while (PawServiceRun(service, fuzzPending, &every) == ResLIMIT)
    if (++n == fuzzStepsMAX)
      FuzzFail("a service that does not end");
}

static void fuzzService(Log log, uint32_t how)
{
  LogRequestStruct request[fuzzREQUESTS];
  FuzzPassStruct pass[fuzzREQUESTS] = {{0}}, all;
  LogSummaryStruct summary;
  PawService service;
  Index i;

  LogSummarize(&summary, log);
  request[0] = (LogRequestStruct)LogRequestALL;
  all = fuzzPass(log, &request[0]);
  if (PawServiceCreate(&service, log, 1 + how % 50) != ResOK)
    return;
  for (i = 0; i < fuzzREQUESTS; ++i) {
    request[i] = (LogRequestStruct)LogRequestALL;
    request[i].event = fuzzEvent;
    request[i].data = &pass[i];
    request[i].high = how >> i & 1;
  }
  request[1].from = summary.first + how % 4096;
  request[2].start = &all.middle;
  request[2].count = how % 30;
  request[3].kinds = how >> 3;
  for (i = 0; i < fuzzREQUESTS; ++i)
    if (PawServiceFile(service, &request[(i + how) % fuzzREQUESTS]) != ResOK)
      FuzzFail("a request is not filed");
  fuzzServe(service, how >> 9);
  if (pass[0].events != all.events || pass[0].sum != all.sum || pass[2].events > request[2].count)
    FuzzFail("a request sees something else where it shares the pass");
  PawServiceDestroy(service);
}

/* fuzzViews -- what it comes to */
static void fuzzViews(Log log)
{
  static const ViewClass class[] = {&ViewClassSummary,   &ViewClassSites, &ViewClassEvents,   &ViewClassSizes,
                                    &ViewClassLifetimes, &ViewClassPools, &ViewClassTimeline, &ViewClassThreads};
  static const LogRequestStruct all = LogRequestALL;
  ViewWantsStruct wants = {.log = log, .request = &all, .at = UINT64_MAX, .top = 5, .slices = 7};
  LogRequest request[CodeRequestsMAX + 1 + ARRAY_LENGTH(class)];
  Count count;
  void *view[ARRAY_LENGTH(class)];
  Count made = 0;
  Index i;

  if (CodeNamesCreate(&wants.names, log, NULL, NULL, NULL) != ResOK)
    return;
  if (ViewHeapCreate(&wants.heap, log, &all, NULL, wants.names) == ResOK) {
    while (made < ARRAY_LENGTH(class) && class[made]->create(&view[made], &wants) == ResOK)
      ++made;
    count = CodeNamesRequests(request, wants.names);
    request[count++] = ViewHeapRequest(wants.heap);
    for (i = 0; i < made; ++i)
      if (class[i]->request != NULL)
        request[count++] = class[i]->request(view[i]);
    if (made == ARRAY_LENGTH(class))
      (void)LogServe(log, request, count);
    for (i = 0; i < made; ++i) {
      if (class[i]->finish(view[i]) == ResOK) {
        (void)class[i]->text(nowhere, view[i]);
        (void)class[i]->json(nowhere, view[i]);
      }
      class[i]->destroy(view[i]);
    }
    ViewHeapDestroy(wants.heap);
  }
  CodeNamesDestroy(wants.names);
}

/* fuzzFilter -- filters over types that nobody thought of */
static void fuzzFilter(Log log, uint32_t how)
{
  static const char *const expressions[] = {
    "size > 100 || s =~ \"a\" || u == w", "name =~ \"Pool\" && size in [1, 4K]", "kind == 5 && tid != pid || d > 1.5",
    "time > 0.000001 && !(addr == 0)", "class == name || .name > \"a\""};
  LogRequestStruct request = LogRequestALL;
  char error[512];
  Filter filter;

  if (FilterMake(&filter, log, expressions[how % ARRAY_LENGTH(expressions)], error, sizeof error) != ResOK)
    return;
  FilterTimes(filter, &request.from, &request.to);
  PawRequestFilter(&request, filter);
  (void)fuzzPass(log, &request);
  (void)FilterCheck(filter);
  FilterFree(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  FuzzLogStruct open;
  uint32_t how;

  if (nowhere == NULL)
    nowhere = fopen("/dev/null", "w");
  if (!FuzzLogOpen(&open, &how, data, size))
    return 0;
  fuzzPasses(open.log, how >> 4);
  fuzzFilter(open.log, how >> 8);
  fuzzPlaces(open.log, how >> 10);
  fuzzService(open.log, how >> 12);
  fuzzViews(open.log);
  FuzzLogClose(&open);
  return 0;
}
