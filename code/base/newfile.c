/* newfile.c -- a file that is written beside its place, and put there when it is whole
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"

enum { newFileRANDOM = 1 + 16 }; /* characters behind the name, while it is written */

Res NewFileAt(NewFile file, const char *path)
{
  const char *slash = strrchr(path, '/');
  Size length = slash == NULL ? 0 : (Size)(slash + 1 - path);
  char folder[PATH_MAX] = ".";

  *file = (NewFileStruct){.folder = -1, .name = path + length};
  errno = *file->name == '\0' ? EISDIR : ENAMETOOLONG;
  if (*file->name == '\0' || length >= sizeof folder)
    return ResIO;
  memcpy(folder, path, length);
  file->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return file->folder >= 0 ? ResOK : ResIO;
}

/* newFileDrop -- the file that was begun is not to be; errno stays as it is */
static void newFileDrop(NewFile file)
{
  int reason = errno;

  (void)unlinkat(file->folder, file->beside, 0);
  errno = reason;
}

void NewFileClose(NewFile file)
{
  int reason = errno;

  if (file->out != NULL) {
    (void)fclose(file->out);
    newFileDrop(file);
  }
  if (file->folder >= 0)
    (void)close(file->folder);
  file->out = NULL;
  file->folder = -1;
  errno = reason;
}

int NewFileOld(NewFile file)
{
  return openat(file->folder, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

Bool NewFileReplaces(NewFile file, const char *begins, Size length)
{
  char begin[NewFileBeginsMAX];
  struct stat status;
  int fd = NewFileOld(file);
  Bool replaces = fd < 0 && errno == ENOENT;
  ssize_t got;

  AVER(length > 0 && length <= sizeof begin);
  if (fd >= 0) {
    got = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, begin, length) : -1;
    replaces = got == 0 || (got == (ssize_t)length && memcmp(begin, begins, length) == 0);
    (void)close(fd);
  }
  return replaces;
}

Res NewFileBegin(NewFile file)
{
  uint64_t number = 0;
  int fd, reason;

  AVER(file->out == NULL);
  (void)!getrandom(&number, sizeof number, 0);
  (void)snprintf(file->beside, sizeof file->beside, "%.*s.%016" PRIx64, NAME_MAX - newFileRANDOM, file->name, number);
  fd = openat(file->folder, file->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return ResIO;
  file->out = fdopen(fd, "w");
  if (file->out != NULL)
    return ResOK;
  reason = errno;
  (void)close(fd);
  errno = reason;
  newFileDrop(file);
  return ResIO;
}

Res NewFileEnd(NewFile file)
{
  FILE *out = file->out;
  Bool whole;

  AVER(out != NULL);
  whole = ferror(out) == 0 && fflush(out) == 0;
  file->out = NULL;
  if (fclose(out) == 0 && whole && renameat(file->folder, file->beside, file->folder, file->name) == 0)
    return ResOK;
  newFileDrop(file);
  return ResIO;
}
