/* report.c -- what a replay has found, as a table or as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/aver.h"
#include "base/say.h"
#include "export/jsondocument.h"
#include "log/processname.h"
#include "replay/search.h"

static double reportRatio(uint64_t n, uint64_t of)
{
  return of == 0 ? 0 : (double)n / (double)of;
}

/* reportProcess -- which process it is */
static void reportProcess(Report report, FILE *to)
{
  const char *called = HeaderCalled(&report->process->header);

  fprintf(to, "process %u (", report->process->header.pid);
  SayPlain(to, called, strlen(called));
  fputc(')', to);
}

/* reportWidth -- of the column of names */
static int reportWidth(Report report)
{
  Size width = strlen("whole program");
  Index i;

  for (i = 0; i < report->shown; ++i)
    if (strlen(report->measure.measured[i].allocator.name) > width)
      width = strlen(report->measure.measured[i].allocator.name);
  return (int)width;
}

/* reportRange -- a range in these units, as "middle (low to high)" in a column */
static void reportRange(MeasureRangeStruct range, double unit, int digits)
{
  char text[96];

  snprintf(text, sizeof text, "%.*f (%.*f to %.*f)", digits, range.middle / unit, digits, range.low / unit, digits,
           range.high / unit);
  printf(" %26s", text);
}

/* reportAllocates -- has it run, and is it an allocator? */
static Bool reportAllocates(Report report, Index i)
{
  const MeasuredStruct *measured = &report->measure.measured[i];

  return measured->ran && measured->allocator.kind != ReplayNONE;
}

/* reportPredicted -- may something be said of the whole program with this allocator? */
static Bool reportPredicted(Report report, Index i)
{
  return reportAllocates(report, i) && PredictPossible(&report->predict, &report->measure) == NULL &&
         PredictKnows(&report->predict, &report->measure, i) == NULL;
}

/* reportExpected -- would something be said of the whole program, if the log and the replays were good for it? */
static Bool reportExpected(Report report)
{
  return report->predict.known && report->measure.rounds >= MeasureRunsMIN;
}

typedef Bool (*reportLess)(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that);

/* reportCompared -- how an allocator compares with the reference */
static const char *reportCompared(Report report, Index i, reportLess less, const char *fewer, const char *more)
{
  const MeasureStruct *measure = &report->measure;

  return i == measure->reference                                      ? "-"
         : less(&report->predict, measure, i, measure->reference) ? fewer
         : less(&report->predict, measure, measure->reference, i) ? more
                                                                  : "same";
}

/* reportBest -- a sentence: of which allocators no other is known to take less */
static void reportBest(Report report, const char *what, reportLess less)
{
  Count best = 0;
  Index i, j;

  printf("least %s: ", what);
  for (i = 0; i < report->shown; ++i) {
    Bool beaten = !reportPredicted(report, i);
    for (j = 0; j < report->shown && !beaten; ++j)
      beaten = reportPredicted(report, j) && less(&report->predict, &report->measure, j, i);
    if (beaten)
      continue;
    fputs(best++ == 0 ? "" : ", ", stdout);
    SayPlain(stdout, report->measure.measured[i].allocator.name, strlen(report->measure.measured[i].allocator.name));
  }
  puts(best > 1 ? ": no difference between these can be told" : "");
}

/* reportShare -- what part of the program's time goes to allocation */
static void reportShare(Report report)
{
  MeasureRangeStruct share = PredictShare(&report->predict, &report->measure);

  if (share.high > 0)
    printf("allocation takes %.0f%% (%.0f to %.0f%%) of the program's processor time with %s\n", share.middle * 100,
           share.low * 100, share.high * 100, report->measure.recorded.name);
}

