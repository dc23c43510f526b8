/* resident.h -- what of this process is in memory, read without stdio, which might allocate
 *
 * Design: design/replayer.md .play, design/collector.md .baseline      Tests: test/replay/replay.t,
 * test/collect/baseline.t
 */
#ifndef BASE_RESIDENT_H
#define BASE_RESIDENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ResidentNow, ResidentPeak -- bytes, now and at most since ResidentForget, or since the process became its program; 0: the
 * system does not say
 * ResidentForget -- let the peak begin anew */
extern uint64_t ResidentNow(void);
extern uint64_t ResidentPeak(void);
extern void ResidentForget(void);

#endif /* BASE_RESIDENT_H */
