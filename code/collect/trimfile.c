/* trimfile.c -- a log, thing by thing, and holes in it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/trimfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "format/header.h"

Res TrimFileOpen(TrimFile file, int fd)
{
  struct stat status;

  file->fd = fd;
  file->windowSize = 0;
  if (fstat(fd, &status) != 0)
    return ResIO;
  if (!S_ISREG(status.st_mode)) {
    errno = EOPNOTSUPP;
    return ResIO;
  }
  file->page = status.st_blksize > 0 && WordIsPowerOf2((Word)status.st_blksize) ? (Size)status.st_blksize : 4096;
  file->size = (uint64_t)status.st_size;
  if ((uint64_t)status.st_blocks * 512 < file->size)
    file->freed = file->size - (uint64_t)status.st_blocks * 512;
  /* Behind its end there is nothing to lose. */
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)WordAlignUp(file->size, file->page),
                   (off_t)file->page) == 0 ? ResOK : ResIO;
}

Res TrimFileSize(TrimFile file)
{
  struct stat status;

  if (fstat(file->fd, &status) != 0)
    return ResIO;
  file->size = (uint64_t)status.st_size;
  file->windowSize = 0; /* what stands there may have gone, or come */
  return ResOK;
}

Res TrimFileRead(TrimFile file, uint64_t offset, void *bytes, Size size)
{
  char *next = bytes;

  while (size > 0) {
    ssize_t n = pread(file->fd, next, size, (off_t)offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return ResIO;
    next += n;
    offset += (uint64_t)n;
    size -= (Size)n;
  }
  return ResOK;
}

/* trimBytes -- what is there at `offset` of `size` bytes, or of a window if that is more */
static const unsigned char *trimBytes(TrimFile file, uint64_t offset, Size size, Size *thereReturn)
{
  uint64_t left = offset < file->size ? file->size - offset : 0;
  uint64_t end = file->windowAt + file->windowSize;

  if (left < size)
    size = (Size)left;
  if (file->windowSize == 0 || offset < file->windowAt || offset >= end || end - offset < size) {
    file->windowAt = offset;
    file->windowSize = left < TrimWindowSIZE ? (Size)left : TrimWindowSIZE;
    if (TrimFileRead(file, offset, file->window, file->windowSize) != ResOK)
      file->windowSize = 0;
  }
  *thereReturn = file->windowSize > 0 ? (Size)(file->windowAt + file->windowSize - offset) : 0;
  return file->window + (offset - file->windowAt);
}

/* trimZeros -- zeros from here on: how many; what is in holes is not read */
static uint64_t trimZeros(TrimFile file, uint64_t offset, const unsigned char *bytes, Size there)
{
  Size n = 0;
  off_t data;

  while (n < there && bytes[n] == 0)
    ++n;
  if (n < there)
    return n;
  data = lseek(file->fd, (off_t)(offset + n), SEEK_DATA);
  if (data < 0 && errno == ENXIO)
    return file->size - offset;
  return data > 0 && (uint64_t)data > offset + n ? (uint64_t)data - offset : n;
}

void TrimFileThing(TrimThing thing, TrimFile file, uint64_t offset)
{
  Size there, length;
  const unsigned char *bytes = trimBytes(file, offset, BlockHeaderSIZE, &there), *next;
  unsigned version[3];
  Bool swapped;

  thing->what = TrimEND;
  thing->size = 0;
  if (there < BlockMagicSIZE + HeaderLineSIZE)
    return;
  if (bytes[0] == 0) {
    thing->what = TrimZEROS;
    thing->size = trimZeros(file, offset, bytes, there);
    return;
  }
  if (there >= BlockHeaderSIZE && BlockHeaderRead(&thing->header, &swapped, bytes) == ResOK) {
    thing->what = TrimBLOCK;
    thing->size = thing->header.size;
  } else if (HeaderLength(&length, version, bytes, there) == ResOK) {
    thing->what = TrimHEADER;
    thing->size = length;
  } else if (there < BlockHeaderSIZE) {
    return;
  } else {
    thing->what = TrimJUNK;
    next = memchr(bytes + 1, BlockMAGIC[0], there - 1);
    thing->size = next != NULL ? (Size)(next - bytes) : there;
  }
  if (thing->size > file->size - offset)
    thing->what = TrimEND;
}

Bool TrimFileZeros(TrimFile file, uint64_t from, uint64_t to)
{
  while (from < to) {
    Size there, i;
    const unsigned char *bytes = trimBytes(file, from, 1, &there);
    for (i = 0; i < there && from + i < to; ++i)
      if (bytes[i] != 0)
        return FALSE;
    if (there == 0)
      return FALSE;
    from += there;
  }
  return TRUE;
}

Res TrimFilePunch(TrimFile file, uint64_t from, uint64_t to)
{
  uint64_t begin = from - from % file->page, end = WordAlignUp(to, file->page);
  struct stat before, after;

  AVER(from < to);
  /* The pages in which it begins and ends go if the rest of them is zeros by now. */
  if (TrimFileZeros(file, begin, from))
    from = begin;
  if (end <= file->size && TrimFileZeros(file, to, end))
    to = end;
  if (fstat(file->fd, &before) != 0 ||
      fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) != 0 ||
      fstat(file->fd, &after) != 0)
    return ResIO;
  if (after.st_blocks < before.st_blocks)
    file->freed += (uint64_t)(before.st_blocks - after.st_blocks) * 512;
  file->windowSize = 0;
  return ResOK;
}
