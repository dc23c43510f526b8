/* threadtimesprint.c -- what threads did with their time, as text and as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "view/caveats.h"
#include "view/threadtimes.h"

enum { printLABEL = 24, printPROCESSORS = 8 };

/* ---- Text ---- */

/* textLabel -- process/thread and name, cut to the column */
static void textLabel(FILE *out, ThreadTimes times, const ThreadRowStruct *row)
{
  char room[printLABEL + 1], number[32];
  const char *name = "";
  Size length = 0;
  TextStruct text;

  if (row->name != 0)
    name = StringsAt(&times->strings, row->name, &length);
  TextInit(&text, room, sizeof room);
  TextString(&text, TextMake(number, sizeof number, "%u/%u ", row->pid, row->tid));
  TextPlain(&text, name, length);
  fprintf(out, "%-*s", printLABEL, TextTerminate(&text));
}

static void textShare(FILE *out, const ThreadRowStruct *row, ThreadField field)
{
  uint64_t elapsed = ThreadElapsed(row);

  if ((row->known >> field & 1) == 0 || elapsed == 0)
    fprintf(out, "%8s", "-");
  else
    fprintf(out, "%7.1f%%", 100.0 * (double)row->total[field] / (double)elapsed);
}

static void textTimes(FILE *out, ThreadTimes times)
{
  Index i, j;

  fprintf(out, "%-*s%9s%8s%8s%8s%8s%8s%7s\n", printLABEL, "thread", "elapsed", "running", "user", "system", "waiting",
          "blocked", "ps");
  for (i = 0; i < times->rows && i < times->top; ++i) {
    ThreadRow row = times->row[i];
    double ps = ThreadPs(row);
    textLabel(out, times, row);
    if (ThreadElapsed(row) == 0)
      fprintf(out, "%9s", "-");
    else
      fprintf(out, "%7.3f s", (double)ThreadElapsed(row) / 1e6);
    for (j = 0; j <= ThreadBLOCKED; ++j)
      textShare(out, row, (ThreadField)j);
    if (ps < 0)
      fprintf(out, "%7s\n", "-");
    else
      fprintf(out, "%6.1f%%\n", 100 * ps);
  }
}

/* textProcessors -- the numbers, as many as the column has room for */
static void textProcessors(FILE *out, const ThreadRowStruct *row)
{
  char room[printPROCESSORS + 1];
  TextStruct text;
  Index i;

  TextInit(&text, room, sizeof room);
  for (i = 0; i < row->processors; ++i) {
    TextStruct before = text;
    if (i > 0)
      TextChar(&text, ',');
    TextDecimal(&text, row->processor[i].number);
    if (text.overflow || (i + 1 < row->processors && TextRoom(&text) < 2)) {
      text = before;
      TextString(&text, "+");
      break;
    }
  }
  fprintf(out, "  %s\n", row->processors == 0 ? "-" : TextTerminate(&text));
}

static uint64_t textWaited(ThreadTimes times, const ThreadRowStruct *row, Index from, Index to)
{
  uint64_t ns = 0;
  Index i;

  for (i = from; i < to; ++i) {
    ns += row->wait[i].ns;
    if (row->wait[i].since != 0)
      ns += times->end - row->wait[i].since;
  }
  return ns;
}

static void textSeconds(FILE *out, Bool known, uint64_t ns)
{
  if (known)
    fprintf(out, "%7.3f s", (double)ns / 1e9);
  else
    fprintf(out, "%9s", "-");
}

