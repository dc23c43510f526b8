/* leftregion.c -- the memory of one dead process, copied as header block and blocks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/leftregion.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/file.h"

Bool LeftRegionRead(LeftRegion region)
{
  struct stat status;

  region->events = 0;
  region->taken = FALSE;
  return fstat(region->fd, &status) == 0 && S_ISREG(status.st_mode) &&
         FileReadAt(region->fd, 0, &region->header, sizeof region->header) == ResOK &&
         RegionHeaderSound(&region->header, (Size)status.st_size);
}

static Res leftWrite(LeftRegion region, const void *bytes, Size size)
{
  if (region->to < 0 && (region->to = FileOpenTemporary()) < 0)
    return ResIO;
  region->taken = TRUE;
  return FileWriteAll(region->to, bytes, size);
}

/* leftTextSound -- is one of the two texts a whole header block of this process?  Its length, then. */
static Bool leftTextSound(LeftRegion region, unsigned which, Size *lengthReturn)
{
  Size length = region->header.text.length[which];
  unsigned version[3];
  const char *body;

  return length >= BlockMagicSIZE + HeaderLineSIZE && length <= RegionTextSIZE &&
         FileReadAt(region->fd, RegionTEXT + which * RegionTextSIZE, region->text, length) == ResOK &&
         HeaderLength(lengthReturn, version, region->text, length) == ResOK && *lengthReturn == length &&
         HeaderRead(&region->parsed, &body, region->text, length) == ResOK &&
         region->parsed.identity == region->header.identity;
}

Bool LeftRegionText(LeftRegion region, Size *lengthReturn)
{
  unsigned newest = region->header.text.generation & 1;

  return region->header.text.generation != 0 &&
         (leftTextSound(region, newest, lengthReturn) || leftTextSound(region, !newest, lengthReturn));
}

Bool LeftRegionCollected(LeftRegion region)
{
  uint32_t collector = region->header.hand.collector;
  char boot[40] = "";
  Size length;
  int fd;

  if (collector == RegionCollectorNONE || collector == RegionCollectorOFFERED || (collector & RegionCollectorDIED) != 0)
    return FALSE;
  /* A region on a disk may have seen the machine go down: nobody has marked the collector's death then. */
  fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    ssize_t n = read(fd, boot, sizeof boot - 1);
    boot[n > 0 && boot[n - 1] == '\n' ? n - 1 : 0] = '\0';
    (void)close(fd);
  }
  return boot[0] == '\0' || !LeftRegionText(region, &length) || region->parsed.boot[0] == '\0' ||
         strcmp(region->parsed.boot, boot) == 0;
}

/* leftKnown -- how many of a block's `count` events the logs have */
static Count leftKnown(Table table, BlockHeader header, Count count)
{
  Stream stream = TableStreamFind(table, header->process, header->stream);

  if (stream == NULL)
    return 0;
  if (stream->newest == header->first && stream->newestSequence == header->sequence)
    return stream->newestCount < count ? stream->newestCount : count;
  return TallyHas(&stream->tally, header->sequence) ? count : 0;
}

/* leftBlock -- copy the block at `at`, unless the logs have all of it */
static Res leftBlock(LeftRegion region, Size at, Size size)
{
  BlockHeader header = &region->block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  Stream stream;
  Count known;
  Bool swapped;

  if (FileReadAt(region->fd, at, header, size) != ResOK ||
      BlockHeaderUnsealedRead(&sound, &swapped, header) != ResOK || swapped || sound.whole != size ||
      sound.process != region->header.identity || (sound.flags & BlockFlagUNSENT) != 0)
    return ResOK;
  BlockWalk(&tally, header + 1, size - BlockHeaderSIZE, sound.first, TRUE);
  known = leftKnown(region->table, &sound, tally.count);
  stream = TableStreamFind(region->table, sound.process, sound.stream);
  if (stream != NULL && sound.discarded > stream->discarded)
    stream->discarded = sound.discarded;
  /* What the log has whole as its newest block was sent, and the process killed before it could forget it. */
  if (tally.used == 0 || (stream != NULL && known == tally.count && stream->newest == sound.first))
    return ResOK;
  region->events += tally.count - known;
  if (RegionOverwrites(&region->header, &sound))
    header->flags |= BlockFlagUNSENT;
  BlockHeaderSealOpen(header, &tally);
  return leftWrite(region, header, header->size);
}

Res LeftRegionTake(LeftRegion region)
{
  Process process;
  Size at, size, length;
  Index i;
  Res res = ResOK;

  if (LeftRegionText(region, &length))
    res = leftWrite(region, region->text, length);
  for (i = 0; i < region->header.slots && res == ResOK; ++i)
    if (RegionBlockAt(&at, &size, &region->header, i))
      res = leftBlock(region, at, size);
  if (res == ResOK && region->taken)
    res = TableProcess(&process, region->table, region->header.identity);
  if (res == ResOK && region->taken)
    process->lost = region->header.lost;
  return res;
}
