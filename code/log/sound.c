/* sound.c -- what stands at a place of a file, and where the next sound thing does
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/sound.h"

#include <stdlib.h>

#include "base/crc.h"

enum {
  soundWasteMAX = 64 << 20, /* and as much as the file has: bytes read for header blocks that were none */
  soundMagicCOMMON = 4,     /* bytes that the magics of blocks and header blocks have in common */
  soundTornMAX = 4 * HeaderMAX, /* bytes of writes that were cut short, one behind the other, that are looked at */
  soundProgressSTEPS = 256  /* progress is reported once for so many blocks, or windows that were searched */
};

/* soundBlock -- is this the header of a block?  ResFORMAT, ResVERSION */
static Res soundBlock(ScanThing thing, const unsigned char *bytes)
{
  Bool swapped;
  Res res = BlockHeaderRead(&thing->header, &swapped, bytes);

  thing->isBlock = TRUE;
  thing->size = thing->header.size;
  return res;
}

/* soundHeader -- a header block at `offset`?  ResFORMAT, ResVERSION; ResEND: the file ends within it; ResIO */
static Res soundHeader(Scan scan, ScanThing thing, uint64_t offset)
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
  if (scan->wasted > scan->file->size + soundWasteMAX)
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

Res SoundThingAt(Scan scan, ScanThing thing, uint64_t offset)
{
  const unsigned char *bytes = scan->known != NULL ? IndexFileAt(scan->known, offset) : NULL;
  Res res;

  if (bytes != NULL && soundBlock(thing, bytes) == ResOK)
    return ResOK;
  bytes = FileBytes(scan->file, offset, BlockMagicSIZE);
  if (bytes == NULL)
    return ResEND;
  if (memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0)
    return soundHeader(scan, thing, offset);
  if (memcmp(bytes, BlockMAGIC, BlockMagicSIZE) != 0)
    return ResFORMAT;
  bytes = FileBytes(scan->file, offset, BlockHeaderSIZE);
  res = bytes != NULL ? soundBlock(thing, bytes) : ResEND;
  if (res == ResVERSION && scan->foreign[0] == 0)
    scan->foreign[0] = thing->header.major;
  return res;
}

void SoundProgress(Scan scan, uint64_t offset)
{
  LogHooks hooks = &scan->reporter->hooks;

  if (scan->total > 0 && hooks->scanning != NULL && ++scan->steps % soundProgressSTEPS == 0)
    hooks->scanning(hooks->data, scan->bytes + offset, scan->total);
}

/* soundPiece -- the bytes from `offset` on, up to `end`, that are at hand; none where the file ends before, or cannot
 * be read */
static const unsigned char *soundPiece(File file, Size *thereReturn, uint64_t offset, uint64_t end)
{
  const unsigned char *bytes = FileAvailable(file, offset, thereReturn);

  if (*thereReturn > end - offset)
    *thereReturn = (Size)(end - offset);
  return bytes;
}

/* soundMagic -- the first place from `offset` on, before `end`, where a magic begins, which the file's end may cut off;
 * `end`: none.  Holes are not read. */
static uint64_t soundMagic(Scan scan, uint64_t offset, uint64_t end)
{
  while (offset < end) {
    Size there;
    const unsigned char *bytes = soundPiece(scan->file, &there, offset, end), *at = memchr(bytes, BlockMAGIC[0], there);

    if (there == 0)
      return end;
    if (at == NULL) {
      SoundProgress(scan, offset);
      offset = FileData(scan->file, offset + there);
      continue;
    }
    offset += (uint64_t)(at - bytes);
    there = scan->file->size - offset < soundMagicCOMMON ? (Size)(scan->file->size - offset) : soundMagicCOMMON;
    bytes = FileBytes(scan->file, offset, there);
    if (bytes != NULL && memcmp(bytes, BlockMAGIC, there) == 0)
      return offset;
    ++offset;
  }
  return end;
}

uint64_t SoundNext(uint64_t *waitReturn, Scan scan, uint64_t offset, uint64_t end)
{
  ScanThingStruct thing;
  Res res;

  *waitReturn = end;
  for (;; ++offset) {
    offset = soundMagic(scan, offset, end);
    res = offset < end ? SoundThingAt(scan, &thing, offset) : ResOK;
    if (res == ResOK)
      return offset;
    if (res == ResEND && *waitReturn == end)
      *waitReturn = offset;
  }
}

