/* reading.c -- a pass over a traceset: merges the events of its streams by time, from a position on
 *
 * While the block at the front is alone in time its events go out in a tight loop.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/reading.h"

#include <stdlib.h>

#include "base/aver.h"
#include "format/block.h"

/* readingSink -- the block at the top goes down to where it belongs */
static inline void readingSink(Reading reading)
{
  ReadingOpenStruct *heap = reading->heap, moving = heap[0];
  Index i = 0, child;

  while ((child = 2 * i + 1) < reading->open) {
    if (child + 1 < reading->open && ReadingBefore(&heap[child + 1], &heap[child]))
      ++child;
    if (!ReadingBefore(&heap[child], &moving))
      break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moving;
}

Bool ReadingCheck(Reading reading)
{
  Bool sound = reading->open <= reading->capacity && reading->streams <= reading->log->table.streams &&
               LogPositionCompare(&reading->from, &reading->position) <= 0;
  Index i;

  for (i = 0; sound && i < reading->open; ++i) {
    const ReadingOpenStruct *open = &reading->heap[i];
    sound = open->loaded->next < open->loaded->count && open->fine == open->loaded->item[open->loaded->next].fine &&
            (i == 0 || open->fine >= reading->heap[(i - 1) / 2].fine);
  }
  return sound;
}

static void readingPop(Reading reading)
{
  ReadingBlockGive(reading, reading->heap[0].loaded);
  reading->heap[0] = reading->heap[--reading->open];
  if (reading->open > 0)
    readingSink(reading);
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
  if (front->spilled) {
    Res res = SpillRefill(&reading->spill, front);
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
  position = ReadingPosition(reading->heap[0].loaded);
  return LogPositionCompare(&position, end) >= 0;
}

/* readingBring -- open the block that is to be opened next */
static Res readingBring(Reading reading)
{
  Res res = ReadingBlockOpen(reading, reading->entry);

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
    if (UNLIKELY(readingReached(reading, end)) && (end->fine < reading->until || reading->until == UINT64_MAX))
      return ResLIMIT; /* and nothing can come any more before `end` */
    if (UNLIKELY(reading->next < reading->until && readingFirst(reading))) {
      res = readingBring(reading);
      reading->ended |= reading->halt; /* a hook for a gap has ended the run */
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
  AVER(log->follow != NULL || log->index.pieces > 0 || log->index.entries == 0);
  reading->log = log;
  reading->client = *client;
  reading->from = reading->position = *position;
  reading->until = UINT64_MAX;
  reading->reporter = &log->reporter;
  SpillInit(&reading->spill);
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
  while (reading->open > 0)
    ReadingBlockGive(reading, reading->heap[--reading->open].loaded);
  free(reading->heap);
  QueueFree(&reading->queue);
  IndexPassEnd(&reading->pass);
  SpillFinish(&reading->spill);
  LoaderFinish(&reading->loader);
  free(reading->stream);
  free(reading);
}

Res ReadingLeap(Reading reading, const LogPositionStruct *to)
{
  Index i;
  Res res;

  AVER(ReadingCheck(reading) && LogPositionCompare(&reading->position, to) <= 0);
  ReadingTellFailures(reading);
  for (i = 0; i < reading->streams; ++i)
    reading->stream[i].met = FALSE; /* no request asked for what is missing before `to` */
  reading->from = reading->position = *to;
  res = ReadingBlocksSift(reading);
  return res == ResOK ? IndexPassLeap(&reading->pass, to->fine) : res;
}

Res ReadingRun(Reading reading, const LogPositionStruct *end, uint64_t count)
{
  Res res;

  AVER_CRITICAL(ReadingCheck(reading));
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
