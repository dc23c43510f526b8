/* selfdrain.h -- sends full blocks from the process itself, where there is no collector or none any more
 *
 * A full block lies in a slot with the state RegionFULL.  These functions send it to the ways out, erase it and free
 * the slot.  Any thread may do so for any block: it claims the slot first (RegionTAKEN).  A block that every way out
 * refuses stays where it is, and is tried again; so does a block with a pending event, which a signal handler has
 * interrupted.  The caller has blocked signals; no lock is taken, and no function waits.
 *
 * Always true: a block is erased after it was sent, not before.  The blocks of a stream are sent in the order of their
 * numbers, except where an event is pending in one: if many wait behind that one, a snapshot of it is sent, and the
 * whole block when the event is filled in.
 *
 * Design: design/telemetry.md .buffer.wait .send, design/collector.md .hand.spoiled
 * Tests: test/emit/emittest.c, test/emit/signaltest.c, test/handover/handovertest.c, test/emit/stray.t
 */
#ifndef EMIT_SELFDRAIN_H
#define EMIT_SELFDRAIN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/emitter.h"

/* SelfDrainBlock -- send the full block in a slot, and free the slot; the stream's older blocks have been sent
 *
 * returns  FALSE: it stays, because an event in it is pending, or no way out takes it
 */
extern Bool SelfDrainBlock(Emitter emitter, Stream stream, Store store, BlockHeader block);

/* SelfDrainBeside -- send a copy of a block, which is about to be handed over to the collector, to the process's own
 * ways out; pending events are counted there as lost */
extern void SelfDrainBeside(Emitter emitter, BlockHeader block, Size used);

/* SelfDrainStream -- send the full blocks of one stream, from the oldest on; the caller owns it
 *
 * stream   NULL: the blocks of all streams
 * number   StreamNumber
 * how      what to do about a block with a pending event
 * returns  FALSE: some stay, and are worth another attempt
 */
typedef enum SelfDrainHow {
  SelfDrainWAIT,   /* leave it and those behind it, as long as they are few */
  SelfDrainHURRY,  /* send a snapshot of it, and go on */
  SelfDrainSETTLE  /* its thread has ended, so send it without the event */
} SelfDrainHow;

extern Bool SelfDrainStream(Emitter emitter, Stream stream, uint32_t number, SelfDrainHow how);

/* SelfDrainAll -- send the full blocks of all streams.  FALSE: some stay. */
extern Bool SelfDrainAll(Emitter emitter, SelfDrainHow how);

/* SelfDrainErase -- erase the blocks of the caller's `count` streams from number `first` on that are not full: the
 * flight recorder is done with them, or their thread has ended
 *
 * except   the block that is being filled, or NULL
 * settle   also blocks in which an event is pending: nobody will fill that in
 * returns  FALSE: some stay
 */
extern Bool SelfDrainErase(Emitter emitter, uint32_t first, uint32_t count, BlockHeader except, Bool settle);

/* SelfDrainPrivate -- are there full blocks in memory that does not outlive the process?  All stores are such where
 * the shared one could not be found (EmitterFound).
 * refused  count only blocks that no thread is sending */
extern Bool SelfDrainPrivate(Emitter emitter, Bool refused);

/* SelfDrainLeft -- the number of events in full blocks of such memory, and of those discarded that no block has
 * reported */
extern uint64_t SelfDrainLeft(Emitter emitter);

/* SelfDrainSnapshot -- send snapshots of the blocks that threads are filling; returns how many events no way out took
 */
typedef enum SelfDrainWhat {
  SelfDrainUNSENT,  /* of all streams, the flight recorder's too */
  SelfDrainPRIVATE, /* of streams that are sent, in memory that does not outlive the process */
  SelfDrainBESIDE   /* of streams that are sent, to the process's own ways out beside its collector */
} SelfDrainWhat;

extern uint64_t SelfDrainSnapshot(Emitter emitter, SelfDrainWhat what);

#endif /* EMIT_SELFDRAIN_H */
