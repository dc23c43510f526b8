/* handfull.h -- full blocks: how many there may be, and which is forgotten where the newest are kept
 *
 * Always true: pool.full >= the number of slots that are full; a block that may be overwritten has a ticket, which no
 * other block has had, and all others have 0.
 *
 * Design: design/collector.md .hand.pool, .policy      Tests: test/handtest.c
 */
#ifndef EMIT_HANDFULL_H
#define EMIT_HANDFULL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/region.h"

/* HandRoom -- may one more block of this kind be full?  Then it is counted.  If need be what is oldest is forgotten. */
extern Bool HandRoom(RegionHeader region, unsigned kind);

/* HandGive -- the block is the collector's from here on.  It has been counted.
 *
 * used     bytes of it that are reserved
 * pending  something in it may still have to be filled in: it is looked at before it is overwritten
 */
extern void HandGive(RegionHeader region, BlockHeader block, Size used, Bool pending);

#endif /* EMIT_HANDFULL_H */
