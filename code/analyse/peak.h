/* peak.h -- the moment at which most bytes were allocated, in all processes together
 *
 * Always true: `position` stands behind the first event after which `bytes` lived, and never more did.
 *
 * Design: design/view.md .live.peak      Tests: test/analyse/live.t
 */
#ifndef ANALYSE_PEAK_H
#define ANALYSE_PEAK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/processevents.h"
#include "request/request.h"

typedef struct PeakStruct *Peak;

/* PeakCreate -- nothing is known yet; `only` says which events count, and `of`, which stays, of whose
 * processes, or NULL: of all.  ResMEMORY. */
extern Res PeakCreate(Peak *peakReturn, Log log, const LogRequestStruct *only, OfProcess of);
extern void PeakDestroy(Peak peak); /* NULL is none */

/* PeakRequest -- the request that has to be served first
 * PeakFinish -- it has been: where the peak is, and its time, ns; the end, and UINT64_MAX, if only that settles it, or
 * nothing ever lived.  ResMEMORY. */
extern LogRequest PeakRequest(Peak peak);
extern Res PeakFinish(LogPosition positionReturn, uint64_t *timeReturn, Peak peak);

#endif /* ANALYSE_PEAK_H */
