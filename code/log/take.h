/* take.h -- what was found in a log, by scanning it or by its index file, goes where it is remembered
 *
 * Into the table, the index and the regions; and, where an index file is being written, into that.
 *
 * Design: design/log.md .beside      Tests: test/logbadtest.c, test/beside.t
 */
#ifndef LOG_TAKE_H
#define LOG_TAKE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/scan.h"

/* TakeBlock -- a block's header; `cut` if the file ends within the block; ResMEMORY, ResIO
 * TakeHeader -- a header block, which scan->header and `thing` have, at `offset`; ResMEMORY
 * TakeCut -- the block before `offset`, which has this header, was cut short: the next thing is at `next`, within it
 * TakeRegion -- damage from `offset` to `next`; ResMEMORY */
extern Res TakeBlock(Scan scan, BlockHeader header, uint64_t offset, Bool cut);
extern Res TakeHeader(Scan scan, ScanThing thing, uint64_t offset);
extern void TakeCut(Scan scan, const BlockHeaderStruct *header, uint64_t offset, uint64_t next);
extern Res TakeRegion(Scan scan, Region region, uint64_t offset, uint64_t next);

/* TakeEnds -- what is found from here on has to do with where the file ends: if it grows it may be something else */
extern void TakeEnds(Scan scan);

#endif /* LOG_TAKE_H */
