/* blockcopy.h -- copies the blocks of a running process
 *
 * The process goes on meanwhile, and may fill, hand over or use again the block that is being copied; a copy counts
 * only if the block is still the same afterwards.  What it holds is what was committed when it was copied; room that
 * was reserved is a pad in the copy.
 *
 * Design: design/collector.md .control      Tests: test/end/eventctl.t
 */
#ifndef MONITOR_BLOCKCOPY_H
#define MONITOR_BLOCKCOPY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "monitor/liveregion.h"

/* BlockCopyCountsStruct -- what a process has waiting, and what it lost, as its region tells */
typedef struct BlockCopyCountsStruct {
  Count open, full;    /* blocks */
  uint64_t discarded;  /* events, of all threads that have a block now, and of those that could have none */
} BlockCopyCountsStruct, *BlockCopyCounts;

extern void BlockCopyCount(BlockCopyCounts countsReturn, LiveRegion live);

/* BlockCopyAppend -- write snapshots of all blocks to `fd`, after the header block if `header`; each by one write
 *
 * returns  ResIO, and errno; ResMEMORY
 */
extern Res BlockCopyAppend(LiveRegion live, int fd, Bool header);

/* BlockCopyLog -- the process's log, open for appending; -1 if it has none that is a file, or that cannot be opened: the
 * reason says why, and is a constant or strerror's */
extern int BlockCopyLog(LiveRegion live, const char **reasonReturn);

#endif /* MONITOR_BLOCKCOPY_H */
