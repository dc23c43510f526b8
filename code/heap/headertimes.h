/* headertimes.h -- when the processes of a log were forked and when they ended, from their header blocks
 *
 * There is no event of a fork: the child's header block has its time.  The collector's event of an end comes when it
 * looks, up to a tenth of a second late, and without a collector there is none.  A closing header block has the right
 * time: the process wrote the block last of all, or left the time for the collector (EmitterEnding), or was killed,
 * and then the collector saw the end before it let another process begin.
 *
 * Always true (HeaderTimesCheck):
 *   next <= count <= capacity;  count <= 2 * looked, for a fork and an end of each process
 *   those from `next` on are in order;  `due` is that of the next, or UINT64_MAX if there is none; 0 before the first
 *   look
 *
 * Design: design/view.md .heap.process .heap.fork      Tests: test/heap/familytest.c, test/emit/fork.t
 */
#ifndef HEAP_HEADERTIMES_H
#define HEAP_HEADERTIMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

/* A fork or an end of which a header block tells. */
typedef struct HeaderTimeStruct {
  uint64_t due;        /* ns: it comes before each event of this time or later */
  Index process;       /* of the log */
  Bool fork;           /* the process is forked; else it has ended before `due` */
  Bool forgotten;      /* heapfork.c: the child was waited for, and given up */
} HeaderTimeStruct, *HeaderTime;

/* The forks and ends that are still to come, from `next` on; all 0 at first. */
typedef struct HeaderTimesStruct {
  Count looked;        /* processes of the log whose headers have been looked at */
  Index next;
  Count count, capacity;
  HeaderTime one;      /* owned */
  uint64_t due;
} HeaderTimesStruct, *HeaderTimes;

/* HeaderTimesLook -- look for processes that the log did not have before.  ResMEMORY. */
extern Res HeaderTimesLook(HeaderTimes times, Log log);

/* HeaderTimesNext -- take the next that is due before events of `time`; NULL: there is none.  Valid until
 * HeaderTimesLook. */
extern HeaderTime HeaderTimesNext(HeaderTimes times, uint64_t time);

/* HeaderTimesFrom -- continue after the first `next` of them; FALSE: there are fewer */
extern Bool HeaderTimesFrom(HeaderTimes times, Index next);

extern void HeaderTimesFinish(HeaderTimes times);

/* HeaderTimesParent -- the process of the log whose child by fork this one is, or NULL */
extern LogProcess HeaderTimesParent(Log log, LogProcess child);

extern Bool HeaderTimesCheck(const HeaderTimesStruct *times);

#endif /* HEAP_HEADERTIMES_H */
