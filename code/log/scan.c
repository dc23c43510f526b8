/* scan.c -- finds what is sound in a file, and enters it into the table and the index
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/scan.h"

#include "base/aver.h"
#include "base/crc.h"

enum {
  scanWasteMAX = 64 << 20, /* and as much as the file has: bytes read for header blocks that were none */
  scanMagicCOMMON = 4,     /* bytes that the magics of blocks and header blocks have in common */
  scanTriesMAX = 16,       /* beginnings that are looked at in a block that is damaged */
  scanTornMAX = 4 * HeaderMAX, /* bytes of writes that were cut short, one behind the other, that are looked at */
  scanProgressSTEPS = 256  /* blocks, or windows searched, for which progress is told once */
};

/* A sound thing in a file. */
typedef struct scanThingStruct {
  Bool isBlock;
  uint64_t size;            /* bytes to what comes behind it */
  BlockHeaderStruct header; /* if it is a block */
  const char *body;         /* of a header block: lines in scan->text */
  Size bodyLength;
} scanThingStruct, *ScanThing;

/* scanBlock -- is this the header of a block?  ResFORMAT, ResVERSION */
static Res scanBlock(ScanThing thing, const unsigned char *bytes)
{
  Bool swapped;
  Res res = BlockHeaderRead(&thing->header, &swapped, bytes);

  thing->isBlock = TRUE;
  thing->size = thing->header.size;
  return res;
}

/* scanHeader -- a header block at `offset`?  ResFORMAT, ResVERSION; ResEND: the file ends within it; ResIO */
static Res scanHeader(Scan scan, ScanThing thing, uint64_t offset)
{
  const unsigned char *bytes = FileBytes(scan->file, offset, BlockMagicSIZE + HeaderLineSIZE);
  unsigned version[3];
  Size length;
  Res res;

  if (bytes == NULL)
    return ResEND;
  res = HeaderLength(&length, version, bytes, BlockMagicSIZE + HeaderLineSIZE);
  if (res == ResVERSION && scan->foreign[0] == 0)
    memcpy(scan->foreign, version, sizeof version);
  if (res != ResOK)
    return res;
  /* Only a file made for it has so many: each could cost a megabyte for sixty bytes. */
  if (scan->wasted > scan->file->size + scanWasteMAX)
    return ResFORMAT;
  res = FileRead(scan->file, offset, scan->text, length);
  if (res != ResOK)
    return res;
  thing->isBlock = FALSE;
  thing->size = length;
  res = HeaderRead(&scan->header, &thing->body, scan->text, length);
  thing->bodyLength = res == ResOK ? (Size)(scan->text + length - thing->body) : 0;
  if (res != ResOK)
    scan->wasted += length;
  return res;
}

/* scanThingAt -- what stands at `offset`: ResOK and *thing; ResFORMAT, ResVERSION; ResEND: the file ends within it;
 * ResIO */
static Res scanThingAt(Scan scan, ScanThing thing, uint64_t offset)
{
  const unsigned char *bytes = scan->known != NULL ? IndexFileAt(scan->known, offset) : NULL;
  Res res;

  if (bytes != NULL && scanBlock(thing, bytes) == ResOK)
    return ResOK;
  bytes = FileBytes(scan->file, offset, BlockMagicSIZE);
  if (bytes == NULL)
    return ResEND;
  if (memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0)
    return scanHeader(scan, thing, offset);
  if (memcmp(bytes, BlockMAGIC, BlockMagicSIZE) != 0)
    return ResFORMAT;
  bytes = FileBytes(scan->file, offset, BlockHeaderSIZE);
  res = bytes != NULL ? scanBlock(thing, bytes) : ResEND;
  if (res == ResVERSION && scan->foreign[0] == 0)
    scan->foreign[0] = thing->header.major;
  return res;
}

/* scanProgress -- tell now and then how far the file is scanned */
static void scanProgress(Scan scan, uint64_t offset)
{
  LogHooks hooks = &scan->reporter->hooks;

  if (scan->total > 0 && hooks->scanning != NULL && ++scan->steps % scanProgressSTEPS == 0)
    hooks->scanning(hooks->data, scan->bytes + offset, scan->total);
}

