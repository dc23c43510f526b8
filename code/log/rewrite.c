/* rewrite.c -- a log written again
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/rewrite.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/aver.h"
#include "base/crc.h"
#include "format/block.h"
#include "format/pack.h"
#include "log/headertext.h"
#include "log/logset.h"

enum { rewriteHeaderTEXT = 256 * 1024 }; /* bytes that a header needs beyond its registry: 64 arguments, quoted */

/* A block being filled. */
typedef struct rewriteBlockStruct {
  Stream stream;              /* NULL: free */
  uint64_t touched;           /* when it got its last event, in blocks written */
  uint64_t epoch;
  BlockHeaderStruct header;
  unsigned char bytes[BlockMAX - BlockHeaderSIZE];
} rewriteBlockStruct, *RewriteBlock;

/* What of a stream has been written. */
typedef struct rewriteStreamStruct {
  uint64_t sequence, before;
  RewriteBlock block;         /* the one that is open, or NULL */
} rewriteStreamStruct, *RewriteStream;

typedef struct rewriteProcessStruct {
  Bool headed;
  uint64_t since;             /* `written` when its last header was */
} rewriteProcessStruct;

struct LogRewriteStruct {
  Log log;
  int fd;
  Bool packed;
  Res failed;                 /* what the first failure was, */
  int reason;                 /* and its errno */
  uint64_t salt;              /* makes identities new */
  uint64_t written;           /* bytes */
  rewriteProcessStruct *process; /* by number */
  rewriteStreamStruct *stream;   /* by number in the table */
  Pack pack;
  unsigned char *rest;
  RewriteStream lastStream;   /* of the event before, */
  LogProcess lastProcess;     /* which had this process */
  uint32_t lastId;            /* and this stream */
  RewriteBlock block[RewriteOpenMAX];
};

static void rewriteFail(LogRewrite rewrite, Res res)
{
  if (rewrite->failed == ResOK) {
    rewrite->failed = res;
    rewrite->reason = errno;
  }
}

static void rewriteBytes(LogRewrite rewrite, const void *bytes, Size size)
{
  if (rewrite->failed == ResOK && FileWriteAll(rewrite->fd, bytes, size) != ResOK)
    rewriteFail(rewrite, ResIO);
  rewrite->written += size;
}

static uint64_t rewriteIdentity(LogRewrite rewrite, LogProcess process)
{
  uint64_t identity = process->header.identity ^ rewrite->salt;

  return identity != 0 ? identity : 1;
}

/* rewriteClock -- the relations that the reader fitted its line through, so that times come out the same */
static void rewriteClock(Header header, const ClockStruct *clock)
{
  if (!clock->synced)
    return;
  header->syncs = 1;
  header->sync[0] = clock->early;
  if (clock->fitTo.ticks > clock->early.ticks) {
    header->syncs = 2;
    header->sync[1] = clock->fitTo;
  }
}

static void rewriteHeader(LogRewrite rewrite, Process process)
{
  Registry registry = process->public.registry;
  Header header = malloc(sizeof *header);
  Size room = rewriteHeaderTEXT + 2 * HeaderMAX;
  char *bytes = malloc(room);
  TextStruct text;

  if (header == NULL || bytes == NULL) {
    rewriteFail(rewrite, ResMEMORY);
  } else {
    *header = process->public.header;
    header->identity = rewriteIdentity(rewrite, &process->public);
    header->widths.swapped = FALSE; /* the events are brought into our order */
    header->region[0] = '\0'; /* what it held is in this log, if it was wanted */
    rewriteClock(header, ClockResolve(process->clock));
    TextInit(&text, bytes, room);
    if (LogHeaderText(&text, header, registry) != ResOK) {
      errno = EFBIG;
      rewriteFail(rewrite, ResLIMIT);
    } else {
      rewriteBytes(rewrite, bytes, TextLength(&text));
    }
  }
  rewrite->process[process->public.number].headed = TRUE;
  rewrite->process[process->public.number].since = rewrite->written;
  free(header);
  free(bytes);
}

