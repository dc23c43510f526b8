/* logfile.c -- a log's file: bytes at places
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"

enum {
  fileCopySIZE = 65536,
  fileAheadSIZE = 1 << 20,
  fileTRIES = 8 /* to write a message in one go */
};

int FileOpenTemporary(void)
{
  const char *folder = getenv("TMPDIR");
  char path[4096];
  int fd;

  if (folder == NULL || *folder == '\0')
    folder = "/tmp";
  fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0)
    return fd;
  if (snprintf(path, sizeof path, "%s/pawprintXXXXXX", folder) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0)
    (void)unlink(path);
  return fd;
}

/* fileWrite -- all of it, at `offset`; at -1, where the descriptor stands */
static Res fileWrite(int fd, off_t offset, const void *bytes, Size size)
{
  const char *next = bytes;

  while (size > 0) {
    ssize_t n = TEMP_FAILURE_RETRY(offset < 0 ? write(fd, next, size) : pwrite(fd, next, size, offset));
    if (n <= 0) {
      errno = n == 0 ? ENOSPC : errno;
      return ResIO;
    }
    next += n;
    offset += offset < 0 ? 0 : n;
    size -= (Size)n;
  }
  return ResOK;
}

Res FileWriteAt(int fd, uint64_t offset, const void *bytes, Size size)
{
  return fileWrite(fd, (off_t)offset, bytes, size);
}

Res FileWriteAll(int fd, const void *bytes, Size size)
{
  return fileWrite(fd, -1, bytes, size);
}

Res FileAppend(int fd, const void *message, Size size)
{
  unsigned tries;
  ssize_t n = 0;

  for (tries = 0; tries < fileTRIES && n >= 0; ++tries) {
    n = TEMP_FAILURE_RETRY(write(fd, message, size));
    if (n == (ssize_t)size)
      return ResOK;
  }
  errno = n < 0 ? errno : ENOSPC;
  return ResIO;
}

int FileCloseFailed(int fd)
{
  int reason = errno;

  (void)close(fd);
  errno = reason;
  return -1;
}

/* fileCopy -- all that `from` has, in a temporary file; its descriptor, or -1 */
static int fileCopy(int from, LogHooks hooks)
{
  char bytes[fileCopySIZE];
  int to = FileOpenTemporary();
  uint64_t copied = 0;
  ssize_t n;

  while (to >= 0 && (n = TEMP_FAILURE_RETRY(read(from, bytes, sizeof bytes))) != 0) {
    if (n < 0 || FileWriteAll(to, bytes, (Size)n) != ResOK)
      return FileCloseFailed(to);
    copied += (uint64_t)n;
    if (hooks->scanning != NULL)
      hooks->scanning(hooks->data, copied, 0);
  }
  return to;
}

/* fileRegular -- open what `path` names, or a copy of it where it is no regular file; its descriptor, or -1 */
static int fileRegular(const char *path, LogHooks hooks)
{
  int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), copy;
  struct stat status;

  if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
    return fd;
  copy = fileCopy(fd, hooks);
  (void)FileCloseFailed(fd);
  return copy;
}

Res FileOpen(File file, const char *path, LogHooks hooks)
{
  struct stat status;
  int fd = fileRegular(path, hooks);

  if (fd < 0 || fstat(fd, &status) != 0)
    return ResIO;
  *file = (FileStruct){.path = path, .fd = fd, .size = (uint64_t)status.st_size};
  return ResOK;
}

void FileClose(File file)
{
  (void)close(file->fd);
  file->fd = -1;
}

int FileAgain(int fd, int flags)
{
  char name[32];

  (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  return open(name, flags | O_CLOEXEC);
}

Size FileText(const char *path, char *room, Size size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read(fd, room, size - 1) : -1;

  AVER(size > 0);
  if (fd >= 0)
    (void)close(fd);
  room[length > 0 ? length : 0] = '\0';
  return length > 0 ? (Size)length : 0;
}

Res FileReadAt(int fd, uint64_t offset, void *bytes, Size size)
{
  char *next = bytes;

  while (size > 0) {
    ssize_t n = TEMP_FAILURE_RETRY(pread(fd, next, size, (off_t)offset));
    if (n <= 0)
      return n < 0 ? ResIO : ResEND;
    next += n;
    offset += (uint64_t)n;
    size -= (Size)n;
  }
  return ResOK;
}

/* fileReadAt -- the same for a file, which keeps why it failed */
static Res fileReadAt(File file, uint64_t offset, void *bytes, Size size)
{
  Res res = FileReadAt(file->fd, offset, bytes, size);

  if (res == ResIO && file->failed == 0)
    file->failed = errno;
  return res;
}

Res FileRead(File file, uint64_t offset, void *bytes, Size size)
{
  if (offset > file->size || size > file->size - offset)
    return ResEND;
  return fileReadAt(file, offset, bytes, size);
}

uint64_t FileData(File file, uint64_t offset)
{
  off_t data;

  if (offset >= file->size || offset > INT64_MAX)
    return offset;
  data = lseek(file->fd, (off_t)offset, SEEK_DATA);
  if (data < 0)
    return errno == ENXIO ? file->size : offset;
  return (uint64_t)data < file->size ? (uint64_t)data : file->size;
}

void FileGlance(File file, uint64_t offset, Size size)
{
  uint64_t left = offset < file->size ? file->size - offset : 0;

  if (offset >= file->windowAt && offset < file->windowAt + file->windowSize)
    return;
  if (left < size)
    size = (Size)left;
  AVER(size <= FileWindowSIZE);
  file->windowAt = offset;
  file->windowSize = fileReadAt(file, offset, file->window, size) == ResOK ? size : 0;
}

void FileAhead(File file, uint64_t offset)
{
  uint64_t from = offset > file->ahead ? offset : file->ahead;

  if (from - offset > fileAheadSIZE)
    return;
  (void)posix_fadvise(file->fd, (off_t)from, fileAheadSIZE, POSIX_FADV_WILLNEED);
  file->ahead = from + fileAheadSIZE;
}

const unsigned char *FileAvailable(File file, uint64_t offset, Size *sizeReturn)
{
  FileGlance(file, offset, FileWindowSIZE);
  *sizeReturn = (Size)(file->windowAt + file->windowSize - offset);
  return file->window + (offset - file->windowAt);
}

const unsigned char *FileBytes(File file, uint64_t offset, Size size)
{
  const unsigned char *bytes;
  Size there;

  AVER(size <= FileWindowSIZE);
  if (offset > file->size || size > file->size - offset)
    return NULL;
  bytes = FileAvailable(file, offset, &there);
  if (there >= size)
    return bytes;
  file->windowSize = 0; /* the window must begin here for all of it to fit */
  bytes = FileAvailable(file, offset, &there);
  return there >= size ? bytes : NULL;
}

uint64_t FileZeros(File file, uint64_t from, uint64_t to)
{
  while (from < to) {
    Size there, i = 0;
    const unsigned char *bytes = FileAvailable(file, from, &there);
    while (i < there && bytes[i] == 0)
      ++i;
    if (i < there || there == 0)
      return from + i;
    from = FileData(file, from + there);
  }
  return from;
}
