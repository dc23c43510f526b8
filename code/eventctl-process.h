/* eventctl-process.h -- a process that eventctl works on, and what it is to do there
 *
 * Design: design/collector.md .control      Tests: test/eventctl.t
 */
#ifndef EVENTCTL_PROCESS_H
#define EVENTCTL_PROCESS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/option.h"
#include "collect/live.h"
#include "log/request.h"
#include "view/line.h"

typedef struct CtlStruct {
  const OptionToolStruct *tool;
  Bool buffered;       /* lists are of what the flight recorder keeps */
  Live live;           /* the emitter that a command is run for, */
  Live emitter[LiveEMITTERS]; /* of all that the process has: owned, */
  Count emitters;      /* so many */
  const char *const *words; /* the command, */
  Count count;         /* of so many words */
  Log log;             /* for traceback: the blocks as a log, */
  Line line;
  Count newest;        /* so many events of each kind, */
  uint64_t events[LiveEMITTERS][EventKindMAX]; /* of so many that there are, by number of the process in the log */
} CtlStruct, *Ctl;

/* eventctl-traceback.c: CtlTraceback -- print the newest events that are in memory; our status */
extern int CtlTraceback(Ctl ctl);

#endif /* EVENTCTL_PROCESS_H */
