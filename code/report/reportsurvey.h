/* reportsurvey.h -- what the second pass of a report has to know of the log: which threads and types of events there
 * are, where the peak, marks, failures and ends of processes are
 *
 * A client of the first pass's shared heap.  An event's place is its number among those that were chosen.
 *
 * Always true: threads before the last are sorted by number of events once SurveyEnd was called
 *
 * Design: design/report.md .survey      Tests: test/report/report.t
 */
#ifndef REPORT_REPORTSURVEY_H
#define REPORT_REPORTSURVEY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewheap.h"
#include "report/reportspan.h"
#include "source/moment.h"

enum {
  SurveyTHREADS = 64,     /* rows of threads: the busiest, and all others as one */
  SurveyMARKS = 1000,     /* that are kept, */
  SurveyFAILURES = 20     /* and allocations that failed */
};

typedef struct SurveyThreadStruct {
  uint32_t process;       /* number in the log */
  uint32_t tid;
  uint32_t name;          /* in `strings`; 0: not known */
  uint64_t events;
  uint64_t first, last;   /* ns, of these */
  uint32_t key;           /* its number in `threadKeys` */
} SurveyThreadStruct, *SurveyThread;

typedef struct SurveyMarkStruct {
  uint64_t time, place;
  uint32_t name;          /* in `strings` */
  uint32_t thread;        /* in `threadKeys` */
} SurveyMarkStruct, *SurveyMark;

typedef struct SurveyEndStruct {
  uint32_t pid;
  uint32_t how, status;   /* as ProcessExit has it; the first in `strings` */
  uint64_t time;          /* ns */
} SurveyEndStruct, *SurveyEnd;

typedef struct SurveyKindStruct {
  EventType type;         /* one of those with the same key, */
  LogProcess process;     /* and a process that has it */
} SurveyKindStruct, *SurveyKind;

typedef struct SurveyStruct {
  ViewHeap shared;
  OfProcess of;
  ReportSpan span;
  uint64_t events;              /* so far; */
  HeapSumStruct live;           /* and what lives */
  uint64_t peak;                /* place of the peak */
  StringsStruct strings, threadKeys, typeKeys;
  Count threads, threadCapacity;
  SurveyThread thread;          /* owned; by key, until they are sorted */
  uint32_t *threadRow;          /* owned; by key - 1, once they are sorted */
  Count rows;                   /* of threads: the last is that of all others */
  TypeCacheStruct types;        /* SurveyTypePlans */
  Count kinds, kindCapacity;
  SurveyKind kind;              /* owned; by the number of a type's key - 1 */
  MarksStruct marks;
  Count markCount;              /* of all */
  SurveyMarkStruct mark[SurveyMARKS];
  Count failures;
  uint64_t failure[SurveyFAILURES]; /* places */
  Count ends, endCapacity;
  SurveyEnd end;                /* owned */
  uint64_t *first, *last;       /* owned; by number in the log: ns of each process's first and last event; 0: none */
  Count processes;
  struct {
    LogProcess process;
    uint32_t tid, key;
  } recent[64];
  Bool failed;
} SurveyStruct, *Survey;

/* SurveyTypePlan -- what is known of a type of events */
typedef struct SurveyTypePlanStruct {
  uint32_t number;        /* of its key; 0: not yet met */
  Bool failure;           /* an allocation failed */
  int how, status, pid;   /* parameters of ProcessExit, or -1; */
  int name, thread;       /* of ThreadName and ThreadStart */
} SurveyTypePlanStruct, *SurveyTypePlan;

/* SurveyInit -- join the heap of the first pass; ResMEMORY.  SurveyFinish in either case. */
extern Res SurveyInit(Survey survey, ViewHeap shared, ReportSpan span, OfProcess of);
extern void SurveyFinish(Survey survey);

/* SurveyOver -- the pass is over; ResMEMORY */
extern Res SurveyOver(Survey survey);

/* SurveyShows -- does the event count, and not only for those that inherit from its process? */
static inline Bool SurveyShows(Survey survey, LogEvent event)
{
  return LIKELY(survey->of == NULL) || !OfProcessBefore(survey->of, event->process->number);
}

/* SurveyType -- the plan of an event's type; NULL: no memory
 * SurveyThreadKey -- the number of its thread's key; 0: no memory
 * SurveyRow -- the row of a thread, by that, or by process and number */
extern SurveyTypePlan SurveyType(Survey survey, LogEvent event);
extern uint32_t SurveyThreadKey(Survey survey, LogProcess process, uint32_t tid);

static inline Index SurveyRow(Survey survey, uint32_t key)
{
  return key > 0 && key <= survey->threads ? survey->threadRow[key - 1] : survey->rows - 1;
}

/* SurveyTypeAsks -- does a type of events say who asked? */
static inline Bool SurveyTypeAsks(EventType type)
{
  return TypeCacheParam(type, "stack", "PAWU") >= 0 || TypeCacheParam(type, "site", "PAWU") >= 0;
}

/* SurveyJson -- print the members that the first pass has found, among them `types`: the rows of bytype, and the types
 * of the events themselves */
extern void SurveyJson(FILE *out, Survey survey);

#endif /* REPORT_REPORTSURVEY_H */
