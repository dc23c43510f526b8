/* buffer.h -- the threads of a process and the blocks that they fill
 *
 * Each thread has, for each kind, a stream for events that are sent and one for those of the flight recorder; each
 * stream has a block that its thread fills.  Only the owner changes its streams; with all signals blocked, because its
 * signal handlers emit too. Others may read its blocks, which tell at any moment what in them is committed.
 *
 * Always true (ThreadCheck):
 *   hot.self == this for a thread that emits; everything is zero in the child of a fork, which so knows that it is one
 *   a stream's cursor points into its block, or behind it, or is 0 if it has none
 *   before + discarded + what the open blocks hold == events that were begun, for a stream that is sent
 *
 * Design: design/telemetry.md .buffer      Tests: test/emittest.c, test/signaltest.c
 */
#ifndef EMIT_BUFFER_H
#define EMIT_BUFFER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/fence.h"
#include "base/types.h"
#include "emit/event.h"
#include "emit/store.h"

enum {
  ThreadsMAX = 4096,   /* that may emit at one time */
  ThreadSIZE = 8192,   /* bytes of a ThreadStruct, so that two share no cache line */
  ThreadsRetired = 8,  /* ended threads whose flight recorder is kept */
  StreamParkedMAX = 16
};

/* A full block with room that an interrupted event has reserved. */
typedef struct ParkedStruct {
  BlockHeader block;   /* its size is in `whole`; NULL: none */
  Size reserved;       /* bytes of events, filled or not */
} ParkedStruct, *Parked;

typedef struct StreamStruct {
  BlockHeader block;   /* that is being filled; NULL: none */
  Size size;           /* bytes of it, header included */
  Store store;         /* where it lies */
  uint64_t sequence;   /* of the next block to be sent; the parked ones and the open one have it and those that
                          follow */
  uint64_t before;     /* events in blocks before that: sent, or overwritten where that is meant; BlockBeforeUNKNOWN */
  uint64_t discarded;  /* events for which there was no room, or that were given up (design/telemetry.md
                          .buffer.park) */
  uint64_t told;       /* of these, in blocks that were sent */
  uint64_t snapped;    /* one more than the sequence of the block that was last sent while it was being filled */
  Count parks;
  ParkedStruct parked[StreamParkedMAX]; /* full blocks that wait for an interrupted event, or behind one; the oldest
                                           first */
} StreamStruct, *Stream;

typedef enum ThreadState { ThreadFREE, ThreadLIVE, ThreadRETIRED } ThreadState;

typedef struct ThreadStruct {
  EventThreadStruct hot;
  uint32_t state;      /* ThreadState */
  uint32_t tid;        /* the system's number */
  uint32_t serial;     /* counts the threads of the process */
  uint32_t retired;    /* order in which threads ended */
  uint32_t inside;     /* it is changing a block with signals let through: handlers leave its streams alone (hand.h) */
  uint64_t refused, looked; /* since when it has found no room, 0: it did; and when it looked for some last; ticks */
  struct ThreadStruct *nested; /* where such handlers' events go; NULL until one needs it */
  StreamStruct stream[EventStreamsLIMIT][2];
} __attribute__((aligned(64))) ThreadStruct, *Thread;

_Static_assert(sizeof(ThreadStruct) <= ThreadSIZE, "threads lie ThreadSIZE apart");

/* StreamEvents -- the first byte behind a block's header */
static inline char *StreamEvents(BlockHeader block)
{
  return (char *)block + BlockHeaderSIZE;
}

/* StreamNumber -- of a thread's stream in its process, as blocks have it */
#define StreamNumber(thread, kind, unsent) ((thread)->serial * 32 + (kind) * 2 + (unsent))

/* BufferReserveSent -- as EventReserve, of a kind that is sent or not: the event is.  Signals are blocked. */
extern void *BufferReserveSent(unsigned kind, Size size);

/* ThreadFlush -- send what the thread's streams hold, the flight recorder's too if `unsent`.  By its owner, or for one
 * that has ended.
 * final  nobody will fill what is reserved: the thread has ended, or its process ends */
extern void ThreadFlush(Thread thread, Bool unsent, Bool final);

/* ThreadSnapshot -- the same for a thread that runs: what it has committed goes out, and stays where it is, too */
extern void ThreadSnapshot(Thread thread, Bool unsent);

/* ThreadRelease -- give back all blocks of a thread that has ended; nothing is sent */
extern void ThreadRelease(Thread thread);

/* ThreadForget -- drop the flight recorder's blocks that lie in `store`, which is about to go */
extern void ThreadForget(Thread thread, Store store);

extern Bool ThreadCheck(Thread thread);

#endif /* EMIT_BUFFER_H */
