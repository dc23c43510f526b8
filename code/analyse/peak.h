/* peak.h -- the moment at which most bytes were allocated, in all processes together
 *
 * Design: design/view.md .live.peak      Tests: test/analyse/live.t
 */
#ifndef ANALYSE_PEAK_H
#define ANALYSE_PEAK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "source/openlogs.h"

/* PeakFind -- read the log, as source->request says, for the position behind the first event after which most bytes
 * lived, and its time, ns.  If only the end of the log settles it, or nothing ever lived, that is the end, and
 * UINT64_MAX. FALSE: reported, with the status */
extern Bool PeakFind(LogPosition positionReturn, uint64_t *timeReturn, Source source, int *statusReturn);

#endif /* ANALYSE_PEAK_H */
