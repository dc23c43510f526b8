/* elftest.c -- ELF files of all forms are read as they were written; of damaged ones nothing is read that is not there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are made here from random numbers, in both widths and both byte orders.
 */
#include "base/elf.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "tap.h"

enum { imageMAX = 8192, tableMAX = 12, noteCOUNT = 5, symbolCOUNT = 9, roundsCOUNT = 400, changesMAX = 12 };

/* A file, and what is in it. */
typedef struct ImageStruct {
  unsigned char bytes[imageMAX];
  Size size;
  Bool wide, big;                    /* 64 bits; most significant byte first */
  Count segments, sections;
  Size segmentEntry, sectionEntry;   /* bytes */
  Size segmentTable, sectionTable, notes, notesLimit, symbols, symbolsLimit;
  ElfSegmentStruct segment[tableMAX];
  ElfSectionStruct section[tableMAX];
  ElfNoteStruct note[noteCOUNT];
  ElfSymbolStruct symbol[symbolCOUNT];
  char build[2 * ElfBuildMAX + 1];
  Count strays;                      /* reads beyond the end */
  Count reads;
} ImageStruct, *Image;

static uint64_t state;

/* ---- Writing ---- */

/* put -- a number of so many bytes, at the end; gives it back as it can be read again */
static uint64_t put(Image image, uint64_t value, unsigned size)
{
  unsigned i;

  for (i = 0; i < size; ++i)
    image->bytes[image->size + i] = (unsigned char)(value >> 8 * (image->big ? size - 1 - i : i));
  image->size += size;
  return size < 8 ? value & (((uint64_t)1 << 8 * size) - 1) : value;
}

#define putWord(image, value) put(image, value, (image)->wide ? 8 : 4)

static void putSegment(Image image, ElfSegment segment)
{
  Size begin = image->size;

  segment->type = (uint32_t)put(image, TapRandom(&state), 4);
  if (image->wide)
    segment->flags = (uint32_t)put(image, TapRandom(&state), 4);
  segment->offset = putWord(image, TapRandom(&state) % 600);
  segment->address = putWord(image, TapRandom(&state));
  (void)putWord(image, TapRandom(&state));
  segment->size = putWord(image, TapRandom(&state) % 200);
  segment->memory = putWord(image, TapRandom(&state));
  if (!image->wide)
    segment->flags = (uint32_t)put(image, TapRandom(&state), 4);
  image->size = begin + image->segmentEntry;
}

static void putSection(Image image, ElfSection section)
{
  Size begin = image->size;

  section->name = (uint32_t)put(image, TapRandom(&state), 4);
  section->type = (uint32_t)put(image, TapRandom(&state) | 16, 4);
  section->flags = putWord(image, TapRandom(&state));
  section->address = putWord(image, TapRandom(&state));
  section->offset = putWord(image, TapRandom(&state) % 600);
  section->size = putWord(image, TapRandom(&state) % 200);
  section->link = (uint32_t)put(image, TapRandom(&state), 4);
  section->info = (uint32_t)put(image, TapRandom(&state), 4);
  image->size = begin + image->sectionEntry;
}

/* putNote -- any, or the one with the build id */
static void putNote(Image image, ElfNote note, Bool build)
{
  Index i;

  note->nameSize = (uint32_t)put(image, build ? 4 : TapRandom(&state) % 9, 4);
  note->size = (uint32_t)put(image, build ? 1 + TapRandom(&state) % ElfBuildMAX : TapRandom(&state) % 40, 4);
  note->type = (uint32_t)put(image, build ? NT_GNU_BUILD_ID : 77, 4);
  note->name = image->size;
  memcpy(image->bytes + image->size, build ? "GNU" : "", build ? 4 : 1);
  image->size += (note->nameSize + 3) / 4 * 4;
  note->content = image->size;
  for (i = 0; i < note->size; ++i) {
    image->bytes[image->size + i] = (unsigned char)TapRandom(&state);
    if (build)
      (void)snprintf(image->build + 2 * i, 3, "%02x", image->bytes[image->size + i]);
  }
  image->size += (note->size + 3) / 4 * 4;
}

