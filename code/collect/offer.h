/* offer.h -- the socket at which processes offer their regions
 *
 * An abstract datagram socket with a random name.  Whoever offers must know the token, and must have our user's
 * number, unless we are root: both come to it by PAWPRINT_COLLECTOR in its environment.
 *
 * Design: design/collector.md .offer      Tests: test/collecttest.c
 */
#ifndef COLLECT_OFFER_H
#define COLLECT_OFFER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"
#include "format/region.h"

enum { OfferNameMAX = 32 };

typedef struct OfferSocketStruct {
  int fd;                      /* -1: there is none */
  char name[OfferNameMAX];     /* of the abstract socket, without the NUL in front */
  char token[RegionTokenMAX];
} OfferSocketStruct, *OfferSocket;

typedef enum OfferKind {
  OfferNOTHING, /* no datagram is there */
  OfferOTHER,   /* one that is no offer: to wake us, or not to be believed */
  OfferREGION,
  OfferNOTE     /* a program that is about to be run in the sender's place, or started by it: `path` */
} OfferKind;

typedef struct OfferMessageStruct {
  RegionOfferStruct offer;     /* its strings are terminated */
  int fd;                      /* of a region; the receiver's to close; else -1 */
  pid_t pid;                   /* the sender's, as we number it */
  uid_t uid;
} OfferMessageStruct, *OfferMessage;

/* OfferOpen -- make the socket; close-on-exec.  ResIO: errno says why. */
extern Res OfferOpen(OfferSocket socketReturn);

extern void OfferClose(OfferSocket socket);

/* OfferReceive -- the next datagram; never waits */
extern OfferKind OfferReceive(OfferMessage messageReturn, OfferSocket socket);

#endif /* COLLECT_OFFER_H */
