/* rewrite.c -- writes a log again, from the events that a pass delivers
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/rewrite.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "export/rewritehead.h"
#include "format/block.h"
#include "format/pack.h"
#include "request/traceset.h"

enum { rewriteNEAR = 1 << 30 }; /* ticks: an event so near to the one before has its high half from that */

typedef struct rewriteStreamStruct *RewriteStream;

/* A block being filled. */
typedef struct rewriteBlockStruct {
  RewriteStream stream;       /* NULL: free */
  uint64_t touched;           /* when it got its last event, in bytes written */
  uint64_t epoch;
  BlockHeaderStruct header;
  unsigned char bytes[BlockMAX - BlockHeaderSIZE];
} rewriteBlockStruct, *RewriteBlock;

typedef struct rewriteProcessStruct {
  Process process;
  const ClockStruct *clock;
  uint64_t nearFine;          /* rewriteNEAR as fine time */
  Bool wanted;
  RewriteStream streams;      /* those that have been met, by `sibling` */
  Count count;                /* of them */
} rewriteProcessStruct, *RewriteProcess;

/* A stream that has been met, and what of it has been written. */
typedef struct rewriteStreamStruct {
  RewriteProcess process;
  uint32_t id, thread, pid;
  uint8_t kind;
  Bool swapped;
  uint64_t discarded;
  uint64_t sequence, before;
  uint64_t fine, ticks;       /* of its last event, */
  uint64_t from;              /* and the number of the block that it was in */
  RewriteBlock block;         /* the one that is open, or NULL */
  RewriteStream next;         /* in the list of its place */
  RewriteStream sibling;      /* of the same process */
} rewriteStreamStruct;

enum { rewritePLACES = 1024, rewriteANY = UINT16_MAX /* as a kind: all of them */ };

struct LogRewriteStruct {
  Log log;
  LogRequestStruct request;   /* what of it is wanted */
  Bool packed;
  RewriteProcess process;     /* by number */
  RewriteStream place[rewritePLACES]; /* streams by process and number */
  Pack pack;
  unsigned char *rest;
  RewriteStream last;         /* that of the event before */
  RewriteBlock block[RewriteOpenMAX];
  RewriteHeadsStruct heads;
  RewriteOutStruct out;
};

