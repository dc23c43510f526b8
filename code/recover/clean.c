/* clean.c -- removes what dead recordings have left in shared memory, and adds it to their logs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "format/region.h"
#include "recover/orphanregion.h"
#include "recover/recover.h"
#include "recover/regionplace.h"

#define cleanOVER "its beginning was written over by the program, so that nothing can be read of it"
#define cleanFOLDER "/dev/shm"

enum { cleanTriesMAX = 100 }; /* of 10 ms each */

/* A region that nobody has. */
typedef struct CleanStruct {
  char path[sizeof cleanFOLDER + 256], link[sizeof cleanFOLDER + 264];
  uint64_t recording;
  Bool alone;             /* a link without a region */
  Bool over, young;       /* nothing can be read of it; it was made just now */
  Bool collected;         /* a collector that lives has it, and has not taken what it holds */
  int failed;             /* why it cannot be read, as long as that is so: errno; 0: it can be */
  uint32_t pid;
  double hours, mebibytes;
  char log[RegionPathMAX];
} CleanStruct, *Clean;

/* cleanNobodys -- has no collector that lives the region of a process that is dead?  Or it has, and leaves the events there: it comes
 * to them in a moment, for which we wait, a second for all regions, and without the lock, for which it looks. */
static Bool cleanNobodys(Clean clean, OrphanRegion region)
{
  static const struct timespec moment = {0, 10000000};
  static unsigned tries;
  struct stat status;

  while (OrphanRegionCollector(region) == OrphanCollectorLIVES && !clean->collected) {
    if (OrphanRegionEvents(region) == 0)
      return FALSE;
    (void)flock(region->fd, LOCK_UN);
    (void)nanosleep(&moment, NULL);
    if (fstat(region->fd, &status) != 0 || status.st_nlink == 0 || !OrphanRegionRead(region) ||
        flock(region->fd, LOCK_SH | LOCK_NB) != 0)
      return FALSE;
    clean->collected = ++tries > cleanTriesMAX;
  }
  return TRUE;
}

/* cleanLink -- for which log the region was made, as the link beside it says, which must be ours, too; "": none */
static void cleanLink(Clean clean)
{
  struct stat status;
  ssize_t length = -1;

  (void)snprintf(clean->link, sizeof clean->link, "%s" RegionLINK, clean->path);
  if (lstat(clean->link, &status) == 0 && status.st_uid == geteuid())
    length = readlink(clean->link, clean->log, sizeof clean->log - 1);
  else
    errno = ENOENT;
  if (length < 0 && errno != ENOENT && errno != EINVAL)
    clean->failed = errno;
  clean->log[length > 0 ? length : 0] = '\0';
}

/* cleanRead -- is it a region of ours, or what was to become one, and nobody's who lives? */
static Bool cleanRead(Clean clean, int fd, const struct stat *status, uint32_t pid)
{
  static OrphanRegionStruct region;
  Bool read;

  region.fd = fd;
  clean->pid = pid;
  read = OrphanRegionRead(&region);
  if (read || region.failed != 0) {
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
      return FALSE;
    if (read && !cleanNobodys(clean, &region)) {
      (void)flock(fd, LOCK_UN);
      return FALSE;
    }
  } else if (!OrphanRegionUnborn(&region, status, pid)) {
    clean->over = region.failed == 0 && OrphanRegionOver(&region, status, pid);
    if (!clean->over && region.failed == 0)
      return FALSE;
  }
  clean->failed = region.failed;
  clean->young = OrphanRegionYoung(status);
  clean->hours = difftime(time(NULL), status->st_mtime) / 3600;
  clean->mebibytes = (double)status->st_blocks * 512 / (1 << 20);
  cleanLink(clean);
  /* Whoever takes what it holds locks it again. */
  (void)flock(fd, LOCK_UN);
  return TRUE;
}

