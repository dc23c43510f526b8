/* summaryprocess.c -- the processes of a summary: who they were, what memory they had, how they died
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/summaryprocess.h"

#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "view/calledsay.h"
#include "view/heaplook.h"
#include "view/json.h"

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

Bool SummaryProcessesMake(SummaryProcesses processes, Summary summary)
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

void SummaryProcessesFree(SummaryProcesses processes)
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

void SummaryProcessesText(FILE *out, SummaryProcesses processes)
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

static double processSince(uint64_t start, uint64_t time)
{
  return time < start ? 0 : (double)(time - start) / 1e9;
}

void SummaryDeathsText(FILE *out, Deaths deaths, uint64_t start)
{
  Index i;

  for (i = 0; i < deaths->count && i < DeathsMAX; ++i) {
    Death death = &deaths->death[i];
    Size length;
    const char *name = DeathsName(deaths, death, &length), *signal = DeathsSignal(death->signal);
    fprintf(out, "%-14s %u", i == 0 ? "killed" : "", death->pid);
    fputs(length > 0 ? " (" : "", out);
    SayPlain(out, name, length);
    fprintf(out, "%s by signal %u%s%s, at %.9f s\n", length > 0 ? ")" : "", death->signal,
            signal[0] != '\0' ? ", " : "", signal, processSince(start, death->time));
  }
  if (deaths->count > DeathsMAX)
    fprintf(out, "               and %zu more\n", deaths->count - DeathsMAX);
  if (deaths->unrecorded > 0)
    fprintf(out, "               %zu of %zu had recorded nothing, and %s none of the processes above\n",
            deaths->unrecorded, deaths->count, deaths->unrecorded == 1 ? "is" : "are");
}

const char *SummaryEachText(SummaryProcesses processes)
{
  return processes->recorded > 1 ? ", the sum of what each process had at its own end" : "";
}

/* textMemory -- `each` tells what the end is */
static void textMemory(FILE *out, const char *name, MemoryBytes bytes, const char *note, const char *each, uint64_t start)
{
  if (!bytes->known)
    return;
  fprintf(out, "%-14s ", name);
  SayBytes(out, bytes->end);
  fputs(" at end, peak ", out);
  SayBytes(out, bytes->peak);
  fprintf(out, ", at %.9f s%s%s\n", processSince(start, bytes->peakTime), note, each);
}

void SummaryMemoryText(FILE *out, Memory memory, SummaryProcesses processes, uint64_t start)
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

void SummaryProcessesJson(FILE *out, SummaryProcesses processes)
{
  jsonProcesses(out, "processes", processes->process, processes->recorded);
  jsonProcesses(out, "collectors", processes->process + processes->recorded, processes->collectors);
}

void SummaryDeathsJson(FILE *out, Deaths deaths, uint64_t start)
{
  Index i;

  fputs("\"killed\": [", out);
  for (i = 0; i < deaths->count && i < DeathsMAX; ++i) {
    Death death = &deaths->death[i];
    Size length;
    fprintf(out, "%s{\"pid\": %u, \"signal\": %u, \"at\": %.9f, \"name\": ", i == 0 ? "" : ", ", death->pid,
            death->signal, processSince(start, death->time));
    JsonString(out, DeathsName(deaths, death, &length));
    putc('}', out);
  }
  fprintf(out, "], \"killed_count\": %zu, \"killed_unrecorded\": %zu,\n ", deaths->count, deaths->unrecorded);
}

void SummaryMemoryJson(FILE *out, Memory memory, uint64_t start)
{
  MemoryBytesStruct bytes;

  MemoryMapped(&bytes, memory, NULL);
  jsonMemory(out, "mapped", &bytes, ", ");
  if (bytes.known)
    fprintf(out, "\"peak_mapped_at\": %.9f, \"mappings_left_out\": %llu,\n ", processSince(start, bytes.peakTime),
            (unsigned long long)MemoryLeft(memory));
  MemoryResident(&bytes, memory, NULL);
  jsonMemory(out, "resident", &bytes, ", ");
  if (bytes.known)
    fprintf(out, "\"peak_resident_at\": %.9f, \"resident_samples_apart\": %.9f,\n ",
            processSince(start, bytes.peakTime), (double)MemoryApart(memory) / 1e9);
}
