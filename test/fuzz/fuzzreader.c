/* fuzzreader.c -- the reader, given any bytes as a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Most logs get the checksums that they should have, because no mutation finds those by itself.  What is done with a log
 * depends on its bytes, so that a file that crashed does so again.  FUZZ_SEALED=FILE writes the log as it was read.
 */
#include <fcntl.h>

#include "fuzz.h"
#include "log/filter.h"
#include "log/request.h"
#include "log/rewrite.h"
#include "view/line.h"
#include "view/output.h"

enum { fuzzLogMAX = 1 << 18 };

static int sink = -1;
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

static void fuzzLines(Log log, uint32_t how)
{
  static const LineStyle styles[] = {LineTEXT, LineVERBOSE, LineDESCRIBE, LineCSV, LineJSON};
  LogRequestStruct request = LogRequestALL;
  Line line;

  OutputInit(&output, sink);
  if (LineCreate(&line, styles[how % ARRAY_LENGTH(styles)], log, &output) != ResOK)
    return;
  request.event = LineEvent;
  request.data = line;
  (void)LogRead(log, &request);
  LineDestroy(line);
}

static void fuzzRewrite(Log log, uint32_t how)
{
  LogRequestStruct request = LogRequestALL;
  LogRewrite rewrite;

  if (LogRewriteCreate(&rewrite, log, sink, how % 2 == 0) != ResOK)
    return;
  request.event = LogRewriteEvent;
  request.data = rewrite;
  (void)LogRead(log, &request);
  (void)LogRewriteEnd(rewrite);
  LogRewriteDestroy(rewrite);
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
  if (sink < 0)
    sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
  memcpy(bytes, data, size);
  if (how % 8 != 0)
    FuzzSeal(bytes, size);
  fuzzKeep(bytes, size);
  fd = FuzzFile(path, bytes, size);
  paths[0] = paths[1] = path;
  if (LogOpen(&log, paths, 1 + (how >> 3) % 2, &hooks, error, sizeof error) == ResOK) {
    fuzzPasses(log, how >> 4);
    fuzzFilter(log, how >> 8);
    fuzzLines(log, how >> 12);
    fuzzRewrite(log, how >> 16);
    LogClose(log);
  }
  (void)close(fd);
  return 0;
}
