/* formerprogram.h -- closes the part of the log of the program that this process was before exec
 *
 * What it left in memory is sent, block by block (StoreAdopt).  Of each stream the closing header block tells what that program has
 * said that it had sent (SendStay), or what the blocks that it left say, whichever is more.
 *
 * Design: design/format.md .end.followed      Tests: test/log/check.t
 */
#ifndef HANDOVER_FORMERPROGRAM_H
#define HANDOVER_FORMERPROGRAM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/region.h"

typedef struct FormerStruct *Former; /* of one region at a time; signals are blocked */

/* FormerBlock -- a block of it, which was in this region, was sent with so many events.  *former is NULL at first, and stays so as long
 * as there is no memory. */
extern void FormerBlock(Former *former, RegionHeader region, BlockHeader block, Count events);

/* FormerEnd -- all that it left in this region was sent: send its closing header block
 *
 * returns  ResFAIL, and nothing is sent: no header block of it is there, or no memory; else what SendText returns */
extern Res FormerEnd(Former *former, RegionHeader region);

/* FormerFree -- no region is left */
extern void FormerFree(Former *former);

#endif /* HANDOVER_FORMERPROGRAM_H */
