/* decode.h -- what came out of the emitter, for tests: blocks of a memory plinth, unpacked, in order
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Uses the format room alone, so that a fault of the reader hides no fault of the writer.
 *
 *   DecodeStruct decode;
 *   DecodeMemory(&decode, ProcessPlinths[0].state);
 *   for (i = 0; i < decode.events; ++i) ... decode.event[i] ...
 *   DecodeFree(&decode);
 */
#ifndef TEST_DECODE_H
#define TEST_DECODE_H

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "emit/send.h"
#include "format/block.h"
#include "format/header.h"
#include "format/pack.h"
#include "plinth/plinth.h"
#include "tap.h"

typedef struct DecodedStruct {
  BlockHeaderStruct header;
  char *bytes;
} DecodedStruct, *Decoded;

typedef struct DecodedEventStruct {
  uint16_t code, length; /* length as it stands, with EventLengthCUT */
  uint64_t time;
  uint32_t thread, block;
  const char *bytes;     /* header included */
} DecodedEventStruct, *DecodedEvent;

typedef struct DecodeStruct {
  Decoded block;           /* by stream and sequence, each once: the longest copy */
  Count blocks, copies;    /* copies were left out */
  Count headers, damaged;  /* header blocks; messages that are not sound */
  Count disorders;         /* blocks whose `before` or `sequence` does not follow from the one in front, events out of
                              time */
  DecodedEvent event;      /* of all blocks, in their order */
  Count events;
  Index odd;               /* a block where that was found */
  HeaderStruct header;     /* the last one */
} DecodeStruct, *Decode;

static int decodeCompare(const void *a, const void *b)
{
  const BlockHeaderStruct *x = &((const DecodedStruct *)a)->header, *y = &((const DecodedStruct *)b)->header;

  if (x->process != y->process)
    return x->process < y->process ? -1 : 1;
  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  if (x->sequence != y->sequence)
    return x->sequence < y->sequence ? -1 : 1;
  return x->count > y->count ? -1 : x->count < y->count;
}

static Bool decodeBlock(Decode decode, const char *bytes, Size left, Size *sizeReturn)
{
  static Unpack unpack;
  Decoded block;
  Bool swapped;
  char *in;

  decode->block = realloc(decode->block, (decode->blocks + 1) * sizeof *decode->block);
  block = &decode->block[decode->blocks];
  if (left < BlockHeaderSIZE || BlockHeaderRead(&block->header, &swapped, bytes) != ResOK ||
      block->header.size > left ||
      Crc32c(0, bytes + BlockHeaderSIZE, block->header.rest) != block->header.restCrc)
    return FALSE;
  if (unpack == NULL)
    unpack = calloc(1, UnpackSIZE);
  *sizeReturn = block->header.size;
  block->bytes = calloc(1, block->header.used + PackSlackSIZE);
  in = calloc(1, block->header.rest + PackSlackSIZE);
  memcpy(in, bytes + BlockHeaderSIZE, block->header.rest);
  if ((block->header.flags & BlockFlagPACKED) == 0)
    memcpy(block->bytes, in, block->header.used);
  else if (BlockUnpack(unpack, SendRegistry(), in, block->header.rest, block->header.first, block->bytes,
                       block->header.used) != ResOK)
    ++decode->damaged;
  free(in);
  ++decode->blocks;
  return TRUE;
}

/* decodeFollows -- is `before` what it should be, or unknown?  It may be less than the block in front has events, if
 * some of those were filled in `late`. */
static Bool decodeFollows(BlockHeader last, BlockHeader h, Bool late)
{
  uint64_t after = last->before + last->count;

  return last->before == BlockBeforeUNKNOWN || h->before == BlockBeforeUNKNOWN || h->before == after ||
         (late && h->before < after);
}

/* decodeWhole -- leave out copies, and judge what stands behind what */
static void decodeWhole(Decode decode)
{
  Bool late = FALSE; /* of the block in front a snapshot went out first */
  Index i, n = 0;

  if (decode->blocks > 0)
    qsort(decode->block, decode->blocks, sizeof *decode->block, decodeCompare);
  for (i = 0; i < decode->blocks; ++i) {
    BlockHeader h = &decode->block[i].header;
    BlockHeader last = n > 0 ? &decode->block[n - 1].header : NULL;
    Bool same = last != NULL && last->process == h->process && last->stream == h->stream;
    if (same && last->sequence == h->sequence) {
      ++decode->copies;
      late = TRUE;
      free(decode->block[i].bytes);
      continue;
    }
    if (same && (h->flags & BlockFlagUNSENT) == 0 &&
        (h->sequence != last->sequence + 1 || !decodeFollows(last, h, late) || h->first < last->first ||
         h->discarded < last->discarded))
      ++decode->disorders, decode->odd = n;
    late = FALSE;
    decode->block[n++] = decode->block[i];
  }
  decode->blocks = n;
}

