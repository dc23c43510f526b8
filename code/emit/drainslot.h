/* drainslot.h -- what a slot says, and the block in it, for those who send or forget blocks (drain.c, drainopen.c)
 *
 * Design: design/telemetry.md .buffer.wait, design/collector.md .hand.spoiled      Tests: test/emittest.c, test/stray.t
 */
#ifndef EMIT_DRAINSLOT_H
#define EMIT_DRAINSLOT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/store.h"
#include "format/region.h"

/* drainAt -- where the block in a slot is, and how large it is, as the slot says; or NULL.  Its header may be spoiled. */
static inline BlockHeader drainAt(Size *sizeReturn, RegionHeader region, Index slot)
{
  Size offset;

  return RegionBlockAt(&offset, sizeReturn, region, slot) ? (BlockHeader)(void *)((char *)region + offset) : NULL;
}

/* drainWhole -- has it its header, as it was written? */
static inline Bool drainWhole(BlockHeader block, Size size)
{
  BlockHeaderStruct header;
  Bool swapped;

  return block != NULL && BlockHeaderUnsealedRead(&header, &swapped, block) == ResOK && !swapped && header.whole == size;
}

static inline uint8_t drainState(RegionHeader region, Index slot)
{
  return __atomic_load_n(&region->state[slot], __ATOMIC_ACQUIRE);
}

/* drainUsed -- bytes of a full block that were reserved for events; never more than it has */
static inline Size drainUsed(BlockHeader block)
{
  Size most = StoreSize(block) - BlockHeaderSIZE, used = __atomic_load_n(&block->used, __ATOMIC_RELAXED);

  return used <= most ? used : most;
}

/* drainSnapped -- has a snapshot of this full block been sent?  Then it is counted as full no longer. */
static inline Bool drainSnapped(BlockHeader block)
{
  return (block->flags & BlockFlagSNAPSHOT) != 0;
}

#endif /* EMIT_DRAINSLOT_H */
