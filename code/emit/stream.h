/* stream.h -- the threads of a process, and the streams of blocks that they fill
 *
 * Each thread has two streams for each kind: one for events that are sent, one for the flight recorder.  Each stream
 * has a block that its thread fills.  Only the owner changes its streams, with all signals blocked, because its signal
 * handlers emit, too.  Other threads may read its blocks, which show at any moment which events in them are committed.
 *
 * Always true (ThreadCheck):
 *   hot.self == this for a thread that emits; in the child of a fork everything is zero
 *   a stream's cursor points into its block, or behind it; where the stream has none, or the block is held, into no
 *   block
 *   a block ends where all of them do, and its size is a power of two
 *   sent <= sequence;  told <= discarded
 *   before + discarded + events in its blocks == events that were begun, for a stream that is sent and whose `before`
 *   is known
 *
 * Design: design/telemetry.md .buffer      Tests: test/emit/emittest.c, test/emit/signaltest.c
 */
#ifndef EMIT_STREAM_H
#define EMIT_STREAM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/event.h"
#include "handover/blockstore.h"

enum {
  ThreadsMAX = 65536,  /* that may emit at one time, if there is address space for them */
  ThreadSIZE = 2048,   /* bytes of a ThreadStruct, so that two share no cache line */
  ThreadsRetired = 8   /* ended threads whose flight recorder is kept */
};

typedef struct EmitterStruct *Emitter;

typedef struct StreamStruct {
  BlockHeader block;   /* the block that is being filled; NULL: none */
  Store store;         /* the store in which it lies */
  Size size;           /* its bytes, header included */
  Bool waits;          /* older blocks of the stream may be full, and this process has to send them itself */
  Bool refused;        /* some of them are in private memory, and were refused when the owner last tried to send them */
  uint64_t sequence;   /* number of the open block, or of the next one */
  uint64_t sent;       /* number of the oldest block that has not gone out: those from there to the open one are full */
  uint64_t before;     /* events in the blocks before that one; BlockBeforeUNKNOWN */
  uint64_t discarded;  /* events for which there was no room */
  uint64_t told;       /* part of these that blocks which were handed over have reported */
  Word held;           /* where the next event goes in a block that is in private memory for want of room: its cursor
                          stands still, so that each event takes the slow way and is counted
                          (RegionHeaderStruct.pool.away); else 0 */
} StreamStruct, *Stream;

typedef enum ThreadState { ThreadFREE, ThreadLIVE, ThreadRETIRED } ThreadState;

typedef struct ThreadStruct {
  EventThreadStruct hot;
  uint32_t state;      /* ThreadState */
  uint32_t tid;        /* the system's number */
  uint32_t serial;     /* counts the threads of the process */
  uint32_t number;     /* of its place, from 1 */
  uint32_t next;       /* the place of the thread that ended after this one; 0: none */
  uint32_t inside;     /* it changes a block with signals let through: handlers leave its streams alone (handover.h) */
  uint64_t refused, looked; /* ticks: since when it has found no room, 0: it did; its last attempt */
  void *walk; /* memory in which the thread's last stack is kept (malloc/shimstack.c); it stays with the place */
  uint32_t walkSerial; /* of the thread that it is about */
  struct ThreadStruct *nested; /* the state for events of handlers that interrupt it there; NULL until one needs it */
  StreamStruct stream[EventStreamsLIMIT][2];
} __attribute__((aligned(64))) ThreadStruct, *Thread;

_Static_assert(sizeof(ThreadStruct) <= ThreadSIZE, "threads lie ThreadSIZE apart");

/* StreamEvents -- the first byte behind a block's header */
static inline char *StreamEvents(BlockHeader block)
{
  return (char *)block + BlockHeaderSIZE;
}

/* StreamNumber -- the number of a thread's stream in its process, as it stands in blocks */
enum { StreamNumbers = 32 }; /* for each thread */
#define StreamNumber(thread, kind, unsent) ((thread)->serial * StreamNumbers + (kind) * 2 + (unsent))

/* BufferReserveSent -- as EventReserve, of a kind that is sent or not: the event is (reserve.c).  Signals are blocked.
 */
extern void *BufferReserveSent(unsigned kind, Size size);