static void textWaits(FILE *out, ThreadTimes times)
{
  Index i;

  fprintf(out, "\n%-*s%9s%10s%9s%9s%10s  %s\n", printLABEL, "thread", "on locks", "on others", "on disks",
          "resizing", "calls", "cpus");
  for (i = 0; i < times->rows && i < times->top; ++i) {
    ThreadRow row = times->row[i];
    textLabel(out, times, row);
    textSeconds(out, times->sync, textWaited(times, row, 0, ThreadLOCKS));
    putc(' ', out);
    textSeconds(out, times->sync, textWaited(times, row, ThreadLOCKS, ThreadWAITS));
    if ((row->known >> ThreadDISK & 1) == 0)
      fprintf(out, "%9s", "unknown");
    else
      textSeconds(out, TRUE, row->total[ThreadDISK] * 1000);
    textSeconds(out, times->objects, row->resizing);
    fprintf(out, "%10llu", (unsigned long long)row->calls);
    textProcessors(out, row);
  }
  if (times->rows > times->top)
    fprintf(out, "and %zu other%s (--top)\n", times->rows - times->top, TextPlural(times->rows - times->top));
}

/* textStuck -- who waits when the log ends */
static void textStuck(FILE *out, ThreadTimes times, uint64_t first)
{
  Index i, j;

  for (i = 0; i < times->rows; ++i)
    for (j = 0; j < ThreadWAITS; ++j) {
      ThreadRow row = times->row[i];
      if (row->wait[j].since == 0)
        continue;
      fprintf(out, "still waiting  %u/%u for %s %#llx", row->pid, row->tid, ThreadWaitName[j],
              (unsigned long long)row->wait[j].object);
      ViewLabelsText(out, &times->labels, row->wait[j].process, row->wait[j].object, 0);
      fprintf(out, ", since %.9f s\n", DocumentSince(first, row->wait[j].since));
    }
}

static uint64_t printMachine(ThreadTimes times)
{
  return times->machine[ThreadMachineUSER] + times->machine[ThreadMachineSYSTEM] + times->machine[ThreadMachineIDLE] +
         times->machine[ThreadMachineDISK] + times->machine[ThreadMachineSTOLEN];
}

static void textMachine(FILE *out, ThreadTimes times)
{
  static const char *const what[] = {"user", "system", "idle", "disk", "stolen"};
  char name[32];
  uint64_t all = printMachine(times);
  Index i;

  if (all == 0)
    return;
  (void)snprintf(name, sizeof name, "machine (%u)", times->processors);
  fprintf(out, "%-14s", name);
  for (i = 0; i < ThreadMachineTIMES; ++i)
    fprintf(out, "%s %.1f%% %s", i == 0 ? "" : ",", 100.0 * (double)times->machine[i] / (double)all, what[i]);
  putc('\n', out);
}

/* printSampled -- is a thread among them that was sampled? */
static Bool printSampled(ThreadTimes times)
{
  Index i;

  for (i = 0; i < times->rows; ++i)
    if (times->row[i]->samples > 0)
      return TRUE;
  return FALSE;
}

Bool ThreadTimesText(FILE *out, void *view)
{
  ThreadTimes times = view;
  LogSummaryStruct log;

  LogSummarize(&log, times->log);
  if (times->rows > 0) {
    textTimes(out, times);
    textWaits(out, times);
    putc('\n', out);
  }
  textMachine(out, times);
  textStuck(out, times, log.first);
  if (!printSampled(times))
    fputs("times          are not known: there are no samples of threads (eventrec --sample)\n", out);
  else if (!times->whole)
    fputs("times          are those between a thread's first sample and its last; ps has all its life\n", out);
  if (!times->sync)
    fputs("waits          were not recorded: eventrec -k +Sync\n", out);
  if (times->objects)
    fputs("resizing       is all that is known of time in the allocator\n", out);
  else
    fputs("no Object events: nothing is known of calls of the allocator\n", out);
  CaveatsText(out, times->log);
  return TRUE;
}

/* ---- JSON ---- */