/* rewriteSeal -- write a block; its place is free then */
static void rewriteSeal(LogRewrite rewrite, RewriteBlock block)
{
  RewriteStream stream = block->stream;
  RewriteProcess process = stream->process;
  BlockHeader header = &block->header;
  unsigned char *rest = block->bytes;
  Size packed = 0;
  Count count;

  RewriteHeadsBefore(&rewrite->heads, process->process);
  header->flags = BlockFlagSEALED | (header->cpuFirst != BlockCpuUNKNOWN ? BlockFlagCPU : 0);
  if (rewrite->packed) {
    rest = rewrite->rest;
    packed = BlockPack(rewrite->pack, process->process->public.registry, block->bytes, header->used, header->first, rest,
                       &count);
  }
  BlockSeal(header, rest, packed, block->bytes);
  RewriteOutBytes(&rewrite->out, header, BlockHeaderSIZE);
  RewriteOutBytes(&rewrite->out, rest, header->rest);
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
      RewriteOutFail(&rewrite->out, ResMEMORY);
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

static RewriteBlock rewriteOpen(LogRewrite rewrite, RewriteStream stream, uint64_t ticks, uint16_t cpu)
{
  RewriteBlock block = rewritePlace(rewrite);
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
  header->cpuFirst = header->cpuLast = cpu;
  header->thread = stream->thread;
  header->process = RewriteHeadsIdentity(&rewrite->heads, &stream->process->process->public);
  header->stream = stream->id;
  header->sequence = stream->sequence;
  header->before = stream->before;
  header->discarded = stream->discarded;
  header->first = header->last = ticks;
  block->epoch = ticks & ~(uint64_t)0xffffffff;
  block->stream = stream;
  block->touched = rewrite->out.written;
  stream->block = block;
  return block;
}

/* rewriteTicks -- an event's time in its own clock: the low half as it was written; the high half from the event before
 * it, or where that is far away from the time.  One that says it came before its block was opened comes then. */
static inline uint64_t rewriteTicks(RewriteStream stream, LogEvent event)
{
  const ClockStruct *clock = stream->process->clock;
  uint64_t near, ticks;
  EventHeaderStruct header;

  memcpy(&header, event->bytes, sizeof header);
  if (UNLIKELY(stream->swapped))
    header.time = __builtin_bswap32(header.time);
  if (LIKELY(event->fine - stream->fine < stream->process->nearFine)) {
    ticks = stream->ticks + (uint64_t)(int64_t)(int32_t)(header.time - (uint32_t)stream->ticks);
  } else {
    near = ClockTicks(clock, event->fine);
    ticks = near + (uint64_t)(int64_t)(int32_t)(header.time - (uint32_t)near);
  }
  /* Those stand at a block's beginning, all at one time. */
  if (UNLIKELY(event->sequence != stream->from || event->fine == stream->fine) &&
      (ticks < clock->min || ClockFine(clock, ticks) != event->fine))
    ticks = event->fine > clock->base ? ClockReach(clock, event->fine) : clock->min;
  stream->from = event->sequence;
  stream->fine = event->fine;
  return stream->ticks = ticks;
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

static RewriteStream *rewriteListOf(LogRewrite rewrite, uint32_t stream, Index process)
{
  return &rewrite->place[(stream * 2654435761u >> 8 ^ process) % rewritePLACES];
}

/* rewriteStreamFind -- a stream that has been met, or NULL */
static RewriteStream rewriteStreamFind(LogRewrite rewrite, uint32_t id, Index process)
{
  RewriteStream stream = *rewriteListOf(rewrite, id, process);

  while (stream != NULL && (stream->process != &rewrite->process[process] || stream->id != id))
    stream = stream->next;
  return stream;
}

/* rewriteStreamNew -- find an event's stream, or make it; NULL if there is no memory */
static __attribute__((noinline)) RewriteStream rewriteStreamNew(LogRewrite rewrite, LogEvent event)
{
  RewriteProcess process = &rewrite->process[event->process->number];
  RewriteStream *list = rewriteListOf(rewrite, event->stream, event->process->number);
  RewriteStream stream = rewriteStreamFind(rewrite, event->stream, event->process->number);
  Stream known;

  if (stream != NULL)
    return rewrite->last = stream;
  stream = calloc(1, sizeof *stream);
  if (stream == NULL) {
    RewriteOutFail(&rewrite->out, ResMEMORY);
    return NULL;
  }
  known = TableStreamFind(&rewrite->log->table, event->process->header.identity, event->stream);
  stream->process = process;
  stream->id = event->stream;
  stream->thread = event->thread;
  stream->pid = known != NULL ? known->pid : process->process->pid;
  stream->kind = known != NULL ? known->kind : event->type->kind;
  stream->discarded = known != NULL ? known->discarded : 0;
  stream->swapped = event->process->header.widths.swapped;
  stream->fine = UINT64_MAX / 2;
  stream->from = UINT64_MAX;
  stream->sibling = process->streams;
  process->streams = stream;
  ++process->count;
  stream->next = *list;
  return rewrite->last = *list = stream;
}

/* rewriteStream -- an event's stream; the last one's, as a rule */
static inline RewriteStream rewriteStream(LogRewrite rewrite, LogEvent event)
{
  RewriteStream stream = rewrite->last;

  if (LIKELY(stream != NULL && stream->id == event->stream && &stream->process->process->public == event->process))
    return stream;
  return rewriteStreamNew(rewrite, event);
}

/* rewriteAdd -- one event more in its stream's block */
static inline Bool rewriteAdd(LogRewrite rewrite, RewriteStream stream, LogEvent event, uint64_t ticks)
{
  Size size = EventSizeOfLength(event->length);
  RewriteBlock block = stream->block;
  uint32_t low = (uint32_t)ticks;
  unsigned char *place;

  if (UNLIKELY(block == NULL || block->header.used + size + 2 * EventALIGN > sizeof block->bytes ||
               ticks < block->header.first || event->cpu != block->header.cpuFirst)) {
    if (block != NULL)
      rewriteSeal(rewrite, block);
    block = rewriteOpen(rewrite, stream, ticks, event->cpu);
    if (block == NULL)
      return TRUE;
  }
  if (UNLIKELY((ticks & ~(uint64_t)0xffffffff) != block->epoch))
    rewriteEpoch(block, ticks);
  place = block->bytes + block->header.used;
  memcpy(place, event->bytes, size);
  if (UNLIKELY(stream->swapped))
    rewriteSwap(place, event->type);
  memcpy(place + offsetof(EventHeaderStruct, time), &low, sizeof low);
  block->header.used += (uint32_t)size;
  ++block->header.count;
  if (ticks > block->header.last)
    block->header.last = ticks;
  block->touched = rewrite->out.written;
  return rewrite->out.failed != ResOK;
}

Bool LogRewritePut(LogRewrite rewrite, LogEvent event)
{
  RewriteStream stream = rewriteStream(rewrite, event);

  return stream == NULL || rewriteAdd(rewrite, stream, event, rewriteTicks(stream, event));
}

uint64_t LogRewriteTicks(LogRewrite rewrite, LogProcess process, uint64_t time)
{
  const ClockStruct *clock = rewrite->process[process->number].clock;
  uint64_t origin = rewrite->log->origin;
  uint64_t ticks = ClockReach(clock, ClockFineAt(origin, time));

  if (ticks == UINT64_MAX) /* its line is not that long */
    ticks = clock->max;
  if (ticks < clock->min)
    ticks = clock->min;
  return ticks < 16 ? 16 : ticks;
}

uint64_t LogRewriteFine(LogRewrite rewrite, LogProcess process, uint64_t ticks)
{
  return ClockFine(rewrite->process[process->number].clock, ticks);
}

Bool LogRewriteEvent(LogRequest request, LogEvent event)
{
  return LogRewritePut(request->data, event);
}

/* rewriteWants -- may the new log have events of a process, of one kind or (rewriteANY) whichever? */
static Bool rewriteWants(LogRewrite rewrite, Process process, unsigned kind)
{
  LogRequest request = &rewrite->request;
  Registry registry = process->public.registry;
  Index i;

  if (request->choose == NULL && request->kinds == UINT32_MAX)
    return TRUE;
  for (i = 0; registry != NULL && i < registry->count; ++i)
    if ((kind == rewriteANY || registry->types[i].kind == kind) &&
        LogRequestChooses(request, &process->public, &registry->types[i]))
      return TRUE;
  return FALSE;
}

void LogRewriteBegin(LogRewrite rewrite, uint32_t kinds)
{
  Table table = &rewrite->log->table;
  Index i;

  for (i = 0; i < table->streams; ++i)
    if (table->stream[i]->kind >= 32 || (kinds >> table->stream[i]->kind & 1) != 0)
      rewrite->process[table->stream[i]->process->public.number].wanted = TRUE;
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    Bool bare = process->unseen > 0 || ProcessLost(process) > 0; /* it may have no stream */
    if (process->headed && (rewrite->process[i].wanted || (bare && rewriteWants(rewrite, process, rewriteANY))))
      RewriteHeadsWrite(&rewrite->heads, process);
  }
}

/* rewriteClose -- a process's closing header block: what there should be of each stream */
static void rewriteClose(LogRewrite rewrite, RewriteProcess process)
{
  HeaderStream ends = calloc(process->count + 1, sizeof *ends);
  RewriteStream stream;
  Count n = 0;

  if (ends == NULL) {
    RewriteOutFail(&rewrite->out, ResMEMORY);
    return;
  }
  for (stream = process->streams; stream != NULL; stream = stream->sibling)
    if (stream->sequence > 0)
      ends[n++] = (HeaderStreamStruct){stream->id, stream->sequence, stream->before, stream->discarded};
  RewriteHeadsClose(&rewrite->heads, process->process, ends, n);
  free(ends);
}

/* rewriteLacks -- how many events did the log lack, at least, that is written again?  What is said of its end is
 * nothing to a log that ends earlier. */
static uint64_t rewriteLacks(LogRewrite rewrite)
{
  Table table = &rewrite->log->table;
  LogSummaryStruct summary;
  uint64_t lacks = 0;
  Index i;

  LogSummarize(&summary, rewrite->log);
  if (summary.gaps > 0 || (summary.lacks > 0 && !rewrite->heads.earlier))
    lacks = summary.lost > 0 ? summary.lost : 1;
  for (i = 0; i < table->processes; ++i)
    if (lacks < table->process[i]->public.header.lacks)
      lacks = table->process[i]->public.header.lacks;
  return lacks;
}

/* rewriteKept -- of which processes only the newest events had been kept; what begins later knows nothing of it */
static void rewriteKept(LogRewrite rewrite)
{
  Table table = &rewrite->log->table;
  Index i;

  for (i = 0; i < table->streams && !rewrite->heads.later; ++i) {
    Stream stream = table->stream[i];
    RewriteHead head = &rewrite->heads.head[stream->process->public.number];
    Bool told = BlockStreamUnsent(stream->id) || stream->process->public.header.forgotten != 0;
    uint64_t events = told ? 0 : GapsOlder(stream);
    head->older += events;
    if (events > 0 && stream->since > head->kept)
      head->kept = stream->since;
  }
}

/* rewriteWhole -- is all that the log has wanted? */
static Bool rewriteWhole(LogRewrite rewrite)
{
  LogRequest request = &rewrite->request;

  return request->accept == NULL && request->choose == NULL && request->kinds == UINT32_MAX &&
         !rewrite->heads.later && !rewrite->heads.earlier;
}

/* rewriteLost -- events that were discarded in streams of which the new log has no block, so that none of its blocks
 * counts them.  A stream that had events, and of which none were chosen, is left out on purpose. */
static void rewriteLost(LogRewrite rewrite)
{
  Table table = &rewrite->log->table;
  Bool whole = rewriteWhole(rewrite);
  Index i;

  for (i = 0; i < table->streams; ++i) {
    Stream stream = table->stream[i];
    Process process = stream->process;
    RewriteHead head = &rewrite->heads.head[process->public.number];
    RewriteStream its = rewriteStreamFind(rewrite, stream->id, process->public.number);
    if (stream->discarded > 0 && (its == NULL || its->sequence == 0) && (whole || !TallyEvents(&stream->tally)) &&
        rewriteWants(rewrite, process, stream->kind))
      head->lost = CountAdd(head->lost, stream->discarded);
  }
  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->unseen > 0 && rewriteWants(rewrite, table->process[i], rewriteANY))
      rewrite->heads.head[i].lost = CountAdd(rewrite->heads.head[i].lost, table->process[i]->unseen);
}

