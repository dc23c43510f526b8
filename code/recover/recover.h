/* recover.h -- puts what dead processes have left in memory into their log
 *
 * Design: design/log.md .recover .trust      Tests: test/recover/recovertest.c, test/recover/death.t
 */
#ifndef RECOVER_RECOVER_H
#define RECOVER_RECOVER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>

#include "base/sync.h"
#include "base/types.h"

typedef struct RecoveredStruct {
  Count blocks;     /* that were appended */
  Count running;    /* processes that still write to the log */
  Count barred;     /* of those, such as may not remove their memory at their end: it is another user's now */
  Count released;   /* processes that their collector had let go, and that have ended since */
  Count over;       /* regions of which nothing could be read, because the program had written over their beginning */
  int unread;       /* why a region cannot be read: errno; it stays, and the recording is not closed; 0: all can be */
  Bool elsewhere;   /* there are regions of one of the log's recordings that were made for another log, which is there; they stay */
  char log[PATH_MAX]; /* that log */
  uint64_t spoiled; /* events of blocks that the program had written over: they are lost, which the log says */
} RecoveredStruct, *Recovered;

/* RecoverNow -- the present: with FALSE `ticks` are those of processes whose clock is the processor's counter (EventClockSync) */
typedef void (*RecoverNow)(Sync nowReturn, Bool slow);

/* LogRecover -- append to a log the header blocks and blocks of its processes that have ended, close their parts, and
 * remove their memory; where nobody records any more, close the recording
 *
 * log            a descriptor of the log, for appending (O_APPEND); the caller has seen to it that it is the log
 * certain        it is the log even if nothing in it says so
 * path           what the log is called: to look beside it, and for nothing else
 * recording      of which recording; 0: of those that the log has, but nothing (unless `keep`) that was made for another log, which is
 *                there and has that recording
 * now            the recording ends in this moment: of a process that its collector has just let go, and that has ended all the
 *                same, the log says when that was seen; NULL: nobody knows how long ago a process ended
 * keep           what is added stays in memory, too: another log lacks it as well
 * recoveredReturn  what that was
 * returns        ResOK; ResPARAM: that is no log, or has nothing of that recording, and is not certain to be its log, or not
 *                empty: nothing was appended.  ResIO, ResMEMORY: not all could be read or written (errno says why);
 *                nothing is removed of which not all was.  Other regions are added where one cannot be read.
 * cost           nothing of the log is read where there is nothing to recover and `recording` is said
 */
extern Res LogRecover(int log, Bool certain, const char *path, uint64_t recording, RecoverNow now, Bool keep,
                      Recovered recoveredReturn);

/* LogRecordingHas -- has the log of this descriptor something of a recording, or is it certainly its log, and empty?  All of it is
 * scanned.  ResPARAM: it has not,
 * or is no log; ResIO, ResMEMORY */
extern Res LogRecordingHas(int log, Bool certain, uint64_t recording);

#endif /* RECOVER_RECOVER_H */
