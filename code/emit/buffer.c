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

/* streamAbandon -- mark room that was reserved and will not be filled; what of it lies behind the block's end is not
 * there */
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

/* streamHeader -- the header of the stream's next block; no magic yet */
static BlockHeaderStruct streamHeader(Process process, Thread thread, unsigned kind, unsigned unsent, Size size)
{
  Stream stream = &thread->stream[kind][unsent];
  uint64_t now = EventClock(EVENT_CONTROL[EventControlCLOCK] != 0);

  return (BlockHeaderStruct){
    .order = BlockORDER,
    .major = BlockMAJOR,
    .flags = (uint8_t)(unsent ? BlockFlagUNSENT : 0),
    .kind = (uint8_t)kind,
    .whole = (uint32_t)size,
    .pid = process->pid,
    .thread = thread->tid,
    .cpuFirst = (uint16_t)sched_getcpu(),
    .process = process->identity,
    .stream = StreamNumber(thread, kind, unsent),
    .sequence = stream->sequence + stream->parks,
    .before = stream->before,
    .discarded = stream->discarded,
    .first = now,
    .last = now,
  };
}

/* streamStart -- make the stream's memory an empty block.  Whoever reads it from outside at any moment of this finds
 * either no block or a sound one: the magic goes first and comes last. */
static void streamStart(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  BlockHeader block = stream->block;
  BlockHeaderStruct header = streamHeader(process, thread, kind, unsent, stream->size);

  memcpy((char *)block + BlockMagicSIZE, (char *)&header + BlockMagicSIZE, sizeof header - BlockMagicSIZE);
  BufferFence();
  memcpy(block->magic, BlockMAGIC, BlockMagicSIZE);
  cursor->epoch = (uint32_t)(header.first >> 32);
  __atomic_store_n(&cursor->next, (Word)StreamEvents(block), __ATOMIC_RELEASE);
}

/* streamErase -- no block is here any more, and no events */
static void streamErase(BlockHeader block, Size used)
{
  __atomic_store_n((uint64_t *)(void *)block->magic, 0, __ATOMIC_RELEASE);
  BufferFence();
  memset(StreamEvents(block), 0, used);
}

/* streamSize -- how large the next block should be */
static Size streamSize(Stream stream, unsigned kind, unsigned unsent)
{
  Size max = (EventKindsFREQUENT >> kind & 1) != 0 && !unsent ? bufferLargeMAX : bufferSmallMAX;

  if (stream->block == NULL)
    return BlockMIN;
  if (stream->size >= max || EventClock(EVENT_CONTROL[EventControlCLOCK] != 0) - stream->block->first > bufferGrowTICKS)
    return stream->size;
  return stream->size * 4 < max ? stream->size * 4 : max;
}

/* streamTakeFrom -- a fresh block of `size` bytes, or smaller where that cannot be had */
static Bool streamTakeFrom(Stream stream, Store store, Size size)
{
  for (; store->header != NULL && size >= BlockMIN; size /= 2) {
    BlockHeader block = StoreTake(store, size);
    if (block != NULL) {
      stream->size = size;
      stream->store = store;
      /* Those who look at running threads believe what this points to. */
      __atomic_store_n(&stream->block, block, __ATOMIC_RELEASE);
      return TRUE;
    }
  }
  return FALSE;
}

/* streamTake -- the same from where the stream's blocks should lie, or else from where they may */
static Bool streamTake(Process process, Stream stream, unsigned unsent, Size size)
{
  if (!unsent && process->shared.header == NULL && ProcessSends())
    ProcessShare(process);
  if (!unsent && process->shared.header != NULL) {
    if (streamTakeFrom(stream, &process->shared, size))
      return TRUE;
    if (!__atomic_exchange_n(&process->crowded, TRUE, __ATOMIC_RELAXED))
      QuietSay("no more room for blocks", process->shared.path,
               "events go through private memory, and are lost if the process is killed");
  }
  return streamTakeFrom(stream, &process->own, size);
}

/* streamReserved -- bytes of the block's events that have been reserved, filled or not; what goes beyond the end is
 * not there */
static Size streamReserved(Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  Word next = thread->hot.cursor[kind][unsent].next, base = (Word)StreamEvents(stream->block);

  return (next & EventBlockBIT) != 0 && next >= base ? next - base : stream->size - BlockHeaderSIZE;
}

/* streamTally -- what a block holds; `settle` if nobody will fill what is pending.  Room that was reserved at the
 * end is pending, too, though nothing that follows tells of it. */
static void streamTally(BlockTally tally, BlockHeader block, Size size, Size reserved, Bool settle)
{
  BlockWalk(tally, StreamEvents(block), size - BlockHeaderSIZE, block->first, settle);
  if (tally->used < reserved)
    ++tally->pending;
}

