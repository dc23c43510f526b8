/* elf.c -- a core file: the memory that it holds, and the files that the process had mapped
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
  elfNotesMAX = 16 << 20, /* bytes of notes that are looked at */
  elfFILE = 0x46494c45    /* NT_FILE */
};

Bool ElfIs(File file)
{
  const unsigned char *bytes = FileBytes(file, 0, SELFMAG);

  return bytes != NULL && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

/* elfExtended -- how many segments there are, where that is too many for the head: the first section tells */
static Count elfExtended(Elf elf, uint64_t sections)
{
  Elf64_Shdr wide;
  Elf32_Shdr narrow;

  if (elf->wide)
    return FileRead(elf->file, sections, &wide, sizeof wide) == ResOK ? wide.sh_info : 0;
  return FileRead(elf->file, sections, &narrow, sizeof narrow) == ResOK ? narrow.sh_info : 0;
}

/* elfTake -- the head's fields, of either width */
#define elfTake(elf, head, phdr, sections) \
  ((elf)->table = (head).e_phoff, (elf)->count = (head).e_phnum, (elf)->entry = (head).e_phentsize, \
   *(sections) = (head).e_shoff, (head).e_type == ET_CORE && (head).e_phentsize >= sizeof(phdr))

Res ElfOpen(Elf elf, File file)
{
  static const uint16_t one = 1;
  unsigned char ours = *(const unsigned char *)&one == 1 ? ELFDATA2LSB : ELFDATA2MSB;
  const unsigned char *bytes = FileBytes(file, 0, sizeof(Elf64_Ehdr));
  Elf64_Ehdr wide;
  Elf32_Ehdr narrow;
  uint64_t sections;
  Bool sound;

  elf->file = file;
  if (bytes == NULL || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
      (bytes[EI_CLASS] != ELFCLASS64 && bytes[EI_CLASS] != ELFCLASS32))
    return ResFORMAT;
  if (bytes[EI_DATA] != ours)
    return ResVERSION;
  memcpy(&wide, bytes, sizeof wide);
  memcpy(&narrow, bytes, sizeof narrow);
  elf->wide = bytes[EI_CLASS] == ELFCLASS64;
  sound = elf->wide ? elfTake(elf, wide, Elf64_Phdr, &sections) : elfTake(elf, narrow, Elf32_Phdr, &sections);
  if (elf->count == PN_XNUM)
    elf->count = elfExtended(elf, sections);
  return sound ? ResOK : ResFORMAT;
}

Bool ElfSegmentAt(ElfSegment segment, Elf elf, Index i)
{
  uint64_t limit = elf->file->size, at, offset, size, address;
  Elf64_Phdr wide;
  Elf32_Phdr narrow;
  uint32_t type;

  if (i >= elf->count || elf->table > limit || (limit - elf->table) / elf->entry <= i)
    return FALSE;
  at = elf->table + i * elf->entry;
  if (elf->wide ? FileRead(elf->file, at, &wide, sizeof wide) != ResOK
                : FileRead(elf->file, at, &narrow, sizeof narrow) != ResOK)
    return FALSE;
  type = elf->wide ? wide.p_type : narrow.p_type;
  offset = elf->wide ? wide.p_offset : narrow.p_offset;
  size = elf->wide ? wide.p_filesz : narrow.p_filesz;
  address = elf->wide ? wide.p_vaddr : narrow.p_vaddr;
  segment->memory = type == PT_LOAD;
  segment->notes = type == PT_NOTE;
  segment->cut = size > 0 && (offset > limit || size > limit - offset);
  segment->offset = offset < limit ? offset : limit;
  segment->size = size < limit - segment->offset ? size : limit - segment->offset;
  segment->address = address;
  return TRUE;
}

/* elfWord -- the `i`th word of a note's `size` bytes; UINT64_MAX if it is not there */
static uint64_t elfWord(Elf elf, const char *note, Size size, Index i)
{
  uint32_t narrow;
  uint64_t wide;

  if (size / (elf->wide ? sizeof wide : sizeof narrow) <= i)
    return UINT64_MAX;
  memcpy(&wide, note + (elf->wide ? i * sizeof wide : 0), elf->wide ? sizeof wide : 0);
  memcpy(&narrow, note + (elf->wide ? 0 : i * sizeof narrow), sizeof narrow);
  return elf->wide ? wide : narrow;
}

/* elfNote -- the files of one note: how many, the size of a page, three words for each, and then their names */
static void elfNote(Elf elf, const char *note, Size size, Bool (*each)(void *data, const char *path), void *data)
{
  Size word = elf->wide ? sizeof(uint64_t) : sizeof(uint32_t), at;
  uint64_t count = elfWord(elf, note, size, 0);
  const char *end;

  if (count > size / (3 * word) || (2 + 3 * count) * word > size)
    return;
  for (at = (Size)((2 + 3 * count) * word); count > 0 && at < size; --count) {
    end = memchr(note + at, '\0', size - at);
    if (end == NULL || each(data, note + at))
      return;
    at = (Size)(end - note) + 1;
  }
}

void ElfFiles(Elf elf, ElfSegment notes, Bool (*each)(void *data, const char *path), void *data)
{
  Size size = notes->size < elfNotesMAX ? (Size)notes->size : elfNotesMAX, at = 0, name, length;
  char *bytes = malloc(size + 1);
  Elf32_Nhdr head; /* the same for both widths */

  if (bytes != NULL && FileRead(elf->file, notes->offset, bytes, size) == ResOK)
    while (size - at >= sizeof head) {
      memcpy(&head, bytes + at, sizeof head);
      at += sizeof head;
      name = WordAlignUp((Size)head.n_namesz, 4);
      length = WordAlignUp((Size)head.n_descsz, 4);
      if (name > size - at || length > size - at - name)
        break;
      if (head.n_type == elfFILE)
        elfNote(elf, bytes + at + name, head.n_descsz, each, data);
      at += name + length;
    }
  free(bytes);
}
