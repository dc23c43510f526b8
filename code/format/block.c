/* block.c -- block headers, and walking events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/block.h"

#include "base/aver.h"
#include "base/crc.h"
#include "format/fence.h"

enum { blockFlagsSUM = BlockFlagsOWNER | BlockFlagSUMMED };

void BlockHeaderSeal(BlockHeader header)
{
  header->headerCrc = Crc32c(0, header, offsetof(BlockHeaderStruct, headerCrc));
}

void BlockSeal(BlockHeader header, void *rest, Size packed, const void *events)
{
  Bool less = packed > 0 && packed < header->used;

  AVER(packed <= BlockRestMAX);
  if (less)
    header->flags |= BlockFlagPACKED;
  else if (rest != events)
    memcpy(rest, events, header->used);
  header->rest = less ? (uint32_t)packed : header->used;
  header->size = BlockHeaderSIZE + header->rest;
  header->restCrc = Crc32c(0, rest, header->rest);
  BlockHeaderSeal(header);
}

/* blockHeaderSwap -- into the other byte order, field by field */
static void blockHeaderSwap(BlockHeader h)
{
#define SWAP16(f) (h->f = __builtin_bswap16(h->f))
#define SWAP32(f) (h->f = __builtin_bswap32(h->f))
#define SWAP64(f) (h->f = __builtin_bswap64(h->f))
  SWAP32(order);
  SWAP32(size), SWAP32(rest), SWAP32(whole), SWAP32(used), SWAP32(count), SWAP32(pid), SWAP32(thread);
  SWAP16(cpuFirst), SWAP16(cpuLast);
  SWAP64(process);
  SWAP32(stream);
  SWAP64(sequence), SWAP64(before), SWAP64(discarded), SWAP64(first), SWAP64(last), SWAP64(mono);
  SWAP32(restCrc), SWAP32(headerCrc);
#undef SWAP16
#undef SWAP32
#undef SWAP64
}

uint64_t BlockMessageEvents(const void *message, Size size)
{
  BlockHeaderStruct header;

  if (size < sizeof header || memcmp(message, BlockMAGIC, BlockMagicSIZE) != 0)
    return 0;
  memcpy(&header, message, sizeof header);
  return (header.flags & BlockFlagSNAPSHOT) != 0 ? 0 : header.count;
}

static Bool blockSizesSound(BlockHeader h)
{
  return h->whole >= BlockMIN && h->whole <= BlockMAX && h->used <= h->whole - BlockHeaderSIZE &&
         h->used % EventALIGN == 0 && h->rest <= BlockRestMAX && h->size <= BlockRestMAX + BlockHeaderSIZE &&
         h->size >= h->rest + BlockHeaderSIZE && h->count <= h->used / EventALIGN &&
         ((h->flags & BlockFlagPACKED) != 0 || h->rest == h->used) && h->first <= h->last;
}

/* blockCountsSound -- can what a header says of its stream be true: the block's number, and the events before it? */
static Bool blockCountsSound(BlockHeader h)
{
  return h->sequence <= CountMAX && h->discarded <= CountMAX &&
         (h->before <= CountMAX || h->before == BlockBeforeUNKNOWN);
}

Res BlockHeaderRead(BlockHeader header, Bool *swappedReturn, const void *bytes)
{
  uint32_t crc = Crc32c(0, bytes, offsetof(BlockHeaderStruct, headerCrc));

  memcpy(header, bytes, sizeof *header);
  if (memcmp(header->magic, BlockMAGIC, BlockMagicSIZE) != 0)
    return ResFORMAT;
  *swappedReturn = header->order != BlockORDER;
  if (*swappedReturn)
    blockHeaderSwap(header);
  if (header->order != BlockORDER || header->headerCrc != crc)
    return ResFORMAT;
  if (header->major != BlockMAJOR)
    return ResVERSION;
  return blockSizesSound(header) && blockCountsSound(header) ? ResOK : ResFORMAT;
}

/* blockMix -- one field more; no two values of it give the same */
static uint64_t blockMix(uint64_t sum, uint64_t field)
{
  sum = (sum ^ field) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 32;
}

