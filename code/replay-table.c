/* replay-table.c -- the results of a replay, printed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/say.h"
#include "replay-table.h"

#include <stdio.h>
#include <string.h>

#include "view/document.h"

static double replayRatio(Replay replay, ReplayAllocator allocator)
{
  uint64_t asked = ScriptHeaderOf(replay->script)->peakBytes;

  return asked == 0 ? 0 : (double)allocator->median.peak / (double)asked;
}

static double replayPerOperation(Replay replay, ReplayAllocator allocator)
{
  uint64_t operations = ScriptHeaderOf(replay->script)->operations;

  return operations == 0 ? 0 : (double)allocator->median.ns / (double)operations;
}

void ReplayTable(Replay replay)
{
  ScriptHeader header = ScriptHeaderOf(replay->script);
  int width = (int)strlen("allocator");
  Index i;

  for (i = 0; i < replay->allocators; ++i) {
    if ((int)strlen(replay->allocator[i].name) > width)
      width = (int)strlen(replay->allocator[i].name);
  }
  printf("%-*s %12s %10s %8s %14s %14s %8s\n", width, "allocator", "operations", "seconds", "ns/op", "peak asked",
         "peak resident", "ratio");
  for (i = 0; i < replay->allocators; ++i) {
    ReplayAllocator allocator = &replay->allocator[i];
    if (!allocator->ran) {
      SayLine(stdout, "%-*s %s", width, allocator->name, allocator->error);
      continue;
    }
    printf("%-*s %12llu %10.3f %8.1f %14llu", width, allocator->name, (unsigned long long)header->operations,
           (double)allocator->median.ns / 1e9, replayPerOperation(replay, allocator),
           (unsigned long long)header->peakBytes);
    if (allocator->kind == ReplayNONE)
      printf(" %14s %8s\n", "-", "-");
    else
      printf(" %14llu %8.3f\n", (unsigned long long)allocator->median.peak, replayRatio(replay, allocator));
  }
}

static void replayJsonAllocator(Replay replay, ReplayAllocator allocator)
{
  printf("{\"allocator\": ");
  JsonString(stdout, allocator->name);
  if (!allocator->ran) {
    printf(", \"error\": ");
    JsonString(stdout, allocator->error);
    printf("}");
    return;
  }
  printf(", \"runs\": %zu, \"operations\": %llu, \"seconds\": %.9f, \"cpu_seconds\": %.9f, \"ns_per_operation\": %.3f, "
         "\"peak_asked\": %llu, \"peak_resident\": %llu, \"ratio\": %.6f, \"failures\": %llu",
         replay->repeat, (unsigned long long)ScriptHeaderOf(replay->script)->operations,
         (double)allocator->median.ns / 1e9, (double)allocator->median.cpu / 1e9,
         replayPerOperation(replay, allocator), (unsigned long long)ScriptHeaderOf(replay->script)->peakBytes,
         (unsigned long long)allocator->median.peak, replayRatio(replay, allocator),
         (unsigned long long)allocator->median.failures);
  if (replay->verify)
    printf(", \"faults\": %llu", (unsigned long long)allocator->median.faults);
  printf("}");
}

void ReplayJson(Replay replay)
{
  ScriptHeader header = ScriptHeaderOf(replay->script);
  Index i;

  printf("{\"log\": ");
  JsonString(stdout, replay->log);
  printf(", \"process\": %u, \"program\": ", replay->process == NULL ? 0 : replay->process->header.pid);
  JsonString(stdout, replay->process == NULL ? "" : replay->process->header.program);
  printf(", \"threads\": %llu, \"order\": \"%s\", \"speed\": ", (unsigned long long)header->threads,
         replay->threads == ReplayMERGED ? "merged" : "recorded");
  JsonString(stdout, replay->speedText);
  printf(",\n \"operations\": %llu, \"allocations\": %llu, \"frees\": %llu, \"resizes\": %llu, \"crossings\": %llu, "
         "\"peak_asked\": %llu, \"peak_objects\": %llu,\n \"exact\": %s, \"not_exact\": [",
         (unsigned long long)header->operations, (unsigned long long)header->allocs,
         (unsigned long long)(header->frees + header->drops), (unsigned long long)header->resizes,
         (unsigned long long)header->crossings, (unsigned long long)header->peakBytes,
         (unsigned long long)header->peakObjects, replay->reasons == 0 ? "true" : "false");
  for (i = 0; i < replay->reasons; ++i) {
    fputs(i == 0 ? "" : ", ", stdout);
    JsonString(stdout, replay->reason[i]);
  }
  printf("],\n \"allocators\": [");
  for (i = 0; i < replay->allocators; ++i) {
    fputs(i == 0 ? "\n  " : ",\n  ", stdout);
    replayJsonAllocator(replay, &replay->allocator[i]);
  }
  printf("]}\n");
}
