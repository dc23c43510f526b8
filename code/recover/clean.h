/* clean.h -- removes what dead recordings have left in shared memory, and adds it to their logs
 *
 * Design: design/collector.md .clean      Tests: test/recover/clean.t, test/collect/collect.t
 */
#ifndef RECOVER_CLEAN_H
#define RECOVER_CLEAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* Which log is what a region holds to be added to?  NULL: the region is not meant.
 * log        that it was made for; "": none, it was sent away
 * recording  that it is of */
typedef const char *(*CleanChoose)(void *data, const char *log, uint64_t recording);

/* CleanRegions -- remove the regions in /dev/shm that are ours and whose processes are dead, when what they hold is in
 * their log; where that is gone, too, it is lost, and counted.  Links that stand there without a region are removed, too.
 *
 * choose   NULL: all are meant, each for its own log
 * tell     one line for each region or link that was removed, or could not be
 * returns  ResIO: one could not be
 */
extern Res CleanRegions(CleanChoose choose, void (*tell)(void *data, const char *line), void *data,
                        Count *removedReturn);

/* CleanAdd -- put into a log what dead processes of its recordings have left, which stays where it is: other logs may lack it,
 * too.  ResIO, ResMEMORY with errno set; nothing to be done, or no log: ResOK */
extern Res CleanAdd(const char *log);

/* CleanBeside -- put into a log what dead processes of it have left beside it, where /dev/shm had no room, and remove
 * that.  One line if there was any, or it could not be.  ResPARAM, nothing told: it cannot be opened, with errno, or is no log
 * (EINVAL). */
extern Res CleanBeside(const char *log, void (*tell)(void *data, const char *line), void *data);

#endif /* RECOVER_CLEAN_H */
