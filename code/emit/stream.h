/* stream.h -- one stream: its cursor and the block that it points into
 *
 * What its owner does to them, with signals blocked or marked as being inside (handover.h); a handler that interrupts may
 * reserve at the cursor and nothing else.
 *
 * Design: design/telemetry.md .buffer      Tests: test/emit/emittest.c, test/emit/signaltest.c
 */
#ifndef EMIT_STREAM_H
#define EMIT_STREAM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/buffer.h"
#include "emit/process.h"

/* StreamKind -- the kind of the events in a stream */
static inline unsigned StreamKind(unsigned stream)
{
#if defined(EventInternKIND)
  return stream == EventStreamDEFINITION ? EventInternKIND : stream;
#else
  return stream == EventStreamDEFINITION ? EventKindDEFINED : stream;
#endif
}

/* StreamAbandon -- mark room that was reserved and will not be filled; what of it lies behind the block's end is not
 * there */
extern void StreamAbandon(Word at, Size size);

/* StreamStart -- make the stream's memory an empty block, say so in its slot, and point the cursor to it */
extern void StreamStart(Process process, Thread thread, unsigned kind, unsigned unsent);

/* StreamLeave -- the owner is done with a block: its header says on which processor */
extern void StreamLeave(BlockHeader block);

/* StreamAlter -- one of these is another one in the header of a block from here on.  Whoever sees that half done, also after a
 * death, does not take the header for spoiled; and what is spoiled stays so. */
extern void StreamAlter(BlockHeader block, Size used, uint64_t before, uint64_t discarded);

/* StreamErase -- no block is here any more, and none of its `used` bytes of events: all zeros.  Its slot says so first. */
extern void StreamErase(RegionHeader region, BlockHeader block, Size used);

/* StreamSize -- how large the next block should be */
extern Size StreamSize(Process process, Stream stream, unsigned kind, unsigned unsent);

/* StreamTakeFrom -- a fresh block of `size` bytes, or smaller where that cannot be had; FALSE: none */
extern Bool StreamTakeFrom(Stream stream, Store store, Size size);

/* StreamReserved -- bytes of the block's events that have been reserved, filled or not; what goes beyond the end is
 * not there */
extern Size StreamReserved(Thread thread, unsigned kind, unsigned unsent);

/* StreamTally -- what a block holds; `settle` if nobody will fill what is pending.  Room that was reserved at the
 * end is pending, too, though nothing that follows tells of it. */
extern void StreamTally(BlockTally tally, BlockHeader block, Size size, Size reserved, Bool settle);

/* StreamTry -- reserve room as EventReserve does, for the stream's owner; 0: full */
extern Word StreamTry(Process process, Thread thread, unsigned kind, unsigned unsent, Size size);

/* StreamHome -- so many of a block's events in private memory need not be counted as lost if the process is killed: they
 * are in the log */
extern void StreamHome(Process process, BlockHeader block, Count count);

/* StreamDepart, StreamArrive -- a block in private memory is about to be written to the log, and is no longer.  Meanwhile the
 * log says whether it is there. */
extern RegionLeaving StreamDepart(Process process, BlockHeader block);
extern void StreamArrive(Process process, BlockHeader block, RegionLeaving leaving, Bool sent);

#endif /* EMIT_STREAM_H */
