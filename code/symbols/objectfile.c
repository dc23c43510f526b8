/* objectfile.c -- an ELF file with code: its sections, its build id, and what its addresses mean
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/objectfile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/inflate.h"

enum {
  objectNoteMAX = 1 << 16,  /* bytes of notes that are looked at */
  objectHeadMAX = sizeof(Elf64_Ehdr)
};

int ObjectOpenRegular(const char *path, int flags)
{
  char own[32];
  struct stat status;
  /* A descriptor of this kind only names the file.  To open a device for reading may do something. */
  int fd = -1, place = open(path, O_PATH | O_CLOEXEC | flags);

  if (place < 0)
    return -1;
  if (fstat(place, &status) == 0) {
    errno = EINVAL;
    if (S_ISREG(status.st_mode)) {
      (void)snprintf(own, sizeof own, "/proc/self/fd/%d", place);
      fd = open(own, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
  }
  (void)close(place);
  return fd;
}

/* objectRead -- `size` bytes at `offset`; FALSE: the file has them not, any more */
static Bool objectRead(ObjectFile object, void *bytes, uint64_t offset, Size size)
{
  char *to = bytes;

  if (offset > object->size || size > object->size - offset)
    return FALSE;
  while (size > 0) {
    ssize_t n = pread(object->fd, to, size, (off_t)offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    to += n;
    offset += (uint64_t)n;
    size -= (Size)n;
  }
  return TRUE;
}

/* objectTable -- so much of a table of `count` entries of `entry` bytes as the file has; NULL: none.  free() it. */
static unsigned char *objectTable(ObjectFile object, uint64_t offset, Count *count, Size entry, Size least)
{
  unsigned char *table;

  if (entry < least || offset >= object->size)
    *count = 0;
  else if (*count > (object->size - offset) / entry)
    *count = (Count)((object->size - offset) / entry);
  if (*count == 0)
    return NULL;
  table = malloc(*count * entry);
  if (table != NULL && !objectRead(object, table, offset, *count * entry)) {
    free(table);
    table = NULL;
  }
  return table;
}

/* ---- Sections ---- */

static void objectSection(ObjectFile object, ObjectSection section, Reader reader)
{
  unsigned word = object->wide ? 8 : 4;

  section->name = ReaderU32(reader);
  section->type = ReaderU32(reader);
  section->flags = ReaderUnsigned(reader, word);
  section->address = ReaderUnsigned(reader, word);
  section->offset = ReaderUnsigned(reader, word);
  section->size = ReaderUnsigned(reader, word);
  section->link = ReaderU32(reader);
  if (section->type != SHT_NOBITS &&
      (section->offset > object->size || section->size > object->size - section->offset))
    section->offset = section->size = 0; /* a file that was cut */
}

/* objectSections -- the table of sections, of which the first knows how many there are if they are too many to count */
static Res objectSections(ObjectFile object, uint64_t offset, Count count, Size entry, Index names)
{
  Size least = object->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
  ObjectSectionStruct first = {0};
  unsigned char *table;
  ReaderStruct reader;
  Count one = 1;
  Index i;

  if (offset == 0)
    return ResOK;
  table = objectTable(object, offset, &one, entry, least);
  if (table == NULL)
    return ResOK;
  reader = ReaderOf(table, entry, 0, object->swapped);
  objectSection(object, &first, &reader);
  free(table);
  if (count == 0)
    count = (Count)first.size;
  if (names == SHN_XINDEX)
    names = first.link;
  if (count > ObjectSectionsMAX)
    count = ObjectSectionsMAX;
  table = objectTable(object, offset, &count, entry, least);
  object->section = table == NULL ? NULL : calloc(count, sizeof *object->section);
  for (i = 0; object->section != NULL && i < count; ++i) {
    reader = ReaderOf(table, count * entry, i * entry, object->swapped);
    objectSection(object, &object->section[i], &reader);
    object->sections = i + 1;
  }
  if (names < object->sections)
    object->names = &object->section[names];
  if (table != NULL && object->section == NULL) {
    free(table);
    return ResMEMORY;
  }
  free(table);
  return ResOK;
}

/* objectUnpack -- the bytes of a compressed section, which begin with a header, unpacked */
static void objectUnpack(ObjectFile object, ObjectSection section)
{
  unsigned char *packed = section->bytes;
  ReaderStruct reader = ReaderOf(packed, section->length, 0, object->swapped);
  uint32_t type = ReaderU32(&reader);
  uint64_t size;

  ReaderSkip(&reader, object->wide ? 4 : 0);
  size = ReaderUnsigned(&reader, object->wide ? 8 : 4);
  ReaderSkip(&reader, object->wide ? 8 : 4); /* the alignment */
  section->bytes = NULL;
  section->length = 0;
  if (!reader.failed && type != ELFCOMPRESS_ZLIB)
    object->packed = TRUE;
  else if (!reader.failed && size <= ObjectSectionMAX && size / InflateRATIO <= ReaderLeft(&reader)) {
    section->bytes = malloc((Size)size + 1);
    section->length = (Size)size;
    if (section->bytes != NULL &&
        Inflate(section->bytes, (Size)size, reader.next, ReaderLeft(&reader)) != ResOK) {
      free(section->bytes);
      section->bytes = NULL;
    }
  }
  free(packed);
}

const unsigned char *ObjectBytes(ObjectFile object, ObjectSection section, Size *sizeReturn)
{
  *sizeReturn = 0;
  if (section == NULL)
    return NULL;
  if (!section->tried) {
    section->tried = TRUE;
    if (section->type != SHT_NOBITS && section->size <= ObjectSectionMAX) {
      section->bytes = malloc((Size)section->size + 1);
      section->length = (Size)section->size;
      if (section->bytes != NULL && !objectRead(object, section->bytes, section->offset, section->length)) {
        free(section->bytes);
        section->bytes = NULL;
      }
      if (section->bytes != NULL && (section->flags & SHF_COMPRESSED) != 0)
        objectUnpack(object, section);
    }
  }
  *sizeReturn = section->bytes == NULL ? 0 : section->length;
  return section->bytes;
}

ObjectSection ObjectNamed(ObjectFile object, const char *name)
{
  Size size, length = strlen(name) + 1;
  const unsigned char *names = ObjectBytes(object, object->names, &size);
  Index i;

  for (i = 0; names != NULL && i < object->sections; ++i) {
    ObjectSection section = &object->section[i];
    if (section->name < size && size - section->name >= length && memcmp(names + section->name, name, length) == 0)
      return section;
  }
  return NULL;
}

/* ---- Segments ---- */

static void objectSegment(ObjectFile object, ObjectSegment segment, Reader reader)
{
  unsigned word = object->wide ? 8 : 4;
  uint32_t flags = 0;

  segment->type = ReaderU32(reader);
  if (object->wide)
    flags = ReaderU32(reader);
  segment->offset = ReaderUnsigned(reader, word);
  segment->address = ReaderUnsigned(reader, word);
  ReaderSkip(reader, word);
  segment->size = ReaderUnsigned(reader, word);
  segment->memory = ReaderUnsigned(reader, word);
  if (!object->wide)
    flags = ReaderU32(reader);
  segment->runs = segment->type == PT_LOAD && (flags & PF_X) != 0;
  if (segment->offset > object->size || segment->size > object->size - segment->offset)
    segment->size = 0; /* of a file with debug information only, as a rule */
}

static Res objectSegments(ObjectFile object, uint64_t offset, Count count, Size entry)
{
  Size least = object->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  unsigned char *table;
  Bool begun = FALSE;
  Index i;

  if (count > ObjectSegmentsMAX)
    count = ObjectSegmentsMAX;
  table = objectTable(object, offset, &count, entry, least);
  if (table == NULL)
    return ResOK;
  object->segment = calloc(count, sizeof *object->segment);
  for (i = 0; object->segment != NULL && i < count; ++i) {
    ReaderStruct reader = ReaderOf(table, count * entry, i * entry, object->swapped);
    ObjectSegment segment = &object->segment[i];
    objectSegment(object, segment, &reader);
    object->segments = i + 1;
    if (segment->type == PT_LOAD && !begun) {
      begun = TRUE;
      object->begin = segment->address - segment->offset;
    }
  }
  free(table);
  return object->segment == NULL ? ResMEMORY : ResOK;
}

Bool ObjectRuns(ObjectFile object, uint64_t address)
{
  Index i;

  for (i = 0; i < object->segments; ++i)
    if (object->segment[i].runs && address - object->segment[i].address < object->segment[i].memory)
      return TRUE;
  return FALSE;
}

/* ---- The build id ---- */

/* objectNotes -- look for it in `size` bytes of notes at `offset` */
static void objectNotes(ObjectFile object, uint64_t offset, uint64_t size)
{
  Size length = size < objectNoteMAX ? (Size)size : objectNoteMAX;
  unsigned char *bytes = length == 0 || object->buildLength > 0 ? NULL : malloc(length);
  ReaderStruct reader;

  if (bytes != NULL && objectRead(object, bytes, offset, length)) {
    reader = ReaderOf(bytes, length, 0, object->swapped);
    while (ReaderLeft(&reader) >= sizeof(Elf32_Nhdr)) {
      uint32_t name = ReaderU32(&reader), content = ReaderU32(&reader), type = ReaderU32(&reader);
      const unsigned char *at = reader.next;
      ReaderSkip(&reader, ((uint64_t)name + 3) / 4 * 4);
      if (!reader.failed && type == NT_GNU_BUILD_ID && name == 4 && memcmp(at, "GNU", 4) == 0 &&
          content <= ObjectBuildMAX && content <= ReaderLeft(&reader)) {
        memcpy(object->build, reader.next, content);
        object->buildLength = content;
        break;
      }
      ReaderSkip(&reader, ((uint64_t)content + 3) / 4 * 4);
    }
  }
  free(bytes);
}

static void objectBuild(ObjectFile object)
{
  Index i;

  for (i = 0; i < object->sections; ++i)
    if (object->section[i].type == SHT_NOTE)
      objectNotes(object, object->section[i].offset, object->section[i].size);
  for (i = 0; i < object->segments; ++i)
    if (object->segment[i].type == PT_NOTE)
      objectNotes(object, object->segment[i].offset, object->segment[i].size);
}

Bool ObjectBuildIs(ObjectFile object, const char *build, Size length)
{
  static const char digits[] = "0123456789abcdef";
  Index i;

  if (length != 2 * object->buildLength)
    return FALSE;
  for (i = 0; i < object->buildLength; ++i)
    if (build[2 * i] != digits[object->build[i] >> 4] || build[2 * i + 1] != digits[object->build[i] & 15])
      return FALSE;
  return TRUE;
}

/* ---- The file ---- */

static Res objectHead(ObjectFile object)
{
  unsigned char bytes[objectHeadMAX] = {0};
  static const unsigned char ours = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  Size head = object->size < sizeof bytes ? (Size)object->size : sizeof bytes;
  uint64_t segments, sections;
  Size segment, section;
  Count segmentCount, sectionCount;
  ReaderStruct reader;
  unsigned type, word;
  Res res;

  if (head < sizeof(Elf32_Ehdr) || !objectRead(object, bytes, 0, head) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return ResFORMAT;
  object->wide = bytes[EI_CLASS] == ELFCLASS64;
  object->swapped = bytes[EI_DATA] != ours;
  if ((!object->wide && bytes[EI_CLASS] != ELFCLASS32) ||
      (bytes[EI_DATA] != ELFDATA2LSB && bytes[EI_DATA] != ELFDATA2MSB))
    return ResFORMAT;
  word = object->wide ? 8 : 4;
  reader = ReaderOf(bytes, sizeof bytes, EI_NIDENT, object->swapped);
  type = ReaderU16(&reader);
  ReaderSkip(&reader, 2 + 4 + word); /* machine, version, entry */
  segments = ReaderUnsigned(&reader, word);
  sections = ReaderUnsigned(&reader, word);
  ReaderSkip(&reader, 4 + 2);
  segment = ReaderU16(&reader);
  segmentCount = ReaderU16(&reader);
  section = ReaderU16(&reader);
  sectionCount = ReaderU16(&reader);
  /* Files that dwz makes for what others share have no type, or that of an object that is to be linked. */
  if (type == ET_CORE)
    return ResFORMAT;
  res = objectSegments(object, segments, segmentCount, segment);
  if (res == ResOK)
    res = objectSections(object, sections, sectionCount, section, ReaderU16(&reader));
  if (res == ResOK)
    objectBuild(object);
  return res;
}

Res ObjectOpen(ObjectFile *objectReturn, const char *path)
{
  ObjectFile object = calloc(1, sizeof *object);
  struct stat status;
  Res res;

  if (object == NULL)
    return ResMEMORY;
  object->fd = ObjectOpenRegular(path, 0);
  if (object->fd < 0 || fstat(object->fd, &status) != 0) {
    res = object->fd < 0 && errno == EINVAL ? ResFORMAT : ResIO;
  } else {
    object->size = (uint64_t)status.st_size;
    object->modified = status.st_mtime;
    res = objectHead(object);
  }
  if (res != ResOK) {
    int reason = errno;
    ObjectClose(object);
    errno = reason;
    return res;
  }
  *objectReturn = object;
  return ResOK;
}

void ObjectClose(ObjectFile object)
{
  Index i;

  if (object == NULL)
    return;
  for (i = 0; i < object->sections; ++i)
    free(object->section[i].bytes);
  free(object->section);
  free(object->segment);
  if (object->fd >= 0)
    (void)close(object->fd);
  free(object);
}

Bool ObjectCheck(ObjectFile object)
{
  Index i;

  for (i = 0; i < object->sections; ++i) {
    ObjectSection section = &object->section[i];
    if (section->type != SHT_NOBITS &&
        (section->offset > object->size || section->size > object->size - section->offset))
      return FALSE;
  }
  for (i = 0; i < object->segments; ++i)
    if (object->segment[i].size > 0 && (object->segment[i].offset > object->size ||
                                        object->segment[i].size > object->size - object->segment[i].offset))
      return FALSE;
  return object->buildLength <= ObjectBuildMAX;
}
