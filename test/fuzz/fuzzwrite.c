/* fuzzwrite.c -- any bytes as a log, written in every format
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is a log again is read again: it must be sound, whatever the first one was, and have the same events.  What
 * becomes of the bytes is in fuzzlog.h.
 */
#include "export/output.h"
#include "export/rewrite.h"
#include "export/writer.h"
#include "fuzzlog.h"
#include "view/formats.h"

static int sink = -1;
static char folder[] = "/tmp/fuzzXXXXXX";
static OutputStruct output;

/* What a pass saw. */
typedef struct FuzzSeenStruct {
  uint64_t events, sum;
  uint64_t first; /* time, from which the others are counted */
} FuzzSeenStruct, *FuzzSeen;

static Bool fuzzEvent(LogRequest request, LogEvent event)
{
  FuzzSeen seen = request->data;
  Size length, k;
  Index i;

  if (seen->events++ == 0)
    seen->first = event->time;
  for (i = 0; i < event->type->params; ++i)
    if (event->type->letter[i] == 'S') {
      const char *string = LogEventString(event, i, &length);
      for (k = 0; k < length; ++k)
        seen->sum = seen->sum * 31 + (unsigned char)string[k];
    } else {
      seen->sum = seen->sum * 31 + LogEventWord(event, i);
    }
  seen->sum = seen->sum * 31 + event->type->code;
  seen->sum = seen->sum * 31 + event->thread;
  seen->sum = seen->sum * 31 + event->stream;
  seen->sum = seen->sum * 31 + (event->time - seen->first);
  return FALSE;
}

static FuzzSeenStruct fuzzSee(Log log, LogRequest request)
{
  FuzzSeenStruct seen = {0};

  request->event = fuzzEvent;
  request->data = &seen;
  (void)LogRead(log, request);
  return seen;
}

/* fuzzWriter -- write what a request chooses; FALSE: it cannot be written */
static Bool fuzzWriter(Log log, const WriterClassStruct *class, WriterOptions options, LogRequest request, int fd)
{
  FuzzLogStruct told = {.fd = -1};
  char error[WriterErrorMAX];

  options->log = log;
  options->output = &output;
  options->error = error;
  options->note = fuzzNote;
  options->data = &told;
  OutputInit(&output, fd);
  return WriterWrite(class, options, request) == ResOK && OutputFlush(&output);
}

/* fuzzAgain -- the log that was written: it is one, nothing of it is damaged, and it has what was to be in it */
static void fuzzAgain(int fd, const FuzzSeenStruct *seen, Bool all)
{
  FuzzLogStruct again = {.fd = fd};
  LogRequestStruct request = LogRequestALL;
  FuzzSeenStruct now;

  if (!fuzzLogFile(&again, 1)) {
    if (seen->events > 0)
      FuzzFail("what was written is no log");
    return;
  }
  now = fuzzSee(again.log, &request);
  if (again.gaps > 0)
    FuzzFail("what was written is damaged");
  if (all ? now.events != seen->events : now.events < seen->events)
    FuzzFail("what was written has other events");
  if (all && now.sum != seen->sum)
    FuzzFail("what was written has its events in another order, or changed");
  LogClose(again.log);
}

/* fuzzRewrite -- as a log again: all of it, or what lies between two times, alone or with what it needs */
static void fuzzRewrite(Log log, uint32_t how)
{
  LogRequestStruct request = LogRequestALL;
  WriterOptionsStruct options = {.raw = how & 1, .bare = how >> 1 & 1};
  LogSummaryStruct summary;
  FuzzSeenStruct seen;
  Bool all = how >> 2 & 1;
  char path[32];
  int fd = FuzzFile(path, NULL, 0);

  LogSummarize(&summary, log);
  if (!all) {
    request.from = summary.first + (how >> 4) % (summary.last - summary.first + 1);
    request.to = how >> 3 & 1 ? summary.last : UINT64_MAX;
  }
  seen = fuzzSee(log, &request);
  if (fuzzWriter(log, &WriterClassPaw, &options, &request, fd))
    fuzzAgain(fd, &seen, all || options.bare);
  (void)close(fd);
}

/* fuzzFormat -- in another format */
static void fuzzFormat(Log log, uint32_t how)
{
  const WriterClassStruct *class = FormatClasses[how % FormatCount];
  LogRequestStruct request = LogRequestALL;
  WriterOptionsStruct options = {.path = folder, .force = TRUE, .thin = how >> 3 & 0xff};
  LogSummaryStruct summary;

  LogSummarize(&summary, log);
  options.start = summary.first;
  options.verbose = (class->takes & WriterTakesWORDS) != 0 && how >> 8 & 1;
  options.describe = (class->takes & WriterTakesWORDS) != 0 && how >> 9 & 1;
  options.value = (class->takes & WriterTakesVALUE) != 0 ? (how >> 10) % 3 : 0;
  (void)fuzzWriter(log, class, &options, &request, sink);
}

static void fuzzEnd(void)
{
  char command[64];

  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  (void)!system(command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  FuzzLogStruct fuzzed;
  uint32_t how;

  if (sink < 0) {
    sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (mkdtemp(folder) == NULL || atexit(fuzzEnd) != 0)
      FuzzFail("no folder");
  }
  if (!FuzzLogOpen(&fuzzed, &how, data, size))
    return 0;
  fuzzFormat(fuzzed.log, how >> 4);
  fuzzRewrite(fuzzed.log, how >> 8);
  FuzzLogClose(&fuzzed);
  return 0;
}
