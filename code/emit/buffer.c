/* buffer.c -- filling blocks, and changing them
 *
 * Everything here runs with signals blocked, in the thread that owns the state, or for one that has ended.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/buffer.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/process.h"
#include "emit/send.h"
#include "plinth/quiet.h"

enum {
  bufferLargeMAX = 32768,      /* bytes of the largest block of a frequent kind that is sent: it stays in the first cache */
  bufferSmallMAX = 16384,      /* of the others */
  bufferGrowTICKS = 100000000, /* a block that fills faster than this, about a tenth of a second, is too small */
  bufferEpochSIZE = 16
};

__thread EventThread EventThreadSelf;

/* bufferFence -- what was stored before is seen before what is stored behind, by whoever reads the memory after our death, too.  The thread
 * sanitizer knows no fences, and so gcc refuses them there. */
static inline void bufferFence(void)
{
#if defined(__SANITIZE_THREAD__)
  __sync_synchronize();
#else
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

static char *streamEvents(BlockHeader block)
{
  return (char *)block + BlockHeaderSIZE;
}

/* streamAbandon -- mark room that was reserved and will not be filled; what of it lies behind the block's end is not there */
static void streamAbandon(Word at, Size size)
{
  EventHeaderStruct pad = {EventPadCODE, 0, 0};
  Word limit = at + WordAlignUp(size, EventALIGN);

  if ((at & EventBlockBIT) == 0)
    return;
  if (((limit - 1) & EventBlockBIT) == 0)
    limit = WordAlignDown(limit - 1, EventBlockBIT);
  pad.length = (uint16_t)(limit - at);
  memcpy((void *)at, &pad, sizeof pad);
}

/* streamStart -- make the stream's memory an empty block.  Whoever reads it from outside at any moment of this finds either no block or a
 * sound one: the magic goes first and comes last. */
static void streamStart(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  BlockHeader block = stream->block;
  uint64_t now = EventClock(EVENT_CONTROL[EventControlCLOCK] != 0);
  BlockHeaderStruct header = {
    .order = BlockORDER,
    .major = EventVersionMAJOR,
    .flags = (uint8_t)(unsent ? BlockFlagUNSENT : 0),
    .kind = (uint8_t)kind,
    .whole = (uint32_t)stream->size,
    .pid = process->pid,
    .thread = thread->tid,
    .cpuFirst = (uint16_t)sched_getcpu(),
    .process = process->identity,
    .stream = StreamNumber(thread, kind, unsent),
    .sequence = stream->sequence,
    .before = stream->before,
    .discarded = stream->discarded,
    .first = now,
    .last = now,
  };

  memcpy((char *)block + BlockMagicSIZE, (char *)&header + BlockMagicSIZE, sizeof header - BlockMagicSIZE);
  bufferFence();
  memcpy(block->magic, BlockMAGIC, BlockMagicSIZE);
  cursor->epoch = (uint32_t)(now >> 32);
  __atomic_store_n(&cursor->next, (Word)streamEvents(block), __ATOMIC_RELEASE);
}

/* streamErase -- no block is here any more, and no events */
static void streamErase(BlockHeader block, Size used)
{
  __atomic_store_n((uint64_t *)(void *)block->magic, 0, __ATOMIC_RELEASE);
  bufferFence();
  memset(streamEvents(block), 0, used);
}

/* streamSize -- how large the next block should be */
static Size streamSize(Stream stream, unsigned kind, unsigned unsent)
{
  Bool frequent = kind == EventKindObject || kind == EventKindRef || kind == EventKindUser;
  Size max = frequent && !unsent ? bufferLargeMAX : bufferSmallMAX;

  if (stream->block == NULL)
    return BlockMIN;
  if (stream->size >= max || EventClock(EVENT_CONTROL[EventControlCLOCK] != 0) - stream->block->first > bufferGrowTICKS)
    return stream->size;
  return stream->size * 4 < max ? stream->size * 4 : max;
}

/* streamTake -- a fresh block of `size` bytes, or smaller where that cannot be had */
static Bool streamTake(Process process, Stream stream, unsigned unsent, Size size)
{
  Store store;

  if (!unsent && process->shared.header == NULL && ProcessSends())
    ProcessShare(process);
  store = unsent || process->shared.header == NULL ? &process->own : &process->shared;
  if (store->header == NULL)
    return FALSE;
  for (; size >= BlockMIN; size /= 2) {
    BlockHeader block = StoreTake(store, size);
    if (block != NULL) {
      stream->block = block;
      stream->size = size;
      stream->store = store;
      return TRUE;
    }
  }
  return FALSE;
}

/* streamSend -- send a full or ended block, and count; an empty one is left alone */
static void streamSend(Process process, Stream stream, BlockHeader block, BlockTally tally, unsigned flags)
{
  if (tally->used == 0)
    return;
  block->sequence = stream->sequence;
  block->before = stream->before;
  block->discarded = stream->discarded;
  if (SendBlock(process, block, tally, flags) == ResOK) {
    ++stream->sequence;
    stream->before += tally->count;
  } else {
    stream->discarded += tally->count;
  }
}

/* streamTally -- what a block holds; `settle` if nobody will fill what is pending */
static void streamTally(BlockTally tally, BlockHeader block, Size size, Bool settle)
{
  BlockWalk(tally, streamEvents(block), size - BlockHeaderSIZE, block->first, settle);
}

/* streamUnpark -- send the blocks whose interrupted events have been filled meanwhile; all of them if `final` */
static void streamUnpark(Process process, Stream stream, Bool sends, unsigned flags, Bool final)
{
  BlockTallyStruct tally;
  Index i;

  for (i = 0; i < StreamParkedMAX; ++i) {
    BlockHeader block = stream->parked[i];
    if (block == NULL)
      continue;
    streamTally(&tally, block, block->whole, final);
    if (tally.pending > 0 && !final)
      continue;
    if (sends)
      streamSend(process, stream, block, &tally, flags);
    streamErase(block, block->whole - BlockHeaderSIZE);
    StoreGive(stream->store, block, block->whole);
    stream->parked[i] = NULL;
  }
}

/* streamPark -- put the block aside: an interrupted event will be filled into it when we return.  FALSE: no place for it. */
static Bool streamPark(Stream stream)
{
  Index i;

  for (i = 0; i < StreamParkedMAX; ++i)
    if (stream->parked[i] == NULL) {
      stream->parked[i] = stream->block;
      stream->block = NULL;
      return TRUE;
    }
  return FALSE;
}

/* streamChange -- an empty block for the stream; what was in the old one is sent, if it is a stream that is.  FALSE: there is none. */
static Bool streamChange(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  Size size = streamSize(stream, kind, unsent);
  BlockTallyStruct tally;

  __atomic_store_n(&thread->hot.cursor[kind][unsent].next, 0, __ATOMIC_RELEASE);
  if (stream->block != NULL) {
    streamTally(&tally, stream->block, stream->size, FALSE);
    if (tally.pending == 0 || !streamPark(stream)) {
      if (!unsent)
        streamSend(process, stream, stream->block, &tally, 0);
      streamErase(stream->block, tally.used);
      if (size != stream->size || (stream->store == &process->own && !unsent && process->shared.header != NULL)) {
        StoreGive(stream->store, stream->block, stream->size);
        stream->block = NULL;
      }
    }
    streamUnpark(process, stream, !unsent, 0, FALSE);
  }
  if (stream->block == NULL && !streamTake(process, stream, unsent, size))
    return FALSE;
  streamStart(process, thread, kind, unsent);
  return TRUE;
}

/* streamEpoch -- tell in the block that the clock's high half has changed; FALSE: no room */
static Bool streamEpoch(EventCursor cursor, uint64_t now)
{
  Word at = eventAdvance(&cursor->next, bufferEpochSIZE);
  EventHeader event = (EventHeader)at;

  if (((at + bufferEpochSIZE - 1) & EventBlockBIT) == 0) {
    streamAbandon(at, bufferEpochSIZE);
    return FALSE;
  }
  eventFill(at, bufferEpochSIZE, now);
  memcpy(event + 1, &now, sizeof now);
  EventCommit(event, EventEpochCODE);
  cursor->epoch = (uint32_t)(now >> 32);
  return TRUE;
}

/* streamTry -- reserve room as EventReserve does, with nobody to interrupt; 0: full */
static Word streamTry(EventCursor cursor, Size size)
{
  uint64_t now = EventClock(EVENT_CONTROL[EventControlCLOCK] != 0);
  Word at;

  if ((cursor->next & EventBlockBIT) == 0)
    return 0;
  if ((uint32_t)(now >> 32) != cursor->epoch && !streamEpoch(cursor, now))
    return 0;
  at = eventAdvance(&cursor->next, WordAlignUp(size, EventALIGN));
  if (((at + size - 1) & EventBlockBIT) == 0) {
    streamAbandon(at, size);
    return 0;
  }
  /* Between the two readings the epoch may have turned, once in some seconds: then the event is stamped with the first. */
  eventFill(at, size, now);
  return at;
}

static Word threadReserve(Thread thread, unsigned kind, Size size)
{
  unsigned unsent = ~(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> kind) & 1;
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  Process process = ProcessGet();
  Word at = streamTry(cursor, size);

  if (at == 0)
    ControlReceive();
  if (at == 0 && process != NULL && streamChange(process, thread, kind, unsent))
    at = streamTry(cursor, size);
  if (at == 0)
    ++thread->stream[kind][unsent].discarded;
  return at;
}

void *EventReserveSlow(unsigned kind, Size size, Word at)
{
  QuietMaskStruct mask;
  int error = errno;
  Thread thread;
  Word place = 0;

  AVER(size <= EventSizeMAX);
  QuietBegin(&mask);
  streamAbandon(at, size);
  thread = ProcessThreadSelf();
  if (thread != NULL)
    place = threadReserve(thread, kind, size);
  QuietEnd(&mask);
  errno = error;
  return (void *)place;
}

/* threadEnd -- send what one of its streams holds and give back the blocks; it starts anew with the next event */
static void threadEnd(Process process, Thread thread, unsigned kind, unsigned unsent, Bool final)
{
  Stream stream = &thread->stream[kind][unsent];
  unsigned flags = unsent ? BlockFlagUNSENT : 0;
  BlockTallyStruct tally;

  __atomic_store_n(&thread->hot.cursor[kind][unsent].next, 0, __ATOMIC_RELEASE);
  streamUnpark(process, stream, TRUE, flags, final);
  if (stream->block == NULL)
    return;
  streamTally(&tally, stream->block, stream->size, final);
  if (tally.pending > 0 && streamPark(stream))
    return;
  streamSend(process, stream, stream->block, &tally, flags);
  streamErase(stream->block, tally.used);
  StoreGive(stream->store, stream->block, stream->size);
  stream->block = NULL;
}

void ThreadFlush(Thread thread, Bool unsent)
{
  Process process = ProcessGet();
  unsigned kind;

  if (process == NULL)
    return;
  for (kind = 0; kind < EventKindLIMIT; ++kind) {
    threadEnd(process, thread, kind, 0, thread->state == ThreadRETIRED);
    if (unsent)
      threadEnd(process, thread, kind, 1, thread->state == ThreadRETIRED);
  }
}

/* streamCopy -- a running thread's block, as it is now.  The owner may change it meanwhile: then FALSE, and it was sent by the owner. */
__attribute__((no_sanitize("thread"))) static Bool streamCopy(char *copy, BlockHeader block, Size size)
{
  const volatile uint64_t *from = (const volatile uint64_t *)(const void *)block;
  uint64_t *to = (uint64_t *)(void *)copy;
  uint64_t sequence = __atomic_load_n(&block->sequence, __ATOMIC_ACQUIRE), first = block->first;
  Index i;

  for (i = 0; i < size / sizeof *to; ++i)
    to[i] = from[i];
  bufferFence();
  return memcmp(copy, BlockMAGIC, BlockMagicSIZE) == 0 && block->sequence == sequence && block->first == first &&
         memcmp(block->magic, BlockMAGIC, BlockMagicSIZE) == 0;
}

__attribute__((no_sanitize("thread"))) static void streamSnapshot(Process process, Stream stream, char *copy,
                                                                   unsigned flags)
{
  BlockHeader block = __atomic_load_n(&stream->block, __ATOMIC_ACQUIRE);
  Size size = stream->size;
  BlockTallyStruct tally;

  if (block == NULL || size > BlockMAX || !streamCopy(copy, block, size))
    return;
  block = (BlockHeader)(void *)copy;
  streamTally(&tally, block, size, TRUE);
  if (tally.used > 0)
    (void)SendBlock(process, block, &tally, flags | BlockFlagSNAPSHOT);
}

void ThreadSnapshot(Thread thread, Bool unsent)
{
  Process process = ProcessGet();
  char *copy = QuietMap(BlockMAX, BlockMIN);
  unsigned kind;

  if (process == NULL || copy == NULL)
    return;
  for (kind = 0; kind < EventKindLIMIT; ++kind) {
    streamSnapshot(process, &thread->stream[kind][0], copy, 0);
    if (unsent)
      streamSnapshot(process, &thread->stream[kind][1], copy, BlockFlagUNSENT);
  }
  QuietUnmap(copy, BlockMAX);
}

void ThreadRelease(Thread thread)
{
  unsigned kind, unsent;
  Index i;

  for (kind = 0; kind < EventKindLIMIT; ++kind)
    for (unsent = 0; unsent < 2; ++unsent) {
      Stream stream = &thread->stream[kind][unsent];
      for (i = 0; i < StreamParkedMAX; ++i)
        if (stream->parked[i] != NULL)
          StoreGive(stream->store, stream->parked[i], stream->parked[i]->whole);
      if (stream->block != NULL)
        StoreGive(stream->store, stream->block, stream->size);
    }
}

Bool ThreadCheck(Thread thread)
{
  unsigned kind, unsent;

  AVER(thread->state <= ThreadRETIRED);
  AVER(thread->state != ThreadLIVE || thread->hot.self == &thread->hot);
  for (kind = 0; kind < EventKindLIMIT; ++kind)
    for (unsent = 0; unsent < 2; ++unsent) {
      Stream stream = &thread->stream[kind][unsent];
      Word next = thread->hot.cursor[kind][unsent].next;
      if (stream->block == NULL) {
        AVER((next & EventBlockBIT) == 0);
        continue;
      }
      AVER(WordIsPowerOf2(stream->size) && stream->size >= BlockMIN && stream->size <= BlockMAX);
      AVER((((Word)stream->block + stream->size) & (EventBlockBIT * 2 - 1)) == 0);
      AVER(next == 0 || next >= (Word)streamEvents(stream->block));
    }
  return TRUE;
}
