/* readingopen.c -- the blocks of a pass that are open: which of the index take part, from where, and which are spilled
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/reading.h"

#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "format/block.h"

enum { readingMemoryMAX = 4 << 20 }; /* bytes of open blocks; beyond that some are spilled */

/* readingPush -- a block takes part, with its next event; ResMEMORY: it does not, and is the caller's as before */
static Res readingPush(Reading reading, Loaded loaded)
{
  ReadingOpenStruct open = {loaded->item[loaded->next].fine, loaded};
  Index i = reading->open, parent;

  if (!Grow(&reading->heap, &reading->capacity, reading->open, sizeof *reading->heap))
    return ResMEMORY;
  ++reading->open;
  for (; i > 0; i = parent) {
    parent = (i - 1) / 2;
    if (!ReadingBefore(&open, &reading->heap[parent]))
      break;
    reading->heap[i] = reading->heap[parent];
  }
  reading->heap[i] = open;
  return ResOK;
}

void ReadingBlockGive(Reading reading, Loaded loaded)
{
  SpillRelease(&reading->spill, loaded);
  LoaderFree(&reading->loader, loaded);
}

/* readingPark -- put the blocks aside whose next events are furthest away, until the others fit */
static Res readingPark(Reading reading)
{
  while (reading->loader.memory > readingMemoryMAX && reading->open > 1 && !reading->spill.failed) {
    Index i, furthest = reading->open;
    Res res;
    for (i = 1; i < reading->open; ++i)
      if (!reading->heap[i].loaded->spilled &&
          (furthest == reading->open || reading->heap[i].fine > reading->heap[furthest].fine))
        furthest = i;
    if (furthest == reading->open)
      break;
    res = SpillPut(&reading->spill, &reading->loader, &reading->heap[furthest].loaded);
    if (res == ResIO)
      return res;
  }
  return ResOK;
}

/* readingSkips -- is nothing of the block wanted?  Its header alone tells; otherwise *typesReturn is what is. */
static Bool readingSkips(Reading reading, LogStream stream, const IndexEntryStruct *entry,
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

/* readingBegin -- leave out the events of a block that stand before the position at which the pass began */
static void readingBegin(Reading reading, Loaded loaded)
{
  const LogPositionStruct *from = &reading->from;

  while (loaded->next < loaded->count && UNLIKELY(loaded->item[loaded->next].fine <= from->fine)) {
    LogPositionStruct position = ReadingPosition(loaded);
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
  LogStream stream = loaded->stream;
  ReadingStream its = ReadingStreamOf(reading, stream);
  Res res;

  ++reading->log->costs.blocks;
  reading->log->costs.decoded += loaded->count;
  its->read = TRUE;
  its->had = *entry;
  if (its->failure.what != NULL && strcmp(its->failure.what, "block cut off") == 0 &&
      its->failure.lost <= entry->count)
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
  if (res != ResOK)
    LoaderFree(&reading->loader, loaded);
  else if (UNLIKELY(reading->loader.memory > readingMemoryMAX))
    res = readingPark(reading);
  return res;
}

/* readingSame -- are two blocks of a stream copies of one? */
static Bool readingSame(const IndexEntryStruct *a, const IndexEntryStruct *b)
{
  return a->first == b->first && a->sequence == b->sequence;
}

/* readingWas -- was this block, or a longer copy of it, delivered already?  Copies of a block follow each other in the
 * index, the longest first; only those that arrive while the pass runs may be longer than one before them. */
static Bool readingWas(Reading reading, ReadingStream its, const IndexEntryStruct *entry)
{
  return its->read && readingSame(&its->had, entry) &&
         (reading->partials == NULL || its->had.count >= entry->count);
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
  /* While a program still writes, the last block may be incomplete. */
  if ((entry->flags & IndexEntryCUT) != 0 && reading->log->file[IndexPlaceFile(entry->place)]->live)
    return ResOK;
  if (reading->partials == NULL)
    ReadingFailureSet(reading, its, entry, report.what, report.lost);
  else if (!PartialsFail(reading->partials, entry, report.what, report.lost))
    ReadingTell(reading, entry->place, report.what, report.lost, LogLostEXACTLY);
  return ResOK;
}

Res ReadingBlockOpen(Reading reading, const IndexEntryStruct *entry)
{
  LogStream stream = reading->log->table.stream[entry->stream];
  ReadingStream its = ReadingStreamOf(reading, stream);
  const unsigned char *types;

  if (its == NULL)
    return ResMEMORY;
  if (its->failure.what != NULL && !readingSame(&its->failure.entry, entry))
    ReadingFailureTell(reading, its, 0);
  if (!ProcessTyped(stream->process)) {
    ReadingOmit(reading, &stream->process->orphans, entry, entry->count, 0);
    return ResOK;
  }
  ReadingMissing(reading, stream, entry);
  if (!readingWas(reading, its, entry)) {
    if (!readingSkips(reading, stream, entry, &types))
      return readingLoad(reading, its, entry, types);
  } else if (readingSealed(&its->had) && readingSealed(entry) && its->had.count != entry->count) {
    ReadingContrary(reading, stream->process, IndexPlaceFile(its->had.place), entry); /* sealed twice, it is the same */
  }
  if (reading->partials != NULL && (entry->flags & BlockFlagSNAPSHOT) == 0)
    PartialsForget(reading->partials, entry);
  return ResOK;
}

Res ReadingBlocksSift(Reading reading)
{
  Count open = reading->open;
  Index i;
  Res res = ResOK;

  reading->open = 0;
  for (i = 0; i < open; ++i) {
    Loaded loaded = reading->heap[i].loaded;
    Res sifted = ResOK;
    readingBegin(reading, loaded);
    while (sifted == ResOK && loaded->next == loaded->count) {
      sifted = SpillRefill(&reading->spill, loaded);
      if (sifted == ResOK)
        readingBegin(reading, loaded);
    }
    if (sifted == ResOK)
      (void)readingPush(reading, loaded); /* to where another was: there is room */
    else
      ReadingBlockGive(reading, loaded);
    if (sifted != ResOK && sifted != ResEND)
      res = sifted;
  }
  return res;
}
