/* regionfiles.c -- where the collector makes regions, and removes them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/regionfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { placeTriesMAX = 64, placeHeadSIZE = offsetof(RegionHeaderStruct, tickets) };

/* placeFolder -- a folder, for openat alone; -1 */
static int placeFolder(const char *path)
{
  return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int PlaceFolder(const char **nameReturn, const char *path)
{
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX];

  *nameReturn = slash != NULL ? slash + 1 : path;
  if (slash == NULL)
    return placeFolder(".");
  if (snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + (slash == path)), path) >= (int)sizeof folder) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return placeFolder(folder);
}

void PlaceOpen(Place place, uint64_t recording, const char *log)
{
  const char *name;

  place->recording = recording;
  place->memory = placeFolder(RegionFOLDER);
  place->open = placeFolder("/proc/self/fd");
  place->beside = -1;
  place->log[0] = '\0';
  if (log == NULL || log[0] != '/' || strlen(log) >= sizeof place->log)
    return;
  (void)strcpy(place->log, log);
  place->beside = PlaceFolder(&name, log);
}

void PlaceClose(Place place)
{
  if (place->memory >= 0)
    (void)close(place->memory);
  if (place->beside >= 0)
    (void)close(place->beside);
  if (place->open >= 0)
    (void)close(place->open);
  place->memory = place->beside = place->open = -1;
}

/* placeHeld -- say that the file's collector lives, by a lock that goes with us */
static Bool placeHeld(int fd)
{
  struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

  return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

/* placeSize -- lock the file, then make it that long; what is not touched takes no room, but its beginning must be
 * there.  ResIO: there is none; it is closed. */
static Res placeSize(PlaceFile file, Place place, Size size)
{
  int error;

  file->locked = PlaceAgain(place, file->fd, O_RDWR);
  if (file->locked >= 0 && flock(file->locked, LOCK_EX | LOCK_NB) == 0 && placeHeld(file->fd) &&
      ftruncate(file->fd, (off_t)size) == 0 &&
      (fallocate(file->fd, 0, 0, placeHeadSIZE) == 0 || errno == EOPNOTSUPP))
    return ResOK;
  error = errno;
  PlaceDrop(file);
  errno = error;
  return ResIO;
}

/* placeName -- what the file is called, in its folder */
static Bool placeName(PlaceFile file, Place place, pid_t pid, unsigned number)
{
  RegionNameStruct name = {.recording = place->recording, .pid = (uint32_t)pid, .number = number};
  TextStruct text;

  TextInit(&text, file->name, sizeof file->name - (sizeof RegionLINK - 1));
  RegionNameWrite(&text, &name, file->folder == place->memory ? NULL : strrchr(place->log, '/') + 1);
  (void)TextTerminate(&text);
  return !text.overflow;
}

/* placeLink -- the name of the link beside a region */
static const char *placeLink(char *room, Size size, PlaceFile file)
{
  (void)snprintf(room, size, "%s%s", file->name, RegionLINK);
  return room;
}

/* placeTry -- make it in one folder
 *
 * The link is made before the region: so there is never a region of which nobody knows what log it is for. */
static Res placeTry(PlaceFile file, Place place, int folder, pid_t pid, Size size)
{
  char link[sizeof file->name + sizeof RegionLINK];
  Bool links = folder == place->memory && place->log[0] != '\0', made;
  unsigned number;
  int error;

  file->folder = folder;
  errno = ENAMETOOLONG;
  for (number = 0; number < placeTriesMAX && placeName(file, place, pid, number); ++number) {
    file->linked = links && symlinkat(place->log, folder, placeLink(link, sizeof link, file)) == 0;
    file->fd = -1;
    if (links && !file->linked && errno == EEXIST)
      continue; /* another region's, which is gone, and about to go itself */
    file->fd = openat(folder, file->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    made = file->fd >= 0;
    if (made && placeSize(file, place, size) == ResOK)
      return ResOK;
    error = errno;
    if (file->linked)
      (void)unlinkat(folder, link, 0);
    if (made)
      (void)unlinkat(folder, file->name, 0);
    errno = error;
    if (made || error != EEXIST)
      return ResIO;
  }
  return ResIO;
}

/* placeNameless -- a file that nobody can find but by its descriptor */
static Res placeNameless(PlaceFile file, Place place, Size size)
{
  file->folder = -1;
  file->linked = FALSE;
  file->fd = memfd_create(RegionNAMELESS, MFD_CLOEXEC);
  if (file->fd < 0)
    return ResIO;
  return placeSize(file, place, size);
}

Res PlaceMake(PlaceFile file, char *path, Place place, pid_t pid, Size size)
{
  const char *slash = strrchr(place->log, '/');

  path[0] = '\0';
  file->fd = file->locked = -1;
  if (place->memory >= 0 && placeTry(file, place, place->memory, pid, size) == ResOK) {
    (void)snprintf(path, RegionPathMAX, "%s/%s", RegionFOLDER, file->name);
    return ResOK;
  }
  if (place->beside >= 0 && (Size)(slash - place->log) + sizeof file->name < RegionPathMAX &&
      placeTry(file, place, place->beside, pid, size) == ResOK) {
    (void)snprintf(path, RegionPathMAX, "%.*s%s", (int)(slash + 1 - place->log), place->log, file->name);
    return ResOK;
  }
  return placeNameless(file, place, size);
}

int PlaceAgain(Place place, int fd, int flags)
{
  char name[16];
  TextStruct text;

  TextInit(&text, name, sizeof name);
  TextDecimal(&text, (uint64_t)fd);
  return openat(place->open, TextTerminate(&text), flags | O_CLOEXEC);
}

void PlaceRemove(PlaceFile file)
{
  char link[sizeof file->name + sizeof RegionLINK];

  if (file->folder >= 0)
    (void)unlinkat(file->folder, file->name, 0);
  if (file->linked)
    (void)unlinkat(file->folder, placeLink(link, sizeof link, file), 0);
  file->folder = -1;
  file->linked = FALSE;
}

void PlaceDrop(PlaceFile file)
{
  if (file->fd >= 0)
    (void)close(file->fd);
  if (file->locked >= 0)
    (void)close(file->locked);
  file->fd = file->locked = -1;
}

Bool PlaceGoesRound(Place place)
{
  char name[RegionStillMAX];
  struct stat status;
  TextStruct text;

  TextInit(&text, name, sizeof name);
  RegionStillWrite(&text, place->recording);
  /* A notice is a link; what is none is not of the family, and stays. */
  return place->memory >= 0 && fstatat(place->memory, TextTerminate(&text), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode) && unlinkat(place->memory, TextTerminate(&text), 0) == 0;
}
