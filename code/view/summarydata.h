/* summarydata.h -- the numbers of a summary, for what counts and what prints them
 *
 * Design: design/view.md .summary      Tests: test/eventview.t
 */
#ifndef VIEW_SUMMARYDATA_H
#define VIEW_SUMMARYDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/deaths.h"
#include "view/memory.h"
#include "view/summary.h"
#include "view/unseen.h"

enum {
  SummarySmallMAX = 8192,       /* sizes below this are counted each in its place */
  SummaryLargeSIZE = 1 << 16,   /* places for the others; half of them are used */
  SummarySizesSHOWN = 10
};

typedef struct SummarySizeStruct {
  uint64_t size, count;
} SummarySizeStruct, *SummarySize;

struct SummaryStruct {
  Log log;
  OfProcess of;                 /* whose processes count; NULL: all do */
  uint64_t to;                  /* no event at this time or later comes */
  Bool part;                    /* not all events of the processes that count come */
  Heap heap;
  Memory memory;
  DeathsStruct deaths;
  UnseenStruct unseen;
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
};

#endif /* VIEW_SUMMARYDATA_H */
