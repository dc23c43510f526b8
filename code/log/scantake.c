/* scantake.c -- what is found in a file goes into the table and the index
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/scan.h"

/* scanMissed -- a block is cut off and no copy of it has come; NULL: it has */
static void scanMissed(LogStream stream, const BlockHeaderStruct *header)
{
  stream->cut = header != NULL ? header->first : 0;
  stream->cutSequence = header != NULL ? header->sequence : 0;
}

/* scanNewest -- a block is its stream's newest; its events count once, however many copies of it there are */
static void scanNewest(Scan scan, LogStream stream, BlockHeader header, Bool cut, Bool seen)
{
  Bool again = seen && stream->newest == header->first && stream->newestSequence == header->sequence;
  Bool missed = stream->cut == header->first && stream->cutSequence == header->sequence;
  uint32_t had = again ? stream->newestCount : 0;

  if (!cut && (!seen || missed || (again && header->count > had)))
    scan->events += header->count - had;
  if (cut ? !seen : missed)
    scanMissed(stream, cut ? header : NULL);
  stream->newestSeen = seen && !missed;
  stream->newest = header->first;
  stream->newestSequence = header->sequence;
  stream->newestCount = cut || header->count < had ? had : header->count;
}

/* scanFollows -- is it the block by which a program says of the one before it, of which it is, that it has found all
 * that was left of that? */
static Bool scanFollows(BlockHeader header)
{
  enum { flags = BlockFlagSEALED | BlockFlagRECOVERED | BlockFlagUNSENT };

  return header->count == 0 && (header->flags & flags) == flags;
}

/* scanDoubt -- a copy of this block was taken from here, and another one is there, too: each may have been cut short */
static void scanDoubt(Scan scan, uint64_t place)
{
  if (scan->doubts < ScanDoubtsMAX && !TablePieceHas(scan->table, place))
    scan->doubt[scan->doubts++] = place;
}

/* scanRecent -- where a block of the stream with this number was taken last; NULL: that is not known any more, or none
 * was */
static LogStreamRecent scanRecent(LogStream stream, uint64_t sequence)
{
  LogStreamRecent recent = LogStreamRecentOf(stream, sequence);

  return recent->sequence == sequence && recent->there ? recent : NULL;
}

/* scanNote -- a whole block was taken: remember where, for the case that a copy comes, or compare it with one that was
 * taken before */
static void scanNote(Scan scan, LogStream stream, uint64_t sequence, uint64_t place)
{
  LogStreamRecent before = scanRecent(stream, sequence);

  if (before != NULL) {
    scanDoubt(scan, before->place);
    scanDoubt(scan, place);
  }
  scan->replaced = *LogStreamRecentOf(stream, sequence);
  *LogStreamRecentOf(stream, sequence) = (LogStreamRecentStruct){TRUE, sequence, place};
}

Res ScanTakeBlock(Scan scan, BlockHeader header, uint64_t offset, Bool cut)
{
  IndexEntryStruct entry = {.first = header->first, .last = header->last, .sequence = header->sequence,
                            .count = (uint16_t)header->count, .flags = header->flags & 0x7f, .kind = header->kind,
                            .place = IndexPlace(scan->number, offset)};
  LogStream stream;
  Clock clock;
  Bool seen;
  Res res = TableStream(&stream, scan->table, header);

  if (res != ResOK)
    return res;
  seen = BlockRunsHas(&stream->runs, header->sequence);
  if (!cut)
    scanNote(scan, stream, header->sequence, entry.place);
  res = BlockRunsAdd(&stream->runs, header->sequence, header->before, header->count, entry.place,
                     (header->flags & BlockFlagUNSENT) != 0, (header->flags & BlockFlagBEHIND) != 0);
  if (res != ResOK)
    return res;
  if (stream->runs.count > 0 && header->sequence == stream->runs.run[stream->runs.count - 1].from)
    stream->since = header->first;
  stream->logged |= !scan->file->core;
  scanNewest(scan, stream, header, cut, seen);
  entry.stream = (uint32_t)stream->number;
  if (cut)
    entry.flags |= IndexEntryCUT;
  stream->process->recovered |= (header->flags & BlockFlagRECOVERED) != 0;
  stream->process->followed |= scanFollows(header);
  CountRaise(&stream->discarded, header->discarded);
  clock = ClockResolve(stream->process->clock);
  ClockSee(clock, header->first, header->last);
  CountRaise(&stream->process->newest, header->first);
  if ((header->flags & BlockFlagSEALED) != 0 && header->mono != 0)
    ClockSeal(clock, header->last, header->mono - (uint64_t)stream->process->ahead);
  ++scan->blocks;
  if (scan->block != NULL)
    return scan->block(scan->data, stream, &entry, seen);
  return scan->index != NULL ? IndexAdd(scan->index, &entry) : ResOK;
}

/* scanEnd -- what a header block says of the end of its process's part, or that it will come */
static Res scanEnd(Scan scan, ScanThing thing, uint64_t offset)
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

static Bool scanNewer(const unsigned a[3], const unsigned b[3])
{
  return a[1] != b[1] ? a[1] > b[1] : a[2] > b[2];
}

Res ScanTakeHeader(Scan scan, ScanThing thing, uint64_t offset)
{
  unsigned theirs[3] = {scan->header.major, scan->header.median, scan->header.minor};
  Bool news;
  Res res = TableHeader(scan->table, &scan->header, scan->number, thing->body, thing->bodyLength, &news);

  if (res == ResOK)
    res = scanEnd(scan, thing, offset);
  if (res != ResOK)
    return res;
  ++scan->headers;
  if (theirs[1] > scan->reporter->hooks.version[1] && (scan->newer[0] == 0 || scanNewer(theirs, scan->newer)))
    memcpy(scan->newer, theirs, sizeof theirs);
  if (news)
    ReporterNote(scan->reporter, "%s: process %u names event types in a way that this build cannot read%s",
                 scan->file->path, scan->header.pid,
                 TypesFull(&scan->table->types) ? ", or too many for a log of this size" : "");
  return ResOK;
}

void ScanTakeCut(Scan scan, const BlockHeaderStruct *header)
{
  LogStream stream = TableStreamFind(scan->table, header->process, header->stream);

  if (stream != NULL)
    *LogStreamRecentOf(stream, header->sequence) = scan->replaced;
  /* Of a copy in memory nothing is known from here. */
  if (stream != NULL && !stream->newestSeen && stream->newest == header->first &&
      stream->newestSequence == header->sequence) {
    scan->events -= stream->newestCount;
    stream->newestCount = 0;
    scanMissed(stream, header);
  }
  if (scan->block == NULL && scan->index != NULL)
    IndexCutLast(scan->index); /* its writer was killed in between */
}
