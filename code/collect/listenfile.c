/* listenfile.c -- one sender, and the file that its log goes to
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/listenfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"

enum { senderFilesMAX = 1000000 };

Res SenderCreate(Sender sender, const char *prefix, Count *number)
{
  struct stat status;

  for (; *number < senderFilesMAX; ++*number) {
    if (snprintf(sender->path, sizeof sender->path, "%s.%zu.paw", prefix, *number) >= (int)sizeof sender->path) {
      errno = ENAMETOOLONG;
      return ResIO;
    }
    sender->fd = open(sender->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (sender->fd >= 0 || errno != EEXIST)
      break;
  }
  if (sender->fd < 0 || fstat(sender->fd, &status) != 0)
    return ResIO;
  ++*number;
  sender->device = status.st_dev;
  sender->inode = status.st_ino;
  sender->size = 0;
  return ResOK;
}

Res SenderReopen(Sender sender)
{
  struct stat status;
  char again[64];
  int handle, error;

  AVER(sender->fd < 0);
  /* It is looked at first: what may have its name now is not opened. */
  handle = open(sender->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (handle < 0)
    return ResIO;
  error = ESTALE;
  if (fstat(handle, &status) == 0 && (uint64_t)status.st_dev == sender->device && (uint64_t)status.st_ino == sender->inode) {
    (void)snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
    sender->fd = open(again, O_WRONLY | O_APPEND | O_CLOEXEC);
    error = errno;
  }
  (void)close(handle);
  errno = error;
  return sender->fd >= 0 ? ResOK : ResIO;
}

Res SenderWrite(Sender sender, const void *message, Size size)
{
  Size done = 0;
  int error;

  while (done < size) {
    ssize_t n = write(sender->fd, (const char *)message + done, size - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      error = n == 0 ? ENOSPC : errno;
      (void)!ftruncate(sender->fd, (off_t)sender->size);
      errno = error;
      return ResIO;
    }
    done += (Size)n;
  }
  sender->size += size;
  return ResOK;
}

void SenderClose(Sender sender)
{
  if (sender->fd >= 0)
    (void)close(sender->fd);
  sender->fd = -1;
}
