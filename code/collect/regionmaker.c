/* regionmaker.c -- where the collector makes regions, and removes them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/regionmaker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "log/logfile.h"

enum { regionMakerTriesMAX = 64, regionMakerHeadSIZE = offsetof(RegionHeaderStruct, tickets) };

/* regionMakerFolder -- a folder, for openat alone; -1 */
static int regionMakerFolder(const char *path)
{
  return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int FolderOpen(const char **nameReturn, const char *path)
{
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX];

  *nameReturn = slash != NULL ? slash + 1 : path;
  if (slash == NULL)
    return regionMakerFolder(".");
  if (snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + (slash == path)), path) >= (int)sizeof folder) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return regionMakerFolder(folder);
}

void RegionMakerOpen(RegionMaker maker, uint64_t recording, const char *log)
{
  const char *name;

  maker->recording = recording;
  maker->memory = regionMakerFolder(RegionFOLDER);
  maker->beside = -1;
  maker->log[0] = '\0';
  if (log == NULL || log[0] != '/' || strlen(log) >= sizeof maker->log)
    return;
  (void)strcpy(maker->log, log);
  maker->beside = FolderOpen(&name, log);
}

void RegionMakerClose(RegionMaker maker)
{
  if (maker->memory >= 0)
    (void)close(maker->memory);
  if (maker->beside >= 0)
    (void)close(maker->beside);
  maker->memory = maker->beside = -1;
}

/* regionMakerSize -- lock the file, then make it that long.  Only its beginning is allocated; the rest takes no room
 * until it is touched.  A second lock, which ends with our process, says that the file's collector lives.  ResIO: it
 * failed, and the file is closed. */
static Res regionMakerSize(MadeRegion file, Size size)
{
  struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  int error;

  file->locked = FileAgain(file->fd, O_RDWR);
  if (file->locked >= 0 && flock(file->locked, LOCK_EX | LOCK_NB) == 0 && fcntl(file->fd, F_OFD_SETLK, &all) == 0 &&
      ftruncate(file->fd, (off_t)size) == 0 &&
      (fallocate(file->fd, 0, 0, regionMakerHeadSIZE) == 0 || errno == EOPNOTSUPP))
    return ResOK;
  error = errno;
  MadeRegionDrop(file);
  errno = error;
  return ResIO;
}

/* regionMakerName -- what the file is called, in its folder */
static Bool regionMakerName(MadeRegion file, RegionMaker maker, pid_t pid, unsigned number)
{
  RegionNameStruct name = {.recording = maker->recording, .pid = (uint32_t)pid, .number = number};
  TextStruct text;

  TextInit(&text, file->name, sizeof file->name - (sizeof RegionLINK - 1));
  RegionNameWrite(&text, &name, file->folder == maker->memory ? NULL : strrchr(maker->log, '/') + 1);
  (void)TextTerminate(&text);
  return !text.overflow;
}

/* regionMakerLink -- the name of the link beside a region */
static const char *regionMakerLink(char *room, Size size, MadeRegion file)
{
  (void)snprintf(room, size, "%s%s", file->name, RegionLINK);
  return room;
}

/* regionMakerTry -- make it in one folder
 *
 * The link is made before the region: so there is never a region of which nobody knows what log it is for. */
