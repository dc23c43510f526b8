/* clean.h -- what dead recordings have left in memory
 *
 * Design: design/collector.md .clean      Tests: test/collect.t
 */
#ifndef COLLECT_CLEAN_H
#define COLLECT_CLEAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* Whether a region of this log is meant. */
typedef Bool (*CleanChoose)(void *data, const char *log);

/* CleanRegions -- remove the regions in /dev/shm that are ours and whose processes are dead, when what they hold is in
 * their log; where that is gone, too, it is lost
 *
 * choose   NULL: all are meant
 * tell     one line for each region that was removed, or could not be
 * returns  ResIO: one could not be
 */
extern Res CleanRegions(CleanChoose choose, void (*tell)(void *data, const char *line), void *data,
                        Count *removedReturn);

#endif /* COLLECT_CLEAN_H */
