/* blockruns.h -- the numbers of a stream's blocks that are there, and so which are missing
 *
 * Blocks may come in any order, and more than once.  What was seen is kept as runs of consecutive numbers, one for a
 * stream of which nothing is missing; so every gap, and by the counts beside it exactly what was in it, is known when
 * all files are scanned.  A block that was handed over uncounted (BlockBeforeUNKNOWN) follows the one with the number
 * before it, and what is missing beside it is known by numbers only.
 *
 * Always true (BlockRunsCheck): from < to in each run; runs rise and do not overlap; runs that touch are joined if no
 * event is missing between them, or if that cannot be known.
 *
 * Design: design/log.md .gap      Tests: test/log/logtest.c, test/log/logchecktest.c
 */
#ifndef LOG_BLOCKRUNS_H
#define LOG_BLOCKRUNS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"

enum { BlockRunsMAX = 4096 }; /* gaps of one stream that are told one by one; beyond that they are summed up */

typedef struct BlockRunStruct {
  uint64_t from, to;         /* numbers of the blocks: from the first to one behind the last */
  uint64_t before, after;    /* events of the stream before the first, and up to the end of the last;
                                BlockBeforeUNKNOWN: not known */
  uint64_t last;             /* events of the last block */
  uint64_t place, lastPlace; /* of the first and the last block, as the index has them */
  Bool behind;               /* the block before the first was written, too: BlockFlagBEHIND */
} BlockRunStruct, *BlockRun;

typedef struct BlockRunsStruct {
  Count count, capacity;
  BlockRun run;              /* owned */
  uint64_t moreBlocks, moreEvents; /* in gaps that are summed up */
} BlockRunsStruct, *BlockRuns;

/* BlockRunsAdd -- a block: its number, the events before it and in it, and where it is
 * loose    `before` counts events that were overwritten, too, so a jump in it is no loss
 * behind   the block before it was written
 * returns  ResMEMORY
 * cost     none that grows with the stream, where blocks come in order */
extern Res BlockRunsAdd(BlockRuns runs, uint64_t sequence, uint64_t before, Count count, uint64_t place, Bool loose,
                        Bool behind);

/* BlockRunsHas -- was a block with this number seen? */
extern Bool BlockRunsHas(BlockRuns runs, uint64_t sequence);

/* BlockRunsEvents -- may there have been events in the stream, up to the newest block that was seen? */
extern Bool BlockRunsEvents(BlockRuns runs);

/* BlockRunsCount -- how many events the blocks have that were seen, or so many at least: of those between blocks that
 * were handed over uncounted each has one */
extern uint64_t BlockRunsCount(BlockRuns runs);

/* BlockRunsLast -- the run that has the newest block, or NULL
 * BlockRunsBegins -- the run that begins with a block, or NULL: nothing is missing right before that */
static inline BlockRun BlockRunsLast(BlockRuns runs)
{
  return runs->count > 0 ? &runs->run[runs->count - 1] : NULL;
}
extern BlockRun BlockRunsBegins(BlockRuns runs, uint64_t sequence);

/* BlockRunsBlocks -- how many blocks are missing before a run, behind the one before it or from the beginning on */
static inline uint64_t BlockRunsBlocks(BlockRuns runs, const BlockRunStruct *next)
{
  return next->from - (next > runs->run ? next[-1].to : 0);
}

/* BlockRunsLost -- how many events are missing there
 * returns  whether that is exact; else so many at least: each block that is missing has one */
extern Bool BlockRunsLost(uint64_t *lostReturn, BlockRuns runs, const BlockRunStruct *next);

/* BlockRunsMissing -- is anything missing there?  If so how much, as BlockRunsLost has it
 * loose    earlier blocks of the stream may have been overwritten: but not one that was written */
extern Bool BlockRunsMissing(uint64_t *lostReturn, Bool *exactReturn, BlockRuns runs, const BlockRunStruct *next,
                             Bool loose);

extern void BlockRunsFree(BlockRuns runs);
extern Bool BlockRunsCheck(BlockRuns runs);

#endif /* LOG_BLOCKRUNS_H */
