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
#include "replay/compile.h"
#include "replay/search.h"

enum { ReplayMERGED, ReplayRECORDED };

typedef struct ReplayStruct {
  CompileStruct compile;
  ReportStruct report;
  PictureStruct picture;
  const char *allocatorList;
  char *names;             /* owned: a copy of that, in which the allocators' names are, to the end of the process */
  unsigned threads;
  Count repeat;            /* SIZE_MAX: as often as it takes */
  Bool json;
} ReplayStruct, *Replay;

/* ---- The command line ---- */

static Bool replayAllocatorNamed(Replay replay, const char *name, int *status)
{
  const OptionToolStruct *tool = replay->compile.source.tool;
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
    return OptionStop(status, OptionFail(replay->compile.source.tool, "no memory"));
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
  replay->compile.speed = strtod(text, &end);
  if (!isspace((unsigned char)*text) && strcmp(end, "x") == 0 && replay->compile.speed > 0 &&
      isfinite(replay->compile.speed))
    return TRUE;
  return OptionStop(status, OptionUsage(replay->compile.source.tool,
                                        "--speed: '%s' is neither max nor a number with x, as in 10x", text));
}

/* ---- Running ---- */

/* replaySaying -- say which allocator is about to run */
static void replaySaying(void *data, const char *name)
{
  Replay replay = data;

  ProgressErase(&replay->compile.source.progress);
  ProgressSay(&replay->compile.source.progress, "replaying on", name);
}

/* replayFaults -- print what --verify and the allocator found; returns whether all is well */
static Bool replayFaults(Replay replay, Measured measured)
{
  static const char *const kinds[PlayFaultLIMIT] = {
    [PlayFaultALIGN] = "is not aligned to", [PlayFaultZERO] = "is not zero at byte",
    [PlayFaultOVERLAP] = "was overwritten by another at byte",
    [PlayFaultLOST] = "lost its contents in a resize, at byte"};
  PlayResult result = &measured->median;
  const char *name = replay->compile.source.tool->name, *called = measured->allocator.name;
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
            replay->compile.source.tool->name, untried, measure->count);
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

  return report->predict.known && !report->verify && replay->compile.speed <= 0 &&
         (report->measure.repeat == 0 || report->measure.repeat >= MeasureRunsMIN);
}

/* replayRecorded -- have the allocator that the program had ready, behind those that are printed if it is not among
 * them: a prediction compares with it */
static void replayRecorded(Replay replay)
{
  Measure measure = &replay->report.measure;
  const char *name = PredictRecorded(&replay->report.predict, replay->compile.script);
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
  const OptionToolStruct *tool = replay->compile.source.tool;
  const char *path = replay->picture.path;
  const char *wrong = path != NULL ? PictureSave(&replay->picture, &replay->report) : NULL;

  if (wrong != NULL)
    (void)OptionFail(tool, "%s: %s", path, wrong);
  else if (path != NULL)
    SayLine(stderr, "%s: the picture is in %s", tool->name, path);
  return wrong == NULL;
}

/* replayRun -- measure each allocator and print; returns the status */
static int replayRun(Replay replay)
{
  PlayParamsStruct params = {.fd = ScriptFile(replay->compile.script), .verify = replay->report.verify,
                             .speed = replay->compile.speed,
                             .visits = replayPredicts(replay), .memory = ResidentFree() / 4 * 3,
                             .touch = (Size)sysconf(_SC_PHYS_PAGES) * (Size)sysconf(_SC_PAGESIZE) / 16};
  Bool well = TRUE;
  int file;
  ReplayRun run = ReplayChildShare(&file);
  Index i;

  if (run == NULL)
    return OptionFail(replay->compile.source.tool, "no shared memory: %s", strerror(errno));
  if (replay->report.search && SearchAdd(&replay->report.measure, replay->compile.script) != ResOK)
    return OptionFail(replay->compile.source.tool, "--search: too many allocators to try settings of all");
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
  ProgressErase(&replay->compile.source.progress);
  for (i = 0; i < replay->report.shown; ++i)
    if (!replayFaults(replay, &replay->report.measure.measured[i]))
      well = FALSE;
  replayUntried(replay);
  if (replay->json)
    ReportJson(&replay->report, ScriptHeaderOf(replay->compile.script));
  else
    ReportTable(&replay->report, ScriptHeaderOf(replay->compile.script));
  if (replay->report.each)
    ReportAdd(&replay->report, ScriptHeaderOf(replay->compile.script));
  ReportNotExact(&replay->report);
  if (fflush(stdout) != 0 && errno != EPIPE)
    return OptionFail(replay->compile.source.tool, "standard output: %s", strerror(errno));
  return replayPicture(replay) && well ? 0 : replay->compile.source.tool->failure;
}

