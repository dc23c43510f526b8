/* sync.h -- a pair of times: one moment in the clock of the events and in the system's clock
 *
 * What relates ticks to time: the writer measures it (plinth/clock.h), header blocks carry it (format/header.h).
 *
 * Design: design/telemetry.md .clock
 */
#ifndef BASE_SYNC_H
#define BASE_SYNC_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* The name of the clock whose ticks are those of the processor's counter.  Ticks of another clock are ns of
 * CLOCK_MONOTONIC. */
#define SyncCOUNTER "counter"

typedef struct SyncStruct {
  uint64_t ticks;
  uint64_t mono; /* CLOCK_MONOTONIC, ns */
  uint64_t real; /* CLOCK_REALTIME, ns since 1970 */
} SyncStruct, *Sync;

#endif /* BASE_SYNC_H */
