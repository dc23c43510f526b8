/* regionadopt.h -- adopts the regions of the program that this process was before exec, and closes its part of the log
 *
 * The blocks that it left are sent, and its regions removed.  The closing header block counts for each stream what
 * that program said it had sent (SendStay), or what the blocks that it left say, whichever is more.
 *
 * Design: design/telemetry.md .store, design/format.md .end.followed
 * Tests: test/handover/adopttest.c, test/log/check.t
 */
#ifndef HANDOVER_REGIONADOPT_H
#define HANDOVER_REGIONADOPT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "format/region.h"

/* RegionAdoptEach -- call `take` with the file of each region of the recording that has a name and belongs to our user,
 * until it returns TRUE, which is then returned.  `take` closes the file.
 * pid     only regions of this process; 0: of any
 * beside  look beside the log; FALSE: in RegionFOLDER */
typedef Bool (*RegionAdoptTake)(void *data, int fd, const char *path);
extern Bool RegionAdoptEach(const char *log, uint64_t recording, uint32_t pid, Bool beside, RegionAdoptTake take,
                            void *data);

/* RegionAdopt -- take the regions that were left behind by the program that this process was before exec
 *
 * log, recording  as for StoreOpen
 * collected       there was a collector, which made some of them.  It gives regions rising numbers and removes those
 *                 that are closed, so the folders are searched.  Without a collector the numbers begin at 0, and one
 *                 descriptor is enough.
 * For each region of that recording whose owner has ended it calls `block` for the header block, if a collector should
 * have written that, for each block, and at last with NULL.  Then it removes the file, unless `block` failed, or the
 * region counts events that no block has: readers of the log find those there.
 */
typedef Res (*RegionAdoptBlock)(void *data, RegionHeader region, void *base, Size size);
extern void RegionAdopt(const char *log, uint64_t recording, Bool collected, RegionAdoptBlock block, void *data);

typedef struct RegionAdoptedStruct *RegionAdopted; /* of one region at a time; signals are blocked */

/* RegionAdoptSent -- a block of it, which was in this region, was sent with so many events.  *former is NULL at
 * first, and stays so as long as there is no memory. */
extern void RegionAdoptSent(RegionAdopted *former, RegionHeader region, BlockHeader block, Count events);

/* RegionAdoptClose -- all that it left in this region was sent: make its closing header block, which the caller sends
 *
 * returns  the block's length; 0: there is no header block of it, or no memory */
extern Size RegionAdoptClose(const char **textReturn, RegionAdopted *former, RegionHeader region);

/* RegionAdoptFree -- no region is left */
extern void RegionAdoptFree(RegionAdopted *former);

#endif /* HANDOVER_REGIONADOPT_H */
