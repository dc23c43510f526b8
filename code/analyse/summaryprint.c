/* summaryprint.c -- a summary as text and as JSON
 *
 * Of processes the recorded programs come first, the largest before all others; behind them who watched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/holders.h"
#include "analyse/summary.h"
#include "analyse/viewnotes.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

/* A process of which there are events. */
typedef struct SummaryProcessStruct {
  Header header;
  Index number;            /* in the log */
  uint32_t life;           /* of the system's process that it is, or is a part of */
  Registry registry;
  HeapSeenStruct seen;
  uint64_t events;
  FootprintBytesStruct mapped, resident;
} SummaryProcessStruct, *SummaryProcess;

typedef struct SummaryProcessesStruct {
  Count recorded, collectors; /* the second behind the first */
  Count threads;           /* of the recorded; one that goes on through exec is one */
  Bool part;               /* there may be more of both, with events that did not come */
  SummaryProcess process;  /* owned */
} SummaryProcessesStruct, *SummaryProcesses;

enum { processSHOWN = 20, processArgumentsSHOWN = 6, processArgumentMAX = 40 }; /* in the text; JSON has all */

/* processAdd -- those of which there are events: recorded programs, or who watched them */
static void processAdd(SummaryProcesses processes, Summary summary, Bool recorded)
{
  Index i, j;

  for (i = 0; i < LogProcesses(summary->log); ++i) {
    LogProcess of = LogProcessAt(summary->log, i);
    SummaryProcess process = &processes->process[processes->recorded + processes->collectors];
    if ((of->header.role[0] == '\0') != recorded || !HeapLook(&process->seen, summary->heap, i))
      continue;
    process->header = &of->header;
    process->number = i;
    process->life = PidLivesAt(&summary->lives, i);
    process->registry = of->registry;
    process->events = 0;
    for (j = 0; j < of->registry->count; ++j)
      process->events += process->seen.counts[j];
    process->mapped = FootprintBytesOf(summary->footprint, FootprintMAPPED, &i);
    process->resident = FootprintBytesOf(summary->footprint, FootprintRESIDENT, &i);
    ++*(recorded ? &processes->recorded : &processes->collectors);
  }
}

static int processLifeCompare(const void *a, const void *b)
{
  const SummaryProcessStruct *x = a, *y = b;

  return x->life < y->life ? -1 : x->life > y->life;
}

/* processThreads -- how many there were.  Programs that follow each other by exec are one process, and the thread that
 * has its number goes on through all of them. */
static void processThreads(SummaryProcesses processes)
{
  Bool leader = FALSE;
  Index i;

  qsort(processes->process, processes->recorded, sizeof *processes->process, processLifeCompare);
  for (i = 0; i < processes->recorded; ++i) {
    SummaryProcess process = &processes->process[i];
    Bool same = i > 0 && processLifeCompare(process - 1, process) == 0;
    processes->threads += process->seen.threads - (same && leader && process->seen.leader);
    leader = (same && leader) || process->seen.leader;
  }
}

static int processCompare(const void *a, const void *b)
{
  const SummaryProcessStruct *x = a, *y = b;
  uint64_t xs = x->seen.sum.peakBytes + x->mapped.peak, ys = y->seen.sum.peakBytes + y->mapped.peak;

  if (xs != ys)
    return xs > ys ? -1 : 1;
  if (x->resident.peak != y->resident.peak)
    return x->resident.peak > y->resident.peak ? -1 : 1;
  if (x->events != y->events)
    return x->events > y->events ? -1 : 1;
  return x->header < y->header ? -1 : x->header > y->header;
}

/* summaryProcessesMake -- in order; FALSE: no memory.  the caller frees `process` in either case. */
static Bool summaryProcessesMake(SummaryProcesses processes, Summary summary)
{
  *processes = (SummaryProcessesStruct){.part = summary->part};
  processes->process = malloc((LogProcesses(summary->log) + 1) * sizeof *processes->process);
  if (processes->process == NULL)
    return FALSE;
  processAdd(processes, summary, TRUE);
  processAdd(processes, summary, FALSE);
  processThreads(processes);
  qsort(processes->process, processes->recorded, sizeof *processes->process, processCompare);
  return TRUE;
}

