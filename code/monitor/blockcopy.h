/* blockcopy.h -- copies the blocks of a running process
 *
 * The process goes on meanwhile, and may fill, hand over or reuse the block that is being copied; a copy counts only if
 * the block is still the same afterwards.  It has the events that were committed when it was copied; room that was only
 * reserved is a pad in the copy.
 *
 * Design: design/collector.md .control      Tests: test/monitor/blockcopytest.c, test/end/eventctl.t
 */
#ifndef MONITOR_BLOCKCOPY_H
#define MONITOR_BLOCKCOPY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "monitor/liveregion.h"

/* BlockCopyCountsStruct -- blocks that wait in a region, and events that were lost, as the region says */
typedef struct BlockCopyCountsStruct {
  Count open, full;    /* blocks */
  uint64_t discarded;  /* events, of all threads that have a block now, and of those that could get none */
} BlockCopyCountsStruct, *BlockCopyCounts;

extern void BlockCopyCount(BlockCopyCounts countsReturn, LiveRegion live);

/* BlockCopyAppend -- write snapshots of all blocks to `fd`, each by one write
 *
 * A collector may take blocks meanwhile, the older ones first mostly: so of each stream the newest is copied first.
 * alone    `fd` is to be a log by itself: begin with the header block, and of each stream stop where a block is missing
 * returns  ResIO, and errno; ResMEMORY
 */
extern Res BlockCopyAppend(LiveRegion live, int fd, Bool alone);

/* BlockCopyLog -- open the process's log for appending; -1 if it is not a file, or cannot be opened: *reasonReturn says
 * why, and is a constant or strerror's */
extern int BlockCopyLog(LiveRegion live, const char **reasonReturn);

#endif /* MONITOR_BLOCKCOPY_H */
