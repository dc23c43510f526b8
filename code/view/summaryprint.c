/* summaryprint.c -- a summary as text and as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "view/asked.h"
#include "view/heaplook.h"
#include "view/heapoff.h"
#include "view/json.h"
#include "view/summarydata.h"
#include "view/summaryprocess.h"

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
  return SummaryProcessesMake(&print->processes, summary) && printTypes(print);
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
  SummaryProcessesFree(&print->processes);
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
  fputs(SummaryEachText(&print->processes), out);
  fprintf(out, "\npeak           ");
  printObjects(out, summary->peakObjects);
  SayBytes(out, summary->peakBytes);
  fprintf(out, ", at %.9f s\n", printSince(print, summary->peakTime));
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

Bool SummaryText(FILE *out, Summary summary)
{
  printStruct print;

  if (!printInit(&print, summary)) {
    printFinish(&print);
    return FALSE;
  }
  SummaryProcessesText(out, &print.processes);
  SummaryDeathsText(out, &summary->deaths, print.log.first);
  UnseenText(out, &summary->unseen);
  textEvents(out, &print, summary);
  if (print.objects)
    textHeap(out, &print, summary);
  SummaryMemoryText(out, summary->memory, &print.processes, print.log.first);
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
          printSince(print, summary->peakTime), printLifetime(summary));
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

Bool SummaryJson(FILE *out, Summary summary)
{
  printStruct print;

  if (!printInit(&print, summary)) {
    printFinish(&print);
    return FALSE;
  }
  putc('{', out);
  SummaryProcessesJson(out, &print.processes);
  SummaryDeathsJson(out, &summary->deaths, print.log.first);
  UnseenJson(out, &summary->unseen);
  SummaryMemoryJson(out, summary->memory, print.log.first);
  fprintf(out, "\"threads\": %zu, \"events\": %llu, \"first\": %.9f, \"last\": %.9f, \"duration\": %.9f,\n",
          print.processes.threads, (unsigned long long)summary->events, printSince(&print, summary->first),
          printSince(&print, summary->last), print.seconds);
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
