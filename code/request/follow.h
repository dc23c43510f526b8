/* follow.h -- reads a log while it is written
 *
 * What stands in the log is read as ever; then its end is looked at again and again, and what comes is merged into the
 * same pass: an event is delivered a quarter of a second after its block came, or sooner if later events have waited
 * that long; so streams have time to catch up with each other.  What comes later still is delivered at once, behind
 * later events, and counted.  A lock (flock, shared) on the log tells its writer that a reader follows, so that blocks
 * which fill slowly come in part, as snapshots; each event of these is delivered once.
 *
 * Design: design/log.md .follow      Tests: test/request/followtest.c, test/request/follow.t
 */
#ifndef REQUEST_FOLLOW_H
#define REQUEST_FOLLOW_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/request.h"

/* Called whenever there is nothing to be delivered for a moment: time to flush output.  TRUE ends the following. */
typedef struct LogIdleStruct {
  Bool (*idle)(void *data);
  void *data;
} LogIdleStruct, *LogIdle;

/* LogFollowOpen -- open a log in order to follow it, as LogOpen does
 *
 * Waits, calling idle, until the log has an event and those written at the same time are there, or until nobody
 * writes to it.  The first pass over it then goes on until all processes of the log have ended and nothing more comes,
 * until its requests have all they asked for, or until idle or a hook ends it.  That the file was cut short or replaced
 * is told as a gap, and ends it; so is damage, where it lies.  Times are by the relation of clocks that is known now.
 * ResPARAM: it is no file that could grow.  ResEND: idle ended it before anything came.
 */
extern Res LogFollowOpen(Log *logReturn, const char *path, LogHooks hooks, const LogIdleStruct *idle, char *error,
                         Size size);

#endif /* REQUEST_FOLLOW_H */
