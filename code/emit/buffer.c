/* buffer.c -- filling blocks, and changing them
 *
 * Everything here runs with signals blocked, in the thread that owns the state, or for one that has ended.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/buffer.h"

#include <errno.h>
#include <string.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/hand.h"
#include "emit/process.h"
#include "emit/send.h"
#include "emit/stream.h"
#include "plinth/quiet.h"

__thread EventThread EventThreadSelf;

/* streamTake -- a fresh block from where the stream's blocks should lie, or else from where they may */
static Bool streamTake(Process process, Stream stream, unsigned unsent, Size size)
{
  if (!unsent && ProcessRegion(process) == NULL && ProcessSends())
    ProcessShare(process);
  /* The flight recorder's, too, where others may look at it. */
  if (ProcessRegion(process) != NULL && (!unsent || ProcessCollected(process) || ControlSettings.allowed)) {
    if (StreamTakeFrom(stream, &process->shared, size))
      return TRUE;
    if (!unsent && !__atomic_exchange_n(&process->crowded, TRUE, __ATOMIC_RELAXED))
      QuietSay("no more room for blocks", process->shared.path,
               "events go through private memory, and are lost if the process is killed");
  }
  return StreamTakeFrom(stream, &process->own, size);
}

/* streamCount -- so many events more are in blocks that are done with */
static void streamCount(Stream stream, Count count)
{
  if (stream->before != BlockBeforeUNKNOWN)
    stream->before += count;
}

/* streamTells -- has a block anything to tell: events, or how many were discarded? */
static Bool streamTells(Stream stream, BlockTally tally)
{
  return tally->used > 0 || stream->discarded != stream->told;
}

/* streamSend -- send a block that has ended, the oldest of the stream, and count.  What could not be sent is
 * discarded, and the next block has its number; unless that is open already: `numbered`.  ResFAIL: nothing was done,
 * because its count was unknown and events are pending. */
static Res streamSend(Process process, Stream stream, BlockHeader block, BlockTally tally, unsigned flags,
                      Bool numbered)
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
    streamCount(stream, tally->count);
  } else {
    stream->discarded += tally->count;
  }
  return ResOK;
}

/* streamOverwrite -- the flight recorder's block is done with.  The next one has its number, unless somebody has
 * sent it as it was, or that is open already. */
static void streamOverwrite(Stream stream, BlockTally tally, Bool numbered)
{
  streamCount(stream, tally->count);
  if (numbered || __atomic_load_n(&stream->snapped, __ATOMIC_ACQUIRE) == stream->sequence + 1)
    ++stream->sequence;
}

/* streamForget -- a block is done with; its memory is free, unless an interrupted event may yet be written there:
 * then nobody gets that memory any more */
static void streamForget(Stream stream, BlockHeader block, BlockTally tally, Size reserved, Bool final)
{
  Size size = block->whole;

  StreamErase(block, tally->used > reserved ? tally->used : reserved);
  if (tally->pending == 0 || final)
    StoreGive(stream->store, block, size);
}

/* streamSettled -- the tally of a block whose pending room nobody will fill; `pending` says whether there was any */
static void streamSettled(BlockTally tally, BlockHeader block, Size size, Size reserved)
{
  Count pending;

  StreamTally(tally, block, size, reserved, FALSE);
  pending = tally->pending;
  if (pending > 0)
    StreamTally(tally, block, size, reserved, TRUE);
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
    StreamTally(&tally, block, block->whole, stream->parked[0].reserved, FALSE);
    if (tally.pending > 0 && !final)
      return;
    streamUnpark(process, stream, send, flags, final);
  }
}

/* streamBefore -- let the open blocks say how many events were before each, and how many were discarded, for whoever
 * reads them as they are */
static void streamBefore(Stream stream)
{
  uint64_t before = stream->before;
  BlockTallyStruct tally;
  Index i;

  for (i = 0; i < stream->parks; ++i) {
    BlockHeader block = stream->parked[i].block;
    block->before = before;
    block->discarded = stream->discarded;
    StreamTally(&tally, block, block->whole, stream->parked[i].reserved, FALSE);
    before += before != BlockBeforeUNKNOWN ? tally.count : 0;
  }
  if (stream->block != NULL) {
    stream->block->before = before;
    stream->block->discarded = stream->discarded;
  }
}

/* streamGivenUp -- how many events a parked block waits for.  Room at its end that has not even a length is none: what
 * did not fit there is reserved anew. */
