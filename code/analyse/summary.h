/* summary.h -- what a log says at a glance: counts, rates, and what the heap came to
 *
 * One pass over the events.  Numbers of the heap are sums over all processes.  The peak is that of what lived at one time
 * in all processes that lived then; what lives at the end is what each had at its own end, or at the log's.
 *
 * Always true:
 *   liveBytes and liveObjects are those of the objects not freed, of processes that live, until all events have come
 *   a size is counted under exactly one entry of `sizes`, or in `otherSizes`
 *
 * Design: design/view.md .summary      Tests: test/end/eventview.t, test/heap/familytest.c
 */
#ifndef ANALYSE_SUMMARY_H
#define ANALYSE_SUMMARY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/deaths.h"
#include "analyse/footprint.h"
#include "analyse/views.h"
#include "heap/heap.h"

enum {
  SummarySmallMAX = 8192,       /* sizes below this are counted each in its place */
  SummaryLargeSIZE = 1 << 16,   /* places for the others; half of them are used */
  SummarySizesSHOWN = 10
};

typedef struct SummarySizeStruct {
  uint64_t size, count;
} SummarySizeStruct, *SummarySize;

typedef struct SummaryStruct {
  Log log;
  LogRequestStruct request;     /* what comes */
  OfProcess of;                 /* whose processes count; NULL: all do */
  Bool part;                    /* not all events of the processes that count come */
  Heap heap;
  Memory memory;
  DeathsStruct deaths;
  uint64_t events;
  uint64_t first, last;         /* ns of wall time */
  uint64_t allocs, frees, resizes;
  uint64_t told;                /* objects that were there before the recording */
  uint64_t presumed;            /* objects that went without a free: with their pool, or overlapped */
  uint64_t pools, arenas;       /* created */
  uint64_t liveBytes, liveObjects; /* at the moment; at last: in each process when it ended, or the log did */
  uint64_t leftBytes, leftObjects; /* in processes when they ended */
  Count unended;                /* processes of which nobody knows that they have ended, when the log has */
  uint64_t inherited, inheritedBytes; /* objects that children of fork had from their parents, */
  uint64_t doubt;               /* give or take so many, */
  Count late;                   /* and so many children only when they came to their first event */
  uint64_t peakBytes, peakObjects, peakTime; /* objects: at the peak of bytes */
  uint64_t totalBytes;          /* allocated; a resize counts by what it adds */
  double lifetime;              /* ns, of all that went */
  Count larges;                 /* places used in `large` */
  uint64_t otherSizes;          /* allocations whose size found no place */
  uint64_t small[SummarySmallMAX];
  SummarySizeStruct large[SummaryLargeSIZE];
} SummaryStruct, *Summary;

/* SummaryText, SummaryJson -- print it, as views do */
extern Bool SummaryText(FILE *out, void *summary);
extern Bool SummaryJson(FILE *out, void *summary);

#endif /* ANALYSE_SUMMARY_H */
