/* processwatch.c -- what the collector observes itself: the tree of processes, samples, and the status line
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/processwatch.h"

#include <stdlib.h>

#include "base/aver.h"
#include "monitor/procfs.h"
#include "monitor/sample.h"
#include "monitor/tree.h"
#include "plinth/clock.h"

enum { processWatchPOLLS = 100 }; /* of the tree, at one go: more processes than these look at are not waited for */

struct ProcessWatchStruct {
  SelfEvents self;         /* NULL: no events are emitted */
  ProcStruct proc;
  Tree tree;               /* tree and sample are NULL where there is no /proc */
  Sample sample;
  StatusLine line;         /* NULL: there is no terminal to show it on */
};

Bool ProcessWatchCheck(ProcessWatch watcher)
{
  return (watcher->tree == NULL) == (watcher->sample == NULL) && (watcher->tree == NULL || watcher->self != NULL);
}

/* processWatchTree -- create the tree and the sampler, where there is a /proc */
static Res processWatchTree(ProcessWatch watcher, const ProcessWatchSettingsStruct *settings)
{
  Res res;

  if (ProcInit(&watcher->proc, "/proc", SampleKEEP) != ResOK)
    return ResOK;
  res = TreeCreate(&watcher->tree, watcher->self, &watcher->proc, settings->mark, settings->follow);
  if (res != ResOK)
    ProcFinish(&watcher->proc);
  else
    res = SampleCreate(&watcher->sample, watcher->self, &watcher->proc, watcher->tree, settings->interval);
  if (watcher->sample != NULL)
    SampleSetRegions(watcher->sample, settings->regions, settings->regionsData);
  return res;
}

Res ProcessWatchCreate(ProcessWatch *watcherReturn, const ProcessWatchSettingsStruct *settings)
{
  ProcessWatch watcher = calloc(1, sizeof *watcher);

  if (watcher == NULL)
    return ResMEMORY;
  if (settings->terminal >= 0)
    (void)StatusLineCreate(&watcher->line, settings->terminal, EventClockMonotonic());
  watcher->self = settings->self;
  if (watcher->self != NULL && processWatchTree(watcher, settings) != ResOK) {
    ProcessWatchDestroy(watcher);
    return ResMEMORY;
  }
  AVER(ProcessWatchCheck(watcher));
  *watcherReturn = watcher;
  return ResOK;
}

void ProcessWatchDestroy(ProcessWatch watcher)
{
  if (watcher->sample != NULL)
    SampleDestroy(watcher->sample);
  if (watcher->tree != NULL) {
    TreeDestroy(watcher->tree);
    ProcFinish(&watcher->proc);
  }
  if (watcher->self != NULL)
    (void)SelfEventsFlush(watcher->self);
  if (watcher->line != NULL)
    StatusLineDestroy(watcher->line);
  free(watcher);
}

void ProcessWatchProgram(ProcessWatch watcher, pid_t pid)
{
  AVER(pid > 0);
  if (watcher->tree != NULL)
    TreeAdd(watcher->tree, (uint32_t)pid, TRUE);
}

void ProcessWatchEnded(ProcessWatch watcher, pid_t pid, int status)
{
  AVER(pid > 0);
  if (watcher->tree != NULL)
    TreeEnded(watcher->tree, (uint32_t)pid, status);
}

void ProcessWatchMeet(ProcessWatch watcher, pid_t pid, RegionMeet its)
{
  if (watcher->tree != NULL)
    TreeMeet(watcher->tree, (uint32_t)pid, its);
}

uint64_t ProcessWatchPoll(ProcessWatch watcher, uint64_t now, StatusLineCounts counts)
{
  uint64_t due = UINT64_MAX, its;

  AVER(ProcessWatchCheck(watcher));
  if (watcher->sample != NULL)
    due = SamplePoll(watcher->sample, now);
  if (watcher->self != NULL) {
    its = SelfEventsPoll(watcher->self, now);
    due = its < due ? its : due;
  }
  if (watcher->line != NULL) {
    its = StatusLinePoll(watcher->line, now, counts, watcher->tree != NULL ? TreeResident(watcher->tree) : 0);
    due = its < due ? its : due;
  }
  return due;
}

void ProcessWatchMembers(ProcessWatch watcher, void (*each)(void *data, pid_t pid), void *data)
{
  unsigned polls, done = 0;
  Index i;

  if (watcher->tree == NULL)
    return;
  /* A listing that was begun before is looked at to its end first; only behind that is there a new one. */
  for (polls = 0; polls < processWatchPOLLS && done < 2; ++polls)
    done = TreePoll(watcher->tree) == TreePOLL ? done + 1 : 0;
  for (i = 0; i < TreeMembers(watcher->tree); ++i)
    each(data, (pid_t)TreeMemberAt(watcher->tree, i)->stat.pid);
}
