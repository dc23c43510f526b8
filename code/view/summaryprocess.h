/* summaryprocess.h -- the processes of a summary: who they were, what memory they had, how they died
 *
 * Always true: the recorded programs come first, the largest before all others; behind them who watched.
 *
 * Design: design/view.md .summary, .mapped      Tests: test/eventview.t, test/memory.t
 */
#ifndef VIEW_SUMMARYPROCESS_H
#define VIEW_SUMMARYPROCESS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "view/deaths.h"
#include "view/memory.h"
#include "view/summarydata.h"

/* A process of which there are events. */
typedef struct SummaryProcessStruct {
  Header header;
  Registry registry;
  Count threads;
  Bool leader;             /* among these the one that has the number of the process */
  const uint64_t *counts;  /* by place in the registry */
  uint64_t events;
  uint64_t heap;           /* bytes of objects at their peak */
  MemoryBytesStruct mapped, resident;
} SummaryProcessStruct, *SummaryProcess;

typedef struct SummaryProcessesStruct {
  Count recorded, collectors; /* the second behind the first */
  Count threads;           /* of the recorded; one that goes on through exec is one */
  Bool part;               /* there may be more of both, with events that did not come */
  SummaryProcess process;  /* owned */
} SummaryProcessesStruct, *SummaryProcesses;

/* SummaryProcessesMake -- in order; FALSE: no memory.  SummaryProcessesFree may follow in either case. */
extern Bool SummaryProcessesMake(SummaryProcesses processes, Summary summary);
extern void SummaryProcessesFree(SummaryProcesses processes);

/* SummaryEachText -- what a sum "at end" is over, if there are several processes; "" of one */
extern const char *SummaryEachText(SummaryProcesses processes);

/* Each prints its part: for people; members of one JSON object, with a comma behind. */
extern void SummaryProcessesText(FILE *out, SummaryProcesses processes);
extern void SummaryProcessesJson(FILE *out, SummaryProcesses processes);
extern void SummaryDeathsText(FILE *out, Deaths deaths, uint64_t start);
extern void SummaryDeathsJson(FILE *out, Deaths deaths, uint64_t start);
extern void SummaryMemoryText(FILE *out, Memory memory, SummaryProcesses processes, uint64_t start);
extern void SummaryMemoryJson(FILE *out, Memory memory, uint64_t start);

#endif /* VIEW_SUMMARYPROCESS_H */