/* scanPiece -- the bytes from `offset` on, up to `end`, that are at hand; none where the file ends before, or cannot be
 * read */
static const unsigned char *scanPiece(File file, Size *thereReturn, uint64_t offset, uint64_t end)
{
  const unsigned char *bytes = FileAvailable(file, offset, thereReturn);

  if (*thereReturn > end - offset)
    *thereReturn = (Size)(end - offset);
  return bytes;
}

/* scanMagic -- the first place from `offset` on, before `end`, where a magic begins, which the file's end may cut off;
 * `end`: none.  Holes are not read. */
static uint64_t scanMagic(Scan scan, uint64_t offset, uint64_t end)
{
  while (offset < end) {
    Size there;
    const unsigned char *bytes = scanPiece(scan->file, &there, offset, end), *at = memchr(bytes, BlockMAGIC[0], there);

    if (there == 0)
      return end;
    if (at == NULL) {
      scanProgress(scan, offset);
      offset = FileData(scan->file, offset + there);
      continue;
    }
    offset += (uint64_t)(at - bytes);
    there = scan->file->size - offset < scanMagicCOMMON ? (Size)(scan->file->size - offset) : scanMagicCOMMON;
    bytes = FileBytes(scan->file, offset, there);
    if (bytes != NULL && memcmp(bytes, BlockMAGIC, there) == 0)
      return offset;
    ++offset;
  }
  return end;
}

/* scanSound -- the next place from `offset` on, before `end`, with something sound; `end`: none
 *
 * In a file that grows, *waitReturn is the first place where something may begin that the file's end cuts off; or
 * `end`. */
static uint64_t scanSound(uint64_t *waitReturn, Scan scan, uint64_t offset, uint64_t end)
{
  scanThingStruct thing;
  Res res;

  *waitReturn = end;
  for (;; ++offset) {
    offset = scanMagic(scan, offset, end);
    res = offset < end ? scanThingAt(scan, &thing, offset) : ResOK;
    if (res == ResOK)
      return offset;
    if (res == ResEND && *waitReturn == end)
      *waitReturn = offset;
  }
}

/* scanPayloadSound -- are the bytes behind a sound block header its own? */
static Bool scanPayloadSound(File file, BlockHeader header, uint64_t offset)
{
  uint64_t at = offset + BlockHeaderSIZE, end = at + header->rest;
  uint32_t crc = 0;
  Size there;

  for (; at < end; at += there) {
    const unsigned char *bytes = scanPiece(file, &there, at, end);
    if (there == 0)
      return FALSE;
    crc = Crc32c(crc, bytes, there);
  }
  return crc == header->restCrc;
}

/* scanClaims -- the events that a damaged block header claims, if it is one at all */
static Bool scanClaims(uint32_t *countReturn, const unsigned char *bytes)
{
  BlockHeaderStruct h;

  memcpy(&h, bytes, sizeof h);
  if (h.order != BlockORDER && h.order != __builtin_bswap32(BlockORDER))
    return FALSE;
  if (h.order != BlockORDER) {
    h.count = __builtin_bswap32(h.count);
    h.used = __builtin_bswap32(h.used);
  }
  if (h.used <= BlockMAX && h.count <= h.used / EventALIGN)
    *countReturn = h.count;
  return TRUE;
}

/* scanPieceTorn -- is what begins at `offset`, of which `size` bytes are there, more than that? */
static Bool scanPieceTorn(Scan scan, uint64_t offset, uint64_t size)
{
  Size there = size < BlockMagicSIZE + HeaderLineSIZE ? (Size)size : BlockMagicSIZE + HeaderLineSIZE, length;
  Size magic = there < BlockMagicSIZE ? there : BlockMagicSIZE;
  const unsigned char *bytes = FileBytes(scan->file, offset, there);
  unsigned version[3];

  if (bytes == NULL)
    return FALSE;
  if (size < BlockHeaderSIZE && memcmp(bytes, BlockMAGIC, magic) == 0)
    return TRUE;
  return memcmp(bytes, HeaderMAGIC, magic) == 0 &&
         (there < BlockMagicSIZE + HeaderLineSIZE ||
          (HeaderLength(&length, version, bytes, there) == ResOK && length > size));
}