uint64_t BlockHeaderSum(const BlockHeaderStruct *h)
{
  uint64_t sum = blockMix(h->order, h->major | (uint64_t)h->kind << 8 | (uint64_t)(h->flags & blockFlagsSUM) << 16);

  sum = blockMix(sum, h->whole | (uint64_t)h->stream << 32);
  sum = blockMix(sum, h->pid | (uint64_t)h->thread << 32);
  sum = blockMix(sum, h->cpuFirst);
  sum = blockMix(sum, h->process);
  sum = blockMix(sum, h->sequence);
  sum = blockMix(sum, h->first);
  return sum + BlockSumPart(h->used, h->before, h->discarded);
}

/* blockSumSound -- is one of its sums right?  One that was never summed has no `mono`. */
static Bool blockSumSound(BlockHeader h)
{
  uint64_t sum;

  if ((h->flags & BlockFlagSUMMED) == 0)
    return h->mono == 0;
  sum = BlockHeaderSum(h);
  return h->mono == sum || h->last == sum;
}

Bool BlockUnsealedIs(BlockHeader header, const void *bytes, Size whole, uint64_t process)
{
  memcpy(header, bytes, sizeof *header);
  return memcmp(header->magic, BlockMAGIC, BlockMagicSIZE) == 0 && header->order == BlockORDER &&
         header->major == BlockMAJOR && header->whole == whole && whole >= BlockMIN && whole <= BlockMAX &&
         (process == 0 || header->process == process) && blockSumSound(header) && blockCountsSound(header);
}

void BlockChoose(void *events, Size *used, Count *count, const uint8_t *wanted, uint16_t always)
{
  char *base = events;
  Size at, to = 0, size;

  AVER(*used % EventALIGN == 0 && *used <= BlockMAX);
  for (at = 0; at < *used; at += size) {
    EventHeaderStruct event;
    memcpy(&event, base + at, sizeof event);
    size = EventSizeOfLength(event.length);
    if (event.code == EventPadCODE || (event.code >= EventCodeFIRST && event.code != always &&
                                       (wanted[event.code / 8] >> event.code % 8 & 1) == 0)) {
      *count -= event.code >= EventCodeFIRST;
      continue;
    }
    memmove(base + to, base + at, size);
    to += size;
  }
  *used = to;
}

void BlockSealOpen(BlockHeader header, BlockTally tally, unsigned flag)
{
  AVER(flag == BlockFlagRECOVERED || flag == BlockFlagSNAPSHOT);
  AVER(tally->used <= BlockMAX - BlockHeaderSIZE && tally->used % EventALIGN == 0);
  AVER(tally->count <= tally->used / EventALIGN);
  header->flags = (uint8_t)((header->flags & BlockFlagsOWNER) | flag);
  header->used = (uint32_t)tally->used;
  header->count = (uint32_t)tally->count;
  header->last = tally->last;
  header->mono = 0;
  BlockSeal(header, header + 1, 0, header + 1);
}

__attribute__((no_sanitize("thread"))) Bool BlockSame(const void *block, const BlockHeaderStruct *header)
{
  const volatile BlockHeaderStruct *now = block;
  const volatile uint64_t *magic = block;
  uint64_t its;

  memcpy(&its, header->magic, sizeof its);
  return *magic == its && now->process == header->process && now->stream == header->stream &&
         now->sequence == header->sequence && now->first == header->first;
}

__attribute__((no_sanitize("thread"))) Bool BlockCopyLive(void *copy, const void *block, Size size)
{
  const volatile uint64_t *from = block;
  uint64_t *to = copy;
  Index i;

  AVER(size % sizeof *to == 0 && size >= BlockHeaderSIZE && size <= BlockMAX);
  for (i = 0; i < size / sizeof *to; ++i)
    to[i] = from[i];
  Fence();
  return BlockSame(block, copy);
}

/* blockPad -- make [from, to) of pending room into a pad */
static void blockPad(char *events, Size from, Size to, uint32_t time)
{
  while (from < to) {
    EventHeaderStruct pad = {EventPadCODE, 0, time};
    Size size = to - from < EventSizeMAX ? to - from : EventSizeMAX;
    pad.length = (uint16_t)size;
    memset(events + from, 0, size);
    memcpy(events + from, &pad, sizeof pad);
    from += size;
  }
}

