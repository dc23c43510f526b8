/* recoverlog.h -- appends to a log what its dead processes have left in their regions
 *
 * Design: design/log.md .recover .trust      Tests: test/recover/recoverlogtest.c, test/recover/death.t
 */
#ifndef RECOVER_RECOVERLOG_H
#define RECOVER_RECOVERLOG_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>

#include "base/sync.h"
#include "base/types.h"

typedef struct RecoveredStruct {
  Count blocks;     /* that were appended */
  uint64_t spoiled; /* events of blocks that the program had written over: they are lost, and the log counts them */
  Count running;    /* processes that still write to the log */
  Count barred;     /* those of them that cannot remove their regions at their end, having changed their user */
  Count released;   /* processes that their collector had let go, and that have ended since */
  Count headless;   /* regions of which nothing could be read, because the program had written over the header */
  int unread;       /* errno, if a region cannot be read: it stays, and the recording is not closed; 0: all can be */
  Bool elsewhere;   /* regions of the log's recordings were made for another log, which exists; they stay */
  char log[PATH_MAX]; /* that log */
} RecoveredStruct, *Recovered;

/* RecoverNow -- the present time; with `slow` FALSE its ticks are those of processes whose clock is the processor's
 * counter (EventClockSync) */
typedef void (*RecoverNow)(Sync nowReturn, Bool slow);

/* RecoverLog -- append to a log the header blocks and blocks of its processes that have ended, close their parts of the
 * log, and remove their regions; if no process records any more, close the recording
 *
 * log        a descriptor of the log for appending (O_APPEND); the caller has made sure that it is the right file
 * certain    it is the right file even if nothing in it says so
 * path       of the log, used only to search the folder that it is in
 * recording  the recording that is recovered; 0: all recordings that the log has something of, but (unless `keep`) no
 *            region that was made for another log which exists and has something of that recording
 * now        the recording ends at this moment: for a process that its collector has just let go, and that has ended
 *            since, the log says when its end was seen.  NULL: it is not known how long ago the processes ended
 * keep       the regions stay, because another log lacks their contents, too
 * recoveredReturn  what was done
 * returns    ResPARAM: the file is no log, or has nothing of the recording and is not certainly its empty log: nothing
 *            was appended.  ResIO with errno, ResMEMORY: not all could be read or written; a region stays unless all of
 *            it was written, and other regions are recovered if one cannot be read.
 * cost       if `recording` is given and there is no region of it, the log is not read
 */
extern Res RecoverLog(int log, Bool certain, const char *path, uint64_t recording, RecoverNow now, Bool keep,
                      Recovered recoveredReturn);

/* RecoverLogOpen -- open a log for appending that has something of a recording, or is empty and certain to be the
 * recording's log (RegionFileAppend).  Scans all of it.
 * sender   identity of a process that sends to receivers by itself, of which the log must have a header block; 0: none
 * returns  -1 with errno; EINVAL: it has nothing of the recording, or of the sender, or is no log */
extern int RecoverLogOpen(const char *path, uint64_t recording, uint64_t sender);

#endif /* RECOVER_RECOVERLOG_H */
