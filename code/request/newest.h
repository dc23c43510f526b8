/* newest.h -- the newest events of each kind in a log that has only the last blocks of each stream
 *
 * A thread has two streams of each kind: what it sends, and what its flight recorder keeps.  Older events of a stream
 * may be missing, and then those of the other stream alone would give a wrong picture of that time.  So an event is
 * taken only if both streams of its thread and kind are whole from there on.
 *
 * Design: design/collector.md .control      Tests: test/end/eventctl.t
 */
#ifndef REQUEST_NEWEST_H
#define REQUEST_NEWEST_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/request.h"

/* NewestRead -- call `hook` for the newest events of a log, in order
 *
 * processes  events of the log's first processes only, which are so many
 * newest     so many events of each kind of a process
 * addr       only those that have this address; 0: all
 * data       for the hook, in its request
 * returns    as LogRead; ResMEMORY
 * cost       three passes over the log */
extern Res NewestRead(Log log, Count processes, Count newest, uint64_t addr, PawEventHook hook, void *data);

#endif /* REQUEST_NEWEST_H */