Res LogRewriteEnd(LogRewrite rewrite)
{
  Index i;

  for (i = 0; i < RewriteOpenMAX; ++i)
    if (rewrite->block[i] != NULL && rewrite->block[i]->stream != NULL)
      rewriteSeal(rewrite, rewrite->block[i]);
  RewriteHeadsEnd(&rewrite->heads);
  rewrite->heads.lacks = rewriteLacks(rewrite);
  rewriteKept(rewrite);
  rewriteLost(rewrite);
  for (i = 0; i < rewrite->log->table.processes; ++i)
    if (rewrite->heads.head[i].headed)
      rewriteClose(rewrite, &rewrite->process[i]);
  RewriteOutFlush(&rewrite->out);
  errno = rewrite->out.reason;
  return rewrite->out.failed;
}

void LogRewriteDestroy(LogRewrite rewrite)
{
  Index i;

  for (i = 0; i < RewriteOpenMAX; ++i)
    free(rewrite->block[i]);
  for (i = 0; i < rewritePLACES; ++i)
    while (rewrite->place[i] != NULL) {
      RewriteStream next = rewrite->place[i]->next;
      free(rewrite->place[i]);
      rewrite->place[i] = next;
    }
  RewriteHeadsFinish(&rewrite->heads);
  free(rewrite->process);
  free(rewrite->pack);
  free(rewrite->rest);
  free(rewrite);
}

