/* stream.c -- one stream: its cursor and the block that it points into
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/stream.h"

#include <sched.h>
#include <string.h>

#include "base/aver.h"
#include "emit/emitter.h"
#include "format/fence.h"

enum {
  streamSmallMAX = 16384,      /* bytes of the largest block of a kind that is rare, or not sent */
  streamGrowTICKS = 100000000, /* a block that fills faster than this, about a tenth of a second, is too small */
  streamEpochSIZE = 16
};

/* StreamAbandon -- mark room that was reserved and will not be filled; what of it lies behind the block's end is not
 * there */
void StreamAbandon(Word at, Size size)
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
static BlockHeaderStruct streamHeader(Emitter emitter, Thread thread, unsigned kind, unsigned unsent, Size size)
{
  Stream stream = &thread->stream[kind][unsent];
  uint64_t now = EventClock(EVENT_SLOW);
  uint16_t cpu = (uint16_t)sched_getcpu();

  BlockHeaderStruct header = {
    .order = BlockORDER,
    .major = BlockMAJOR,
    .flags = (uint8_t)(BlockFlagCPU | BlockFlagSUMMED | (unsent ? BlockFlagUNSENT : 0)),
    .kind = (uint8_t)StreamKind(kind),
    .whole = (uint32_t)size,
    .pid = emitter->pid,
    .thread = thread->tid,
    .cpuFirst = cpu,
    .cpuLast = cpu,
    .process = emitter->identity,
    .stream = StreamNumber(thread, kind, unsent),
    .sequence = stream->sequence,
    /* What still waits is counted when it goes out. */
    .before = stream->sent == stream->sequence ? stream->before : BlockBeforeUNKNOWN,
    .discarded = stream->discarded,
    .first = now,
  };

  header.last = header.mono = BlockHeaderSum(&header);
  return header;
}

/* StreamStart -- a reader from outside finds either no block or a sound one at any moment of this: the slot has no
 * size before the header is complete. */
void StreamStart(Emitter emitter, Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  BlockHeader block = stream->block;
  BlockHeaderStruct header = streamHeader(emitter, thread, kind, unsent, stream->size);
  RegionHeader region = stream->store->header;

  AVER_CRITICAL(region != NULL && block != NULL);
  AVER_CRITICAL(WordIsPowerOf2(stream->size) && stream->size == StoreSize(block));
  memcpy((char *)block + BlockMagicSIZE, (char *)&header + BlockMagicSIZE, sizeof header - BlockMagicSIZE);
  Fence();
  memcpy(block->magic, BlockMAGIC, BlockMagicSIZE);
  __atomic_store_n(&region->state[StoreSlot(region, block)], (uint8_t)(RegionOPEN | __builtin_ctzl(StoreSize(block))),
                   __ATOMIC_RELEASE);
  cursor->epoch = (uint32_t)(header.first >> 32);
  stream->held = !unsent && stream->store != &emitter->shared && EmitterRegion(emitter) != NULL
                   ? (Word)StreamEvents(block) : 0;
  __atomic_store_n(&cursor->next, stream->held != 0 ? 0 : (Word)StreamEvents(block), __ATOMIC_RELEASE);
}

void StreamLeave(BlockHeader block)
{
  block->cpuLast = (uint16_t)sched_getcpu();
}

void StreamAlter(BlockHeader block, Size used, uint64_t before, uint64_t discarded)
{
  uint64_t sum = block->mono + BlockSumPart(used, before, discarded) -
                 BlockSumPart(block->used, block->before, block->discarded);

  block->last = sum;
  Fence();
  block->used = (uint32_t)used;
  block->before = before;
  block->discarded = discarded;
  Fence();
  block->mono = sum;
}

/* StreamErase -- erase a block and its events.  First its slot loses its size: a slot that has a size and no sound
 * header was written over by the program. */
void StreamErase(RegionHeader region, BlockHeader block, Size used)
{
  AVER_CRITICAL(StoreSlot(region, block) < RegionSlotsMAX);
  AVER_CRITICAL(used <= StoreSize(block) - BlockHeaderSIZE);
  __atomic_store_n(&region->state[StoreSlot(region, block)], RegionERASED, __ATOMIC_RELEASE);
  Fence();
  __atomic_store_n((uint64_t *)(void *)block->magic, 0, __ATOMIC_RELEASE);
  Fence();
  memset((char *)block + BlockMagicSIZE, 0, BlockHeaderSIZE - BlockMagicSIZE + used);
}

/* StreamSize -- how large the next block should be */
Size StreamSize(Emitter emitter, Stream stream, unsigned kind, unsigned unsent)
{
  Size max = (EventKindsFREQUENT >> kind & 1) != 0 && !unsent ? emitter->blockSize : streamSmallMAX, size;

  if (stream->block == NULL)
    return BlockMIN;
  if (stream->size >= max || EventClock(EVENT_SLOW) - stream->block->first > streamGrowTICKS)
    return stream->size;
  size = stream->size * (stream->size == BlockMIN ? 2 : 4);
  return size < max ? size : max;
}

