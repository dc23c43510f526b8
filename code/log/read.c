/* read.c -- one pass over a traceset: the streams' events merged by time
 *
 * A heap holds the blocks that are open, by the time of their next event.  A block is loaded when the merge comes to
 * the time at which it was opened, and given back with its last event.  While the block at the front is alone in time
 * its events go out in a tight loop.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "format/block.h"
#include "log/load.h"
#include "log/logset.h"
#include "log/park.h"

enum { readMemoryMAX = 4 << 20 }; /* bytes of open blocks; beyond that some are parked */

/* An open block in the heap; the time of its next event stands here, where comparing finds it without a detour. */
typedef struct readOpenStruct {
  uint64_t fine;
  Loaded loaded;
} readOpenStruct;

typedef struct readingStruct {
  Log log;
  LogRequest request;
  LoaderStruct loader;
  ParkStruct park;
  IndexPassStruct pass;
  readOpenStruct *heap; /* heap[0] is next; no parent comes behind its children */
  Count open, capacity;
  const IndexEntryStruct *entry; /* the block that is to be opened next, or NULL, */
  uint64_t next;       /* and when, fine; UINT64_MAX if there is none or it is beyond the request */
  uint64_t left;       /* events that may still be delivered */
  uint64_t blocks;     /* that the pass has come to */
  Bool ended;          /* by the hook or the count */
  Teller teller;
} readingStruct, *Reading;

/* readTie -- of two blocks whose next events have the same time, does `a` come first? */
static __attribute__((noinline)) Bool readTie(Loaded a, Loaded b)
{
  if (a->stream->process != b->stream->process)
    return a->stream->process->public.number < b->stream->process->public.number;
  if (a->stream->id != b->stream->id)
    return a->stream->id < b->stream->id;
  return a->sequence < b->sequence;
}

/* readBefore -- the one order of all events */
static inline Bool readBefore(const readOpenStruct *a, const readOpenStruct *b)
{
  return LIKELY(a->fine != b->fine) ? a->fine < b->fine : readTie(a->loaded, b->loaded);
}