/* rewriteProcesses -- what is to be known of each process */
static Res rewriteProcesses(LogRewrite rewrite)
{
  Table table = &rewrite->log->table;
  Index i;

  rewrite->process = calloc(table->processes + 1, sizeof *rewrite->process);
  if (rewrite->process == NULL)
    return ResMEMORY;
  for (i = 0; i < table->processes; ++i) {
    const ClockStruct *clock = ClockResolve(table->process[i]->clock);
    rewrite->process[i].process = table->process[i];
    rewrite->process[i].clock = clock;
    rewrite->process[i].nearFine = ClockFine(clock, clock->min + rewriteNEAR) - clock->base;
  }
  return ResOK;
}

void LogRewritePart(LogRewrite rewrite, const LogRequestStruct *request)
{
  LogSummaryStruct summary;

  rewrite->request = *request;
  LogSummarize(&summary, rewrite->log);
  rewrite->heads.later = request->from > summary.first || request->start != NULL;
  rewrite->heads.earlier = request->to <= summary.last || request->end != NULL || request->count != UINT64_MAX;
}

Res LogRewriteCreate(LogRewrite *rewriteReturn, Log log, int fd, Bool packed)
{
  LogRewrite rewrite = calloc(1, sizeof *rewrite);
  Res res;

  if (rewrite == NULL)
    return ResMEMORY;
  rewrite->log = log;
  rewrite->request = (LogRequestStruct)LogRequestALL;
  rewrite->out.fd = fd;
  rewrite->packed = packed;
  res = rewriteProcesses(rewrite);
  if (res == ResOK)
    res = RewriteHeadsInit(&rewrite->heads, &log->table, &rewrite->out);
  rewrite->pack = calloc(1, PackSIZE);
  rewrite->rest = malloc(BlockRestMAX);
  if (res != ResOK || rewrite->pack == NULL || rewrite->rest == NULL) {
    LogRewriteDestroy(rewrite);
    return ResMEMORY;
  }
  *rewriteReturn = rewrite;
  return ResOK;
}

