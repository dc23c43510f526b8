/* socket.h -- plinths over stream sockets: "tcp:HOST:PORT[,keep=SIZE]" and "unix:PATH[,keep=SIZE]"
 *
 * Inside other people's programs, so nothing here waits: what the system does not take at once is kept, in memory
 * that is mapped when the plinth is opened, and goes out with later messages; a message that finds no room there is
 * refused, which its sender counts.  Nothing is done between messages: there is no thread of ours.
 *
 * All state lies in one mapping that fork leaves zeroed; who finds it zeroed has a link of its own to begin.  Only the
 * descriptor, which a child inherits, is in the PlinthStruct.
 *
 * Always true: the lock is held by whoever looks at anything here; where the phase is SocketDOWN, there is no
 * descriptor.
 *
 * Design: design/collector.md .out      Tests: test/sockettest.c
 */
#ifndef PLINTH_SOCKET_H
#define PLINTH_SOCKET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "plinth/keep.h"
#include "plinth/link.h"
#include "plinth/plinth.h"

enum {
  SocketKeepMIN = 256 << 10,       /* bytes: one message of any size fits */
  SocketKeepDEFAULT = 4 << 20,
  SocketHeaderMAX = 1 << 20,       /* of a header block */
  SocketRequestsMAX = 8            /* that wait to be received; more are lost */
};

typedef enum SocketPhase { SocketDOWN, SocketDIALING, SocketUP } SocketPhase;

typedef struct SocketStruct {
  unsigned lock;                   /* its owner's process number */
  uint32_t pid;                    /* whose link this is; 0: to be begun */
  Bool wiped;                      /* fork leaves this zeroed; else `pid` tells */
  uint64_t link;                   /* random */
  SocketPhase phase;
  Bool obeyed;                     /* the receiver's requests are */
  Bool local;                      /* a UNIX socket */
  uint64_t retry;                  /* ms, monotonic: no attempt to connect before */
  unsigned delay;                  /* ms, between attempts; grows */
  char hello[LinkHelloSIZE];
  Size greeted;                    /* bytes of hello and header block that went out on this connection */
  Index greeting;                  /* the header block that goes, or went, with the hello */
  Size greetingLength;             /* of hello and header block together; 0: nothing has been greeted yet */
  Index newest;                    /* the newest header block */
  Size headerLength[2];
  char line[LinkLineMAX];          /* from the receiver, up to here */
  Size lineLength;
  unsigned requests, received;     /* counted */
  Size requestLength[SocketRequestsMAX];
  char request[SocketRequestsMAX][LinkLineMAX];
  KeepStruct keep;
} SocketStruct, *Socket;

/* SocketHeader -- where header block `i`, 0 or 1, lies */
#define SocketHeader(socket, i) ((char *)(socket) + WordAlignUp(sizeof(SocketStruct), 4096) + (i) * SocketHeaderMAX)

/* SocketNow -- ms of the monotonic clock */
extern uint64_t SocketNow(void);

/* SocketPump -- do what can be done without waiting: connect, read, write (dial.c) */
extern void SocketPump(Plinth plinth, Socket socket);

#endif /* PLINTH_SOCKET_H */
