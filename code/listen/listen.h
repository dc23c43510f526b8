/* listen.h -- receiving logs over a socket, one file for each sender
 *
 * What comes in is hostile: nothing of it names a file, sizes are bounded before anything is allocated, and a message
 * is written only if its checksums are right.  Over a UNIX socket only the same user is let in.  A sender that comes
 * back (plinth/link.h) goes on in the same file, and what it sends twice is written once.
 *
 * Design: design/collector.md .out      Tests: test/listen/listen.t
 */
#ifndef LISTEN_LISTEN_H
#define LISTEN_LISTEN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/option.h"
#include "plinth/plinth.h"

enum {
  ListenPlaceMAX = PlinthPlaceMAX,
  ListenSendersDEFAULT = 256,
  ListenPATIENCE = 5000,  /* ms until a connection must have sent its first header block */
  ListenStrangersMAX = 32 /* connections that have not yet */
};

#define ListenSizeDEFAULT ((Size)4 << 30) /* bytes of a file */

/* What is asked for; the strings are the caller's. */
typedef struct ListenStruct {
  const OptionToolStruct *tool; /* whose name stands in front of what is said */
  const char *where;            /* "tcp:HOST:PORT" or "unix:PATH" */
  const char *output;           /* a folder, or the beginning of the files' names; NULL: "pawprint" */
  Size limit;                   /* bytes of a file; what comes after that is refused */
  Count senders;                /* files; more are refused */
} ListenStruct, *Listen;

/* ListenRun -- receive until SIGINT, SIGTERM or SIGHUP
 *
 * Says on standard error where it listens, then what goes wrong, at last a line for each sender.
 * returns  the status for the tool: 0; tool->usage or tool->failure, told
 */
extern int ListenRun(Listen listen);

/* ListenAsk -- pass a request on to all senders of a listening eventrec of the same user
 *
 * where          "unix:PATH"
 * request        "kinds LIST" or "flush"
 * sendersReturn  to how many it was passed on; whether they obey is theirs to decide
 * reasonReturn   why it failed, in words that live forever
 * returns        ResPARAM: no UNIX socket; ResIO: nobody listens there, or it does not answer
 */
extern Res ListenAsk(const char *where, const char *request, Count *sendersReturn, const char **reasonReturn);

/* ListenResolve -- an address with the host's name looked up, for PlinthOpen and ListenRun: once, and it may take time
 *
 * room, size    where the address goes, terminated; `where` as it is if it holds no name
 * absolute      the path of a UNIX socket is made absolute, for a program that may go to another folder
 * reasonReturn  why it failed, in words that live until the next call
 */
extern Res ListenResolve(char *room, Size size, const char *where, Bool absolute, const char **reasonReturn);

#endif /* LISTEN_LISTEN_H */
