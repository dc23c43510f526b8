/* resident.h -- what of a process is in memory, read without stdio, which might allocate
 *
 * Design: design/replayer.md .play, design/collector.md .baseline      Tests: test/replay/replay.t,
 * test/collect/baseline.t
 */
#ifndef BASE_RESIDENT_H
#define BASE_RESIDENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

/* ResidentNow, ResidentPeak -- bytes, now and at most since ResidentForget, or since the process became its program;
 * 0: the system does not say
 * ResidentForget -- let the peak begin anew */
extern uint64_t ResidentNow(void);
extern uint64_t ResidentPeak(void);
extern void ResidentForget(void);

/* ResidentOf -- bytes of another process, now
 * ResidentFree -- bytes that processes can have before the system begins to swap, or to kill; 0: it does not say */
extern uint64_t ResidentOf(pid_t pid);
extern uint64_t ResidentFree(void);

#endif /* BASE_RESIDENT_H */