/* scanTorn -- are there nothing but writes that were cut short, one or several, between two places? */
static Bool scanTorn(Scan scan, uint64_t offset, uint64_t end)
{
  if (end - offset > scanTornMAX)
    return FALSE;
  while (offset < end) {
    uint64_t next = scanMagic(scan, offset + 1, end);
    if (!scanPieceTorn(scan, offset, next - offset))
      return FALSE;
    offset = next;
  }
  return TRUE;
}

/* scanRegion -- describe the damage at `offset`, where `res` was found instead of something sound */
static void scanRegion(Scan scan, DamagedRange region, uint64_t offset, Res res)
{
  uint64_t left = scan->file->size - offset;
  Size there = left < BlockHeaderSIZE ? (Size)left : BlockHeaderSIZE;
  const unsigned char *bytes = FileBytes(scan->file, offset, there);
  Bool header, block;

  if (bytes == NULL)
    there = 0;
  header = there > BlockMagicSIZE + 9 && memcmp(bytes + BlockMagicSIZE, "pawprint ", 9) == 0;
  header |= there >= BlockMagicSIZE && memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0;
  block = there == BlockHeaderSIZE && scanClaims(&region->guess, bytes);
  block |= there >= BlockMagicSIZE && memcmp(bytes, BlockMAGIC, BlockMagicSIZE) == 0;
  region->harmless = header || region->zeros;
  region->cut = res == ResEND;
  region->what = res == ResVERSION ? "of another version"
               : res == ResEND     ? (header ? "header block cut off" : "cut off within a block header")
               : header            ? "header block damaged"
               : block             ? "block header damaged"
               : region->zeros     ? "zeros, and no block"
                                   : "no block here";
}

/* scanZeros -- are there nothing but zeros between two places?  Holes are not read. */
static Bool scanZeros(Scan scan, uint64_t offset, uint64_t end)
{
  Size there;

  for (; offset < end; offset = FileData(scan->file, offset + there)) {
    const unsigned char *bytes = scanPiece(scan->file, &there, offset, end);
    if (there == 0 || bytes[0] != 0 || memcmp(bytes, bytes + 1, there - 1) != 0)
      return FALSE;
  }
  return TRUE;
}

/* scanWithin -- the first place from `offset` on, before `end`, from which on there are nothing but writes that were
 * cut short, up to the next sound thing; `end`: none */
static uint64_t scanWithin(Scan scan, uint64_t offset, uint64_t end, uint64_t next)
{
  unsigned tries;

  for (tries = 0; tries < scanTriesMAX; ++tries) {
    offset = scanMagic(scan, offset, end);
    if (offset == end || scanTorn(scan, offset, next))
      return offset;
    ++offset;
  }
  return end;
}

/* What is found goes into the table, the index and the regions. */

/* scanMissed -- a block is cut off and no copy of it has come; NULL: it has */
static void scanMissed(Stream stream, const BlockHeaderStruct *header)
{
  stream->cut = header != NULL ? header->first : 0;
  stream->cutSequence = header != NULL ? header->sequence : 0;
}

/* scanNewest -- a block is its stream's newest; its events count once, however many copies of it there are */
static void scanNewest(Scan scan, Stream stream, BlockHeader header, Bool cut, Bool seen)
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
static StreamRecent scanRecent(Stream stream, uint64_t sequence)
{
  StreamRecent recent = StreamRecentOf(stream, sequence);

  return recent->sequence == sequence && recent->there ? recent : NULL;
}

/* scanNote -- a whole block was taken: remember where, for the case that a copy comes, or compare it with one that was
 * taken before */
static void scanNote(Scan scan, Stream stream, uint64_t sequence, uint64_t place)
{
  StreamRecent before = scanRecent(stream, sequence);

  if (before != NULL) {
    scanDoubt(scan, before->place);
    scanDoubt(scan, place);
  }
  scan->replaced = *StreamRecentOf(stream, sequence);
  *StreamRecentOf(stream, sequence) = (StreamRecentStruct){TRUE, sequence, place};
}

/* scanTakeBlock -- a block's header; `cut` if the file ends within the block */
static Res scanTakeBlock(Scan scan, BlockHeader header, uint64_t offset, Bool cut)
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