/* reportPredictions -- what the whole program would take */
static void reportPredictions(Report report, int width)
{
  const PredictStruct *predict = &report->predict;
  const MeasureStruct *measure = &report->measure;
  Count predicted = 0;
  char to[16];
  Index i;

  snprintf(to, sizeof to, "to %s", measure->recorded.name);
  printf("\n%-*s %26s %11s %26s %11s\n", width, "whole program", "processor seconds", to, "resident MiB", to);
  for (i = 0; i < report->shown; ++i) {
    if (!reportAllocates(report, i))
      continue;
    if (!reportPredicted(report, i)) {
      printf("%-*s cannot be predicted: %s\n", width, measure->measured[i].allocator.name,
             PredictKnows(predict, measure, i));
      continue;
    }
    ++predicted;
    printf("%-*s", width, measure->measured[i].allocator.name);
    reportRange(PredictCpu(predict, measure, i), 1, 3);
    printf(" %11s", reportCompared(report, i, PredictFaster, "faster", "slower"));
    reportRange(PredictPeak(predict, measure, i), 1 << 20, 1);
    printf(" %11s\n", reportCompared(report, i, PredictSmaller, "smaller", "larger"));
  }
  if (predicted >= 2) {
    reportBest(report, "processor time", PredictFaster);
    reportBest(report, "memory", PredictSmaller);
  }
  reportShare(report);
}

/* reportSettings -- what is best of time and memory, and how to have it */
static void reportSettings(Report report, int width)
{
  const MeasureStruct *measure = &report->measure;
  char text[AllocatorVariableSIZE];
  Index i, variable;

  printf("\n%-*s  %s\n", width, "best", "to be exported");
  for (i = 0; i < measure->count; ++i) {
    const AllocatorStruct *allocator = &measure->measured[i].allocator;
    if (!reportAllocates(report, i) || !SearchBest(&report->predict, measure, i))
      continue;
    printf("%-*s ", width, allocator->name);
    for (variable = 0; AllocatorVariable(text, allocator, variable); ++variable) {
      putchar(' ');
      SayPlain(stdout, text, strlen(text));
    }
    fputs(variable == 0 ? " nothing: it is what programs have" : "", stdout);
    putchar('\n');
  }
}

static void reportHeading(int width)
{
  printf("%-*s %12s %10s %8s %14s %14s %8s\n", width, "allocator", "operations", "seconds", "ns/op", "peak asked",
         "peak resident", "ratio");
}

/* reportRow -- a row of the table with that heading; `asked` and `peak` are bytes */
static void reportRow(int width, const AllocatorStruct *allocator, uint64_t operations, uint64_t ns, uint64_t asked,
                      uint64_t peak)
{
  printf("%-*s %12llu %10.3f %8.1f %14llu", width, allocator->name, (unsigned long long)operations, (double)ns / 1e9,
         reportRatio(ns, operations), (unsigned long long)asked);
  if (allocator->kind == ReplayNONE)
    printf(" %14s %8s\n", "-", "-");
  else
    printf(" %14llu %8.3f\n", (unsigned long long)peak, reportRatio(peak, asked));
}

void ReportTable(Report report, ScriptHeader header)
{
  const char *impossible = PredictPossible(&report->predict, &report->measure);
  int width = reportWidth(report);
  Index i;

  AVER(ReportCheck(report));
  if (report->each) {
    reportProcess(report, stdout);
    putchar('\n');
  }
  reportHeading(width);
  for (i = 0; i < report->shown; ++i) {
    Measured measured = &report->measure.measured[i];
    const char *name = measured->allocator.name;
    if (measured->untried)
      continue;
    if (!measured->ran) {
      SayLine(stdout, "%-*s %s", width, name, measured->error);
      continue;
    }
    reportRow(width, &measured->allocator, header->operations, measured->median.ns, header->peakBytes,
              measured->median.peak);
  }
  if (impossible == NULL)
    reportPredictions(report, width);
  else if (reportExpected(report))
    printf("\nwhole program: cannot be predicted: %s\n", impossible);
  if (report->search)
    reportSettings(report, width);
}

static void reportRangeJson(const char *name, MeasureRangeStruct range)
{
  printf(", \"%s\": [%.6f, %.6f, %.6f]", name, range.low, range.middle, range.high);
}

/* reportSettingsJson -- of one that was tried: what is to be exported, and whether it is one of the best */
static void reportSettingsJson(Report report, Index i)
{
  char text[AllocatorVariableSIZE];
  Index variable;

  fputs(", \"environment\": [", stdout);
  for (variable = 0; AllocatorVariable(text, &report->measure.measured[i].allocator, variable); ++variable) {
    fputs(variable == 0 ? "" : ", ", stdout);
    JsonString(stdout, text);
  }
  printf("], \"best\": %s",
         reportAllocates(report, i) && SearchBest(&report->predict, &report->measure, i) ? "true" : "false");
}

