/* leftplace.c -- where regions may be, and which files there may be opened
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/leftplace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static int leftAgain(int handle, LeftPlace place, Bool write)
{
  int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  char path[32];
  int fd;

  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
  fd = open(path, flags);
  return fd >= 0 || errno != ENOENT ? fd : openat(place->at, place->file, flags | O_NOFOLLOW);
}

int LeftPlaceOpen(struct stat *status, LeftPlace place, Bool write, uid_t owner)
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

/* leftFolder -- all files in a folder that are called as regions are there */
static Res leftFolder(const char *folder, Bool beside, LeftPlaceVisit visit, void *data)
{
  DIR *dir = opendir(folder);
  struct dirent *entry;
  Res res = ResOK;

  while (dir != NULL && res == ResOK && (entry = readdir(dir)) != NULL) {
    LeftPlaceStruct place = {.folder = folder, .at = dirfd(dir), .file = entry->d_name};
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

Res LeftPlaceSearch(const char *log, LeftPlaceVisit visit, void *data)
{
  char folder[PATH_MAX];
  Res res = leftFolder(RegionFOLDER, FALSE, visit, data);

  if (res == ResOK && leftBeside(folder, log))
    res = leftFolder(folder, TRUE, visit, data);
  return res;
}

Res LeftPlaceNamed(const char *path, uint64_t recording, const char *log, LeftPlaceVisit visit, void *data)
{
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX] = RegionFOLDER;
  LeftPlaceStruct place = {.folder = folder};
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
static Bool leftLink(char link[PATH_MAX], LeftPlace place)
{
  return place->name.log == 0 && (Size)snprintf(link, PATH_MAX, "%s" RegionLINK, place->file) < PATH_MAX;
}

Bool LeftPlaceTarget(char *room, LeftPlace place, uid_t owner)
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

Bool LeftPlaceLog(LeftPlace place, uid_t owner, const char *path)
{
  char target[PATH_MAX];

  return LeftPlaceTarget(target, place, owner) && strcmp(target, path) == 0;
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

int LeftPlaceAppend(Bool *certainReturn, const char *path)
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
  }
  reason = errno;
  (void)close(handle);
  errno = reason;
  return fd;
}

void LeftPlaceRemove(LeftPlace place, const struct stat *status)
{
  char link[PATH_MAX];
  struct stat named;

  if (fstatat(place->at, place->file, &named, AT_SYMLINK_NOFOLLOW) != 0 || !leftSame(&named, status))
    return;
  /* The link first: nothing finds a link alone. */
  if (leftLink(link, place) && fstatat(place->at, link, &named, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(named.st_mode) &&
      named.st_uid == status->st_uid)
    (void)unlinkat(place->at, link, 0);
  (void)unlinkat(place->at, place->file, 0);
}
