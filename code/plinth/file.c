/* file.c -- a plinth that appends to a file
 *
 * Several processes append to one log: each message is one write with O_APPEND.  If the descriptor is not ours any
 * more, the file is opened again by its name.  If the program may have so few descriptors that we may keep none
 * (DescriptorMay), it is opened for each message.
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

#include "base/text.h"
#include "plinth/descriptor.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

enum {
  fileTRIES = 8, /* to write a message in one go */
  fileLOWEST = DescriptorFEW - DescriptorROOM, /* numbers that DescriptorTake gives, and the next one */
  fileLIMIT = DescriptorTOP + DescriptorROOM
};

void PlinthFileTell(Text text, uint64_t device, uint64_t inode, uint64_t birth)
{
  TextFormat(text, "%ju:%ju:%ju", device, inode, birth);
}

/* fileIsFamily -- is the file one of those that `family` names? */
static Bool fileIsFamily(int fd, const char *family)
{
  struct stat status;
  char room[PlinthFileTellMAX];
  TextStruct text;

  if (family == NULL || RawStat(fd, &status) != 0)
    return FALSE;
  TextInit(&text, room, sizeof room);
  PlinthFileTell(&text, status.st_dev, status.st_ino, RawBirth(fd));
  for (; *family != '\0'; family += *family == '+') {
    Size length = strcspn(family, "+");
    if (length == TextLength(&text) && memcmp(family, room, length) == 0)
      return TRUE;
    family += length;
  }
  return FALSE;
}

/* fileAppends -- is this number open as we open a log, where DescriptorTake puts them?  What the program has from a
 * shell is not.
 * kept  FD_CLOEXEC; 0: it survived exec
 */
static Bool fileAppends(int fd, long kept)
{
  long flags = RawCall(SYS_fcntl, fd, F_GETFL);

  return flags >= 0 && (flags & (O_ACCMODE | O_APPEND)) == (O_WRONLY | O_APPEND) &&
         RawCall(SYS_fcntl, fd, F_GETFD) == kept;
}

/* fileBeside -- does another emitter of this process write to the file, and we do not yet?  Two allocators, each with a
 * registry of its own, have one log. */
static Bool fileBeside(int fd)
{
  struct stat status, other;
  Bool beside = FALSE;
  int i;

  if (RawStat(fd, &status) != 0)
    return FALSE;
  for (i = fileLOWEST; i < fileLIMIT; ++i)
    if (i != fd && fileAppends(i, FD_CLOEXEC) && RawStat(i, &other) == 0 && other.st_dev == status.st_dev &&
        other.st_ino == status.st_ino) {
      if (DescriptorKept(i))
        return FALSE;
      beside = TRUE;
    }
  return beside;
}

/* fileInherited -- the first of these numbers that was kept open for us; -1: none was */
static int fileInherited(int from, int to, const char *family)
{
  for (; from < to; ++from)
    if (fileAppends(from, 0) && fileIsFamily(from, family))
      return from;
  return -1;
}

int PlinthFileInherit(const char *family)
{
  uint64_t limit = RawLimit(RLIMIT_NOFILE);
  int usual = (int)(limit < DescriptorTOP ? limit : DescriptorTOP) - DescriptorROOM, fd;

  if (limit < DescriptorFEW)
    return -1; /* then none is kept open */
  /* Where DescriptorTake puts it, if nothing is in its way: each start would pay for more than a few looks. */
  fd = fileInherited(usual, usual + 2 * DescriptorROOM, family);
  return fd >= 0 ? fd : fileInherited(fileLOWEST, fileLIMIT, family);
}

void PlinthFileLeave(Plinth plinth, const char *family, Bool pass)
{
  struct stat status;
  int fd = PlinthClassOf(plinth) == &PlinthClassFile ? DescriptorOurs(plinth, &status) : -1;

  if (fd >= 0 && fileIsFamily(fd, family))
    (void)RawCall(SYS_fcntl, fd, F_SETFD, pass ? 0 : FD_CLOEXEC);
}

/* fileHoldsNothing -- is it a device such as /dev/full or /dev/null, which has nothing that could be overwritten? */
static Bool fileHoldsNothing(int fd)
{
  struct stat status;

  return RawStat(fd, &status) == 0 && S_ISCHR(status.st_mode);
}

/* fileMake -- make the file, or open the one of the family's; -1: it cannot be had.  A family has one log: a file of
 * its name in another root folder, or made later, is another one. */
static long fileMake(const char *path, const char *family, const char **reasonReturn)
{
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
  long fd = family != NULL ? -EEXIST : LentCall(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_EXCL, 0600);

  if (fd == -EEXIST) {
    fd = LentCall(SYS_openat, AT_FDCWD, path, flags | O_NONBLOCK);
    if (fd >= 0 && (!fileIsFamily((int)fd, family) || RawBirth((int)fd) == 0) && !fileBeside((int)fd) &&
        !fileHoldsNothing((int)fd)) {
      LentClose(fd);
      *reasonReturn = "it is there already; remove it, or choose another name";
      return -1;
    }
  }
  if (fd < 0)
    *reasonReturn = RawErrno((int)-fd);
  return fd < 0 ? -1 : fd;
}