/* ---- Text ---- */

static void textPart(FILE *out, const char *before, uint64_t bytes, const char *what)
{
  fputs(before, out);
  SayShort(out, bytes);
  fprintf(out, " %s", what);
}

static void textProcess(FILE *out, SummaryProcess process)
{
  Header header = process->header;
  Index j;

  fprintf(out, "  %-12u %llu event%s, %zu thread%s", header->pid, (unsigned long long)process->events,
          TextPlural(process->events), process->seen.threads, TextPlural(process->seen.threads));
  if (process->seen.sum.peakBytes > 0)
    textPart(out, ", ", process->seen.sum.peakBytes, "heap");
  if (process->mapped.peak > 0)
    textPart(out, ", ", process->mapped.peak, "mapped");
  if (process->resident.known)
    textPart(out, ", ", process->resident.peak, "resident");
  if (header->inner != 0)
    fprintf(out, ", number %u in its namespace", header->inner);
  fputs(": ", out);
  CalledSay(out, header);
  for (j = 1; j < header->arguments && j < processArgumentsSHOWN; ++j) {
    Size length = strlen(header->argument[j]);
    putc(' ', out);
    SayPlain(out, header->argument[j], length > processArgumentMAX ? processArgumentMAX : length);
    fputs(length > processArgumentMAX ? "..." : "", out);
  }
  fputs(header->arguments > processArgumentsSHOWN ? " ...\n" : "\n", out);
}

/* Each prints its part: for people; members of one JSON object, with a comma behind. */
static void summaryProcessesText(FILE *out, SummaryProcesses processes)
{
  const char *which = processes->part ? " with events that were asked for" : "";
  Index i;

  fprintf(out, "processes      %zu%s\n", processes->recorded, which);
  for (i = 0; i < processes->recorded && i < processSHOWN; ++i)
    textProcess(out, &processes->process[i]);
  if (processes->recorded > processSHOWN)
    fprintf(out, "  and %zu more\n", processes->recorded - processSHOWN);
  fprintf(out, "threads        %zu%s\n", processes->threads, which);
  for (i = 0; i < processes->collectors; ++i) {
    SummaryProcess process = &processes->process[processes->recorded + i];
    fprintf(out, "%s %llu event%s: ", i == 0 ? "collector     " : "              ",
            (unsigned long long)process->events, TextPlural(process->events));
    SayPlain(out, process->header->program, strlen(process->header->program));
    putc('\n', out);
  }
}

/* ---- JSON ---- */

static void jsonProcess(FILE *out, SummaryProcess process, ThreadSums who)
{
  ThreadSumStruct sum = ThreadSumsOf(who, &process->number);
  Header header = process->header;
  Index j;

  fprintf(out, "{\"pid\": %u, \"inner_pid\": %u, \"parent\": %u, \"events\": %llu, \"threads\": %zu, ", header->pid,
          HeaderLeader(header), header->parent, (unsigned long long)process->events, process->seen.threads);
  fprintf(out, "\"peak_bytes\": %llu, ", (unsigned long long)process->seen.sum.peakBytes);
  FootprintBytesJson(out, "mapped", &process->mapped, ", ");
  FootprintBytesJson(out, "resident", &process->resident, ", ");
  ThreadSumsMembers(out, &sum);
  fputs(", \"by_thread\": ", out);
  ThreadSumsJson(out, who, process->number);
  fputs(", \"name\": ", out);
  JsonString(out, HeaderCalled(header));
  fputs(", \"program\": ", out);
  JsonString(out, header->program);
  fputs(", \"arguments\": [", out);
  for (j = 0; j < header->arguments && j < HeaderArgumentsMAX; ++j) {
    fputs(j == 0 ? "" : ", ", out);
    JsonString(out, header->argument[j]);
  }
  fputs("]}", out);
}

