/* fuzzreader.c -- the reader, given any bytes as a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Most logs get the checksums that they should have, because no mutation finds those by itself.  What is done with a
 * log depends on its bytes, so that a file that crashed does so again.  FUZZ_SEALED=FILE writes the log as it was read.
 */
#include <fcntl.h>

#include "fuzz.h"
#include "log/filter.h"
#include "log/request.h"
#include "view/output.h"
#include "view/summary.h"
#include "view/writer.h"

enum { fuzzLogMAX = 1 << 18, fuzzREQUESTS = 4, fuzzStepsMAX = 1 << 16 };

static int sink = -1;
static FILE *nowhere;
static OutputStruct output;

static void fuzzGap(void *data, LogGap gap)
{
  *(uint64_t *)data += strlen(gap->path) + strlen(gap->what);
}

static void fuzzNote(void *data, const char *line)
{
  *(uint64_t *)data += strlen(line);
}

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
  char text[LogPositionTextMAX];
  int64_t steps = (int64_t)(how % 64) - 32;
  uint64_t n;

  if (all.events < 9)
    return;
  LogPositionText(text, log, &place);
  if (LogPositionRead(&again, log, text) == ResOK && LogPositionCompare(&place, &again) != 0)
    FuzzFail("a position is another one as text");
  if (LogPositionStep(&again, &n, log, &request, &place, steps) == ResOK && n > (uint64_t)llabs(steps))
    FuzzFail("more steps than were asked for");
}

/* Several requests over shared passes */
static uint64_t fuzzAsked;

static Bool fuzzPending(void *data)
{
  return ++fuzzAsked % *(uint32_t *)data == 0;
}

static void fuzzServe(LogService service, uint32_t how)
{
  uint32_t every = 2 + how % 3;
  Count n = 0;

  while (LogServiceRun(service, fuzzPending, &every) == ResLIMIT)
    if (++n == fuzzStepsMAX)
      FuzzFail("a service that does not end");
}

static void fuzzService(Log log, uint32_t how)
{
  LogRequestStruct request[fuzzREQUESTS];
  FuzzPassStruct pass[fuzzREQUESTS] = {{0}}, all;
  LogSummaryStruct summary;
  LogService service;
  Index i;

  LogSummarize(&summary, log);
  request[0] = (LogRequestStruct)LogRequestALL;
  all = fuzzPass(log, &request[0]);
  if (LogServiceCreate(&service, log, 1 + how % 50) != ResOK)
    return;
  for (i = 0; i < fuzzREQUESTS; ++i) {
    request[i] = (LogRequestStruct)LogRequestALL;
    request[i].event = fuzzEvent;
    request[i].data = &pass[i];
    request[i].priority = how >> i & 1;
  }
  request[1].from = summary.first + how % 4096;
  request[2].start = &all.middle;
  request[2].count = how % 30;
  request[3].kinds = how >> 3;
  for (i = 0; i < fuzzREQUESTS; ++i)
    if (LogServiceFile(service, &request[(i + how) % fuzzREQUESTS]) != ResOK)
      FuzzFail("a request is not filed");
  fuzzServe(service, how >> 9);
  if (pass[0].events != all.events || pass[0].sum != all.sum || pass[2].events > request[2].count)
    FuzzFail("a request sees something else where it shares the pass");
  LogServiceDestroy(service);
}

/* fuzzWrite -- in a format */
static void fuzzWrite(Log log, uint32_t how)
{
  const WriterClassStruct *class = WriterClasses[how % WriterClassCount];
  LogRequestStruct request = LogRequestALL;
  WriterOptionsStruct options = {.tool = "fuzz", .thin = how >> 3 & 0xff};
  LogSummaryStruct summary;
  char error[512];
  Writer writer;

  if (class->folder)
    return;
  LogSummarize(&summary, log);
  options.start = summary.first;
  options.verbose = (class->takes & WriterTakesWORDS) != 0 && how >> 8 & 1;
  options.describe = (class->takes & WriterTakesWORDS) != 0 && how >> 9 & 1;
  options.raw = (class->takes & WriterTakesBLOCKS) != 0 && how >> 8 & 1;
  OutputInit(&output, sink);
  if (class->create(&writer, &options, log, &output, error, sizeof error) != ResOK)
    return;
  request.event = class->event;
  request.data = writer;
  (void)LogRead(log, &request);
  (void)class->finish(writer);
  class->destroy(writer);
}

static Bool fuzzSum(LogRequest request, LogEvent event)
{
  SummaryEvent(request->data, event);
  return FALSE;
}

/* fuzzSummary -- what it comes to */
static void fuzzSummary(Log log)
{
  LogRequestStruct request = LogRequestALL;
  Summary summary;

  if (SummaryCreate(&summary, log) != ResOK)
    return;
  request.event = fuzzSum;
  request.data = summary;
  (void)LogRead(log, &request);
  (void)SummaryFinish(summary);
  (void)SummaryText(nowhere, summary);
  (void)SummaryJson(nowhere, summary);
  SummaryDestroy(summary);
}

static Bool fuzzChoose(void *data, LogProcess process, EventType type)
{
  return FilterChooses(data, process, type);
}

static Bool fuzzAccept(void *data, LogEvent event)
{
  return FilterMatches(data, event);
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
  request.kinds = FilterKinds(filter);
  request.choose = fuzzChoose;
  request.accept = fuzzAccept;
  request.chooseData = request.acceptData = filter;
  (void)fuzzPass(log, &request);
  (void)FilterCheck(filter);
  FilterFree(filter);
}

static void fuzzKeep(const unsigned char *bytes, Size size)
{
  const char *path = getenv("FUZZ_SEALED");
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

  if (path != NULL && (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0))
    FuzzFail(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static unsigned char bytes[fuzzLogMAX];
  uint64_t told = 0;
  LogHooksStruct hooks = {.data = &told, .gap = fuzzGap, .note = fuzzNote};
  uint32_t how = Crc32c(0, data, size);
  const char *paths[2];
  char path[32], error[512];
  Log log;
  int fd;

  if (size > sizeof bytes)
    return 0;
  if (sink < 0) {
    sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    nowhere = fopen("/dev/null", "w");
  }
  memcpy(bytes, data, size);
  if (how % 8 != 0)
    FuzzSeal(bytes, size);
  fuzzKeep(bytes, size);
  fd = FuzzFile(path, bytes, size);
  paths[0] = paths[1] = path;
  if (LogOpen(&log, paths, 1 + (how >> 3) % 2, &hooks, error, sizeof error) == ResOK) {
    fuzzPasses(log, how >> 4);
    fuzzFilter(log, how >> 8);
    fuzzPlaces(log, how >> 10);
    fuzzService(log, how >> 12);
    fuzzWrite(log, how >> 14);
    fuzzSummary(log);
    LogClose(log);
  }
  (void)close(fd);
  return 0;
}
