/* summary.h -- what a log says at a glance: counts, rates, and what the heap came to
 *
 * One pass over the events.  Numbers of the heap are sums over all processes.  The peak is that of what lived at one time
 * in all processes that lived then; what lives at the end is what each had at its own end, or at the log's.
 *
 * Always true:
 *   liveBytes and liveObjects are those of the objects not freed, of processes that live, until SummaryFinish
 *   a size is counted under exactly one entry of `sizes`, or in `otherSizes`
 *
 * Design: design/view.md .summary      Tests: test/eventview.t
 */
#ifndef VIEW_SUMMARY_H
#define VIEW_SUMMARY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/request.h"
#include "view/heap.h"

typedef struct SummaryStruct *Summary;

/* SummaryCreate -- nothing seen yet.  ResMEMORY.
 * of  whose processes count, or NULL: all; events of those that they inherit of come, too.  The caller's, and stays. */
extern Res SummaryCreate(Summary *summaryReturn, Log log, OfProcess of);

/* SummaryPart -- only the events of this request come; before the first */
extern void SummaryPart(Summary summary, const LogRequestStruct *request);

extern void SummaryDestroy(Summary summary);

/* SummaryEvent -- count one event; in the order of LogRead.  About 20 ns for one on an object. */
extern void SummaryEvent(Summary summary, LogEvent event);

/* SummaryFinish -- all events have come.  ResMEMORY: it ran out at some time, and the numbers are too low. */
extern Res SummaryFinish(Summary summary);

/* SummaryText, SummaryJson -- print it: for people; as one JSON document.  FALSE: no memory, nothing was printed. */
extern Bool SummaryText(FILE *out, Summary summary);
extern Bool SummaryJson(FILE *out, Summary summary);

#endif /* VIEW_SUMMARY_H */