static void jsonProcesses(FILE *out, const char *name, SummaryProcess process, Count count, ThreadSums who)
{
  Index i;

  fprintf(out, "\"%s\": [", name);
  for (i = 0; i < count; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    jsonProcess(out, &process[i], who);
  }
  fputs("],\n ", out);
}

/* The types of all processes, those of the same kind and name together. */
typedef struct typeCountStruct {
  const char *kind, *name;
  Size nameLength;
  uint64_t count;
} typeCountStruct, *TypeCount;

typedef struct SummarySizeStruct {
  uint64_t size, count;
} SummarySizeStruct;

typedef struct printStruct {
  LogSummaryStruct log;
  HeapTallyStruct tally;
  Bool objects;               /* there are events on objects */
  double seconds;
  Count types;
  SummaryProcessesStruct processes;
  TypeCount type;
  SummarySizeStruct size[SummarySizesSHOWN];
  Count sizes;
} printStruct, *Print;

static int printCompare(const void *a, const void *b)
{
  const typeCountStruct *x = a, *y = b;
  int kinds = strcmp(x->kind, y->kind);

  if (kinds != 0)
    return kinds;
  return x->count > y->count ? -1 : x->count < y->count;
}

static void printAddType(Print print, const char *kind, EventType type, uint64_t count)
{
  Index i;

  for (i = 0; i < print->types; ++i) {
    TypeCount known = &print->type[i];
    if (known->nameLength == type->nameLength && memcmp(known->name, type->name, type->nameLength) == 0 &&
        strcmp(known->kind, kind) == 0) {
      known->count += count;
      return;
    }
  }
  print->type[print->types++] = (typeCountStruct){kind, type->name, type->nameLength, count};
}

static Bool printTypes(Print print)
{
  Count most = 0;
  Index i, j;

  for (i = 0; i < print->processes.recorded + print->processes.collectors; ++i)
    most += print->processes.process[i].registry->count;
  print->type = malloc((most + 1) * sizeof *print->type);
  if (print->type == NULL)
    return FALSE;
  for (i = 0; i < print->processes.recorded + print->processes.collectors; ++i) {
    Registry registry = print->processes.process[i].registry;
    for (j = 0; j < registry->count; ++j) {
      if (print->processes.process[i].seen.counts[j] > 0)
        printAddType(print, registry->kind[registry->types[j].kind % EventKindMAX], &registry->types[j],
                     print->processes.process[i].seen.counts[j]);
    }
  }
  qsort(print->type, print->types, sizeof *print->type, printCompare);
  return TRUE;
}

static void printSize(Print print, uint64_t size, uint64_t count)
{
  Index i = print->sizes;

  if (count == 0 || (i == SummarySizesSHOWN && print->size[i - 1].count >= count))
    return;
  if (i < SummarySizesSHOWN)
    ++print->sizes;
  else
    --i;
  for (; i > 0 && print->size[i - 1].count < count; --i)
    print->size[i] = print->size[i - 1];
  print->size[i] = (SummarySizeStruct){size, count};
}

static Bool printInit(Print print, Summary summary)
{
  Index i;

  memset(print, 0, sizeof *print);
  LogSummarize(&print->log, summary->log);
  HeapTallySum(&print->tally, summary->heap, NULL);
  print->objects = HeapObjectTypes(summary->heap) > 0;
  print->seconds = (double)(summary->last - summary->first) / 1e9;
  for (i = 0; i < SummarySmallMAX; ++i)
    printSize(print, i, summary->small[i]);
  for (i = 0; i < summary->large.capacity; ++i)
    if (summary->large.objects[i].addr != 0)
      printSize(print, summary->large.objects[i].addr, summary->large.objects[i].time);
  return summaryProcessesMake(&print->processes, summary) && printTypes(print);
}

static double printLifetime(Summary summary)
{
  uint64_t gone = summary->frees + summary->presumed;

  return gone == 0 ? 0 : summary->lifetime / (double)gone / 1e9;
}

/* Text */