/* ---- Events that nobody has recorded ---- */

/* makePut -- a number of `width` bytes as its process would have written it */
static void makePut(unsigned char *place, uint64_t value, Size width, Bool swapped)
{
  uint64_t wide = swapped ? __builtin_bswap64(value) : value;
  uint32_t narrow = swapped ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
  uint16_t half = swapped ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;

  if (width == sizeof wide)
    memcpy(place, &wide, sizeof wide);
  else if (width == sizeof narrow)
    memcpy(place, &narrow, sizeof narrow);
  else if (width == sizeof half)
    memcpy(place, &half, sizeof half);
}

Bool LogRewriteMake(LogRewrite rewrite, LogProcess process, EventType type, uint32_t serial, uint32_t thread,
                    uint64_t ticks, const uint64_t *value)
{
  unsigned char bytes[EventSizeMAX] = {0};
  Bool swapped = process->header.widths.swapped;
  LogEventStruct event = {.process = process, .type = type, .thread = thread, .bytes = bytes,
                          .length = (uint16_t)(type->length + type->strings),
                          .stream = serial << 5 | (uint32_t)type->kind << 1, .cpu = LogCpuUNKNOWN,
                          .fine = LogRewriteFine(rewrite, process, ticks)};
  Index i;

  AVER(EventSizeOfLength(event.length) <= sizeof bytes);
  makePut(bytes + offsetof(EventHeaderStruct, code), type->code, 2, swapped);
  makePut(bytes + offsetof(EventHeaderStruct, length), event.length, 2, swapped);
  makePut(bytes + offsetof(EventHeaderStruct, time), ticks, 4, swapped);
  for (i = 0; i < type->params; ++i)
    makePut(bytes + type->offset[i], value[i], type->width[i], swapped);
  return LogRewritePut(rewrite, &event);
}
