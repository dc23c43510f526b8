/* reading.c -- a pass over a traceset: merges the events of its streams by time, from a position on
 *
 * While the block at the front is alone in time its events go out in a tight loop.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "format/block.h"

enum { readingMemoryMAX = 4 << 20 }; /* bytes of open blocks; beyond that some are parked */

ReadingStream ReadingStreamOf(Reading reading, Stream stream)
{
  Count streams = reading->log->table.streams;
  ReadingStream more;

  if (LIKELY(stream->number < reading->streams))
    return &reading->stream[stream->number];
  more = realloc(reading->stream, streams * sizeof *more);
  if (more == NULL)
    return NULL;
  memset(more + reading->streams, 0, (streams - reading->streams) * sizeof *more);
  reading->stream = more;
  reading->streams = streams;
  return &more[stream->number];
}

/* readingTie -- of two blocks whose next events have the same time, does `a` come first? */
static __attribute__((noinline)) Bool readingTie(Loaded a, Loaded b)
{
  if (a->stream->process != b->stream->process)
    return a->stream->process->public.number < b->stream->process->public.number;
  if (a->stream->id != b->stream->id)
    return a->stream->id < b->stream->id;
  return a->sequence < b->sequence;
}

/* readingBefore -- the one order of all events */
static inline Bool readingBefore(const ReadingOpenStruct *a, const ReadingOpenStruct *b)
{
  return LIKELY(a->fine != b->fine) ? a->fine < b->fine : readingTie(a->loaded, b->loaded);
}