/* blockEvent -- an event's header, which its owner may be writing: the code comes last, so it is looked at first */
static inline EventHeaderStruct blockEvent(const char *place)
{
  const EventHeaderStruct *event = (const void *)place;
  EventHeaderStruct copy;

  copy.code = __atomic_load_n(&event->code, __ATOMIC_ACQUIRE);
  copy.length = __atomic_load_n(&event->length, __ATOMIC_RELAXED);
  copy.time = __atomic_load_n(&event->time, __ATOMIC_RELAXED);
  return copy;
}

/* blockStep -- at + size.  Most events are of a few sizes: a branch for each lets the processor go on before it
 * knows. */
static inline Size blockStep(Size at, Size size)
{
  if (size == 32) {
    __asm__ volatile("");
    return at + 32;
  }
  if (size == 24) {
    __asm__ volatile("");
    return at + 24;
  }
  return at + size;
}

/* blockLengthSound -- can an event have this length? */
static inline Bool blockLengthSound(uint16_t length)
{
  return (length & 0x7fffu) - sizeof(EventHeaderStruct) <= EventSizeMAX - sizeof(EventHeaderStruct);
}

/* blockPlain -- walk on over whole events of the registry from `at`, as far as there is nothing else */
static Size blockPlain(BlockTally tally, const char *base, Size at, Size size, uint64_t epoch)
{
  uint64_t last = tally->last;
  Count count = 0;

  while (at + sizeof(EventHeaderStruct) <= size) {
    EventHeaderStruct event = blockEvent(base + at);
    Size eventSize = EventSizeOfLength(event.length);
    uint64_t time = epoch | event.time;

    if (UNLIKELY(event.code < EventCodeFIRST || !blockLengthSound(event.length) || at + eventSize > size))
      break;
    last = time > last ? time : last;
    ++count;
    at = blockStep(at, eventSize);
  }
  tally->last = last;
  tally->count += count;
  return at;
}

void BlockWalk(BlockTally tally, void *events, Size size, uint64_t first, Bool settle)
{
  char *base = events;
  Size at = 0, hole = 0; /* [hole, at) is pending where hole < at */
  uint64_t epoch = first & ~(uint64_t)0xffffffff;

  tally->used = 0;
  tally->count = tally->pending = 0;
  tally->broken = FALSE;
  tally->last = first;
  for (;;) {
    EventHeaderStruct event;
    Size eventSize;

    if (hole == at)
      hole = tally->used = at = blockPlain(tally, base, at, size, epoch);
    if (at + sizeof event > size)
      break;
    event = blockEvent(base + at);
    eventSize = EventSizeOfLength(event.length);
    if (!blockLengthSound(event.length) || at + eventSize > size) {
      /* Zeros: room whose reserver did not come as far as its length.  Anything else is not our writing. */
      if (event.code != 0 || event.length != 0) {
        tally->broken = TRUE;
        break;
      }
      at += EventALIGN;
      continue;
    }
    if (event.code == 0) {
      at += eventSize;
      continue;
    }
    if (hole < at) {
      ++tally->pending;
      if (settle)
        blockPad(base, hole, at, (uint32_t)tally->last);
    }
    if (event.code == EventEpochCODE && eventSize >= sizeof event + sizeof epoch) {
      memcpy(&epoch, base + at + sizeof event, sizeof epoch);
      epoch &= ~(uint64_t)0xffffffff;
    }
    tally->count += event.code >= EventCodeFIRST;
    if (event.code != EventPadCODE && (epoch | event.time) > tally->last)
      tally->last = epoch | event.time;
    at += eventSize;
    hole = tally->used = at;
  }
}

Count BlockSpoiled(void *block, Size size)
{
  const char *bytes = block, *events = bytes + BlockHeaderSIZE;
  BlockTallyStruct tally;
  Count count;
  Size at;

  BlockWalk(&tally, (char *)block + BlockHeaderSIZE, size - BlockHeaderSIZE, 0, FALSE);
  count = tally.count + tally.pending;
  /* What stands behind the last one that is whole was begun, or is spoiled, too. */
  for (at = tally.used; at < size - BlockHeaderSIZE; ++at)
    if (events[at] != 0)
      return count + 1;
  for (at = 0; at < BlockHeaderSIZE && count == 0; ++at)
    count += bytes[at] != 0;
  return count;
}
