/* replay.c -- replays what a program did to its heap, on other allocators
 *
 * The log is compiled once into a script of operations (replay/script.h); each allocator then runs it in a fresh
 * process (replay/child.h), as often as asked, and the medians are printed side by side.
 *
 * Design: design/replayer.md      Tests: test/replay/replay.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/option.h"
#include "base/resident.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/headertimes.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"
#include "log/processname.h"
#include "replay/picture.h"
#include "replay/report.h"
#include "replay/search.h"
#include "source/openlogs.h"

enum { ReplayMERGED, ReplayRECORDED };

#define ReplayTICK 50000.0 /* ns between two times that the script keeps */

typedef struct ReplayStruct {
  SourceStruct source;     /* first: it is the request's data */
  ReportStruct report;
  PictureStruct picture;
  const char *allocatorList;
  char *names;             /* owned: a copy of that, in which the allocators' names are, to the end of the process */
  unsigned threads;
  Count repeat;            /* SIZE_MAX: as often as it takes */
  double speed;
  const char *named;       /* the process that --process names; NULL: any */
  Bool all;                /* it names all, each of which is replayed */
  LogProcess lookedFor, lookedAt; /* replayFollows: which process was replayed, and of which it was asked last; */
  Bool follows;            /* and the answer */
  Bool json;
  Count processes;         /* in the log */
  Bool begun;              /* the process has done an operation of its own */
  Index first;             /* the thread that did the first, */
  uint64_t elsewhere;      /* and how many other threads did */
  Count others;            /* processes with operations that are not replayed */
  uint64_t *counts;        /* events on objects, by process */
  Heap heap;
  Script script;
} ReplayStruct, *Replay;

/* ---- The command line ---- */

static Bool replayAllocatorNamed(Replay replay, const char *name, int *status)
{
  const OptionToolStruct *tool = replay->source.tool;
  Measure measure = &replay->report.measure;
  Measured measured = &measure->measured[measure->count];
  char error[AllocatorErrorSIZE];
  Res res;

  if (*name == '\0')
    return OptionStop(status, OptionUsage(tool, "--allocator: an empty name in '%s'", replay->allocatorList));
  if (measure->count == MeasureAllocatorsMAX - 1) /* one is left for that with which they are compared */
    return OptionStop(status, OptionUsage(tool, "--allocator: more than %d", (int)MeasureAllocatorsMAX - 1));
  res = AllocatorParse(&measured->allocator, name, error);
  if (res != ResOK)
    return OptionStop(status, res == ResPARAM ? OptionUsage(tool, "--allocator: %s", error)
                                              : OptionFail(tool, "%s", error));
  if (measured->allocator.kind == ReplayNONE && replay->report.verify)
    return OptionStop(status, OptionUsage(tool, "--allocator=none has no objects that --verify could check"));
  ++measure->count;
  return TRUE;
}

static Bool replayAllocators(Replay replay, int *status)
{
  char *list = strdup(replay->allocatorList), *name;

  free(replay->names);
  replay->names = list;
  if (list == NULL)
    return OptionStop(status, OptionFail(replay->source.tool, "no memory"));
  while ((name = strsep(&list, ",")) != NULL)
    if (!replayAllocatorNamed(replay, name, status))
      return FALSE;
  replay->report.shown = replay->report.measure.count;
  return TRUE;
}

/* replaySpeed -- "max", or a number with an x behind it */
static Bool replaySpeed(Replay replay, int *status)
{
  const char *text = replay->report.speed;
  char *end;

  if (strcmp(text, "max") == 0)
    return TRUE;
  replay->speed = strtod(text, &end);
  if (!isspace((unsigned char)*text) && strcmp(end, "x") == 0 && replay->speed > 0 && isfinite(replay->speed))
    return TRUE;
  return OptionStop(status, OptionUsage(replay->source.tool, "--speed: '%s' is neither max nor a number with x, as in "
                                        "10x", text));
}

/* ---- Compiling ---- */