/* cleanEvents -- how many events a region holds that were to be sent, or counts as lost; ResIO, with errno: that cannot
 * be read */
static Res cleanEvents(Count *countReturn, Clean clean)
{
  RegionPlaceStruct place = {.at = AT_FDCWD, .file = clean->path};
  static TableStruct none;
  static OrphanRegionStruct region = {.table = &none};
  struct stat status;

  *countReturn = 0;
  region.fd = RegionPlaceOpen(&status, &place, FALSE, geteuid());
  if (region.fd < 0)
    return errno == ENOENT ? ResOK : ResIO;
  region.spoiled = 0;
  if (OrphanRegionRead(&region)) {
    *countReturn = OrphanRegionEvents(&region);
    *countReturn += (Count)OrphanRegionLost(&region);
  }
  (void)close(region.fd);
  errno = region.failed;
  return region.failed == 0 ? ResOK : ResIO;
}

/* cleanDrop -- remove a region that no log has, for the reason `why`; what is lost with it, in words */
static Res cleanDrop(Clean clean, char *room, Size size, const char *why)
{
  int length = snprintf(room, size, "%s", why);
  Count events;

  if (cleanEvents(&events, clean) != ResOK) {
    (void)snprintf(room + length, size - (Size)length,
                   ", and it cannot be read: %s; it stays, and is removed by: rm %s*", strerror(errno), clean->path);
    return ResIO;
  }
  if (clean->over)
    (void)snprintf(room + length, size - (Size)length, ", and " cleanOVER "; removed");
  else if (events > 0)
    (void)snprintf(room + length, size - (Size)length, ", and %zu event%s with it; removed", events,
                   TextPlural(events));
  else
    (void)snprintf(room + length, size - (Size)length, "; nothing was in it; removed");
  if (unlink(clean->path) != 0 && errno != ENOENT)
    return ResIO;
  (void)unlink(clean->link);
  return ResOK;
}

/* cleanSpoiled -- what was done, and how many events nobody can add */
static void cleanSpoiled(char *room, Size size, const char *done, uint64_t spoiled)
{
  int length = snprintf(room, size, "%s", done);

  if (spoiled > 0 && length >= 0 && (Size)length < size)
    (void)snprintf(room + length, size - (Size)length, "; %llu event%s lost, because the program had written over blocks",
                   (unsigned long long)spoiled, spoiled == 1 ? " is" : "s are");
}

/* cleanRefused -- what a region holds cannot be added to its log: why, in words */
static void cleanRefused(Clean clean, char *room, Size size, Bool empty)
{
  (void)snprintf(room, size, "it cannot be added to the log: %s; it stays, and is removed by: rm %s*",
                 !empty ? "that is of another recording"
                        : "nothing in it says that it is its own, and links lead there (eventrec --clean adds to an "
                          "empty log that is named by its path without links), or it was not there yet, or "
                          "its file system does not tell",
                 clean->path);
}

/* cleanAdded -- what a region holds was to come to its log: how that went, in words */
static Res cleanAdded(Clean clean, char *room, Size size, Res res, Recovered recovered, const char *reason)
{
  Bool stays = access(clean->path, F_OK) == 0;

  if (recovered->unread != 0) {
    (void)snprintf(room, size, "%s: not all that its recording left can be read: %s",
                   stays ? "it stays" : "added to the log; removed", strerror(recovered->unread));
    return ResIO;
  }
  if (res != ResOK || stays) {
    (void)snprintf(room, size, "it cannot be added to the log: %s; it stays", reason);
    return ResIO;
  }
  cleanSpoiled(room, size, clean->over ? cleanOVER "; removed" : "added to the log; removed", recovered->spoiled);
  return ResOK;
}

