/* blockcopy.c -- copies the blocks of a running process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/blockcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "log/logfile.h"
#include "recover/recoverlog.h"
#include "recover/regionfile.h"

enum { blockCopyTRIES = 4 };

/* blockCopyBlock -- the block in slot `i`, if it holds any events, as a sound block at rest
 *
 * room  BlockMAX bytes, aligned as a BlockHeader is; header->size bytes of them are the block */
static Bool blockCopyBlock(void *room, LiveRegion live, Index i)
{
  BlockHeader header = room;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  Size offset, size;
  unsigned tries = 0;

  do {
    if (tries++ == blockCopyTRIES || !RegionBlockAt(&offset, &size, live->region, i))
      return FALSE;
  } while (!BlockCopyLive(room, (const char *)live->region + offset, size));
  if (!BlockUnsealedIs(&sound, room, size, live->header.identity))
    return FALSE;
  BlockWalk(&tally, header + 1, sound.whole - BlockHeaderSIZE, sound.first, TRUE);
  if (tally.used == 0)
    return FALSE;
  BlockSealOpen(header, &tally, BlockFlagSNAPSHOT);
  return TRUE;
}

/* Blocks of one stream count what it has lost, each from its beginning on: the latest counts. */
typedef struct BlockCopyStreamStruct {
  uint32_t stream;
  uint64_t discarded;
} BlockCopyStreamStruct, *BlockCopyStream;

static int blockCopyCompare(const void *a, const void *b)
{
  const BlockCopyStreamStruct *x = a, *y = b;

  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->discarded < y->discarded ? -1 : x->discarded > y->discarded;
}

void BlockCopyCount(BlockCopyCounts counts, LiveRegion live)
{
  BlockCopyStreamStruct *streams = calloc(live->slots + 1, sizeof *streams);
  Count n = 0;
  Index i;

  AVER(LiveRegionCheck(live));
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
    qsort(streams, n, sizeof *streams, blockCopyCompare);
  for (i = 0; i < n; ++i)
    if (i + 1 == n || streams[i + 1].stream != streams[i].stream)
      counts->discarded = CountAdd(counts->discarded, streams[i].discarded);
  free(streams);
}

/* A block that was in a slot when all were listed. */
typedef struct BlockCopySlotStruct {
  uint32_t stream;
  uint64_t sequence;
  Index slot;
} BlockCopySlotStruct, *BlockCopySlot;

/* blockCopyNewer -- by stream, and of each stream the newest block first */
static int blockCopyNewer(const void *a, const void *b)
{
  const BlockCopySlotStruct *x = a, *y = b;

  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->sequence > y->sequence ? -1 : x->sequence < y->sequence;
}

/* blockCopyList -- the blocks that there are, in that order; live->slots places; how many they are */
static Count blockCopyList(BlockCopySlot listed, LiveRegion live)
{
  Count count = 0;
  Size offset, size;
  Index i;

  for (i = 0; i < live->slots; ++i)
    if (RegionBlockAt(&offset, &size, live->region, i)) {
      BlockHeader block = (BlockHeader)(void *)((char *)live->region + offset);
      listed[count++] = (BlockCopySlotStruct){block->stream, block->sequence, i};
    }
  qsort(listed, count, sizeof *listed, blockCopyNewer);
  return count;
}

/* blockCopyListed -- copy the blocks that are listed; *copiedReturn: how many were still there */
static Res blockCopyListed(Count *copiedReturn, BlockCopySlot listed, Count count, LiveRegion live, int fd, Bool alone,
                           BlockHeader room)
{
  Bool begun = FALSE; /* a block of the stream was copied, */
  uint64_t next = 0;  /* and the next one has this number */
  Res res = ResOK;
  Index i;

  *copiedReturn = 0;
  for (i = 0; res == ResOK && i < count; ++i) {
    BlockCopySlot its = &listed[i];
    begun = begun && i > 0 && its->stream == its[-1].stream;
    if ((alone && begun && its->sequence != next) || !blockCopyBlock(room, live, its->slot) ||
        room->stream != its->stream || (alone && begun && room->sequence != next))
      continue;
    res = FileAppend(fd, room, room->size);
    ++*copiedReturn;
    begun = TRUE;
    next = room->sequence - 1;
  }
  return res;
}

Res BlockCopyAppend(LiveRegion live, int fd, Bool alone)
{
  BlockCopySlot listed = calloc(live->slots + 1, sizeof *listed);
  BlockHeader room = malloc(BlockMAX);
  Res res = room != NULL && listed != NULL ? ResOK : ResMEMORY;
  Count copied = 0;
  unsigned tries;

  AVER(LiveRegionCheck(live));
  if (res == ResOK && alone)
    res = FileAppend(fd, live->text, live->length);
  for (tries = 0; tries < blockCopyTRIES && res == ResOK && copied == 0; ++tries)
    res = blockCopyListed(&copied, listed, blockCopyList(listed, live), live, fd, alone, room);
  free(room);
  free(listed);
  return res;
}

/* What BlockCopyLog finds out of a region's name. */
typedef struct BlockCopyPlaceStruct {
  LiveRegion live;
  uint64_t recording;     /* 0: the region has no name that we can see, or no link beside it */
  Bool ours;              /* we own the region, and the link */
  char log[PATH_MAX];
} BlockCopyPlaceStruct, *BlockCopyPlace;

/* blockCopyPlace -- if that is the region's file: of which recording is it, and which log was it made for? */
static Res blockCopyPlace(void *data, RegionFile place)
{
  BlockCopyPlace peek = data;
  struct stat *status = &place->status;

  if (fstatat(place->at, place->file, status, AT_SYMLINK_NOFOLLOW) != 0 || status->st_dev != peek->live->device ||
      status->st_ino != peek->live->inode)
    return ResOK;
  if (RegionFileTarget(peek->log, place))
    peek->recording = place->name.recording;
  peek->ours = status->st_uid == geteuid();
  return ResEND;
}

int BlockCopyLog(LiveRegion live, const char **reasonReturn)
{
  BlockCopyPlaceStruct peek = {.live = live};
  int fd;

  AVER(LiveRegionCheck(live));
  (void)RegionFileSearch(NULL, blockCopyPlace, &peek);
  *reasonReturn = "its log is no file, or not known from here";
  if (peek.recording == 0)
    return -1;
  if (!peek.ours) {
    *reasonReturn = "its memory is another user's, who does not tell us where to write";
    return -1;
  }
  fd = RecoverLogOpen(peek.log, peek.recording, 0);
  if (fd < 0)
    *reasonReturn = errno == EINVAL ? "another file has its name now" : strerror(errno);
  return fd;
}
