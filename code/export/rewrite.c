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
#include "base/grow.h"
#include "export/rewritehead.h"
#include "format/block.h"
#include "format/pack.h"
#include "request/stringtable.h"
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
  RewriteStream sibling;      /* of the same process */
} rewriteStreamStruct;

enum { rewriteANY = UINT16_MAX }; /* as a kind: all of them */

struct WriterStruct {
  const WriterOptionsStruct *options;
  Log log;
  LogRequestStruct request;   /* what of it is wanted */
  RewriteProcess process;     /* by number */
  StringsStruct streamKeys;   /* the number and process of each stream that has been met, */
  RewriteStream *stream;      /* and by its number - 1 the stream */
  Count streams, capacity;
  Pack pack;
  unsigned char *rest;
  RewriteStream last;         /* that of the event before */
  RewriteBlock block[RewriteOpenMAX];
  RewriteHeadsStruct heads;
  Output out;
};

/* rewriteSeal -- seal and write a block; its place is then free */
static void rewriteSeal(LogRewrite rewrite, RewriteBlock block)
{
  RewriteStream stream = block->stream;
  RewriteProcess process = stream->process;
  BlockHeader header = &block->header;
  Registry registry = process->process->public.registry;
  unsigned char *rest = block->bytes;
  Size packed = 0;
  Count count;

  AVER(stream->block == block && header->used <= sizeof block->bytes);
  RewriteHeadsBefore(&rewrite->heads, process->process);
  header->flags = BlockFlagSEALED | (header->cpuFirst != BlockCpuUNKNOWN ? BlockFlagCPU : 0);
  if (!rewrite->options->raw) {
    rest = rewrite->rest;
    packed = BlockPack(rewrite->pack, registry, block->bytes, header->used, header->first, rest, &count);
  }
  BlockSeal(header, rest, packed, block->bytes);
  OutputBytes(rewrite->out, header, BlockHeaderSIZE);
  OutputBytes(rewrite->out, rest, header->rest);
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
      OutputFail(rewrite->out, ENOMEM);
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

  if (block == NULL)
    return NULL;
  block->header = (BlockHeaderStruct){
    .order = BlockORDER, .major = BlockMAJOR, .kind = stream->kind, .whole = BlockMAX, .pid = stream->pid,
    .cpuFirst = cpu, .cpuLast = cpu, .thread = stream->thread, .stream = stream->id, .sequence = stream->sequence,
    .before = stream->before, .discarded = stream->discarded, .first = ticks, .last = ticks,
    .process = RewriteHeadsIdentity(&rewrite->heads, &stream->process->process->public)};
  memcpy(block->header.magic, BlockMAGIC, BlockMagicSIZE);
  block->epoch = ticks & ~(uint64_t)0xffffffff;
  block->stream = stream;
  block->touched = OutputWritten(rewrite->out);
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

/* rewriteSwap -- turn an event from one byte order into the other */
static void rewriteSwap(unsigned char *bytes, EventType type)
{
  Index i;

  rewriteReverse(bytes + offsetof(EventHeaderStruct, code), 2);
  rewriteReverse(bytes + offsetof(EventHeaderStruct, length), 2);
  rewriteReverse(bytes + offsetof(EventHeaderStruct, time), 4);
  for (i = 0; i < type->params; ++i)
    rewriteReverse(bytes + type->offset[i], type->width[i]);
}

/* rewriteStreamFind -- a stream that has been met, or NULL; *numberReturn is the number of its key, or 0: no memory */
static RewriteStream rewriteStreamFind(LogRewrite rewrite, uint32_t id, Index process, uint32_t *numberReturn)
{
  uint32_t key[] = {id, (uint32_t)process};

  *numberReturn = StringsAdd(&rewrite->streamKeys, (const char *)key, sizeof key);
  return *numberReturn != 0 && *numberReturn <= rewrite->streams ? rewrite->stream[*numberReturn - 1] : NULL;
}

/* rewriteStreamNew -- find an event's stream, or make it; NULL if there is no memory */
static __attribute__((noinline)) RewriteStream rewriteStreamNew(LogRewrite rewrite, LogEvent event)
{
  RewriteProcess process = &rewrite->process[event->process->number];
  LogStream known = TableStreamFind(&rewrite->log->table, event->process->header.identity, event->stream);
  uint32_t number;
  RewriteStream stream = rewriteStreamFind(rewrite, event->stream, event->process->number, &number);

  if (stream != NULL)
    return rewrite->last = stream;
  if (number != 0 && Grow(&rewrite->stream, &rewrite->capacity, rewrite->streams, sizeof stream))
    stream = malloc(sizeof *stream);
  if (stream == NULL) {
    OutputFail(rewrite->out, ENOMEM);
    return NULL;
  }
  *stream = (rewriteStreamStruct){
    .process = process, .id = event->stream, .thread = event->thread,
    .pid = known != NULL ? known->pid : process->process->pid,
    .kind = known != NULL ? known->kind : event->type->kind, .discarded = known != NULL ? known->discarded : 0,
    .swapped = event->process->header.widths.swapped, .fine = UINT64_MAX / 2, .from = UINT64_MAX,
    .sibling = process->streams};
  process->streams = stream;
  ++process->count;
  rewrite->stream[rewrite->streams++] = stream;
  return rewrite->last = stream;
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
  block->touched = OutputWritten(rewrite->out);
  return rewrite->out->failed != 0;
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
  for (i = 0; i < registry->count; ++i)
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
    OutputFail(rewrite->out, ENOMEM);
    return;
  }
  for (stream = process->streams; stream != NULL; stream = stream->sibling)
    if (stream->sequence > 0)
      ends[n++] = (HeaderStreamStruct){stream->id, stream->sequence, stream->before, stream->discarded};
  RewriteHeadsClose(&rewrite->heads, process->process, ends, n);
  free(ends);
}

