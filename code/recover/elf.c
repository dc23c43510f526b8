/* elf.c -- a core file: the memory that it holds, and the files that the process had mapped
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/elf.h"

#include <elf.h>
#include <stdlib.h>

#include "base/aver.h"

enum {
  elfNotesMAX = 16 << 20, /* bytes of notes that are looked at */
  elfFILE = 0x46494c45    /* NT_FILE */
};

Bool ElfIs(File file)
{
  const unsigned char *bytes = FileBytes(file, 0, SELFMAG);

  return bytes != NULL && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

/* Cores of both widths have the same fields in other places. */
typedef union elfHeadUnion { Elf64_Ehdr wide; Elf32_Ehdr narrow; } elfHeadUnion;
typedef union elfSegmentUnion { Elf64_Phdr wide; Elf32_Phdr narrow; } elfSegmentUnion;
typedef union elfSectionUnion { Elf64_Shdr wide; Elf32_Shdr narrow; } elfSectionUnion;

#define elfSIZE(elf, both)       ((elf)->wide ? sizeof (both).wide : sizeof (both).narrow)
#define elfGet(elf, both, field) ((elf)->wide ? (both).wide.field : (both).narrow.field)

Res ElfOpen(Elf elf, File file)
{
  static const unsigned char ours = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  const unsigned char *bytes = FileBytes(file, 0, sizeof(elfHeadUnion));
  elfHeadUnion head;
  elfSectionUnion section;
  elfSegmentUnion segment;

  elf->file = file;
  if (bytes == NULL || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
      (bytes[EI_CLASS] != ELFCLASS64 && bytes[EI_CLASS] != ELFCLASS32))
    return ResFORMAT;
  if (bytes[EI_DATA] != ours)
    return ResVERSION;
  memcpy(&head, bytes, sizeof head);
  elf->wide = bytes[EI_CLASS] == ELFCLASS64;
  elf->table = elfGet(elf, head, e_phoff);
  elf->count = elfGet(elf, head, e_phnum);
  elf->entry = elfGet(elf, head, e_phentsize);
  /* If there are too many segments for the head, the first section tells how many there are. */
  if (elf->count == PN_XNUM)
    elf->count = FileRead(file, elfGet(elf, head, e_shoff), &section, elfSIZE(elf, section)) == ResOK
                   ? elfGet(elf, section, sh_info) : 0;
  return elfGet(elf, head, e_type) == ET_CORE && elf->entry >= elfSIZE(elf, segment) ? ResOK : ResFORMAT;
}

Bool ElfSegmentAt(ElfSegment segmentReturn, Elf elf, Index i)
{
  uint64_t limit = elf->file->size, offset, size;
  elfSegmentUnion segment;
  uint32_t type;

  AVER(elf->entry >= elfSIZE(elf, segment)); /* ElfOpen */
  if (i >= elf->count || elf->table > limit || (limit - elf->table) / elf->entry <= i ||
      FileRead(elf->file, elf->table + i * elf->entry, &segment, elfSIZE(elf, segment)) != ResOK)
    return FALSE;
  type = elfGet(elf, segment, p_type);
  offset = elfGet(elf, segment, p_offset);
  size = elfGet(elf, segment, p_filesz);
  segmentReturn->memory = type == PT_LOAD;
  segmentReturn->notes = type == PT_NOTE;
  segmentReturn->cut = size > 0 && (offset > limit || size > limit - offset);
  segmentReturn->offset = offset < limit ? offset : limit;
  segmentReturn->size = size < limit - segmentReturn->offset ? size : limit - segmentReturn->offset;
  segmentReturn->address = elfGet(elf, segment, p_vaddr);
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
