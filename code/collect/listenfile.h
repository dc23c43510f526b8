/* listenfile.h -- one sender, and the file that its log goes to
 *
 * Always true: `size` bytes of the file are whole, sound messages; `have` is the number of the next message.
 *
 * Design: design/collector.md .out      Tests: test/listen.t
 */
#ifndef COLLECT_LISTENFILE_H
#define COLLECT_LISTENFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <limits.h>

#include "format/header.h"
#include "plinth/address.h"

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

/* SenderCreate -- a new file, PREFIX.N.paw with the first N from *numberReturn on that is free; mode 0600
 * SenderReopen -- the file, after the sender had gone
 * ResIO: errno says why. */
extern Res SenderCreate(Sender sender, const char *prefix, Count *number);
extern Res SenderReopen(Sender sender);

/* SenderWrite -- append a message, whole or not at all.  ResIO: errno says why. */
extern Res SenderWrite(Sender sender, const void *message, Size size);

extern void SenderClose(Sender sender);

#endif /* COLLECT_LISTENFILE_H */
