/* reportthreads.h -- what threads did in each slice of time, and how many events there were of each type
 *
 * A sample says what a thread has done since the sample before, or since it began: that is spread over the slices
 * between the two, in proportion, so that the sum over all slices is exact.  A wait for a lock counts in the slices
 * that it lasted.
 *
 * Design: design/report.md .threads      Tests: test/report/report.t
 */
#ifndef REPORT_REPORTTHREADS_H
#define REPORT_REPORTTHREADS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "report/reportseries.h"
#include "report/reportsurvey.h"
#include "view/threadtimes.h"

typedef enum ReportThreadsField {
  ReportThreadsEVENTS, ReportThreadsALLOCS, ReportThreadsALLOCBYTES, ReportThreadsFREES, ReportThreadsFREEBYTES,
  ReportThreadsUSER, ReportThreadsSYSTEM, ReportThreadsWAITING, ReportThreadsBLOCKED, ReportThreadsLOCK, ReportThreadsFIELDS
} ReportThreadsField;

enum { ReportThreadsSAMPLED = ReportThreadsLOCK - ReportThreadsUSER }; /* fields that samples have */

/* What is known of a thread, by its key in the survey. */
typedef struct ReportThreadsStateStruct {
  Bool ended;                      /* the last sample was its own, at its end */
  uint32_t known;                  /* a bit for each sampled field */
  uint64_t last[ReportThreadsSAMPLED];   /* us, as the last sample had it, */
  uint64_t sampled;                /* which was then: ns */
  uint64_t since[ThreadLOCKS];     /* ns, while it waits for a lock; 0: it does not */
} ReportThreadsStateStruct, *ReportThreadsState;

typedef struct ReportThreadsPlanStruct {
  Bool made;
  int field[ReportThreadsSAMPLED];       /* of a sample, or -1 */
  int pid, tid, start;
  ThreadWait wait;
  Bool begins;
} ReportThreadsPlanStruct, *ReportThreadsPlan;

typedef struct ReportThreadsStruct {
  Survey survey;
  ReportSpan span;
  Bool whole;                      /* from the log's beginning on */
  SeriesTableStruct table, types;  /* a row for each of the survey's threads; and for each type */
  TypeCacheStruct plans;
  Count states;
  ReportThreadsState state;              /* owned; by key - 1 */
  Bool failed;
} ReportThreadsStruct, *ReportThreads;

/* ReportThreadsInit -- join the heap of the second pass; ResMEMORY.  ReportThreadsFinish in either case. */
extern Res ReportThreadsInit(ReportThreads threads, ViewHeap shared, Survey survey, ReportSpan span, Bool whole);
extern void ReportThreadsFinish(ReportThreads threads);

/* ReportThreadsEvent -- an event of the second pass that counts */
extern void ReportThreadsEvent(ReportThreads threads, LogEvent event);

/* ReportThreadsHalve -- half as many slices
 * ReportThreadsJson -- print the members `bythread` and `bytype`; returns how many bytes these have */
extern void ReportThreadsHalve(ReportThreads threads, const Bool *first);
extern Size ReportThreadsJson(FILE *out, ReportThreads threads, Bool *failed);

#endif /* REPORT_REPORTTHREADS_H */