/* rewriteSeal -- write a block; its place is free then */
static void rewriteSeal(LogRewrite rewrite, RewriteBlock block)
{
  Process process = block->stream->process;
  rewriteProcessStruct *state = &rewrite->process[process->public.number];
  RewriteStream stream = &rewrite->stream[block->stream->number];
  BlockHeader header = &block->header;
  const void *rest = block->bytes;
  Count count;

  if (!state->headed || rewrite->written - state->since > RewriteHeaderEACH)
    rewriteHeader(rewrite, process);
  header->flags = BlockFlagSEALED;
  header->rest = header->used;
  if (rewrite->packed) {
    Size packed = BlockPack(rewrite->pack, process->public.registry, block->bytes, header->used, header->first,
                            rewrite->rest, &count);
    if (packed > 0 && packed < header->used) {
      header->flags |= BlockFlagPACKED;
      header->rest = (uint32_t)packed;
      rest = rewrite->rest;
    }
  }
  header->size = BlockHeaderSIZE + header->rest;
  header->restCrc = Crc32c(0, rest, header->rest);
  BlockHeaderSeal(header);
  rewriteBytes(rewrite, header, BlockHeaderSIZE);
  rewriteBytes(rewrite, rest, header->rest);
  stream->sequence = header->sequence + 1;
  stream->before = header->before + header->count;
  stream->block = NULL;
  block->stream = NULL;
}

/* rewritePlace -- room for one more open block: a free place, or that of the block that waits longest */
static RewriteBlock rewritePlace(LogRewrite rewrite)
{
  Index i, oldest = 0;

  for (i = 0; i < RewriteOpenMAX; ++i) {
    RewriteBlock *place = &rewrite->block[i];
    if (*place == NULL && (*place = calloc(1, sizeof **place)) == NULL) {
      rewriteFail(rewrite, ResMEMORY);
      return NULL;
    }
    if ((*place)->stream == NULL)
      return *place;
    if ((*place)->touched < rewrite->block[oldest]->touched)
      oldest = i;
  }
  rewriteSeal(rewrite, rewrite->block[oldest]);
  return rewrite->block[oldest];
}

