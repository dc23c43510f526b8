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

#include "base/types.h"
#include "plinth/plinth.h"

enum {
  SocketKeepMIN = 256 << 10,       /* bytes: one message of any size fits */
  SocketKeepDEFAULT = 4 << 20,
  SocketRequestsMAX = 8            /* that wait to be received; more are lost */
};

/* SocketNow -- ms of the monotonic clock */
extern uint64_t SocketNow(void);

#endif /* PLINTH_SOCKET_H */