/* replayFollows -- is the process the one that is replayed, or an ancestor from which that has inherited objects? */
static Bool replayFollows(Replay replay, LogProcess process)
{
  LogProcess at = replay->report.process;
  Count steps;

  /* All types of a process are asked for one after the other. */
  if (replay->lookedFor == at && replay->lookedAt == process)
    return replay->follows;
  replay->lookedFor = at;
  replay->lookedAt = process;
  for (steps = 0; at != NULL && at != process && steps < replay->processes; ++steps)
    at = HeaderTimesParent(replay->source.log, at);
  replay->follows = at == process;
  return replay->follows;
}

static Bool replayChoose(void *data, LogProcess process, EventType type)
{
  Replay replay = data;

  if (process->header.role[0] != '\0' && PredictWants(type))
    return TRUE;
  /* The process first: to look at all types of all processes for each one of them is what replaying all would cost. */
  return (replay->report.process == NULL || replayFollows(replay, process)) && (HeapWants(type) || PredictWants(type));
}

static Bool replayCountEvent(LogRequest request, LogEvent event)
{
  Replay replay = request->data;

  ++replay->counts[event->process->number];
  return FALSE;
}

/* replayAsked -- may the process be replayed, by --process? */
static Bool replayAsked(Replay replay, LogProcess process)
{
  return process->header.role[0] == '\0' &&
         (replay->named == NULL || replay->all || LogProcessIs(replay->source.log, process, replay->named));
}

/* replayCountAll -- count the events of each process on its heap; FALSE: reported, with the status */
static Bool replayCountAll(Replay replay, int *status)
{
  replay->counts = calloc(replay->processes + 1, sizeof *replay->counts);
  if (replay->counts == NULL)
    return OptionStop(status, OptionFail(replay->source.tool, "no memory"));
  replay->source.request.event = replayCountEvent;
  return SourceRead(&replay->source, status);
}

/* replayBusiest -- of the processes that may be replayed, choose the one with the most events on its heap, and say
 * so */
static Bool replayBusiest(Replay replay, int *status)
{
  Log log = replay->source.log;
  LogProcess busiest = NULL;
  Count among = 0;
  Index i;

  if (!replayCountAll(replay, status))
    return FALSE;
  for (i = 0; i < replay->processes; ++i) {
    LogProcess process = LogProcessAt(log, i);
    if (process->header.role[0] != '\0')
      continue;
    replay->others += replay->counts[i] > 0;
    if (!replayAsked(replay, process))
      continue;
    among += replay->counts[i] > 0;
    if (busiest == NULL || replay->counts[i] > replay->counts[busiest->number])
      busiest = process;
  }
  replay->others -= busiest != NULL && replay->counts[busiest->number] > 0;
  replay->report.process = busiest;
  if (busiest != NULL && among > 1) {
    fprintf(stderr, "%s: process %u (", replay->source.tool->name, busiest->header.pid);
    SayPlain(stderr, HeaderCalled(&busiest->header), strlen(HeaderCalled(&busiest->header)));
    fprintf(stderr, "): the one with the most operations of %zu\n", among);
  }
  return TRUE;
}

/* replayProcess -- choose the process that is replayed; FALSE: reported, with the status */
static Bool replayProcess(Replay replay, int *status)
{
  Log log = replay->source.log;
  LogProcess only = NULL;
  char error[512];
  Count asked = 0;
  Index i;

  for (i = 0; i < replay->processes; ++i)
    if (replayAsked(replay, LogProcessAt(log, i))) {
      only = LogProcessAt(log, i);
      ++asked;
    }
  if (asked > 1)
    return replayBusiest(replay, status);
  replay->report.process = only;
  if (asked == 1 || replay->named == NULL)
    return TRUE;
  LogProcessNone(log, replay->named, error, sizeof error);
  return OptionStop(status, OptionFail(replay->source.tool, "%s: %s", replay->report.log, error));
}

/* replayOperation -- add an operation of the process that is replayed to the script; and of its ancestors those that
 * make pools and arenas, which the process has when it is forked.  Its first thread does these, too. */
