/* compile.c -- from a log to a script: chooses the process, and takes what it did to its heap
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "export/jsondocument.h"
#include "heap/headertimes.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"
#include "log/processname.h"

#define compileTICK 50000.0 /* ns between two times that the script keeps */

/* ---- The process ---- */

/* compileFollows -- is the process the one that is replayed, or an ancestor from which that has inherited objects? */
static Bool compileFollows(Compile compile, LogProcess process)
{
  LogProcess at = compile->report->process;
  Count steps;

  /* All types of a process are asked for one after the other. */
  if (compile->lookedFor == at && compile->lookedAt == process)
    return compile->follows;
  compile->lookedFor = at;
  compile->lookedAt = process;
  for (steps = 0; at != NULL && at != process && steps < compile->processes; ++steps)
    at = HeaderTimesParent(compile->source.log, at);
  compile->follows = at == process;
  return compile->follows;
}

static Bool compileWants(void *data, LogProcess process, EventType type)
{
  Compile compile = data;

  if (process->header.role[0] != '\0' && PredictWants(type))
    return TRUE;
  /* The process first: to look at all types of all processes for each one of them is what replaying all would cost. */
  return (compile->report->process == NULL || compileFollows(compile, process)) &&
         (HeapWants(type) || PredictWants(type));
}

static Bool compileCountEvent(LogRequest request, LogEvent event)
{
  Compile compile = request->data;

  ++compile->counts[event->process->number];
  return FALSE;
}

/* CompileAsked -- may the process be replayed, by --process? */
Bool CompileAsked(Compile compile, LogProcess process)
{
  return process->header.role[0] == '\0' &&
         (compile->named == NULL || compile->all || LogProcessIs(compile->source.log, process, compile->named));
}

/* CompileCount -- count the events of each process on its heap; FALSE: reported, with the status */
Bool CompileCount(Compile compile, int *status)
{
  compile->counts = calloc(compile->processes + 1, sizeof *compile->counts);
  if (compile->counts == NULL)
    return OptionStop(status, OptionFail(compile->source.tool, "no memory"));
  compile->source.request.event = compileCountEvent;
  return SourceRead(&compile->source, status);
}

/* compileBusiest -- of the processes that may be replayed, choose the one with the most events on its heap, and say
 * so */
static Bool compileBusiest(Compile compile, int *status)
{
  Log log = compile->source.log;
  LogProcess busiest = NULL;
  Count among = 0;
  Index i;

  if (!CompileCount(compile, status))
    return FALSE;
  for (i = 0; i < compile->processes; ++i) {
    LogProcess process = LogProcessAt(log, i);
    if (process->header.role[0] != '\0')
      continue;
    compile->others += compile->counts[i] > 0;
    if (!CompileAsked(compile, process))
      continue;
    among += compile->counts[i] > 0;
    if (busiest == NULL || compile->counts[i] > compile->counts[busiest->number])
      busiest = process;
  }
  compile->others -= busiest != NULL && compile->counts[busiest->number] > 0;
  compile->report->process = busiest;
  if (busiest != NULL && among > 1) {
    fprintf(stderr, "%s: process %u (", compile->source.tool->name, busiest->header.pid);
    SayPlain(stderr, HeaderCalled(&busiest->header), strlen(HeaderCalled(&busiest->header)));
    fprintf(stderr, "): the one with the most operations of %zu\n", among);
  }
  return TRUE;
}

/* CompileChoose -- choose the process that is replayed; FALSE: reported, with the status */
Bool CompileChoose(Compile compile, int *status)
{
  Log log = compile->source.log;
  LogProcess only = NULL;
  char error[512];
  Count asked = 0;
  Index i;

  for (i = 0; i < compile->processes; ++i)
    if (CompileAsked(compile, LogProcessAt(log, i))) {
      only = LogProcessAt(log, i);
      ++asked;
    }
  if (asked > 1)
    return compileBusiest(compile, status);
  compile->report->process = only;
  if (asked == 1 || compile->named == NULL)
    return TRUE;
  LogProcessNone(log, compile->named, error, sizeof error);
  return OptionStop(status, OptionFail(compile->source.tool, "%s: %s", compile->report->log, error));
}

/* ---- Its operations ---- */

/* compileOperation -- add an operation of the process that is replayed to the script; and of its ancestors those that
 * make pools and arenas, which the process has when it is forked.  Its first thread does these, too. */
static void compileOperation(void *data, HeapOperation operation)
{
  Compile compile = data;
  Bool own = compile->report->process == NULL || operation->process == compile->report->process->number;
  HeapThread thread = operation->thread;

  if (!own && (compile->begun || operation->kind < HeapPOOLCREATE || operation->kind > HeapARENADESTROY))
    return;
  if (own && thread != NULL && !compile->begun) {
    compile->begun = TRUE;
    compile->first = thread->number;
  }
  compile->elsewhere += own && thread != NULL && thread->number != compile->first;
  ScriptAdd(compile->script, operation,
            !own || thread == NULL || thread->number == compile->first ? 0 : thread->number + 1);
}

