/* processevents.c -- which events are about a process: its own, and the collector's
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/processevents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heapfork.h"
#include "log/processname.h"
#include "request/typecache.h"

struct OfProcessStruct {
  Log log;
  const char *word;
  Bool followed;
  Bool *before;    /* owned; by the number of each process: is it an ancestor; NULL: of none, or nobody knows */
  Count processes; /* so many are known of */
  uint32_t *pid;   /* owned; numbers of those that are meant, sorted; NULL: the log is followed, and more may come */
  Count pids;
};

/* ofIs -- is that a recorded process, and meant? */
static Bool ofIs(OfProcess of, LogProcess process)
{
  return process->header.role[0] == '\0' && LogProcessIs(of->log, process, of->word);
}

/* ofMeans -- is a recorded process meant that has this number?  As the log is now. */
static Bool ofMeans(OfProcess of, uint64_t pid)
{
  Index i;

  for (i = 0; i < LogProcesses(of->log); ++i) {
    LogProcess process = LogProcessAt(of->log, i);
    if (process->header.pid == pid && ofIs(of, process))
      return TRUE;
  }
  return FALSE;
}

static int ofCompare(const void *a, const void *b)
{
  uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

  return (one > other) - (one < other);
}

/* ofPids -- the numbers of those that are meant.  FALSE: no memory */
static Bool ofPids(OfProcess of)
{
  Index i;

  of->pid = malloc((LogProcesses(of->log) + 1) * sizeof *of->pid);
  if (of->pid == NULL)
    return FALSE;
  for (i = 0; i < LogProcesses(of->log); ++i)
    if (ofIs(of, LogProcessAt(of->log, i)))
      of->pid[of->pids++] = LogProcessAt(of->log, i)->header.pid;
  qsort(of->pid, of->pids, sizeof *of->pid, ofCompare);
  return TRUE;
}

/* ofBefore -- whom do those that are meant have their first objects from?  FALSE: no memory */
static Bool ofBefore(OfProcess of)
{
  Index i;

  of->processes = LogProcesses(of->log);
  of->before = calloc(of->processes + 1, sizeof *of->before);
  if (of->before == NULL)
    return FALSE;
  for (i = 0; i < of->processes; ++i) {
    LogProcess process = LogProcessAt(of->log, i);
    if (!ofIs(of, process))
      continue;
    while ((process = HeapForkParent(of->log, process)) != NULL && !LogProcessIs(of->log, process, of->word) &&
           !of->before[process->number])
      of->before[process->number] = TRUE;
  }
  return TRUE;
}

Res OfProcessMake(OfProcess *ofReturn, Log log, const char *word, Bool followed, char *error, Size size)
{
  OfProcess of = calloc(1, sizeof *of);

  if (of == NULL) {
    (void)snprintf(error, size, "no memory");
    return ResMEMORY;
  }
  of->log = log;
  of->word = word;
  of->followed = followed;
  if (!followed && (!ofPids(of) || !ofBefore(of))) {
    (void)snprintf(error, size, "no memory");
    OfProcessFree(of);
    return ResMEMORY;
  }
  if (!followed && of->pids == 0) {
    LogProcessNone(log, word, error, size);
    OfProcessFree(of);
    return ResPARAM;
  }
  *ofReturn = of;
  return ResOK;
}

void OfProcessFree(OfProcess of)
{
  if (of != NULL) {
    free(of->before);
    free(of->pid);
  }
  free(of);
}

Bool OfProcessChooses(OfProcess of, LogProcess process, EventType type)
{
  if (process->header.role[0] != '\0')
    return TypeCacheParam(type, "pid", "UW") >= 0;
  return LogProcessIs(of->log, process, of->word);
}

Bool OfProcessMeans(OfProcess of, LogProcess process)
{
  return LogProcessIs(of->log, process, of->word);
}

Bool OfProcessBefore(OfProcess of, Index number)
{
  return number < of->processes && of->before[number];
}

Bool OfProcessAccepts(OfProcess of, LogEvent event)
{
  uint64_t pid;
  uint32_t key;

  if (event->process->header.role[0] == '\0')
    return TRUE;
  pid = LogEventWord(event, (Index)TypeCacheParam(event->type, "pid", "UW"));
  key = (uint32_t)pid;
  if (of->pid == NULL)
    return ofMeans(of, pid);
  return key == pid && bsearch(&key, of->pid, of->pids, sizeof *of->pid, ofCompare) != NULL;
}