static void replayOperation(void *data, HeapOperation operation)
{
  Replay replay = data;
  Bool own = replay->report.process == NULL || operation->process == replay->report.process->number;
  HeapThread thread = operation->thread;

  if (!own && (replay->begun || operation->kind < HeapPOOLCREATE || operation->kind > HeapARENADESTROY))
    return;
  if (own && thread != NULL && !replay->begun) {
    replay->begun = TRUE;
    replay->first = thread->number;
  }
  replay->elsewhere += own && thread != NULL && thread->number != replay->first;
  ScriptAdd(replay->script, operation,
            !own || thread == NULL || thread->number == replay->first ? 0 : thread->number + 1);
}

static Bool replayEvent(LogRequest request, LogEvent event)
{
  Replay replay = request->data;
  uint64_t resident = PredictEvent(&replay->report.predict, event);
  uint64_t first = ScriptHeaderOf(replay->script)->first;

  if (replay->picture.path != NULL && resident > 0 && first != 0 && event->time >= first)
    CurveAdd(&replay->picture.resident, event->time - first, resident);
  if (event->process->header.role[0] == '\0')
    HeapEvent(replay->heap, event);
  return FALSE;
}

/* replayMissing -- collect the reasons why the replay is not exactly what happened */
static void replayMissing(Replay replay)
{
  HeapOffStruct off = HeapOff(replay->heap, replay->report.process);
  char line[HeapOffLineMAX], wanted[AskedLineMAX];
  const char *asked;
  LogSummaryStruct summary;
  HeapTallyStruct tally;
  Index i;

  LogSummarize(&summary, replay->source.log);
  /* Of its ancestors only what it inherits matters, not how well their events fitted. */
  HeapTallySum(&tally, replay->heap, replay->report.process);
#define MISSING(n, one, many) \
  do { \
    if ((n) > 0) \
      ReportReason(&replay->report, "%llu %s", (unsigned long long)(n), (n) == 1 ? one : many); \
  } while (0)
  if (HeapObjectTypes(replay->heap) == 0)
    ReportReason(&replay->report, "no Object events in the log");
  for (i = 0; (asked = AskedLine(wanted, &summary, i)) != NULL; ++i)
    ReportReason(&replay->report, "%s: %s", asked, wanted);
  for (i = 0; HeapOffLine(line, &off, summary.first, i); ++i)
    ReportReason(&replay->report, "not recorded: %s", line);
  MISSING(summary.discarded, "event discarded while recording", "events discarded while recording");
  MISSING(summary.lost, "event lost to damage", "events lost to damage");
  if (summary.lacks > 0)
    ReportReason(&replay->report, "the log may not have all that was recorded (eventcnv --check)");
  MISSING(tally.unmatched, "free or resize of an object whose allocation is not in the log",
          "frees and resizes of objects whose allocation is not in the log");
  MISSING(tally.overlaps, "allocation at an address that was never freed",
          "allocations at addresses that were never freed");
  MISSING(tally.unfinished, "resize without an end", "resizes without an end");
  MISSING(replay->others, "other process left out (--process chooses one)",
          "other processes left out (--process chooses one)");
#undef MISSING
}

/* replayDiscarded -- some were discarded, of some process */
static void replayDiscarded(void *data, const LogDiscardStruct *discard)
{
  Replay replay = data;

  if (discard->process == replay->report.process)
    replay->report.predict.missing += discard->events;
}

/* replayMissed -- count what is not in the log of the process: of what damage took nobody knows whose it was */
static void replayMissed(Replay replay)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, replay->source.log);
  replay->report.predict.missing = summary.lost + summary.dropped + summary.overwritten;
  LogDiscards(replay->source.log, replayDiscarded, replay);
}

