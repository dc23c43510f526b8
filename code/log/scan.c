/* scan.c -- goes through a file from block to block, and into blocks that were cut short
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/scan.h"

#include "base/aver.h"
#include "log/sound.h"

/* scanCut -- was the block that led to place->offset cut short?  What came behind it stands somewhere within, then, and
 * the place is there. */
static Bool scanCut(Scan scan, ScanPlace place)
{
  uint64_t begin = place->offset - place->previous.size, next, wait;
  Bool follows = place->follows;

  place->follows = FALSE;
  if (!follows || SoundPayload(scan->file, &place->previous, begin))
    return FALSE;
  next = SoundNext(&wait, scan, begin + 1, scan->file->size);
  if (next >= place->offset)
    next = SoundTornFrom(scan, begin + 1, place->offset, next);
  if (next >= place->offset)
    return FALSE;
  ScanTakeCut(scan, &place->previous);
  place->offset = next;
  return TRUE;
}

/* scanHidden -- take what stands in a block that was cut short, up to its end */
static Res scanHidden(Scan scan, uint64_t offset, uint64_t end)
{
  ScanThingStruct thing;
  unsigned tries = 0;
  uint64_t wait;
  Res res = ResOK;

  while (res == ResOK && tries < SoundTriesMAX && offset < end) {
    Bool fits = SoundThingAt(scan, &thing, offset) == ResOK && thing.size <= end - offset;
    if (fits && !thing.isBlock)
      res = ScanTakeHeader(scan, &thing, offset);
    else if (fits && SoundPayload(scan->file, &thing.header, offset))
      res = ScanTakeBlock(scan, &thing.header, offset, FALSE);
    else
      fits = FALSE;
    tries += !fits;
    offset = SoundNext(&wait, scan, offset + (fits ? thing.size : 1), end);
  }
  return res;
}

/* scanCompared -- there are several copies of the block at this place.  Was this one cut short, and what came behind it
 * is just as long as the rest would have been?  Then that stands within. */
static Res scanCompared(Scan scan, uint64_t place)
{
  uint64_t offset = IndexPlaceOffset(place), end, hidden, wait;
  ScanThingStruct thing;

  if (TablePieceHas(scan->table, place) || SoundThingAt(scan, &thing, offset) != ResOK || !thing.isBlock ||
      thing.size > scan->file->size - offset || SoundPayload(scan->file, &thing.header, offset))
    return ResOK;
  end = offset + thing.size;
  hidden = SoundNext(&wait, scan, offset + 1, end);
  return hidden < end && TablePieceAdd(scan->table, place) ? scanHidden(scan, hidden, end) : ResOK;
}

/* scanCompare -- look at all copies that were noted for that, which may be in files that were scanned before */
static Res scanCompare(Scan scan)
{
  LogStreamRecentStruct replaced = scan->replaced;
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
  next = SoundNext(&wait, scan, place->searched != 0 ? place->searched : begin + 1, scan->file->size);
  if (next == scan->file->size && scan->growing) {
    place->searched = wait; /* nothing yet */
    return ResOK;
  }
  place->searched = 0;
  place->offset = next;
  region.end = IndexPlace(scan->number, next);
  region.zeros = SoundZeros(scan, begin, next);
  region.tail = next == scan->file->size;
  region.torn = SoundTorn(scan, begin, next);
  region.header = region.torn ? SoundTornHeader(scan, begin, next) : 0;
  SoundDamage(scan, &region, begin, why);
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
  res = ScanTakeBlock(scan, &thing->header, place->offset, cut);
  if (!cut)
    place->offset += thing->size;
  else
    place->offset = SoundNext(&wait, scan, place->offset + 1, scan->file->size);
  return res;
}

Res ScanOn(Scan scan, File file, Index number, ScanPlace place, uint64_t blocks)
{
  ScanThingStruct thing;
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
    found = place->searched != 0 ? ResFORMAT : SoundThingAt(scan, &thing, place->offset);
    cut = found == ResEND || (found == ResOK && thing.size > file->size - place->offset);
    if (cut && scan->growing)
      break;
    SoundProgress(scan, place->offset);
    if (found != ResOK) {
      res = scanDamage(scan, place, found);
      if (place->searched != 0)
        break;
    } else if (thing.isBlock) {
      res = scanBehind(scan, &thing, place);
    } else {
      res = ScanTakeHeader(scan, &thing, place->offset);
      place->offset += thing.size;
      place->follows = FALSE;
    }
    if (scan->doubts > 0 && res == ResOK)
      res = scanCompare(scan);
  }
  return res;
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
