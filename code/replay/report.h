/* report.h -- what a replay has found: the results of each allocator, and why the replay is not exact
 *
 * Always true (ReportCheck): there are no more allocators and reasons than there is room for, and each allocator has a
 * name and is of a kind.
 *
 * Design: design/replayer.md      Tests: test/replay/replay.t, test/replay/scripttest.c
 */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>

#include "log/log.h"
#include "replay/child.h"
#include "replay/script.h"

enum { ReportAllocatorsMAX = 64, ReportReasonsMAX = 24, ReportReasonSIZE = 352 };

/* An allocator, and the result of its runs. */
typedef struct ReportAllocatorStruct {
  const char *name;        /* as the user gave it */
  ReplayKind kind;
  char library[PATH_MAX];
  Bool ran;                /* `median` is good */
  PlayResultStruct median; /* the median of each number; faults and failures of the worst run */
  char error[PlayMessageSIZE];
} ReportAllocatorStruct, *ReportAllocator;

typedef struct ReportStruct {
  const char *log;
  LogProcess process;      /* the one that is replayed; NULL: none has recorded */
  Bool each;               /* it is one of all, each of which is replayed: what is printed names it */
  Bool merged;             /* one thread in order of time */
  const char *speed;       /* as the user gave it */
  Count repeat;            /* runs of each allocator */
  Bool verify;
  Count allocators;
  ReportAllocatorStruct allocator[ReportAllocatorsMAX];
  Count reasons;           /* why the replay is not exact */
  char reason[ReportReasonsMAX][ReportReasonSIZE];
} ReportStruct, *Report;

/* ReportReason -- one more reason, printf-style; of too many the first are kept */
extern void ReportReason(Report report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ReportTable, ReportJson -- print the results of all allocators: as a table for people, as one JSON document */
extern void ReportTable(Report report, ScriptHeader script);
extern void ReportJson(Report report, ScriptHeader script);

/* ReportNotExact -- print the reasons on standard error, if there are any */
extern void ReportNotExact(Report report);

extern Bool ReportCheck(const ReportStruct *report);

#endif /* REPLAY_REPORT_H */
