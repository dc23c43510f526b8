/* blocks.h -- the headers of a log's event blocks, for who wants to see how it was recorded
 *
 * Design: design/log.md .blocks      Tests: test/emit/cpu.t
 */
#ifndef EXPORT_BLOCKS_H
#define EXPORT_BLOCKS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "log/log.h"

typedef Bool (*LogBlockVisit)(void *data, Text line); /* TRUE: no more are wanted */

/* LogBlocks -- call `visit` with a line of text, its newline included, for each block, in order of the times at which
 * they were opened; copies of a block are blocks, too.  ResMEMORY, ResIO. */
extern Res LogBlocks(Log log, LogBlockVisit visit, void *data);

#endif /* EXPORT_BLOCKS_H */