/* readSink -- the block at the top goes down to where it belongs */
static inline void readSink(Reading reading)
{
  readOpenStruct *heap = reading->heap, moving = heap[0];
  Index i = 0, child;

  while ((child = 2 * i + 1) < reading->open) {
    if (child + 1 < reading->open && readBefore(&heap[child + 1], &heap[child]))
      ++child;
    if (!readBefore(&heap[child], &moving))
      break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moving;
}

static Res readPush(Reading reading, Loaded loaded)
{
  readOpenStruct open = {loaded->item[loaded->next].fine, loaded};
  Index i = reading->open, parent;

  if (reading->open == reading->capacity) {
    Count capacity = reading->capacity == 0 ? 16 : reading->capacity * 2;
    readOpenStruct *more = realloc(reading->heap, capacity * sizeof *more);
    if (more == NULL)
      return ResMEMORY;
    reading->heap = more;
    reading->capacity = capacity;
  }
  ++reading->open;
  for (; i > 0; i = parent) {
    parent = (i - 1) / 2;
    if (!readBefore(&open, &reading->heap[parent]))
      break;
    reading->heap[i] = reading->heap[parent];
  }
  reading->heap[i] = open;
  return ResOK;
}

/* readGive -- a block is not needed any more */
static void readGive(Reading reading, Loaded loaded)
{
  if (loaded->size == 0) {
    ParkRelease(&reading->park, loaded);
    free(loaded);
  } else {
    LoaderFree(&reading->loader, loaded);
  }
}

/* readPark -- put the blocks aside whose next events are furthest away, until the others fit */
static Res readPark(Reading reading)
{
  while (reading->loader.memory > readMemoryMAX && reading->open > 1 && !reading->park.failed) {
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

static void readPop(Reading reading)
{
  readGive(reading, reading->heap[0].loaded);
  reading->heap[0] = reading->heap[--reading->open];
  if (reading->open > 0)
    readSink(reading);
}

/* readFailureTell -- the block that failed last has no sound copy; `had` of its events were had from a worse one */
static void readFailureTell(Reading reading, Stream stream, uint32_t had)
{
  StreamFailureStruct *failure = &stream->failure;

  if (failure->what != NULL) {
    TellerGap(reading->teller, failure->place, failure->what, failure->count > had ? failure->count - had : 0,
              LogLostEXACTLY);
    failure->what = NULL;
  }
}

static void readFailureSet(Stream stream, const IndexEntryStruct *entry, const char *what, uint32_t count)
{
  StreamFailureStruct *failure = &stream->failure;

  if (failure->what != NULL && failure->count >= count)
    return; /* of copies that all fail, the first and longest is told */
  failure->place = entry->place;
  failure->first = entry->first;
  failure->sequence = entry->sequence;
  failure->what = what;
  failure->count = count;
}

static void readOmit(ProcessOmitted omitted, const IndexEntryStruct *entry, uint64_t events, uint16_t code)
{
  if (omitted->events == 0) {
    omitted->place = entry->place;
    omitted->code = code;
  }
  omitted->events += events;
}

/* readOmittedTell -- tell what of a process was left out */
static void readOmittedTell(Reading reading, Process process)
{
  char what[120];

  if (process->orphans.events > 0) {
    (void)snprintf(what, sizeof what, "from here on: no header block of process %u was found", process->pid);
    TellerGap(reading->teller, process->orphans.place, what, process->orphans.events, LogLostEXACTLY);
  }
  if (process->unknown.events > 0) {
    (void)snprintf(what, sizeof what, "from here on: no header block of process %u has event code 0x%04x%s",
                   process->pid, process->unknown.code, process->unknown.events > 1 ? " or such" : "");
    TellerGap(reading->teller, process->unknown.place, what, process->unknown.events, LogLostEXACTLY);
  }
  process->orphans.events = process->unknown.events = 0;
}

/* readSkips -- is the block of no interest to this request?  Its header alone tells. */
static Bool readSkips(Reading reading, Stream stream, const IndexEntryStruct *entry)
{
  if (entry->kind < 32 && (reading->request->kinds >> entry->kind & 1) == 0)
    return TRUE;
  return (entry->flags & BlockFlagSEALED) != 0 && reading->loader.from > 0 &&
         ClockFine(ClockResolve(stream->process->clock), entry->last) < reading->loader.from;
}

/* readOpen -- load the block of an entry, unless it is a copy of one that was had */
static Res readOpen(Reading reading, const IndexEntryStruct *entry)
{
  Stream stream = reading->log->table.stream[entry->stream];
  LoadReportStruct report;
  Loaded loaded;
  Res res;

  if (stream->failure.what != NULL &&
      (stream->failure.first != entry->first || stream->failure.sequence != entry->sequence))
    readFailureTell(reading, stream, 0);
  if (!stream->process->headed) {
    readOmit(&stream->process->orphans, entry, entry->count, 0);
    return ResOK;
  }
  if (readSkips(reading, stream, entry) ||
      (stream->read && stream->readFirst == entry->first && stream->readSequence == entry->sequence))
    return ResOK; /* copies of a block come one behind the other, the longest first */
  res = LoaderLoad(&loaded, &report, &reading->loader, entry);
  if (res == ResFORMAT) {
    if ((entry->flags & IndexEntryCUT) != 0 && reading->log->file[IndexPlaceFile(entry->place)]->live)
      return ResOK; /* it is being written */
    readFailureSet(stream, entry, report.what, report.lost);
    return ResOK;
  }
  if (res != ResOK)
    return res;
  stream->read = TRUE;
  stream->readFirst = entry->first;
  stream->readSequence = entry->sequence;
  stream->readCount = entry->count;
  if (stream->failure.what != NULL && strcmp(stream->failure.what, "block cut off") == 0 &&
      stream->failure.count <= entry->count)
    stream->failure.what = NULL; /* nothing is damaged, and nothing lost: it was begun twice */
  readFailureTell(reading, stream, entry->count);
  if (report.what != NULL)
    TellerGap(reading->teller, entry->place, report.what, report.lost, LogLostEXACTLY);
  if (report.unknown > 0)
    readOmit(&stream->process->unknown, entry, report.unknown, report.unknownCode);
  if (loaded->count == 0) {
    LoaderFree(&reading->loader, loaded);
    return ResOK;
  }
  res = readPush(reading, loaded);
  if (res == ResOK && UNLIKELY(reading->loader.memory > readMemoryMAX))
    res = readPark(reading);
  return res;
}

/* readRun -- deliver the front block's events up to `limit` (fine time, exclusive), at least one */
static void readRun(Reading reading, uint64_t limit)
{
  Loaded front = reading->heap[0].loaded;
  LogRequest request = reading->request;
  EventType types = front->stream->process->public.registry->types;
  LoadedItem item = front->item + front->next, end = front->item + front->count;
  uint64_t origin = reading->log->origin;
  LogEventStruct event = {.process = &front->stream->process->public, .thread = front->stream->thread,
                          .stream = front->stream->id};

  if ((uint64_t)(end - item) > reading->left)
    end = item + reading->left;
  reading->left -= (uint64_t)(end - item);
  do {
    event.time = origin + (item->fine >> ClockFineSHIFT);
    event.type = &types[item->type];
    event.length = item->length & (EventLengthCUT - 1);
    event.cut = (item->length & EventLengthCUT) != 0;
    event.bytes = front->bytes + item->at;
    ++item;
    if (UNLIKELY(request->event(request->data, &event))) {
      reading->ended = TRUE;
      return;
    }
  } while (item < end && item->fine < limit);
  reading->left += (uint64_t)(end - item);
  reading->ended = reading->left == 0;
  front->next = (Index)(item - front->item);
  if (front->next < front->count)
    reading->heap[0].fine = item->fine;
}

/* readLimit -- up to which time the front block's events are alone */
static inline uint64_t readLimit(Reading reading)
{
  uint64_t limit = reading->next;

  if (reading->open > 1 && reading->heap[1].fine < limit)
    limit = reading->heap[1].fine;
  if (reading->open > 2 && reading->heap[2].fine < limit)
    limit = reading->heap[2].fine;
  return limit;
}

/* readNext -- look which block is to be opened next */
static void readNext(Reading reading)
{
  reading->entry = IndexNow(&reading->pass, &reading->next);
  if (reading->entry == NULL || reading->next >= reading->loader.to)
    reading->next = UINT64_MAX;
}

/* readOn -- the front block has got on, perhaps to its end */
static inline Res readOn(Reading reading)
{
  Loaded front = reading->heap[0].loaded;

  if (LIKELY(front->next < front->count)) {
    readSink(reading);
    return ResOK;
  }
  if (front->parked) {
    Res res = ParkRefill(&reading->park, front);
    if (res == ResOK) {
      reading->heap[0].fine = front->item[0].fine;
      readSink(reading);
    }
    if (res != ResEND)
      return res;
  }
  readPop(reading);
  return ResOK;
}

static Res readMerge(Reading reading)
{
  Res res;

  readNext(reading);
  while (!reading->ended) {
    if (UNLIKELY(reading->next != UINT64_MAX && (reading->open == 0 || reading->next <= reading->heap[0].fine))) {
      res = readOpen(reading, reading->entry);
      if (reading->teller->telling && reading->teller->hooks.progress != NULL)
        reading->teller->hooks.progress(reading->teller->hooks.data, ++reading->blocks, reading->log->summary.blocks);
      if (res == ResOK)
        res = IndexAdvance(&reading->pass);
      if (res != ResOK)
        return res;
      readNext(reading);
      continue;
    }
    if (reading->open == 0)
      break;
    readRun(reading, readLimit(reading));
    res = readOn(reading);
    if (res != ResOK)
      return res;
  }
  return ResOK;
}

/* readFine -- wall time as fine time, rounded up */
static uint64_t readFine(Log log, uint64_t time)
{
  if (time <= log->origin)
    return 0;
  return time - log->origin > UINT64_MAX >> ClockFineSHIFT ? UINT64_MAX : (time - log->origin) << ClockFineSHIFT;
}

/* readChoose -- ask once for each type of each process whether it is wanted */
static Res readChoose(Reading reading)
{
  Table table = &reading->log->table;
  LogRequest request = reading->request;
  void *data = request->chooseData != NULL ? request->chooseData : request->data;
  Index i, t;

  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    Registry registry = process->public.registry;
    free(process->wanted);
    process->wanted = NULL;
    if (request->choose == NULL || registry->count == 0)
      continue;
    process->wanted = malloc(registry->count);
    if (process->wanted == NULL)
      return ResMEMORY;
    for (t = 0; t < registry->count; ++t)
      process->wanted[t] = request->choose(data, &process->public, &registry->types[t]) != FALSE;
  }
  return ResOK;
}

static void readFinish(Reading reading)
{
  Index i;

  for (i = 0; i < reading->log->table.streams; ++i)
    readFailureTell(reading, reading->log->table.stream[i], 0);
  for (i = 0; i < reading->log->table.processes; ++i)
    readOmittedTell(reading, reading->log->table.process[i]);
  while (reading->open > 0)
    readGive(reading, reading->heap[--reading->open].loaded);
  IndexPassEnd(&reading->pass);
  ParkFinish(&reading->park);
  LoaderFinish(&reading->loader);
  free(reading->heap);
}

Res LogRead(Log log, LogRequest request)
{
  readingStruct reading = {.log = log, .request = request, .left = request->count, .ended = request->count == 0,
                           .teller = &log->teller};
  Index i;
  Res res;

  AVER(TableCheck(&log->table));
  AVER(RegionsCheck(&log->regions));
  AVER(IndexCheck(&log->index));
  for (i = 0; i < log->table.streams; ++i) {
    log->table.stream[i]->read = FALSE;
    log->table.stream[i]->failure.what = NULL;
  }
  log->teller.telling = !log->told;
  ParkInit(&reading.park);
  res = LoaderInit(&reading.loader, &log->table, log->file);
  if (res == ResOK)
    res = readChoose(&reading);
  reading.loader.from = readFine(log, request->from);
  reading.loader.to = readFine(log, request->to);
  if (res == ResOK && log->teller.telling)
    GapsTell(&log->teller, &log->regions, &log->table);
  if (res == ResOK)
    res = IndexPassBegin(&reading.pass, &log->index);
  if (res == ResOK)
    res = readMerge(&reading);
  readFinish(&reading);
  log->told = TRUE;
  return res;
}