static Bool replayCompile(Replay replay, int *status)
{
  HeapClientStruct client = {.data = replay, .alloc = replayOperation, .free = replayOperation,
                             .resize = replayOperation, .other = replayOperation, .each = TRUE};
  const OptionToolStruct *tool = replay->source.tool;
  Res res;

  res = ScriptCreate(&replay->script, replay->report.merged,
                     replay->speed > 0               ? 1 + (uint64_t)(ReplayTICK * replay->speed)
                     : replay->picture.path != NULL ? (uint64_t)ReplayTICK
                                                    : 0);
  if (res == ResOK && replay->picture.path != NULL)
    ScriptDraw(replay->script, &replay->picture.live);
  if (res == ResOK)
    res = HeapCreate(&replay->heap, &client, replay->source.log);
  if (res != ResOK)
    return OptionStop(status, OptionFail(tool, "%s", res == ResIO ? strerror(errno) : "no memory"));
  PredictBegin(&replay->report.predict, replay->source.log, replay->report.process);
  replay->source.request.event = replayEvent;
  if (!SourceRead(&replay->source, status))
    return FALSE;
  res = HeapSettle(replay->heap);
  replayMissing(replay);
  if (res == ResOK)
    res = ScriptFinish(replay->script);
  replayMissed(replay);
  replay->report.predict.operations = ScriptHeaderOf(replay->script)->operations;
  replay->report.predict.unknown = ScriptHeaderOf(replay->script)->peakUnknown;
  replay->report.predict.threads = replay->elsewhere > replay->report.predict.operations / 100;
  if (res == ResIO)
    return OptionStop(status, OptionFail(tool, "temporary file: %s; TMPDIR names another folder for it",
                                         strerror(errno)));
  if (res != ResOK)
    return OptionStop(status, OptionFail(tool, res == ResLIMIT ? "too many objects or pools" : "no memory"));
  return TRUE;
}

/* ---- Running ---- */

/* replaySaying -- say which allocator is about to run */
static void replaySaying(void *data, const char *name)
{
  Replay replay = data;

  ProgressErase(&replay->source.progress);
  ProgressSay(&replay->source.progress, "replaying on", name);
}

/* replayFaults -- print what --verify and the allocator found; returns whether all is well */
static Bool replayFaults(Replay replay, Measured measured)
{
  static const char *const kinds[PlayFaultLIMIT] = {
    [PlayFaultALIGN] = "is not aligned to", [PlayFaultZERO] = "is not zero at byte",
    [PlayFaultOVERLAP] = "was overwritten by another at byte",
    [PlayFaultLOST] = "lost its contents in a resize, at byte"};
  PlayResult result = &measured->median;
  const char *name = replay->source.tool->name, *called = measured->allocator.name;
  Index i;

  if (measured->untried)
    return TRUE;
  if (!measured->ran) {
    SayLine(stderr, "%s: %s: %s", name, called, measured->error);
    return FALSE;
  }
  for (i = 0; i < result->faults && i < PlayFaultsMAX; ++i) {
    PlayFault fault = &result->fault[i];
    SayLine(stderr, "%s: %s: object of %llu bytes at 0x%llx %s %llu", name, called,
            (unsigned long long)fault->size, (unsigned long long)fault->addr,
            fault->kind < PlayFaultLIMIT ? kinds[fault->kind] : "?", (unsigned long long)fault->offset);
  }
  if (result->faults > 0)
    SayLine(stderr, "%s: %s: %llu fault%s", name, called, (unsigned long long)result->faults,
            TextPlural(result->faults));
  if (result->failures > 0)
    ReportReason(&replay->report, "%s: %llu allocation%s failed", called, (unsigned long long)result->failures,
                 TextPlural(result->failures));
  if (result->message[0] != '\0')
    ReportReason(&replay->report, "%s: %s", called, result->message);
  return result->faults == 0;
}

/* replayUntried -- say how many settings there was no time for */
static void replayUntried(Replay replay)
{
  const MeasureStruct *measure = &replay->report.measure;
  Count untried = 0;
  Index i;

  for (i = 0; i < measure->count; ++i)
    untried += measure->measured[i].untried;
  if (untried > 0)
    SayLine(stderr, "%s: not all settings were tried: the time was over before %zu of %zu had run once (--time)",
            replay->source.tool->name, untried, measure->count);
}

static volatile sig_atomic_t replayStopped;

static void replayStop(int signal)
{
  UNUSED(signal);
  replayStopped = 1;
}