/* BufferReserveNeeded -- room for an event without which others cannot be understood; it is sent
 * wherever there is a way out, whatever kinds are on.  NULL: no room; counted. */
extern void *BufferReserveNeeded(unsigned kind, Size size);

/* BufferAbove -- requests that an event on the slow way serves before it looks for room.  The functions are in
 * control.c, emit events themselves, and so call this file: the table is the only place where a call goes up. */
typedef struct BufferAboveStruct {
  void (*attend)(void);   /* serve the requests in the region, if there are any */
  void (*receive)(void);  /* obey the messages that the ways out have brought */
} BufferAboveStruct;

extern const BufferAboveStruct BufferAbove;

/* ThreadFlush -- send the blocks of the thread's streams, those of the flight recorder too if `unsent`.  The caller is
 * the owner, or the thread has ended.
 * final  room that is reserved will not be filled: the thread has ended, or its process ends */
extern void ThreadFlush(Emitter emitter, Thread thread, Bool unsent, Bool final);

/* ThreadForget -- erase the thread's blocks of the flight recorder that lie in `store`, which is about to be removed */
extern void ThreadForget(Thread thread, Store store);

/* ThreadCheck -- of a thread that nobody changes meanwhile: the caller's own, or one that has ended */
extern Bool ThreadCheck(Thread thread);

/* ---- One stream ---- */

/* Operations of a stream's owner, which has blocked signals or is marked as being inside (handover.h).  A handler that
 * interrupts them may reserve room at the cursor, and nothing else. */

/* StreamKind -- the kind of the events in a stream */
static inline unsigned StreamKind(unsigned stream)
{
#if defined(EventInternKIND)
  return stream == EventStreamDEFINITION ? EventInternKIND : stream;
#else
  return stream == EventStreamDEFINITION ? EventKindDEFINED : stream;
#endif
}

/* StreamAbandon -- mark room that was reserved and will not be filled, as far as it lies in the block */
extern void StreamAbandon(Word at, Size size);

/* StreamStart -- make the stream's memory an empty block, say so in its slot, and point the cursor to it */
extern void StreamStart(Emitter emitter, Thread thread, unsigned kind, unsigned unsent);

/* StreamLeave -- the owner is done with a block: note the processor in its header */
extern void StreamLeave(BlockHeader block);

/* StreamAlter -- change these fields in the header of a block.  A reader that sees the change half done, also after
 * the process was killed, does not take the header for spoiled; and a header that is spoiled stays so. */
extern void StreamAlter(BlockHeader block, Size used, uint64_t before, uint64_t discarded);

/* StreamErase -- zero a block's header and the `used` bytes of its events.  Its slot says first that there is no
 * block. */
extern void StreamErase(RegionHeader region, BlockHeader block, Size used);

/* StreamSize -- the bytes that the stream's next block should have */
extern Size StreamSize(Emitter emitter, Stream stream, unsigned kind, unsigned unsent);

/* StreamTakeFrom -- a fresh block of `size` bytes, or smaller where that cannot be had; FALSE: none */
extern Bool StreamTakeFrom(Stream stream, Store store, Size size);

/* StreamReserved -- bytes of the block that are reserved for events, filled or not; at most all of it */
extern Size StreamReserved(Thread thread, unsigned kind, unsigned unsent);

/* StreamTally -- count the events of a block; `settle` if no pending event will be filled in.  Room that was reserved
 * at the end is pending, too, though no event follows that shows it. */
extern void StreamTally(BlockTally tally, BlockHeader block, Size size, Size reserved, Bool settle);

/* StreamTry -- reserve room as EventReserve does, for the stream's owner; 0: full */
extern Word StreamTry(Emitter emitter, Thread thread, unsigned kind, unsigned unsent, Size size);

/* StreamHome -- `count` events of a block in private memory are in the log: they are no longer counted as away, and
 * would not be lost if the process were killed */
extern void StreamHome(Emitter emitter, BlockHeader block, Count count);

/* StreamDepart, StreamArrive -- a block in private memory is about to be written to the log; it was, or was refused.
 * If the process is killed meanwhile, the log itself shows whether the block is there. */
extern RegionLeaving StreamDepart(Emitter emitter, BlockHeader block);
extern void StreamArrive(Emitter emitter, BlockHeader block, RegionLeaving leaving, Bool sent);

#endif /* EMIT_STREAM_H */
