/* collectorsocket.h -- messages to the collector: a request for a region, a note that a program is about to be run, a
 * call to wake up
 *
 * A request goes to the socket that the environment names, and its answer counts only if the kernel says that it is
 * from root or from our own effective user.  All other messages go to the socket that has answered so, not to the name,
 * which any process can take when the collector is dead.  Each message is a datagram.  A process waits for the answer
 * to a request, and for room in the collector's queue for a note: a second at most, and only if no process of the
 * family has just waited in vain.
 *
 * Design: design/collector.md .meet, .meet.still, .wake      Tests: test/handover/handovertest.c,
 * test/handover/still.t, test/collect/collect.t
 */
#ifndef HANDOVER_COLLECTORSOCKET_H
#define HANDOVER_COLLECTORSOCKET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "emit/control.h"
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

/* How many bytes of such an entry tell whether it is ours, at most. */
enum {
  CollectorSocketOURS = sizeof RegionVARIABLE + 16 + sizeof ControlSettings.collector + sizeof ControlSettings.token
};

/* CollectorSocketOurs -- does this entry of an environment, RegionVARIABLE and its value, name our collector?  TRUE
 * also if `length` bytes are too few to tell. */
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

/* CollectorSocketStarts -- a program is about to be started, and its note is sent only after that: leave it the
 * descriptors that it cannot ask for, as CollectorSocketNote does
 * collected  the process's region says that the collector lives: then this takes one system call, usually; else two
 *            more */
extern void CollectorSocketStarts(unsigned lack, Bool collected);

/* CollectorSocketLibrary -- tell the collector of a library that does not, or would not, get malloc from us
 * note      RegionNoteBEFORE, RegionNoteDEEP or RegionNoteSHALLOW
 * identity  of the calling process; CollectorSocketNamed */
extern void CollectorSocketLibrary(unsigned note, uint64_t identity, const char *library);

/* CollectorSocketLost -- tell the collector, if there is one, that so many events of the process end with it.  FALSE:
 * it does not know. */
extern Bool CollectorSocketLost(uint64_t events);

/* CollectorSocketGone -- is the collector of the region dead?  A message that wakes it is sent, which the socket of a
 * dead collector refuses.  If that socket could not be kept, the collector counts as dead if no process has its name or
 * its number.  Waits for nothing. */
extern Bool CollectorSocketGone(RegionHeader region);

/* CollectorSocketWake -- wake the collector if it sleeps; else this costs one load.  If its socket could not be kept
 * the message goes to its name, whoever has that: it contains nothing. */
extern void CollectorSocketWake(RegionHeader region);

#endif /* HANDOVER_COLLECTORSOCKET_H */
