/* regionfile.c -- finds the files of regions, and decides which of them may be opened
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/regionfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "log/logfile.h"

enum {
  regionFileTICK = 20000000, /* ns by which the times of files may lag */
  regionFileTRIES = 10       /* ms to wait for a lock */
};

/* ---- Opening: look at a file first, by a descriptor that can do nothing else ---- */

static Bool regionFileSame(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* regionFileAgain -- open the file of such a descriptor; by its name, if there is no /proc */
static int regionFileAgain(int handle, int at, const char *name, int flags)
{
  int fd = FileAgain(handle, flags | O_NONBLOCK | O_NOCTTY);

  return fd >= 0 || errno != ENOENT
           ? fd : openat(at, name, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
}

/* regionFileOpen -- open a regular file that belongs to us or to `owner`; -1 with errno, EPERM if it is another file */
static int regionFileOpen(struct stat *statusReturn, int at, const char *name, int flags, uid_t owner)
{
  struct stat opened;
  int handle = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;

  *statusReturn = (struct stat){.st_uid = geteuid()};
  if (handle < 0)
    return -1;
  if (fstat(handle, statusReturn) == 0) {
    errno = EPERM;
    if (S_ISREG(statusReturn->st_mode) && (statusReturn->st_uid == geteuid() || statusReturn->st_uid == owner))
      fd = regionFileAgain(handle, at, name, flags);
    if (fd >= 0 && (fstat(fd, &opened) != 0 || !regionFileSame(statusReturn, &opened))) {
      (void)close(fd);
      fd = -1;
      errno = EPERM;
    }
  }
  (void)FileCloseFailed(handle);
  return fd;
}

int RegionFileOpen(RegionFile file, Bool write, uid_t owner)
{
  return regionFileOpen(&file->status, file->at, file->file, write ? O_RDWR : O_RDONLY, owner);
}

/* ---- Who may remove a region ---- */

/* regionFileRights -- the user as whom a process uses files, and its capabilities; FALSE: they are not known */
static Bool regionFileRights(uid_t *userReturn, uint64_t *mayReturn, uint32_t pid)
{
  char path[32], line[256];
  unsigned long long may;
  unsigned user;
  Bool known = FALSE, knows = FALSE;
  FILE *file;

  (void)snprintf(path, sizeof path, "/proc/%u/status", (unsigned)pid);
  file = fopen(path, "re");
  if (file == NULL)
    return FALSE;
  while (!(known && knows) && fgets(line, sizeof line, file) != NULL) {
    known |= sscanf(line, "Uid: %*u %*u %*u %u", &user) == 1;
    knows |= sscanf(line, "CapEff: %llx", &may) == 1;
  }
  (void)fclose(file);
  if (!known || !knows)
    return FALSE;
  *userReturn = user;
  *mayReturn = may;
  return TRUE;
}

Bool RegionFileBarred(RegionFile file)
{
  struct stat folder;
  uint64_t may;
  uid_t user;

  if (fstat(file->at, &folder) != 0 || !regionFileRights(&user, &may, file->name.pid) || user == folder.st_uid)
    return FALSE;
  if ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return (may >> CAP_DAC_OVERRIDE & 1) == 0;
  return (folder.st_mode & S_ISVTX) != 0 && user != file->status.st_uid && (may >> CAP_FOWNER & 1) == 0;
}

/* ---- Finding ---- */

/* regionFileFolder -- visit all files in a folder that have the name of a region there
 * beside  it is the folder of a log, not RegionFOLDER */
static Res regionFileFolder(const char *folder, Bool beside, RegionFileVisit visit, void *data)
{
  DIR *dir = opendir(folder);
  struct dirent *entry;
  Res res = ResOK;

  while (dir != NULL && res == ResOK && (entry = readdir(dir)) != NULL) {
    RegionFileStruct file = {.folder = folder, .at = dirfd(dir), .file = entry->d_name};
    if (RegionNameParse(&file.name, entry->d_name) && (file.name.log != 0) == beside)
      res = visit(data, &file);
  }
  if (dir != NULL)
    (void)closedir(dir);
  return res;
}

/* regionFileBeside -- the folder that a log is in; FALSE: it cannot be found */
static Bool regionFileBeside(char folder[PATH_MAX], const char *log)
{
  char *slash;

  if (log == NULL || realpath(log, folder) == NULL || (slash = strrchr(folder, '/')) == NULL)
    return FALSE;
  slash[slash == folder] = '\0';
  return TRUE;
}

Res RegionFileSearch(const char *log, RegionFileVisit visit, void *data)
{
  char folder[PATH_MAX];
  Res res = regionFileFolder(RegionFOLDER, FALSE, visit, data);

  if (res == ResOK && regionFileBeside(folder, log))
    res = regionFileFolder(folder, TRUE, visit, data);
  return res;
}

Res RegionFileNamed(const char *path, uint64_t recording, const char *log, RegionFileVisit visit, void *data)
{
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX] = RegionFOLDER;
  RegionFileStruct file = {.folder = folder};
  Res res;

  if (slash == NULL || !RegionNameParse(&file.name, slash + 1) ||
      (recording != 0 && file.name.recording != recording) ||
      (file.name.log != 0 && !regionFileBeside(folder, log)))
    return ResPARAM;
  file.file = slash + 1;
  file.at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file.at < 0)
    return ResPARAM;
  res = visit(data, &file);
  (void)close(file.at);
  return res;
}