/* reportPredictionJson -- of the whole program with this allocator, or why there is none, where one is expected */
static void reportPredictionJson(Report report, Index i)
{
  const char *why = PredictPossible(&report->predict, &report->measure);

  if (reportPredicted(report, i)) {
    reportRangeJson("cpuSeconds", PredictCpu(&report->predict, &report->measure, i));
    reportRangeJson("residentBytes", PredictPeak(&report->predict, &report->measure, i));
    if (i != report->measure.reference)
      printf(", \"cpuCompared\": \"%s\", \"residentCompared\": \"%s\"",
             reportCompared(report, i, PredictFaster, "faster", "slower"),
             reportCompared(report, i, PredictSmaller, "smaller", "larger"));
  } else if (reportExpected(report) && reportAllocates(report, i)) {
    printf(", \"unpredicted\": ");
    JsonString(stdout, why != NULL ? why : PredictKnows(&report->predict, &report->measure, i));
  }
}

static void reportAllocator(Report report, Index i, ScriptHeader header)
{
  Measured measured = &report->measure.measured[i];
  PlayResult median = &measured->median;

  printf("{\"allocator\": ");
  JsonString(stdout, measured->allocator.name);
  printf(", \"name\": ");
  JsonString(stdout, measured->allocator.name);
  if (!measured->ran) {
    printf(", \"error\": ");
    JsonString(stdout, measured->error);
  } else {
    printf(
        ", \"runs\": %zu, \"operations\": %llu, \"seconds\": %.9f, \"cpu_seconds\": %.9f, \"ns_per_operation\": %.3f, "
        "\"peak_asked\": %llu, \"peak_resident\": %llu, \"ratio\": %.6f, \"failures\": %llu",
        report->measure.rounds, (unsigned long long)header->operations, (double)median->ns / 1e9, (double)median->cpu / 1e9,
        reportRatio(median->ns, header->operations), (unsigned long long)header->peakBytes,
        (unsigned long long)median->peak, reportRatio(median->peak, header->peakBytes),
        (unsigned long long)median->failures);
    if (report->verify)
      printf(", \"faults\": %llu", (unsigned long long)median->faults);
    reportPredictionJson(report, i);
    if (report->search)
      reportSettingsJson(report, i);
  }
  printf("}");
}

void ReportJson(Report report, ScriptHeader header)
{
  Index i;

  AVER(ReportCheck(report));
  printf("{\"log\": ");
  JsonString(stdout, report->log);
  printf(", \"process\": %u, \"program\": ", report->process == NULL ? 0 : report->process->header.pid);
  JsonString(stdout, report->process == NULL ? "" : report->process->header.program);
  printf(", \"threads\": %llu, \"order\": \"%s\", \"speed\": ", (unsigned long long)header->table[ScriptTHREADS].count,
         report->merged ? "merged" : "recorded");
  JsonString(stdout, report->speed);
  printf(",\n \"operations\": %llu, \"allocations\": %llu, \"frees\": %llu, \"resizes\": %llu, \"crossings\": %llu, "
         "\"peak_asked\": %llu, \"peak_objects\": %llu,\n \"exact\": %s, \"not_exact\": [",
         (unsigned long long)header->operations, (unsigned long long)header->allocs,
         (unsigned long long)header->frees, (unsigned long long)header->resizes,
         (unsigned long long)header->crossings, (unsigned long long)header->peakBytes,
         (unsigned long long)header->peakObjects, report->reasons == 0 ? "true" : "false");
  for (i = 0; i < report->reasons; ++i) {
    fputs(i == 0 ? "" : ", ", stdout);
    JsonString(stdout, report->reason[i]);
  }
  fputs("]", stdout);
  if (PredictPossible(&report->predict, &report->measure) == NULL &&
      PredictShare(&report->predict, &report->measure).high > 0)
    reportRangeJson("allocationShare", PredictShare(&report->predict, &report->measure));
  printf(", \"recordedWith\": \"%s\",\n \"allocators\": [", report->measure.recorded.name);
  for (i = 0; i < report->shown; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", stdout);
    reportAllocator(report, i, header);
  }
  printf("]}%s", report->each ? "" : "\n");
}

