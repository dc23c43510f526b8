/* collectorsocket.h -- messages to the collector: a request for a region, a note that a program is about to be run, a
 * call to wake up
 *
 * A request goes to the socket that the environment names, and its answer counts only if the kernel says that it is
 * from root or from our own effective user.  All other messages go to the socket that has so answered, not to the name,
 * which any process can have once the collector is dead.  Each is a datagram.  A request waits for its answer, and a
 * note for room in the collector's queue: a second at most, and only if nobody of the family has waited in vain just
 * now.
 *
 * Design: design/collector.md .meet, .meet.still, .wake      Tests: test/emit/handovertest.c, test/emit/still.t,
 * test/collect/collect.t
 */
#ifndef HANDOVER_COLLECTORSOCKET_H
#define HANDOVER_COLLECTORSOCKET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "emit/emitter.h"
#include "handover/collectorgrant.h"

/* CollectorSocketMeet -- ask the collector that the environment names for a region
 *
 * grantReturn  its descriptors are the caller's: GrantDrop
 * returns      FALSE if it cannot be reached, does not answer, is another user's, or takes no more processes: the
 *              process sends by itself
 */
extern Bool CollectorSocketMeet(Emitter emitter, Grant grantReturn);

/* CollectorSocketNamed -- does the environment name a collector? */
extern Bool CollectorSocketNamed(void);

/* CollectorSocketOurs -- does such an entry of an environment, RegionVARIABLE and its value, name the collector that we
 * have?  Where `length` bytes of it are too few to tell it does. */
extern Bool CollectorSocketOurs(const char *entry, Size length);

/* CollectorSocketNote -- tell the collector, if there is one, that the calling process is about to become a program,
 * that it stays what it is, or that it has started one
 *
 * note   RegionNote...
 * path   as exec has it; a name without a slash is looked for in PATH
 * lack   what is missing in the environment that the program is given: RegionLack...
 * child  the process that was started; else 0
 * Also in a child of vfork.  A few us; errno is kept.  If the collector cannot be told, the program cannot ask
 * it for the log either: then the program inherits the log's descriptor from us, unless it lacks something.  If the
 * collector can be told, but has no name here (another network namespace), the program inherits our socket, and can ask
 * by that. */
extern void CollectorSocketNote(unsigned note, const char *path, unsigned lack, pid_t child);

/* CollectorSocketStarts -- a program is about to be started, and only then will there be a note of it: it has from us
 * what it cannot ask for, as with CollectorSocketNote
 * collected  the process's region says that the collector is there: one system call, usually; else two more */
extern void CollectorSocketStarts(unsigned lack, Bool collected);

/* CollectorSocketBefore -- tell the collector which library comes before ours, and has a malloc
 * identity  of the calling process; CollectorSocketNamed */
extern void CollectorSocketBefore(uint64_t identity, const char *library);

/* CollectorSocketLost -- tell the collector, if there is one, that so many events of the process end with it.  FALSE:
 * it does not know. */
extern Bool CollectorSocketLost(uint64_t events);

/* CollectorSocketGone -- is the collector of the region dead?  It is sent a call to wake up, which a dead one's socket
 * refuses; where that could not be kept nobody must have its name, nor its number.  Nothing is waited for. */
extern Bool CollectorSocketGone(RegionHeader region);

/* CollectorSocketWake -- let the collector know that there is something to do, if it sleeps; else one load.  Where its
 * socket could not be kept, by its name: that tells nobody anything. */
extern void CollectorSocketWake(RegionHeader region);

#endif /* HANDOVER_COLLECTORSOCKET_H */