static void putSymbol(Image image, ElfSymbol symbol)
{
  unsigned info = (unsigned)TapRandom(&state) & 255;

  symbol->name = (uint32_t)put(image, TapRandom(&state), 4);
  if (image->wide) {
    (void)put(image, info, 1), (void)put(image, 0, 1);
    symbol->section = (unsigned)put(image, TapRandom(&state), 2);
  }
  symbol->address = putWord(image, TapRandom(&state));
  symbol->size = putWord(image, TapRandom(&state));
  if (!image->wide) {
    (void)put(image, info, 1), (void)put(image, 0, 1);
    symbol->section = (unsigned)put(image, TapRandom(&state), 2);
  }
  symbol->bind = info >> 4;
  symbol->type = info & 15;
}

/* make -- `many`: the numbers are in the first section, and not in the header */
static void make(Image image, Bool many)
{
  static const unsigned char magic[] = {0x7f, 'E', 'L', 'F'};
  Size head, end;
  Index i;

  memset(image, 0, sizeof *image);
  image->wide = TapRandom(&state) % 2;
  image->big = TapRandom(&state) % 2;
  image->segments = TapRandom(&state) % tableMAX;
  image->sections = 1 + TapRandom(&state) % (tableMAX - 1);
  image->segmentEntry = (image->wide ? 56 : 32) + TapRandom(&state) % 9;
  image->sectionEntry = (image->wide ? 64 : 40) + TapRandom(&state) % 9;
  head = image->wide ? 64 : 52;
  image->segmentTable = head + TapRandom(&state) % 9;
  image->sectionTable = image->segmentTable + image->segments * image->segmentEntry + TapRandom(&state) % 9;
  memcpy(image->bytes, magic, sizeof magic);
  image->bytes[4] = image->wide ? 2 : 1;
  image->bytes[5] = image->big ? 2 : 1;
  image->size = 16;
  (void)put(image, ET_DYN, 2), (void)put(image, 0, 6), (void)putWord(image, 0);
  (void)putWord(image, image->segmentTable), (void)putWord(image, image->sectionTable);
  (void)put(image, 0, 6);
  (void)put(image, image->segmentEntry, 2), (void)put(image, many ? 0xffff : image->segments, 2);
  (void)put(image, image->sectionEntry, 2), (void)put(image, many ? 0 : image->sections, 2);
  (void)put(image, many ? 0xffff : 0, 2);
  for (i = 0, image->size = image->segmentTable; i < image->segments; ++i)
    putSegment(image, &image->segment[i]);
  for (i = 0, image->size = image->sectionTable; i < image->sections; ++i)
    putSection(image, &image->section[i]);
  end = image->size;
  if (many) { /* offset, size, link and info of the first section */
    image->size = image->sectionTable + (image->wide ? 24 : 16);
    image->section[0].offset = putWord(image, 0);
    image->section[0].size = putWord(image, image->sections);
    image->section[0].link = (uint32_t)put(image, 0, 4);
    image->section[0].info = (uint32_t)put(image, image->segments, 4);
  }
  image->notes = image->size = (end + 3) / 4 * 4;
  for (i = 0; i < noteCOUNT; ++i)
    putNote(image, &image->note[i], i == noteCOUNT - 2);
  image->notesLimit = image->symbols = image->size;
  for (i = 0; i < symbolCOUNT; ++i)
    putSymbol(image, &image->symbol[i]);
  image->symbolsLimit = image->size;
}

/* ---- Reading ---- */

static Bool readImage(void *data, uint64_t offset, void *bytes, Size size)
{
  Image image = data;

  ++image->reads;
  if (offset > image->size || size > image->size - offset) {
    ++image->strays;
    return FALSE;
  }
  memcpy(bytes, image->bytes + offset, size);
  return TRUE;
}

#define same(a, b) ((a)->offset == (b)->offset && (a)->size == (b)->size && (a)->type == (b)->type && \
                    (a)->flags == (b)->flags && (a)->address == (b)->address)

