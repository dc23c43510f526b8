/* tally.h -- the numbers of a stream's blocks that are there, and so which are missing
 *
 * Blocks may come in any order, and more than once.  What was seen is kept as runs of consecutive numbers, one for a
 * stream of which nothing is missing; so every gap, and by the counts beside it exactly what was in it, is known when
 * all files are scanned.  A block that was handed over uncounted (BlockBeforeUNKNOWN) follows the one with the number
 * before it, and what is missing beside it is known by numbers only.
 *
 * Always true (TallyCheck): from < to in each run; runs rise and do not overlap; runs that touch are joined if no
 * event is missing between them, or if that cannot be known.
 *
 * Design: design/log.md .gap      Tests: test/log/logtest.c
 */
#ifndef LOG_TALLY_H
#define LOG_TALLY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"

enum { TallyRunsMAX = 4096 }; /* gaps of one stream that are told one by one; beyond that they are summed up */

#define TallyUNKNOWN BlockBeforeUNKNOWN

typedef struct TallyRunStruct {
  uint64_t from, to;         /* numbers of the blocks: from the first to one behind the last */
  uint64_t before, after;    /* events of the stream before the first, and up to the end of the last; or TallyUNKNOWN */
  uint64_t last;             /* events of the last block */
  uint64_t place, lastPlace; /* of the first and the last block, as the index has them */
  Bool behind;               /* the block before the first was written, too: BlockFlagBEHIND */
} TallyRunStruct, *TallyRun;

typedef struct TallyStruct {
  Count runs, capacity;
  TallyRun run;              /* owned */
  uint64_t moreBlocks, moreEvents; /* in gaps that are summed up */
} TallyStruct, *Tally;

/* TallyAdd -- a block: its number, the events before it and in it, and where it is
 * loose    `before` counts events that were overwritten, too, so a jump in it is no loss
 * behind   the block before it was written
 * returns  ResMEMORY
 * cost     none that grows with the stream, where blocks come in order */
extern Res TallyAdd(Tally tally, uint64_t sequence, uint64_t before, Count count, uint64_t place, Bool loose,
                    Bool behind);

/* TallyHas -- was a block with this number seen? */
extern Bool TallyHas(Tally tally, uint64_t sequence);

/* TallyEvents -- may there have been events in the stream, up to the newest block that was seen? */
extern Bool TallyEvents(Tally tally);

/* TallyCount -- how many events the blocks have that were seen, or so many at least: of those between blocks that were
 * handed over uncounted each has one */
extern uint64_t TallyCount(Tally tally);

/* TallyLost -- how many events are missing between two runs, `previous` NULL at the beginning
 * returns  whether that is exact; else so many at least: each block that is missing has one */
extern Bool TallyLost(uint64_t *lostReturn, const TallyRunStruct *previous, const TallyRunStruct *next);

/* TallyMissing -- is anything missing between two runs?  If so how much, as TallyLost has it
 * loose    earlier blocks of the stream may have been overwritten: but not one that was written */
extern Bool TallyMissing(uint64_t *lostReturn, Bool *exactReturn, const TallyRunStruct *previous,
                         const TallyRunStruct *next, Bool loose);

/* TallyBehind -- is anything missing right before the block with this number, behind an earlier one?  If so how much,
 * as TallyMissing has it */
extern Bool TallyBehind(uint64_t *lostReturn, Bool *exactReturn, Tally tally, uint64_t sequence, Bool loose);

extern void TallyFree(Tally tally);
extern Bool TallyCheck(Tally tally);

#endif /* LOG_TALLY_H */