Bool SoundPayload(File file, BlockHeader header, uint64_t offset)
{
  uint64_t at = offset + BlockHeaderSIZE, end = at + header->rest;
  uint32_t crc = 0;
  Size there;

  for (; at < end; at += there) {
    const unsigned char *bytes = soundPiece(file, &there, at, end);
    if (there == 0)
      return FALSE;
    crc = Crc32c(crc, bytes, there);
  }
  return crc == header->restCrc;
}

/* soundClaims -- the events that a damaged block header claims, if it is one at all */
static Bool soundClaims(uint32_t *countReturn, const unsigned char *bytes)
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

/* soundPieceTorn -- is what begins at `offset`, of which `size` bytes are there, more than that? */
static Bool soundPieceTorn(Scan scan, uint64_t offset, uint64_t size)
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

Bool SoundTorn(Scan scan, uint64_t offset, uint64_t end)
{
  if (end - offset > soundTornMAX)
    return FALSE;
  while (offset < end) {
    uint64_t next = soundMagic(scan, offset + 1, end);
    if (!soundPieceTorn(scan, offset, next - offset))
      return FALSE;
    offset = next;
  }
  return TRUE;
}

uint64_t SoundTornHeader(Scan scan, uint64_t offset, uint64_t end)
{
  static const char key[] = "identity: 0x";
  enum { before = BlockMagicSIZE + HeaderLineSIZE, most = before + sizeof key - 1 + 16 + 1 };
  char text[most + 1];
  Size size = end - offset < most ? (Size)(end - offset) : most, digits;
  const unsigned char *bytes = FileBytes(scan->file, offset, size);

  if (bytes == NULL || size < BlockMagicSIZE || memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) != 0)
    return 0;
  memcpy(text, bytes, size);
  text[size] = '\0';
  if (soundMagic(scan, offset + 1, end) != end || size <= before + sizeof key - 1 ||
      memcmp(text + before, key, sizeof key - 1) != 0)
    return 0;
  digits = strspn(text + before + sizeof key - 1, "0123456789abcdef");
  return text[before + sizeof key - 1 + digits] == '\n' ? strtoull(text + before + sizeof key - 1, NULL, 16) : 0;
}

void SoundDamage(Scan scan, DamagedRange region, uint64_t offset, Res res)
{
  uint64_t left = scan->file->size - offset;
  Size there = left < BlockHeaderSIZE ? (Size)left : BlockHeaderSIZE;
  const unsigned char *bytes = FileBytes(scan->file, offset, there);
  Bool header, block;

  if (bytes == NULL)
    there = 0;
  header = there > BlockMagicSIZE + 9 && memcmp(bytes + BlockMagicSIZE, "pawprint ", 9) == 0;
  header |= there >= BlockMagicSIZE && memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0;
  block = there == BlockHeaderSIZE && soundClaims(&region->guess, bytes);
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

Bool SoundZeros(Scan scan, uint64_t offset, uint64_t end)
{
  Size there;

  for (; offset < end; offset = FileData(scan->file, offset + there)) {
    const unsigned char *bytes = soundPiece(scan->file, &there, offset, end);
    if (there == 0 || bytes[0] != 0 || memcmp(bytes, bytes + 1, there - 1) != 0)
      return FALSE;
  }
  return TRUE;
}

uint64_t SoundTornFrom(Scan scan, uint64_t offset, uint64_t end, uint64_t next)
{
  unsigned tries;

  for (tries = 0; tries < SoundTriesMAX; ++tries) {
    offset = soundMagic(scan, offset, end);
    if (offset == end || SoundTorn(scan, offset, next))
      return offset;
    ++offset;
  }
  return end;
}

Bool SoundBlock(File file, uint64_t offset)
{
  const unsigned char *bytes = FileBytes(file, offset, BlockHeaderSIZE);
  ScanThingStruct thing;

  return bytes != NULL && soundBlock(&thing, bytes) == ResOK && SoundPayload(file, &thing.header, offset);
}