/* StreamTakeFrom -- a fresh block of `size` bytes, or a smaller one if there is no such */
Bool StreamTakeFrom(Stream stream, Store store, Size size)
{
  BlockHeader block = StoreTake(store, &size);

  AVER_CRITICAL(block == NULL || (size >= BlockMIN && size <= BlockMAX));
  if (block == NULL)
    return FALSE;
  stream->size = size;
  stream->store = store;
  /* Readers of running threads trust this pointer. */
  __atomic_store_n(&stream->block, block, __ATOMIC_RELEASE);
  return TRUE;
}

/* StreamReserved -- bytes of the block's events that have been reserved, filled or not; what goes beyond the end is
 * not there */
Size StreamReserved(Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  Word next = stream->held != 0 ? stream->held : thread->hot.cursor[kind][unsent].next;
  Word base = (Word)StreamEvents(stream->block);

  return (next & EventBlockBIT) != 0 && next >= base ? next - base : stream->size - BlockHeaderSIZE;
}

/* StreamTally -- what a block holds; `settle` if nobody will fill what is pending.  Room that was reserved at the
 * end is pending, too, though nothing that follows tells of it. */
void StreamTally(BlockTally tally, BlockHeader block, Size size, Size reserved, Bool settle)
{
  BlockWalk(tally, StreamEvents(block), size - BlockHeaderSIZE, block->first, settle);
  if (tally->used < reserved)
    ++tally->pending;
}

/* streamEpoch -- tell in the block that the clock's high half has changed; FALSE: no room */
static Bool streamEpoch(EventCursor cursor, uint64_t now)
{
  Word at = eventAdvance(&cursor->next, streamEpochSIZE);
  EventHeader event = (EventHeader)at;

  if (((at + streamEpochSIZE - 1) & EventBlockBIT) == 0) {
    StreamAbandon(at, streamEpochSIZE);
    return FALSE;
  }
  eventFill(at, streamEpochSIZE, now);
  memcpy(event + 1, &now, sizeof now);
  EventCommit(event, EventEpochCODE);
  cursor->epoch = (uint32_t)(now >> 32);
  return TRUE;
}

/* streamTry -- reserve room as EventReserve does, when nothing can interrupt; 0: full */
static Word streamTry(EventCursor cursor, Size size)
{
  uint64_t now = EventClock(EVENT_SLOW);
  Word at;

  if ((cursor->next & EventBlockBIT) == 0)
    return 0;
  if ((uint32_t)(now >> 32) != cursor->epoch && !streamEpoch(cursor, now))
    return 0;
  at = eventAdvance(&cursor->next, WordAlignUp(size, EventALIGN));
  if (((at + size - 1) & EventBlockBIT) == 0) {
    StreamAbandon(at, size);
    return 0;
  }
  /* Between the two readings the epoch may have turned, once in some seconds: then the event is stamped with the
   * first. */
  eventFill(at, size, now);
  return at;
}

Word StreamTry(Emitter emitter, Thread thread, unsigned kind, unsigned unsent, Size size)
{
  Stream stream = &thread->stream[kind][unsent];
  EventCursor cursor = &thread->hot.cursor[kind][unsent];
  EventCursorStruct held = {stream->held, cursor->epoch, 0};
  Word at;

  if (LIKELY(stream->held == 0))
    return streamTry(cursor, size);
  at = streamTry(&held, size);
  /* The event has moved the real cursor, too: it must not come to where a block seems to be. */
  __atomic_store_n(&cursor->next, 0, __ATOMIC_RELAXED);
  stream->held = held.next;
  cursor->epoch = held.epoch;
  if (at != 0) {
    (void)__atomic_fetch_add(&stream->block->count, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&EmitterRegion(emitter)->pool.away, 1, __ATOMIC_RELAXED);
  }
  return at;
}

void StreamHome(Emitter emitter, BlockHeader block, Count count)
{
  RegionHeader region = EmitterRegion(emitter);
  uint32_t all = __atomic_load_n(&block->count, __ATOMIC_RELAXED), home = count < all ? (uint32_t)count : all, before;

  if (region == NULL || all == 0)
    return;
  before = __atomic_exchange_n(&block->rest, home, __ATOMIC_RELAXED);
  (void)__atomic_fetch_sub(&region->pool.away, (uint64_t)home - before, __ATOMIC_RELAXED);
}

RegionLeaving StreamDepart(Emitter emitter, BlockHeader block)
{
  RegionHeader region = EmitterRegion(emitter);
  uint32_t count = block->count - block->rest, none;
  Index i;

  for (i = 0; region != NULL && count > 0 && i < RegionLEAVING; ++i) {
    RegionLeaving leaving = &region->leaving[i];
    none = 0;
    if (!__atomic_compare_exchange_n(&leaving->count, &none, RegionLeavingCLAIMED, FALSE, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
      continue;
    leaving->stream = block->stream;
    leaving->sequence = block->sequence;
    leaving->to = block->before == BlockBeforeUNKNOWN ? BlockBeforeUNKNOWN : block->before + block->count;
    __atomic_store_n(&leaving->count, count, __ATOMIC_RELEASE);
    StreamHome(emitter, block, block->count);
    return leaving;
  }
  return NULL;
}

void StreamArrive(Emitter emitter, BlockHeader block, RegionLeaving leaving, Bool sent)
{
  StreamHome(emitter, block, sent ? block->count : 0);
  if (leaving != NULL)
    __atomic_store_n(&leaving->count, 0, __ATOMIC_RELEASE);
}
