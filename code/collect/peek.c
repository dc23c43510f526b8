/* peek.c -- the blocks of a running process, copied as they are
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fence.h"
#include "base/aver.h"
#include "log/file.h"

enum { peekTries = 4 };

/* peekSame -- is the block still the one whose header that is? */
static Bool peekSame(const volatile BlockHeaderStruct *now, BlockHeader header)
{
  const volatile uint64_t *magic = (const volatile uint64_t *)(const volatile void *)now->magic;
  uint64_t its;

  memcpy(&its, header->magic, sizeof its);
  return *magic == its && now->process == header->process && now->stream == header->stream &&
         now->sequence == header->sequence && now->first == header->first;
}

/* peekCopy -- from low to high, so that an event whose code is seen is seen whole */
static Bool peekCopy(void *room, Live live, Size offset, Size size)
{
  const volatile uint64_t *from = (const volatile uint64_t *)(const void *)((const char *)live->region + offset);
  uint64_t *to = room;
  Index i;

  for (i = 0; i < size / sizeof *to; ++i)
    to[i] = from[i];
  Fence();
  return peekSame((const volatile BlockHeaderStruct *)(const volatile void *)from, room);
}

/* peekTake -- a copy of slot `i`'s block, unsealed; its header in `soundReturn`.  FALSE: no sound block is there. */
static Bool peekTake(void *room, BlockHeader soundReturn, Live live, Index i)
{
  Size offset, size;
  unsigned tries;
  Bool swapped;

  for (tries = 0; tries < peekTries; ++tries) {
    if (!RegionBlockAt(&offset, &size, live->region, i))
      return FALSE;
    if (peekCopy(room, live, offset, size))
      return BlockHeaderUnsealedRead(soundReturn, &swapped, room) == ResOK && !swapped && soundReturn->whole == size &&
             soundReturn->process == live->header.identity;
  }
  return FALSE;
}

Bool PeekBlock(void *room, Live live, Index i)
{
  BlockHeader header = room;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;

  if (!peekTake(room, &sound, live, i))
    return FALSE;
  BlockWalk(&tally, header + 1, sound.whole - BlockHeaderSIZE, sound.first, TRUE);
  if (tally.used == 0)
    return FALSE;
  BlockHeaderSealOpen(header, &tally);
  header->flags = (uint8_t)((header->flags & BlockFlagUNSENT) | BlockFlagSNAPSHOT);
  BlockHeaderSeal(header);
  return TRUE;
}

/* Blocks of one stream count what it has lost, each from its beginning on: the latest counts. */
typedef struct peekStreamStruct {
  uint32_t stream;
  uint64_t discarded;
} peekStreamStruct, *PeekStream;

static int peekCompare(const void *a, const void *b)
{
  const peekStreamStruct *x = a, *y = b;

  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->discarded < y->discarded ? -1 : x->discarded > y->discarded;
}

void PeekCount(PeekCounts counts, Live live)
{
  peekStreamStruct *streams = calloc(live->slots + 1, sizeof *streams);
  Count n = 0;
  Index i;

  memset(counts, 0, sizeof *counts);
  counts->discarded = live->region->lost;
  for (i = 0; i < live->slots; ++i) {
    uint8_t state = __atomic_load_n(&live->region->state[i], __ATOMIC_ACQUIRE);
    BlockHeader block;
    Size offset, size;
    counts->open += (state & RegionOPEN) != 0;
    counts->full += (state & RegionFULL) != 0;
    if (streams == NULL || !RegionBlockAt(&offset, &size, live->region, i))
      continue;
    block = (BlockHeader)(void *)((char *)live->region + offset);
    if (memcmp(block->magic, BlockMAGIC, BlockMagicSIZE) != 0)
      continue;
    streams[n].stream = block->stream;
    streams[n++].discarded = block->discarded;
  }
  if (streams != NULL)
    qsort(streams, n, sizeof *streams, peekCompare);
  for (i = 0; i < n; ++i)
    if (i + 1 == n || streams[i + 1].stream != streams[i].stream)
      counts->discarded += streams[i].discarded;
  free(streams);
}

Res PeekAppend(Live live, int fd, Bool header)
{
  void *room = malloc(BlockMAX);
  Res res = room != NULL ? ResOK : ResMEMORY;
  Index i;

  if (res == ResOK && header)
    res = FileWriteAll(fd, live->text, live->length);
  for (i = 0; res == ResOK && i < live->slots; ++i)
    if (PeekBlock(room, live, i))
      res = FileWriteAll(fd, room, ((BlockHeader)room)->size);
  free(room);
  return res;
}

int PeekLog(Live live, const char **reasonReturn)
{
  RegionHeader region = live->region;
  char log[RegionPathMAX], path[RegionPathMAX + 64];
  struct stat status;
  int fd;

  memcpy(log, region->log, sizeof log);
  *reasonReturn = "its log is no file";
  if (log[0] != '/' || memchr(log, '\0', sizeof log) == NULL)
    return -1;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%s", live->pid, log);
  fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno != ENOENT)
    fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    *reasonReturn = strerror(errno);
    return -1;
  }
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == region->device &&
      status.st_ino == region->inode)
    return fd;
  (void)close(fd);
  *reasonReturn = "another file has its name now";
  return -1;
}