static Res fileOpen(Plinth plinth, const PlinthClassStruct *class, const char *place, const char *family,
                    const char **reasonReturn)
{
  TextStruct text;
  long fd;
  Res res;

  UNUSED(class);
  TextInit(&text, plinth->place, sizeof plinth->place);
  res = RawAbsolute(&text, place); /* the place means the same after a chdir */
  if (res != ResOK) {
    *reasonReturn = "its name is too long";
    return res;
  }
  /* Another user, or who sees another folder there, has it from the program before. */
  fd = family != NULL ? PlinthFileInherit(family) : -1;
  if (fd < 0)
    fd = fileMake(plinth->place, family, reasonReturn);
  if (fd < 0)
    return ResIO;
  if (DescriptorMay())
    return DescriptorTake(plinth, (int)fd);
  /* The program needs its descriptors more: the file is opened again for each message. */
  res = DescriptorNote(plinth, (int)fd);
  if (res == ResOK)
    LentClose(fd);
  return res;
}

/* fileReopen -- the file under its name; -1: it cannot be had
 *
 * A number is given again as soon as its file is gone, so where the system does not tell when a file was born nobody
 * knows whether it is still the one: what is to be written stays where it is.  Nobody waits for the reader of a FIFO.
 * lentReturn  the descriptor is not kept: it is to be closed after use
 */
static int fileReopen(Plinth plinth, struct stat *status, Bool *lentReturn, const char **reasonReturn)
{
  long fd = LentCall(SYS_openat, AT_FDCWD, plinth->place, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

  if (fd < 0) {
    *reasonReturn = RawErrno((int)-fd);
    return -1;
  }
  if (!DescriptorSame(plinth, (int)fd, status, fileHoldsNothing((int)fd))) {
    LentClose(fd);
    *reasonReturn = plinth->birth != 0 ? "it is another file now" : "it may be another file now";
    return -1;
  }
  *lentReturn = !DescriptorMay();
  if (*lentReturn)
    return (int)fd;
  fd = DescriptorAgain(plinth, (int)fd) == ResOK ? DescriptorOurs(plinth, status) : -1;
  if (fd < 0) /* the program has closed it meanwhile */
    *reasonReturn = RawErrno(EBADF);
  return (int)fd;
}

/* fileWithinLimit -- a write to the limit on file sizes would be cut there; and there is to be room for the last
 * words.  After a message that found none nothing else goes out before those: a small block without its header block
 * would be no use. */
static Bool fileWithinLimit(Plinth plinth, struct stat *status, Size size)
{
  uint64_t reserve = plinth->last ? 0 : PlinthRESERVE;
  uint64_t limit = RawLimit(RLIMIT_FSIZE);

  if (limit == UINT64_MAX || !S_ISREG(status->st_mode))
    return TRUE;
  if ((plinth->last || plinth->limited != limit + 1) &&
      (uint64_t)status->st_size + size + reserve <= limit)
    return TRUE;
  plinth->limited = limit + 1;
  return FALSE;
}

/* fileWrite -- one message.  Where a write is cut short another process may have written something behind it already:
 * what went out is no sound block, which readers pass, and the whole of it is written anew. */
static Res fileWrite(Plinth plinth, int fd, struct stat *status, const void *message, Size size,
                     const char **reasonReturn)
{
  unsigned tries;
  long n = 0;

  if (!fileWithinLimit(plinth, status, size)) {
    *reasonReturn = "the limit on the size of files is reached (ulimit -f)";
    return ResLIMIT;
  }
  for (tries = 0; tries < fileTRIES && n >= 0; ++tries) {
    do
      n = RawWrite(fd, message, size);
    while (n == -EINTR);
    if (n == (long)size)
      return ResOK;
  }
  *reasonReturn = n < 0 ? RawErrno((int)-n) : "not all of it could be written";
  return ResIO;
}

static Res fileSend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  unsigned turn = DescriptorEnter();
  struct stat status;
  int fd = DescriptorOurs(plinth, &status);
  Bool lent = FALSE;
  Res res = ResIO;

  if (UNLIKELY(fd < 0))
    fd = fileReopen(plinth, &status, &lent, reasonReturn);
  if (fd >= 0)
    res = fileWrite(plinth, fd, &status, message, size, reasonReturn);
  if (UNLIKELY(lent))
    LentClose(fd);
  DescriptorLeave(turn);
  return res;
}

const PlinthClassStruct PlinthClassFile = {.name = "file", .open = fileOpen, .send = fileSend,
                                           .close = DescriptorClose};