/* replayStoppable -- who interrupts a search gets what is known by then; who does so again ends it */
static void replayStoppable(Measure measure)
{
  struct sigaction action = {.sa_handler = replayStop, .sa_flags = SA_RESTART | SA_RESETHAND};

  (void)sigaction(SIGINT, &action, NULL);
  measure->stop = &replayStopped;
}

/* replayPredicts -- will what the whole program would take be told? */
static Bool replayPredicts(Replay replay)
{
  Report report = &replay->report;

  return report->predict.known && !report->verify && replay->speed <= 0 &&
         (report->measure.repeat == 0 || report->measure.repeat >= MeasureRunsMIN);
}

/* replayRecorded -- have the allocator that the program had ready, behind those that are printed if it is not among them: a
 * prediction compares with it */
static void replayRecorded(Replay replay)
{
  Measure measure = &replay->report.measure;
  const char *name = PredictRecorded(&replay->report.predict, replay->script);
  char error[AllocatorErrorSIZE];
  Index i = 0;

  if (AllocatorParse(&measure->recorded, name, error) != ResOK) {
    replay->report.predict.stranger = "it was recorded with an allocator whose library is not installed here";
    (void)AllocatorParse(&measure->recorded, "libc", error);
  }
  measure->count = replay->report.shown;
  while (i < measure->count && !AllocatorSame(&measure->measured[i].allocator, &measure->recorded))
    ++i;
  if (i == measure->count && (replayPredicts(replay) || replay->report.search))
    (void)AllocatorParse(&measure->measured[measure->count++].allocator, measure->recorded.name, error);
}

/* replayPicture -- write the page, if one is wanted, and say so; FALSE: it cannot be written */
static Bool replayPicture(Replay replay)
{
  const OptionToolStruct *tool = replay->source.tool;
  const char *path = replay->picture.path, *wrong = path != NULL ? PictureSave(&replay->picture, &replay->report) : NULL;

  if (wrong != NULL)
    (void)OptionFail(tool, "%s: %s", path, wrong);
  else if (path != NULL)
    SayLine(stderr, "%s: the picture is in %s", tool->name, path);
  return wrong == NULL;
}

/* replayRun -- measure each allocator and print; returns the status */
static int replayRun(Replay replay)
{
  PlayParamsStruct params = {.fd = ScriptFile(replay->script), .verify = replay->report.verify, .speed = replay->speed,
                             .visits = replayPredicts(replay), .memory = ResidentFree() / 4 * 3,
                             .touch = (Size)sysconf(_SC_PHYS_PAGES) * (Size)sysconf(_SC_PAGESIZE) / 16};
  Bool well = TRUE;
  int file;
  ReplayRun run = ReplayChildShare(&file);
  Index i;

  if (run == NULL)
    return OptionFail(replay->source.tool, "no shared memory: %s", strerror(errno));
  if (replay->report.search && SearchAdd(&replay->report.measure, replay->script) != ResOK)
    return OptionFail(replay->source.tool, "--search: too many allocators to try settings of all");
  if (replay->report.search)
    replay->report.shown = replay->report.measure.count;
  replayRecorded(replay);
  if (replay->report.search) {
    replayStoppable(&replay->report.measure);
    SearchRun(&replay->report.measure, run, file, &params, replaySaying, replay);
    replay->report.shown = replay->report.measure.count;
  } else {
    MeasureRun(&replay->report.measure, run, file, &params, replaySaying, replay);
    if (params.visits && PredictPossible(&replay->report.predict, &replay->report.measure) == NULL)
      MeasureAllocation(&replay->report.measure, run, file, &params);
  }
  if (replay->picture.path != NULL)
    PictureRun(&replay->picture, &replay->report, run, file, &params, replaySaying, replay);
  ProgressErase(&replay->source.progress);
  for (i = 0; i < replay->report.shown; ++i)
    if (!replayFaults(replay, &replay->report.measure.measured[i]))
      well = FALSE;
  replayUntried(replay);
  if (replay->json)
    ReportJson(&replay->report, ScriptHeaderOf(replay->script));
  else
    ReportTable(&replay->report, ScriptHeaderOf(replay->script));
  if (replay->report.each)
    ReportAdd(&replay->report, ScriptHeaderOf(replay->script));
  ReportNotExact(&replay->report);
  if (fflush(stdout) != 0 && errno != EPIPE)
    return OptionFail(replay->source.tool, "standard output: %s", strerror(errno));
  return replayPicture(replay) && well ? 0 : replay->source.tool->failure;
}

