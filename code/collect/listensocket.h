/* listensocket.h -- the socket at which a listener waits
 *
 * The file of a UNIX socket has mode 0600 from the moment it exists, takes the place of one that nobody listens at any
 * more, and of nothing else, and is removed at the end if it is still ours.
 *
 * Design: design/collector.md .out.trust      Tests: test/listen.t, test/trust.t
 */
#ifndef COLLECT_LISTENSOCKET_H
#define COLLECT_LISTENSOCKET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "plinth/address.h"

typedef struct ListenSocketStruct {
  int fd;                /* -1: not open */
  AddressStruct address;
  int folder;            /* where its file is; -1: it has none, or the folder cannot be opened */
  Bool named;            /* there is a file to be removed, which was this: */
  uint64_t device, inode;
} ListenSocketStruct, *ListenSocket;

/* ListenSocketOpen -- listen at `address`, which then has the real port; FALSE: errno says why */
extern Bool ListenSocketOpen(ListenSocket its);

extern void ListenSocketClose(ListenSocket its);

#endif /* COLLECT_LISTENSOCKET_H */
