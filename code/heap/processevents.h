/* processevents.h -- the events of the processes that the option --process chooses, by name or number
 *
 * Several processes may have the name.  The collector's events whose parameter `pid` is the number of one belong to it.
 *
 * Design: design/view.md .called      Tests: test/export/process.t
 */
#ifndef HEAP_PROCESSEVENTS_H
#define HEAP_PROCESSEVENTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct OfProcessStruct *OfProcess;

/* OfProcessMake -- choose processes by a word.  ResPARAM: no process of the log matches, as `error` says; not if the
 * log is followed, because processes may come later.  ResMEMORY. */
extern Res OfProcessMake(OfProcess *ofReturn, Log log, const char *word, Bool followed, char *error, Size size);
extern void OfProcessFree(OfProcess of);

/* OfProcessChooses -- can events of this type be chosen?  For a request's `choose`.
 * OfProcessAccepts -- is this event, of such a type, chosen? */
extern Bool OfProcessChooses(OfProcess of, LogProcess process, EventType type);
extern Bool OfProcessAccepts(OfProcess of, LogEvent event);

/* OfProcessMeans -- is the process chosen? */
extern Bool OfProcessMeans(OfProcess of, LogProcess process);

/* OfProcessBefore -- is the log's process with this number not chosen itself, but an ancestor from which a chosen one
 * inherited objects by fork? */
extern Bool OfProcessBefore(OfProcess of, Index number);

#endif /* HEAP_PROCESSEVENTS_H */
