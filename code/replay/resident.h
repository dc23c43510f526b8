/* resident.h -- what of this process is in memory, read without stdio, which might allocate
 *
 * Design: design/replayer.md .play      Tests: test/replay/replay.t
 */
#ifndef REPLAY_RESIDENT_H
#define REPLAY_RESIDENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ResidentNow, ResidentPeak -- bytes, now and at most since ResidentForget; 0: the system does not say
 * ResidentForget -- let the peak begin anew */
extern uint64_t ResidentNow(void);
extern uint64_t ResidentPeak(void);
extern void ResidentForget(void);

#endif /* REPLAY_RESIDENT_H */
