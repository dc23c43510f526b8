/* processevents.h -- which events are about a process: its own, and the collector's
 *
 * What the option --process of tools chooses, by name or number.  Several processes may be called so.  The collector's
 * events are of a process if their parameter `pid` has its number.
 *
 * Design: design/view.md .called      Tests: test/export/process.t
 */
#ifndef HEAP_PROCESSEVENTS_H
#define HEAP_PROCESSEVENTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct OfProcessStruct *OfProcess;

/* OfProcessMake -- choose by a word.  ResPARAM: no process of the log is meant, as `error` tells, unless more may
 * come, because the log is followed; ResMEMORY. */
extern Res OfProcessMake(OfProcess *ofReturn, Log log, const char *word, Bool followed, char *error, Size size);
extern void OfProcessFree(OfProcess of);

/* OfProcessChooses -- can events of this type be chosen?  As LogRequest's `choose`.
 * OfProcessAccepts -- is this one of such a type? */
extern Bool OfProcessChooses(OfProcess of, LogProcess process, EventType type);
extern Bool OfProcessAccepts(OfProcess of, LogEvent event);

/* OfProcessMeans -- is the process one of them? */
extern Bool OfProcessMeans(OfProcess of, LogProcess process);

/* OfProcessBefore -- is none of them the process with this number in the log, but one whose objects they have inherited,
 * by fork? */
extern Bool OfProcessBefore(OfProcess of, Index number);

#endif /* HEAP_PROCESSEVENTS_H */
