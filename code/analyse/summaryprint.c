/* summaryprint.c -- a summary as text and as JSON
 *
 * Of processes the recorded programs come first, the largest before all others; behind them who watched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/summary.h"
#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

/* A process of which there are events. */
typedef struct SummaryProcessStruct {
  Header header;
  Registry registry;
  Count threads;
  Bool leader;             /* among these the one that has the number of the process */
  const uint64_t *counts;  /* by place in the registry */
  uint64_t events;
  uint64_t heap;           /* bytes of objects at their peak */
  MemoryBytesStruct mapped, resident;
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
    HeapSumStruct sum;
    SummaryProcess process = &processes->process[processes->recorded + processes->collectors];
    if ((of->header.role[0] == '\0') != recorded ||
        !HeapSeen(&process->threads, &process->counts, summary->heap, i))
      continue;
    process->header = &of->header;
    process->registry = of->registry;
    process->events = 0;
    process->leader = HeapLeader(summary->heap, i);
    HeapLookSum(&sum, summary->heap, i);
    process->heap = sum.peakBytes;
    for (j = 0; j < of->registry->count; ++j)
      process->events += process->counts[j];
    MemoryMapped(&process->mapped, summary->memory, &i);
    MemoryResident(&process->resident, summary->memory, &i);
    ++*(recorded ? &processes->recorded : &processes->collectors);
  }
}

static int processNumberCompare(const void *a, const void *b)
{
  const SummaryProcessStruct *x = a, *y = b;

  if (x->header->pid != y->header->pid)
    return x->header->pid < y->header->pid ? -1 : 1;
  return strcmp(x->header->boot, y->header->boot);
}

/* processThreads -- how many there were.  Programs that follow each other by exec are one process, and the thread that
 * has its number goes on through all of them. */
static void processThreads(SummaryProcesses processes)
{
  Bool leader = FALSE;
  Index i;

  qsort(processes->process, processes->recorded, sizeof *processes->process, processNumberCompare);
  for (i = 0; i < processes->recorded; ++i) {
    SummaryProcess process = &processes->process[i];
    Bool same = i > 0 && processNumberCompare(process - 1, process) == 0;
    processes->threads += process->threads - (same && leader && process->leader);
    leader = (same && leader) || process->leader;
  }
}

static int processCompare(const void *a, const void *b)
{
  const SummaryProcessStruct *x = a, *y = b;
  uint64_t xs = x->heap + x->mapped.peak, ys = y->heap + y->mapped.peak;

  if (xs != ys)
    return xs > ys ? -1 : 1;
  if (x->resident.peak != y->resident.peak)
    return x->resident.peak > y->resident.peak ? -1 : 1;
  if (x->events != y->events)
    return x->events > y->events ? -1 : 1;
  return x->header < y->header ? -1 : x->header > y->header;
}

/* summaryProcessesMake -- in order; FALSE: no memory.  summaryProcessesFree may follow in either case. */
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

static void summaryProcessesFree(SummaryProcesses processes)
{
  free(processes->process);
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
          TextPlural(process->events), process->threads, TextPlural(process->threads));
  if (process->heap > 0)
    textPart(out, ", ", process->heap, "heap");
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

/* summaryEachText -- what a sum "at end" is over, if there are several processes; "" of one */
static const char *summaryEachText(SummaryProcesses processes)
{
  return processes->recorded > 1 ? ", the sum of what each process had at its own end" : "";
}

/* textMemory -- `each` tells what the end is */
static void textMemory(FILE *out, const char *name, MemoryBytes bytes, const char *note, const char *each,
                       uint64_t start)
{
  if (!bytes->known)
    return;
  fprintf(out, "%-14s ", name);
  SayBytes(out, bytes->end);
  fputs(" at end, peak ", out);
  SayBytes(out, bytes->peak);
  fprintf(out, ", at %.9f s%s%s\n", DocumentSince(start, bytes->peakTime), note, each);
}

static void summaryMemoryText(FILE *out, Memory memory, SummaryProcesses processes, uint64_t start)
{
  const char *each = processes->recorded > 1 ? "; at end: the sum of what each process had at its own" : "";
  char sampled[64] = ", as sampled";
  MemoryBytesStruct bytes;

  MemoryMapped(&bytes, memory, NULL);
  textMemory(out, "mapped", &bytes, MemoryLeft(memory) > 0 ? "; there were more mappings than could be followed" : "",
             each, start);
  MemoryResident(&bytes, memory, NULL);
  if (MemoryApart(memory) > 0)
    (void)snprintf(sampled, sizeof sampled, ", as sampled, %.3f s apart at most", (double)MemoryApart(memory) / 1e9);
  textMemory(out, "resident", &bytes, sampled, each, start);
}

/* ---- JSON ---- */

static void jsonMemory(FILE *out, const char *name, MemoryBytes bytes, const char *end)
{
  if (bytes->known)
    fprintf(out, "\"%s_bytes\": %llu, \"peak_%s_bytes\": %llu%s", name, (unsigned long long)bytes->end, name,
            (unsigned long long)bytes->peak, end);
}