/* cleanLog -- take what a region holds into its log, which is there */
static Res cleanLog(Clean clean, char *room, Size size, Bool empty)
{
  RecoveredStruct recovered = {0};
  const char *reason;
  Count events;
  Bool certain;
  int log = RegionPlaceAppend(&certain, clean->log, clean->recording);
  Res res = log < 0 ? ResIO : LogRecover(log, certain, clean->log, clean->recording, NULL, FALSE, &recovered);

  reason = log < 0 && errno == ELOOP ? "that is a link, which is not followed" : strerror(errno);
  if (log >= 0)
    (void)close(log);
  if (res != ResPARAM)
    return cleanAdded(clean, room, size, res, &recovered, reason);
  if (empty && !clean->over && cleanEvents(&events, clean) == ResOK && events == 0)
    return cleanDrop(clean, room, size, "its log is empty");
  cleanRefused(clean, room, size, empty);
  return ResIO;
}

/* cleanOne -- take what a region holds into its log, and remove it; how that went, in words */
static Res cleanOne(Clean clean, char *room, Size size)
{
  struct stat status;

  if (clean->alone) {
    (void)snprintf(room, size, "its region is gone; removed");
    return unlink(clean->link) == 0 || errno == ENOENT ? ResOK : ResIO;
  }
  if (clean->collected) {
    (void)snprintf(room, size, "it stays: an eventrec that lives is to add it to the log, and has not for a second");
    return ResIO;
  }
  if (clean->over && clean->young) {
    (void)snprintf(room, size, cleanOVER "; it stays until it is a minute old");
    return ResIO;
  }
  /* It may have been added along with another one of the same log. */
  if (clean->failed != 0 && access(clean->path, F_OK) == 0) {
    (void)snprintf(room, size, "it cannot be read: %s; it stays", strerror(clean->failed));
    return ResIO;
  }
  if (clean->log[0] == '\0')
    return cleanDrop(clean, room, size, "it was to be sent elsewhere");
  if (stat(clean->log, &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return cleanDrop(clean, room, size, "its log is gone");
    (void)snprintf(room, size, "it cannot be added to the log: %s; it stays", strerror(errno));
    return ResIO;
  }
  return cleanLog(clean, room, size, status.st_size == 0);
}

/* cleanAlone -- is it a link of ours that a region had, which is gone?  Where its process runs, the region may be about to be made. */
static Bool cleanAlone(Clean clean, const char *file)
{
  Size length = strlen(file), end = sizeof RegionLINK - 1;
  RegionNameStruct name;
  struct stat status;

  if (length <= end || strcmp(file + length - end, RegionLINK) != 0)
    return FALSE;
  (void)snprintf(clean->path, sizeof clean->path, "%s/%.*s", cleanFOLDER, (int)(length - end), file);
  if (!RegionNameParse(&name, clean->path + sizeof cleanFOLDER) || name.log != 0 ||
      lstat(clean->path, &status) == 0 || errno != ENOENT)
    return FALSE;
  cleanLink(clean);
  clean->recording = name.recording;
  clean->pid = name.pid;
  clean->alone = clean->log[0] != '\0' && !OrphanRegionRuns(name.pid);
  return clean->alone;
}

/* cleanRegion -- is a file in the folder `at` a region that nobody has? */
static Bool cleanRegion(Clean clean, int at, const char *file)
{
  RegionPlaceStruct place = {.at = at, .file = file};
  struct stat status;
  Bool ours;
  int fd;

  if (!RegionNameParse(&place.name, file) || place.name.log != 0)
    return FALSE;
  clean->recording = place.name.recording;
  (void)snprintf(clean->path, sizeof clean->path, "%s/%s", cleanFOLDER, file);
  fd = RegionPlaceOpen(&status, &place, TRUE, geteuid());
  ours = fd >= 0 && cleanRead(clean, fd, &status, place.name.pid);
  if (fd >= 0)
    (void)close(fd);
  return ours;
}

/* cleanList -- all that there are; ResMEMORY */
static Res cleanList(Clean *listReturn, Count *countReturn)
{
  DIR *dir = opendir(cleanFOLDER);
  struct dirent *entry;
  Clean list = NULL;
  Count count = 0, capacity = 0;

  while (dir != NULL && (entry = readdir(dir)) != NULL) {
    if (strncmp(entry->d_name, RegionPREFIX, sizeof RegionPREFIX - 1) != 0)
      continue;
    if (!Grow(&list, &capacity, count, sizeof *list)) {
      free(list);
      (void)closedir(dir);
      return ResMEMORY;
    }
    memset(&list[count], 0, sizeof *list);
    count += cleanRegion(&list[count], dirfd(dir), entry->d_name) || cleanAlone(&list[count], entry->d_name);
  }
  if (dir != NULL)
    (void)closedir(dir);
  *listReturn = list;
  *countReturn = count;
  return ResOK;
}

Res CleanRegions(CleanChoose choose, void (*tell)(void *data, const char *line), void *data, Count *removedReturn)
{
  char line[2 * RegionPathMAX], how[640];
  Clean list;
  Count count;
  Index i;
  Res res = cleanList(&list, &count);

  *removedReturn = 0;
  if (res != ResOK)
    return res;
  for (i = 0; i < count; ++i) {
    Clean clean = &list[i];
    const char *log = choose != NULL ? choose(data, clean->log, clean->recording) : clean->log;
    Res its;
    if (log == NULL || strlen(log) >= sizeof clean->log)
      continue;
    if (log != clean->log)
      (void)strcpy(clean->log, log);
    its = cleanOne(clean, how, sizeof how);
    (void)snprintf(line, sizeof line, "%s: of process %lu, %.1f MiB, %.1f h old, log %s: %s",
                   clean->alone ? clean->link : clean->path, (unsigned long)clean->pid, clean->mebibytes, clean->hours,
                   clean->log[0] != '\0' ? clean->log : "none", how);
    tell(data, line);
    *removedReturn += its == ResOK;
    res = its == ResOK ? res : its;
  }
  free(list);
  return res;
}

Res CleanAdd(const char *log)
{
  RecoveredStruct recovered;
  Bool certain;
  int fd = RegionPlaceAppend(&certain, log, 0);
  Res res;

  if (fd < 0)
    return ResOK;
  res = LogRecover(fd, FALSE, log, 0, NULL, TRUE, &recovered);
  (void)close(fd);
  return res == ResPARAM ? ResOK : res;
}

Res CleanBeside(const char *log, void (*tell)(void *data, const char *line), void *data)
{
  char line[2 * PATH_MAX + RegionPathMAX], done[128], how[256];
  RecoveredStruct recovered;
  Bool certain;
  int fd = RegionPlaceAppend(&certain, log, 0);
  Res res;

  if (fd < 0)
    return ResPARAM;
  res = LogRecover(fd, certain, log, 0, NULL, FALSE, &recovered);
  (void)close(fd);
  if (res == ResPARAM) {
    errno = EINVAL;
    return res;
  }
  if (recovered.elsewhere) {
    (void)snprintf(line, sizeof line, "%s: what its recording left is for %s: eventrec --clean adds it there", log, recovered.log);
    tell(data, line);
  }
  if (res == ResOK && recovered.blocks == 0 && recovered.spoiled == 0)
    return ResOK;
  (void)snprintf(done, sizeof done, "%zu block%s that lay beside it added", recovered.blocks,
                 TextPlural(recovered.blocks));
  cleanSpoiled(how, sizeof how, done, recovered.spoiled);
  if (res == ResOK)
    (void)snprintf(line, sizeof line, "%s: %s", log, how);
  else if (recovered.unread != 0)
    (void)snprintf(line, sizeof line, "%s: not all that its recording left can be read: %s", log,
                   strerror(recovered.unread));
  else
    (void)snprintf(line, sizeof line, "%s: what lies beside it cannot be added: %s", log, strerror(errno));
  tell(data, line);
  return res;
}
