/* estimate.h -- how many bytes are live, estimated from blocks as they are drained, in constant memory
 *
 * A table has the live objects.  While all fit the sum is exact; then an object is kept with a probability that is its
 * size over a threshold, decided by a hash of its address, and weighs the threshold at least: on average the sum stays
 * right, and it is about half a per cent off.  Blocks may come in any order: of two events on an address the later one
 * counts, whichever is seen first.
 *
 * Always true (EstimateCheck): bytes = the sum of the weights in the table;  used <= EstimateMAX
 *
 * Design: design/collector.md .watch.live      Tests: test/estimatetest.c
 */
#ifndef COLLECT_ESTIMATE_H
#define COLLECT_ESTIMATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/registry.h"

typedef struct EstimateStruct *Estimate;

enum {
  EstimateSIZE = 1 << 16,      /* places of the table, 32 bytes each */
  EstimateMAX = EstimateSIZE / 4 * 3, /* that are used */
  EstimateSHARE = 16,          /* a good one for EstimateCreate */
  EstimateRECENT = 1 << 13     /* times four frees are remembered, for allocations that come late */
};

/* EstimateCreate -- nothing lives yet
 * share  at most about one part of so many of the time goes into it: where that is not enough fewer objects are kept;
 *        0: all that there is room for
 * ResMEMORY */
extern Res EstimateCreate(Estimate *estimateReturn, unsigned share);
extern void EstimateDestroy(Estimate estimate);
extern Bool EstimateCheck(Estimate estimate);

/* EstimateBlock -- take one block's events into account
 *
 * registry  its types: if PoolAlloc and its kin are not ours, or the widths, it is left alone
 * process   its identity
 * events    `used` bytes, aligned, beginning at `first` ticks, unpacked; anything may stand there
 * seen      so many of them were taken into account before, when the block was not full yet
 * cost      15 to 60 ns an event on an object, by how many live; 4 where few of them are kept */
extern void EstimateBlock(Estimate estimate, Registry registry, uint64_t process, const void *events, Size used,
                          Size seen, uint64_t first);

/* EstimateGone -- a process has ended, and its memory with it */
extern void EstimateGone(Estimate estimate, uint64_t process);

/* EstimateBytes -- the estimate; *exactReturn: it is no estimate, as far as all blocks have come */
extern uint64_t EstimateBytes(Bool *exactReturn, Estimate estimate);

#endif /* COLLECT_ESTIMATE_H */