static void jsonFields(FILE *out, const ThreadRowStruct *row)
{
  static const char *const name[] = {"running", "user", "system", "waiting", "blocked", "disk"};
  double ps = ThreadPs(row);
  Index i;

  for (i = 0; i < ThreadFIELDS; ++i)
    if ((row->known >> i & 1) == 0)
      fprintf(out, ", \"%s\": null", name[i]);
    else
      fprintf(out, ", \"%s\": %.6f", name[i], (double)row->total[i] / 1e6);
  if (ThreadElapsed(row) == 0)
    fputs(", \"elapsed\": null", out);
  else
    fprintf(out, ", \"elapsed\": %.6f", (double)ThreadElapsed(row) / 1e6);
  if (ps < 0)
    fputs(", \"ps\": null", out);
  else
    fprintf(out, ", \"ps\": %.6f", ps);
}

static void jsonWaits(FILE *out, ThreadTimes times, const ThreadRowStruct *row, uint64_t first)
{
  Bool any = FALSE;
  Index i;

  fputs(",\n   \"waits\": [", out);
  for (i = 0; i < ThreadWAITS; ++i) {
    if (row->wait[i].count == 0 && row->wait[i].since == 0)
      continue;
    fprintf(out, "%s{\"for\": \"%s\", \"lock\": %s, \"count\": %llu, \"seconds\": %.9f", any ? ", " : "",
            ThreadWaitName[i], i < ThreadLOCKS ? "true" : "false", (unsigned long long)row->wait[i].count,
            (double)row->wait[i].ns / 1e9);
    any = TRUE;
    if (row->wait[i].since != 0) {
      fprintf(out, ", \"since\": %.9f, \"object\": \"%#llx\"", DocumentSince(first, row->wait[i].since),
              (unsigned long long)row->wait[i].object);
      ViewLabelsJson(out, &times->labels, row->wait[i].process, row->wait[i].object, 0);
    }
    putc('}', out);
  }
  fputs("],\n   \"processors\": [", out);
  for (i = 0; i < row->processors; ++i)
    fprintf(out, "%s{\"number\": %u, \"events\": %llu}", i == 0 ? "" : ", ", row->processor[i].number,
            (unsigned long long)row->processor[i].events);
  putc(']', out);
}

static void jsonRow(FILE *out, ThreadTimes times, const ThreadRowStruct *row, uint64_t first)
{
  const char *name = "";
  Size length = 0;

  if (row->name != 0)
    name = StringsAt(&times->strings, row->name, &length);
  fprintf(out, "{\"pid\": %u, \"tid\": %u, \"name\": ", row->pid, row->tid);
  JsonBytes(out, name, length);
  fprintf(out, ", \"samples\": %llu", (unsigned long long)row->samples);
  jsonFields(out, row);
  fprintf(out, ",\n   \"events\": %llu, \"on_unknown_processors\": %llu, \"allocator_calls\": %llu, \"resizes\": %llu, "
          "\"resizing\": %.9f", (unsigned long long)row->events, (unsigned long long)row->lost,
          (unsigned long long)row->calls, (unsigned long long)row->resizes, (double)row->resizing / 1e9);
  jsonWaits(out, times, row, first);
  putc('}', out);
}

Bool ThreadTimesJson(FILE *out, void *view)
{
  static const char *const name[] = {"user", "system", "idle", "disk", "stolen"};
  ThreadTimes times = view;
  LogSummaryStruct log;
  Index i;

  LogSummarize(&log, times->log);
  fprintf(out, "{\"sampled\": %s, \"sync_known\": %s, \"objects_known\": %s,\n ",
          printSampled(times) ? "true" : "false", times->sync ? "true" : "false", times->objects ? "true" : "false");
  fprintf(out, "\"machine\": {\"processors\": %u", times->processors);
  for (i = 0; i < ThreadMachineTIMES; ++i)
    fprintf(out, ", \"%s\": %.6f", name[i], (double)times->machine[i] / 1e6);
  fputs("},\n ", out);
  CaveatsJson(out, times->log);
  fputs(",\n \"threads\": [", out);
  for (i = 0; i < times->rows; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", out);
    jsonRow(out, times, times->row[i], log.first);
  }
  fputs("]}\n", out);
  return TRUE;
}
