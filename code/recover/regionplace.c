/* regionplace.c -- finds the files of regions, and decides which of them may be opened
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/regionplace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/logfile.h"

enum { leftTICK = 20000000 /* ns by which files' times may lag */ };

/* leftBelieved -- a regular file of ours, or of the log's owner */
static Bool leftBelieved(const struct stat *status, uid_t owner)
{
  return S_ISREG(status->st_mode) && (status->st_uid == geteuid() || status->st_uid == owner);
}

static Bool leftSame(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* leftAgain -- open the file of a descriptor that can do nothing; where there is no /proc, by its name, once more */
static int leftAgain(int handle, RegionPlace place, Bool write)
{
  int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  char path[32];
  int fd;

  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
  fd = open(path, flags);
  return fd >= 0 || errno != ENOENT ? fd : openat(place->at, place->file, flags | O_NOFOLLOW);
}

int RegionPlaceOpen(struct stat *status, RegionPlace place, Bool write, uid_t owner)
{
  struct stat opened;
  int handle = openat(place->at, place->file, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, reason;

  if (handle < 0)
    return -1;
  if (fstat(handle, status) == 0) {
    if (!leftBelieved(status, owner))
      errno = EPERM;
    else if ((fd = leftAgain(handle, place, write)) >= 0 && (fstat(fd, &opened) != 0 || !leftSame(status, &opened))) {
      (void)close(fd);
      fd = -1;
      errno = EPERM;
    }
  }
  reason = errno;
  (void)close(handle);
  errno = reason;
  return fd;
}

/* leftRights -- the user as whom a process has to do with files, and what it may besides; FALSE: nobody knows */
static Bool leftRights(uid_t *userReturn, uint64_t *mayReturn, uint32_t pid)
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

Bool RegionPlaceBarred(RegionPlace place, const struct stat *status)
{
  struct stat folder;
  uint64_t may;
  uid_t user;

  if (fstat(place->at, &folder) != 0 || !leftRights(&user, &may, place->name.pid) || user == folder.st_uid)
    return FALSE;
  if ((folder.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return (may >> CAP_DAC_OVERRIDE & 1) == 0;
  return (folder.st_mode & S_ISVTX) != 0 && user != status->st_uid && (may >> CAP_FOWNER & 1) == 0;
}

/* leftFolder -- all files in a folder that are called as regions are there */
static Res leftFolder(const char *folder, Bool beside, RegionPlaceVisit visit, void *data)
{
  DIR *dir = opendir(folder);
  struct dirent *entry;
  Res res = ResOK;

  while (dir != NULL && res == ResOK && (entry = readdir(dir)) != NULL) {
    RegionPlaceStruct place = {.folder = folder, .at = dirfd(dir), .file = entry->d_name};
    if (RegionNameParse(&place.name, entry->d_name) && (place.name.log != 0) == beside)
      res = visit(data, &place);
  }
  if (dir != NULL)
    (void)closedir(dir);
  return res;
}

/* leftBeside -- the folder of a log, in `folder`; FALSE: it has none */
static Bool leftBeside(char folder[PATH_MAX], const char *log)
{
  char *slash;

  if (log == NULL || realpath(log, folder) == NULL || (slash = strrchr(folder, '/')) == NULL)
    return FALSE;
  slash[slash == folder] = '\0';
  return TRUE;
}

Res RegionPlaceSearch(const char *log, RegionPlaceVisit visit, void *data)
{
  char folder[PATH_MAX];
  Res res = leftFolder(RegionFOLDER, FALSE, visit, data);

  if (res == ResOK && leftBeside(folder, log))
    res = leftFolder(folder, TRUE, visit, data);
  return res;
}

Res RegionPlaceNamed(const char *path, uint64_t recording, const char *log, RegionPlaceVisit visit, void *data)
{
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX] = RegionFOLDER;
  RegionPlaceStruct place = {.folder = folder};
  Res res;

  if (slash == NULL || !RegionNameParse(&place.name, slash + 1) ||
      (recording != 0 && place.name.recording != recording) ||
      (place.name.log != 0 && !leftBeside(folder, log)))
    return ResPARAM;
  place.file = slash + 1;
  place.at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place.at < 0)
    return ResPARAM;
  res = visit(data, &place);
  (void)close(place.at);
  return res;
}

/* leftLink -- the name of the link beside a region */
static Bool leftLink(char link[PATH_MAX], RegionPlace place)
{
  return place->name.log == 0 && (Size)snprintf(link, PATH_MAX, "%s" RegionLINK, place->file) < PATH_MAX;
}

Bool RegionPlaceTarget(char *room, RegionPlace place, uid_t owner)
{
  char link[PATH_MAX];
  struct stat status;
  ssize_t length;

  if (!leftLink(link, place) || fstatat(place->at, link, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISLNK(status.st_mode) || status.st_uid != owner)
    return FALSE;
  length = readlinkat(place->at, link, room, PATH_MAX);
  if (length <= 0 || length >= PATH_MAX)
    return FALSE;
  room[length] = '\0';
  return TRUE;
}

Bool RegionPlaceLog(RegionPlace place, uid_t owner, const char *path)
{
  char target[PATH_MAX];

  return RegionPlaceTarget(target, place, owner) && strcmp(target, path) == 0;
}

/* leftTime -- when the file `name` in a folder was made, in ns, or the folder's descriptor itself, for ""; where the file
 * system does not tell, 0 */
static int64_t leftTime(int at, const char *name)
{
  struct statx status;

  if (statx(at, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0 ||
      (status.stx_mask & STATX_BTIME) == 0)
    return 0;
  return (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

static int64_t leftStamp(const struct timespec *time)
{
  return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* leftMade -- when a region was made; 0: unknown.  The link beside it was made then, and nobody changes it. */
static int64_t leftMade(RegionPlace place)
{
  int64_t made = leftTime(place->at, place->file);
  char link[PATH_MAX];
  struct stat status;

  if (made == 0 && leftLink(link, place) && fstatat(place->at, link, &status, AT_SYMLINK_NOFOLLOW) == 0)
    made = leftStamp(&status.st_mtim);
  return made;
}

Bool RegionPlaceFirst(RegionPlace place, uint64_t inode, int log)
{
  int64_t made = leftMade(place), logMade = leftTime(log, "");
  struct stat status;

  if (made == 0 || fstat(log, &status) != 0 || status.st_ino == 0 || inode != (uint64_t)status.st_ino)
    return FALSE;
  /* A file is not younger than its last change, which nobody can set back. */
  return (logMade != 0 ? logMade : leftStamp(&status.st_ctim)) <= made + leftTICK;
}

/* What RegionPlaceAppend asks of the regions of a recording. */
typedef struct leftFirstStruct {
  uint64_t recording;
  int log;
  Bool first, other; /* a region that was made for it; one that was not */
} leftFirstStruct, *leftFirst;

/* leftFirstVisit -- a file that is called as regions are; what was to become one says nothing, and one that cannot be
 * read may be of another log */
static Res leftFirstVisit(void *data, RegionPlace place)
{
  static const char none[BlockMagicSIZE];
  RegionHeaderStruct header;
  leftFirst asked = data;
  struct stat status;
  Res res;
  int fd;

  if (place->name.recording != asked->recording || (fd = RegionPlaceOpen(&status, place, FALSE, geteuid())) < 0)
    return ResOK;
  memset(header.magic, 0, sizeof header.magic);
  res = FileReadAt(fd, 0, &header, sizeof header);
  if (res == ResIO || memcmp(header.magic, none, sizeof none) != 0) {
    if (res == ResOK && RegionPlaceFirst(place, header.inode, asked->log))
      asked->first = TRUE;
    else
      asked->other = TRUE;
  }
  (void)close(fd);
  return ResOK;
}

/* leftIs -- is a log to which nothing has come that of a recording?  Its number is given again when it is gone, and a file may have
 * been there before: so each region must be made for a file of this number, that was there already. */
static Bool leftIs(int log, const char *path, uint64_t recording)
{
  leftFirstStruct asked = {.recording = recording, .log = log};

  (void)RegionPlaceSearch(path, leftFirstVisit, &asked);
  return asked.first && !asked.other;
}

/* leftStraight -- the file at a path, if no part of that is a link: a descriptor that can do nothing; -1 */
static int leftStraight(const char *path)
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

/* leftCertain -- is the file at a path this one, with no link on the way, nor another name? */
static Bool leftCertain(const char *path, const struct stat *status)
{
  int handle = leftStraight(path);
  struct stat straight;
  Bool same = handle >= 0 && fstat(handle, &straight) == 0 && leftSame(&straight, status) && straight.st_nlink == 1;

  if (handle >= 0)
    (void)close(handle);
  return same;
}

int RegionPlaceAppend(Bool *certainReturn, const char *path, uint64_t recording)
{
  int handle = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, reason;
  struct stat status;
  char again[32];

  *certainReturn = FALSE;
  if (handle < 0)
    return -1;
  if (fstat(handle, &status) != 0)
    status = (struct stat){0};
  errno = S_ISLNK(status.st_mode) ? ELOOP : EPERM;
  if (S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
    *certainReturn = leftCertain(path, &status);
    (void)snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
    fd = open(again, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    *certainReturn = *certainReturn && fd >= 0 && recording != 0 && leftIs(fd, path, recording);
  }
  reason = errno;
  (void)close(handle);
  errno = reason;
  return fd;
}

void RegionPlaceRemove(RegionPlace place, const struct stat *status)
{
  char link[PATH_MAX];
  struct stat named;

  if (fstatat(place->at, place->file, &named, AT_SYMLINK_NOFOLLOW) != 0 || !leftSame(&named, status))
    return;
  if (unlinkat(place->at, place->file, 0) == 0 && leftLink(link, place) &&
      fstatat(place->at, link, &named, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(named.st_mode) &&
      named.st_uid == status->st_uid)
    (void)unlinkat(place->at, link, 0);
}
