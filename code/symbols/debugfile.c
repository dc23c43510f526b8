/* debugfile.c -- finds the file in which a module's debug information is, if that is not in the module
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/debugfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define debugFOLDER "/usr/lib/debug"

enum { debugReadSIZE = 1 << 16 };

/* What is looked for. */
typedef struct DebugFileStruct {
  const char *build;       /* hex */
  Size length;             /* 0: the module has none; then the file must have this checksum: */
  uint32_t sum;
  char *path;              /* DebugPathMAX bytes: where it was looked for last */
  ObjectRoom room;         /* of what is opened */
} DebugFileStruct, *DebugFile;

/* debugFolders -- call `each` with the folders in which users, and then distributions, keep such files, until it has
 * found one */
static ObjectFile debugFolders(DebugFile debug,
                               ObjectFile (*each)(DebugFile debug, const char *folder, Size length, void *data),
                               void *data)
{
  const char *paths = getenv("PAWPRINT_DEBUG_PATH");
  ObjectFile object = NULL;

  while (object == NULL && paths != NULL && *paths != '\0') {
    Size length = strcspn(paths, ":");
    if (length > 0)
      object = each(debug, paths, length, data);
    paths += length;
    paths += *paths == ':';
  }
  return object != NULL ? object : each(debug, debugFOLDER, strlen(debugFOLDER), data);
}

/* debugMay -- may the file be read to its end?  It may be sparse: its size costs who made it nothing. */
static Bool debugMay(ObjectFile object)
{
  ObjectRoom room = object->room;

  if (room == NULL)
    return TRUE;
  if (object->elf.size > room->summed) {
    room->unsummed = TRUE;
    return FALSE;
  }
  room->summed -= object->elf.size;
  return TRUE;
}

/* debugSum -- does the whole file have this checksum?  It is that of zlib and of Ethernet. */
static Bool debugSum(ObjectFile object, uint32_t sum)
{
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158,
                                 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4,
                                 0xa00ae278, 0xbdbdf21c};
  unsigned char *bytes = malloc(debugReadSIZE);
  uint32_t crc = 0xffffffff;
  uint64_t at = 0;
  ssize_t n = 0, i;

  while (bytes != NULL && at < object->elf.size && (n = pread(object->fd, bytes, debugReadSIZE, (off_t)at)) > 0) {
    for (i = 0; i < n; ++i) {
      crc = table[(crc ^ bytes[i]) & 15] ^ crc >> 4;
      crc = table[(crc ^ (uint32_t)bytes[i] >> 4) & 15] ^ crc >> 4;
    }
    at += (uint64_t)n;
  }
  free(bytes);
  return at == object->elf.size && ~crc == sum;
}

/* debugTry -- is what stands at debug->path what is looked for? */
static ObjectFile debugTry(DebugFile debug)
{
  ObjectFile object;

  if (ObjectOpen(&object, debug->path, debug->room) != ResOK)
    return NULL;
  if (debug->length > 0 ? ObjectBuildIs(object, debug->build, debug->length) :
                          debugMay(object) && debugSum(object, debug->sum))
    return object;
  ObjectClose(object);
  return NULL;
}

static ObjectFile debugBuild(DebugFile debug, const char *folder, Size length, void *data)
{
  int n = snprintf(debug->path, DebugPathMAX, "%.*s/.build-id/%.2s/%.*s.debug", (int)length, folder, debug->build,
                   (int)debug->length - 2, debug->build + 2);

  UNUSED(data);
  return n > 0 && n < DebugPathMAX ? debugTry(debug) : NULL;
}

/* A module's folder, and the name that it gives. */
typedef struct debugLinkStruct {
  const char *path, *name;
  int folder;              /* of `path`: its length */
} debugLinkStruct, *DebugLink;

static ObjectFile debugLinked(DebugFile debug, const char *folder, Size length, void *data)
{
  DebugLink link = data;
  int n = snprintf(debug->path, DebugPathMAX, "%.*s%.*s/%s", (int)length, folder, link->folder, link->path, link->name);
  ObjectFile object = n > 0 && n < DebugPathMAX ? debugTry(debug) : NULL;

  if (object == NULL && (n = snprintf(debug->path, DebugPathMAX, "%.*s/%s", (int)length, folder, link->name)) > 0 &&
      n < DebugPathMAX)
    object = debugTry(debug);
  return object;
}

/* debugLink -- by the name that the module gives, which is a name and no path */
static ObjectFile debugLink(DebugFile debug, const char *path, ObjectFile module)
{
  const char *slash = strrchr(path, '/');
  Size size;
  const unsigned char *bytes = ObjectBytes(module, ObjectNamed(module, ".gnu_debuglink"), &size);
  ReaderStruct reader = ReaderOf(bytes, size, 0, module->elf.swapped);
  debugLinkStruct link = {path, ReaderString(&reader), slash == NULL ? 0 : (int)(slash - path)};
  ObjectFile object;

  if (link.name == NULL || link.name[0] == '\0' || strchr(link.name, '/') != NULL || size < 4)
    return NULL;
  reader = ReaderOf(bytes, size, (size - 4) / 4 * 4, module->elf.swapped);
  debug->sum = ReaderU32(&reader);
  object = debugLinked(debug, "", 0, &link);
  if (object == NULL &&
      snprintf(debug->path, DebugPathMAX, "%.*s/.debug/%s", link.folder, path, link.name) < DebugPathMAX)
    object = debugTry(debug);
  return object != NULL ? object : debugFolders(debug, debugLinked, &link);
}

ObjectFile DebugFileFind(char *found, const char *path, ObjectFile module, const char *build, Size length,
                         ObjectRoom room)
{
  DebugFileStruct debug = {.build = build, .length = length, .path = found, .room = room};
  ObjectFile object = NULL;

  if (length > 2)
    object = debugFolders(&debug, debugBuild, NULL);
  return object == NULL && module != NULL ? debugLink(&debug, path, module) : object;
}

ObjectFile DebugFileAlt(ObjectFile object, const char *path)
{
  const char *slash = strrchr(path, '/'), *name;
  char found[DebugPathMAX], build[2 * ElfBuildMAX + 1];
  DebugFileStruct debug = {.build = build, .path = found, .room = object->room};
  Size size;
  const unsigned char *bytes = ObjectBytes(object, ObjectNamed(object, ".gnu_debugaltlink"), &size);
  ReaderStruct reader = ReaderOf(bytes, size, 0, FALSE);
  ObjectFile alt = NULL;
  int n;

  name = ReaderString(&reader);
  if (name == NULL || ReaderLeft(&reader) < 2 || ReaderLeft(&reader) > ElfBuildMAX)
    return NULL;
  debug.length = 2 * ReaderLeft(&reader);
  ElfBuildText(build, reader.next, ReaderLeft(&reader));
  n = name[0] == '/' || slash == NULL ? snprintf(found, sizeof found, "%s", name) :
                                        snprintf(found, sizeof found, "%.*s/%s", (int)(slash - path), path, name);
  if (n > 0 && n < DebugPathMAX)
    alt = debugTry(&debug);
  return alt != NULL ? alt : debugFolders(&debug, debugBuild, NULL);
}
