/* replay.c -- replay what a program did to its heap, on other allocators
 *
 * The log is compiled once into a script of operations (replay/script.h); each allocator then runs it in a fresh process
 * (replay/child.h), as often as asked, and the medians are printed side by side.
 *
 * Design: design/replayer.md      Tests: test/replay/replay.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/openlogs.h"
#include "base/option.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"
#include "log/processname.h"
#include "replay/child.h"
#include "replay/script.h"

enum { ReplayMERGED, ReplayRECORDED };

enum { ReplayAllocatorsMAX = 64, ReplayReasonsMAX = 24, ReplayReasonSIZE = 352, ReplayRunsMAX = 1000 };

#define ReplayTICK 50000.0 /* ns: how precisely recorded time is kept */

/* An allocator, and what came of its runs. */
typedef struct ReplayAllocatorStruct {
  const char *name;        /* as the user gave it */
  ReplayKind kind;
  char library[4096];
  Bool ran;                /* `median` is good */
  PlayResultStruct median; /* of each number by itself; faults and failures of the worst run */
  char error[PlayMessageSIZE];
} ReplayAllocatorStruct, *ReplayAllocator;

typedef struct ReplayStruct {
  SourceStruct source;     /* first: it is the request's data */
  const char *log;
  const char *allocatorList, *speedText;
  unsigned threads;
  double speed;
  Count repeat;
  const char *named;       /* which process is asked for; NULL: any */
  Bool verify, json;
  LogProcess process;      /* the one that is replayed */
  Count processes;         /* in the log, that recorded */
  Bool begun;              /* an operation of its own has come, */
  Index first;             /* of this thread */
  Count others;            /* processes with operations that are not */
  uint64_t *counts;        /* events on objects, by process */
  Heap heap;
  Script script;
  Count allocators;
  ReplayAllocatorStruct allocator[ReplayAllocatorsMAX];
  Count reasons;           /* why the replay is not exact */
  char reason[ReplayReasonsMAX][ReplayReasonSIZE];
} ReplayStruct, *Replay;

static double replayRatio(Replay replay, ReplayAllocator allocator)
{
  uint64_t asked = ScriptHeaderOf(replay->script)->peakBytes;

  return asked == 0 ? 0 : (double)allocator->median.peak / (double)asked;
}

static double replayPerOperation(Replay replay, ReplayAllocator allocator)
{
  uint64_t operations = ScriptHeaderOf(replay->script)->operations;

  return operations == 0 ? 0 : (double)allocator->median.ns / (double)operations;
}

/* replayTable, replayJson -- print what came of all allocators: as a table for people, as one JSON document */
static void replayTable(Replay replay)
{
  ScriptHeader header = ScriptHeaderOf(replay->script);
  int width = (int)strlen("allocator");
  Index i;

  for (i = 0; i < replay->allocators; ++i) {
    if ((int)strlen(replay->allocator[i].name) > width)
      width = (int)strlen(replay->allocator[i].name);
  }
  printf("%-*s %12s %10s %8s %14s %14s %8s\n", width, "allocator", "operations", "seconds", "ns/op", "peak asked",
         "peak resident", "ratio");
  for (i = 0; i < replay->allocators; ++i) {
    ReplayAllocator allocator = &replay->allocator[i];
    if (!allocator->ran) {
      SayLine(stdout, "%-*s %s", width, allocator->name, allocator->error);
      continue;
    }
    printf("%-*s %12llu %10.3f %8.1f %14llu", width, allocator->name, (unsigned long long)header->operations,
           (double)allocator->median.ns / 1e9, replayPerOperation(replay, allocator),
           (unsigned long long)header->peakBytes);
    if (allocator->kind == ReplayNONE)
      printf(" %14s %8s\n", "-", "-");
    else
      printf(" %14llu %8.3f\n", (unsigned long long)allocator->median.peak, replayRatio(replay, allocator));
  }
}

