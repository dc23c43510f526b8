/* ofprocess.c -- the events of a process: its own, and those in which the collector tells of it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/ofprocess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/called.h"
#include "view/heapfork.h"
#include "view/plans.h"

enum { ofKNOWN = 256 }; /* answers that are kept */

struct OfProcessStruct {
  Log log;
  const char *word;
  Bool followed;
  Bool *before;          /* owned; by the number of each process: is it an ancestor; NULL: of none, or nobody knows */
  Count processes;       /* so many are known of */
  uint64_t pid[ofKNOWN]; /* 1 + the number that was asked for, by number, modulo */
  Bool meant[ofKNOWN];   /* and the answer */
};

/* ofMeans -- is a recorded process meant that has this number, or, without one, any? */
static Bool ofMeans(OfProcess of, const uint64_t *pid)
{
  Index i;

  for (i = 0; i < LogProcesses(of->log); ++i) {
    LogProcess process = LogProcessAt(of->log, i);
    if (process->header.role[0] == '\0' && (pid == NULL || process->header.pid == *pid) &&
        LogProcessIs(of->log, process, of->word))
      return TRUE;
  }
  return FALSE;
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
    if (process->header.role[0] != '\0' || !LogProcessIs(of->log, process, of->word))
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
  if (!followed && !ofMeans(of, NULL)) {
    LogProcessNone(log, word, error, size);
    free(of);
    return ResPARAM;
  }
  if (!followed && !ofBefore(of)) {
    (void)snprintf(error, size, "no memory");
    free(of);
    return ResMEMORY;
  }
  *ofReturn = of;
  return ResOK;
}

void OfProcessFree(OfProcess of)
{
  if (of != NULL)
    free(of->before);
  free(of);
}

Bool OfProcessChooses(OfProcess of, LogProcess process, EventType type)
{
  if (process->header.role[0] != '\0')
    return PlansParam(type, "pid", "UW") >= 0;
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
  Index slot;

  if (event->process->header.role[0] == '\0')
    return TRUE;
  pid = LogEventWord(event, (Index)PlansParam(event->type, "pid", "UW"));
  slot = pid % ofKNOWN;
  if (of->pid[slot] != pid + 1 || of->followed) {
    of->pid[slot] = pid + 1;
    of->meant[slot] = ofMeans(of, &pid);
  }
  return of->meant[slot];
}