static Res regionMakerTry(MadeRegion file, RegionMaker maker, int folder, pid_t pid, Size size)
{
  char link[sizeof file->name + sizeof RegionLINK];
  Bool links = folder == maker->memory && maker->log[0] != '\0', made;
  unsigned number;
  int error;

  file->folder = folder;
  errno = ENAMETOOLONG;
  for (number = 0; number < regionMakerTriesMAX && regionMakerName(file, maker, pid, number); ++number) {
    file->linked = links && symlinkat(maker->log, folder, regionMakerLink(link, sizeof link, file)) == 0;
    file->fd = -1;
    if (links && !file->linked && errno == EEXIST)
      continue; /* it is the link of another region, which was removed; the link is about to be */
    file->fd = openat(folder, file->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    made = file->fd >= 0;
    if (made && regionMakerSize(file, size) == ResOK)
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

/* regionMakerNameless -- a file that nobody can find but by its descriptor */
static Res regionMakerNameless(MadeRegion file, Size size)
{
  file->folder = -1;
  file->linked = FALSE;
  file->fd = memfd_create(RegionNAMELESS, MFD_CLOEXEC);
  if (file->fd < 0)
    return ResIO;
  return regionMakerSize(file, size);
}

Res RegionMakerMake(MadeRegion file, char *path, RegionMaker maker, pid_t pid, Size size)
{
  const char *slash = strrchr(maker->log, '/');

  AVER(size >= RegionFIRST && RegionMakerCheck(maker));
  path[0] = '\0';
  file->fd = file->locked = -1;
  if (maker->memory >= 0 && regionMakerTry(file, maker, maker->memory, pid, size) == ResOK) {
    (void)snprintf(path, RegionPathMAX, "%s/%s", RegionFOLDER, file->name);
    return ResOK;
  }
  if (maker->beside >= 0 && (Size)(slash - maker->log) + sizeof file->name < RegionPathMAX &&
      regionMakerTry(file, maker, maker->beside, pid, size) == ResOK) {
    (void)snprintf(path, RegionPathMAX, "%.*s%s", (int)(slash + 1 - maker->log), maker->log, file->name);
    return ResOK;
  }
  return regionMakerNameless(file, size);
}

void MadeRegionRemove(MadeRegion file)
{
  char link[sizeof file->name + sizeof RegionLINK];

  AVER(MadeRegionCheck(file));
  if (file->folder >= 0)
    (void)unlinkat(file->folder, file->name, 0);
  if (file->linked)
    (void)unlinkat(file->folder, regionMakerLink(link, sizeof link, file), 0);
  file->folder = -1;
  file->linked = FALSE;
}

void MadeRegionDrop(MadeRegion file)
{
  if (file->fd >= 0)
    (void)close(file->fd);
  if (file->locked >= 0)
    (void)close(file->locked);
  file->fd = file->locked = -1;
}

/* What became of a link that the family may have left. */
typedef enum regionMakerLeft { regionMakerNONE, regionMakerTAKEN, regionMakerSTAYS } regionMakerLeft;

/* regionMakerTake -- read and remove a link that the family has left.  What is no link is not of the family; a link
 * that another user has made stays, unless we are root. */
static regionMakerLeft regionMakerTake(char target[RegionPathMAX], uid_t *userReturn, RegionMaker maker,
                                       unsigned number)
{
  char name[RegionLeftMAX];
  struct stat status;
  TextStruct text;
  ssize_t length;

  TextInit(&text, name, sizeof name);
  RegionLeftWrite(&text, maker->recording, number);
  if (maker->memory < 0 || fstatat(maker->memory, TextTerminate(&text), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISLNK(status.st_mode))
    return regionMakerNONE;
  length = readlinkat(maker->memory, name, target, RegionPathMAX - 1);
  target[length > 0 ? length : 0] = '\0';
  *userReturn = status.st_uid;
  return unlinkat(maker->memory, name, 0) == 0 ? regionMakerTAKEN : regionMakerSTAYS;
}

Bool RegionMakerGoesRound(RegionMaker maker)
{
  char log[RegionPathMAX];
  uid_t user;

  return regionMakerTake(log, &user, maker, RegionStillNUMBER) == regionMakerTAKEN;
}

Bool RegionMakerNotes(RegionMaker maker, Bool last)
{
  char word[RegionPathMAX];
  uid_t user;
  regionMakerLeft left = regionMakerTake(word, &user, maker, RegionNotesNUMBER);

  return left == regionMakerTAKEN || (left == regionMakerSTAYS && last);
}

Bool RegionMakerNote(RegionMeet note, uid_t *userReturn, RegionMaker maker, Index i)
{
  char text[RegionPathMAX];
  regionMakerLeft left;

  AVER(i <= RegionNotesMAX);
  memset(note, 0, sizeof *note);
  left = regionMakerTake(text, userReturn, maker, RegionNoteNUMBER + (unsigned)i);
  if (left != regionMakerTAKEN || i == RegionNotesMAX || !RegionNoteTake(note, text))
    note->note = RegionNoteNONE;
  return left != regionMakerNONE;
}

Bool RegionMakerCheck(const RegionMakerStruct *maker)
{
  return memchr(maker->log, '\0', sizeof maker->log) != NULL && (maker->log[0] == '\0' || maker->log[0] == '/') &&
         (maker->beside < 0 || maker->log[0] != '\0');
}

Bool MadeRegionCheck(const MadeRegionStruct *file)
{
  return memchr(file->name, '\0', sizeof file->name) != NULL && (file->folder < 0 || file->name[0] != '\0') &&
         (!file->linked || file->folder >= 0);
}