/* regionFileLink -- the name of the link beside a region in RegionFOLDER */
static Bool regionFileLink(char link[PATH_MAX], RegionFile file)
{
  return file->name.log == 0 && (Size)snprintf(link, PATH_MAX, "%s" RegionLINK, file->file) < PATH_MAX;
}

Bool RegionFileTarget(char *room, RegionFile file)
{
  char link[PATH_MAX];
  struct stat status;
  ssize_t length;

  if (!regionFileLink(link, file) || fstatat(file->at, link, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISLNK(status.st_mode) || status.st_uid != file->status.st_uid)
    return FALSE;
  length = readlinkat(file->at, link, room, PATH_MAX);
  if (length <= 0 || length >= PATH_MAX)
    return FALSE;
  room[length] = '\0';
  return TRUE;
}

/* ---- Is an empty file the log of a recording? ---- */

/* regionFileTime -- when the file `name` in a folder was made, in ns; with the name "", the file of the descriptor `at`
 * itself.  0: the file system does not tell. */
static int64_t regionFileTime(int at, const char *name)
{
  struct statx status;

  if (statx(at, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0 ||
      (status.stx_mask & STATX_BTIME) == 0)
    return 0;
  return (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

static int64_t regionFileStamp(const struct timespec *time)
{
  return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* regionFileMade -- when a region was made; 0: unknown.  The link beside it was made at the same time, and is never
 * changed. */
static int64_t regionFileMade(RegionFile file)
{
  int64_t made = regionFileTime(file->at, file->file);
  char link[PATH_MAX];
  struct stat status;

  if (made == 0 && regionFileLink(link, file) && fstatat(file->at, link, &status, AT_SYMLINK_NOFOLLOW) == 0)
    made = regionFileStamp(&status.st_mtim);
  return made;
}

Bool RegionFileFirst(RegionFile file, uint64_t inode, int log)
{
  int64_t made = regionFileMade(file), logMade = regionFileTime(log, "");
  struct stat status;

  if (made == 0 || fstat(log, &status) != 0 || status.st_ino == 0 || inode != (uint64_t)status.st_ino)
    return FALSE;
  /* A file is not younger than its last change, which nobody can set back. */
  return (logMade != 0 ? logMade : regionFileStamp(&status.st_ctim)) <= made + regionFileTICK;
}

/* What RegionFileAppend asks of the regions of a recording. */
typedef struct regionFileFirstStruct {
  uint64_t recording;
  int log;
  Bool first, other;  /* a region was made for this log; one was not, or cannot be read */
} regionFileFirstStruct, *regionFileFirst;

/* regionFileFirstVisit -- was this region made for the log?  A file without a header was to become a region, and says
 * nothing. */
static Res regionFileFirstVisit(void *data, RegionFile file)
{
  static const char none[BlockMagicSIZE];
  RegionHeaderStruct header = {.magic = ""};
  regionFileFirst asked = data;
  Res res;
  int fd;

  if (file->name.recording != asked->recording || (fd = RegionFileOpen(file, FALSE, geteuid())) < 0)
    return ResOK;
  res = FileReadAt(fd, 0, &header, sizeof header);
  if (res == ResIO || memcmp(header.magic, none, sizeof none) != 0)
    *(res == ResOK && RegionFileFirst(file, header.inode, asked->log) ? &asked->first : &asked->other) = TRUE;
  (void)close(fd);
  return ResOK;
}

/* regionFileStraight -- a descriptor of the file at a path no part of which is a link, which can do nothing else; -1 */
static int regionFileStraight(const char *path)
{
  int at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC), next;
  char part[NAME_MAX + 1];
  Size length;

  for (; at >= 0; at = next, path += length) {
    path += strspn(path, "/");
    length = strcspn(path, "/");
    (void)snprintf(part, sizeof part, "%.*s", (int)length, path);
    next = length < sizeof part
             ? openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC | (path[length] == '/' ? O_DIRECTORY : 0)) : -1;
    (void)close(at);
    if (path[length] == '\0')
      return next;
  }
  return -1;
}

/* regionFileCertain -- is the file at a path this one, which has no other name, and no part of the path a link? */
static Bool regionFileCertain(const char *path, const struct stat *status)
{
  int handle = regionFileStraight(path);
  struct stat straight;
  Bool same = handle >= 0 && fstat(handle, &straight) == 0 && regionFileSame(&straight, status) &&
              straight.st_nlink == 1;

  if (handle >= 0)
    (void)close(handle);
  return same;
}

/* regionFileShare -- whoever would cut off the end of this log leaves it as long as the descriptor is open
 * (listen/listenlink.c).  A listener that cuts holds its lock for a moment only.  If another process holds a lock for
 * longer, we get none, but neither does the listener, which cuts nothing then. */
static void regionFileShare(int log)
{
  unsigned tries;

  for (tries = 0; tries < regionFileTRIES && flock(log, LOCK_SH | LOCK_NB) != 0; ++tries)
    (void)usleep(1000);
}

int RegionFileAppend(Bool *certainReturn, const char *path, uint64_t recording)
{
  regionFileFirstStruct asked = {.recording = recording};
  struct stat status;

  *certainReturn = FALSE;
  asked.log = regionFileOpen(&status, AT_FDCWD, path, O_WRONLY | O_APPEND, geteuid());
  if (asked.log < 0) {
    if (errno == EPERM && S_ISLNK(status.st_mode))
      errno = ELOOP;
  } else if (recording != 0 && regionFileCertain(path, &status)) {
    (void)RegionFileSearch(path, regionFileFirstVisit, &asked);
    *certainReturn = asked.first && !asked.other;
  }
  if (asked.log >= 0)
    regionFileShare(asked.log);
  return asked.log;
}

void RegionFileRemove(RegionFile file)
{
  char link[PATH_MAX];
  struct stat named;

  if (fstatat(file->at, file->file, &named, AT_SYMLINK_NOFOLLOW) != 0 || !regionFileSame(&named, &file->status))
    return;
  if (unlinkat(file->at, file->file, 0) == 0 && regionFileLink(link, file) &&
      fstatat(file->at, link, &named, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(named.st_mode) &&
      named.st_uid == file->status.st_uid)
    (void)unlinkat(file->at, link, 0);
}
