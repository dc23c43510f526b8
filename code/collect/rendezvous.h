/* rendezvous.h -- the collector's end of the socket at which recorded processes ask for shared memory (a region)
 *
 * An abstract datagram socket with a random name; the process's end is handover/collectorsocket.h.  A process must know
 * the token, which it has with the name from PAWPRINT_RECORDING in its environment, and must be of our user, unless we
 * are root.  A request brings a socket for the answer; any other descriptor that it brings is closed.
 *
 * Design: design/collector.md .meet      Tests: test/collect/rendezvoustest.c, test/collect/collecttest.c
 */
#ifndef COLLECT_RENDEZVOUS_H
#define COLLECT_RENDEZVOUS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"
#include "format/region.h"

enum { RendezvousNameMAX = 32 };

typedef struct RendezvousSocketStruct {
  int fd;                      /* -1: there is none */
  char name[RendezvousNameMAX];      /* of the abstract socket, without the NUL in front */
  char token[RegionTokenMAX];
} RendezvousSocketStruct, *RendezvousSocket;

typedef enum RendezvousKind {
  RendezvousNOTHING, /* no datagram is there */
  RendezvousOTHER,   /* to wake us, or not to be believed */
  RendezvousPROCESS, /* a process that wants a region; or is there, and has no descriptors for an answer */
  RendezvousNOTE     /* of a program: request.note */
} RendezvousKind;

typedef struct RendezvousMessageStruct {
  RegionMeetStruct request;    /* its strings are terminated */
  int fd;                      /* where the answer of RendezvousPROCESS goes; the receiver's to close; -1: nowhere */
  pid_t pid;                   /* the sender's, as we number it */
  uid_t uid;
} RendezvousMessageStruct, *RendezvousMessage;

/* RendezvousOpen -- make the socket; close-on-exec.  ResIO: errno says why. */
extern Res RendezvousOpen(RendezvousSocket socketReturn);

extern void RendezvousClose(RendezvousSocket socket);

/* RendezvousReceive -- the next datagram; never waits */
extern RendezvousKind RendezvousReceive(RendezvousMessage messageReturn, RendezvousSocket socket);

/* RendezvousDrop -- close a descriptor that a process has sent; -1: there is none.  Closing a socket does not wait
 * until the other side has received its data. */
extern void RendezvousDrop(int fd);

/* RendezvousWaits -- does a process still have the other end of this socket, by which it would get an answer?  FALSE
 * for -1. */
extern Bool RendezvousWaits(int fd);

/* RendezvousAnswer -- send the answer with these descriptors, which stay the caller's; never waits.  If the system
 * permits it the answer names the asking user as its sender, else our own.  ResIO: it cannot be delivered. */
extern Res RendezvousAnswer(int fd, const RegionGrantStruct *answer, const int *fds, Count count);

#endif /* COLLECT_RENDEZVOUS_H */
