/* sentcounts.h -- what this process has sent of each of its streams: its last header block says so, and readers find out
 * what is missing
 *
 * A table that all threads write to without a lock; streams are never taken out of it.  Where it is full, further
 * streams are not in it, and nobody expects anything of them.
 *
 * Always true: a stream has one entry at most.
 *
 * Design: design/telemetry.md .send.end, design/format.md .end      Tests: test/emit/emittest.c, test/plinth/several.t
 */
#ifndef EMIT_SENTCOUNTS_H
#define EMIT_SENTCOUNTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"
#include "emit/process.h"

/* SentPrepare -- have memory for the table; before the first block goes out.  Without memory nothing is in it. */
extern void SentPrepare(Process process);

/* SentNote -- a whole block of this process went out
 *
 * block  its header, sealed
 * ways   bits: to which of ProcessPlinths it was offered
 */
extern void SentNote(Process process, BlockHeader block, unsigned ways);

/* SentIs -- is the stream's newest block that was sent by this process the one with this number? */
extern Bool SentIs(Process process, uint32_t stream, uint64_t sequence);

/* SentLost -- a block of a stream will never go out: how many of the events that it says were discarded nobody has been
 * told of.  They count as told from then on. */
extern uint64_t SentLost(Process process, uint32_t stream, uint64_t discarded);

/* SentStreams -- how many streams the last header block for one way out tells of: all, or where the way was opened late,
 * those of which a block was offered to it.  ProcessPlinthsMAX: all. */
extern Count SentStreams(Process process, Index way);

/* SentWrite -- append their lines to a header block
 *
 * from     0, or where the previous header block ended
 * returns  where this one ends; 0: no stream is left
 */
extern Index SentWrite(Text text, Process process, Index way, Index from);

#endif /* EMIT_SENTCOUNTS_H */
