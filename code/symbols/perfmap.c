/* perfmap.c -- functions that a program compiled while it ran
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/perfmap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "symbols/objectfile.h"

enum { perfBackMAX = 64 }; /* functions before an address that are looked at */

typedef struct perfFuncStruct {
  uint64_t address, size;
  const char *name;
} perfFuncStruct, *PerfFunc;

struct PerfMapStruct {
  char *bytes;
  Count count, capacity;
  PerfFunc func; /* by address; what was written later comes later */
};

static int perfCompare(const void *a, const void *b)
{
  const perfFuncStruct *x = a, *y = b;

  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return x->name < y->name ? -1 : x->name > y->name;
}

/* perfNumber -- a number in hex, before which Java writes 0x */
static uint64_t perfNumber(const char **at)
{
  if ((*at)[0] == '0' && (*at)[1] == 'x')
    *at += 2;
  return TextNumber(at, 16);
}

/* perfLine -- one line, terminated */
static Bool perfLine(PerfMap map, const char *line)
{
  perfFuncStruct func = {.address = perfNumber(&line)};

  if (*line++ != ' ')
    return TRUE;
  func.size = perfNumber(&line);
  if (*line++ != ' ' || func.size == 0)
    return TRUE;
  func.name = line;
  if (!Grow(&map->func, &map->capacity, map->count, sizeof func))
    return FALSE;
  map->func[map->count++] = func;
  return TRUE;
}

/* perfRead -- read the lines; one that has no end is none yet */
static Res perfRead(PerfMap map, int fd, Size size)
{
  Size length = 0;
  char *line, *end;
  ssize_t n;

  map->bytes = malloc(size + 1);
  if (map->bytes == NULL)
    return ResMEMORY;
  while (length < size && (n = read(fd, map->bytes + length, size - length)) > 0)
    length += (Size)n;
  for (line = map->bytes; (end = memchr(line, '\n', (Size)(map->bytes + length - line))) != NULL; line = end + 1) {
    *end = '\0';
    if (!perfLine(map, line))
      return ResMEMORY;
  }
  if (map->count > 0)
    qsort(map->func, map->count, sizeof *map->func, perfCompare);
  return ResOK;
}

Res PerfMapOpen(PerfMap *mapReturn, const char *folder, unsigned pid, int64_t since)
{
  char path[256];
  struct stat status;
  PerfMap map;
  Res res;
  int fd = ObjectOpenRegular(TextMake(path, sizeof path, "%s/perf-%u.map", folder, pid), O_NOFOLLOW);

  *mapReturn = NULL;
  if (fd < 0)
    return ResOK;
  if (fstat(fd, &status) != 0 || status.st_uid != geteuid() || status.st_size > PerfMapMAX || status.st_mtime < since) {
    (void)close(fd);
    return ResOK;
  }
  map = calloc(1, sizeof *map);
  res = map == NULL ? ResMEMORY : perfRead(map, fd, (Size)status.st_size);
  (void)close(fd);
  if (res == ResOK)
    *mapReturn = map;
  else
    PerfMapClose(map);
  return res;
}

void PerfMapClose(PerfMap map)
{
  if (map == NULL)
    return;
  free(map->bytes);
  free(map->func);
  free(map);
}

const char *PerfMapFind(PerfMap map, uint64_t address)
{
  Index low = 0, high = map->count, back;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (map->func[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  for (back = 0; back < perfBackMAX && low > 0; ++back, --low)
    if (address - map->func[low - 1].address < map->func[low - 1].size)
      return map->func[low - 1].name;
  return NULL;
}
