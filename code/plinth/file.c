/* file.c -- a plinth that appends to a file
 *
 * Several processes append to one log: each message is one write with O_APPEND.  Where the descriptor
 * is not ours any more, the file is opened again by its name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/plinth.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "plinth/descriptor.h"
#include "plinth/quiet.h"

/* fileAbsolute -- the place means the same after a chdir */
static Res fileAbsolute(Plinth plinth, const char *path)
{
  TextStruct text;

  TextInit(&text, plinth->place, sizeof plinth->place);
  return QuietAbsolute(&text, path);
}

/* fileIsFamily -- is the file the one that `family` names? */
static Bool fileIsFamily(int fd, const char *family)
{
  struct stat status;
  char room[48];
  TextStruct text;

  if (family == NULL || fstat(fd, &status) != 0)
    return FALSE;
  TextInit(&text, room, sizeof room);
  TextDecimal(&text, status.st_dev);
  TextChar(&text, ':');
  TextDecimal(&text, status.st_ino);
  return strcmp(TextTerminate(&text), family) == 0;
}

static Res fileOpen(Plinth plinth, const char *place, const char *family, const char **reasonReturn)
{
  Res res = fileAbsolute(plinth, place);
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
  long fd;

  if (res != ResOK) {
    *reasonReturn = "its name is too long";
    return res;
  }
  fd = QuietCall(SYS_openat, AT_FDCWD, plinth->place, flags | O_CREAT | O_EXCL, 0600);
  if (fd == -EEXIST) {
    fd = QuietCall(SYS_openat, AT_FDCWD, plinth->place, flags | O_NONBLOCK);
    if (fd >= 0 && !fileIsFamily((int)fd, family)) {
      struct stat status;
      /* A device such as /dev/full or /dev/null holds nothing that could be overwritten. */
      if (fstat((int)fd, &status) != 0 || !S_ISCHR(status.st_mode)) {
        (void)QuietCall(SYS_close, fd);
        *reasonReturn = "it is there already; remove it, or choose another name";
        return ResIO;
      }
    }
  }
  if (fd < 0) {
    *reasonReturn = QuietErrno((int)-fd);
    return ResIO;
  }
  return DescriptorTake(plinth, (int)fd);
}

static Res fileReopen(Plinth plinth, struct stat *status, const char **reasonReturn)
{
  long fd = QuietCall(SYS_openat, AT_FDCWD, plinth->place, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);

  if (fd < 0) {
    *reasonReturn = QuietErrno((int)-fd);
    return ResIO;
  }
  if (fstat((int)fd, status) != 0 || status->st_dev != plinth->device || status->st_ino != plinth->inode) {
    (void)QuietCall(SYS_close, fd);
    *reasonReturn = "it is another file now";
    return ResIO;
  }
  return DescriptorTake(plinth, (int)fd);
}

/* fileWithinLimit -- a write past the limit on file sizes would bring the program a signal that kills */
static Bool fileWithinLimit(struct stat *status, Size size)
{
  struct rlimit limit;

  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !S_ISREG(status->st_mode) ||
         (uint64_t)status->st_size + size <= limit.rlim_cur;
}

static Res fileSend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  struct stat status;
  Size done = 0;

  if (UNLIKELY(!DescriptorOurs(plinth, &status))) {
    Res res = fileReopen(plinth, &status, reasonReturn);
    if (res != ResOK)
      return res;
  }
  if (!fileWithinLimit(&status, size)) {
    *reasonReturn = "the limit on the size of files is reached (ulimit -f)";
    return ResLIMIT;
  }
  while (done < size) {
    long n = QuietCall(SYS_write, plinth->fd, (const char *)message + done, size - done);
    if (n == -EINTR)
      continue;
    if (n <= 0) {
      /* What went out of it is not a sound block; readers go on behind it. */
      *reasonReturn = n == 0 ? "nothing could be written" : QuietErrno((int)-n);
      return ResIO;
    }
    done += (Size)n;
  }
  return ResOK;
}

static Res fileReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  UNUSED(plinth), UNUSED(room), UNUSED(size);
  *sizeReturn = 0;
  return ResEND;
}

const PlinthClassStruct PlinthClassFile = {"file", fileOpen, fileSend, fileReceive, DescriptorClose, NULL, NULL};
