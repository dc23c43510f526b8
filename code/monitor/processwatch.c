/* processwatch.c -- what the collector observes itself: the tree of processes, samples, and the status line
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/processwatch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/aver.h"
#include "monitor/procfs.h"
#include "monitor/sample.h"
#include "monitor/tree.h"
#include "plinth/clock.h"

struct ProcessWatchStruct {
  SelfEvents self;           /* NULL: nothing is told */
  ProcStruct proc;
  Tree tree;               /* these two NULL: there is no /proc */
  Sample sample;
  StatusLine watch;             /* NULL: nobody watches */
};

Bool ProcessWatchCheck(ProcessWatch watcher)
{
  return (watcher->tree == NULL) == (watcher->sample == NULL) && (watcher->tree == NULL || watcher->self != NULL);
}

/* watchTells -- have something to tell */
static Res watchTells(ProcessWatch watcher, const ProcessWatchSettingsStruct *settings)
{
  Res res;

  watcher->self = settings->self;
  if (ProcInit(&watcher->proc, "/proc", SampleKEEP) != ResOK)
    return ResOK;
  res = TreeCreate(&watcher->tree, watcher->self, &watcher->proc, settings->mark, settings->follow);
  if (res == ResOK) {
    res = SampleCreate(&watcher->sample, watcher->self, &watcher->proc, watcher->tree, settings->interval);
    if (res == ResOK)
      return ResOK;
    TreeDestroy(watcher->tree);
    watcher->tree = NULL;
  }
  ProcFinish(&watcher->proc);
  return res;
}

Res ProcessWatchCreate(ProcessWatch *watchReturn, const ProcessWatchSettingsStruct *settings)
{
  ProcessWatch watcher = calloc(1, sizeof *watcher);
  Res res;

  if (watcher == NULL)
    return ResMEMORY;
  if (settings->terminal >= 0 &&
      StatusLineCreate(&watcher->watch, settings->terminal, EventClockMonotonic()) != ResOK)
    watcher->watch = NULL;
  res = settings->self != NULL ? watchTells(watcher, settings) : ResOK;
  if (res != ResOK) {
    ProcessWatchDestroy(watcher);
    return res;
  }
  AVER(ProcessWatchCheck(watcher));
  *watchReturn = watcher;
  return ResOK;
}

void ProcessWatchDestroy(ProcessWatch watcher)
{
  if (watcher->tree != NULL) {
    SampleDestroy(watcher->sample);
    TreeDestroy(watcher->tree);
    ProcFinish(&watcher->proc);
  }
  if (watcher->self != NULL)
    (void)SelfEventsFlush(watcher->self);
  if (watcher->watch != NULL)
    StatusLineDestroy(watcher->watch);
  free(watcher);
}

void ProcessWatchProgram(ProcessWatch watcher, pid_t pid)
{
  if (watcher->tree != NULL)
    TreeAdd(watcher->tree, (uint32_t)pid, TRUE);
}

void ProcessWatchEnded(ProcessWatch watcher, pid_t pid, int status)
{
  if (watcher->tree != NULL)
    TreeEnded(watcher->tree, (uint32_t)pid, status);
}

void ProcessWatchMeet(ProcessWatch watcher, pid_t pid, RegionMeet its)
{
  TreeMetStruct met = {.pid = (uint32_t)pid, .stack = its->stack, .name = its->name, .program = its->program};

  if (watcher->tree != NULL)
    TreeMeet(watcher->tree, &met);
}

uint64_t ProcessWatchPoll(ProcessWatch watcher, uint64_t now, StatusLineCounts counts)
{
  uint64_t due = UINT64_MAX, its;

  if (watcher->sample != NULL)
    due = SamplePoll(watcher->sample, now);
  if (watcher->self != NULL) {
    its = SelfEventsPoll(watcher->self, now);
    due = its < due ? its : due;
  }
  if (watcher->watch != NULL) {
    its = StatusLinePoll(watcher->watch, now, counts, watcher->tree != NULL ? TreeResident(watcher->tree) : 0);
    due = its < due ? its : due;
  }
  return due;
}
