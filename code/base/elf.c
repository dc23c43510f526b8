/* elf.c -- an ELF file: its header, segments, sections, notes and symbols
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/elf.h"

#define elfWord(elf) ((elf)->wide ? 8u : 4u)
#define elfPadded(size) (((uint64_t)(size) + 3) / 4 * 4)

Bool ElfNamed(const char *file, const char *name)
{
  Size length = strlen(name);

  if (length == 0 || strncmp(file, name, length) != 0)
    return FALSE;
  return file[length] == '\0' || file[length] == '.' || (file[length] == '-' && strstr(file + length, ".so") != NULL);
}

Bool ElfMagic(const void *bytes)
{
  return memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

Bool ElfRead(Elf elf, uint64_t offset, void *bytes, Size size)
{
  if (offset > elf->size || size > elf->size - offset || elf->left == 0)
    return FALSE;
  --elf->left;
  return elf->read(elf->data, offset, bytes, size);
}

/* ---- Segments and sections ---- */

/* elfEntry -- read `size` bytes of entry `i` of a table, for the cursor */
static Bool elfEntry(Reader reader, unsigned char *bytes, Elf elf, const ElfTableStruct *table, Index i, Size size)
{
  if (i >= table->count || table->entry < size || table->offset > elf->size ||
      (elf->size - table->offset) / table->entry <= i ||
      !ElfRead(elf, table->offset + i * table->entry, bytes, size))
    return FALSE;
  *reader = ReaderOf(bytes, size, 0, elf->swapped);
  return TRUE;
}

/* elfClip -- keep what the file has of a piece of it; TRUE: that is not all */
static Bool elfClip(Elf elf, uint64_t offset, uint64_t *size)
{
  uint64_t whole = *size, left = offset < elf->size ? elf->size - offset : 0;

  *size = whole < left ? whole : left;
  return *size < whole;
}

