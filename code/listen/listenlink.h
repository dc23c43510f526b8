/* listenlink.h -- one connection of a listener: from untrusted bytes to messages in a file
 *
 * Always true: `size` bytes of a sender's file are whole, sound messages, and `have` is the number of the next message;
 * a connection without a sender is a stranger's, and is closed after ListenPATIENCE.  And (ReceiverCheck):
 *   used <= room <= HeaderMAX, which are bytes of `buffer`;  outUsed <= sizeof out
 *   a connection has a sender only behind its hello, and acknowledges only if it has one
 *   a sender has a file, of `size` <= listen->limit bytes;  senders <= listen->senders;  connections <= places
 *
 * Design: design/collector.md .out      Tests: test/listen/receivertest.c, test/listen/listen.t
 */
#ifndef LISTEN_LISTENLINK_H
#define LISTEN_LISTENLINK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>

#include "base/repeat.h"
#include "format/header.h"
#include "listen/listen.h"
#include "plinth/address.h"
#include "plinth/link.h"

/* One sender, and the file that its log goes to. */
typedef struct SenderStruct {
  uint64_t link;
  AddressStruct peer;              /* where it first came from; only the same machine may go on with it */
  char program[HeaderTextMAX];     /* the first that is recorded, fit to be printed; "" as long as none is known */
  uint32_t pid;
  char path[PATH_MAX];
  int fd;                          /* -1: not connected, or it cannot be written */
  uint64_t device, inode;
  Size size;
  uint64_t have;
  uint32_t headerCrc;              /* of the last header block written: the same one need not come twice */
  Size headerLength;
  unsigned unsound;                /* how often something unsound came */
  Bool refused;                    /* nothing more is taken */
  Bool told;                       /* that it cannot be written */
  uint64_t begin, end;             /* ms: the first and the last message */
} SenderStruct, *Sender;

typedef struct ConnectionStruct {
  int fd;                     /* -1: closed, to be forgotten */
  AddressStruct peer;
  uint64_t since;             /* ms */
  Sender sender;              /* NULL as long as no sound header block has come */
  uint64_t link, next;        /* of the hello; the number of the message that comes next */
  Bool greeted;               /* the hello has come */
  char *buffer;
  Size used, room;
  char out[4 * LinkLineMAX];  /* what could not be said at once */
  Size outUsed;
  Bool acknowledge;           /* what we have is to be said */
} ConnectionStruct, *Connection;

/* A listener: its senders and its connections. */
typedef struct ReceiverStruct {
  Listen listen;
  char prefix[PATH_MAX];
  int folder;                 /* that the prefix is in, opened once: who renames it leads us nowhere else */
  Count number;               /* of the next file */
  Sender *sender;             /* listen->senders places, `senders` in use */
  Count senders;
  Connection *connection;
  Count connections, places;
  RepeatStruct repeat;        /* lines about senders, of which a hostile one could cause any number */
  Bool crowded;               /* a message has said that there are enough senders */
} ReceiverStruct, *Receiver;

/* ReceiverSay -- one line about a connection, unless there were enough like it: those are counted, and told at the
 * end */
extern void ReceiverSay(Receiver receiver, Connection connection, const char *format, ...)
  __attribute__((format(printf, 3, 4)));

/* ConnectionRead -- take what has come in, as far as it is quickly done; closes the connection at its end, or if
 * something is wrong with it */
extern void ConnectionRead(Receiver receiver, Connection connection);

/* ConnectionWrite -- send what could not be sent before, and the acknowledgement that is due */
extern void ConnectionWrite(Connection connection);

extern void ConnectionClose(Connection connection);

extern Bool ReceiverCheck(Receiver receiver);

#endif /* LISTEN_LISTENLINK_H */