/* ---- All processes together ---- */

static void reportAddRange(MeasureRangeStruct *sum, MeasureRangeStruct range)
{
  sum->low += range.low;
  sum->middle += range.middle;
  sum->high += range.high;
}

void ReportAdd(Report report, ScriptHeader header)
{
  Index i;

  ++report->processes;
  for (i = 0; i < report->shown; ++i) {
    Measured measured = &report->measure.measured[i];
    ReportSum sum = &report->sum[i];
    if (!measured->ran)
      continue;
    ++sum->ran;
    sum->operations += header->operations;
    sum->ns += measured->median.ns;
    sum->asked += header->peakBytes;
    sum->peak += measured->median.peak;
    if (!reportPredicted(report, i))
      continue;
    ++sum->predicted;
    reportAddRange(&sum->cpu, PredictCpu(&report->predict, &report->measure, i));
    reportAddRange(&sum->resident, PredictPeak(&report->predict, &report->measure, i));
  }
}

void ReportSums(Report report)
{
  int width = reportWidth(report);
  Count predicted = 0;
  Index i;

  printf("\nsum of %zu processes, each with its own peak\n", report->processes);
  reportHeading(width);
  for (i = 0; i < report->shown; ++i) {
    const ReportSumStruct *sum = &report->sum[i];
    const AllocatorStruct *allocator = &report->measure.measured[i].allocator;
    predicted += sum->predicted == report->processes;
    if (sum->ran == report->processes)
      reportRow(width, allocator, sum->operations, sum->ns, sum->asked, sum->peak);
    else
      SayLine(stdout, "%-*s ran in %zu of them", width, allocator->name, sum->ran);
  }
  if (predicted == 0)
    return;
  printf("\n%-*s %26s %26s\n", width, "whole programs", "processor seconds", "resident MiB");
  for (i = 0; i < report->shown; ++i) {
    const ReportSumStruct *sum = &report->sum[i];
    if (sum->predicted != report->processes)
      continue;
    printf("%-*s", width, report->measure.measured[i].allocator.name);
    reportRange(sum->cpu, 1, 3);
    reportRange(sum->resident, 1 << 20, 1);
    putchar('\n');
  }
}

void ReportSumsJson(Report report)
{
  Index i;

  printf("{\"processes\": %zu, \"allocators\": [", report->processes);
  for (i = 0; i < report->shown; ++i) {
    const ReportSumStruct *sum = &report->sum[i];
    fputs(i == 0 ? "\n  {\"name\": " : ",\n  {\"name\": ", stdout);
    JsonString(stdout, report->measure.measured[i].allocator.name);
    printf(", \"ran\": %zu, \"operations\": %llu, \"seconds\": %.9f, \"peak_asked\": %llu, \"peak_resident\": %llu",
           sum->ran, (unsigned long long)sum->operations, (double)sum->ns / 1e9, (unsigned long long)sum->asked,
           (unsigned long long)sum->peak);
    if (sum->predicted == report->processes) {
      reportRangeJson("cpuSeconds", sum->cpu);
      reportRangeJson("residentBytes", sum->resident);
    }
    putchar('}');
  }
  fputs("]}", stdout);
}

void ReportReason(Report report, const char *format, ...)
{
  va_list args;

  if (report->reasons == ReportReasonsMAX)
    return;
  va_start(args, format);
  vsnprintf(report->reason[report->reasons++], ReportReasonSIZE, format, args);
  va_end(args);
}

void ReportNotExact(Report report)
{
  Index i;

  if (report->reasons == 0)
    return;
  fputs("replay: not exact: ", stderr);
  if (report->each) {
    reportProcess(report, stderr);
    fputs(": ", stderr);
  }
  for (i = 0; i < report->reasons; ++i) {
    fputs(i == 0 ? "" : "; ", stderr);
    SayPlain(stderr, report->reason[i], strlen(report->reason[i]));
  }
  putc('\n', stderr);
}

Bool ReportCheck(const ReportStruct *report)
{
  return MeasureCheck(&report->measure) && report->shown <= report->measure.count &&
         report->reasons <= ReportReasonsMAX && (!report->each || report->process != NULL);
}
