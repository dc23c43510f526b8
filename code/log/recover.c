/* recover.c -- what dead processes left in memory, put into their log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/block.h"
#include "format/region.h"
#include "log/leftregion.h"

static Res recoverWrite(int fd, const char *bytes, Size size)
{
  while (size > 0) {
    ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return ResIO;
    bytes += n;
    size -= (Size)n;
  }
  return ResOK;
}

/* recoverBlock -- one open block, sealed as it stands; also if there is nothing in it: that it was found tells that
 * nothing is missing */
static Res recoverBlock(int log, RegionHeader region, char *block, Size size, Count *blocks)
{
  BlockHeaderStruct header;
  BlockTallyStruct tally;
  Bool swapped;
  Res res;

  /* What the flight recorder holds is not sent. */
  if (BlockHeaderUnsealedRead(&header, &swapped, block) != ResOK || swapped || header.whole != size ||
      (header.flags & BlockFlagUNSENT) != 0)
    return ResOK;
  BlockWalk(&tally, block + BlockHeaderSIZE, size - BlockHeaderSIZE, header.first, TRUE);
  if (RegionOverwrites(region, &header))
    ((BlockHeader)(void *)block)->flags |= BlockFlagUNSENT;
  BlockHeaderSealOpen((BlockHeader)(void *)block, &tally);
  memcpy(&header, block, sizeof header);
  res = recoverWrite(log, block, header.size);
  if (res == ResOK)
    ++*blocks;
  return res;
}

/* recoverText -- the process's newest header block, and that nothing of it is in memory any more */
static Res recoverText(int log, LeftRegion region, char *room)
{
  const char *types, *limit;
  TextStruct text;
  Size length;
  Res res;

  if (!LeftRegionRead(region) || !LeftRegionText(region, &length))
    return ResOK;
  limit = region->text + length;
  types = HeaderTypes(region->text, limit);
  region->parsed.region[0] = '\0';
  region->parsed.lost = region->header.lost;
  TextInit(&text, room, RegionTextSIZE);
  HeaderBegin(&text, &region->parsed);
  TextBytes(&text, types, (Size)(limit - types));
  res = HeaderEnd(&text);
  return res == ResOK ? recoverWrite(log, room, TextLength(&text)) : res;
}

/* recoverHeader -- the same: the log may have none yet, or one that knows fewer types */
static Res recoverHeader(int log, int fd)
{
  LeftRegion region = malloc(sizeof *region);
  char *room = malloc(RegionTextSIZE);
  Res res = ResMEMORY;

  if (region != NULL && room != NULL) {
    region->fd = fd;
    res = recoverText(log, region, room);
  }
  free(region);
  free(room);
  return res;
}

/* recoverMapped -- the blocks of a region in memory */
static Res recoverMapped(char *base, int log, Count *blocks)
{
  RegionHeader header = (RegionHeader)(void *)base;
  Size offset, its;
  Res res = ResOK;
  Index i;

  for (i = 0; res == ResOK && i < header->slots; ++i)
    if (RegionBlockAt(&offset, &its, header, i))
      res = recoverBlock(log, header, base + offset, its, blocks);
  return res;
}

/* recoverIsDead -- does nobody hold the region's lock?  Somebody who reads the log may, for a moment. */
static Bool recoverIsDead(int fd)
{
  static const struct timespec moment = {0, 2000000};
  unsigned tries;

  for (tries = 0; tries < 5; ++tries) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return TRUE;
    (void)nanosleep(&moment, NULL);
  }
  return FALSE;
}

/* recoverOpen -- a region in memory, if it is `log`'s; NULL if not.  Other people's are not even locked: their
 * owners would take us for somebody who lives. */
static char *recoverOpen(int fd, const char *log, Size *sizeReturn)
{
  struct stat status;
  char *base;

  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      status.st_size < RegionFIRST)
    return NULL;
  base = mmap(NULL, (Size)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED)
    return NULL;
  *sizeReturn = (Size)status.st_size;
  if (RegionHeaderSound((RegionHeader)(void *)base, *sizeReturn) &&
      strcmp(((RegionHeader)(void *)base)->log, log) == 0)
    return base;
  (void)munmap(base, *sizeReturn);
  return NULL;
}

/* recoverRegion -- one region, if it is `log`'s */
static Res recoverRegion(const char *path, const char *log, int logFd, Count *blocks, Count *running)
{
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  Res res = ResOK;
  Size size;
  char *base;

  if (fd < 0)
    return ResOK;
  base = recoverOpen(fd, log, &size);
  if (base != NULL) {
    if (!recoverIsDead(fd))
      ++*running;
    else if ((res = recoverHeader(logFd, fd)) == ResOK && (res = recoverMapped(base, logFd, blocks)) == ResOK)
      (void)unlink(path);
    (void)munmap(base, size);
  }
  (void)close(fd);
  return res;
}

/* recoverFolder -- all regions in a folder whose names begin so */
static Res recoverFolder(const char *folder, const char *prefix, const char *log, int fd, Count *blocks, Count *running)
{
  DIR *dir = opendir(folder);
  struct dirent *entry;
  Res res = ResOK;
  char path[RegionPathMAX + 300];

  while (dir != NULL && res == ResOK && (entry = readdir(dir)) != NULL)
    if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
        (Size)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < sizeof path)
      res = recoverRegion(path, log, fd, blocks, running);
  if (dir != NULL)
    (void)closedir(dir);
  return res;
}

Res LogRecover(const char *log, Count *blocksReturn, Count *runningReturn)
{
  int fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
  const char *slash = strrchr(log, '/');
  char folder[RegionPathMAX], prefix[RegionPathMAX];
  Res res;

  *blocksReturn = *runningReturn = 0;
  if (fd < 0)
    return errno == ENOENT ? ResOK : ResIO;
  res = recoverFolder("/dev/shm", "pawprint-", log, fd, blocksReturn, runningReturn);
  if (res == ResOK && slash != NULL && strlen(log) < sizeof folder) {
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - log + (slash == log)), log);
    (void)snprintf(prefix, sizeof prefix, "%s.region-", slash + 1);
    res = recoverFolder(folder, prefix, log, fd, blocksReturn, runningReturn);
  }
  (void)close(fd);
  return res;
}
