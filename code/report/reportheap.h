/* reportheap.h -- the heap of a report over time: by caller, size, pool, and in all; mapped and resident bytes
 *
 * A client of the second pass's shared heap.
 *
 * Always true: slices before `memory` have their last word on mapped and resident bytes, those before BookTime's slice
 * on all else
 *
 * Design: design/report.md .heap      Tests: test/report/report.t, test/report/agree.t
 */
#ifndef REPORT_REPORTHEAP_H
#define REPORT_REPORTHEAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/footprint.h"
#include "analyse/viewlabels.h"
#include "heap/temporaries.h"
#include "report/reportbook.h"
#include "report/reportrows.h"
#include "report/reportspan.h"

/* Rows of sizes: 0, and from each power of two to below the next.  Of pools the first, and all others. */
enum { ReportSIZES = 65, ReportPOOLS = 101 };

typedef enum ReportBookKind { ReportBYSITE, ReportBYSIZE, ReportBYPOOL, ReportBOOKS } ReportBookKind;

typedef enum ReportTotal {
  TotalLIVE, TotalLIVEPEAK, TotalOBJECTS, TotalOBJECTSPEAK, TotalPEAKAT, TotalALLOCS, TotalALLOCBYTES, TotalFREES,
  TotalFREEBYTES, TotalRESIZES, TotalTEMPORARY, TotalTEMPORARYBYTES, TotalENDED, TotalENDEDBYTES, TotalMAPPED,
  TotalMAPPEDPEAK, TotalRESIDENT, TotalRESIDENTPEAK, TotalFIELDS
} ReportTotal;

typedef struct ReportPoolStruct {
  uint32_t process;     /* number in the log, */
  Index pool;           /* and the pool's in it */
  uint64_t addr;
  uint64_t time;        /* ns, when it was created */
  char class[HeapClassMAX];
} ReportPoolStruct, *ReportPool;

/* A process of the log. */
typedef struct ReportProcessStruct {
  SiteSum sums; /* owned: what it has in each row of each book */
  Bool kept;    /* it has ended, and counts as living while no process lives (HeapKeeps) */
} ReportProcessStruct;

typedef struct ReportHeapStruct {
  ReportSpan span;
  Rows rows;
  ViewHeap shared;
  OfProcess of;
  BookTimeStruct time;
  BookStruct book[ReportBOOKS];
  Index base[ReportBOOKS + 1];  /* where the rows of each begin among those of all; and how many these are */
  SeriesTableStruct total;      /* a row */
  Index memory;
  Footprint footprint;
  TemporariesStruct temporaries;
  uint32_t *rowOf;              /* owned; by number of a site in this pass, its row plus one; 0: not yet looked up */
  Count numbers;
  Count pools;
  Index poolLast;               /* the row of the pool of the last operation */
  ReportPoolStruct pool[ReportPOOLS - 1];
  Count processes;
  ReportProcessStruct *process; /* owned; by number in the log */
  Count keeps;                  /* how many of them are kept */
  Bool failed;
} ReportHeapStruct, *ReportHeap;

/* ReportHeapInit -- join the heap of the second pass; ResMEMORY.  ReportHeapFinish in either case. */
extern Res ReportHeapInit(ReportHeap heap, ViewHeap shared, Rows rows, ReportSpan span, OfProcess of, Log log);
extern void ReportHeapFinish(ReportHeap heap);

/* ReportHeapEnd -- the pass is over; ResMEMORY */
extern Res ReportHeapEnd(ReportHeap heap);

/* ReportHeapHalve -- half as many slices; `first` as in SeriesHalve, which this works out */
extern void ReportHeapHalve(ReportHeap heap, Bool *firstReturn);

/* ReportHeapJson -- print the members that are numbers over time; returns how many bytes these are */
extern Size ReportHeapJson(FILE *out, ReportHeap heap, ViewLabels labels, Bool *failed);

#endif /* REPORT_REPORTHEAP_H */