/* replayNothing -- say that there is nothing to replay, and what may be the reason; returns the status */
static int replayNothing(Replay replay)
{
  static const char nothing[] = "nothing to replay";
  const char *name = replay->source.tool->name;
  Index i;

  for (i = 0; i < replay->report.shown; ++i)
    memcpy(replay->report.measure.measured[i].error, nothing, sizeof nothing);
  if (replay->json)
    ReportJson(&replay->report, ScriptHeaderOf(replay->script));
  if (replay->report.process != NULL)
    SayLine(stderr, "%s: %s: %s: no allocation of process %u is in the log", name, replay->report.log, nothing,
            replay->report.process->header.pid);
  else
    SayLine(stderr, "%s: %s: %s: no process has recorded", name, replay->report.log, nothing);
  ReportNotExact(&replay->report);
  return replay->source.tool->failure;
}

/* replayDone -- the chosen process was replayed */
static void replayDone(Replay replay)
{
  HeapDestroy(replay->heap);
  ScriptDestroy(replay->script);
}

/* replayOne -- replay the chosen process; returns the status */
static int replayOne(Replay replay)
{
  int status;

  if (!replayCompile(replay, &status))
    return status;
  status = ScriptHeaderOf(replay->script)->operations == 0 ? replayNothing(replay) : replayRun(replay);
  replayDone(replay);
  return status;
}

/* replayNext -- the next of all processes is replayed: nothing is known of it, and a search begins anew */
static Bool replayNext(Replay replay, LogProcess process, int *status)
{
  Report report = &replay->report;
  Index i;

  report->process = process;
  report->each = TRUE;
  report->reasons = 0;
  replay->begun = FALSE;
  replay->elsewhere = 0;
  if (report->search) {
    report->measure.count = 0;
    return replayAllocators(replay, status);
  }
  for (i = 0; i < report->measure.count; ++i)
    report->measure.measured[i].ran = FALSE;
  return TRUE;
}

/* replaySums -- print what all processes came to, if there is more than one, and the same allocators ran in each */
static void replaySums(Replay replay)
{
  Report report = &replay->report;
  Bool sums = report->processes > 1 && !report->search;

  if (!replay->json) {
    if (sums)
      ReportSums(report);
    return;
  }
  fputs("]", stdout);
  if (sums) {
    fputs(",\n \"sum\": ", stdout);
    ReportSumsJson(report);
  }
  fputs("}\n", stdout);
}

/* replayEach -- replay all processes that have allocated, one after the other; returns the worst status */
static int replayEach(Replay replay)
{
  Count done = 0, without = 0;
  int status = 0;
  Index i;

  if (!replayCountAll(replay, &status))
    return status;
  fputs(replay->json ? "{\"processes\": [" : "", stdout);
  for (i = 0; i < replay->processes && !replayStopped; ++i) {
    LogProcess process = LogProcessAt(replay->source.log, i);
    int its;
    if (!replayAsked(replay, process) || replay->counts[i] == 0)
      continue;
    if (!replayNext(replay, process, &status) || !replayCompile(replay, &status))
      return status;
    if (ScriptHeaderOf(replay->script)->operations == 0) {
      ++without;
    } else {
      fputs(done++ == 0 ? "" : replay->json ? ",\n" : "\n", stdout);
      its = replayRun(replay);
      status = its != 0 ? its : status;
    }
    replayDone(replay);
  }
  replaySums(replay);
  if (done > 0 && without > 0)
    SayLine(stderr, "%s: %s: %zu process%s ha%s no allocation", replay->source.tool->name, replay->report.log, without,
            without == 1 ? "" : "es", without == 1 ? "s" : "ve");
  return done > 0 ? status
                  : OptionFail(replay->source.tool, "%s: nothing to replay: no allocation is in the log",
                               replay->report.log);
}