static void decodeEvents(Decode decode, Index b)
{
  BlockHeader header = &decode->block[b].header;
  uint64_t epoch = header->first >> 32 << 32;
  Count count = 0;
  Size at = 0;

  while (at < header->used) {
    const char *bytes = decode->block[b].bytes + at;
    EventHeaderStruct event;
    Size size;
    memcpy(&event, bytes, sizeof event);
    size = EventSizeOfLength(event.length);
    if (size < sizeof event || at + size > header->used) {
      ++decode->damaged;
      return;
    }
    if (event.code == EventEpochCODE)
      memcpy(&epoch, bytes + sizeof event, sizeof epoch), epoch = epoch >> 32 << 32;
    if (event.code >= EventCodeFIRST) {
      DecodedEventStruct e = {event.code, event.length, epoch | event.time, header->thread, (uint32_t)b, bytes};
      if (e.time < header->first || e.time > header->last)
        ++decode->disorders, decode->odd = b;
      if ((decode->events & (decode->events - 1)) == 0)
        decode->event = realloc(decode->event, (decode->events * 2 + 1) * sizeof *decode->event);
      decode->event[decode->events++] = e;
      ++count;
    }
    at += size;
  }
  if (count != header->count)
    ++decode->damaged;
}

/* DecodeBytes -- everything in [bytes, bytes + size), which is nothing but whole messages */
static void DecodeBytes(Decode decode, const char *bytes, Size size)
{
  unsigned version[3];
  const char *body;
  Size at = 0, length = 0;
  Index i;

  memset(decode, 0, sizeof *decode);
  while (at < size) {
    if (HeaderLength(&length, version, bytes + at, size - at) == ResOK && length <= size - at &&
        HeaderRead(&decode->header, &body, bytes + at, length) == ResOK) {
      ++decode->headers;
    } else if (!decodeBlock(decode, bytes + at, size - at, &length)) {
      ++decode->damaged;
      break;
    }
    at += length;
  }
  decodeWhole(decode);
  for (i = 0; i < decode->blocks; ++i)
    decodeEvents(decode, i);
}

__attribute__((unused)) static void DecodeMemory(Decode decode, PlinthMemory memory)
{
  DecodeBytes(decode, memory->base, memory->used);
}

__attribute__((unused)) static void DecodeFree(Decode decode)
{
  Index i;

  for (i = 0; i < decode->blocks; ++i)
    free(decode->block[i].bytes);
  free(decode->block);
  free(decode->event);
}

/* DecodeWord -- parameter words of an event of W, P and A alone */
__attribute__((unused)) static Word DecodeWord(const DecodedEventStruct *event, Index i)
{
  Word w;

  memcpy(&w, event->bytes + sizeof(EventHeaderStruct) + i * sizeof w, sizeof w);
  return w;
}

/* DecodeCount -- how many events of this type */
__attribute__((unused)) static Count DecodeCount(Decode decode, uint16_t code)
{
  Count n = 0;
  Index i;

  for (i = 0; i < decode->events; ++i)
    n += decode->event[i].code == code;
  return n;
}

/* DecodeFind -- the first event of this type whose first word is `word`; NULL: none */
__attribute__((unused)) static DecodedEvent DecodeFind(Decode decode, uint16_t code, Word word)
{
  Index i;

  for (i = 0; i < decode->events; ++i)
    if (decode->event[i].code == code && DecodeWord(&decode->event[i], 0) == word)
      return &decode->event[i];
  return NULL;
}

/* DecodeSound -- one line of TAP */
#define DecodeSound(decode, what)                                                                        \
  TapOk(decodeTell(decode) && (decode)->damaged == 0 && (decode)->disorders == 0,                        \
        "%s: every block is sound and in its place", (what))

__attribute__((unused)) static Bool decodeTell(Decode decode)
{
  Index i;

  if (decode->damaged + decode->disorders == 0)
    return TRUE;
  printf("# %zu damaged, %zu disorders\n", decode->damaged, decode->disorders);
  for (i = decode->odd > 3 ? decode->odd - 3 : 0; i < decode->blocks && i < decode->odd + 3; ++i) {
    BlockHeader h = &decode->block[i].header;
    printf("# stream %u sequence %llu before %llu count %u discarded %llu flags %u first %llu last %llu\n", h->stream,
           (unsigned long long)h->sequence, (unsigned long long)h->before, h->count, (unsigned long long)h->discarded,
           h->flags, (unsigned long long)h->first, (unsigned long long)h->last);
  }
  return TRUE;
}

#endif /* TEST_DECODE_H */
