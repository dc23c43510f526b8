/* selfdrain.h -- sends full blocks from the process itself, where there is no collector or none any more
 *
 * A full block is one in a slot that says RegionFULL; this takes it to the ways out, erases it and frees the slot.  Any
 * thread may do it for any block: it claims the slot first (RegionTAKEN).  What a way out refuses stays where it is,
 * and is tried again; so does a block in which an event is pending, because a signal handler has interrupted it.
 * Signals are blocked, nothing is locked, nobody is waited for.
 *
 * Always true: a block is erased when it is sent, not before; the blocks of a stream are sent in order of their
 * numbers, but for one in which something is pending: if many wait behind it, what it holds is sent as a snapshot, and
 * the whole of it when that is filled in.
 *
 * Design: design/telemetry.md .buffer.wait .send, design/collector.md .hand.spoiled
 * Tests: test/emit/emittest.c, test/emit/signaltest.c, test/emit/handovertest.c, test/emit/stray.t
 */
#ifndef EMIT_SELFDRAIN_H
#define EMIT_SELFDRAIN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/process.h"

/* SelfDrainBlock -- send the full block in a slot, and free the slot; the stream's others have been sent
 *
 * returns  FALSE: it stays, because something in it is pending, or no way out takes it
 */
extern Bool SelfDrainBlock(Process process, Stream stream, Store store, BlockHeader block);

/* SelfDrainBeside -- send a copy of a block that is about to be handed over to the collector to the ways out that the process
 * has beside it; what in it is pending is counted there as lost */
extern void SelfDrainBeside(Process process, BlockHeader block, Size used);

/* SelfDrainStream -- send the full blocks of one stream, in order; by its owner
 *
 * number   StreamNumber
 * how      what to do about a block in which something is pending
 * returns  FALSE: some stay, and are worth another look
 */
typedef enum SelfDrainHow {
  SelfDrainWAIT,   /* leave it, and those behind it, as long as they are few */
  SelfDrainHURRY,  /* send a snapshot of it, and go on */
  SelfDrainSETTLE  /* nobody will fill that in: the thread has ended */
} SelfDrainHow;

extern Bool SelfDrainStream(Process process, Stream stream, uint32_t number, SelfDrainHow how);

/* SelfDrainAll -- send whatever is full, of whatever stream.  FALSE: some stay. */
extern Bool SelfDrainAll(Process process, SelfDrainHow how);

/* SelfDrainOverwrite -- erase the blocks of a stream of the flight recorder that are done with, unless something in them is
 * pending
 *
 * except   the stream's block that is being filled, or NULL
 * returns  FALSE: some stay
 */
extern Bool SelfDrainOverwrite(Process process, uint32_t number, BlockHeader except);

/* SelfDrainForget -- erase all blocks of the thread with this serial number that are not full: it has ended */
extern void SelfDrainForget(Process process, uint32_t serial);

/* SelfDrainPrivate -- are there full blocks in private memory, which does not outlive the process?  That are all of its stores, where
 * nobody finds the shared one (ProcessFound).
 * refused  only such that nobody is sending */
extern Bool SelfDrainPrivate(Process process, Bool refused);

/* SelfDrainLeft -- how many events are in full blocks of private memory, and were discarded beside them */
extern uint64_t SelfDrainLeft(Process process);

/* SelfDrainSnapshot -- send what threads have committed in blocks that they are filling, and leave them; returns how many
 * events no way out took */
typedef enum SelfDrainWhat {
  SelfDrainUNSENT,  /* the flight recorder's blocks, too */
  SelfDrainPRIVATE, /* of private memory, which does not outlive the process, those of streams that are sent */
  SelfDrainBESIDE   /* those of streams that are sent, to the ways out that the process has beside its collector */
} SelfDrainWhat;

extern uint64_t SelfDrainSnapshot(Process process, SelfDrainWhat what);

#endif /* EMIT_SELFDRAIN_H */