static void textEvents(FILE *out, Print print, Summary summary)
{
  Index i, j;

  fprintf(out, "duration       %.9f s\n", print->seconds);
  fprintf(out, "events         %llu", (unsigned long long)summary->events);
  if (print->seconds > 0)
    fprintf(out, " (%.0f a second)", (double)summary->events / print->seconds);
  putc('\n', out);
  for (i = 0; i < print->types; i = j) {
    uint64_t sum = 0;
    for (j = i; j < print->types && strcmp(print->type[j].kind, print->type[i].kind) == 0; ++j)
      sum += print->type[j].count;
    fputs("  ", out);
    SayPlain(out, print->type[i].kind, strlen(print->type[i].kind));
    fprintf(out, "%*s %12llu\n", 20 - (int)strlen(print->type[i].kind), "", (unsigned long long)sum);
    for (; i < j; ++i) {
      TypeCount type = &print->type[i];
      fputs("    ", out);
      SayPlain(out, type->name, type->nameLength);
      fprintf(out, "%*s %12llu\n", type->nameLength > 18 ? 0 : 18 - (int)type->nameLength, "",
              (unsigned long long)type->count);
    }
  }
}

static void printObjects(FILE *out, const char *name, uint64_t n, uint64_t bytes)
{
  fprintf(out, "%-14s %llu object%s, ", name, (unsigned long long)n, TextPlural(n));
  SayBytes(out, bytes);
}

/* textWho -- temporary objects, and what processes and threads have allocated */
static void textWho(FILE *out, Summary summary)
{
  ThreadSumStruct sum = ThreadSumsOf(&summary->who, NULL);

  printObjects(out, "temporary", sum.temporary, sum.temporaryBytes);
  fputs(": freed before the thread did anything else\n", out);
  ThreadSumsText(out, &summary->who, summary->log);
}

static void textHeap(FILE *out, Print print, Summary summary)
{
  Index i;

  ViewNotesCount(out, "at first", summary->told, "object that was allocated before the recording",
                 "objects that were allocated before the recording");
  fprintf(out, "allocations    %llu, ", (unsigned long long)summary->allocs);
  SayBytes(out, summary->totalBytes);
  fprintf(out, " in all\nfrees          %llu", (unsigned long long)summary->frees);
  if (summary->presumed > 0)
    fprintf(out, ", and %llu object%s that went without one", (unsigned long long)summary->presumed,
            TextPlural(summary->presumed));
  fprintf(out, "\nresizes        %llu", (unsigned long long)summary->resizes);
  if (print->tally.failed > 0)
    fprintf(out, ", and %llu that failed", (unsigned long long)print->tally.failed);
  putc('\n', out);
  printObjects(out, "live at end", summary->live.objects, summary->live.bytes);
  fputs(print->processes.recorded > 1 ? ", the sum of what each process had at its own end" : "", out);
  putc('\n', out);
  printObjects(out, "peak", summary->live.peakObjects, summary->live.peakBytes);
  fprintf(out, ", at %.9f s\n", DocumentSince(print->log.first, summary->live.peakTime));
  if (summary->unended > 0 && print->processes.recorded > 1)
    fprintf(out, "no end         %zu process%s: the log does not say that %s ended, so the peak counts what %s had "
            "until the log's end\n", summary->unended, summary->unended == 1 ? "" : "es",
            summary->unended == 1 ? "it has" : "they have", summary->unended == 1 ? "it" : "they");
  if (summary->inherited > 0) {
    printObjects(out, "inherited", summary->inherited, summary->inheritedBytes);
    fprintf(out, ", that children of fork had from their parents\n");
    if (summary->doubt > 0)
      fprintf(out, "in doubt       %llu at most, more or less: other threads of the parents were at work meanwhile\n",
              (unsigned long long)summary->doubt);
    if (summary->late > 0)
      fprintf(out, "by clone       %zu of these children: made by a system call past the library, so what they had is "
              "what their parents had at their first events\n", summary->late);
  }
  fprintf(out, "mean lifetime  %.9f s\n", printLifetime(summary));
  textWho(out, summary);
  for (i = 0; i < print->sizes; ++i)
    fprintf(out, "%s %10llu bytes %12llu allocations, %4.1f%%\n", i == 0 ? "sizes     " : "          ",
            (unsigned long long)print->size[i].size, (unsigned long long)print->size[i].count,
            100.0 * (double)print->size[i].count / (double)summary->allocs);
}