/* replayNothing -- say that there is nothing to replay, and what may be the reason; returns the status */
static int replayNothing(Replay replay)
{
  static const char nothing[] = "nothing to replay";
  const char *name = replay->compile.source.tool->name;
  Index i;

  for (i = 0; i < replay->report.shown; ++i)
    memcpy(replay->report.measure.measured[i].error, nothing, sizeof nothing);
  if (replay->json)
    ReportJson(&replay->report, ScriptHeaderOf(replay->compile.script));
  if (replay->report.process != NULL)
    SayLine(stderr, "%s: %s: %s: no allocation of process %u is in the log", name, replay->report.log, nothing,
            replay->report.process->header.pid);
  else
    SayLine(stderr, "%s: %s: %s: no process has recorded", name, replay->report.log, nothing);
  ReportNotExact(&replay->report);
  return replay->compile.source.tool->failure;
}

/* replayOne -- replay the chosen process; returns the status */
static int replayOne(Replay replay)
{
  int status;

  if (!CompileScript(&replay->compile, &status))
    return status;
  status = ScriptHeaderOf(replay->compile.script)->operations == 0 ? replayNothing(replay) : replayRun(replay);
  CompileDone(&replay->compile);
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
  replay->compile.begun = FALSE;
  replay->compile.elsewhere = 0;
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

  if (!CompileCount(&replay->compile, &status))
    return status;
  fputs(replay->json ? "{\"processes\": [" : "", stdout);
  for (i = 0; i < replay->compile.processes && !replayStopped; ++i) {
    LogProcess process = LogProcessAt(replay->compile.source.log, i);
    int its;
    if (!CompileAsked(&replay->compile, process) || replay->compile.counts[i] == 0)
      continue;
    if (!replayNext(replay, process, &status) || !CompileScript(&replay->compile, &status))
      return status;
    if (ScriptHeaderOf(replay->compile.script)->operations == 0) {
      ++without;
    } else {
      fputs(done++ == 0 ? "" : replay->json ? ",\n" : "\n", stdout);
      its = replayRun(replay);
      status = its != 0 ? its : status;
    }
    CompileDone(&replay->compile);
  }
  replaySums(replay);
  if (done > 0 && without > 0)
    SayLine(stderr, "%s: %s: %zu process%s ha%s no allocation", replay->compile.source.tool->name, replay->report.log,
            without, without == 1 ? "" : "es", without == 1 ? "s" : "ve");
  return done > 0 ? status
                  : OptionFail(replay->compile.source.tool, "%s: nothing to replay: no allocation is in the log",
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
    return OptionUsage(replay->compile.source.tool, "--repeat: from 1 to %d", (int)MeasureRunsMAX);
  if (isnan(replay->report.measure.seconds))
    replay->report.measure.seconds = replay->report.search ? 60 : 30;
  if (replay->report.search &&
      (replay->repeat != SIZE_MAX || replay->report.verify || strcmp(replay->report.speed, "max") != 0))
    return OptionUsage(replay->compile.source.tool,
                       "--search decides how often each runs: --repeat, --verify and --speed do not go with it");
  if (replay->picture.path != NULL && replay->compile.named != NULL && strcmp(replay->compile.named, "all") == 0)
    return OptionUsage(replay->compile.source.tool, "--report shows one process: it does not go with --process=all");
  if (!replaySpeed(replay, &status) || !replayAllocators(replay, &status))
    return status;
  if (replay->repeat != SIZE_MAX)
    replay->report.measure.repeat = replay->repeat;
  else /* what is checked, or takes its time, runs once, and so does what is no allocator */
    replay->report.measure.repeat = replay->report.verify || replay->compile.speed > 0 || replayNone(replay);
  replay->report.log = paths[0];
  replay->report.merged = replay->threads == ReplayMERGED;
  replay->compile.all = replay->compile.named != NULL && strcmp(replay->compile.named, "all") == 0;
  if (!SourceOpen(&replay->compile.source, paths, 1, &status)) {
    SourceClose(&replay->compile.source);
    return status;
  }
  CompileBegin(&replay->compile);
  if (replay->compile.all)
    status = replayEach(replay);
  else if (CompileChoose(&replay->compile, &status))
    status = replayOne(replay);
  PredictFinish(&replay->report.predict);
  SourceClose(&replay->compile.source);
  free(replay->compile.counts);
  return status;
}

int main(int argc, char **argv)
{
  static ReplayStruct replay = {
    .compile.source.count = SIZE_MAX, .allocatorList = "pawprint", .report.speed = "max", .threads = ReplayRECORDED,
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
    OptionString(0, "process", &replay.compile.named, "NAME|PID|all",
                 "replay this process, or all one after the other; the one with the most operations if not given, or "
                 "if several are called so"),
    OptionFlag(0, "json", &replay.json, "one JSON document"),
    SourceFORCE(&replay.compile.source),
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
  replay.compile.source.tool = &tool;
  replay.compile.report = &replay.report;
  replay.compile.picture = &replay.picture;
  return replayMain(&replay, (const char *const *)argv + 1);
}