/* replayNone -- is there no allocator to run, but what the replay itself costs? */
static Bool replayNone(Replay replay)
{
  Index i = 0;

  while (i < replay->report.shown && replay->report.measure.measured[i].allocator.kind == ReplayNONE)
    ++i;
  return i == replay->report.shown;
}

static int replayMain(Replay replay, const char *const *paths)
{
  int status;

  if (replay->repeat == 0 || (replay->repeat > MeasureRunsMAX && replay->repeat != SIZE_MAX))
    return OptionUsage(replay->source.tool, "--repeat: from 1 to %d", (int)MeasureRunsMAX);
  if (isnan(replay->report.measure.seconds))
    replay->report.measure.seconds = replay->report.search ? 60 : 30;
  if (replay->report.search && (replay->repeat != SIZE_MAX || replay->report.verify || strcmp(replay->report.speed, "max") != 0))
    return OptionUsage(replay->source.tool, "--search decides how often each runs: --repeat, --verify and --speed do not "
                       "go with it");
  if (replay->picture.path != NULL && replay->named != NULL && strcmp(replay->named, "all") == 0)
    return OptionUsage(replay->source.tool, "--report shows one process: it does not go with --process=all");
  if (!replaySpeed(replay, &status) || !replayAllocators(replay, &status))
    return status;
  if (replay->repeat != SIZE_MAX)
    replay->report.measure.repeat = replay->repeat;
  else /* what is checked, or takes its time, runs once, and so does what is no allocator */
    replay->report.measure.repeat = replay->report.verify || replay->speed > 0 || replayNone(replay);
  replay->report.log = paths[0];
  replay->report.merged = replay->threads == ReplayMERGED;
  replay->all = replay->named != NULL && strcmp(replay->named, "all") == 0;
  if (!SourceOpen(&replay->source, paths, 1, &status)) {
    SourceClose(&replay->source);
    return status;
  }
  replay->processes = LogProcesses(replay->source.log);
  PredictInit(&replay->report.predict);
  replay->source.request.choose = replayChoose;
  if (replay->all)
    status = replayEach(replay);
  else if (replayProcess(replay, &status))
    status = replayOne(replay);
  PredictFinish(&replay->report.predict);
  SourceClose(&replay->source);
  free(replay->counts);
  return status;
}

int main(int argc, char **argv)
{
  static ReplayStruct replay = {
    .source.count = SIZE_MAX, .allocatorList = "pawprint", .report.speed = "max", .threads = ReplayRECORDED,
    .repeat = SIZE_MAX, .report.measure.seconds = NAN};
  const OptionStruct options[] = {
    OptionString('a', "allocator", &replay.allocatorList, "LIST",
                 "pawprint, libc, jemalloc, mimalloc, tcmalloc, none (what the replay itself costs), or paths of "
                 "libraries with malloc, each with settings behind colons: libc:M_ARENA_MAX=2; pawprint if not given"),
    OptionChoice('j', "threads", &replay.threads, "merged|recorded",
                 "one thread in order of time, or each recorded thread in one of its own; recorded if not given"),
    OptionString('s', "speed", &replay.report.speed, "max|1x|10x", "as fast as possible, or in recorded time"),
    OptionNumber('n', "repeat", &replay.repeat, "N",
                 "rounds, in each of which each allocator runs once, in a fresh process; medians are printed; as many "
                 "as it takes to tell the allocators apart if not given"),
    OptionFlag(0, "search", &replay.report.search,
               "try the settings that matter of the allocators named, and print the best of time and memory"),
    OptionDouble(0, "time", &replay.report.measure.seconds, "SECONDS",
                 "without --repeat: no round begins later than this, after the third; 30 if not given; with --search no run "
                 "at all, and 60"),
    OptionString(0, "report", &replay.picture.path, "FILE.html",
                 "write a page with a picture, too: resident memory over time, of the program and with each allocator"),
    OptionFlag(0, "verify", &replay.report.verify, "write to every object, and check it"),
    OptionString(0, "process", &replay.named, "NAME|PID|all",
                 "replay this process, or all one after the other; the one with the most operations if not given, or "
                 "if several are called so"),
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
