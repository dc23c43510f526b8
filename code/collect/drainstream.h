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

enum { DrainStreamsMAX = 1 << 16 }; /* that are known at a time: some MiB */

typedef struct DrainStreamStruct {
  uint32_t id;
  uint32_t stall;     /* a slot + 1 */
  uint32_t behind;    /* blocks that were seen to wait behind it */
  uint64_t next;      /* number of the block that is to come */
  uint64_t total;     /* events in those before; BlockBeforeUNKNOWN */
  uint64_t discarded; /* as the latest block says */
} DrainStreamStruct, *DrainStream;

typedef struct DrainStreamsStruct {
  Count count, capacity; /* capacity is a power of two, or 0 */
  DrainStream stream;    /* owned; by number */
  Count places;          /* a power of two, more than half of them empty, or 0 */
  uint32_t *place;       /* owned; by id: a number + 1, or 0 */
} DrainStreamsStruct, *DrainStreams;

/* DrainStreamGet -- the number of the stream with this id, made if it is new.  ResMEMORY; ResLIMIT: too many. */
extern Res DrainStreamGet(Index *numberReturn, DrainStreams streams, uint32_t id);

extern void DrainStreamsFree(DrainStreams streams);

#endif /* COLLECT_DRAINSTREAM_H */
