/* socket.h -- plinths over stream sockets: "tcp:HOST:PORT[,keep=SIZE]" and "unix:PATH[,keep=SIZE]"
 *
 * Inside other people's programs, so nothing here waits: what the system does not take at once is kept, in memory
 * that is mapped when the plinth is opened, and goes out with later messages; a message that finds no room there is
 * refused, which its sender counts.  Nothing is done between messages: there is no thread of ours.
 *
 * All state lies in one mapping that fork leaves zeroed; who finds it zeroed has a link of its own to begin.  Only the
 * descriptor, which a child inherits, is in the PlinthStruct.
 *
 * Design: design/collector.md .out      Tests: test/plinth/sockettest.c
 */
#ifndef PLINTH_SOCKET_H
#define PLINTH_SOCKET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "plinth/clock.h"
#include "plinth/link.h"
#include "plinth/plinth.h"
#include "plinth/resendqueue.h"

enum {
  SocketKeepMIN = 256 << 10,       /* bytes: one message of any size fits */
  SocketKeepDEFAULT = 4 << 20,
  SocketRequestsMAX = 8,           /* that wait to be received; more are lost */
  SocketGreetingMAX = 1 << 20      /* bytes of a hello and a header block */
};

typedef enum SocketPhase { SocketDOWN, SocketDIALING, SocketUP } SocketPhase;

/* The state of a plinth.  Whoever reads or changes anything here holds the lock.
 *
 * Always true (SocketCheck):
 *   greeted <= greetingLength; lineLength <= LinkLineMAX; at most SocketRequestsMAX requests wait
 *   header blocks are 0 and 1, and have, with a hello, SocketGreetingMAX bytes at most
 *   while there is no connection (SocketDOWN) the plinth has no descriptor
 */
typedef struct SocketStruct {
  unsigned lock;                   /* RawLock */
  uint32_t pid;                    /* the process whose link this is; 0: it has not begun */
  Bool wiped;                      /* zeroed in a forked child; `pid` shows it where the kernel cannot do that */
  uint64_t link;                   /* random */
  SocketPhase phase;
  Bool obeyed;                     /* the receiver's requests are */
  Bool local;                      /* a UNIX socket */
  uint64_t retry;                  /* ms, monotonic: no attempt to connect before */
  unsigned delay;                  /* ms, between attempts; grows */
  Size greeted;                    /* bytes of hello and header block that went out on this connection */
  Index greeting;                  /* the header block that goes, or went, with the hello */
  Size greetingLength;             /* of hello and header block together; 0: nothing has been greeted yet */
  Index newest;                    /* the newest header block */
  Size headerLength[2];
  char line[LinkLineMAX + 1];      /* from the receiver, as far as it has come */
  Size lineLength;
  unsigned requests, received;     /* counted */
  char request[SocketRequestsMAX][LinkLineMAX + 1];
  ResendQueueStruct keep;
} SocketStruct, *Socket;

/* SocketCheck -- of an open plinth of this class, whose lock the caller has */
extern Bool SocketCheck(Plinth plinth);

/* SocketNow -- ms of the monotonic clock */
static inline uint64_t SocketNow(void)
{
  return EventClockMonotonic() / 1000000;
}

#endif /* PLINTH_SOCKET_H */