static void replayJsonAllocator(Replay replay, ReplayAllocator allocator)
{
  printf("{\"allocator\": ");
  JsonString(stdout, allocator->name);
  if (!allocator->ran) {
    printf(", \"error\": ");
    JsonString(stdout, allocator->error);
    printf("}");
    return;
  }
  printf(", \"runs\": %zu, \"operations\": %llu, \"seconds\": %.9f, \"cpu_seconds\": %.9f, \"ns_per_operation\": %.3f, "
         "\"peak_asked\": %llu, \"peak_resident\": %llu, \"ratio\": %.6f, \"failures\": %llu",
         replay->repeat, (unsigned long long)ScriptHeaderOf(replay->script)->operations,
         (double)allocator->median.ns / 1e9, (double)allocator->median.cpu / 1e9,
         replayPerOperation(replay, allocator), (unsigned long long)ScriptHeaderOf(replay->script)->peakBytes,
         (unsigned long long)allocator->median.peak, replayRatio(replay, allocator),
         (unsigned long long)allocator->median.failures);
  if (replay->verify)
    printf(", \"faults\": %llu", (unsigned long long)allocator->median.faults);
  printf("}");
}

static void replayJson(Replay replay)
{
  ScriptHeader header = ScriptHeaderOf(replay->script);
  Index i;

  printf("{\"log\": ");
  JsonString(stdout, replay->log);
  printf(", \"process\": %u, \"program\": ", replay->process == NULL ? 0 : replay->process->header.pid);
  JsonString(stdout, replay->process == NULL ? "" : replay->process->header.program);
  printf(", \"threads\": %llu, \"order\": \"%s\", \"speed\": ", (unsigned long long)header->threads,
         replay->threads == ReplayMERGED ? "merged" : "recorded");
  JsonString(stdout, replay->speedText);
  printf(",\n \"operations\": %llu, \"allocations\": %llu, \"frees\": %llu, \"resizes\": %llu, \"crossings\": %llu, "
         "\"peak_asked\": %llu, \"peak_objects\": %llu,\n \"exact\": %s, \"not_exact\": [",
         (unsigned long long)header->operations, (unsigned long long)header->allocs,
         (unsigned long long)(header->frees + header->drops), (unsigned long long)header->resizes,
         (unsigned long long)header->crossings, (unsigned long long)header->peakBytes,
         (unsigned long long)header->peakObjects, replay->reasons == 0 ? "true" : "false");
  for (i = 0; i < replay->reasons; ++i) {
    fputs(i == 0 ? "" : ", ", stdout);
    JsonString(stdout, replay->reason[i]);
  }
  printf("],\n \"allocators\": [");
  for (i = 0; i < replay->allocators; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", stdout);
    replayJsonAllocator(replay, &replay->allocator[i]);
  }
  printf("]}\n");
}

