/* control.h -- changing what a running process records, and asking things of it, through its region
 *
 * The control table is the process's own: its annotations read it with each event, so a change costs them nothing and
 * holds from the next event on.  What is asked is done by the process at its next event, or by its collector.
 *
 * Several at a time may do this: bits are changed one by one, atomically.
 *
 * Design: design/collector.md .control      Tests: test/eventctl.t
 */
#ifndef COLLECT_CONTROL_H
#define COLLECT_CONTROL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "collect/live.h"

/* LiveSent, LiveBuffered -- the kinds that are sent, and those that the flight recorder keeps when they are not */
extern uint32_t LiveSent(Live live);
extern uint32_t LiveBuffered(Live live);

/* LiveSend -- have these kinds sent, and no others.  Where one is switched on the process first tells what already
 * is. */
extern void LiveSend(Live live, uint32_t kinds);

/* LiveBuffer -- have the flight recorder keep these kinds while they are not sent, and no others */
extern void LiveBuffer(Live live, uint32_t kinds);

/* LiveAsk -- ask for RegionAskX; does not wait */
extern void LiveAsk(Live live, uint32_t what);

/* LiveWake -- call the process's collector, which looks no more often than every tenth of a second if nobody does;
 * without an answer, and without a word if it cannot be reached */
extern void LiveWake(Live live);

/* LiveWait -- until everything in `what` that was asked for is done, `ms` milliseconds at most; FALSE: it is not */
extern Bool LiveWait(Live live, uint32_t what, unsigned ms);

#endif /* COLLECT_CONTROL_H */