/* rewriteLacks -- how many events does the log lack, at least, that is written again?  What it lacks at its end does
 * not count in a copy that ends earlier. */
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

/* rewriteKept -- note of which processes only the newest events had been kept, unless the new log begins later */
static void rewriteKept(LogRewrite rewrite)
{
  Table table = &rewrite->log->table;
  Index i;

  for (i = 0; i < table->streams && !rewrite->heads.later; ++i) {
    LogStream stream = table->stream[i];
    RewriteHead head = &rewrite->heads.head[stream->process->public.number];
    Bool told = BlockStreamUnsent(stream->id) || stream->process->public.header.forgotten != 0;
    uint64_t events = told ? 0 : MissingOlder(stream);
    head->older += events;
    if (events > 0 && stream->since > head->kept)
      head->kept = stream->since;
  }
}

/* rewriteWhole -- does the new log get all of the old one? */
static Bool rewriteWhole(LogRewrite rewrite)
{
  LogRequest request = &rewrite->request;

  return request->accept == NULL && request->choose == NULL && request->kinds == UINT32_MAX &&
         !rewrite->heads.later && !rewrite->heads.earlier;
}

/* rewriteLost -- count events that were discarded in streams of which the new log has no block that would count them.
 * A stream that had events, of which none were chosen, is left out on purpose. */
static void rewriteLost(LogRewrite rewrite)
{
  Table table = &rewrite->log->table;
  Bool whole = rewriteWhole(rewrite);
  uint32_t number;
  Index i;

  for (i = 0; i < table->streams; ++i) {
    LogStream stream = table->stream[i];
    Process process = stream->process;
    RewriteHead head = &rewrite->heads.head[process->public.number];
    RewriteStream its = rewriteStreamFind(rewrite, stream->id, process->public.number, &number);
    if (stream->discarded > 0 && (its == NULL || its->sequence == 0) && (whole || !BlockRunsEvents(&stream->runs)) &&
        rewriteWants(rewrite, process, stream->kind))
      head->lost = CountAdd(head->lost, stream->discarded);
  }
  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->unseen > 0 && rewriteWants(rewrite, table->process[i], rewriteANY))
      rewrite->heads.head[i].lost = CountAdd(rewrite->heads.head[i].lost, table->process[i]->unseen);
}

void LogRewriteEnd(LogRewrite rewrite)
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
}

void LogRewriteDestroy(LogRewrite rewrite)
{
  Index i;

  for (i = 0; i < RewriteOpenMAX; ++i)
    free(rewrite->block[i]);
  for (i = 0; i < rewrite->streams; ++i)
    free(rewrite->stream[i]);
  free(rewrite->stream);
  StringsFinish(&rewrite->streamKeys);
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

Res LogRewriteCreate(LogRewrite *rewriteReturn, const WriterOptionsStruct *options)
{
  LogRewrite rewrite = calloc(1, sizeof *rewrite);
  Res res;

  if (rewrite == NULL)
    return ResMEMORY;
  rewrite->options = options;
  rewrite->log = options->log;
  rewrite->request = (LogRequestStruct)LogRequestALL;
  rewrite->out = options->output;
  res = rewriteProcesses(rewrite);
  if (res == ResOK)
    res = RewriteHeadsInit(&rewrite->heads, &rewrite->log->table, rewrite->out);
  rewrite->pack = calloc(1, PackSIZE);
  rewrite->rest = malloc(BlockRestMAX);
  if (res != ResOK || rewrite->pack == NULL || rewrite->rest == NULL) {
    LogRewriteDestroy(rewrite);
    return ResMEMORY;
  }
  *rewriteReturn = rewrite;
  return ResOK;
}

const WriterOptionsStruct *LogRewriteOptions(LogRewrite rewrite)
{
  return rewrite->options;
}

/* ---- Made-up events ---- */

Bool LogRewriteMake(LogRewrite rewrite, LogProcess process, EventType type, uint32_t serial, uint32_t thread,
                    uint64_t ticks, const uint64_t *value, const char *string)
{
  unsigned char bytes[EventSizeMAX] = {0};
  Size whole = strlen(string), most = type->strings == 0 ? 0 : EventMaxStringLength;
  Size length = whole < most ? whole : most;
  EventHeaderStruct header = {type->code, (uint16_t)(type->length + type->strings + length), (uint32_t)ticks};
  LogEventStruct event = {.process = process, .type = type, .thread = thread, .bytes = bytes, .length = header.length,
                          .cut = length < whole && type->strings != 0,
                          .stream = serial << 5 | (uint32_t)type->kind << 1, .cpu = LogCpuUNKNOWN,
                          .fine = ClockFine(rewrite->process[process->number].clock, ticks)};
  Index i;

  AVER(EventSizeOfLength(event.length) <= sizeof bytes);
  if (event.cut)
    header.length |= EventLengthCUT;
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + type->length, string, length);
  for (i = 0; i < type->params; ++i) {
    uint32_t narrow = (uint32_t)value[i];
    memcpy(bytes + type->offset[i], type->width[i] == sizeof narrow ? (const void *)&narrow : &value[i],
           type->width[i]);
  }
  if (process->header.widths.swapped)
    rewriteSwap(bytes, type); /* as the process would have written it */
  return LogRewritePut(rewrite, &event);
}