Bool ElfSegmentAt(ElfSegment segment, Elf elf, Index i)
{
  unsigned char bytes[sizeof(Elf64_Phdr)];
  unsigned word = elfWord(elf);
  ReaderStruct reader;

  if (!elfEntry(&reader, bytes, elf, &elf->segments, i, elf->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
    return FALSE;
  segment->type = ReaderU32(&reader);
  if (elf->wide)
    segment->flags = ReaderU32(&reader);
  segment->offset = ReaderUnsigned(&reader, word);
  segment->address = ReaderUnsigned(&reader, word);
  ReaderSkip(&reader, word);
  segment->size = ReaderUnsigned(&reader, word);
  segment->memory = ReaderUnsigned(&reader, word);
  if (!elf->wide)
    segment->flags = ReaderU32(&reader);
  segment->cut = elfClip(elf, segment->offset, &segment->size);
  return TRUE;
}

Bool ElfSectionAt(ElfSection section, Elf elf, Index i)
{
  unsigned char bytes[sizeof(Elf64_Shdr)];
  unsigned word = elfWord(elf);
  ReaderStruct reader;

  if (!elfEntry(&reader, bytes, elf, &elf->sections, i, elf->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
    return FALSE;
  section->name = ReaderU32(&reader);
  section->type = ReaderU32(&reader);
  section->flags = ReaderUnsigned(&reader, word);
  section->address = ReaderUnsigned(&reader, word);
  section->offset = ReaderUnsigned(&reader, word);
  section->size = ReaderUnsigned(&reader, word);
  section->link = ReaderU32(&reader);
  section->info = ReaderU32(&reader);
  section->cut = section->type != SHT_NOBITS && elfClip(elf, section->offset, &section->size);
  return TRUE;
}

/* ---- The header ---- */

/* elfMany -- numbers that are too large for the header: the first section has them instead */
static void elfMany(Elf elf)
{
  ElfSectionStruct first = {.size = 0};
  Count sections = elf->sections.count;

  if (elf->sections.offset == 0)
    elf->sections.count = 0;
  else if (sections == 0 || elf->segments.count == PN_XNUM || elf->names == SHN_XINDEX) {
    elf->sections.count = 1;
    (void)ElfSectionAt(&first, elf, 0);
    elf->sections.count = sections == 0 ? (Count)first.size : sections;
    if (elf->names == SHN_XINDEX)
      elf->names = first.link;
  }
  if (elf->segments.count == PN_XNUM)
    elf->segments.count = first.info;
}

Res ElfOpen(Elf elf, ElfReadMethod read, void *data, uint64_t size)
{
  static const unsigned char ours = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  unsigned char bytes[sizeof(Elf64_Ehdr)];
  ReaderStruct reader;
  Size head;

  *elf = (ElfStruct){.read = read, .data = data, .size = size, .left = ElfReadsMAX};
  if (!ElfRead(elf, 0, bytes, EI_NIDENT) || !ElfMagic(bytes) ||
      (bytes[EI_CLASS] != ELFCLASS64 && bytes[EI_CLASS] != ELFCLASS32) ||
      (bytes[EI_DATA] != ELFDATA2LSB && bytes[EI_DATA] != ELFDATA2MSB))
    return ResFORMAT;
  elf->wide = bytes[EI_CLASS] == ELFCLASS64;
  elf->swapped = bytes[EI_DATA] != ours;
  head = elf->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  if (!ElfRead(elf, 0, bytes, head))
    return ResFORMAT;
  reader = ReaderOf(bytes, head, EI_NIDENT, elf->swapped);
  elf->type = ReaderU16(&reader);
  ReaderSkip(&reader, 2 + 4 + elfWord(elf)); /* machine, version, entry */
  elf->segments.offset = ReaderUnsigned(&reader, elfWord(elf));
  elf->sections.offset = ReaderUnsigned(&reader, elfWord(elf));
  ReaderSkip(&reader, 4 + 2); /* flags, size of the header */
  elf->segments.entry = ReaderU16(&reader);
  elf->segments.count = ReaderU16(&reader);
  elf->sections.entry = ReaderU16(&reader);
  elf->sections.count = ReaderU16(&reader);
  elf->names = ReaderU16(&reader);
  elfMany(elf);
  return ResOK;
}

/* ---- Notes ---- */

Bool ElfNoteNext(ElfNote note, Elf elf, uint64_t *at, uint64_t limit)
{
  unsigned char bytes[sizeof(Elf64_Nhdr)]; /* the same for both widths */
  ReaderStruct reader;
  uint64_t left;

  if (*at > limit || limit - *at < sizeof bytes || !ElfRead(elf, *at, bytes, sizeof bytes))
    return FALSE;
  reader = ReaderOf(bytes, sizeof bytes, 0, elf->swapped);
  note->nameSize = ReaderU32(&reader);
  note->size = ReaderU32(&reader);
  note->type = ReaderU32(&reader);
  note->name = *at + sizeof bytes;
  left = limit - note->name;
  if (elfPadded(note->nameSize) > left || note->size > left - elfPadded(note->nameSize))
    return FALSE;
  note->content = note->name + elfPadded(note->nameSize);
  left = limit - note->content;
  *at = note->content + (elfPadded(note->size) < left ? elfPadded(note->size) : left);
  return TRUE;
}

void ElfBuildText(char text[2 * ElfBuildMAX + 1], const unsigned char *bytes, Size size)
{
  static const char digits[] = "0123456789abcdef";
  Index i;

  for (i = 0; i < size; ++i) {
    *text++ = digits[bytes[i] >> 4];
    *text++ = digits[bytes[i] & 15];
  }
  *text = '\0';
}

Bool ElfBuild(char text[2 * ElfBuildMAX + 1], Elf elf, uint64_t at, uint64_t limit)
{
  static const char owner[] = "GNU";
  unsigned char bytes[ElfBuildMAX];
  char name[sizeof owner];
  ElfNoteStruct note;

  text[0] = '\0';
  while (text[0] == '\0' && ElfNoteNext(&note, elf, &at, limit))
    if (note.type == NT_GNU_BUILD_ID && note.nameSize == sizeof name && note.size <= sizeof bytes &&
        ElfRead(elf, note.name, name, sizeof name) && memcmp(name, owner, sizeof name) == 0 &&
        ElfRead(elf, note.content, bytes, note.size))
      ElfBuildText(text, bytes, note.size);
  return text[0] != '\0';
}

/* ---- Symbols ---- */

Bool ElfSymbolNext(ElfSymbol symbol, Elf elf, Reader reader)
{
  unsigned word = elfWord(elf), info = 0;

  symbol->name = ReaderU32(reader);
  if (elf->wide) {
    info = ReaderU8(reader);
    ReaderSkip(reader, 1);
    symbol->section = ReaderU16(reader);
  }
  symbol->address = ReaderUnsigned(reader, word);
  symbol->size = ReaderUnsigned(reader, word);
  if (!elf->wide) {
    info = ReaderU8(reader);
    ReaderSkip(reader, 1);
    symbol->section = ReaderU16(reader);
  }
  symbol->type = ELF32_ST_TYPE(info);
  symbol->bind = ELF32_ST_BIND(info);
  return !reader->failed;
}
