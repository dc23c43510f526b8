/* link.h -- what sender and receiver of a log say to each other over a stream socket
 *
 * The sender says hello once for each connection (LinkHelloSIZE bytes): which link this is, a random number that stays
 * the same through all its connections, and the number of the message that comes first.  Then a header block, which is
 * no numbered message; then messages, one behind the other, without anything between them: each tells its own size.
 *
 * The receiver sends lines of at most LinkLineMAX bytes: "ack N": it has all messages before number N, and keeps them
 * whatever happens to the connection; "no": it will have none of this link; others are requests to whoever emits
 * ("kinds LIST", "flush").  After the hello it acknowledges at once what it has from earlier connections.
 *
 * So nothing is lost and nothing comes twice as long as both live: the sender keeps what is not acknowledged and
 * begins each connection with it, and the receiver knows by the numbers what it has already.
 *
 * Design: design/collector.md .out      Tests: test/plinth/resendqueuetest.c, test/plinth/sockettest.c,
 * test/listen/listen.t
 */
#ifndef PLINTH_LINK_H
#define PLINTH_LINK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

#define LinkMAGIC "\x8fPAWlnk\n" /* 8 bytes: a hello; behind it "1 LINK FIRST\n", numbers of 16 hex digits */
#define LinkAskMAGIC "\x8fPAWask\n" /* instead of a hello: one line, to be passed on to all senders */

enum { LinkMagicSIZE = 8, LinkHelloSIZE = LinkMagicSIZE + 2 + 16 + 1 + 16 + 1, LinkLineMAX = 256 };

/* LinkHelloWrite -- a hello, LinkHelloSIZE bytes at `room` */
extern void LinkHelloWrite(char *room, uint64_t link, uint64_t first);

/* LinkHelloRead -- a hello from outside.  ResFORMAT: it is none; ResVERSION: of another version. */
extern Res LinkHelloRead(uint64_t *linkReturn, uint64_t *firstReturn, const char *bytes);

#endif /* PLINTH_LINK_H */