static Bool compileEvent(LogRequest request, LogEvent event)
{
  Compile compile = request->data;
  uint64_t resident = PredictEvent(&compile->report->predict, event);
  uint64_t first = ScriptHeaderOf(compile->script)->first;

  if (compile->picture->path != NULL && resident > 0 && first != 0 && event->time >= first)
    CurveAdd(&compile->picture->resident, event->time - first, resident);
  if (event->process->header.role[0] == '\0')
    HeapEvent(compile->heap, event);
  return FALSE;
}

/* compileMissing -- collect the reasons why the replay is not exactly what happened */
static void compileMissing(Compile compile)
{
  HeapOffStruct off = HeapOff(compile->heap, compile->report->process);
  char line[HeapOffLineMAX], wanted[AskedLineMAX];
  const char *asked;
  LogSummaryStruct summary;
  HeapTallyStruct tally;
  Index i;

  LogSummarize(&summary, compile->source.log);
  /* Of its ancestors only what it inherits matters, not how well their events fitted. */
  HeapTallySum(&tally, compile->heap, compile->report->process);
#define MISSING(n, one, many) \
  do { \
    if ((n) > 0) \
      ReportReason(compile->report, "%llu %s", (unsigned long long)(n), (n) == 1 ? one : many); \
  } while (0)
  if (HeapObjectTypes(compile->heap) == 0)
    ReportReason(compile->report, "no Object events in the log");
  for (i = 0; (asked = AskedLine(wanted, &summary, i)) != NULL; ++i)
    ReportReason(compile->report, "%s: %s", asked, wanted);
  for (i = 0; HeapOffLine(line, &off, summary.first, i); ++i)
    ReportReason(compile->report, "not recorded: %s", line);
  MISSING(summary.discarded, "event discarded while recording", "events discarded while recording");
  MISSING(summary.lost, "event lost to damage", "events lost to damage");
  if (summary.lacks > 0)
    ReportReason(compile->report, "the log may not have all that was recorded (eventcnv --check)");
  MISSING(tally.unmatched, "free or resize of an object whose allocation is not in the log",
          "frees and resizes of objects whose allocation is not in the log");
  MISSING(tally.overlaps, "allocation at an address that was never freed",
          "allocations at addresses that were never freed");
  MISSING(tally.unfinished, "resize without an end", "resizes without an end");
  MISSING(compile->others, "other process left out (--process chooses one)",
          "other processes left out (--process chooses one)");
#undef MISSING
}

/* compileDiscarded -- some were discarded, of some process */
static void compileDiscarded(void *data, const LogDiscardStruct *discard)
{
  Compile compile = data;

  if (discard->process == compile->report->process)
    compile->report->predict.missing += discard->events;
}

/* compileMissed -- count what is not in the log of the process: of what damage took nobody knows whose it was */
static void compileMissed(Compile compile)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, compile->source.log);
  compile->report->predict.missing = summary.lost + summary.dropped + summary.overwritten;
  LogDiscards(compile->source.log, compileDiscarded, compile);
}

Bool CompileScript(Compile compile, int *status)
{
  HeapClientStruct client = {.data = compile, .alloc = compileOperation, .free = compileOperation,
                             .resize = compileOperation, .other = compileOperation, .each = TRUE};
  const OptionToolStruct *tool = compile->source.tool;
  Res res;

  res = ScriptCreate(&compile->script, compile->report->merged,
                     compile->speed > 0               ? 1 + (uint64_t)(compileTICK * compile->speed)
                     : compile->picture->path != NULL ? (uint64_t)compileTICK
                                                    : 0);
  if (res == ResOK && compile->picture->path != NULL)
    ScriptDraw(compile->script, &compile->picture->live);
  if (res == ResOK)
    res = HeapCreate(&compile->heap, &client, compile->source.log);
  if (res != ResOK)
    return OptionStop(status, OptionFail(tool, "%s", res == ResIO ? strerror(errno) : "no memory"));
  PredictBegin(&compile->report->predict, compile->source.log, compile->report->process);
  compile->source.request.event = compileEvent;
  if (!SourceRead(&compile->source, status))
    return FALSE;
  res = HeapSettle(compile->heap);
  compileMissing(compile);
  if (res == ResOK)
    res = ScriptFinish(compile->script);
  compileMissed(compile);
  compile->report->predict.operations = ScriptHeaderOf(compile->script)->operations;
  compile->report->predict.unknown = ScriptHeaderOf(compile->script)->peakUnknown;
  compile->report->predict.threads = compile->elsewhere > compile->report->predict.operations / 100;
  if (res == ResIO)
    return OptionStop(status, OptionFail(tool, "temporary file: %s; TMPDIR names another folder for it",
                                         strerror(errno)));
  if (res != ResOK)
    return OptionStop(status, OptionFail(tool, res == ResLIMIT ? "too many objects or pools" : "no memory"));
  return TRUE;
}

void CompileDone(Compile compile)
{
  HeapDestroy(compile->heap);
  ScriptDestroy(compile->script);
}

void CompileBegin(Compile compile)
{
  compile->processes = LogProcesses(compile->source.log);
  PredictInit(&compile->report->predict);
  compile->source.request.choose = compileWants;
}
