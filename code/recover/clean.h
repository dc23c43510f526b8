/* clean.h -- removes the regions that dead recordings have left in RegionFOLDER, after their contents are in their logs
 *
 * Design: design/collector.md .clean      Tests: test/recover/clean.t, test/collect/collect.t
 */
#ifndef RECOVER_CLEAN_H
#define RECOVER_CLEAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* CleanChoose -- which log are the contents of a region to be added to?
 *
 * log        that the region was made for; "": it has none, because its events were sent to another machine
 * recording  that the region belongs to
 * sender     identity of the process, if it sent by itself: only a log with a header block of it has the rest; 0
 * returns    a path; NULL: the region is to be left alone
 */
typedef const char *(*CleanChoose)(void *data, const char *log, uint64_t recording, uint64_t sender);

/* CleanRegions -- remove our own regions in RegionFOLDER whose processes are dead, after adding what they hold to their
 * logs
 *
 * If the log of a region is gone, too, its events are lost, and counted.  Links that no region belongs to are removed,
 * too.
 * choose   NULL: all regions, each for the log that it was made for
 * tell     called with one line for each region or link that was removed, or could not be
 * returns  ResIO: one could not be removed; ResMEMORY
 */
extern Res CleanRegions(CleanChoose choose, void (*tell)(void *data, const char *line), void *data,
                        Count *removedReturn);

/* CleanAdd -- add to a log what dead processes of its recordings have left in regions, which stay, because other logs
 * may lack it, too
 * returns  ResOK also if there is nothing to add, or no log; ResIO, ResMEMORY with errno */
extern Res CleanAdd(const char *log);

/* CleanBeside -- add to a log what dead processes of its recordings have left in regions beside it, where there was no
 * room in RegionFOLDER, and remove these regions
 *
 * tell     called with one line if there was such a region, or if it cannot be added
 * returns  ResPARAM, and nothing is told: the log cannot be opened, or is none (errno EINVAL); ResIO, ResMEMORY
 */
extern Res CleanBeside(const char *log, void (*tell)(void *data, const char *line), void *data);

#endif /* RECOVER_CLEAN_H */
