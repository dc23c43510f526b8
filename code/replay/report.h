/* report.h -- what a replay has found: the results of each allocator, and why the replay is not exact
 *
 * Always true (ReportCheck): what was measured is sound, and there are no more reasons than there is room for.
 *
 * Design: design/replayer.md      Tests: test/replay/replay.t, test/replay/scripttest.c
 */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "replay/measure.h"
#include "replay/predict.h"
#include "replay/script.h"

enum { ReportReasonsMAX = 24, ReportReasonSIZE = 352 };

/* What all processes came to with one allocator. */
typedef struct ReportSumStruct {
  Count ran, predicted;         /* in so many processes */
  uint64_t operations, ns;
  uint64_t asked, peak;         /* bytes: sums of what each process had at its own peak */
  MeasureRangeStruct cpu, resident; /* sums of what is predicted of each */
} ReportSumStruct, *ReportSum;

typedef struct ReportStruct {
  const char *log;
  LogProcess process;      /* the one that is replayed; NULL: none has recorded */
  Bool each;               /* it is one of all, each of which is replayed: what is printed names it */
  Bool merged;             /* one thread in order of time */
  const char *speed;       /* as the user gave it */
  Bool verify;
  MeasureStruct measure;   /* the allocators, and what came of their runs */
  Bool search;             /* settings were tried: what is best of time and memory is named, and how to set it */
  Count shown;             /* of these the first are printed; one more is only compared with */
  PredictStruct predict;   /* what the program itself took */
  Count processes;         /* that were replayed so far, of all; */
  ReportSumStruct sum[MeasureAllocatorsMAX]; /* and what they came to, by allocator */
  Count reasons;           /* why the replay is not exact */
  char reason[ReportReasonsMAX][ReportReasonSIZE];
} ReportStruct, *Report;

/* ReportReason -- one more reason, printf-style; of too many the first are kept */
extern void ReportReason(Report report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ReportTable, ReportJson -- print the results of all allocators: as a table for people, as one JSON document */
extern void ReportTable(Report report, ScriptHeader script);
extern void ReportJson(Report report, ScriptHeader script);

/* ReportAdd -- one of all processes has been replayed: it counts in the sums
 * ReportSums, ReportSumsJson -- print these, of more than one process and the same allocators for all: as a table, as a
 * JSON object */
extern void ReportAdd(Report report, ScriptHeader script);
extern void ReportSums(Report report);
extern void ReportSumsJson(Report report);

/* ReportNotExact -- print the reasons on standard error, if there are any */
extern void ReportNotExact(Report report);

extern Bool ReportCheck(const ReportStruct *report);

#endif /* REPLAY_REPORT_H */
