/* missing.h -- what a log lacks: blocks between those that are there, and behind them
 *
 * When the files are scanned, gaps in the numbering of the streams' blocks are known (blockruns.h), and so is what
 * closing header blocks say that there should be.  A gap that lies at a damaged region (damage.h) is the region's loss,
 * told with its place; the others are told with the place of the block behind them, or, at the end, before them.
 *
 * Design: design/log.md .gap .check      Tests: test/log/logbadtest.c, test/log/badlog.t, test/log/endtest.c
 */
#ifndef LOG_MISSING_H
#define LOG_MISSING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/damage.h"
#include "log/table.h"

/* MissingDropped -- what was cut away from the logs on purpose, all in all; FALSE if nothing was.  *processReturn is
 * the one whose clock tells until when. */
extern Bool MissingDropped(Dropped droppedReturn, Process *processReturn, Table table);

/* MissingOlder -- how many events at least of a stream of which only the newest were to be kept are not there; 0: it is
 * none */
extern uint64_t MissingOlder(LogStream stream);

/* MissingTell -- all files are scanned: tell of everything that is missing
 * growing  but not of ends, which are to come: whoever finds that nobody writes any more tells of those
 * (MissingEnds) */
extern void MissingTell(Reporter reporter, DamagedRanges regions, Table table, Bool growing);

/* MissingBehind -- a block with this number came: tell what of its stream is missing before it */
extern void MissingBehind(Reporter reporter, DamagedRanges regions, LogStream stream, uint64_t sequence);

/* MissingEnds -- tell what is missing at the end of processes' parts, by their closing header blocks; FALSE if it is
 * not known of all processes that nothing is, there */
extern Bool MissingEnds(Reporter reporter, DamagedRanges regions, Table table);

/* MissingDiscarded -- what was discarded in each process's streams, as its closing header blocks say: also in those of
 * which no block is there (`unseen`) */
extern void MissingDiscarded(Table table);

#endif /* LOG_MISSING_H */
