/* threadsums.c -- what each thread of each process has allocated and freed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/threadsums.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/say.h"
#include "base/text.h"
#include "log/processname.h"

enum { sumsSHOWN = 10 };

void ThreadSumsFinish(ThreadSums sums)
{
  Index i;

  for (i = 0; i < sums->processes; ++i)
    free(sums->process[i].thread);
  free(sums->process);
}

/* sumsMore -- a row that is not there yet; NULL: no memory */
static ThreadSum sumsMore(ThreadSums sums, Index number, Index thread)
{
  ThreadSumsProcess process;

  if (!GrowTo(&sums->process, &sums->processes, number, sizeof *sums->process))
    return NULL;
  process = &sums->process[number];
  return GrowTo(&process->thread, &process->threads, thread, sizeof *process->thread) ? &process->thread[thread] : NULL;
}

/* sumsOf -- the row of an operation's thread; NULL: no memory */
static inline ThreadSum sumsOf(ThreadSums sums, HeapOperation operation)
{
  Index thread = operation->thread == NULL ? 0 : operation->thread->number;
  ThreadSum sum;

  if (LIKELY(operation->process < sums->processes && thread < sums->process[operation->process].threads))
    sum = &sums->process[operation->process].thread[thread];
  else
    sum = sumsMore(sums, operation->process, thread);
  if (UNLIKELY(sum == NULL))
    sums->failed = TRUE;
  else if (UNLIKELY(sum->id == 0) && operation->thread != NULL)
    sum->id = operation->thread->id;
  return sum;
}

void ThreadSumsAlloc(ThreadSums sums, HeapOperation operation)
{
  ThreadSum sum = sumsOf(sums, operation);

  if (UNLIKELY(sum == NULL))
    return;
  ++sum->allocs;
  sum->allocated += operation->object->size;
}

void ThreadSumsFree(ThreadSums sums, HeapOperation operation, Bool temporary)
{
  ThreadSum sum = sumsOf(sums, operation);

  if (UNLIKELY(sum == NULL))
    return;
  ++sum->frees;
  sum->freed += operation->object->size;
  if (temporary) {
    ++sum->temporary;
    sum->temporaryBytes += operation->object->size;
  }
}

void ThreadSumsResize(ThreadSums sums, HeapOperation operation)
{
  ThreadSum sum = sumsOf(sums, operation);
  uint64_t old = operation->oldSize, size = operation->object->size;

  if (UNLIKELY(sum == NULL))
    return;
  ++sum->resizes;
  *(size > old ? &sum->allocated : &sum->freed) += size > old ? size - old : old - size;
}

static void sumsAdd(ThreadSum to, const ThreadSumStruct *sum)
{
  to->allocs += sum->allocs;
  to->frees += sum->frees;
  to->resizes += sum->resizes;
  to->allocated += sum->allocated;
  to->freed += sum->freed;
  to->temporary += sum->temporary;
  to->temporaryBytes += sum->temporaryBytes;
}

static Bool sumsAny(const ThreadSumStruct *sum)
{
  return sum->allocs + sum->frees + sum->resizes > 0;
}

ThreadSumStruct ThreadSumsOf(ThreadSums sums, const Index *process)
{
  ThreadSumStruct sum = {.id = 0};
  Index i, j, from = process == NULL ? 0 : *process, to = process == NULL ? sums->processes : *process + 1;

  for (i = from; i < to && i < sums->processes; ++i)
    for (j = 0; j < sums->process[i].threads; ++j)
      sumsAdd(&sum, &sums->process[i].thread[j]);
  return sum;
}

/* ---- Text ---- */

/* A line: of a thread, or of a process. */
typedef struct sumsLineStruct {
  LogProcess process;
  ThreadSumStruct sum;
} sumsLineStruct, *SumsLine;

/* The first of any number of lines. */
typedef struct sumsFirstStruct {
  Count count, all;
  sumsLineStruct line[sumsSHOWN];
} sumsFirstStruct, *SumsFirst;

/* sumsPut -- one more line; those that allocated more come first */
static void sumsPut(SumsFirst first, LogProcess process, const ThreadSumStruct *sum)
{
  Index i = first->count < sumsSHOWN ? first->count++ : sumsSHOWN;

  ++first->all;
  if (i == sumsSHOWN) {
    if (first->line[i - 1].sum.allocated >= sum->allocated)
      return;
    --i;
  }
  for (; i > 0 && first->line[i - 1].sum.allocated < sum->allocated; --i)
    first->line[i] = first->line[i - 1];
  first->line[i] = (sumsLineStruct){process, *sum};
}

static void sumsLines(FILE *out, SumsFirst first, Bool threads)
{
  char name[32];
  Index i;

  if (first->all < 2)
    return;
  fprintf(out, "%-22s%12s%12s%12s%12s\n", threads ? "by thread" : "by process", "allocations", "allocated", "freed",
          "temporary");
  for (i = 0; i < first->count; ++i) {
    SumsLine line = &first->line[i];
    if (threads)
      (void)snprintf(name, sizeof name, "%u/%u", line->process->header.pid, line->sum.id);
    else
      (void)snprintf(name, sizeof name, "%u", line->process->header.pid);
    fprintf(out, "  %-20s%12llu", name, (unsigned long long)line->sum.allocs);
    SayColumn(out, 12, line->sum.allocated);
    SayColumn(out, 12, line->sum.freed);
    fprintf(out, "%12llu\n", (unsigned long long)line->sum.temporary);
  }
  if (first->all > first->count)
    fprintf(out, "  and %zu more\n", first->all - first->count);
}

void ThreadSumsText(FILE *out, ThreadSums sums, Log log)
{
  sumsFirstStruct processes = {.count = 0}, threads = {.count = 0};
  Index i, j;

  for (i = 0; i < sums->processes; ++i) {
    ThreadSumStruct all = ThreadSumsOf(sums, &i);
    if (sumsAny(&all))
      sumsPut(&processes, LogProcessAt(log, i), &all);
    for (j = 0; j < sums->process[i].threads; ++j)
      if (sumsAny(&sums->process[i].thread[j]))
        sumsPut(&threads, LogProcessAt(log, i), &sums->process[i].thread[j]);
  }
  sumsLines(out, &processes, FALSE);
  if (threads.all > processes.all)
    sumsLines(out, &threads, TRUE);
}

/* ---- JSON ---- */

void ThreadSumsMembers(FILE *out, const ThreadSumStruct *sum)
{
  fprintf(out, "\"allocations\": %llu, \"frees\": %llu, \"resizes\": %llu, \"allocated_bytes\": %llu, "
          "\"freed_bytes\": %llu, \"temporary_objects\": %llu, \"temporary_bytes\": %llu",
          (unsigned long long)sum->allocs, (unsigned long long)sum->frees, (unsigned long long)sum->resizes,
          (unsigned long long)sum->allocated, (unsigned long long)sum->freed, (unsigned long long)sum->temporary,
          (unsigned long long)sum->temporaryBytes);
}

void ThreadSumsJson(FILE *out, ThreadSums sums, Index process)
{
  Bool first = TRUE;
  Index i;

  putc('[', out);
  for (i = 0; process < sums->processes && i < sums->process[process].threads; ++i) {
    ThreadSum sum = &sums->process[process].thread[i];
    if (!sumsAny(sum))
      continue;
    fprintf(out, "%s{\"tid\": %u, ", first ? "" : ", ", sum->id);
    first = FALSE;
    ThreadSumsMembers(out, sum);
    putc('}', out);
  }
  putc(']', out);
}