static Count streamGivenUp(Parked parked)
{
  const char *events = StreamEvents(parked->block);
  Size size = parked->block->whole - BlockHeaderSIZE;
  EventHeaderStruct last = {0, 0, 0};
  BlockTallyStruct tally;

  BlockWalk(&tally, StreamEvents(parked->block), size, parked->block->first, FALSE);
  if (tally.used + sizeof last <= size)
    memcpy(&last, events + tally.used, sizeof last);
  return tally.pending + (last.length != 0);
}

/* streamPark -- put the block aside: an interrupted event will be filled into it, or into an older one, when we
 * return.  Where many are waiting, the oldest is given up: its handler has jumped away, and will never return; or it
 * has been interrupted for so long that we cannot tell, so what it was about to say counts as discarded. */
static void streamPark(Process process, Stream stream, Size reserved, Bool send)
{
  if (stream->parks == StreamParkedMAX) {
    stream->discarded += streamGivenUp(&stream->parked[0]);
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
  StreamTally(&tally, stream->block, stream->size, reserved, FALSE);
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
  Size size = StreamSize(process, stream, kind, unsent), reserved;
  BlockHeader block = stream->block;

  streamDrain(process, stream, !unsent, 0, FALSE);
  if (block != NULL) {
    reserved = StreamReserved(thread, kind, unsent);
    __atomic_store_n(&cursor->next, 0, __ATOMIC_RELEASE);
    if (!streamFinish(process, stream, reserved, unsent)) {
      streamPark(process, stream, reserved, !unsent);
    } else {
      StreamErase(block, reserved);
      if (size != stream->size || (stream->store == &process->own && !unsent && ProcessRegion(process) != NULL)) {
        __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
        StoreGive(stream->store, block, stream->size);
      }
    }
  }
  __atomic_store_n(&cursor->next, 0, __ATOMIC_RELEASE);
  if (stream->block == NULL && !streamTake(process, stream, unsent, size))
    return FALSE;
  StreamStart(process, thread, kind, unsent);
  if (stream->parks > 0)
    streamBefore(stream);
  return TRUE;
}

/* threadChange -- an empty block for the stream that an event goes to now */
static Bool threadChange(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  if (unsent)
    return streamChange(process, thread, kind, unsent);
  if (ProcessRegion(process) == NULL && ProcessSends())
    ProcessShare(process);
  HandCheck(process);
  return ProcessCollected(process) ? HandChange(process, thread, kind) : streamChange(process, thread, kind, unsent);
}

/* threadReserve -- room for an event; 0: there is none, and it is counted, or *waitReturn: try again when there is */
static Word threadReserve(Process process, Thread thread, unsigned kind, unsigned unsent, Size size, Bool *waitReturn)
{
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  Word at = StreamTry(cursor, size);

  *waitReturn = FALSE;
  if (at != 0)
    return at;
  ControlReceive();
  if (threadChange(process, thread, kind, unsent))
    at = StreamTry(cursor, size);
  if (at == 0 && ProcessCollected(process) && !unsent)
    *waitReturn = HandDiscard(process, thread, kind);
  else if (at == 0)
    ++thread->stream[kind][unsent].discarded;
  return at;
}

/* threadOutside -- the thread is inside a change, which we have interrupted, and its cursor may stand still in no
 * block: then what we reserve there again and again must not carry it to where a block seems to be */
static void threadOutside(Thread thread, unsigned kind)
{
  EventCursor cursor = thread->hot.cursor[kind];

  for (; cursor < thread->hot.cursor[kind] + 2; ++cursor)
    if ((cursor->next & EventBlockBIT) == 0)
      __atomic_store_n(&cursor->next, 0, __ATOMIC_RELAXED);
}

/* threadPlace -- the same in the calling thread's state; or in its second one, if we have interrupted the first */
static Word threadPlace(unsigned kind, unsigned unsent, Size size, Bool *waitReturn)
{
  Thread thread = ProcessThreadSelf();
  Process process = ProcessGet();

  *waitReturn = FALSE;
  if (thread != NULL && thread->inside) {
    threadOutside(thread, kind);
    thread = ProcessThreadNested(thread);
  }
  return thread == NULL || process == NULL ? 0 : threadReserve(process, thread, kind, unsent, size, waitReturn);
}

/* bufferUnsent -- are events of this kind not sent? */
static unsigned bufferUnsent(unsigned kind)
{
  return ~(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> StreamKind(kind)) & 1;
}

void *EventReserveSlow(unsigned kind, Size size, Word at)
{
  EventThread self = EventThreadSelf;
  QuietMaskStruct mask;
  int error = errno;
  Bool wait = FALSE;
  Word place = 0;

  AVER(size <= EventSizeMAX);
  if (LIKELY(self != NULL && self->self == self && !EVENT_ATTEND &&
             (__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> StreamKind(kind) & 1) != 0))
    place = HandReserve((Thread)(void *)self, kind, size, at);
  if (place != 0)
    return place == HandNOROOM ? NULL : (void *)place;
  QuietBegin(&mask);
  StreamAbandon(at, size);
  ControlAttend();
  /* The first event sets the process up, and only then it is known whether its kind is sent. */
  (void)ProcessGet();
  while ((place = threadPlace(kind, bufferUnsent(kind), size, &wait)) == 0 && wait) {
    QuietEnd(&mask);
    HandWait(ProcessGet());
    QuietBegin(&mask);
  }
  QuietEnd(&mask);
  errno = error;
  return (void *)place;
}

void *BufferReserveSent(unsigned kind, Size size)
{
  Bool wait;

  return (void *)threadPlace(kind, 0, size, &wait);
}

/* threadTell -- send how many events of a stream that has no block were discarded */
static void threadTell(Process process, Thread thread, unsigned kind, unsigned unsent)
{
  BlockHeaderStruct header = StreamHeader(process, thread, kind, unsent, BlockMIN);
  BlockTallyStruct none = {.last = header.first};

  memcpy(header.magic, BlockMAGIC, BlockMagicSIZE);
  streamSend(process, &thread->stream[kind][unsent], &header, &none, unsent ? BlockFlagUNSENT : 0, FALSE);
}

/* threadHandLast -- hand over what a stream holds */
static void threadHandLast(Process process, Thread thread, unsigned kind, Bool final)
{
  BlockHeader block = thread->stream[kind][0].block;
  BlockTallyStruct tally;

  if (block != NULL && final)
    BlockWalk(&tally, StreamEvents(block), StreamReserved(thread, kind, 0), block->first, TRUE);
  HandLast(process, thread, kind);
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

  if (ProcessCollected(process) && !unsent) {
    threadHandLast(process, thread, kind, final);
    return TRUE;
  }
  streamDrain(process, stream, TRUE, flags, final);
  if (block == NULL && stream->parks == 0) {
    if (stream->discarded != stream->told)
      threadTell(process, thread, kind, unsent);
    return TRUE;
  }
  if (block == NULL)
    return FALSE;
  reserved = StreamReserved(thread, kind, unsent);
  StreamTally(&tally, block, stream->size, reserved, FALSE);
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

  for (kind = 0; process != NULL && kind < EventStreamsLIMIT; ++kind) {
    whole &= threadEnd(process, thread, kind, 0, final);
    if (unsent)
      whole &= threadEnd(process, thread, kind, 1, final);
  }
  if (!whole)
    ThreadSnapshot(thread, unsent);
}

/* threadForget -- nobody wants what is in the block, if there is one */
static void threadForget(Stream stream, BlockHeader block)
{
  Size size;

  if (block == NULL)
    return;
  size = block->whole;
  StreamErase(block, size - BlockHeaderSIZE);
  StoreGive(stream->store, block, size);
}

void ThreadRelease(Thread thread)
{
  unsigned kind, unsent;
  Index i;

  for (kind = 0; kind < EventStreamsLIMIT; ++kind)
    for (unsent = 0; unsent < 2; ++unsent) {
      Stream stream = &thread->stream[kind][unsent];
      for (i = 0; i < StreamParkedMAX; ++i)
        threadForget(stream, stream->parked[i].block);
      threadForget(stream, stream->block);
    }
}

void ThreadForget(Thread thread, Store store)
{
  unsigned kind;

  for (kind = 0; kind < EventStreamsLIMIT; ++kind) {
    Stream stream = &thread->stream[kind][1];
    if (stream->store == store && stream->block != NULL) {
      __atomic_store_n(&thread->hot.cursor[kind][1].next, 0, __ATOMIC_RELEASE);
      threadForget(stream, stream->block);
      stream->block = NULL;
    }
  }
}

Bool ThreadCheck(Thread thread)
{
  unsigned kind, unsent;

  AVER(thread->state <= ThreadRETIRED);
  AVER(thread->state != ThreadLIVE || thread->hot.self == &thread->hot);
  for (kind = 0; kind < EventStreamsLIMIT; ++kind)
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