static RewriteBlock rewriteOpen(LogRewrite rewrite, Stream stream, uint64_t ticks)
{
  RewriteBlock block = rewritePlace(rewrite);
  RewriteStream state = &rewrite->stream[stream->number];
  BlockHeader header;

  if (block == NULL)
    return NULL;
  header = &block->header;
  memset(header, 0, sizeof *header);
  memcpy(header->magic, BlockMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = BlockMAJOR;
  header->kind = stream->kind;
  header->whole = BlockMAX;
  header->pid = stream->pid;
  header->thread = stream->thread;
  header->process = rewriteIdentity(rewrite, &stream->process->public);
  header->stream = stream->id;
  header->sequence = state->sequence;
  header->before = state->before;
  header->discarded = stream->discarded;
  header->first = header->last = ticks;
  block->epoch = ticks & ~(uint64_t)0xffffffff;
  block->stream = stream;
  block->touched = rewrite->written;
  state->block = block;
  return block;
}

/* rewriteTicks -- an event's time in its own clock: the low half as it was written, the high half from the time */
static uint64_t rewriteTicks(LogRewrite rewrite, const ClockStruct *clock, LogEvent event)
{
  uint64_t fine = (event->time - rewrite->log->origin) << ClockFineSHIFT;
  uint64_t near = ClockTicks(clock, fine), ticks;
  EventHeaderStruct header;

  memcpy(&header, event->bytes, sizeof header);
  if (event->process->header.widths.swapped)
    header.time = __builtin_bswap32(header.time);
  ticks = (near & ~(uint64_t)0xffffffff) | header.time;
  if (ticks > near && ticks - near > UINT32_MAX / 2 && ticks > UINT32_MAX)
    ticks -= (uint64_t)1 << 32;
  else if (near > ticks && near - ticks > UINT32_MAX / 2)
    ticks += (uint64_t)1 << 32;
  return ticks;
}

/* rewriteEpoch -- the event of the format that changes the epoch */
static void rewriteEpoch(RewriteBlock block, uint64_t ticks)
{
  EventHeaderStruct header = {EventEpochCODE, sizeof header + sizeof ticks, (uint32_t)ticks};

  block->epoch = ticks & ~(uint64_t)0xffffffff;
  memcpy(block->bytes + block->header.used, &header, sizeof header);
  memcpy(block->bytes + block->header.used + sizeof header, &ticks, sizeof ticks);
  block->header.used += sizeof header + sizeof ticks;
}

static void rewriteReverse(unsigned char *bytes, Size size)
{
  Index i;

  for (i = 0; i < size / 2; ++i) {
    unsigned char c = bytes[i];
    bytes[i] = bytes[size - 1 - i];
    bytes[size - 1 - i] = c;
  }
}

/* rewriteSwap -- an event of a machine of the other byte order, into ours */
static void rewriteSwap(unsigned char *bytes, EventType type)
{
  Index i;

  rewriteReverse(bytes + offsetof(EventHeaderStruct, code), 2);
  rewriteReverse(bytes + offsetof(EventHeaderStruct, length), 2);
  rewriteReverse(bytes + offsetof(EventHeaderStruct, time), 4);
  for (i = 0; i < type->params; ++i)
    rewriteReverse(bytes + type->offset[i], type->width[i]);
}

/* rewriteStream -- where an event's stream is; the last one's, as a rule */
static RewriteStream rewriteStream(LogRewrite rewrite, LogEvent event)
{
  if (rewrite->lastProcess != event->process || rewrite->lastId != event->stream) {
    Stream stream = TableStreamFind(&rewrite->log->table, event->process->header.identity, event->stream);
    AVER(stream != NULL);
    rewrite->lastProcess = event->process;
    rewrite->lastId = event->stream;
    rewrite->lastStream = &rewrite->stream[stream->number];
  }
  return rewrite->lastStream;
}

Bool LogRewriteEvent(LogRequest request, LogEvent event)
{
  LogRewrite rewrite = request->data;
  RewriteStream state = rewriteStream(rewrite, event);
  Stream stream = rewrite->log->table.stream[state - rewrite->stream];
  uint64_t ticks = rewriteTicks(rewrite, ClockResolve(stream->process->clock), event);
  Size size = EventSizeOfLength(event->length);
  RewriteBlock block = state->block;

  if (block != NULL && block->header.used + size + 2 * EventALIGN > sizeof block->bytes)
    rewriteSeal(rewrite, block);
  if (state->block == NULL && rewriteOpen(rewrite, stream, ticks) == NULL)
    return TRUE;
  block = state->block;
  if ((ticks & ~(uint64_t)0xffffffff) != block->epoch)
    rewriteEpoch(block, ticks);
  memcpy(block->bytes + block->header.used, event->bytes, size);
  if (event->process->header.widths.swapped)
    rewriteSwap(block->bytes + block->header.used, event->type);
  block->header.used += (uint32_t)size;
  ++block->header.count;
  if (ticks > block->header.last)
    block->header.last = ticks;
  block->touched = rewrite->written;
  return rewrite->failed != ResOK;
}

Res LogRewriteEnd(LogRewrite rewrite)
{
  Index i;

  for (i = 0; i < RewriteOpenMAX; ++i)
    if (rewrite->block[i] != NULL && rewrite->block[i]->stream != NULL)
      rewriteSeal(rewrite, rewrite->block[i]);
  for (i = 0; i < rewrite->log->table.processes; ++i)
    if (rewrite->log->table.process[i]->headed)
      rewriteHeader(rewrite, rewrite->log->table.process[i]);
  errno = rewrite->reason;
  return rewrite->failed;
}

void LogRewriteDestroy(LogRewrite rewrite)
{
  Index i;

  for (i = 0; i < RewriteOpenMAX; ++i)
    free(rewrite->block[i]);
  free(rewrite->process);
  free(rewrite->stream);
  free(rewrite->pack);
  free(rewrite->rest);
  free(rewrite);
}

Res LogRewriteCreate(LogRewrite *rewriteReturn, Log log, int fd, Bool packed)
{
  LogRewrite rewrite = calloc(1, sizeof *rewrite);

  if (rewrite == NULL)
    return ResMEMORY;
  rewrite->log = log;
  rewrite->fd = fd;
  rewrite->packed = packed;
  if (getrandom(&rewrite->salt, sizeof rewrite->salt, GRND_NONBLOCK) != sizeof rewrite->salt)
    rewrite->salt = (uintptr_t)rewrite * 0x9e3779b97f4a7c15u;
  rewrite->process = calloc(log->table.processes + 1, sizeof *rewrite->process);
  rewrite->stream = calloc(log->table.streams + 1, sizeof *rewrite->stream);
  rewrite->pack = calloc(1, PackSIZE);
  rewrite->rest = malloc(BlockRestMAX);
  if (rewrite->process == NULL || rewrite->stream == NULL || rewrite->pack == NULL || rewrite->rest == NULL) {
    LogRewriteDestroy(rewrite);
    return ResMEMORY;
  }
  *rewriteReturn = rewrite;
  return ResOK;
}