/* wrongTables -- how many entries are not as they were written, in a file that has its first `size` bytes only */
static Count wrongTables(Image image, Elf elf, Size size)
{
  ElfSegmentStruct segment;
  ElfSectionStruct section;
  Count wrong = 0;
  Index i;

  for (i = 0; i < tableMAX; ++i) {
    ElfSegmentStruct segmentRight = image->segment[i];
    ElfSectionStruct sectionRight = image->section[i];
    Bool has = i < image->segments && image->segmentTable + (i + 1) * image->segmentEntry <= size;

    if (segmentRight.offset + segmentRight.size > size)
      segmentRight.size = segmentRight.offset > size ? 0 : size - segmentRight.offset;
    if (sectionRight.offset + sectionRight.size > size)
      sectionRight.size = sectionRight.offset > size ? 0 : size - sectionRight.offset;
    if (ElfSegmentAt(&segment, elf, i) != has)
      ++wrong;
    else if (has)
      wrong += !same(&segment, &segmentRight) || segment.memory != segmentRight.memory ||
               segment.cut != (segment.size < image->segment[i].size);
    has = i < image->sections && image->sectionTable + (i + 1) * image->sectionEntry <= size;
    if (ElfSectionAt(&section, elf, i) != has)
      ++wrong;
    else if (has)
      wrong += !same(&section, &sectionRight) || section.name != sectionRight.name ||
               section.link != sectionRight.link || section.info != sectionRight.info ||
               section.cut != (section.size < image->section[i].size);
  }
  return wrong;
}

static Count wrongRest(Image image, Elf elf)
{
  ReaderStruct reader = ReaderOf(image->bytes, image->symbolsLimit, image->symbols, elf->swapped);
  uint64_t at = image->notes;
  char build[2 * ElfBuildMAX + 1];
  ElfSymbolStruct symbol;
  ElfNoteStruct note;
  Count wrong = 0;
  Index i;

  for (i = 0; i < noteCOUNT; ++i) {
    const ElfNoteStruct *right = &image->note[i];
    wrong += !ElfNoteNext(&note, elf, &at, image->notesLimit) || note.type != right->type ||
             note.name != right->name || note.nameSize != right->nameSize || note.content != right->content ||
             note.size != right->size;
  }
  wrong += ElfNoteNext(&note, elf, &at, image->notesLimit);
  wrong += !ElfBuild(build, elf, image->notes, image->notesLimit) || strcmp(build, image->build) != 0;
  for (i = 0; i < symbolCOUNT; ++i)
    wrong += !ElfSymbolNext(&symbol, elf, &reader) || memcmp(&symbol, &image->symbol[i], sizeof symbol) != 0;
  return wrong + ElfSymbolNext(&symbol, elf, &reader);
}

static void testForms(void)
{
  static ImageStruct image;
  Count wrong = 0, wrongCut = 0;
  ElfStruct elf;
  Index round;

  for (round = 0; round < roundsCOUNT; ++round) {
    make(&image, round % 2);
    if (ElfOpen(&elf, readImage, &image, image.size) != ResOK || elf.wide != image.wide || elf.type != ET_DYN)
      ++wrong;
    else
      wrong += wrongTables(&image, &elf, image.size) + wrongRest(&image, &elf) + image.strays;
  }
  TapIs(wrong, 0, "%d files of both widths and byte orders are read as they were written", roundsCOUNT);
  for (round = 0; round < roundsCOUNT; ++round) {
    Size size;
    make(&image, FALSE);
    size = image.size = TapRandom(&state) % image.size;
    if (ElfOpen(&elf, readImage, &image, size) == ResOK)
      wrongCut += wrongTables(&image, &elf, size);
    else
      wrongCut += size >= (image.wide ? 64 : 52);
    wrongCut += image.strays;
  }
  TapIs(wrongCut, 0, "of those that are cut off, what there is");
}

/* testShort -- a table whose entries are too short for their fields */
static void testShort(void)
{
  static ImageStruct image;
  ElfSegmentStruct segment;
  ElfSectionStruct section;
  ElfStruct elf;
  Count wrong = 0;
  Size size;

  make(&image, FALSE);
  wrong += ElfOpen(&elf, readImage, &image, image.size) != ResOK;
  for (size = 0; size < (image.wide ? 56 : 32); ++size) {
    elf.segments = elf.sections = (ElfTableStruct){.offset = image.sectionTable, .count = 1, .entry = size};
    wrong += ElfSegmentAt(&segment, &elf, 0) || ElfSectionAt(&section, &elf, 0);
  }
  TapIs(wrong, 0, "entries that are too short are none");
}

