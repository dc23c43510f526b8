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
#include "log/known.h"
#include "log/take.h"

enum {
  scanWasteMAX = 64 << 20, /* and as much as the file has: bytes read for header blocks that were none */
  scanMagicCOMMON = 4,     /* bytes that the magics of blocks and header blocks have in common */
  scanTriesMAX = 16,       /* beginnings that are looked at in a block that is damaged */
  scanTornMAX = 4 * HeaderMAX, /* bytes of writes that were cut short, one behind the other, that are looked at */
  scanProgressSTEPS = 256  /* blocks, or windows searched, for which progress is told once */
};

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

Res ScanThingAt(Scan scan, ScanThing thing, uint64_t offset)
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

void ScanProgress(Scan scan, uint64_t offset)
{
  LogHooks hooks = &scan->teller->hooks;

  if (scan->total > 0 && hooks->scanning != NULL && ++scan->steps % scanProgressSTEPS == 0)
    hooks->scanning(hooks->data, scan->bytes + offset, scan->total);
}

/* scanFind -- the next place from `offset` on with something sound; the file's size if there is none
 *
 * In a file that grows, *waitReturn is the first place where something may begin that the file's end cuts off; or the
 * file's size. */
static Res scanFind(Scan scan, uint64_t *offsetReturn, uint64_t *waitReturn, uint64_t offset)
{
  ScanThingStruct thing;

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
      ScanProgress(scan, offset);
      offset = FileData(scan->file, offset + there);
      continue;
    }
    offset += (uint64_t)(at - bytes);
    res = ScanThingAt(scan, &thing, offset);
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

/* scanMagicFrom -- the first place from `offset` on, before `end`, where something of ours may begin; `end`: none */
static uint64_t scanMagicFrom(Scan scan, uint64_t offset, uint64_t end)
{
  while (offset < end) {
    Size there;
    const unsigned char *bytes = FileAvailable(scan->file, offset, &there), *at;

    if (there == 0)
      return end;
    at = memchr(bytes, BlockMAGIC[0], there);
    offset += at != NULL ? (uint64_t)(at - bytes) : there;
    if (at == NULL)
      continue;
    bytes = FileBytes(scan->file, offset, scanMagicCOMMON);
    if (bytes != NULL && memcmp(bytes, BlockMAGIC, scanMagicCOMMON) == 0)
      return offset < end ? offset : end;
    ++offset;
  }
  return end;
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
    uint64_t next = scanMagicFrom(scan, offset + 1, end);
    if (!scanPieceTorn(scan, offset, next - offset))
      return FALSE;
    offset = next;
  }
  return TRUE;
}

/* scanRegion -- describe the damage at `offset`, where `res` was found instead of something sound */
static void scanRegion(Scan scan, Region region, uint64_t offset, Res res)
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

/* scanWithin -- the first place from `offset` on, before `end`, from which on there are nothing but writes that were cut
 * short, up to the next sound thing; `end`: none */
static uint64_t scanWithin(Scan scan, uint64_t offset, uint64_t end, uint64_t next)
{
  unsigned tries;

  for (tries = 0; tries < scanTriesMAX; ++tries) {
    offset = scanMagicFrom(scan, offset, end);
    if (offset == end || scanTorn(scan, offset, next))
      return offset;
    ++offset;
  }
  return end;
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
  if (res == ResOK && wait != UINT64_MAX)
    TakeEnds(scan);
  if (res == ResOK && next >= place->offset)
    next = scanWithin(scan, begin + 1, place->offset, next);
  if (res != ResOK || next >= place->offset)
    return res;
  TakeCut(scan, &place->previous, place->offset, next);
  *cutReturn = TRUE;
  place->offset = next;
  return ResOK;
}

Res ScanDamage(Scan scan, ScanPlace place, Res why)
{
  RegionStruct region = {.zeros = FALSE};
  uint64_t begin = place->offset, next, wait;
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
  if (res != ResOK)
    return res;
  if (wait != UINT64_MAX || why == ResEND || why == ResIO)
    TakeEnds(scan);
  region.zeros = scanZeros(scan, begin, next);
  region.tail = next == scan->file->size;
  place->offset = next;
  scanRegion(scan, &region, begin, why);
  region.torn = scanTorn(scan, begin, next);
  return TakeRegion(scan, &region, begin, next);
}

/* scanBehind -- a sound block's header: take it, and go behind the block */
static Res scanBehind(Scan scan, ScanThing thing, ScanPlace place)
{
  uint64_t wait;
  Bool cut = thing->size > scan->file->size - place->offset;
  Res res;

  place->follows = TRUE;
  place->previous = thing->header;
  if (cut)
    TakeEnds(scan);
  res = TakeBlock(scan, &thing->header, place->offset, cut);
  if (!cut)
    place->offset += thing->size;
  else if (res == ResOK)
    res = scanFind(scan, &place->offset, &wait, place->offset + 1);
  return res;
}

Res ScanOn(Scan scan, File file, Index number, ScanPlace place, uint64_t blocks)
{
  ScanThingStruct thing;
  uint64_t limit = blocks < UINT64_MAX - scan->blocks ? scan->blocks + blocks : UINT64_MAX;
  Res res = ResOK;

  scan->file = file;
  scan->number = number;
  while (res == ResOK && place->offset < file->size && place->searched < file->size && scan->blocks < limit) {
    Bool cut;
    Res found;
    /* Headers of large blocks are all that is read of them.  On a disk it is faster to fetch the rest, too, unless that
     * is a hole. */
    if (place->follows && place->previous.size >= FileWindowSIZE / 2) {
      FileGlance(file, place->offset, BlockHeaderSIZE);
      if (place->previous.size <= BlockMAX)
        FileAhead(file, place->offset);
    }
    found = place->searched != 0 ? ResFORMAT : ScanThingAt(scan, &thing, place->offset);
    if (found == ResMEMORY)
      return found;
    cut = found == ResEND || (found == ResOK && thing.size > file->size - place->offset);
    if (cut && scan->growing)
      break;
    ScanProgress(scan, place->offset);
    if (found != ResOK) {
      res = ScanDamage(scan, place, found);
      if (place->searched != 0)
        break;
    } else if (thing.isBlock) {
      res = scanBehind(scan, &thing, place);
    } else {
      res = TakeHeader(scan, &thing, place->offset);
      place->offset += thing.size;
      place->follows = FALSE;
    }
  }
  return res;
}

Res ScanKnown(Scan scan, File file, Index number, ScanPlace place)
{
  memset(place, 0, sizeof *place);
  scan->wasted = 0;
  scan->file = file;
  scan->number = number;
  return scan->beside == NULL && !scan->plain ? KnownTake(scan, place) : ResOK;
}

Res ScanFile(Scan scan, File file, Index number)
{
  ScanPlaceStruct place;
  Res res = ScanKnown(scan, file, number, &place);

  return res == ResOK ? ScanOn(scan, file, number, &place, UINT64_MAX) : res;
}
