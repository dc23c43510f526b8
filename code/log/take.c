/* take.c -- what was found in a log goes where it is remembered
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/take.h"

#include <string.h>

#include "format/block.h"

void TakeEnds(Scan scan)
{
  if (scan->beside != NULL)
    BesideEnds(scan->beside);
}

/* takeDown -- write a finding into the index file that is being made */
static void takeDown(Scan scan, const FindingStruct *finding)
{
  if (scan->beside != NULL)
    BesidePut(scan->beside, finding, scan->wasted);
}

/* takeMissed -- a block is cut off and no copy of it has come; NULL: it has */
static void takeMissed(Stream stream, const BlockHeaderStruct *header)
{
  stream->cut = header != NULL ? header->first : 0;
  stream->cutSequence = header != NULL ? header->sequence : 0;
}

/* takeNewest -- a block is its stream's newest; its events count once, however many copies of it there are */
static void takeNewest(Scan scan, Stream stream, BlockHeader header, Bool cut, Bool seen)
{
  Bool again = seen && stream->newest == header->first && stream->newestSequence == header->sequence;
  Bool missed = stream->cut == header->first && stream->cutSequence == header->sequence;
  uint32_t had = again ? stream->newestCount : 0;

  if (!cut && (!seen || missed || (again && header->count > had)))
    scan->events += header->count - had;
  if (cut ? !seen : missed)
    takeMissed(stream, cut ? header : NULL);
  stream->newestSeen = seen && !missed;
  stream->newest = header->first;
  stream->newestSequence = header->sequence;
  stream->newestCount = cut || header->count < had ? had : header->count;
}

/* takeFollows -- is it the block by which a program says of the one before it, of which it is, that it has found all that was
 * left of that? */
static Bool takeFollows(BlockHeader header)
{
  enum { flags = BlockFlagSEALED | BlockFlagRECOVERED | BlockFlagUNSENT };

  return header->count == 0 && (header->flags & flags) == flags;
}

Res TakeBlock(Scan scan, BlockHeader header, uint64_t offset, Bool cut)
{
  IndexEntryStruct entry = {.first = header->first, .last = header->last, .sequence = header->sequence,
                            .count = (uint16_t)header->count, .flags = header->flags & 0x7f, .kind = header->kind,
                            .place = IndexPlace(scan->number, offset)};
  Stream stream;
  Clock clock;
  Bool seen;
  Res res = TableStream(&stream, scan->table, header);

  if (res != ResOK)
    return res;
  seen = TallyHas(&stream->tally, header->sequence);
  res = TallyAdd(&stream->tally, header->sequence, header->before, header->count, entry.place,
                 (header->flags & BlockFlagUNSENT) != 0, (header->flags & BlockFlagBEHIND) != 0);
  if (res != ResOK)
    return res;
  if (stream->tally.runs > 0 && header->sequence == stream->tally.run[stream->tally.runs - 1].from)
    stream->since = header->first;
  stream->logged |= !scan->file->core;
  takeNewest(scan, stream, header, cut, seen);
  entry.stream = (uint32_t)stream->number;
  if (cut)
    entry.flags |= IndexEntryCUT;
  if ((header->flags & BlockFlagRECOVERED) != 0)
    stream->process->recovered = TRUE;
  stream->process->followed |= takeFollows(header);
  if (header->discarded > stream->discarded)
    stream->discarded = header->discarded;
  clock = ClockResolve(stream->process->clock);
  ClockSee(clock, header->first, header->last);
  if (header->first > stream->process->newest)
    stream->process->newest = header->first;
  if ((header->flags & BlockFlagSEALED) != 0 && header->mono != 0)
    ClockSeal(clock, header->last, header->mono);
  ++scan->blocks;
  takeDown(scan, &(FindingStruct){.what = FindingBLOCK, .offset = offset, .size = header->size, .header = *header,
                                  .stream = (uint32_t)stream->number});
  return scan->block != NULL ? scan->block(scan->data, stream, &entry, seen) : IndexAdd(scan->index, &entry);
}

/* takeEnd -- what a header block says of the end of its process's part, or that it will come */
static Res takeEnd(Scan scan, ScanThing thing, uint64_t offset)
{
  const char *next = thing->body, *limit = thing->body + thing->bodyLength;
  HeaderStreamStruct stream;
  Process process;
  Res res;

  if (scan->file->core || !(scan->header.recording != 0 || scan->header.open != 0 || scan->header.ended))
    return ResOK;
  res = TableProcess(&process, scan->table, scan->header.identity);
  if (res != ResOK)
    return res;
  process->expected = TRUE;
  if (scan->header.ended || process->ends.count == 0)
    process->endPlace = IndexPlace(scan->number, offset);
  while (res == ResOK && HeaderStreamNext(&stream, &next, limit))
    res = EndsAdd(&process->ends, &stream);
  return res;
}

static Bool takeNewer(const unsigned a[3], const unsigned b[3])
{
  return a[1] != b[1] ? a[1] > b[1] : a[2] > b[2];
}

Res TakeHeader(Scan scan, ScanThing thing, uint64_t offset)
{
  unsigned theirs[3] = {scan->header.major, scan->header.median, scan->header.minor};
  Bool news;
  Res res = TableHeader(scan->table, &scan->header, scan->number, thing->body, thing->bodyLength, &news);

  if (res == ResOK)
    res = takeEnd(scan, thing, offset);
  if (res != ResOK)
    return res;
  ++scan->headers;
  if (theirs[1] > scan->teller->hooks.version[1] && (scan->newer[0] == 0 || takeNewer(theirs, scan->newer)))
    memcpy(scan->newer, theirs, sizeof theirs);
  if (news)
    TellerNote(scan->teller, "%s: process %u names event types in a way that this build cannot read%s",
               scan->file->path, scan->header.pid,
               TypesFull(&scan->table->types) ? ", or too many for a log of this size" : "");
  takeDown(scan, &(FindingStruct){.what = FindingHEADER, .offset = offset, .size = thing->size});
  return ResOK;
}

void TakeCut(Scan scan, const BlockHeaderStruct *header, uint64_t offset, uint64_t next)
{
  Stream stream = TableStreamFind(scan->table, header->process, header->stream);

  /* Of a copy in memory nothing is known from here. */
  if (stream != NULL && !stream->newestSeen && stream->newest == header->first &&
      stream->newestSequence == header->sequence) {
    scan->events -= stream->newestCount;
    stream->newestCount = 0;
    takeMissed(stream, header);
  }
  if (scan->block == NULL)
    IndexCutLast(scan->index); /* whoever wrote it was killed in between */
  takeDown(scan, &(FindingStruct){.what = FindingDAMAGE, .offset = offset, .next = next});
}

Res TakeRegion(Scan scan, Region region, uint64_t offset, uint64_t next)
{
  region->place = IndexPlace(scan->number, offset);
  region->end = IndexPlace(scan->number, next);
  takeDown(scan, &(FindingStruct){.what = FindingDAMAGE, .offset = offset, .next = next});
  return RegionsAdd(scan->regions, region);
}