/* readingSink -- the block at the top goes down to where it belongs */
static inline void readingSink(Reading reading)
{
  ReadingOpenStruct *heap = reading->heap, moving = heap[0];
  Index i = 0, child;

  while ((child = 2 * i + 1) < reading->open) {
    if (child + 1 < reading->open && readingBefore(&heap[child + 1], &heap[child]))
      ++child;
    if (!readingBefore(&heap[child], &moving))
      break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moving;
}

static Res readingPush(Reading reading, Loaded loaded)
{
  ReadingOpenStruct open = {loaded->item[loaded->next].fine, loaded};
  Index i = reading->open, parent;

  if (!Grow(&reading->heap, &reading->capacity, reading->open, sizeof *reading->heap))
    return ResMEMORY;
  ++reading->open;
  for (; i > 0; i = parent) {
    parent = (i - 1) / 2;
    if (!readingBefore(&open, &reading->heap[parent]))
      break;
    reading->heap[i] = reading->heap[parent];
  }
  reading->heap[i] = open;
  return ResOK;
}

/* readingGive -- a block is not needed any more */
static void readingGive(Reading reading, Loaded loaded)
{
  if (loaded->size == 0) {
    ParkRelease(&reading->park, loaded);
    free(loaded);
  } else {
    LoaderFree(&reading->loader, loaded);
  }
}

/* readingPark -- put the blocks aside whose next events are furthest away, until the others fit */
static Res readingPark(Reading reading)
{
  while (reading->loader.memory > readingMemoryMAX && reading->open > 1 && !reading->park.failed) {
    Index i, furthest = reading->open;
    Res res;
    for (i = 1; i < reading->open; ++i)
      if (!reading->heap[i].loaded->parked &&
          (furthest == reading->open || reading->heap[i].fine > reading->heap[furthest].fine))
        furthest = i;
    if (furthest == reading->open)
      break;
    res = ParkPut(&reading->park, &reading->loader, &reading->heap[furthest].loaded);
    if (res == ResIO)
      return res;
  }
  return ResOK;
}

static void readingPop(Reading reading)
{
  readingGive(reading, reading->heap[0].loaded);
  reading->heap[0] = reading->heap[--reading->open];
  if (reading->open > 0)
    readingSink(reading);
}

/* readingSkips -- is nothing of the block wanted?  Its header alone tells; otherwise *typesReturn is what is. */
static Bool readingSkips(Reading reading, Stream stream, const IndexEntryStruct *entry,
                         const unsigned char **typesReturn)
{
  const ClockStruct *clock = ClockResolve(stream->process->clock);
  uint64_t last = (entry->flags & BlockFlagSEALED) != 0 ? ClockFine(clock, entry->last) : UINT64_MAX;

  *typesReturn = NULL;
  if (last < reading->loader.from)
    return TRUE;
  if (reading->client.wanted == NULL)
    return FALSE;
  *typesReturn = reading->client.wanted(reading->client.data, stream->process, entry->kind,
                                        ClockFine(clock, entry->first), last);
  return *typesReturn == NULL;
}

/* readingPosition -- the position before the next event of an open block */
static inline LogPositionStruct readingPosition(Loaded loaded)
{
  const LoadedItemStruct *item = &loaded->item[loaded->next];

  return (LogPositionStruct){item->fine, loaded->stream->process->public.number, loaded->stream->id, loaded->sequence,
                             loaded->original == NULL ? item->at : loaded->original[loaded->next]};
}

/* readingBegin -- leave out the events of a block that stand before the position at which the pass began */
static void readingBegin(Reading reading, Loaded loaded)
{
  const LogPositionStruct *from = &reading->from;

  while (loaded->next < loaded->count && UNLIKELY(loaded->item[loaded->next].fine <= from->fine)) {
    LogPositionStruct position = readingPosition(loaded);
    if (LogPositionCompare(&position, from) >= 0)
      break;
    ++loaded->next;
  }
}

/* readingSealed -- is it a block as its writer sealed it, and all of it? */
static Bool readingSealed(const IndexEntryStruct *entry)
{
  enum { flags = BlockFlagSEALED | BlockFlagSNAPSHOT | BlockFlagRECOVERED | IndexEntryCUT };

  return (entry->flags & flags) == BlockFlagSEALED;
}

/* readingLoaded -- a block is in memory: tell what of it is not, and let it take part */
static Res readingLoaded(Reading reading, const IndexEntryStruct *entry, Loaded loaded, LoadReport report)
{
  Stream stream = loaded->stream;
  ReadingStream its = ReadingStreamOf(reading, stream);
  Res res;

  ++reading->blocks;
  reading->decoded += loaded->count;
  its->read = TRUE;
  its->readFirst = entry->first;
  its->readSequence = entry->sequence;
  its->readCount = entry->count;
  its->readFile = IndexPlaceFile(entry->place);
  its->readSealed = readingSealed(entry);
  if (its->failure.what != NULL && strcmp(its->failure.what, "block cut off") == 0 &&
      its->failure.count <= entry->count)
    ReadingFailureForget(reading, its); /* nothing is damaged, and nothing lost: it was begun twice */
  ReadingFailureTell(reading, its, entry->count);
  if (report->what != NULL)
    ReadingTell(reading, entry->place, report->what, report->lost, LogLostEXACTLY);
  if (report->unknown > 0)
    ReadingOmit(reading, &stream->process->unknown, entry, report->unknown, report->unknownCode);
  if (reading->partials != NULL)
    PartialsTake(reading->partials, loaded, entry);
  readingBegin(reading, loaded);
  if (loaded->next == loaded->count) {
    LoaderFree(&reading->loader, loaded);
    return ResOK;
  }
  res = readingPush(reading, loaded);
  if (res == ResOK && UNLIKELY(reading->loader.memory > readingMemoryMAX))
    res = readingPark(reading);
  return res;
}

/* readingWas -- was this block, or a longer copy of it, delivered already?  Copies of a block follow each other in the index, the
 * longest first; only those that arrive while the pass runs may be longer than one before them. */
static Bool readingWas(Reading reading, ReadingStream its, const IndexEntryStruct *entry)
{
  return its->read && its->readFirst == entry->first && its->readSequence == entry->sequence &&
         (reading->partials == NULL || its->readCount >= entry->count);
}

/* readingLoad -- load the block of an entry, of which `types` are wanted */
static Res readingLoad(Reading reading, ReadingStream its, const IndexEntryStruct *entry, const unsigned char *types)
{
  LoadReportStruct report;
  Loaded loaded;
  Res res = LoaderLoad(&loaded, &report, &reading->loader, entry, types);

  if (res == ResOK)
    return readingLoaded(reading, entry, loaded, &report);
  if (res != ResFORMAT)
    return res;
  if (report.dropped) {
    reading->dropped += entry->count;
    return ResOK;
  }
  /* Where somebody still writes, the last block may be half of one. */
  if ((entry->flags & IndexEntryCUT) == 0 || !reading->log->file[IndexPlaceFile(entry->place)]->live)
    ReadingFailureSet(reading, its, entry, report.what, report.lost);
  return ResOK;
}

/* readingOpen -- load the block of an entry, unless it is a copy of one that was had */
static Res readingOpen(Reading reading, const IndexEntryStruct *entry)
{
  Stream stream = reading->log->table.stream[entry->stream];
  ReadingStream its = ReadingStreamOf(reading, stream);
  const unsigned char *types;

  if (its == NULL)
    return ResMEMORY;
  if (its->failure.what != NULL && (its->failure.first != entry->first || its->failure.sequence != entry->sequence))
    ReadingFailureTell(reading, its, 0);
  if (!ProcessTyped(stream->process)) {
    ReadingOmit(reading, &stream->process->orphans, entry, entry->count, 0);
    return ResOK;
  }
  ReadingMissing(reading, stream, entry);
  if (!readingWas(reading, its, entry)) {
    if (!readingSkips(reading, stream, entry, &types))
      return readingLoad(reading, its, entry, types);
  } else if (its->readSealed && readingSealed(entry) && its->readCount != entry->count) {
    ReadingContrary(reading, stream->process, its->readFile, entry); /* what was sealed twice must be the same */
  }
  if (reading->partials != NULL && (entry->flags & BlockFlagSNAPSHOT) == 0)
    PartialsForget(reading->partials, entry);
  return ResOK;
}

/* readingMore -- call those for an event that come behind the first; does the run end behind it?  Not inlined, because
 * the loop of one needs all registers. */
static __attribute__((noinline)) Bool readingMore(Reading reading, const ReadingHandStruct *more, LogEvent event)
{
  Bool ends = FALSE;

  for (; more->call != NULL; ++more) {
    ends |= more->call(more->request, event);
    if (UNLIKELY(reading->halt)) {
      reading->client.halted(reading->client.data, more + 1, event);
      return TRUE;
    }
    ends |= more->request->stop;
  }
  return ends;
}

/* readingHandOut -- call those of a route for an event; does the run end behind it?  Mostly there is one. */
static inline Bool readingHandOut(Reading reading, const ReadingRouteStruct *route, LogEvent event)
{
  Bool ends = route->hand.call(route->hand.request, event);

  if (UNLIKELY(reading->halt)) {
    reading->client.halted(reading->client.data, route->more, event);
    return TRUE;
  }
  ends |= route->hand.request->stop; /* behind `halt`: who withdrew itself may be gone */
  return route->more == NULL ? ends : ends | readingMore(reading, route->more, event);
}

/* readingRoutes -- ask where the events of a block go; NULL: no memory */
static __attribute__((noinline)) const ReadingRouteStruct *readingRoutes(Reading reading, Loaded loaded)
{
  loaded->routes = reading->client.routes(reading->client.data, loaded->stream->process, loaded->stream->kind);
  loaded->stamp = loaded->routes != NULL ? reading->stamp : 0;
  return loaded->routes;
}

/* readingRun -- deliver the front block's events up to `limit` (fine time, exclusive), at least one; ResMEMORY */
static Res readingRun(Reading reading, uint64_t limit)
{
  Loaded front = reading->heap[0].loaded;
  const ReadingRouteStruct *routes = LIKELY(front->stamp == reading->stamp) ? front->routes
                                                                            : readingRoutes(reading, front), *route;
  LoadedItem item = front->item + front->next, end = front->item + front->count;
  uint64_t origin = reading->log->origin;
  LogEventStruct event; /* not set to 0 first: a run may be one event */

  if (UNLIKELY(routes == NULL))
    return ResMEMORY;
  event.process = &front->stream->process->public;
  event.thread = front->stream->thread;
  event.stream = front->stream->id;
  event.kind = front->stream->kind;
  event.sequence = front->sequence;
  event.cpu = front->cpu;
  if ((uint64_t)(end - item) > reading->left)
    end = item + reading->left;
  reading->left -= (uint64_t)(end - item);
  do {
    event.time = origin + (item->fine >> ClockFineSHIFT);
    event.fine = item->fine;
    event.at = LIKELY(front->original == NULL) ? item->at : front->original[item - front->item];
    route = &routes[item->type];
    event.type = route->type;
    event.length = item->length & (EventLengthCUT - 1);
    event.cut = (item->length & EventLengthCUT) != 0;
    event.bytes = front->bytes + item->at;
    ++item;
    if (UNLIKELY(readingHandOut(reading, route, &event))) {
      reading->ended = TRUE;
      break;
    }
  } while (item < end && item->fine < limit);
  reading->left += (uint64_t)(end - item);
  LogEventPosition(&reading->position, &event);
  ++reading->position.at;
  front->next = (Index)(item - front->item);
  if (front->next < front->count)
    reading->heap[0].fine = item->fine;
  return ResOK;
}

/* readingLimit -- up to which time the front block's events are alone, and before `end` (fine) */
static inline uint64_t readingLimit(Reading reading, uint64_t end)
{
  uint64_t limit = reading->next < reading->until ? reading->next : reading->until;

  if (end < limit)
    limit = end;
  if (reading->open > 1 && reading->heap[1].fine < limit)
    limit = reading->heap[1].fine;
  if (reading->open > 2 && reading->heap[2].fine < limit)
    limit = reading->heap[2].fine;
  return limit;
}

/* readingNext -- look which block is to be opened next */
static void readingNext(Reading reading)
{
  QueueEntry queued = reading->queue.heap;

  reading->entry = IndexNow(&reading->pass, &reading->next);
  reading->queued = reading->queue.count > 0 && (reading->entry == NULL || queued->fine < reading->next);
  if (reading->queued) {
    reading->entry = &queued->entry;
    reading->next = queued->fine;
  }
  if (reading->entry == NULL)
    reading->next = UINT64_MAX;
}

/* readingAdvance -- the block that was next is open */
static Res readingAdvance(Reading reading)
{
  Res res = ResOK;

  if (reading->reporter->telling && reading->reporter->hooks.progress != NULL)
    reading->reporter->hooks.progress(reading->reporter->hooks.data, ++reading->passed, reading->log->summary.blocks);
  if (reading->queued)
    QueueTake(&reading->queue);
  else
    res = IndexAdvance(&reading->pass);
  readingNext(reading);
  return res;
}

/* readingRunLate -- the same as readingRun, where events may come too late: count them */
static Res readingRunLate(Reading reading, uint64_t limit)
{
  Loaded front = reading->heap[0].loaded;
  Index i = front->next;
  Res res = readingRun(reading, limit);

  for (; i < front->next && front->item[i].fine < reading->latest; ++i)
    ++reading->late;
  if (i < front->next)
    reading->latest = front->item[front->next - 1].fine;
  return res;
}

/* readingOn -- the front block has got on, perhaps to its end */
static inline Res readingOn(Reading reading)
{
  Loaded front = reading->heap[0].loaded;

  if (LIKELY(front->next < front->count)) {
    readingSink(reading);
    return ResOK;
  }
  if (front->parked) {
    Res res = ParkRefill(&reading->park, front);
    if (res == ResOK) {
      reading->heap[0].fine = front->item[0].fine;
      readingSink(reading);
    }
    if (res != ResEND)
      return res;
  }
  readingPop(reading);
  return ResOK;
}

/* readingFirst -- may the block that is to be opened next have the event that is next? */
static inline Bool readingFirst(Reading reading)
{
  return reading->open == 0 || reading->next <= reading->heap[0].fine;
}

/* readingReached -- is whatever comes next at `end` or behind it? */
static inline Bool readingReached(Reading reading, const LogPositionStruct *end)
{
  uint64_t next = reading->open > 0 && reading->heap[0].fine < reading->next ? reading->heap[0].fine : reading->next;
  LogPositionStruct position;

  if (LIKELY(next != end->fine))
    return next > end->fine;
  if (readingFirst(reading))
    return (end->process | end->stream | end->sequence | end->at) == 0; /* else it has to be opened first */
  position = readingPosition(reading->heap[0].loaded);
  return LogPositionCompare(&position, end) >= 0;
}

/* readingSettled -- can nothing come any more before `end`? */
static Bool readingSettled(Reading reading, const LogPositionStruct *end)
{
  return end->fine < reading->until || reading->until == UINT64_MAX;
}

/* readingBring -- open the block that is to be opened next */
static Res readingBring(Reading reading)
{
  Res res = readingOpen(reading, reading->entry);

  return res == ResOK ? readingAdvance(reading) : res;
}

Res ReadingNext(uint64_t *fineReturn, Reading reading)
{
  Res res = ResOK;

  reading->log->reporter.telling = !reading->client.quiet;
  readingNext(reading);
  while (res == ResOK && reading->entry != NULL && readingFirst(reading))
    res = readingBring(reading);
  if (res == ResOK && reading->open == 0)
    return ResEND;
  if (res == ResOK)
    *fineReturn = reading->heap[0].fine;
  return res;
}

/* readingMerge -- deliver what comes before `reading->until`: ResOK: that, or the run has ended; ResLIMIT: `end` was
 * reached; ResEND: there is nothing more */
static Res readingMerge(Reading reading, const LogPositionStruct *end)
{
  Res res = ResOK;

  ReadingRoutesForget(reading);
  readingNext(reading);
  while (!reading->ended && reading->left > 0 && res == ResOK) {
    if (UNLIKELY(reading->open == 0 && reading->entry == NULL))
      return reading->until == UINT64_MAX ? ResEND : ResOK;
    if (UNLIKELY(readingReached(reading, end)) && readingSettled(reading, end))
      return ResLIMIT;
    if (UNLIKELY(reading->next < reading->until && readingFirst(reading))) {
      res = readingBring(reading);
      reading->ended |= reading->halt; /* somebody who was told of a gap wants no more */
      continue;
    }
    if (reading->open == 0 || reading->heap[0].fine >= reading->until)
      break;
    if (LIKELY(reading->partials == NULL))
      res = readingRun(reading, readingLimit(reading, end->fine));
    else
      res = readingRunLate(reading, readingLimit(reading, end->fine));
    if (LIKELY(res == ResOK))
      res = readingOn(reading);
  }
  return res;
}

/* readingSift -- leave out what an open block has before the pass's beginning; ResEND: it has nothing else */
static Res readingSift(Reading reading, Loaded loaded)
{
  Res res = ResOK;

  readingBegin(reading, loaded);
  while (res == ResOK && loaded->next == loaded->count) {
    res = ParkRefill(&reading->park, loaded);
    if (res == ResOK)
      readingBegin(reading, loaded);
  }
  return res;
}

/* readingSiftAll -- close the blocks that have nothing at reading->from or behind it; leave out what the others have
 * before */
static Res readingSiftAll(Reading reading)
{
  Count open = reading->open;
  Index i;
  Res res = ResOK;

  reading->open = 0;
  for (i = 0; i < open; ++i) {
    Loaded loaded = reading->heap[i].loaded;
    Res sifted = readingSift(reading, loaded);
    if (sifted == ResOK)
      (void)readingPush(reading, loaded); /* to where another was: there is room */
    else
      readingGive(reading, loaded);
    if (sifted != ResOK && sifted != ResEND)
      res = sifted;
  }
  return res;
}

static void readingGiveAll(Reading reading)
{
  while (reading->open > 0)
    readingGive(reading, reading->heap[--reading->open].loaded);
  free(reading->heap);
}

/* ---- Passes ---- */

static Res readingStart(Reading reading)
{
  Res res = LoaderInit(&reading->loader, &reading->log->table, reading->log->file);

  reading->loader.from = reading->from.fine;
  ReadingTellScanned(reading);
  if (res == ResOK)
    res = IndexPassBegin(&reading->pass, &reading->log->index, reading->from.fine);
  if (res == ResOK && reading->log->follow != NULL)
    FollowBegin(reading->log->follow, reading);
  return res;
}

Res ReadingCreate(Reading *readingReturn, Log log, const ReadingClientStruct *client,
                  const LogPositionStruct *position)
{
  Reading reading = calloc(1, sizeof *reading);
  Res res;

  if (reading == NULL)
    return ResMEMORY;
  AVER(TableCheck(&log->table));
  AVER(DamagedRangesCheck(&log->regions));
  AVER(IndexCheck(&log->index));
  reading->log = log;
  reading->client = *client;
  reading->from = reading->position = *position;
  reading->until = UINT64_MAX;
  reading->reporter = &log->reporter;
  ParkInit(&reading->park);
  res = readingStart(reading);
  if (res == ResOK)
    *readingReturn = reading;
  else
    ReadingDestroy(reading);
  return res;
}

void ReadingDestroy(Reading reading)
{
  Log log = reading->log;

  ReadingTellEnd(reading);
  if (log->follow != NULL)
    FollowEnd(log->follow, reading);
  readingGiveAll(reading);
  QueueFree(&reading->queue);
  IndexPassEnd(&reading->pass);
  ParkFinish(&reading->park);
  LoaderFinish(&reading->loader);
  free(reading->stream);
  free(reading);
}

Res ReadingLeap(Reading reading, const LogPositionStruct *to)
{
  Index i;
  Res res;

  AVER(LogPositionCompare(&reading->position, to) <= 0);
  ReadingTellFailures(reading);
  for (i = 0; i < reading->streams; ++i)
    reading->stream[i].met = FALSE; /* what is missing before is nobody's loss */
  reading->from = reading->position = *to;
  res = readingSiftAll(reading);
  return res == ResOK ? IndexPassLeap(&reading->pass, to->fine) : res;
}

Res ReadingRun(Reading reading, const LogPositionStruct *end, uint64_t count)
{
  Res res;

  reading->log->reporter.telling = !reading->client.quiet;
  reading->left = count;
  reading->ended = FALSE;
  res = readingMerge(reading, end);
  if (res == ResOK && !reading->ended && reading->left > 0) {
    res = FollowRound(reading->log->follow);
    if (res == ResOK)
      res = readingMerge(reading, end);
  }
  if (res == ResLIMIT || res == ResEND) {
    reading->position = *end;
    ReadingTellFailures(reading);
  }
  return res == ResLIMIT ? ResOK : res;
}
