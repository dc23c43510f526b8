/* hand.h -- full blocks to the collector, and empty ones from it
 *
 * While a collector drains the region a full block changes hands by a store into its slot's state, and an empty one is
 * had by a compare-and-swap: no lock, no system call unless the collector sleeps or memory was never used before.
 * Signals need not be blocked for that: the thread is marked as `inside`, and handlers that interrupt it then have
 * their events put into a second state of the thread.
 *
 * Always true: pool.full >= the number of slots that are full; a free slot's memory is zero.
 *
 * Design: design/collector.md .hand, .death, .wake, .policy      Tests: test/handtest.c, test/collect.t
 */
#ifndef EMIT_HAND_H
#define EMIT_HAND_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/buffer.h"
#include "emit/process.h"

enum { HandNOROOM = 1 }; /* no address of an event */

/* HandReserve -- room for an event in a block of a stream that is sent, changing blocks if need be, with signals let
 * through; 0: it takes the slow way; HandNOROOM: it is discarded, and counted
 *
 * at, size  room at the cursor that was reserved, and was not enough, or 0; given up
 * cost      of a change: some hundred ns; no system call unless the collector sleeps
 */
extern Word HandReserve(Thread thread, unsigned kind, Size size, Word at);

/* HandChange -- hand over the stream's block, if it has one, and give it an empty one.  FALSE: there is no room.  With
 * signals blocked, or inside. */
extern Bool HandChange(Process process, Thread thread, unsigned kind);

/* HandLast -- hand over the stream's block; none follows.  Also where nothing was done since. */
extern void HandLast(Process process, Thread thread, unsigned kind);

/* HandDiscard -- an event found no room: count it where it survives us, and do what the policy says.  TRUE: wait for
 * room, with HandWait, and try again. */
extern Bool HandDiscard(Process process, Thread thread, unsigned kind);

/* HandWait -- until the collector has freed a block, or is gone, or a moment has passed.  Signals are let through. */
extern void HandWait(Process process);

/* HandFlush -- have the collector write what all blocks hold; waits for it, a second at most.  FALSE: it did not. */
extern Bool HandFlush(Process process);

/* HandCheck -- has the collector died, or let go?  Then the process sends by itself, and what was handed over goes
 * first.  Signals are blocked, nothing is locked. */
extern void HandCheck(Process process);

#endif /* EMIT_HAND_H */