/* streamTells -- has a block anything to tell: events, or how many were discarded? */
static Bool streamTells(Stream stream, BlockTally tally)
{
  return tally->used > 0 || stream->discarded != stream->told;
}

/* streamSend -- send a block that has ended, the oldest of the stream, and count.  What could not be sent is
 * discarded, and the next block has its number; unless that is open already: `numbered`.  ResFAIL: nothing was done,
 * because its count was unknown and events are pending. */
static Res streamSend(Process process, Stream stream, BlockHeader block, BlockTally tally, unsigned flags, Bool numbered)
{
  Res res = ResOK;

  block->sequence = stream->sequence;
  block->before = stream->before;
  block->discarded = stream->discarded;
  if (!streamTells(stream, tally) && !numbered)
    return ResOK;
  res = SendBlock(process, block, tally, flags);
  if (res == ResFAIL)
    return res;
  if (res == ResOK)
    stream->told = block->discarded;
  if (res == ResOK || numbered) {
    ++stream->sequence;
    stream->before += tally->count;
  } else {
    stream->discarded += tally->count;
  }
  return ResOK;
}

/* streamOverwrite -- the flight recorder's block is done with.  The next one has its number, unless somebody has
 * sent it as it was, or that is open already. */
static void streamOverwrite(Stream stream, BlockTally tally, Bool numbered)
{
  stream->before += tally->count;
  if (numbered || __atomic_load_n(&stream->snapped, __ATOMIC_ACQUIRE) == stream->sequence + 1)
    ++stream->sequence;
}

/* streamForget -- a block is done with; its memory is free, unless an interrupted event may yet be written there:
 * then nobody gets that memory any more */
static void streamForget(Stream stream, BlockHeader block, BlockTally tally, Size reserved, Bool final)
{
  Size size = block->whole;

  streamErase(block, tally->used > reserved ? tally->used : reserved);
  if (tally->pending == 0 || final)
    StoreGive(stream->store, block, size);
}

/* streamSettled -- the tally of a block whose pending room nobody will fill; `pending` says whether there was any */
static void streamSettled(BlockTally tally, BlockHeader block, Size size, Size reserved)
{
  Count pending;

  streamTally(tally, block, size, reserved, FALSE);
  pending = tally->pending;
  if (pending > 0)
    streamTally(tally, block, size, reserved, TRUE);
  tally->pending = pending;
}

/* streamUnpark -- the oldest parked block is done with: send it if `send` */
static void streamUnpark(Process process, Stream stream, Bool send, unsigned flags, Bool final)
{
  Parked oldest = &stream->parked[0];
  BlockHeader block = oldest->block;
  Size reserved = oldest->reserved;
  BlockTallyStruct tally;

  streamSettled(&tally, block, block->whole, reserved);
  if (send)
    (void)streamSend(process, stream, block, &tally, flags, TRUE);
  else
    streamOverwrite(stream, &tally, TRUE);
  memmove(oldest, oldest + 1, (StreamParkedMAX - 1) * sizeof *oldest);
  --stream->parks;
  streamForget(stream, block, &tally, reserved, final);
}

/* streamDrain -- send the parked blocks whose interrupted events have been filled meanwhile, up to the first that
 * still waits; all of them if `final`.  They go out in order: each says how many events were before it. */
static void streamDrain(Process process, Stream stream, Bool send, unsigned flags, Bool final)
{
  BlockTallyStruct tally;

  while (stream->parks > 0) {
    BlockHeader block = stream->parked[0].block;
    streamTally(&tally, block, block->whole, stream->parked[0].reserved, FALSE);
    if (tally.pending > 0 && !final)
      return;
    streamUnpark(process, stream, send, flags, final);
  }
}

/* streamBefore -- let the open blocks say how many events were before each, for whoever reads them as they are */
static void streamBefore(Stream stream)
{
  uint64_t before = stream->before;
  BlockTallyStruct tally;
  Index i;

  for (i = 0; i < stream->parks; ++i) {
    BlockHeader block = stream->parked[i].block;
    block->before = before;
    streamTally(&tally, block, block->whole, stream->parked[i].reserved, FALSE);
    before += tally.count;
  }
  if (stream->block != NULL)
    stream->block->before = before;
}

/* streamPark -- put the block aside: an interrupted event will be filled into it, or into an older one, when we
 * return.  Where many are waiting, the oldest is given up: its handler has jumped away, and will never return. */
static void streamPark(Process process, Stream stream, Size reserved, Bool send)
{
  if (stream->parks == StreamParkedMAX) {
    streamUnpark(process, stream, send, 0, FALSE);
    streamDrain(process, stream, send, 0, FALSE);
  }
  stream->parked[stream->parks].reserved = reserved;
  __atomic_store_n(&stream->parked[stream->parks].block, stream->block, __ATOMIC_RELEASE);
  ++stream->parks;
  __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
}

