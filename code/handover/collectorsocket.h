/* collectorsocket.h -- words to the collector: a request for a region, a note that a program is about to be run, a call to
 * wake up
 *
 * A request goes to the socket that the environment names, and its answer counts only if the kernel says that it is from
 * root or from our own effective user.  All other words go to the socket that has so answered, not to the name, which is
 * anybody's once the collector is gone.  Each is a datagram.  A request waits for its answer, and a note
 * for room in the collector's queue: a second at most, and only if nobody of the family has waited in vain just now
 * (handover/collectorstill.h).
 *
 * Design: design/collector.md .meet, .wake      Tests: test/emit/handovertest.c, test/collect/collect.t
 */
#ifndef HANDOVER_COLLECTORSOCKET_H
#define HANDOVER_COLLECTORSOCKET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "emit/process.h"

/* What the collector answers: `count` descriptors, in the order of RegionGrantX; -1 for one that was taken. */
typedef struct HandGrantStruct {
  RegionGrantStruct answer;
  Count count;
  int fd[RegionGrantMAX];
} HandGrantStruct, *HandGrant;

/* HandMeet -- ask the collector that the environment names for a region
 *
 * grantReturn  its descriptors are the caller's: HandGrantDrop
 * returns      FALSE if it cannot be reached, does not answer, is another user's, or takes no more processes: the
 *              process sends by itself
 */
extern Bool HandMeet(Process process, HandGrant grantReturn);

/* HandGrantDrop -- close what is left of its descriptors */
extern void HandGrantDrop(HandGrant grant);

/* HandGrantLog -- keep the log's descriptor, if there is one, out of the program's way.  HandLogTake -- make it, or the
 * one that the program before this one has left, a way out, for a process whose collector is gone: also one that may not
 * open the log itself, or finds another file at its `place`.  FALSE: there is none. */
extern void HandGrantLog(HandGrant grant);
extern Bool HandLogTake(Plinth plinthReturn, const char *place);

/* HandLog -- the log that the collector has given us, for what it cannot take; NULL: none */
extern Plinth HandLog(void);

/* HandListened -- does the environment name a collector? */
extern Bool HandListened(void);

/* HandOurs -- does such an entry of an environment, RegionVARIABLE and its value, name the collector that we have?  Where
 * `length` bytes of it are too few to tell it does. */
extern Bool HandOurs(const char *entry, Size length);

/* HandNote -- tell the collector, if there is one, that the calling process is about to become a program, that it stays
 * what it is, or that it has started one
 *
 * note   RegionNote...
 * path   as exec has it; a name without a slash is looked for in PATH
 * lack   what is missing in the environment that the program is given: RegionLack...
 * child  the process that was started; else 0
 * Also in a child of vfork.  A few us; errno is kept.  Who cannot be told cannot be asked for the log either: then the
 * program has its descriptor from us, unless it lacks something.  Who can be told, but has no name here (another
 * network namespace), can be asked by our socket: that the program has from us then. */
extern void HandNote(unsigned note, const char *path, unsigned lack, pid_t child);

/* HandStarts -- a program is about to be started, and only then will there be a note of it: it has from us what it cannot
 * ask for, as with HandNote
 * collected  the process's region says that the collector is there: one system call, usually; else two more */
extern void HandStarts(unsigned lack, Bool collected);

/* HandBefore -- tell the collector which library comes before ours, and has a malloc
 * identity  of the calling process; HandListened */
extern void HandBefore(uint64_t identity, const char *library);

/* HandLost -- tell the collector, if there is one, that so many events of the process end with it.  FALSE: it does not know. */
extern Bool HandLost(uint64_t events);

/* HandGone -- is the collector of the region dead?  It is sent a call to wake up, which a dead one's socket refuses; where that
 * could not be kept nobody must have its name, nor its number.  Nothing is waited for. */
extern Bool HandGone(RegionHeader region);

/* HandWake -- let the collector know that there is something to do, if it sleeps; else one load.  Where its socket could not
 * be kept, by its name: that tells nobody anything. */
extern void HandWake(RegionHeader region);

#endif /* HANDOVER_COLLECTORSOCKET_H */
