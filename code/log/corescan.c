/* corescan.c -- looking through a core's memory for blocks, by their own marks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "log/coredata.h"

enum { coreWasteMAX = 64 << 20 }; /* and as much as the core has: bytes read for header blocks that were none */

/* coreBlockAt -- a magic stands at `at` in the segment: a block, if it ends where blocks do */
static Res coreBlockAt(Core core, ElfSegment segment, uint64_t at)
{
  File file = core->elf.file;
  uint64_t left = segment->size - at;
  Size whole;

  if (left < BlockHeaderSIZE || FileRead(file, segment->offset + at, &core->block, BlockHeaderSIZE) != ResOK)
    return ResOK;
  whole = core->block.header.whole;
  if (!WordIsPowerOf2(whole) || whole < BlockMIN || whole > BlockMAX ||
      (segment->address + at + whole) % RegionSlotSIZE != 0)
    return ResOK;
  memset(&core->block, 0, sizeof core->block);
  if (FileRead(file, segment->offset + at, &core->block, left < whole ? (Size)left : whole) != ResOK)
    return ResOK;
  return CoreBlock(core, whole);
}

/* coreHeaderAt -- the same for the magic of a header block, which may stand anywhere */
static void coreHeaderAt(Core core, ElfSegment segment, uint64_t at)
{
  uint64_t offset = segment->offset + at, left = segment->size - at;
  File file = core->elf.file;
  unsigned version[3];
  const char *body;
  CoreHeader header;
  Size length;

  if (left < BlockMagicSIZE + HeaderLineSIZE || core->headers == CoreHeadersMAX ||
      core->wasted > file->size + coreWasteMAX ||
      FileRead(file, offset, core->text, BlockMagicSIZE + HeaderLineSIZE) != ResOK ||
      HeaderLength(&length, version, core->text, BlockMagicSIZE + HeaderLineSIZE) != ResOK || length > left)
    return;
  if (FileRead(file, offset, core->text, length) != ResOK ||
      HeaderRead(&core->parsed, &body, core->text, length) != ResOK) {
    core->wasted += length;
    return;
  }
  header = &core->header[core->headers++];
  header->identity = core->parsed.identity;
  header->offset = offset;
  header->length = length;
  core->next = at + length;
}

/* coreRegionAt -- and for a region's: then its blocks are in the core, too, and need not be had from the file */
static void coreRegionAt(Core core, ElfSegment segment, uint64_t at)
{
  CoreProcess process;

  if (segment->size - at < sizeof core->region ||
      FileRead(core->elf.file, segment->offset + at, &core->region, sizeof core->region) != ResOK)
    return;
  /* The private one, which has the same identity, has no text. */
  if (core->region.order != BlockORDER || core->region.text.generation == 0)
    return;
  process = CoreProcessFind(core, core->region.identity);
  if (process != NULL)
    process->region = TRUE;
}

/* corePiece -- look at the `size` bytes in core->piece, of which `new` have not been seen yet; they are at `at` in the
 * segment */
static Res corePiece(Core core, ElfSegment segment, uint64_t at, Size size, Size new)
{
  uint64_t page = at + (0 - (segment->address + at)) % BlockMIN;
  const unsigned char *from = core->piece, *found;
  Res res = ResOK;

  for (; res == ResOK && page < at + new && page - at + BlockMagicSIZE <= size; page += BlockMIN) {
    if (memcmp(core->piece + (page - at), BlockMAGIC, BlockMagicSIZE) == 0)
      res = coreBlockAt(core, segment, page);
    else if (memcmp(core->piece + (page - at), RegionMAGIC, BlockMagicSIZE) == 0)
      coreRegionAt(core, segment, page);
  }
  while ((found = memmem(from, size - (Size)(from - core->piece), HeaderMAGIC, BlockMagicSIZE)) != NULL) {
    uint64_t place = at + (uint64_t)(found - core->piece);
    if (place >= core->next && found < core->piece + new)
      coreHeaderAt(core, segment, place);
    from = found + 1;
  }
  return res;
}

Res CoreSegment(Core core, ElfSegment segment)
{
  File file = core->elf.file;
  uint64_t at = 0;
  Res res = ResOK;

  core->next = 0;
  /* Segments that overlap are nobody's memory: no core has more of it than bytes. */
  while (res == ResOK && at < segment->size && core->read < file->size) {
    off_t data = lseek(file->fd, (off_t)(segment->offset + at), SEEK_DATA);
    uint64_t left;
    Size size, new;
    if (data < 0 && errno == ENXIO)
      break;
    if (data > (off_t)(segment->offset + at))
      at = (uint64_t)data - segment->offset;
    if (at >= segment->size)
      break;
    left = segment->size - at;
    new = left < CorePieceSIZE ? (Size)left : CorePieceSIZE;
    size = left < sizeof core->piece ? (Size)left : sizeof core->piece;
    res = FileRead(file, segment->offset + at, core->piece, size);
    if (res == ResOK)
      res = corePiece(core, segment, at, size, new);
    at += new;
    core->read += new;
    if (core->teller->hooks.scanning != NULL)
      core->teller->hooks.scanning(core->teller->hooks.data, core->read, file->size);
  }
  return res == ResEND ? ResOK : res;
}
