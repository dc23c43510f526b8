/* batch.h -- messages that wait to be written to the log, and the slots that are free once they are
 *
 * Header blocks and event blocks are put one behind the other and written in one go; only then are the slots freed
 * that the blocks came from.  What cannot be written (a full disk) stays, and is tried again: nothing is lost, and the
 * program's buffers fill up.
 *
 * If the log is a file and is sent elsewhere, too, the file gets everything.  The batch waits for the other way out
 * (the receiver) as long as that accepts something now and then.  What the receiver does not accept goes to the file
 * only, and is counted.
 *
 * Always true (BatchCheck):
 *   written <= used <= BatchSIZE;  passed <= used, and 0 without a receiver
 *   slots <= BatchSlotsMAX; their `end`s do not fall, and are at most `used`
 *
 * Design: design/collector.md .hand.order      Tests: test/collect/batchtest.c, test/collect/collecttest.c
 */
#ifndef COLLECT_BATCH_H
#define COLLECT_BATCH_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "collect/trim.h"
#include "format/region.h"
#include "plinth/plinth.h"

enum { BatchSIZE = 1 << 20, BatchSlotsMAX = 512 };

/* A slot that is to be free: its block in memory, and what is set to 0 when it is. */
typedef struct BatchSlotStruct {
  RegionHeader header;
  Index slot;
  void *block;
  Size size;
  uint8_t *mark;
  Size end;            /* what of the batch must be out first: BatchRelease's */
} BatchSlotStruct;

typedef struct BatchStruct {
  int fd;              /* the log, for appending; -1: none */
  Plinth forward;       /* where it goes, too, or instead; NULL: nowhere */
  Bool patient;        /* wait for the receiver as long as it goes on accepting some */
  int reason;          /* errno of the last writing; 0: it went well */
  Size used, written;
  uint64_t limit;      /* on the size of files; UINT64_MAX: none */
  Bool last;           /* only the last messages are written now, for which room is left below the limit */
  uint64_t cut;        /* where in the log a write was cut short; 0: none was */
  uint64_t missing;    /* bytes that another program has truncated from the log */
  Size passed;         /* bytes of the batch that the receiver has accepted, or that it will not get */
  uint64_t behind;     /* since when the receiver, besides the file, accepts nothing; monotonic ns; 0: it does */
  uint64_t skipped;    /* events that it did not get, */
  uint64_t bytes;      /* and bytes that were written so far */
  Trim trim;           /* keeps the log small; NULL: all of it stays */
  int untrimmed;        /* errno of the last time that this could not be done */
  Count refused;       /* times that there was no room for a message */
  Count slots;
  BatchSlotStruct slot[BatchSlotsMAX];
  unsigned char room[BatchSIZE];
} BatchStruct, *Batch;

typedef struct BatchDroppedStruct {
  Count blocks;        /* of which the log has nothing, or less than the header, */
  uint64_t events;     /* with so many events, */
  uint64_t piece;      /* and events of one block before those that is cut off in the log, which readers tell; 0 */
} BatchDroppedStruct, *BatchDropped;

/* BatchPlace -- room for a message of at most `size` bytes; NULL: what is there cannot be written at present */
extern unsigned char *BatchPlace(Batch batch, Size size);

/* BatchCommit -- the message that was put there is `size` bytes long */
extern void BatchCommit(Batch batch, Size size);

/* BatchRelease -- free a slot when all that was committed so far is written */
extern void BatchRelease(Batch batch, BatchSlotStruct slot);

/* BatchDrop -- free a slot of which nothing is to be written, and wake the threads that wait for one */
extern void BatchDrop(BatchSlotStruct slot);

/* BatchWrite -- write the batch to the log, free the slots of blocks that are there, and wake the threads that wait for
 * a free slot
 *
 * returns  ResIO: `reason` says why; the rest stays.  ResLIMIT: the file has it, and the receiver is waited for: once
 *          more, in a moment */
extern Res BatchWrite(Batch batch);

/* BatchMissing -- how many bytes another program has truncated from the log.  The batch compares the length of the file
 * with what it has written, before each write and now, and where a write ended with where it should have. */
extern uint64_t BatchMissing(Batch batch);

/* BatchReached -- how long the log is now, if nobody has cut it; 0: nobody knows, or what is written goes elsewhere,
 * too */
extern uint64_t BatchReached(Batch batch);

/* BatchOpen -- the log, for appending; the limit on file sizes is looked up */
extern void BatchOpen(Batch batch, int fd);

/* BatchLast -- the log will never accept the waiting messages: drop them, and leave the slots of their blocks as they
 * are.  After this only the last messages are written.
 * droppedReturn  what was dropped of one process, by its identity */
extern void BatchLast(BatchDropped droppedReturn, Batch batch, uint64_t process);

/* BatchFarther -- raise our soft limit on file sizes to the hard one; FALSE: it is not lower */
extern Bool BatchFarther(Batch batch);

/* BatchWaiting -- how many events wait to be written, or for the receiver if there is one
 * process  only events of this one, by its identity; 0: of all */
extern uint64_t BatchWaiting(Batch batch, uint64_t process);

/* BatchForget -- the memory of this region is about to be unmapped: free none of its slots later */
extern void BatchForget(Batch batch, RegionHeader header);

extern Bool BatchCheck(Batch batch);

#endif /* COLLECT_BATCH_H */
