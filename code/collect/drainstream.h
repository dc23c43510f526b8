/* drainstream.h -- the streams of a process that is drained: how far each has come
 *
 * Always true: `stall` is 0, or one more than the slot of the block that the stream's later blocks wait behind.
 *
 * Design: design/collector.md .hand.count, .hand.order      Tests: test/collecttest.c
 */
#ifndef COLLECT_DRAINSTREAM_H
#define COLLECT_DRAINSTREAM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { DrainStreamsMAX = 1 << 15 };

typedef struct DrainStreamStruct {
  uint32_t id;
  uint32_t stall;     /* a slot + 1 */
  uint32_t behind;    /* blocks that were seen to wait behind it */
  Bool used;          /* since it was last looked for one that is not */
  uint64_t next;      /* number of the block that is to come */
  uint64_t total;     /* events in those before; BlockBeforeUNKNOWN */
  uint64_t discarded; /* as the latest block says */
} DrainStreamStruct, *DrainStream;

typedef struct DrainStreamsStruct {
  Count count, capacity; /* capacity is a power of two, or 0 */
  DrainStream stream;    /* owned; by number */
  Count places;          /* a power of two, more than half of them empty, or 0 */
  uint32_t *place;       /* owned; by id: a number + 1, or 0 */
  Index hand;            /* the number at which it goes on to look for a stream that is not used */
} DrainStreamsStruct, *DrainStreams;

/* DrainStreamGet -- the number of the stream with this id, made if it is new
 *
 * Where there are as many as can be the place of one that was not used for long is given to it, for threads come and
 * go: if that comes again all the same, nobody knows how many events it has had.
 *
 * returns  ResMEMORY; ResLIMIT: blocks wait in all of them */
extern Res DrainStreamGet(Index *numberReturn, DrainStreams streams, uint32_t id);

/* DrainStreamDiscarded -- a block says how many events the stream has discarded; how many of them are news */
extern uint64_t DrainStreamDiscarded(DrainStream stream, uint64_t discarded);

extern void DrainStreamsFree(DrainStreams streams);

#endif /* COLLECT_DRAINSTREAM_H */
