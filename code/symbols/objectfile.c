/* objectfile.c -- an ELF file with code: its sections, its build id, and what its addresses mean
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/objectfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/aver.h"
#include "log/logfile.h"
#include "symbols/inflate.h"

/* objectKernels -- is the file made by the kernel as it is read?  To read it may do something, too. */
static Bool objectKernels(int place)
{
  struct statfs system;

  return fstatfs(place, &system) != 0 || system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC ||
         system.f_type == DEBUGFS_MAGIC || system.f_type == TRACEFS_MAGIC;
}

int ObjectOpenRegular(const char *path, int flags)
{
  struct stat status;
  /* A descriptor of this kind only names the file.  To open a device for reading may do something. */
  int fd = -1, place = open(path, O_PATH | O_CLOEXEC | flags);

  if (place < 0)
    return -1;
  if (fstat(place, &status) == 0) {
    errno = EINVAL;
    if (S_ISREG(status.st_mode) && !objectKernels(place))
      fd = FileAgain(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  }
  (void)close(place);
  return fd;
}

/* objectRead -- an ElfReadMethod */
static Bool objectRead(void *data, uint64_t offset, void *bytes, Size size)
{
  ObjectFile object = data;

  return FileReadAt(object->fd, offset, bytes, size) == ResOK;
}

/* ---- The room ---- */

Bool ObjectTake(ObjectFile object, uint64_t size)
{
  if (object->room == NULL)
    return TRUE;
  if (size > object->room->bytes) {
    object->room->full = TRUE;
    return FALSE;
  }
  object->room->bytes -= size;
  object->held += size;
  return TRUE;
}

static void objectGive(ObjectFile object, uint64_t size)
{
  if (object->room == NULL)
    return;
  object->room->bytes += size;
  object->held -= size;
}

/* ---- Sections ---- */

static Res objectSections(ObjectFile object)
{
  Count count = object->elf.sections.count < ObjectSectionsMAX ? object->elf.sections.count : ObjectSectionsMAX;
  ElfSectionStruct head;

  if (!ElfSectionAt(&head, &object->elf, 0))
    return ResOK;
  if (!ObjectTake(object, count * sizeof *object->section))
    return ResLIMIT;
  object->section = calloc(count, sizeof *object->section);
  if (object->section == NULL)
    return ResMEMORY;
  while (object->sections < count && ElfSectionAt(&head, &object->elf, object->sections)) {
    head.size = head.cut ? 0 : head.size;
    object->section[object->sections++].head = head;
  }
  if (object->elf.names < object->sections)
    object->names = &object->section[object->elf.names];
  return ResOK;
}

/* objectUnpack -- the bytes of a compressed section, which begin with a header, unpacked */
static void objectUnpack(ObjectFile object, ObjectSection section)
{
  unsigned char *packed = section->bytes;
  Size length = section->length;
  ReaderStruct reader = ReaderOf(packed, section->length, 0, object->elf.swapped);
  uint32_t type = ReaderU32(&reader);
  uint64_t size;

  ReaderSkip(&reader, object->elf.wide ? 4 : 0);
  size = ReaderUnsigned(&reader, object->elf.wide ? 8 : 4);
  ReaderSkip(&reader, object->elf.wide ? 8 : 4); /* the alignment */
  section->bytes = NULL;
  section->length = 0;
  if (!reader.failed && type != ELFCOMPRESS_ZLIB)
    object->packed = TRUE;
  else if (!reader.failed && size <= ObjectSectionMAX && size / InflateRATIO <= ReaderLeft(&reader) &&
           ObjectTake(object, size)) {
    section->bytes = malloc((Size)size + 1);
    section->length = (Size)size;
    if (section->bytes != NULL &&
        Inflate(section->bytes, (Size)size, reader.next, ReaderLeft(&reader)) != ResOK) {
      free(section->bytes);
      section->bytes = NULL;
    }
  }
  free(packed);
  objectGive(object, length);
}

const unsigned char *ObjectBytes(ObjectFile object, ObjectSection section, Size *sizeReturn)
{
  *sizeReturn = 0;
  if (section == NULL)
    return NULL;
  if (!section->tried) {
    section->tried = TRUE;
    if (section->head.type != SHT_NOBITS && section->head.size <= ObjectSectionMAX &&
        ObjectTake(object, section->head.size)) {
      section->bytes = malloc((Size)section->head.size + 1);
      section->length = (Size)section->head.size;
      if (section->bytes != NULL && !ElfRead(&object->elf, section->head.offset, section->bytes, section->length)) {
        free(section->bytes);
        section->bytes = NULL;
      }
      if (section->bytes != NULL && (section->head.flags & SHF_COMPRESSED) != 0)
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
    if (section->head.name < size && size - section->head.name >= length &&
        memcmp(names + section->head.name, name, length) == 0)
      return section;
  }
  return NULL;
}

const char *ObjectString(const unsigned char *bytes, Size size, uint64_t offset)
{
  ReaderStruct reader = ReaderOf(bytes, size, offset, FALSE);

  if (ReaderLeft(&reader) > ObjectStringMAX)
    reader.limit = reader.next + ObjectStringMAX;
  return reader.failed ? NULL : ReaderString(&reader);
}

/* ---- Segments ---- */

static Res objectSegments(ObjectFile object)
{
  Count count = object->elf.segments.count < ObjectSegmentsMAX ? object->elf.segments.count : ObjectSegmentsMAX;
  Bool begun = FALSE;

  object->segment = calloc(count + 1, sizeof *object->segment);
  if (object->segment == NULL)
    return ResMEMORY;
  while (object->segments < count && ElfSegmentAt(&object->segment[object->segments], &object->elf, object->segments)) {
    ElfSegment segment = &object->segment[object->segments++];
    if (segment->type == PT_LOAD && !begun) {
      begun = TRUE;
      object->begin = segment->address - segment->offset;
    }
  }
  return ResOK;
}

Bool ObjectRuns(ObjectFile object, uint64_t address)
{
  Index i;

  for (i = 0; i < object->segments; ++i) {
    ElfSegment segment = &object->segment[i];
    if (segment->type == PT_LOAD && (segment->flags & PF_X) != 0 && address - segment->address < segment->memory)
      return TRUE;
  }
  return FALSE;
}

/* ---- The build id ---- */

static void objectBuild(ObjectFile object)
{
  Bool found = FALSE;
  Index i;

  for (i = 0; !found && i < object->sections; ++i) {
    ElfSection section = &object->section[i].head;
    if (section->type == SHT_NOTE)
      found = ElfBuild(object->build, &object->elf, section->offset, section->offset + section->size);
  }
  for (i = 0; !found && i < object->segments; ++i) {
    ElfSegment segment = &object->segment[i];
    if (segment->type == PT_NOTE && !segment->cut)
      found = ElfBuild(object->build, &object->elf, segment->offset, segment->offset + segment->size);
  }
}

Bool ObjectBuildIs(ObjectFile object, const char *build, Size length)
{
  return length == strlen(object->build) && memcmp(build, object->build, length) == 0;
}

/* ---- The file ---- */

Res ObjectBegin(ObjectFile *objectReturn, const char *path, ObjectRoom room)
{
  ObjectFile object = calloc(1, sizeof *object);
  struct stat status;
  int reason;

  if (object == NULL)
    return ResMEMORY;
  object->fd = ObjectOpenRegular(path, 0);
  if (object->fd < 0 || fstat(object->fd, &status) != 0) {
    reason = errno;
    ObjectClose(object);
    errno = reason;
    return reason == EINVAL ? ResFORMAT : ResIO;
  }
  object->device = status.st_dev;
  object->inode = status.st_ino;
  object->modified = status.st_mtime;
  object->elf.size = (uint64_t)status.st_size;
  object->room = room;
  *objectReturn = object;
  return ResOK;
}

Res ObjectHead(ObjectFile object)
{
  Res res;

  if (object->room != NULL) {
    if (object->room->files == 0) {
      object->room->full = TRUE;
      return ResLIMIT;
    }
    --object->room->files;
    object->counted = TRUE;
  }
  res = ElfOpen(&object->elf, objectRead, object, object->elf.size);

  /* Files that dwz makes for what others share have no type, or that of an object that is to be linked. */
  if (res != ResOK || object->elf.type == ET_CORE)
    return ResFORMAT;
  res = objectSegments(object);
  if (res == ResOK)
    res = objectSections(object);
  if (res == ResOK)
    objectBuild(object);
  AVER(res != ResOK || ObjectCheck(object));
  return res;
}

Res ObjectOpen(ObjectFile *objectReturn, const char *path, ObjectRoom room)
{
  ObjectFile object;
  Res res = ObjectBegin(&object, path, room);

  if (res != ResOK)
    return res;
  res = ObjectHead(object);
  if (res == ResOK)
    *objectReturn = object;
  else
    ObjectClose(object);
  return res;
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
  objectGive(object, object->held);
  if (object->counted)
    ++object->room->files;
  free(object);
}

/* objectHas -- has the file all of a piece of it? */
static Bool objectHas(ObjectFile object, uint64_t offset, uint64_t size)
{
  return size == 0 || (offset <= object->elf.size && size <= object->elf.size - offset);
}

Bool ObjectCheck(ObjectFile object)
{
  Index i;

  for (i = 0; i < object->sections; ++i) {
    ElfSection section = &object->section[i].head;
    if (section->type != SHT_NOBITS && !objectHas(object, section->offset, section->size))
      return FALSE;
  }
  for (i = 0; i < object->segments; ++i)
    if (!objectHas(object, object->segment[i].offset, object->segment[i].size))
      return FALSE;
  return strlen(object->build) <= 2 * ElfBuildMAX;
}