/* scanTakeHeader -- a header block, which scan->header and `thing` have, at `offset` */
static Res scanTakeHeader(Scan scan, ScanThing thing, uint64_t offset)
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

/* scanTakeCut -- the block that was taken last, which has this header, was cut short */
static void scanTakeCut(Scan scan, const BlockHeaderStruct *header)
{
  Stream stream = TableStreamFind(scan->table, header->process, header->stream);

  if (stream != NULL)
    *StreamRecentOf(stream, header->sequence) = scan->replaced;
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

/* Going from block to block */

/* scanCut -- was the block that led to place->offset cut short?  What came behind it stands somewhere within, then, and
 * the place is there. */
static Bool scanCut(Scan scan, ScanPlace place)
{
  uint64_t begin = place->offset - place->previous.size, next, wait;
  Bool follows = place->follows;

  place->follows = FALSE;
  if (!follows || scanPayloadSound(scan->file, &place->previous, begin))
    return FALSE;
  next = scanSound(&wait, scan, begin + 1, scan->file->size);
  if (next >= place->offset)
    next = scanWithin(scan, begin + 1, place->offset, next);
  if (next >= place->offset)
    return FALSE;
  scanTakeCut(scan, &place->previous);
  place->offset = next;
  return TRUE;
}

/* scanHidden -- take what stands in a block that was cut short, up to its end */
static Res scanHidden(Scan scan, uint64_t offset, uint64_t end)
{
  scanThingStruct thing;
  unsigned tries = 0;
  uint64_t wait;
  Res res = ResOK;

  while (res == ResOK && tries < scanTriesMAX && offset < end) {
    Bool fits = scanThingAt(scan, &thing, offset) == ResOK && thing.size <= end - offset;
    if (fits && !thing.isBlock)
      res = scanTakeHeader(scan, &thing, offset);
    else if (fits && scanPayloadSound(scan->file, &thing.header, offset))
      res = scanTakeBlock(scan, &thing.header, offset, FALSE);
    else
      fits = FALSE;
    tries += !fits;
    offset = scanSound(&wait, scan, offset + (fits ? thing.size : 1), end);
  }
  return res;
}

/* scanCompared -- there are several copies of the block at this place.  Was this one cut short, and what came behind it
 * is just as long as the rest would have been?  Then that stands within. */
static Res scanCompared(Scan scan, uint64_t place)
{
  uint64_t offset = IndexPlaceOffset(place), end, hidden, wait;
  scanThingStruct thing;

  if (TablePieceHas(scan->table, place) || scanThingAt(scan, &thing, offset) != ResOK || !thing.isBlock ||
      thing.size > scan->file->size - offset || scanPayloadSound(scan->file, &thing.header, offset))
    return ResOK;
  end = offset + thing.size;
  hidden = scanSound(&wait, scan, offset + 1, end);
  return hidden < end && TablePieceAdd(scan->table, place) ? scanHidden(scan, hidden, end) : ResOK;
}

/* scanCompare -- look at all copies that were noted for that, which may be in files that were scanned before */
static Res scanCompare(Scan scan)
{
  StreamRecentStruct replaced = scan->replaced;
  IndexFile known = scan->known;
  Index number = scan->number;
  File file = scan->file;
  Res res = ResOK;

  scan->known = NULL;
  while (res == ResOK && scan->doubts > 0) {
    uint64_t place = scan->doubt[--scan->doubts];
    scan->number = IndexPlaceFile(place);
    scan->file = scan->number == number ? file : scan->files != NULL ? scan->files[scan->number] : NULL;
    if (scan->file != NULL)
      res = scanCompared(scan, place);
  }
  scan->replaced = replaced;
  scan->known = known;
  scan->number = number;
  scan->file = file;
  return res;
}

/* scanDamage -- nothing sound stands at the place, for this reason: note the region, and go on behind it, or back into
 * the block before, if that was cut short */
static Res scanDamage(Scan scan, ScanPlace place, Res why)
{
  DamagedRangeStruct region = {.place = IndexPlace(scan->number, place->offset)};
  uint64_t begin = place->offset, next, wait;

  if (scanCut(scan, place))
    return ResOK;
  next = scanSound(&wait, scan, place->searched != 0 ? place->searched : begin + 1, scan->file->size);
  if (next == scan->file->size && scan->growing) {
    place->searched = wait; /* nothing yet */
    return ResOK;
  }
  place->searched = 0;
  place->offset = next;
  region.end = IndexPlace(scan->number, next);
  region.zeros = scanZeros(scan, begin, next);
  region.tail = next == scan->file->size;
  region.torn = scanTorn(scan, begin, next);
  scanRegion(scan, &region, begin, why);
  return DamagedRangesAdd(scan->regions, &region);
}

/* scanBehind -- a sound block's header: take it, and go behind the block */
static Res scanBehind(Scan scan, ScanThing thing, ScanPlace place)
{
  uint64_t wait;
  Bool cut = thing->size > scan->file->size - place->offset;
  Res res;

  place->follows = TRUE;
  place->previous = thing->header;
  if (scan->making != NULL)
    IndexFileAdd(scan->making, place->offset, FileBytes(scan->file, place->offset, BlockHeaderSIZE), thing->size);
  res = scanTakeBlock(scan, &thing->header, place->offset, cut);
  if (!cut)
    place->offset += thing->size;
  else
    place->offset = scanSound(&wait, scan, place->offset + 1, scan->file->size);
  return res;
}

Res ScanOn(Scan scan, File file, Index number, ScanPlace place, uint64_t blocks)
{
  scanThingStruct thing;
  uint64_t limit = blocks < UINT64_MAX - scan->blocks ? scan->blocks + blocks : UINT64_MAX;
  Res res = ResOK;

  scan->file = file;
  scan->number = number;
  AVER(ScanCheck(scan));
  while (res == ResOK && place->offset < file->size && place->searched < file->size && scan->blocks < limit) {
    Bool cut;
    Res found;
    /* Headers of large blocks are all that is read of them.  On a disk it is faster to fetch the rest, too, unless that
     * is a hole. */
    if (place->follows && place->previous.size >= FileWindowSIZE / 2 &&
        (scan->known == NULL || IndexFileAt(scan->known, place->offset) == NULL)) {
      FileGlance(file, place->offset, BlockHeaderSIZE);
      if (place->previous.size <= BlockMAX)
        FileAhead(file, place->offset);
    }
    found = place->searched != 0 ? ResFORMAT : scanThingAt(scan, &thing, place->offset);
    cut = found == ResEND || (found == ResOK && thing.size > file->size - place->offset);
    if (cut && scan->growing)
      break;
    scanProgress(scan, place->offset);
    if (found != ResOK) {
      res = scanDamage(scan, place, found);
      if (place->searched != 0)
        break;
    } else if (thing.isBlock) {
      res = scanBehind(scan, &thing, place);
    } else {
      res = scanTakeHeader(scan, &thing, place->offset);
      place->offset += thing.size;
      place->follows = FALSE;
    }
    if (scan->doubts > 0 && res == ResOK)
      res = scanCompare(scan);
  }
  return res;
}

Bool ScanBlockSound(File file, uint64_t offset)
{
  const unsigned char *bytes = FileBytes(file, offset, BlockHeaderSIZE);
  scanThingStruct thing;

  return bytes != NULL && scanBlock(&thing, bytes) == ResOK && scanPayloadSound(file, &thing.header, offset);
}

Bool ScanCheck(const ScanStruct *scan)
{
  return scan->table != NULL && scan->regions != NULL && scan->reporter != NULL &&
         (scan->known == NULL || scan->making == NULL) && scan->file != NULL &&
         scan->file->windowSize <= FileWindowSIZE;
}

Res ScanFile(Scan scan, File file, Index number)
{
  ScanPlaceStruct place = {.offset = 0};

  scan->wasted = 0;
  return ScanOn(scan, file, number, &place, UINT64_MAX);
}

Res ScanIndexed(Scan scan, File file)
{
  const char *why;
  Res res = IndexFileOpen(&scan->known, file, &why);

  if (res == ResFORMAT || res == ResPARAM)
    ReporterNote(scan->reporter, "%s.idx %s, and is not used; eventcnv --index makes a new one%s", file->path, why,
                 res == ResPARAM ? " when it is gone" : "");
  return res == ResMEMORY ? res : ResOK;
}
