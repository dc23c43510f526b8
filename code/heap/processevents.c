/* processevents.c -- which events are about a process: its own, and the collector's
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/processevents.h"

#include <stdio.h>
#include <stdlib.h>

#include "heap/headertimes.h"
#include "heap/heaptable.h"
#include "log/processname.h"
#include "request/typecache.h"

struct OfProcessStruct {
  Log log;
  const char *word;
  Bool *before;    /* owned; by number: is the process an ancestor of a chosen one?  NULL: none is, or it is not known
                      */
  Count processes; /* so many are known of */
  HeapTableStruct pids; /* numbers plus one of the chosen processes, */
  Count looked;    /* of so many processes of the log */
};

/* ofProcessIs -- is this a recorded process, and chosen? */
static Bool ofProcessIs(OfProcess of, LogProcess process)
{
  return process->header.role[0] == '\0' && LogProcessIs(of->log, process, of->word);
}

/* ofProcessPids -- find the chosen processes in the log as it is now; FALSE: no memory */
static Bool ofProcessPids(OfProcess of)
{
  Index i;

  if (of->pids.objects != NULL && of->looked == LogProcesses(of->log))
    return TRUE;
  HeapTableFinish(&of->pids);
  if (HeapTableInit(&of->pids) != ResOK)
    return FALSE;
  for (i = 0; i < LogProcesses(of->log); ++i)
    if (ofProcessIs(of, LogProcessAt(of->log, i)) &&
        HeapTablePut(&of->pids, (uint64_t)LogProcessAt(of->log, i)->header.pid + 1) == NULL)
      return FALSE;
  of->looked = i;
  return TRUE;
}

/* ofProcessBefore -- find the ancestors from which chosen processes inherited objects; FALSE: no memory */
static Bool ofProcessBefore(OfProcess of)
{
  Index i;

  of->processes = LogProcesses(of->log);
  of->before = calloc(of->processes + 1, sizeof *of->before);
  if (of->before == NULL)
    return FALSE;
  for (i = 0; i < of->processes; ++i) {
    LogProcess process = LogProcessAt(of->log, i);
    if (!ofProcessIs(of, process))
      continue;
    while ((process = HeaderTimesParent(of->log, process)) != NULL && !LogProcessIs(of->log, process, of->word) &&
           !of->before[process->number])
      of->before[process->number] = TRUE;
  }
  return TRUE;
}

Res OfProcessMake(OfProcess *ofReturn, Log log, const char *word, Bool followed, char *error, Size size)
{
  OfProcess of = calloc(1, sizeof *of);
  Res res = ResMEMORY;

  if (of != NULL) {
    of->log = log;
    of->word = word;
    res = ofProcessPids(of) && (followed || ofProcessBefore(of)) ? ResOK : ResMEMORY;
  }
  if (res != ResOK) {
    (void)snprintf(error, size, "no memory");
  } else if (!followed && of->pids.count == 0) {
    LogProcessNone(log, word, error, size);
    res = ResPARAM;
  }
  if (res == ResOK)
    *ofReturn = of;
  else
    OfProcessFree(of);
  return res;
}

void OfProcessFree(OfProcess of)
{
  if (of == NULL)
    return;
  free(of->before);
  HeapTableFinish(&of->pids);
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

  if (event->process->header.role[0] == '\0')
    return TRUE;
  pid = LogEventWord(event, (Index)TypeCacheParam(event->type, "pid", "UW"));
  return pid <= UINT32_MAX && ofProcessPids(of) && HeapTableSeek(&of->pids, pid + 1)->addr != 0;
}