/* textTrouble -- a line for each thing that is not as it should be; discards and damage are named in any case */
static void textTrouble(FILE *out, Print print, Summary summary)
{
  HeapTally tally = &print->tally;
  HeapOffStruct off = HeapOff(summary->heap, NULL);

  AskedText(out, &print->log);
  fprintf(out, "discarded      %llu event%s\n", (unsigned long long)print->log.discarded,
          TextPlural(print->log.discarded));
  DiscardsText(out, summary->log);
  if (print->log.gaps == 0)
    fprintf(out, "damage         none\n");
  else
    fprintf(out, "damage         %llu place%s, %llu event%s lost\n", (unsigned long long)print->log.gaps,
            TextPlural(print->log.gaps), (unsigned long long)print->log.lost, TextPlural(print->log.lost));
  HeapOffText(out, &off, print->log.first);
  if (!print->objects) {
    fprintf(out, "no Object events: nothing is known of allocations\n");
    return;
  }
  fprintf(out, "unmatched      %llu %s of what was never seen allocated\n", (unsigned long long)tally->unmatched,
          tally->unmatched == 1 ? "free or resize" : "frees and resizes");
  if (tally->forgotten > 0)
    fprintf(out, "forgotten      what %llu children of fork had from their parents: too many were waited for; their "
            "frees of it are unmatched\n", (unsigned long long)tally->forgotten);
  ViewNotesCount(out, "early", tally->early, "more, before the process had listed its objects",
                 "more, before the process had listed its objects");
  fprintf(out, "repairs        %llu event%s put behind a later one\n", (unsigned long long)tally->repairs,
          TextPlural(tally->repairs));
  ViewNotesCount(out, "overlaps", tally->overlaps, "allocation where an object lived",
                 "allocations where an object lived");
  ViewNotesCount(out, "unfinished", tally->unfinished, "resize without an end", "resizes without an end");
  ViewNotesCount(out, "sizes", summary->otherSizes, "allocation of rare sizes was not counted by size",
                 "allocations of rare sizes were not counted by size");
}

static void summaryText(FILE *out, Print print, Summary summary)
{
  summaryProcessesText(out, &print->processes);
  DeathsText(out, &summary->deaths, print->log.first);
  textEvents(out, print, summary);
  if (print->objects)
    textHeap(out, print, summary);
  HoldersText(out, summary->shared);
  FootprintText(out, summary->footprint, print->processes.recorded, print->log.first);
  textTrouble(out, print, summary);
}

/* JSON */

static void jsonTypes(FILE *out, Print print)
{
  Index i;

  fputs(" \"types\": [", out);
  for (i = 0; i < print->types; ++i) {
    fprintf(out, "%s\n  {\"kind\": ", i == 0 ? "" : ",");
    JsonString(out, print->type[i].kind);
    fputs(", \"name\": ", out);
    JsonBytes(out, print->type[i].name, print->type[i].nameLength);
    fprintf(out, ", \"count\": %llu}", (unsigned long long)print->type[i].count);
  }
  fputs("],\n", out);
}

