/* processwatch.h -- what the collector observes itself: the tree of processes, samples, and the status line
 *
 * The collector's loop creates, polls and destroys all three as one.
 *
 * Always true (ProcessWatchCheck): there is a tree where there is a sampler;  where there is a tree there is a stream
 * of the collector's own events.
 *
 * Design: design/collector.md .own, .tree, .sample, .watch      Tests: test/monitor/witness.t
 */
#ifndef MONITOR_PROCESSWATCH_H
#define MONITOR_PROCESSWATCH_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"
#include "format/region.h"
#include "monitor/selfevents.h"
#include "monitor/statusline.h"

typedef struct ProcessWatchStruct *ProcessWatch;

typedef struct ProcessWatchSettingsStruct {
  SelfEvents self;         /* emits the events about processes and threads; the caller's.  NULL: none are emitted */
  unsigned interval;       /* ms between two samples; 0: none */
  Bool follow;             /* the family is more than one process */
  const char *mark;        /* what is in the environment of each process (tree.h); stays the caller's */
  uint64_t (*regions)(void *data, uint32_t pid); /* SampleRegions; NULL: not known */
  void *regionsData;
  int terminal;            /* descriptor of the terminal on which the status line is shown; -1: none */
} ProcessWatchSettingsStruct, *ProcessWatchSettings;

/* ProcessWatchCreate -- ResMEMORY.  Without /proc there is no tree and there are no samples, and that is no failure. */
extern Res ProcessWatchCreate(ProcessWatch *watcherReturn, const ProcessWatchSettingsStruct *settings);

/* ProcessWatchDestroy -- emit the last samples, and erase the status line */
extern void ProcessWatchDestroy(ProcessWatch watcher);
extern Bool ProcessWatchCheck(ProcessWatch watcher);

/* ProcessWatchProgram -- our child `pid` runs the program
 * ProcessWatchEnded -- our child has ended; `status` as wait returns it.  Best called before the child is reaped. */
extern void ProcessWatchProgram(ProcessWatch watcher, pid_t pid);
extern void ProcessWatchEnded(ProcessWatch watcher, pid_t pid, int status);

/* ProcessWatchMeet -- a process asks for a region */
extern void ProcessWatchMeet(ProcessWatch watcher, pid_t pid, RegionMeet request);

/* ProcessWatchPoll -- do what is due; returns ns until something is due again */
extern uint64_t ProcessWatchPoll(ProcessWatch watcher, uint64_t now, StatusLineCounts counts);

/* ProcessWatchMembers -- look for processes that have started since the last poll, and call `each` for every process of
 * the family that lives; for none where there is no tree
 * cost  that of TreePoll */
extern void ProcessWatchMembers(ProcessWatch watcher, void (*each)(void *data, pid_t pid), void *data);

#endif /* MONITOR_PROCESSWATCH_H */