/* streamFinish -- send the stream's block, or count what the flight recorder forgets.  FALSE: something in it, or in
 * an older one, is pending. */
static Bool streamFinish(Process process, Stream stream, Size reserved, unsigned unsent)
{
  BlockTallyStruct tally = {.used = reserved, .count = SendCountUNKNOWN, .last = stream->block->first};

  if (stream->parks > 0)
    return FALSE;
  if (!unsent)
    return streamSend(process, stream, stream->block, &tally, 0, FALSE) == ResOK;
  streamTally(&tally, stream->block, stream->size, reserved, FALSE);
  if (tally.pending > 0)
    return FALSE;
  streamOverwrite(stream, &tally, FALSE);
  return TRUE;
}

/* streamChange -- an empty block for the stream; what was in the old one is sent, if it is a stream that is.  FALSE:
 * there is none. */
static Bool streamChange(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  Size size = streamSize(stream, kind, unsent), reserved;
  BlockHeader block = stream->block;

  streamDrain(process, stream, !unsent, 0, FALSE);
  if (block != NULL) {
    reserved = streamReserved(thread, kind, unsent);
    __atomic_store_n(&cursor->next, 0, __ATOMIC_RELEASE);
    if (!streamFinish(process, stream, reserved, unsent)) {
      streamPark(process, stream, reserved, !unsent);
    } else {
      streamErase(block, reserved);
      if (size != stream->size || (stream->store == &process->own && !unsent && process->shared.header != NULL)) {
        __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
        StoreGive(stream->store, block, stream->size);
      }
    }
  }
  __atomic_store_n(&cursor->next, 0, __ATOMIC_RELEASE);
  if (stream->block == NULL && !streamTake(process, stream, unsent, size))
    return FALSE;
  streamStart(process, thread, kind, unsent);
  if (stream->parks > 0)
    streamBefore(stream);
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
  /* Between the two readings the epoch may have turned, once in some seconds: then the event is stamped with the
   * first. */
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

/* threadTell -- send how many events of a stream that has no block were discarded */
static void threadTell(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  BlockHeaderStruct header = streamHeader(process, thread, kind, unsent, BlockMIN);
  BlockTallyStruct none = {.last = header.first};

  memcpy(header.magic, BlockMAGIC, BlockMagicSIZE);
  streamSend(process, &thread->stream[kind][unsent], &header, &none, unsent ? BlockFlagUNSENT : 0, FALSE);
}

/* threadEnd -- send what one of its streams holds and give back the blocks; it starts anew with the next event.
 * FALSE: an event that was interrupted is going to be filled in; the block stays as it is. */
static Bool threadEnd(Process process, Thread thread, unsigned kind, unsigned unsent, Bool final)
{
  Stream stream = &thread->stream[kind][unsent];
  unsigned flags = unsent ? BlockFlagUNSENT : 0;
  BlockHeader block = stream->block;
  BlockTallyStruct tally;
  Size reserved;

  streamDrain(process, stream, TRUE, flags, final);
  if (block == NULL && stream->parks == 0) {
    if (stream->discarded != stream->told)
      threadTell(process, thread, kind, unsent);
    return TRUE;
  }
  if (block == NULL)
    return FALSE;
  reserved = streamReserved(thread, kind, unsent);
  streamTally(&tally, block, stream->size, reserved, FALSE);
  if ((tally.pending > 0 || stream->parks > 0) && !final) {
    streamBefore(stream);
    return FALSE;
  }
  __atomic_store_n(&thread->hot.cursor[kind][unsent].next, 0, __ATOMIC_RELEASE);
  streamSettled(&tally, block, stream->size, reserved);
  streamSend(process, stream, block, &tally, flags, FALSE);
  __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
  streamForget(stream, block, &tally, reserved, thread->state == ThreadRETIRED);
  return TRUE;
}

void ThreadFlush(Thread thread, Bool unsent, Bool final)
{
  Process process = ProcessGet();
  Bool whole = TRUE;
  unsigned kind;

  for (kind = 0; process != NULL && kind < EventKindLIMIT; ++kind) {
    whole &= threadEnd(process, thread, kind, 0, final);
    if (unsent)
      whole &= threadEnd(process, thread, kind, 1, final);
  }
  if (!whole)
    ThreadSnapshot(thread, unsent);
}

void ThreadRelease(Thread thread)
{
  unsigned kind, unsent;
  Index i;

  for (kind = 0; kind < EventKindLIMIT; ++kind)
    for (unsent = 0; unsent < 2; ++unsent) {
      Stream stream = &thread->stream[kind][unsent];
      for (i = 0; i < StreamParkedMAX; ++i)
        if (stream->parked[i].block != NULL)
          StoreGive(stream->store, stream->parked[i].block, stream->parked[i].block->whole);
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
      AVER(next == 0 || next >= (Word)StreamEvents(stream->block));
    }
  return TRUE;
}