static void jsonHeap(FILE *out, Print print, Summary summary)
{
  ThreadSumStruct sum = ThreadSumsOf(&summary->who, NULL);
  HeapTally tally = &print->tally;
  HeapOffStruct off = HeapOff(summary->heap, NULL);
  Index i;

  fprintf(out, " \"objects_at_first\": %llu, \"early\": %llu,\n", (unsigned long long)summary->told,
          (unsigned long long)tally->early);
  fprintf(out, " \"allocations\": %llu, \"frees\": %llu, \"without_free\": %llu, \"resizes\": %llu, "
          "\"failed_resizes\": %llu, \"total_bytes\": %llu,\n",
          (unsigned long long)summary->allocs, (unsigned long long)summary->frees,
          (unsigned long long)summary->presumed, (unsigned long long)summary->resizes,
          (unsigned long long)tally->failed, (unsigned long long)summary->totalBytes);
  fprintf(out, " \"live_objects\": %llu, \"live_bytes\": %llu, \"peak_objects\": %llu, \"peak_bytes\": %llu, "
          "\"peak_at\": %.9f, \"mean_lifetime\": %.9f,\n",
          (unsigned long long)summary->live.objects, (unsigned long long)summary->live.bytes,
          (unsigned long long)summary->live.peakObjects, (unsigned long long)summary->live.peakBytes,
          DocumentSince(print->log.first, summary->live.peakTime), printLifetime(summary));
  fprintf(out, " \"freed_bytes\": %llu, \"temporary_objects\": %llu, \"temporary_bytes\": %llu,\n",
          (unsigned long long)sum.freed, (unsigned long long)sum.temporary, (unsigned long long)sum.temporaryBytes);
  fprintf(out, " \"processes_without_end\": %zu, ", summary->unended);
  HeapOffJson(out, &off);
  fputs(",\n", out);
  fprintf(out, " \"inherited_objects\": %llu, \"inherited_bytes\": %llu, \"inherited_in_doubt\": %llu, "
          "\"inherited_by_clone\": %zu, \"forgotten\": %llu,\n",
          (unsigned long long)summary->inherited, (unsigned long long)summary->inheritedBytes,
          (unsigned long long)summary->doubt, summary->late, (unsigned long long)tally->forgotten);
  fputs(" \"sizes\": [", out);
  for (i = 0; i < print->sizes; ++i)
    fprintf(out, "%s{\"size\": %llu, \"count\": %llu}", i == 0 ? "" : ", ", (unsigned long long)print->size[i].size,
            (unsigned long long)print->size[i].count);
  fprintf(out, "],\n \"unmatched\": %llu, \"repairs\": %llu, \"overlaps\": %llu, \"unfinished\": %llu,\n",
          (unsigned long long)tally->unmatched, (unsigned long long)tally->repairs,
          (unsigned long long)tally->overlaps, (unsigned long long)tally->unfinished);
}

static void summaryJson(FILE *out, Print print, Summary summary)
{
  putc('{', out);
  jsonProcesses(out, "processes", print->processes.process, print->processes.recorded, &summary->who);
  jsonProcesses(out, "collectors", print->processes.process + print->processes.recorded, print->processes.collectors,
                &summary->who);
  DeathsJson(out, &summary->deaths, print->log.first);
  FootprintJson(out, summary->footprint, print->log.first);
  fprintf(out, "\"threads\": %zu, \"events\": %llu, \"first\": %.9f, \"last\": %.9f, \"duration\": %.9f,\n",
          print->processes.threads, (unsigned long long)summary->events,
          DocumentSince(print->log.first, summary->first), DocumentSince(print->log.first, summary->last),
          print->seconds);
  jsonTypes(out, print);
  jsonHeap(out, print, summary);
  fputs(" \"discarded_by_stream\": ", out);
  DiscardsJson(out, summary->log);
  fputs(",\n ", out);
  HoldersJson(out, summary->shared);
  AskedJson(out, &print->log);
  fprintf(out, ",\n \"objects_known\": %s, \"discarded\": %llu, \"gaps\": %llu, \"lost\": %llu}\n",
          print->objects ? "true" : "false", (unsigned long long)print->log.discarded,
          (unsigned long long)print->log.gaps, (unsigned long long)print->log.lost);
}

/* printWith -- print a summary in one of the two ways; FALSE: no memory */
static Bool printWith(FILE *out, Summary summary, void (*way)(FILE *out, Print print, Summary summary))
{
  printStruct print;
  Bool good = printInit(&print, summary);

  if (good)
    way(out, &print, summary);
  free(print.processes.process);
  free(print.type);
  return good;
}

Bool SummaryText(FILE *out, void *view)
{
  return printWith(out, view, summaryText);
}

Bool SummaryJson(FILE *out, void *view)
{
  return printWith(out, view, summaryJson);
}
