/* reportspan.h -- the time of a report, cut into slices of equal length
 *
 * Design: design/report.md .slices      Tests: test/report/report.t
 */
#ifndef REPORT_REPORTSPAN_H
#define REPORT_REPORTSPAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { ReportSlicesMAX = 1024 }; /* at first; a power of two */

typedef struct ReportSpanStruct {
  uint64_t zero;       /* ns of wall time: of the log's first event, where the report counts from; */
  uint64_t from, to;   /* of what is reported, the second exclusive */
  uint64_t slice;      /* ns; the last one may reach beyond `to` */
  Count slices;
} ReportSpanStruct, *ReportSpan;

/* ReportSlice -- the slice that a time is in, or that is nearest */
static inline Index ReportSlice(const ReportSpanStruct *span, uint64_t time)
{
  uint64_t at = time < span->from ? 0 : (time - span->from) / span->slice;

  return at < span->slices ? (Index)at : span->slices - 1;
}

#endif /* REPORT_REPORTSPAN_H */
