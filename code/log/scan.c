/* scan.c -- find what is sound in a file, and put it into the table and the index
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/crc.h"
#include "format/block.h"

enum { scanWasteMAX = 64 << 20 }; /* and as much as the file has: bytes read for header blocks that were none */

/* A sound thing in a file. */
typedef struct scanThingStruct {
  Bool isBlock;
  uint64_t size;            /* bytes to what comes behind it */
  BlockHeaderStruct header; /* if it is a block */
  const char *body;         /* of a header block: lines in scan->text */
  Size bodyLength;
} scanThingStruct, *ScanThing;

/* scanBlock, scanHeader -- what stands at `offset`: ResOK and *thing, ResFORMAT, ResVERSION, ResEND if the file
 * ends within */
static Res scanBlock(Scan scan, ScanThing thing, uint64_t offset)
{
  const unsigned char *bytes = FileBytes(scan->file, offset, BlockHeaderSIZE);
  Bool swapped;
  Res res;

  if (bytes == NULL)
    return ResEND;
  res = BlockHeaderRead(&thing->header, &swapped, bytes);
  if (res == ResVERSION && scan->foreign[0] == 0)
    scan->foreign[0] = thing->header.major;
  thing->isBlock = TRUE;
  thing->size = thing->header.size;
  return res;
}

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
  if (scan->text == NULL && (scan->text = malloc(HeaderMAX)) == NULL)
    return ResMEMORY;
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

static Res scanThing(Scan scan, ScanThing thing, uint64_t offset)
{
  const unsigned char *bytes = FileBytes(scan->file, offset, BlockMagicSIZE);

  if (bytes == NULL)
    return ResEND;
  if (memcmp(bytes, BlockMAGIC, BlockMagicSIZE) == 0)
    return scanBlock(scan, thing, offset);
  if (memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0)
    return scanHeader(scan, thing, offset);
  return ResFORMAT;
}

/* scanFind -- the next place from `offset` on with something sound; the file's size if there is none
 *
 * In a file that grows, *waitReturn is the first place where something may begin that the file's end cuts off; or the
 * file's size. */
static Res scanFind(Scan scan, uint64_t *offsetReturn, uint64_t *waitReturn, uint64_t offset)
{
  scanThingStruct thing;

  *waitReturn = UINT64_MAX;
  for (;;) {
    Size there;
    const unsigned char *bytes = FileAvailable(scan->file, offset, &there), *at;
    Res res;

    if (there == 0) {
      *offsetReturn = scan->file->size;
      if (*waitReturn == UINT64_MAX)
        *waitReturn = scan->file->size;
      return ResOK;
    }
    at = memchr(bytes, BlockMAGIC[0], there);
    if (at == NULL) {
      offset = FileData(scan->file, offset + there);
      continue;
    }
    offset += (uint64_t)(at - bytes);
    res = scanThing(scan, &thing, offset);
    if (res == ResMEMORY)
      return res;
    if (res == ResEND && *waitReturn == UINT64_MAX)
      *waitReturn = offset;
    if (res == ResOK) {
      *offsetReturn = offset;
      return ResOK;
    }
    ++offset;
  }
}

/* scanPayloadSound -- are the bytes behind a sound block header its own? */
static Bool scanPayloadSound(Scan scan, BlockHeader header, uint64_t offset)
{
  uint64_t at = offset + BlockHeaderSIZE;
  Size left = header->rest;
  uint32_t crc = 0;

  while (left > 0) {
    Size there;
    const unsigned char *bytes = FileAvailable(scan->file, at, &there);
    if (there == 0)
      return FALSE;
    if (there > left)
      there = left;
    crc = Crc32c(crc, bytes, there);
    at += there;
    left -= there;
  }
  return crc == header->restCrc;
}

/* scanNewest -- a block is its stream's newest; its events count once, however many copies of it there are */
static void scanNewest(Scan scan, Stream stream, BlockHeader header, Bool cut, Bool seen)
{
  Bool again = seen && stream->newest == header->first && stream->newestSequence == header->sequence;
  uint32_t had = again ? stream->newestCount : 0;

  if (!cut && (!seen || (again && header->count > had)))
    scan->events += header->count - had;
  stream->newest = header->first;
  stream->newestSequence = header->sequence;
  stream->newestCount = cut || header->count < had ? had : header->count;
}

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
  seen = TallyHas(&stream->tally, header->sequence);
  res = TallyAdd(&stream->tally, header->sequence, header->before, header->count, entry.place,
                 (header->flags & BlockFlagUNSENT) != 0);
  if (res != ResOK)
    return res;
  stream->logged |= !scan->file->core;
  scanNewest(scan, stream, header, cut, seen);
  entry.stream = (uint32_t)stream->number;
  if (cut)
    entry.flags |= IndexEntryCUT;
  if ((header->flags & BlockFlagRECOVERED) != 0)
    stream->process->recovered = TRUE;
  if (header->discarded > stream->discarded)
    stream->discarded = header->discarded;
  clock = ClockResolve(stream->process->clock);
  ClockSee(clock, header->first, header->last);
  if ((header->flags & BlockFlagSEALED) != 0 && header->mono != 0)
    ClockSeal(clock, header->last, header->mono);
  ++scan->blocks;
  return scan->block != NULL ? scan->block(scan->data, stream, &entry, seen) : IndexAdd(scan->index, &entry);
}

static Bool scanNewer(const unsigned a[3], const unsigned b[3])
{
  return a[1] != b[1] ? a[1] > b[1] : a[2] > b[2];
}

