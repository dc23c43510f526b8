/* blockcopy.c -- copies the blocks of a running process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/blockcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "log/logfile.h"
#include "recover/recover.h"
#include "recover/regionplace.h"

enum { copyTries = 4 };

/* copyTake -- a copy of slot `i`'s block, unsealed; its header in `soundReturn`.  FALSE: no sound block is there. */
static Bool copyTake(void *room, BlockHeader soundReturn, LiveRegion live, Index i)
{
  Size offset, size;
  unsigned tries;

  for (tries = 0; tries < copyTries; ++tries) {
    if (!RegionBlockAt(&offset, &size, live->region, i))
      return FALSE;
    if (BlockCopyLive(room, (const char *)live->region + offset, size))
      return BlockUnsealedIs(soundReturn, room, size, live->header.identity);
  }
  return FALSE;
}

/* copyBlock -- the block in slot `i`, if it holds any events, as a sound block at rest
 *
 * room  BlockMAX bytes, aligned as a BlockHeader is; header->size bytes of them are the block */
static Bool copyBlock(void *room, LiveRegion live, Index i)
{
  BlockHeader header = room;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;

  if (!copyTake(room, &sound, live, i))
    return FALSE;
  BlockWalk(&tally, header + 1, sound.whole - BlockHeaderSIZE, sound.first, TRUE);
  if (tally.used == 0)
    return FALSE;
  BlockSealOpen(header, &tally, BlockFlagSNAPSHOT);
  return TRUE;
}

/* Blocks of one stream count what it has lost, each from its beginning on: the latest counts. */
typedef struct copyStreamStruct {
  uint32_t stream;
  uint64_t discarded;
} copyStreamStruct, *BlockCopyStream;

static int copyCompare(const void *a, const void *b)
{
  const copyStreamStruct *x = a, *y = b;

  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->discarded < y->discarded ? -1 : x->discarded > y->discarded;
}

void BlockCopyCount(BlockCopyCounts counts, LiveRegion live)
{
  copyStreamStruct *streams = calloc(live->slots + 1, sizeof *streams);
  Count n = 0;
  Index i;

  memset(counts, 0, sizeof *counts);
  counts->discarded = CountAdd(CountAdd(0, live->region->lost), RegionCounted(live->region));
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
    qsort(streams, n, sizeof *streams, copyCompare);
  for (i = 0; i < n; ++i)
    if (i + 1 == n || streams[i + 1].stream != streams[i].stream)
      counts->discarded = CountAdd(counts->discarded, streams[i].discarded);
  free(streams);
}

Res BlockCopyAppend(LiveRegion live, int fd, Bool header)
{
  void *room = malloc(BlockMAX);
  Res res = room != NULL ? ResOK : ResMEMORY;
  Index i;

  if (res == ResOK && header)
    res = FileAppend(fd, live->text, live->length);
  for (i = 0; res == ResOK && i < live->slots; ++i)
    if (copyBlock(room, live, i))
      res = FileAppend(fd, room, ((BlockHeader)room)->size);
  free(room);
  return res;
}

/* What BlockCopyLog looks for. */
typedef struct copyPlaceStruct {
  LiveRegion live;
  uint64_t recording;     /* 0: the region has no name that we see, or no link beside it */
  Bool ours;              /* we own it, and the link */
  char log[PATH_MAX];
} copyPlaceStruct, *BlockCopyPlace;

/* copyPlace -- is that the region's file?  Then which recording it is of, and what its maker says that its log is */
static Res copyPlace(void *data, RegionPlace place)
{
  BlockCopyPlace peek = data;
  struct stat status;

  if (fstatat(place->at, place->file, &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_dev != peek->live->device ||
      status.st_ino != peek->live->inode)
    return ResOK;
  if (RegionPlaceTarget(peek->log, place, status.st_uid))
    peek->recording = place->name.recording;
  peek->ours = status.st_uid == geteuid();
  return ResEND;
}

int BlockCopyLog(LiveRegion live, const char **reasonReturn)
{
  copyPlaceStruct peek = {.live = live};
  Bool certain;
  Res res;
  int fd;

  (void)RegionPlaceSearch(NULL, copyPlace, &peek);
  *reasonReturn = "its log is no file, or not known from here";
  if (peek.recording == 0)
    return -1;
  if (!peek.ours) {
    *reasonReturn = "its memory is another user's, who does not tell us where to write";
    return -1;
  }
  fd = RegionPlaceAppend(&certain, peek.log, peek.recording);
  if (fd < 0) {
    *reasonReturn = strerror(errno);
    return -1;
  }
  res = LogRecordingHas(fd, certain, peek.recording);
  if (res == ResOK)
    return fd;
  (void)close(fd);
  *reasonReturn = res == ResPARAM ? "another file has its name now" : "its log cannot be read";
  return -1;
}
