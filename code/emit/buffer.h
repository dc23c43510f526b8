/* buffer.h -- the threads of a process and the blocks that they fill
 *
 * Each thread has, for each kind, a stream for events that are sent and one for those of the flight recorder; each
 * stream has a block that its thread fills.  Only the owner changes its streams; with all signals blocked, because its
 * signal handlers emit too. Others may read its blocks, which tell at any moment what in them is committed.
 *
 * Always true (ThreadCheck):
 *   hot.self == this for a thread that emits; everything is zero in the child of a fork, which so knows that it is one
 *   a stream's cursor points into its block, or behind it, or is 0 if it has none
 *   before + discarded + what its blocks hold == events that were begun, for a stream that is sent and whose `before`
 *   is known
 *
 * Design: design/telemetry.md .buffer      Tests: test/emit/emittest.c, test/emit/signaltest.c
 */
#ifndef EMIT_BUFFER_H
#define EMIT_BUFFER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/fence.h"
#include "base/types.h"
#include "emit/event.h"
#include "handover/store.h"

enum {
  ThreadsMAX = 65536,  /* that may emit at one time, if there is address space for them */
  ThreadSIZE = 2048,   /* bytes of a ThreadStruct, so that two share no cache line */
  ThreadsRetired = 8   /* ended threads whose flight recorder is kept */
};

typedef struct ProcessStruct *Process;

typedef struct StreamStruct {
  BlockHeader block;   /* that is being filled; NULL: none */
  Store store;         /* where it lies */
  Size size;           /* bytes of it, header included */
  Bool waits;          /* older blocks of the stream may be full, and this process has to send them itself */
  uint64_t sequence;   /* of the open block, or of the next one */
  uint64_t sent;       /* of the oldest block that has still to go out: those from there to the open one are full */
  uint64_t before;     /* events in the blocks before that one; BlockBeforeUNKNOWN */
  uint64_t discarded;  /* events for which there was no room */
  uint64_t told;       /* of these, in blocks that were handed over */
  Word held;           /* the block is in private memory for want of room: where the next event goes, while the cursor
                          stands still, so that each event is counted (RegionHeaderStruct.pool.away); 0: it is not */
} StreamStruct, *Stream;

typedef enum ThreadState { ThreadFREE, ThreadLIVE, ThreadRETIRED } ThreadState;

typedef struct ThreadStruct {
  EventThreadStruct hot;
  uint32_t state;      /* ThreadState */
  uint32_t tid;        /* the system's number */
  uint32_t serial;     /* counts the threads of the process */
  uint32_t number;     /* of its place, from 1 */
  uint32_t next;       /* the place of the thread that ended after this one; 0: none */
  uint32_t inside;     /* it is changing a block with signals let through: handlers leave its streams alone (handover.h) */
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
enum { StreamNumbers = 32 }; /* for each thread */
#define StreamNumber(thread, kind, unsent) ((thread)->serial * StreamNumbers + (kind) * 2 + (unsent))

/* BufferReserveSent -- as EventReserve, of a kind that is sent or not: the event is (reserve.c).  Signals are blocked. */
extern void *BufferReserveSent(unsigned kind, Size size);

/* BufferAbove -- what an event that takes the slow way does for those who asked, before it looks for room.  Those are
 * above this (control.c), emit events themselves, and so call us: this table is the one place where a call goes up. */
typedef struct BufferAboveStruct {
  void (*attend)(void);   /* do what others have asked for, if they have */
  void (*receive)(void);  /* obey the messages that the ways out have brought */
} BufferAboveStruct;

extern const BufferAboveStruct BufferAbove;

/* ThreadFlush -- send what the thread's streams hold, the flight recorder's too if `unsent`.  By its owner, or for one
 * that has ended.
 * final  nobody will fill what is reserved: the thread has ended, or its process ends */
extern void ThreadFlush(Process process, Thread thread, Bool unsent, Bool final);

/* ThreadRelease -- give back all blocks of a thread that has ended; nothing is sent */
extern void ThreadRelease(Process process, Thread thread);

/* ThreadForget -- drop the flight recorder's blocks that lie in `store`, which is about to go */
extern void ThreadForget(Thread thread, Store store);

extern Bool ThreadCheck(Thread thread);

#endif /* EMIT_BUFFER_H */