static void jsonProcess(FILE *out, SummaryProcess process)
{
  Header header = process->header;
  Index j;

  fprintf(out, "{\"pid\": %u, \"inner_pid\": %u, \"parent\": %u, \"events\": %llu, \"threads\": %zu, ", header->pid,
          HeaderLeader(header), header->parent, (unsigned long long)process->events, process->threads);
  fprintf(out, "\"peak_bytes\": %llu, ", (unsigned long long)process->heap);
  jsonMemory(out, "mapped", &process->mapped, ", ");
  jsonMemory(out, "resident", &process->resident, ", ");
  fputs("\"name\": ", out);
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

static void jsonProcesses(FILE *out, const char *name, SummaryProcess process, Count count)
{
  Index i;

  fprintf(out, "\"%s\": [", name);
  for (i = 0; i < count; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    jsonProcess(out, &process[i]);
  }
  fputs("],\n ", out);
}

static void summaryProcessesJson(FILE *out, SummaryProcesses processes)
{
  jsonProcesses(out, "processes", processes->process, processes->recorded);
  jsonProcesses(out, "collectors", processes->process + processes->recorded, processes->collectors);
}

static void summaryMemoryJson(FILE *out, Memory memory, uint64_t start)
{
  MemoryBytesStruct bytes;

  MemoryMapped(&bytes, memory, NULL);
  jsonMemory(out, "mapped", &bytes, ", ");
  if (bytes.known)
    fprintf(out, "\"peak_mapped_at\": %.9f, \"mappings_left_out\": %llu,\n ", DocumentSince(start, bytes.peakTime),
            (unsigned long long)MemoryLeft(memory));
  MemoryResident(&bytes, memory, NULL);
  jsonMemory(out, "resident", &bytes, ", ");
  if (bytes.known)
    fprintf(out, "\"peak_resident_at\": %.9f, \"resident_samples_apart\": %.9f,\n ",
            DocumentSince(start, bytes.peakTime), (double)MemoryApart(memory) / 1e9);
}

/* The types of all processes, those of the same kind and name together. */
typedef struct typeCountStruct {
  const char *kind, *name;
  Size nameLength;
  uint64_t count;
} typeCountStruct, *TypeCount;

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
      if (print->processes.process[i].counts[j] > 0)
        printAddType(print, registry->kind[registry->types[j].kind % EventKindMAX], &registry->types[j],
                     print->processes.process[i].counts[j]);
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
  HeapTallySum(&print->tally, summary->heap);
  print->objects = HeapObjectTypes(summary->heap) > 0;
  print->seconds = (double)(summary->last - summary->first) / 1e9;
  for (i = 0; i < SummarySmallMAX; ++i)
    printSize(print, i, summary->small[i]);
  for (i = 0; i < SummaryLargeSIZE; ++i)
    printSize(print, summary->large[i].size, summary->large[i].count);
  return summaryProcessesMake(&print->processes, summary) && printTypes(print);
}

static double printLifetime(Summary summary)
{
  uint64_t gone = summary->frees + summary->presumed;

  return gone == 0 ? 0 : summary->lifetime / (double)gone / 1e9;
}

