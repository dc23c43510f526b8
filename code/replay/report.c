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

void ReportTable(Report report, ScriptHeader header)
{
  int width = (int)strlen("allocator");
  Index i;

  AVER(ReportCheck(report));
  if (report->each) {
    reportProcess(report, stdout);
    putchar('\n');
  }
  for (i = 0; i < report->allocators; ++i)
    if ((int)strlen(report->allocator[i].name) > width)
      width = (int)strlen(report->allocator[i].name);
  printf("%-*s %12s %10s %8s %14s %14s %8s\n", width, "allocator", "operations", "seconds", "ns/op", "peak asked",
         "peak resident", "ratio");
  for (i = 0; i < report->allocators; ++i) {
    ReportAllocator allocator = &report->allocator[i];
    if (!allocator->ran) {
      SayLine(stdout, "%-*s %s", width, allocator->name, allocator->error);
      continue;
    }
    printf("%-*s %12llu %10.3f %8.1f %14llu", width, allocator->name, (unsigned long long)header->operations,
           (double)allocator->median.ns / 1e9, reportRatio(allocator->median.ns, header->operations),
           (unsigned long long)header->peakBytes);
    if (allocator->kind == ReplayNONE)
      printf(" %14s %8s\n", "-", "-");
    else
      printf(" %14llu %8.3f\n", (unsigned long long)allocator->median.peak,
             reportRatio(allocator->median.peak, header->peakBytes));
  }
}

static void reportAllocator(Report report, ReportAllocator allocator, ScriptHeader header)
{
  PlayResult median = &allocator->median;

  printf("{\"allocator\": ");
  JsonString(stdout, allocator->name);
  if (!allocator->ran) {
    printf(", \"error\": ");
    JsonString(stdout, allocator->error);
  } else {
    printf(
        ", \"runs\": %zu, \"operations\": %llu, \"seconds\": %.9f, \"cpu_seconds\": %.9f, \"ns_per_operation\": %.3f, "
        "\"peak_asked\": %llu, \"peak_resident\": %llu, \"ratio\": %.6f, \"failures\": %llu",
        report->repeat, (unsigned long long)header->operations, (double)median->ns / 1e9, (double)median->cpu / 1e9,
        reportRatio(median->ns, header->operations), (unsigned long long)header->peakBytes,
        (unsigned long long)median->peak, reportRatio(median->peak, header->peakBytes),
        (unsigned long long)median->failures);
    if (report->verify)
      printf(", \"faults\": %llu", (unsigned long long)median->faults);
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
  printf("],\n \"allocators\": [");
  for (i = 0; i < report->allocators; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", stdout);
    reportAllocator(report, &report->allocator[i], header);
  }
  printf("]}%s", report->each ? "" : "\n");
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
  Bool sound = report->allocators <= ReportAllocatorsMAX && report->reasons <= ReportReasonsMAX &&
               (!report->each || report->process != NULL);
  Index i;

  for (i = 0; sound && i < report->allocators; ++i)
    sound = report->allocator[i].name != NULL && report->allocator[i].kind <= ReplayLIBRARY;
  return sound;
}
