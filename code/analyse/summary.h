/* summary.h -- what a log says at a glance: counts, rates, and what the heap came to
 *
 * One pass over the events.  Numbers of the heap are sums over all processes.  The peak is that of what lived at one
 * time in all processes that lived then; what lives at the end is what each had at its own end, or at the log's.
 *
 * Always true:
 *   `live` has the objects that were not freed, of processes that live, until all events have come
 *   a size is counted under exactly one entry of `sizes`, or in `otherSizes`
 *
 * Design: design/view.md .summary      Tests: test/end/eventview.t, test/heap/familytest.c
 */
#ifndef ANALYSE_SUMMARY_H
#define ANALYSE_SUMMARY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/deaths.h"
#include "analyse/footprint.h"
#include "analyse/pidlives.h"
#include "analyse/views.h"
#include "heap/heap.h"
#include "heap/threadsums.h"

enum {
  SummarySmallMAX = 8192,       /* sizes below this are counted each in its place */
  SummaryLargeMAX = 1 << 15,    /* others that are counted */
  SummarySizesSHOWN = 10
};

typedef struct SummaryStruct {
  Log log;
  OfProcess of;                 /* whose processes count; NULL: all do */
  Bool part;                    /* not all events of the processes that count come */
  ViewHeap shared;
  Heap heap;                    /* its */
  Footprint footprint;
  DeathsStruct deaths;
  PidLivesStruct lives;
  TypeCacheStruct tells;        /* uint8_t: does a type of event tell something to these three? */
  LogProcess process;           /* of the last event that these have seen, if it has not ended; or NULL */
  uint64_t events;
  uint64_t first, last;         /* ns of wall time */
  uint64_t allocs, frees, resizes;
  uint64_t told;                /* objects that were there before the recording */
  uint64_t presumed;            /* objects that went without a free: with their pool, or overlapped */
  uint64_t pools, arenas;       /* created */
  HeapSumStruct live;           /* at the moment; at last: in each process when it ended, or the log did */
  uint64_t leftBytes, leftObjects; /* in processes when they ended */
  Count unended;                /* processes of which nobody knows that they have ended, when the log has */
  uint64_t inherited, inheritedBytes; /* objects that children of fork had from their parents, */
  uint64_t doubt;               /* give or take so many, */
  Count late;                   /* and so many children only when they came to their first event */
  uint64_t totalBytes;          /* allocated; a resize counts by what it adds */
  ThreadSumsStruct who;         /* allocated and freed, by process and thread */
  double lifetime;              /* ns, of all that went */
  uint64_t otherSizes;          /* allocations whose size found no place */
  uint64_t small[SummarySmallMAX];
  HeapTableStruct large;        /* the others, as addresses; `time` is their count */
} SummaryStruct, *Summary;

/* SummaryText, SummaryJson -- print it, as views do */
extern Bool SummaryText(FILE *out, void *summary);
extern Bool SummaryJson(FILE *out, void *summary);

/* DiscardsText -- print a line for each of the streams that lack most, and for processes whose streams are not known
 * DiscardsJson -- print all as an array (discards.c) */
extern void DiscardsText(FILE *out, Log log);
extern void DiscardsJson(FILE *out, Log log);

#endif /* ANALYSE_SUMMARY_H */