static Res scanTakeHeader(Scan scan, ScanThing thing)
{
  unsigned theirs[3] = {scan->header.major, scan->header.median, scan->header.minor};
  Bool news;
  Res res = TableHeader(scan->table, &scan->header, scan->number, thing->body, thing->bodyLength, &news);

  if (res != ResOK)
    return res;
  ++scan->headers;
  if (theirs[1] > scan->teller->hooks.version[1] && (scan->newer[0] == 0 || scanNewer(theirs, scan->newer)))
    memcpy(scan->newer, theirs, sizeof theirs);
  if (news)
    TellerNote(scan->teller, "%s: process %u names event types in a way that this build cannot read", scan->file->path,
               scan->header.pid);
  return ResOK;
}

/* scanRegion -- describe the damage at `offset`, where `res` was found instead of something sound */
static void scanRegion(Scan scan, Region region, uint64_t offset, Res res)
{
  Size there;
  const unsigned char *bytes = FileAvailable(scan->file, offset, &there);
  Bool header = there > BlockMagicSIZE + 9 && memcmp(bytes + BlockMagicSIZE, "pawprint ", 9) == 0;
  Bool block = FALSE;

  header |= there >= BlockMagicSIZE && memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0;
  if (there >= BlockHeaderSIZE) {
    BlockHeaderStruct h;
    memcpy(&h, bytes, sizeof h);
    block = h.order == BlockORDER || h.order == __builtin_bswap32(BlockORDER);
    if (h.order != BlockORDER) {
      h.count = __builtin_bswap32(h.count);
      h.used = __builtin_bswap32(h.used);
    }
    if (block && h.used <= BlockMAX && h.count <= h.used / EventALIGN)
      region->guess = h.count;
  }
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
  while (offset < end) {
    Size there, i;
    const unsigned char *bytes = FileAvailable(scan->file, offset, &there);
    if (there == 0)
      return FALSE;
    if (there > end - offset)
      there = (Size)(end - offset);
    for (i = 0; i < there; ++i)
      if (bytes[i] != 0)
        return FALSE;
    offset = FileData(scan->file, offset + there);
  }
  return TRUE;
}

/* scanCut -- was the block that led to place->offset cut short?  What came behind it stands somewhere within, then, and
 * the place is there. */
static Res scanCut(Scan scan, ScanPlace place, Bool *cutReturn)
{
  uint64_t begin, next, wait;
  Res res;

  *cutReturn = FALSE;
  if (!place->follows)
    return ResOK;
  place->follows = FALSE;
  begin = place->offset - place->previous.size;
  if (scanPayloadSound(scan, &place->previous, begin))
    return ResOK;
  res = scanFind(scan, &next, &wait, begin + 1);
  if (res != ResOK || next >= place->offset)
    return res;
  if (scan->block == NULL)
    IndexCutLast(scan->index); /* whoever wrote it was killed in between */
  *cutReturn = TRUE;
  place->offset = next;
  return ResOK;
}

/* scanDamage -- nothing sound stands at the place, for this reason: note the region, and go on behind it */
static Res scanDamage(Scan scan, ScanPlace place, Res why)
{
  RegionStruct region = {.place = IndexPlace(scan->number, place->offset)};
  uint64_t next, wait;
  Bool cut;
  Res res = scanCut(scan, place, &cut);

  if (res != ResOK || cut)
    return res;
  res = scanFind(scan, &next, &wait, place->searched != 0 ? place->searched : place->offset + 1);
  if (res == ResOK && next == scan->file->size && scan->growing) {
    place->searched = wait; /* nothing yet */
    return ResOK;
  }
  place->searched = 0;
  if (res == ResOK)
    region.zeros = scanZeros(scan, place->offset, next);
  scanRegion(scan, &region, place->offset, why);
  region.end = IndexPlace(scan->number, next);
  region.tail = next == scan->file->size;
  place->offset = next;
  return res == ResOK ? RegionsAdd(scan->regions, &region) : res;
}

/* scanBehind -- a sound block's header: take it, and go behind the block */
static Res scanBehind(Scan scan, ScanThing thing, ScanPlace place)
{
  uint64_t wait;
  Bool cut = thing->size > scan->file->size - place->offset;
  Res res;

  place->follows = TRUE;
  place->previous = thing->header;
  res = scanTakeBlock(scan, &thing->header, place->offset, cut);
  if (!cut)
    place->offset += thing->size;
  else if (res == ResOK)
    res = scanFind(scan, &place->offset, &wait, place->offset + 1);
  return res;
}

Res ScanOn(Scan scan, File file, Index number, ScanPlace place, uint64_t blocks)
{
  scanThingStruct thing;
  uint64_t limit = blocks < UINT64_MAX - scan->blocks ? scan->blocks + blocks : UINT64_MAX;
  Res res = ResOK;

  scan->file = file;
  scan->number = number;
  while (res == ResOK && place->offset < file->size && place->searched < file->size && scan->blocks < limit) {
    Res found = place->searched != 0 ? ResFORMAT : scanThing(scan, &thing, place->offset);
    Bool cut = found == ResEND || (found == ResOK && thing.size > file->size - place->offset);
    if (found == ResMEMORY)
      return found;
    if (cut && scan->growing)
      break;
    if (found != ResOK) {
      res = scanDamage(scan, place, found);
      if (place->searched != 0)
        break;
    } else if (thing.isBlock) {
      res = scanBehind(scan, &thing, place);
    } else {
      res = scanTakeHeader(scan, &thing);
      place->offset += thing.size;
      place->follows = FALSE;
    }
  }
  return res;
}

Res ScanFile(Scan scan, File file, Index number)
{
  ScanPlaceStruct place = {0};

  scan->wasted = 0;
  return ScanOn(scan, file, number, &place, UINT64_MAX);
}
