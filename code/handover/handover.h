/* handover.h -- what becomes of a stream's block when it is full, and where the next one comes from
 *
 * A full block is handed over: the thread stores RegionFULL into the state of its slot.  If a collector drains the
 * region, the block is the collector's from then on.  The thread takes an empty slot by one compare-and-swap.  It takes
 * no lock, and makes no system call unless the collector sleeps or the slot's memory was never used before.  Signals
 * are not blocked: the thread is marked as `inside`, and events of handlers that interrupt it there go into a second
 * state of the thread.  Without a collector the thread sends its full blocks itself (emit/selfdrain.h), at once if it
 * can.
 *
 * Always true: pool.full >= the number of slots that are full and of which no snapshot was sent; a free slot's memory
 * is zero.
 *
 * Design: design/collector.md .hand, .death, .wake, .policy, design/telemetry.md .buffer.wait
 * Tests: test/handover/handovertest.c, test/emit/emittest.c, test/collect/collect.t
 */
#ifndef HANDOVER_HANDOVER_H
#define HANDOVER_HANDOVER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/stream.h"
#include "emit/emitter.h"

enum {
  HandoverNOROOM = 1,          /* no address of an event */
  HandoverPATIENCE = 30000000  /* ticks without room, some 10 ms, after which events are discarded at once */
};

/* HandoverReserve -- room for an event in a block of a stream that is sent; signals stay unblocked.  If need be the
 * block is changed, provided that a collector drains them.
 *
 * at, size  room that was reserved at the cursor and was too small, which is given up here; or 0
 * returns   0: the event must take the slow way; HandoverNOROOM: it is discarded, and counted
 * cost      of a change: some hundred ns; no system call unless the collector sleeps
 */
extern Word HandoverReserve(Thread thread, unsigned kind, Size size, Word at);

/* HandoverChange -- hand over the stream's block, if it has one, and give the stream an empty one.  A block of the
 * flight recorder is erased instead.  FALSE: there is no room.  With signals blocked, or inside. */
extern Bool HandoverChange(Emitter emitter, Thread thread, unsigned kind, unsigned unsent);

/* HandoverLast -- hand over the block of a stream that is sent; none follows.  Also where nothing was done since.
 * final  nobody will fill what is reserved: the thread has ended, or its process ends */
extern void HandoverLast(Emitter emitter, Thread thread, unsigned kind, Bool final);

/* HandoverShow -- send the block of a stream of the flight recorder; the stream gets no other block.  The block stays
 * if an event in it is pending, or if no way out takes it. */
extern void HandoverShow(Emitter emitter, Thread thread, unsigned kind, Bool final);

/* HandoverDiscard -- an event found no room: count it in memory that outlives the process, and do what the policy says.
 * TRUE: wait for room, with HandoverWait, and try again. */
extern Bool HandoverDiscard(Emitter emitter, Thread thread, unsigned kind, unsigned unsent);

/* HandoverWait -- wait until the collector has freed a block, or is dead, or a moment has passed.  Signals are let
 * through. */
extern void HandoverWait(Emitter emitter);

/* HandoverFlush -- have the collector write what all blocks hold; waits for it, a second at most.  FALSE: it did
 * not. */
extern Bool HandoverFlush(Emitter emitter);

/* HandoverPoll -- has the collector died, or let go?  Then the process sends by itself, and what was handed over goes
 * first.  Signals are blocked, nothing is locked. */
extern void HandoverPoll(Emitter emitter);

/* HandoverCollected -- are blocks of this store the collector's when they are full? */
static inline Bool HandoverCollected(Emitter emitter, Store store)
{
  return store == &emitter->shared && EmitterCollected(emitter);
}

/* No room (policy.c).
 *
 * PolicyRefuses -- has there been no room for some time, and is there none now?  Then an event is discarded at once,
 *   because looking for room costs a hundred times as much, and more without a collector.  In the first moments room is
 *   looked for: a collector that is only late will make some.
 * PolicyVain -- has no thread found room for a second, although no block is full, so that no block will be freed?  Then
 *   the system gives no memory.
 * PolicyBarred -- has the collector drained nothing for a second, and do the process's own ways out refuse blocks, too?
 *   Then the disk is full, until room is found again.
 * PolicyDoubt -- there is no room now, and a collector should make some: ask it, once a second at most, whether it
 *   lives.  The kernel cannot report its death if another process of the family has written over the list that the
 *   kernel goes by.  A few us; waits for nothing.
 * PolicyChanged -- remember since when there has been no room, for this thread and for all; returns whether there was
 *   room */
extern Bool PolicyRefuses(Emitter emitter, Thread thread, Stream stream);
extern Bool PolicyVain(Emitter emitter, RegionHeader region);
static inline Bool PolicyBarred(Emitter emitter)
{
  return __atomic_load_n(&emitter->barred, __ATOMIC_RELAXED);
}
extern void PolicyDoubt(Emitter emitter, RegionHeader region);
extern Bool PolicyChanged(Emitter emitter, Thread thread, Bool changed);

/* Full blocks: how many there may be, and which is forgotten where the newest are kept (policy.c).  A block that may be
 * overwritten has a ticket, which no other block has had, and all others have 0. */

/* PolicyRoom -- may one more block of this kind be full?  Then it is counted.  If need be, and if the policy permits
 * it, the oldest full block is overwritten. */
extern Bool PolicyRoom(RegionHeader region, unsigned kind);

/* PolicyOverwrite -- forget the oldest full block of a frequent kind, if the policy says so.  FALSE: there is none;
 * TRUE also if another thread was quicker, or the block stays. */
extern Bool PolicyOverwrite(RegionHeader region);

/* PolicyGive -- the slot of the block says that it is full, from here on.  It has been counted.
 *
 * used     bytes of it that are reserved
 * pending  something in it may still have to be filled in: it is looked at before it is overwritten
 */
extern void PolicyGive(RegionHeader region, BlockHeader block, Size used, Bool pending);

#endif /* HANDOVER_HANDOVER_H */
