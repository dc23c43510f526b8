/* resendqueue.h -- messages that are kept until their receiver has acknowledged them
 *
 * A ring of bytes in memory of the caller's; messages in it are numbered from 0.  One of them is on its way; those
 * before it have been handed over, those behind it wait.  Only what has been acknowledged makes room.
 *
 * Always true (ResendQueueCheck):
 *   tail.at <= next.at <= head.at <= tail.at + size       positions only grow; the place is the position modulo size
 *   tail.number <= next.number <= head.number
 *   next.number <= given, acknowledged <= given           given: how many have ever been handed over
 *   done == 0 where no message is at `next`
 *
 * Design: design/collector.md .out      Tests: test/plinth/resendqueuetest.c
 */
#ifndef PLINTH_RESENDQUEUE_H
#define PLINTH_RESENDQUEUE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/uio.h>

#include "base/types.h"

typedef struct ResendQueuePlaceStruct {
  uint64_t at;     /* in bytes */
  uint64_t number; /* of the message that begins there */
} ResendQueuePlaceStruct;

typedef struct ResendQueueStruct {
  char *base;
  Size size;
  ResendQueuePlaceStruct tail;  /* the oldest that is kept */
  ResendQueuePlaceStruct next;  /* the one on its way */
  ResendQueuePlaceStruct head;  /* where the next one goes */
  Size done;             /* bytes of the one on its way that were handed over */
  uint64_t given, acknowledged;
} ResendQueueStruct, *ResendQueue;

/* ResendQueueInit -- an empty ring in `size` bytes at `base` */
extern void ResendQueueInit(ResendQueue keepReturn, void *base, Size size);

/* ResendQueuePut -- keep one more message.  ResLIMIT: there is no room. */
extern Res ResendQueuePut(ResendQueue keep, const void *message, Size size);

/* ResendQueueNext -- what is to be handed over next, of one message: returns how many pieces, 0 to 2
 * ResendQueueGiven -- `size` bytes of it, and no more, have been handed over */
extern Count ResendQueueNext(struct iovec piecesReturn[2], ResendQueue keep);
extern void ResendQueueGiven(ResendQueue keep, Size size);

/* ResendQueueAcknowledged -- the receiver has all messages before number `n`.  ResFORMAT: that cannot be. */
extern Res ResendQueueAcknowledged(ResendQueue keep, uint64_t n);

/* ResendQueueRewind -- the connection is broken: everything that is not acknowledged is to be handed over once more */
extern void ResendQueueRewind(ResendQueue keep);

/* ResendQueueSum -- the sum of what `of` says of each message that is not acknowledged
 *
 * message  its first bytes, ResendQueueSightMAX at most
 * size     of the whole of it */
enum { ResendQueueSightMAX = 256 };

extern uint64_t ResendQueueSum(ResendQueue keep, uint64_t (*of)(const void *message, Size size));

extern Bool ResendQueueCheck(ResendQueue keep);

#endif /* PLINTH_RESENDQUEUE_H */