/* walk -- read all of a file that says anything; FALSE: something is said of bytes that are not there */
static Bool walk(Image image, Count countMAX)
{
  ElfSegmentStruct segment;
  ElfSectionStruct section;
  ElfNoteStruct note;
  ElfStruct elf;
  Bool sound = TRUE;
  Index i;

  if (ElfOpen(&elf, readImage, image, image->size) != ResOK)
    return image->strays == 0;
  for (i = 0; i < countMAX && ElfSegmentAt(&segment, &elf, i); ++i) {
    uint64_t at = segment.offset, limit = segment.offset + segment.size, last = at;
    sound = sound && (segment.size == 0 || limit <= image->size);
    while (ElfNoteNext(&note, &elf, &at, limit)) {
      sound = sound && note.name + note.nameSize <= note.content + 3 && note.content + note.size <= limit && at > last;
      last = at;
    }
  }
  for (i = 0; i < countMAX && ElfSectionAt(&section, &elf, i); ++i)
    sound = sound && (section.type == SHT_NOBITS || section.size == 0 || section.offset + section.size <= image->size);
  return sound && image->strays == 0 && image->reads <= ElfReadsMAX;
}

static void testDamaged(void)
{
  static ImageStruct image;
  Count wrong = 0;
  Index round, i;

  for (round = 0; round < 20 * roundsCOUNT; ++round) {
    make(&image, round % 2);
    for (i = TapRandom(&state) % changesMAX; i > 0; --i) {
      Size at = TapRandom(&state) % (TapRandom(&state) % 2 == 0 ? 64 : image.size);
      image.bytes[at] = TapRandom(&state) % 3 == 0 ? 0xff : (unsigned char)TapRandom(&state);
    }
    if (TapRandom(&state) % 4 == 0)
      image.size = TapRandom(&state) % image.size;
    wrong += !walk(&image, 1000);
  }
  TapIs(wrong, 0, "of %d damaged files nothing is read that is not there", 20 * roundsCOUNT);
}

/* bottomless -- a file as large as any, of which all bytes are 0 but the first */
static Bool bottomless(void *data, uint64_t offset, void *bytes, Size size)
{
  Image image = data;

  ++image->reads;
  memset(bytes, 0, size);
  if (offset < 64)
    memcpy(bytes, image->bytes + offset, size < 64 - offset ? size : 64 - offset);
  return TRUE;
}

static void testWork(void)
{
  static ImageStruct image;
  ElfNoteStruct note;
  ElfStruct elf;
  uint64_t at = 64;

  do
    make(&image, FALSE);
  while (!image.wide);
  TapIs(ElfOpen(&elf, bottomless, &image, ElfUNKNOWN), ResOK, "a file of unknown size is read");
  while (ElfNoteNext(&note, &elf, &at, ElfUNKNOWN))
    continue;
  TapIs(image.reads, ElfReadsMAX, "and so much of it as any file is worth");
}

/* ---- This program ---- */

static Bool readFile(void *data, uint64_t offset, void *bytes, Size size)
{
  return pread(*(int *)data, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* compare -- the program headers that the kernel has mapped, which come first, are those of the file */
static int compare(struct dl_phdr_info *info, size_t size, void *data)
{
  ElfSegmentStruct segment;
  Count wrong = 0;
  Index i;

  UNUSED(size);
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *right = &info->dlpi_phdr[i];
    wrong += !ElfSegmentAt(&segment, data, i) || segment.type != right->p_type || segment.flags != right->p_flags ||
             segment.offset != right->p_offset || segment.size != right->p_filesz || segment.cut ||
             segment.address != right->p_vaddr || segment.memory != right->p_memsz;
  }
  TapOk(wrong == 0 && !ElfSegmentAt(&segment, data, i), "this program has its %zu segments", i);
  return 1;
}

static void testSelf(void)
{
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ElfStruct elf;

  if (TapIs(ElfOpen(&elf, readFile, &fd, (uint64_t)lseek(fd, 0, SEEK_END)), ResOK, "this program is an ELF file"))
    (void)dl_iterate_phdr(compare, &elf);
  (void)close(fd);
}

int main(void)
{
  state = TapSeed() * 2 + 1;
  testForms();
  testShort();
  testDamaged();
  testWork();
  testSelf();
  return TapDone();
}
