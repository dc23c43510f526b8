/* live.h -- how many bytes are live, estimated from blocks as they are drained, in constant memory
 *
 * A table has the live objects.  While all fit the sum is exact; then an object is kept with a probability that is its size
 * over a threshold, decided by a hash of its address, and weighs the threshold at least: on average the sum stays right, and
 * it is about half a per cent off.  Blocks may come in any order: of two events on an address the later one counts,
 * whichever is seen first.
 *
 * Always true (LiveCheck): bytes = the sum of the weights in the table;  used <= LiveMAX
 *
 * Design: design/collector.md .watch.live      Tests: test/livetest.c
 */
#ifndef COLLECT_LIVE_H
#define COLLECT_LIVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/registry.h"

typedef struct LiveStruct *Live;

enum {
  LiveSIZE = 1 << 16,          /* places of the table, 32 bytes each */
  LiveMAX = LiveSIZE / 4 * 3,  /* that are used */
  LiveRECENT = 1 << 14         /* frees that are remembered, for allocations that come late */
};

/* LiveCreate -- nothing lives yet; ResMEMORY */
extern Res LiveCreate(Live *liveReturn);
extern void LiveDestroy(Live live);
extern Bool LiveCheck(Live live);

/* LiveBlock -- take one block's events into account
 *
 * registry  its types: if PoolAlloc and its kin are not ours, or the widths, it is left alone
 * process   its identity
 * events    `used` bytes, aligned, beginning at `first` ticks, unpacked; anything may stand there
 * cost      some 10 ns an event on an object */
extern void LiveBlock(Live live, Registry registry, uint64_t process, const void *events, Size used, uint64_t first);

/* LiveGone -- a process has ended, and its memory with it */
extern void LiveGone(Live live, uint64_t process);

/* LiveBytes -- the estimate; *exactReturn: it is no estimate, as far as all blocks have come */
extern uint64_t LiveBytes(Bool *exactReturn, Live live);

#endif /* COLLECT_LIVE_H */