static void printFinish(Print print)
{
  summaryProcessesFree(&print->processes);
  free(print->type);
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

static void printObjects(FILE *out, uint64_t n)
{
  fprintf(out, "%llu object%s, ", (unsigned long long)n, TextPlural(n));
}

static void textHeap(FILE *out, Print print, Summary summary)
{
  Index i;

  if (summary->told > 0)
    fprintf(out, "at first       %llu object%s allocated before the recording\n",
            (unsigned long long)summary->told, summary->told == 1 ? " that was" : "s that were");
  fprintf(out, "allocations    %llu, ", (unsigned long long)summary->allocs);
  SayBytes(out, summary->totalBytes);
  fprintf(out, " in all\nfrees          %llu", (unsigned long long)summary->frees);
  if (summary->presumed > 0)
    fprintf(out, ", and %llu object%s that went without one", (unsigned long long)summary->presumed,
            TextPlural(summary->presumed));
  fprintf(out, "\nresizes        %llu", (unsigned long long)summary->resizes);
  if (print->tally.failed > 0)
    fprintf(out, ", and %llu that failed", (unsigned long long)print->tally.failed);
  fprintf(out, "\nlive at end    ");
  printObjects(out, summary->liveObjects);
  SayBytes(out, summary->liveBytes);
  fputs(summaryEachText(&print->processes), out);
  fprintf(out, "\npeak           ");
  printObjects(out, summary->peakObjects);
  SayBytes(out, summary->peakBytes);
  fprintf(out, ", at %.9f s\n", DocumentSince(print->log.first, summary->peakTime));
  if (summary->unended > 0 && print->processes.recorded > 1)
    fprintf(out, "no end         %zu process%s: the log does not say that %s ended, so the peak counts what %s had until the "
            "log's end\n", summary->unended, summary->unended == 1 ? "" : "es",
            summary->unended == 1 ? "it has" : "they have", summary->unended == 1 ? "it" : "they");
  if (summary->inherited > 0) {
    fprintf(out, "inherited      ");
    printObjects(out, summary->inherited);
    SayBytes(out, summary->inheritedBytes);
    fprintf(out, ", that children of fork had from their parents\n");
    if (summary->doubt > 0)
      fprintf(out, "in doubt       %llu at most, more or less: other threads of the parents were at work meanwhile\n",
              (unsigned long long)summary->doubt);
    if (summary->late > 0)
      fprintf(out, "by clone       %zu of these children: made by a system call past the library, so what they had is "
              "what their parents had at their first events\n", summary->late);
  }
  fprintf(out, "mean lifetime  %.9f s\n", printLifetime(summary));
  for (i = 0; i < print->sizes; ++i)
    fprintf(out, "%s %10llu bytes %12llu allocations, %4.1f%%\n", i == 0 ? "sizes     " : "          ",
            (unsigned long long)print->size[i].size, (unsigned long long)print->size[i].count,
            100.0 * (double)print->size[i].count / (double)summary->allocs);
}

/* textTrouble -- a line for each thing that is not as it should be; nothing where all is well but for the first two */
static void textTrouble(FILE *out, Print print, Summary summary)
{
  HeapTally tally = &print->tally;
  HeapOffStruct off = HeapOff(summary->heap, NULL);

  AskedText(out, &print->log);
  fprintf(out, "discarded      %llu event%s\n", (unsigned long long)print->log.discarded,
          TextPlural(print->log.discarded));
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
    fprintf(out, "forgotten      what %llu children of fork had from their parents: too many were waited for; their frees of it "
            "are unmatched\n", (unsigned long long)tally->forgotten);
  if (tally->early > 0)
    fprintf(out, "early          %llu more, before the process had told what was there\n",
            (unsigned long long)tally->early);
  fprintf(out, "repairs        %llu event%s put behind a later one\n", (unsigned long long)tally->repairs,
          TextPlural(tally->repairs));
  if (tally->overlaps > 0)
    fprintf(out, "overlaps       %llu allocation%s where an object lived\n", (unsigned long long)tally->overlaps,
            TextPlural(tally->overlaps));
  if (tally->unfinished > 0)
    fprintf(out, "unfinished     %llu resize%s without an end\n", (unsigned long long)tally->unfinished,
            TextPlural(tally->unfinished));
  if (summary->otherSizes > 0)
    fprintf(out, "sizes          %llu allocation%s of rare sizes %s not counted by size\n",
            (unsigned long long)summary->otherSizes, TextPlural(summary->otherSizes),
            summary->otherSizes == 1 ? "was" : "were");
}

Bool SummaryText(FILE *out, void *view)
{
  Summary summary = view;
  printStruct print;

  if (!printInit(&print, summary)) {
    printFinish(&print);
    return FALSE;
  }
  summaryProcessesText(out, &print.processes);
  DeathsText(out, &summary->deaths, print.log.first);
  textEvents(out, &print, summary);
  if (print.objects)
    textHeap(out, &print, summary);
  summaryMemoryText(out, summary->memory, &print.processes, print.log.first);
  textTrouble(out, &print, summary);
  printFinish(&print);
  return TRUE;
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
          (unsigned long long)summary->liveObjects, (unsigned long long)summary->liveBytes,
          (unsigned long long)summary->peakObjects, (unsigned long long)summary->peakBytes,
          DocumentSince(print->log.first, summary->peakTime), printLifetime(summary));
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

Bool SummaryJson(FILE *out, void *view)
{
  Summary summary = view;
  printStruct print;

  if (!printInit(&print, summary)) {
    printFinish(&print);
    return FALSE;
  }
  putc('{', out);
  summaryProcessesJson(out, &print.processes);
  DeathsJson(out, &summary->deaths, print.log.first);
  summaryMemoryJson(out, summary->memory, print.log.first);
  fprintf(out, "\"threads\": %zu, \"events\": %llu, \"first\": %.9f, \"last\": %.9f, \"duration\": %.9f,\n",
          print.processes.threads, (unsigned long long)summary->events, DocumentSince(print.log.first, summary->first),
          DocumentSince(print.log.first, summary->last), print.seconds);
  jsonTypes(out, &print);
  jsonHeap(out, &print, summary);
  putc(' ', out);
  AskedJson(out, &print.log);
  fprintf(out, ",\n \"objects_known\": %s, \"discarded\": %llu, \"gaps\": %llu, \"lost\": %llu}\n",
          print.objects ? "true" : "false", (unsigned long long)print.log.discarded,
          (unsigned long long)print.log.gaps, (unsigned long long)print.log.lost);
  printFinish(&print);
  return TRUE;
}
