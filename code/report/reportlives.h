/* reportlives.h -- how long objects lived that went, by slice of time
 *
 * A heap of its own, as the view `lifetimes` has: an object remembers whether its birth is known.
 *
 * Design: design/report.md .lives      Tests: test/report/report.t
 */
#ifndef REPORT_REPORTLIVES_H
#define REPORT_REPORTLIVES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/heap.h"
#include "report/reportseries.h"
#include "report/reportspan.h"

enum { LivesROWS = 21 }; /* less than 1 us, and decades from there */

typedef struct LivesStruct {
  ReportSpan span;
  OfProcess of;
  Heap heap;
  LogRequestStruct request;
  SeriesTableStruct table;
} LivesStruct, *Lives;

/* LivesInit -- `only`: which events; ResMEMORY.  LivesFinish in either case.
 * LivesEnd -- its request has been served; ResMEMORY */
extern Res LivesInit(Lives lives, ReportSpan span, Log log, const LogRequestStruct *only, OfProcess of);
extern void LivesFinish(Lives lives);
extern Res LivesEnd(Lives lives);

/* LivesJson -- print the members `bylife` and `lifetimes`; returns how many bytes the first has */
extern Size LivesJson(FILE *out, Lives lives, Bool *failed);

#endif /* REPORT_REPORTLIVES_H */
