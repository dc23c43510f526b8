/* curve.h -- a number over time: the largest one in each of a fixed number of slices
 *
 * It is not known beforehand how long the time is: when it does not fit any more, slices are joined in pairs.
 *
 * Design: design/replayer.md .picture      Tests: test/replay/curvetest.c
 */
#ifndef REPLAY_CURVE_H
#define REPLAY_CURVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { CurveSLICES = 1024 };

typedef struct CurveStruct {
  uint64_t slice;               /* ns of a slice: a power of two; 0: it has not begun, and is all zeros */
  uint64_t time, number;        /* what was added last */
  uint64_t most[CurveSLICES];   /* in each slice; 0: nothing is known of it */
} CurveStruct, *Curve;

/* CurveAdd -- at `time`, ns since the beginning, the number was `number`; slices are joined where that is necessary */
extern void CurveAdd(Curve curve, uint64_t time, uint64_t number);

/* CurveChange -- the same; and until then the number was what was added last: slices in between, of which nothing is
 * known, have that. */
extern void CurveChange(Curve curve, uint64_t time, uint64_t number);

/* CurveJoin -- join slices until each is so long, or longer */
extern void CurveJoin(Curve curve, uint64_t slice);

/* CurveSlices -- how many there are, to the last one of which something is known */
extern Count CurveSlices(const CurveStruct *curve);

#endif /* REPLAY_CURVE_H */
