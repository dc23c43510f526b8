/* processwatch.h -- what the collector observes itself: the tree of processes, samples, and the status line
 *
 * One thing for the collector's loop to create, poll and end.
 *
 * Always true (ProcessWatchCheck): there is a tree and a sampler exactly where there is a stream to tell them in.
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
  SelfEvents self;           /* by which it tells of processes and threads; the caller's.  NULL: it does not. */
  unsigned interval;       /* ms between two samples; 0: none */
  Bool follow;             /* the family is more than one process */
  const char *mark;        /* what stands in the environment of each (tree.h); stays the caller's */
  int terminal;            /* where a person may watch; -1: nowhere */
} ProcessWatchSettingsStruct, *ProcessWatchSettings;

/* ProcessWatchCreate -- ResMEMORY; where there is no /proc nothing is told of it, and that is no failure */
extern Res ProcessWatchCreate(ProcessWatch *witnessReturn, const ProcessWatchSettingsStruct *settings);

/* ProcessWatchDestroy -- the last samples, and no line any longer.  What follows is no longer told. */
extern void ProcessWatchDestroy(ProcessWatch watcher);
extern Bool ProcessWatchCheck(ProcessWatch watcher);

/* ProcessWatchProgram -- our child runs the program.  ProcessWatchEnded -- it has ended; best before it is reaped. */
extern void ProcessWatchProgram(ProcessWatch watcher, pid_t pid);
extern void ProcessWatchEnded(ProcessWatch watcher, pid_t pid, int status);

/* ProcessWatchMeet -- a process offers its memory */
extern void ProcessWatchMeet(ProcessWatch watcher, pid_t pid, RegionMeet request);

/* ProcessWatchPoll -- whatever is due; returns ns until the next */
extern uint64_t ProcessWatchPoll(ProcessWatch watcher, uint64_t now, StatusLineCounts counts);

#endif /* MONITOR_PROCESSWATCH_H */