static void replayReason(Replay replay, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void replayReason(Replay replay, const char *format, ...)
{
  va_list args;

  if (replay->reasons == ReplayReasonsMAX)
    return;
  va_start(args, format);
  vsnprintf(replay->reason[replay->reasons++], ReplayReasonSIZE, format, args);
  va_end(args);
}

/* The command line */

static Bool replayAllocatorNamed(Replay replay, const char *name, int *status)
{
  ReplayAllocator allocator = &replay->allocator[replay->allocators];

  if (replay->allocators == ReplayAllocatorsMAX) {
    *status = OptionUsage(replay->source.tool, "--allocator: more than %d", (int)ReplayAllocatorsMAX);
    return FALSE;
  }
  allocator->name = name;
  if (strcmp(name, "pawprint") == 0) {
    allocator->kind = ReplayPAWPRINT;
  } else if (strcmp(name, "libc") == 0) {
    allocator->kind = ReplayLIBC;
  } else if (strcmp(name, "none") == 0) {
    allocator->kind = ReplayNONE;
    if (replay->verify) {
      *status = OptionUsage(replay->source.tool, "--allocator=none has no objects that --verify could check");
      return FALSE;
    }
  } else {
    char path[4096];
    allocator->kind = ReplayLIBRARY;
    if (realpath(name, path) == NULL || access(path, R_OK) != 0) {
      *status = OptionFail(replay->source.tool, "%s: %s; an allocator is pawprint, libc, none or a shared library",
                           name, strerror(errno));
      return FALSE;
    }
    if (strpbrk(path, ": ") != NULL) {
      *status = OptionFail(replay->source.tool, "%s: a path with a colon or a space cannot be preloaded", name);
      return FALSE;
    }
    strcpy(allocator->library, path);
  }
  ++replay->allocators;
  return TRUE;
}

static Bool replayAllocators(Replay replay, int *status)
{
  char *list = strdup(replay->allocatorList), *rest = list, *name;

  if (list == NULL) {
    *status = OptionFail(replay->source.tool, "no memory");
    return FALSE;
  }
  while ((name = strsep(&rest, ",")) != NULL) {
    if (*name == '\0') {
      *status = OptionUsage(replay->source.tool, "--allocator: an empty name in '%s'", replay->allocatorList);
      return FALSE;
    }
    if (!replayAllocatorNamed(replay, name, status))
      return FALSE;
  }
  return TRUE; /* the names live in `list`, to the end */
}

/* replaySpeed -- "max", or a number with an x behind it */
static Bool replaySpeed(Replay replay, int *status)
{
  char number[32];
  Size length = strlen(replay->speedText);

  if (strcmp(replay->speedText, "max") == 0)
    return TRUE;
  if (length >= 2 && length < sizeof number && replay->speedText[length - 1] == 'x') {
    memcpy(number, replay->speedText, length - 1);
    number[length - 1] = '\0';
    if (OptionParseDouble(number, &replay->speed) == ResOK && replay->speed > 0)
      return TRUE;
  }
  *status = OptionUsage(replay->source.tool, "--speed: '%s' is neither max nor a number with x, as in 10x",
                        replay->speedText);
  return FALSE;
}

/* Compiling */

/* replayFollows -- is it the process that is replayed, or did that inherit its objects? */
static Bool replayFollows(Replay replay, LogProcess process)
{
  LogProcess at = replay->process;
  Count steps;

  for (steps = 0; at != NULL && at != process && steps < replay->processes; ++steps)
    at = HeapForkParent(replay->source.log, at);
  return at == process;
}

static Bool replayChoose(void *data, LogProcess process, EventType type)
{
  Replay replay = data;

  return HeapWants(type) && (replay->process == NULL || replayFollows(replay, process));
}

static Bool replayCountEvent(LogRequest request, LogEvent event)
{
  Replay replay = request->data;

  ++replay->counts[event->process->number];
  return FALSE;
}

/* replayMay -- is it one of those that are asked for? */
static Bool replayMay(Replay replay, LogProcess process)
{
  return process->header.role[0] == '\0' && (replay->named == NULL || LogProcessIs(replay->source.log, process, replay->named));
}

/* replayBusiest -- of the processes that are asked for, choose the one with the most events on its heap, and say so */
static Bool replayBusiest(Replay replay, Count processes, int *status)
{
  LogProcess busiest = NULL;
  Count among = 0;
  Index i;

  replay->counts = calloc(processes, sizeof *replay->counts);
  if (replay->counts == NULL) {
    *status = OptionFail(replay->source.tool, "no memory");
    return FALSE;
  }
  replay->source.request.event = replayCountEvent;
  if (!SourceRead(&replay->source, status))
    return FALSE;
  for (i = 0; i < processes; ++i) {
    LogProcess process = LogProcessAt(replay->source.log, i);
    if (process->header.role[0] != '\0')
      continue;
    if (replayMay(replay, process) && (busiest == NULL || replay->counts[i] > replay->counts[busiest->number]))
      busiest = process;
    among += replayMay(replay, process) && replay->counts[i] > 0;
    replay->others += replay->counts[i] > 0;
  }
  replay->others -= busiest != NULL && replay->counts[busiest->number] > 0;
  replay->process = busiest;
  if (busiest != NULL && among > 1) {
    fprintf(stderr, "%s: process %u (", replay->source.tool->name, busiest->header.pid);
    SayPlain(stderr, HeaderCalled(&busiest->header), strlen(HeaderCalled(&busiest->header)));
    fprintf(stderr, "): the one with the most operations of %zu\n", among);
  }
  return TRUE;
}

/* replayProcess -- which process is replayed */
static Bool replayProcess(Replay replay, int *status)
{
  char error[512];
  Count may = 0;
  Index i;

  replay->processes = LogProcesses(replay->source.log);
  for (i = 0; i < replay->processes; ++i) {
    if (!replayMay(replay, LogProcessAt(replay->source.log, i)))
      continue;
    ++may;
    replay->process = LogProcessAt(replay->source.log, i);
  }
  if (may == 0 && replay->named != NULL) {
    LogProcessNone(replay->source.log, replay->named, error, sizeof error);
    *status = OptionFail(replay->source.tool, "%s: %s", replay->log, error);
    return FALSE;
  }
  if (may <= 1)
    return TRUE;
  replay->process = NULL;
  return replayBusiest(replay, replay->processes, status);
}

/* replayOperation -- of the process that is replayed; and of its ancestors what pools and arenas they make, which are
 * the process's own once it is forked.  Its first thread does that too, then. */
static void replayOperation(void *data, HeapOperation operation)
{
  Replay replay = data;
  Bool own = replay->process == NULL || operation->process == replay->process->number;
  HeapThread thread = operation->thread;
  HeapThreadStruct stands = {.number = 0};

  if (!own && (replay->begun || operation->kind < HeapPOOLCREATE || operation->kind > HeapARENADESTROY))
    return;
  if (own && thread != NULL && !replay->begun) {
    replay->begun = TRUE;
    replay->first = thread->number;
  }
  if (thread != NULL) {
    stands.id = own ? thread->id : HeaderLeader(&replay->process->header);
    stands.number = !own || thread->number == replay->first ? 0 : thread->number + 1;
    operation->thread = &stands;
  }
  ScriptAdd(replay->script, operation);
  operation->thread = thread;
}

static Bool replayEvent(LogRequest request, LogEvent event)
{
  Replay replay = request->data;

  HeapEvent(replay->heap, event);
  return FALSE;
}

/* replayMissing -- what keeps the replay from being exactly what happened */
static void replayMissing(Replay replay)
{
  HeapOffStruct off = HeapOff(replay->heap, replay->process);
  char line[HeapOffLineMAX], wanted[AskedLineMAX];
  const char *asked;
  LogSummaryStruct summary;
  HeapTallyStruct tally;
  Index i;

  LogSummarize(&summary, replay->source.log);
  if (replay->process != NULL) /* its ancestors are read for what it has of them; what they did amiss is not its own */
    HeapLookTally(&tally, replay->heap, replay->process->number);
  else
    HeapTallySum(&tally, replay->heap);
#define MISSING(n, one, many) \
  do { \
    if ((n) > 0) \
      replayReason(replay, "%llu %s", (unsigned long long)(n), (n) == 1 ? one : many); \
  } while (0)
  if (HeapObjectTypes(replay->heap) == 0)
    replayReason(replay, "no Object events in the log");
  for (i = 0; (asked = AskedLine(wanted, &summary, i)) != NULL; ++i)
    replayReason(replay, "%s: %s", asked, wanted);
  for (i = 0; HeapOffLine(line, &off, summary.first, i); ++i)
    replayReason(replay, "not recorded: %s", line);
  MISSING(summary.discarded, "event discarded while recording", "events discarded while recording");
  MISSING(summary.lost, "event lost to damage", "events lost to damage");
  if (summary.lacks > 0)
    replayReason(replay, "the log may not have all that was recorded (eventcnv --check)");
  MISSING(tally.unmatched, "free or resize of an object whose allocation is not in the log",
          "frees and resizes of objects whose allocation is not in the log");
  MISSING(tally.overlaps, "allocation at an address that was never freed",
          "allocations at addresses that were never freed");
  MISSING(tally.unfinished, "resize without an end", "resizes without an end");
  MISSING(replay->others, "other process left out (--process chooses one)",
          "other processes left out (--process chooses one)");
#undef MISSING
}

static Bool replayCompile(Replay replay, int *status)
{
  HeapClientStruct client = {.data = replay, .alloc = replayOperation, .free = replayOperation,
                             .resize = replayOperation, .other = replayOperation, .each = TRUE};
  const OptionToolStruct *tool = replay->source.tool;
  Res res;

  replay->source.request.choose = replayChoose;
  if (!replayProcess(replay, status))
    return FALSE;
  res = ScriptCreate(&replay->script, replay->threads == ReplayMERGED,
                     replay->speed > 0 ? 1 + (uint64_t)(ReplayTICK * replay->speed) : 0);
  if (res == ResOK)
    res = HeapCreate(&replay->heap, &client, replay->source.log);
  if (res != ResOK) {
    *status = OptionFail(tool, "%s", res == ResIO ? strerror(errno) : "no memory");
    return FALSE;
  }
  replay->source.request.event = replayEvent;
  if (!SourceRead(&replay->source, status))
    return FALSE;
  res = HeapSettle(replay->heap);
  replayMissing(replay);
  if (res == ResOK)
    res = ScriptFinish(replay->script);
  if (res == ResIO)
    *status = OptionFail(tool, "temporary file: %s; TMPDIR names another folder for it", strerror(errno));
  else if (res != ResOK)
    *status = OptionFail(tool, res == ResLIMIT ? "too many objects or pools" : "no memory");
  return res == ResOK;
}

/* Running */

static int replayCompare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

static uint64_t replayMedian(uint64_t *numbers, Count n)
{
  qsort(numbers, n, sizeof *numbers, replayCompare);
  return n % 2 != 0 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

/* replayAllocator -- all runs of one allocator */
static void replayAllocator(Replay replay, ReplayAllocator allocator, PlayResult shared, int sharedFile)
{
  static uint64_t ns[ReplayRunsMAX], cpu[ReplayRunsMAX], peak[ReplayRunsMAX];
  PlayParamsStruct params = {.fd = ScriptFile(replay->script), .verify = replay->verify, .speed = replay->speed,
                             .touch = (Size)sysconf(_SC_PHYS_PAGES) * (Size)sysconf(_SC_PAGESIZE) / 16};
  Index i;

  for (i = 0; i < replay->repeat; ++i) {
    if (!ReplayChildRun(shared, sharedFile, allocator->kind, allocator->library, &params)) {
      memcpy(allocator->error, shared->message, sizeof allocator->error);
      return;
    }
    ns[i] = shared->ns;
    cpu[i] = shared->cpu;
    peak[i] = shared->peak > shared->base ? shared->peak - shared->base : 0;
    if (i == 0 || shared->faults > allocator->median.faults || shared->failures > allocator->median.failures)
      allocator->median = *shared;
  }
  allocator->median.ns = replayMedian(ns, replay->repeat);
  allocator->median.cpu = replayMedian(cpu, replay->repeat);
  allocator->median.peak = replayMedian(peak, replay->repeat);
  allocator->ran = TRUE;
}

/* replayFaults -- tell what --verify and the allocator found; returns whether all is well */
static Bool replayFaults(Replay replay, ReplayAllocator allocator)
{
  static const char *const kinds[PlayFaultLIMIT] = {
    [PlayFaultALIGN] = "is not aligned to", [PlayFaultZERO] = "is not zero at byte",
    [PlayFaultOVERLAP] = "was overwritten by another at byte",
    [PlayFaultLOST] = "lost its contents in a resize, at byte"};
  PlayResult result = &allocator->median;
  const char *name = replay->source.tool->name;
  Index i;

  if (!allocator->ran) {
    SayLine(stderr, "%s: %s: %s", name, allocator->name, allocator->error);
    return FALSE;
  }
  for (i = 0; i < result->faults && i < PlayFaultsMAX; ++i) {
    PlayFault fault = &result->fault[i];
    SayLine(stderr, "%s: %s: object of %llu bytes at 0x%llx %s %llu", name, allocator->name,
            (unsigned long long)fault->size, (unsigned long long)fault->addr,
            fault->kind < PlayFaultLIMIT ? kinds[fault->kind] : "?", (unsigned long long)fault->offset);
  }
  if (result->faults > 0)
    SayLine(stderr, "%s: %s: %llu fault%s", name, allocator->name, (unsigned long long)result->faults,
            TextPlural(result->faults));
  if (result->failures > 0)
    replayReason(replay, "%s: %llu allocation%s failed", allocator->name, (unsigned long long)result->failures,
                 TextPlural(result->failures));
  if (result->message[0] != '\0')
    replayReason(replay, "%s: %s", allocator->name, result->message);
  return result->faults == 0;
}

static void replayNotExact(Replay replay)
{
  Index i;

  if (replay->reasons == 0)
    return;
  fputs("replay: not exact: ", stderr);
  for (i = 0; i < replay->reasons; ++i) {
    fputs(i == 0 ? "" : "; ", stderr);
    SayPlain(stderr, replay->reason[i], strlen(replay->reason[i]));
  }
  putc('\n', stderr);
}

/* replayRun -- measure each allocator and print; returns the status */
static int replayRun(Replay replay)
{
  Bool well = TRUE;
  PlayResult shared;
  int sharedFile;
  Index i;

  shared = ReplayChildShare(&sharedFile);
  if (shared == NULL)
    return OptionFail(replay->source.tool, "no shared memory: %s", strerror(errno));
  for (i = 0; i < replay->allocators; ++i) {
    ReplayAllocator allocator = &replay->allocator[i];
    ProgressSay(&replay->source.progress, "replaying on", allocator->name);
    replayAllocator(replay, allocator, shared, sharedFile);
    ProgressErase(&replay->source.progress);
    if (!replayFaults(replay, allocator))
      well = FALSE;
  }
  if (replay->json)
    replayJson(replay);
  else
    replayTable(replay);
  replayNotExact(replay);
  if (fflush(stdout) != 0 && errno != EPIPE)
    return OptionFail(replay->source.tool, "standard output: %s", strerror(errno));
  return well ? 0 : replay->source.tool->failure;
}

/* replayNothing -- say that there is nothing to replay, and what may be the reason; returns the status */
static int replayNothing(Replay replay)
{
  static const char nothing[] = "nothing to replay";
  const char *name = replay->source.tool->name;
  Index i;

  for (i = 0; i < replay->allocators; ++i)
    memcpy(replay->allocator[i].error, nothing, sizeof nothing);
  if (replay->json)
    replayJson(replay);
  if (replay->process != NULL)
    SayLine(stderr, "%s: %s: %s: no allocation of process %u is in the log", name, replay->log, nothing,
            replay->process->header.pid);
  else
    SayLine(stderr, "%s: %s: %s: no process has recorded", name, replay->log, nothing);
  replayNotExact(replay);
  return replay->source.tool->failure;
}

static int replayMain(Replay replay, const char *const *paths)
{
  int status;

  if (replay->repeat == 0 || replay->repeat > ReplayRunsMAX)
    return OptionUsage(replay->source.tool, "--repeat: from 1 to %d", (int)ReplayRunsMAX);
  if (!replaySpeed(replay, &status) || !replayAllocators(replay, &status))
    return status;
  replay->log = paths[0];
  if (!SourceOpen(&replay->source, paths, 1, &status) || !replayCompile(replay, &status)) {
    SourceClose(&replay->source);
    return status;
  }
  if (ScriptHeaderOf(replay->script)->operations == 0) {
    status = replayNothing(replay);
  } else {
    status = replayRun(replay);
  }
  HeapDestroy(replay->heap);
  ScriptDestroy(replay->script);
  SourceClose(&replay->source);
  free(replay->counts);
  return status;
}

int main(int argc, char **argv)
{
  static ReplayStruct replay = {
    .source.count = SIZE_MAX, .allocatorList = "pawprint", .speedText = "max", .threads = ReplayRECORDED, .repeat = 1};
  const OptionStruct options[] = {
    OptionString('a', "allocator", &replay.allocatorList, "LIST",
                 "pawprint, libc, none (what the replay itself costs), or paths of libraries with malloc; pawprint if "
                 "not given"),
    OptionChoice('j', "threads", &replay.threads, "merged|recorded",
                 "one thread in order of time, or each recorded thread in one of its own; recorded if not given"),
    OptionString('s', "speed", &replay.speedText, "max|1x|10x", "as fast as possible, or in recorded time"),
    OptionNumber('n', "repeat", &replay.repeat, "N", "runs for each allocator, each in a fresh process; medians are "
                 "printed; 1 if not given"),
    OptionFlag(0, "verify", &replay.verify, "write to every object, and check it"),
    OptionString(0, "process", &replay.named, "NAME|PID",
                 "replay this process; the one with the most operations if not given, or if several are called so"),
    OptionFlag(0, "json", &replay.json, "one JSON document"),
    SourceFORCE(&replay.source),
  };
  const OptionToolStruct tool = {
    .name = "replay", .synopsis = "[options] log",
    .summary = "Replays a recorded program's allocations on one or more allocators, and compares them.",
    .options = options, .count = ARRAY_LENGTH(options), .usage = 2, .failure = 1,
  };
  Count operands;
  int status;

  if (argc > 1 && strcmp(argv[1], ReplayChildWORD) == 0)
    return ReplayChildMain(argc, argv);
  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  if (operands != 1)
    return OptionUsage(&tool, operands == 0 ? "no log is given" : "one log at a time");
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  replay.source.tool = &tool;
  return replayMain(&replay, (const char *const *)argv + 1);
}
