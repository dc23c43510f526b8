/* tally.h -- which blocks of a stream there are, and so which are missing
 *
 * Blocks may come in any order, and more than once.  What was seen is kept as runs of consecutive numbers, one for a
 * stream of which nothing is missing; so every gap, and by the counts beside it exactly what was in it, is known when
 * all files are scanned.
 *
 * Always true (TallyCheck): from < to in each run; runs rise and do not overlap; runs that touch are joined if no
 * event is missing between them.
 *
 * Design: design/log.md .gap      Tests: test/logtest.c
 */
#ifndef LOG_TALLY_H
#define LOG_TALLY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { TallyRunsMAX = 4096 }; /* gaps of one stream that are told one by one; beyond that they are summed up */

typedef struct TallyRunStruct {
  uint64_t from, to;         /* numbers of the blocks: from the first to one behind the last */
  uint64_t before, after;    /* events of the stream before the first, and up to the end of the last */
  uint64_t place, lastPlace; /* of the first and the last block, as the index has them */
} TallyRunStruct, *TallyRun;

typedef struct TallyStruct {
  Count runs, capacity;
  TallyRun run;              /* owned */
  uint64_t moreBlocks, moreEvents; /* in gaps that are summed up */
} TallyStruct, *Tally;

/* TallyAdd -- a block: its number, the events before it and in it, and where it is
 * loose    `before` counts events that were overwritten, too, so a jump in it is no loss
 * returns  ResMEMORY
 * cost     none that grows with the stream, where blocks come in order */
extern Res TallyAdd(Tally tally, uint64_t sequence, uint64_t before, Count count, uint64_t place, Bool loose);

extern void TallyFree(Tally tally);
extern Bool TallyCheck(Tally tally);

#endif /* LOG_TALLY_H */
