/* leftover.c -- what processes that died have left in shared memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/block.h"
#include "format/region.h"

typedef struct leftoverStruct {
  Table table;
  Process process;
  int to;              /* the temporary file; -1 as long as there is none */
  int from;            /* the region */
  uint64_t events;     /* taken from it that the log has not */
  RegionHeaderStruct region;
  union {
    BlockHeaderStruct header;
    uint64_t align;
    unsigned char bytes[BlockMAX];
  } block;             /* the one in hand */
} leftoverStruct, *Leftover;

/* leftoverOpen -- the region of a process that is dead; -1 if there is none */
static int leftoverOpen(Leftover leftover, Teller teller)
{
  Header header = &leftover->process->public.header;
  const char *log = teller->paths[leftover->process->file];
  struct stat status;
  int fd;

  if (header->region[0] != '/')
    return -1;
  fd = open(header->region, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if ((errno == ENOENT || errno == ENOTDIR) && !leftover->process->recovered)
      TellerNote(teller, "%s: process %u did not end normally, and its newest events are missing: they were in %s, which is gone",
                 log, header->pid, header->region);
    else if (errno != ENOENT && errno != ENOTDIR)
      TellerNote(teller, "%s: the newest events of process %u may be in %s, which cannot be read: %s", log, header->pid,
                 header->region, strerror(errno));
    return -1;
  }
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      FileReadAt(fd, 0, &leftover->region, sizeof leftover->region) == ResOK &&
      RegionHeaderSound(&leftover->region, (Size)status.st_size) && leftover->region.identity == header->identity) {
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
      return fd;
    TellerNote(teller, "%s: process %u is still running; its newest events are not in the log yet", log, header->pid);
  }
  (void)close(fd);
  return -1;
}

/* leftoverBlock -- copy the open block at `at`, unless the log has all of it */
static Res leftoverBlock(Leftover leftover, Size at, Size size)
{
  BlockHeader header = &leftover->block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  Stream stream;
  Bool swapped;

  if (FileReadAt(leftover->from, at, header, size) != ResOK ||
      BlockHeaderUnsealedRead(&sound, &swapped, header) != ResOK || swapped || sound.whole != size ||
      sound.process != leftover->process->public.header.identity || (sound.flags & BlockFlagUNSENT) != 0)
    return ResOK;
  BlockWalk(&tally, header + 1, size - BlockHeaderSIZE, sound.first, TRUE);
  stream = TableStreamFind(leftover->table, sound.process, sound.stream);
  leftover->events += tally.count;
  if (stream != NULL && stream->newest == sound.first && stream->newestSequence == sound.sequence) {
    if (tally.count <= stream->newestCount) {
      leftover->events -= tally.count; /* it was sent, and the process killed before it could forget that block */
      return ResOK;
    }
    leftover->events -= stream->newestCount;
  }
  if (tally.used == 0)
    return ResOK;
  BlockHeaderSealOpen(header, &tally);
  if (leftover->to < 0 && (leftover->to = FileOpenTemporary()) < 0)
    return ResIO;
  return FileWriteAll(leftover->to, header, header->size);
}

/* leftoverTail -- the log's last, incomplete block is in the region, whole: it is no loss */
static void leftoverTail(Regions regions, Index file)
{
  Index i;

  for (i = 0; i < regions->count; ++i)
    if (IndexPlaceFile(regions->region[i].place) == file && regions->region[i].tail && regions->region[i].cut) {
      memmove(&regions->region[i], &regions->region[i + 1], (regions->count - i - 1) * sizeof regions->region[0]);
      --regions->count;
      return;
    }
}

/* leftoverProcess -- take what one process left */
static Res leftoverProcess(Leftover leftover, Regions regions, Teller teller)
{
  Index i, file = leftover->process->file;
  Size at, size;
  Res res = ResOK;

  leftover->events = 0;
  leftover->from = leftoverOpen(leftover, teller);
  if (leftover->from < 0)
    return ResOK;
  for (i = 0; i < leftover->region.slots && res == ResOK; ++i)
    if (RegionBlockAt(&at, &size, &leftover->region, i))
      res = leftoverBlock(leftover, at, size);
  (void)close(leftover->from);
  if (res == ResOK)
    leftoverTail(regions, file);
  if (res == ResOK && leftover->events > 0)
    TellerNote(teller, "%s: took %llu event%s from %s", teller->paths[file], (unsigned long long)leftover->events,
               leftover->events == 1 ? "" : "s", leftover->process->public.header.region);
  return res;
}

/* leftoverFile -- the temporary file, to be scanned */
static Res leftoverFile(File *fileReturn, int fd)
{
  File file = calloc(1, sizeof *file);
  struct stat status;

  if (file == NULL || fstat(fd, &status) != 0) {
    free(file);
    (void)close(fd);
    return ResMEMORY;
  }
  file->fd = fd;
  file->path = "shared memory";
  file->size = (uint64_t)status.st_size;
  *fileReturn = file;
  return ResOK;
}

Res LeftoverTake(File *fileReturn, Table table, File *files, Regions regions, Teller teller)
{
  Leftover leftover = NULL;
  Index i;
  int fd = -1;
  Res res = ResOK;

  *fileReturn = NULL;
  for (i = 0; i < table->processes && res == ResOK; ++i) {
    Process process = table->process[i];
    if (!process->headed || process->public.header.region[0] == '\0' || files[process->file]->core)
      continue;
    if (leftover == NULL) {
      leftover = malloc(sizeof *leftover);
      if (leftover == NULL)
        return ResMEMORY;
      leftover->table = table;
      leftover->to = -1;
    }
    leftover->process = process;
    res = leftoverProcess(leftover, regions, teller);
  }
  if (leftover != NULL)
    fd = leftover->to;
  free(leftover);
  if (res == ResOK && fd >= 0)
    return leftoverFile(fileReturn, fd);
  if (fd >= 0)
    (void)close(fd);
  return res;
}
