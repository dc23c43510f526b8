/* summaryprint.c -- a summary as text and as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "view/heaplook.h"
#include "view/json.h"
#include "view/say.h"
#include "view/summarydata.h"

enum { printSHOWN = 20 /* processes in the text; JSON has all */ };

/* The types of all processes, those of the same kind and name together. */
typedef struct typeCountStruct {
  const char *kind, *name;
  Size nameLength;
  uint64_t count;
} typeCountStruct, *TypeCount;

/* A process of which there are events. */
typedef struct processStruct {
  Header header;
  Registry registry;
  Count threads;
  const uint64_t *counts; /* by place in the registry */
  uint64_t events;
} processStruct, *Process;

typedef struct printStruct {
  LogSummaryStruct log;
  HeapTallyStruct tally;
  Bool objects;               /* there are events on objects */
  double seconds;
  Count processes, threads, types;
  Count collectors;           /* no recorded programs; behind the others in `process` */
  Process process;
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

/* printAddProcesses -- those of which there are events: recorded programs, or who watched them */
static void printAddProcesses(Print print, Summary summary, Bool recorded)
{
  Index i, j;

  for (i = 0; i < print->log.processes; ++i) {
    LogProcess log = LogProcessAt(summary->log, i);
    Process process = &print->process[print->processes + print->collectors];
    if ((log->header.role[0] == '\0') != recorded ||
        !HeapSeen(&process->threads, &process->counts, summary->heap, i))
      continue;
    process->header = &log->header;
    process->registry = log->registry;
    process->events = 0;
    for (j = 0; j < log->registry->count; ++j)
      process->events += process->counts[j];
    if (recorded)
      print->threads += process->threads;
    ++*(recorded ? &print->processes : &print->collectors);
  }
}

/* printProcesses -- FALSE without memory */
static Bool printProcesses(Print print, Summary summary)
{
  print->process = malloc((print->log.processes + 1) * sizeof *print->process);
  if (print->process == NULL)
    return FALSE;
  printAddProcesses(print, summary, TRUE);
  printAddProcesses(print, summary, FALSE);
  return TRUE;
}

static Bool printTypes(Print print)
{
  Count most = 0;
  Index i, j;

  for (i = 0; i < print->processes + print->collectors; ++i)
    most += print->process[i].registry->count;
  print->type = malloc((most + 1) * sizeof *print->type);
  if (print->type == NULL)
    return FALSE;
  for (i = 0; i < print->processes + print->collectors; ++i) {
    Registry registry = print->process[i].registry;
    for (j = 0; j < registry->count; ++j) {
      if (print->process[i].counts[j] > 0)
        printAddType(print, registry->kind[registry->types[j].kind % EventKindMAX], &registry->types[j],
                     print->process[i].counts[j]);
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
  return printProcesses(print, summary) && printTypes(print);
}

static double printSince(Print print, uint64_t time)
{
  return time < print->log.first ? 0 : (double)(time - print->log.first) / 1e9;
}

static double printLifetime(Summary summary)
{
  uint64_t gone = summary->frees + summary->presumed;

  return gone == 0 ? 0 : summary->lifetime / (double)gone / 1e9;
}

static void printFinish(Print print)
{
  free(print->process);
  free(print->type);
}

/* Text */

static void textProcess(FILE *out, Process process)
{
  Header header = process->header;
  Index j;

  fprintf(out, "  %-12u %llu events, %zu thread%s: ", header->pid, (unsigned long long)process->events,
          process->threads, process->threads == 1 ? "" : "s");
  SayPlain(out, header->program, strlen(header->program));
  for (j = 1; j < header->arguments && j < 6 && j < HeaderArgumentsMAX; ++j) {
    Size length = strlen(header->argument[j]);
    putc(' ', out);
    SayPlain(out, header->argument[j], length > 40 ? 40 : length);
    fputs(length > 40 ? "..." : "", out);
  }
  fputs(header->arguments > 6 ? " ...\n" : "\n", out);
}

static void textProcesses(FILE *out, Print print)
{
  Index i;

  fprintf(out, "processes      %zu\n", print->processes);
  for (i = 0; i < print->processes && i < printSHOWN; ++i)
    textProcess(out, &print->process[i]);
  if (print->processes > printSHOWN)
    fprintf(out, "  and %zu more\n", print->processes - printSHOWN);
  fprintf(out, "threads        %zu\n", print->threads);
  for (i = 0; i < print->collectors; ++i) {
    Process process = &print->process[print->processes + i];
    fprintf(out, "%s %llu events: ", i == 0 ? "collector     " : "              ",
            (unsigned long long)process->events);
    SayPlain(out, process->header->program, strlen(process->header->program));
    putc('\n', out);
  }
}

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
  fprintf(out, "%llu object%s, ", (unsigned long long)n, n == 1 ? "" : "s");
}

static void textHeap(FILE *out, Print print, Summary summary)
{
  Index i;

  if (summary->told > 0)
    fprintf(out, "at first       %llu objects that were allocated before the recording\n",
            (unsigned long long)summary->told);
  fprintf(out, "allocations    %llu, ", (unsigned long long)summary->allocs);
  SayBytes(out, summary->totalBytes);
  fprintf(out, " in all\nfrees          %llu", (unsigned long long)summary->frees);
  if (summary->presumed > 0)
    fprintf(out, ", and %llu objects that went without one", (unsigned long long)summary->presumed);
  fprintf(out, "\nresizes        %llu", (unsigned long long)summary->resizes);
  if (print->tally.failed > 0)
    fprintf(out, ", and %llu that failed", (unsigned long long)print->tally.failed);
  fprintf(out, "\nlive at end    ");
  printObjects(out, summary->liveObjects);
  SayBytes(out, summary->liveBytes);
  fprintf(out, "\npeak           ");
  printObjects(out, summary->peakObjects);
  SayBytes(out, summary->peakBytes);
  fprintf(out, ", at %.9f s\n", printSince(print, summary->peakTime));
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

  fprintf(out, "discarded      %llu events\n", (unsigned long long)print->log.discarded);
  if (print->log.gaps == 0)
    fprintf(out, "damage         none\n");
  else
    fprintf(out, "damage         %llu places, %llu events lost\n", (unsigned long long)print->log.gaps,
            (unsigned long long)print->log.lost);
  if (!print->objects) {
    fprintf(out, "no Object events: nothing is known of allocations\n");
    return;
  }
  fprintf(out, "unmatched      %llu frees and resizes of what was never seen allocated\n",
          (unsigned long long)tally->unmatched);
  if (tally->early > 0)
    fprintf(out, "early          %llu more, before the process had told what was there\n",
            (unsigned long long)tally->early);
  fprintf(out, "repairs        %llu events put behind a later one\n", (unsigned long long)tally->repairs);
  if (tally->overlaps > 0)
    fprintf(out, "overlaps       %llu allocations where an object lived\n", (unsigned long long)tally->overlaps);
  if (tally->unfinished > 0)
    fprintf(out, "unfinished     %llu resizes without an end\n", (unsigned long long)tally->unfinished);
  if (summary->otherSizes > 0)
    fprintf(out, "sizes          %llu allocations of rare sizes were not counted by size\n",
            (unsigned long long)summary->otherSizes);
}

Bool SummaryText(FILE *out, Summary summary)
{
  printStruct print;

  if (!printInit(&print, summary)) {
    printFinish(&print);
    return FALSE;
  }
  textProcesses(out, &print);
  textEvents(out, &print, summary);
  if (print.objects)
    textHeap(out, &print, summary);
  textTrouble(out, &print, summary);
  printFinish(&print);
  return TRUE;
}

/* JSON */

static void jsonBytes(FILE *out, const char *string, Size length)
{
  char text[256];

  if (length >= sizeof text)
    length = sizeof text - 1;
  memcpy(text, string, length);
  text[length] = '\0';
  JsonString(out, text);
}

/* jsonProcesses -- `count` of them, in a list of this name */
static void jsonProcesses(FILE *out, const char *name, Process process, Count count)
{
  Index i, j;

  fprintf(out, "\"%s\": [", name);
  for (i = 0; i < count; ++i) {
    Header header = process[i].header;
    fprintf(out, "%s\n  {\"pid\": %u, \"parent\": %u, \"events\": %llu, \"threads\": %zu, \"program\": ",
            i == 0 ? "" : ",", header->pid, header->parent, (unsigned long long)process[i].events, process[i].threads);
    JsonString(out, header->program);
    fputs(", \"arguments\": [", out);
    for (j = 0; j < header->arguments && j < HeaderArgumentsMAX; ++j) {
      fputs(j == 0 ? "" : ", ", out);
      JsonString(out, header->argument[j]);
    }
    fputs("]}", out);
  }
  fputs("],\n", out);
}

static void jsonTypes(FILE *out, Print print)
{
  Index i;

  fputs(" \"types\": [", out);
  for (i = 0; i < print->types; ++i) {
    fprintf(out, "%s\n  {\"kind\": ", i == 0 ? "" : ",");
    JsonString(out, print->type[i].kind);
    fputs(", \"name\": ", out);
    jsonBytes(out, print->type[i].name, print->type[i].nameLength);
    fprintf(out, ", \"count\": %llu}", (unsigned long long)print->type[i].count);
  }
  fputs("],\n", out);
}

static void jsonHeap(FILE *out, Print print, Summary summary)
{
  HeapTally tally = &print->tally;
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
          printSince(print, summary->peakTime), printLifetime(summary));
  fputs(" \"sizes\": [", out);
  for (i = 0; i < print->sizes; ++i)
    fprintf(out, "%s{\"size\": %llu, \"count\": %llu}", i == 0 ? "" : ", ", (unsigned long long)print->size[i].size,
            (unsigned long long)print->size[i].count);
  fprintf(out, "],\n \"unmatched\": %llu, \"repairs\": %llu, \"overlaps\": %llu, \"unfinished\": %llu,\n",
          (unsigned long long)tally->unmatched, (unsigned long long)tally->repairs,
          (unsigned long long)tally->overlaps, (unsigned long long)tally->unfinished);
}

Bool SummaryJson(FILE *out, Summary summary)
{
  printStruct print;

  if (!printInit(&print, summary)) {
    printFinish(&print);
    return FALSE;
  }
  putc('{', out);
  jsonProcesses(out, "processes", print.process, print.processes);
  putc(' ', out);
  jsonProcesses(out, "collectors", print.process + print.processes, print.collectors);
  fprintf(out, " \"threads\": %zu, \"events\": %llu, \"first\": %.9f, \"last\": %.9f, \"duration\": %.9f,\n",
          print.threads, (unsigned long long)summary->events, printSince(&print, summary->first),
          printSince(&print, summary->last), print.seconds);
  jsonTypes(out, &print);
  if (print.objects)
    jsonHeap(out, &print, summary);
  fprintf(out, " \"objects_known\": %s, \"discarded\": %llu, \"gaps\": %llu, \"lost\": %llu}\n",
          print.objects ? "true" : "false", (unsigned long long)print.log.discarded,
          (unsigned long long)print.log.gaps, (unsigned long long)print.log.lost);
  printFinish(&print);
  return TRUE;
}
