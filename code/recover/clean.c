/* clean.c -- removes the regions that dead recordings have left in RegionFOLDER, after their contents are in their logs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
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
#include "recover/recoverlog.h"
#include "recover/regionfile.h"

#define cleanHEADLESS \
  "its beginning was written over, or its file cut, by the program, so that nothing can be read of it"

enum { cleanTriesMAX = 100 }; /* of 10 ms each */

/* A region or link of a process that is dead. */
typedef struct CleanStruct {
  char path[sizeof RegionFOLDER + 256], link[sizeof RegionFOLDER + 264];
  uint64_t recording;
  uint64_t sender;        /* identity of its process, if that sent to receivers by itself; 0 */
  uint32_t pid;
  Bool alone;             /* a link without a region */
  Bool headless, young;   /* the program has written over its header; it was changed within the last minute */
  Bool collected;         /* a living collector should take its events, and has not */
  int failed;             /* errno if it cannot be read; 0: it can be */
  double hours, mebibytes;
  char log[RegionPathMAX];
  char said[640];         /* what has become of it, for people */
} CleanStruct, *Clean;

/* cleanSay -- append to what has become of a region, and return `res` */
static __attribute__((format(printf, 3, 4))) Res cleanSay(Clean clean, Res res, const char *format, ...)
{
  Size length = strlen(clean->said);
  va_list args;

  va_start(args, format);
  (void)vsnprintf(clean->said + length, sizeof clean->said - length, format, args);
  va_end(args);
  return res;
}

/* ---- Finding ---- */

/* cleanNobodys -- is no living collector going to take what is in the region?  A collector that has not come to its
 * events yet is waited for, a second for all regions together, without holding the lock, which it looks at. */
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

/* cleanLink -- find the log that the region was made for, as the link beside it says, if we own that link; "": none */
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

/* cleanIsOrphan -- is an open file a region, or what was to become one, that no living process uses?  Locks it if
 * so. */
static Bool cleanIsOrphan(Clean clean, OrphanRegion region, RegionFile file)
{
  OrphanKind kind = OrphanRegionKind(region, file);

  clean->headless = kind == OrphanHEADLESS;
  if (kind != OrphanREGION && kind != OrphanUNREAD)
    return kind != OrphanOTHER;
  return flock(region->fd, LOCK_SH | LOCK_NB) == 0 && (kind == OrphanUNREAD || cleanNobodys(clean, region));
}

/* cleanRegion -- is a file in the folder `at` a region that no living process uses? */
static Bool cleanRegion(Clean clean, int at, const char *name)
{
  static OrphanRegionStruct region;
  RegionFileStruct file = {.at = at, .file = name};
  Bool orphan;

  if (!RegionNameParse(&file.name, name) || file.name.log != 0 || !OrphanRegionOpen(&region, &file, TRUE, geteuid()))
    return FALSE;
  clean->recording = file.name.recording;
  clean->pid = file.name.pid;
  (void)snprintf(clean->path, sizeof clean->path, RegionFOLDER "/%s", name);
  orphan = cleanIsOrphan(clean, &region, &file);
  clean->failed = region.failed;
  if (orphan && !clean->headless && region.failed == 0 && OrphanRegionSender(&region))
    clean->sender = region.header.identity;
  clean->young = OrphanRegionYoung(&file);
  clean->hours = difftime(time(NULL), file.status.st_mtime) / 3600;
  clean->mebibytes = (double)file.status.st_blocks * 512 / (1 << 20);
  cleanLink(clean);
  (void)close(region.fd); /* which unlocks it: RecoverLog will lock it again */
  return orphan;
}

/* cleanAlone -- is it a link of ours without a region?  While its process runs, the region may be about to be made. */
static Bool cleanAlone(Clean clean, const char *file)
{
  Size length = strlen(file), end = sizeof RegionLINK - 1;
  RegionNameStruct name;
  struct stat status;

  if (length <= end || strcmp(file + length - end, RegionLINK) != 0)
    return FALSE;
  (void)snprintf(clean->path, sizeof clean->path, RegionFOLDER "/%.*s", (int)(length - end), file);
  if (!RegionNameParse(&name, clean->path + sizeof RegionFOLDER) || name.log != 0 ||
      lstat(clean->path, &status) == 0 || errno != ENOENT)
    return FALSE;
  cleanLink(clean);
  clean->recording = name.recording;
  clean->pid = name.pid;
  clean->alone = clean->log[0] != '\0' && lstat(clean->link, &status) == 0 &&
                 !OrphanRegionRuns(name.pid, status.st_mtime);
  return clean->alone;
}

/* cleanList -- all regions and links of dead processes; ResMEMORY */
static Res cleanList(Clean *listReturn, Count *countReturn)
{
  DIR *dir = opendir(RegionFOLDER);
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

/* ---- Adding and removing ---- */

/* cleanEvents -- how many events a region holds that were to be sent, or counts as lost; ResIO with errno: it cannot be
 * read */
static Res cleanEvents(Count *countReturn, Clean clean)
{
  static TableStruct none;
  static OrphanRegionStruct region;
  RegionFileStruct file = {.at = AT_FDCWD, .file = clean->path};

  *countReturn = 0;
  region.table = &none;
  if (!OrphanRegionOpen(&region, &file, FALSE, geteuid()))
    return errno == ENOENT ? ResOK : ResIO;
  if (OrphanRegionRead(&region)) {
    *countReturn = OrphanRegionEvents(&region);
    *countReturn += (Count)OrphanRegionLost(&region);
  }
  (void)close(region.fd);
  errno = region.failed;
  return region.failed == 0 ? ResOK : ResIO;
}

/* cleanDrop -- remove a region whose events no log will get, for the reason `why` */
static Res cleanDrop(Clean clean, const char *why)
{
  Count events;

  if (cleanEvents(&events, clean) != ResOK)
    return cleanSay(clean, ResIO, "%s, and it cannot be read: %s; it stays, and is removed by: rm %s*", why,
                    strerror(errno), clean->path);
  if (clean->headless)
    (void)cleanSay(clean, ResOK, "%s, and " cleanHEADLESS "; removed", why);
  else if (events > 0)
    (void)cleanSay(clean, ResOK, "%s, and %zu event%s with it; removed", why, events, TextPlural(events));
  else
    (void)cleanSay(clean, ResOK, "%s; nothing was in it; removed", why);
  if (unlink(clean->path) != 0 && errno != ENOENT)
    return ResIO;
  (void)unlink(clean->link);
  return ResOK;
}

/* cleanSpoiled -- say what was done, and how many events could not be added */
static void cleanSpoiled(Clean clean, const char *done, uint64_t spoiled)
{
  (void)cleanSay(clean, ResOK, "%s", done);
  if (spoiled > 0)
    (void)cleanSay(clean, ResOK, "; %llu event%s lost, because the program had written over blocks",
                   (unsigned long long)spoiled, spoiled == 1 ? " is" : "s are");
}

/* cleanAdded -- RecoverLog was to add a region to its log: what has become of it? */
static Res cleanAdded(Clean clean, Res res, Recovered recovered, const char *reason)
{
  Bool stays = access(clean->path, F_OK) == 0;

  if (recovered->unread != 0)
    return cleanSay(clean, ResIO, "%s: not all that its recording left can be read: %s",
                    stays ? "it stays" : "added to the log; removed", strerror(recovered->unread));
  if (res != ResOK || stays)
    return cleanSay(clean, ResIO, "it cannot be added to the log: %s; it stays", reason);
  cleanSpoiled(clean, clean->headless ? cleanHEADLESS "; removed" : "added to the log; removed", recovered->spoiled);
  return ResOK;
}

/* cleanLog -- add a region to its log, which exists */
static Res cleanLog(Clean clean, Bool empty)
{
  RecoveredStruct recovered = {0};
  const char *reason;
  Count events;
  Bool certain;
  int log = RegionFileAppend(&certain, clean->log, clean->recording);
  Res res = log < 0 ? ResIO : RecoverLog(log, certain, clean->log, clean->recording, NULL, FALSE, &recovered);

  reason = log < 0 && errno == ELOOP ? "that is a link, which is not followed" : strerror(errno);
  if (log >= 0)
    (void)close(log);
  if (res != ResPARAM)
    return cleanAdded(clean, res, &recovered, reason);
  if (empty && !clean->headless && cleanEvents(&events, clean) == ResOK && events == 0)
    return cleanDrop(clean, "its log is empty");
  return cleanSay(clean, ResIO, "it cannot be added to the log: %s; it stays, and is removed by: rm %s*",
                  !empty ? "that is of another recording"
                         : "nothing in it says that it is its own, and links lead there (eventrec --clean adds to an "
                           "empty log that is named by its path without links), or it was not there yet, or "
                           "its file system does not tell",
                  clean->path);
}

/* cleanOne -- add a region to its log, and remove it */
static Res cleanOne(Clean clean)
{
  struct stat status;

  if (clean->alone)
    return cleanSay(clean, unlink(clean->link) == 0 || errno == ENOENT ? ResOK : ResIO, "its region is gone; removed");
  if (clean->collected)
    return cleanSay(clean, ResIO, "it stays: an eventrec that lives is to add it to the log, and has not for a second");
  if (clean->headless && clean->young)
    return cleanSay(clean, ResIO, cleanHEADLESS "; it stays until it is a minute old");
  /* It may have been added along with another region of the same log. */
  if (clean->failed != 0 && access(clean->path, F_OK) == 0)
    return cleanSay(clean, ResIO, "it cannot be read: %s; it stays", strerror(clean->failed));
  if (clean->log[0] == '\0')
    return cleanDrop(clean, "it was to be sent elsewhere");
  if (stat(clean->log, &status) == 0)
    return cleanLog(clean, status.st_size == 0);
  if (errno == ENOENT || errno == ENOTDIR)
    return cleanDrop(clean, "its log is gone");
  return cleanSay(clean, ResIO, "it cannot be added to the log: %s; it stays", strerror(errno));
}

Res CleanRegions(CleanChoose choose, void (*tell)(void *data, const char *line), void *data, Count *removedReturn)
{
  char line[2 * RegionPathMAX + 640];
  Clean list;
  Count count;
  Index i;
  Res res = cleanList(&list, &count);

  *removedReturn = 0;
  if (res != ResOK)
    return res;
  for (i = 0; i < count; ++i) {
    Clean clean = &list[i];
    const char *log = choose != NULL ? choose(data, clean->log, clean->recording, clean->sender) : clean->log;
    Res its;
    if (log == NULL || strlen(log) >= sizeof clean->log)
      continue;
    if (log != clean->log)
      (void)strcpy(clean->log, log);
    its = cleanOne(clean);
    (void)snprintf(line, sizeof line, "%s: of process %lu, %.1f MiB, %.1f h old, log %s: %s",
                   clean->alone ? clean->link : clean->path, (unsigned long)clean->pid, clean->mebibytes, clean->hours,
                   clean->log[0] != '\0' ? clean->log : "none", clean->said);
    tell(data, line);
    *removedReturn += its == ResOK;
    res = its == ResOK ? res : its;
  }
  free(list);
  return res;
}

/* cleanRecover -- RecoverLog for the log at a path, of all its recordings; ResPARAM with errno: it cannot be opened, or
 * is no log */
static Res cleanRecover(const char *log, Bool keep, Recovered recoveredReturn)
{
  Bool certain;
  int fd = RegionFileAppend(&certain, log, 0);
  Res res = ResPARAM;

  if (fd >= 0) {
    res = RecoverLog(fd, FALSE, log, 0, NULL, keep, recoveredReturn);
    (void)close(fd);
    if (res == ResPARAM)
      errno = EINVAL;
  }
  return res;
}

Res CleanAdd(const char *log)
{
  RecoveredStruct recovered;
  Res res = cleanRecover(log, TRUE, &recovered);

  return res == ResPARAM ? ResOK : res;
}

Res CleanBeside(const char *log, void (*tell)(void *data, const char *line), void *data)
{
  char line[2 * PATH_MAX + RegionPathMAX], done[128];
  CleanStruct clean = {.said = ""};
  RecoveredStruct recovered;
  Res res = cleanRecover(log, FALSE, &recovered);

  if (res == ResPARAM)
    return res;
  if (recovered.elsewhere) {
    (void)snprintf(line, sizeof line, "%s: what its recording left is for %s: eventrec --clean adds it there", log,
                   recovered.log);
    tell(data, line);
  }
  if (res == ResOK && recovered.blocks == 0 && recovered.spoiled == 0)
    return ResOK;
  (void)snprintf(done, sizeof done, "%zu block%s that lay beside it added", recovered.blocks,
                 TextPlural(recovered.blocks));
  if (res == ResOK)
    cleanSpoiled(&clean, done, recovered.spoiled);
  else if (recovered.unread != 0)
    (void)cleanSay(&clean, res, "not all that its recording left can be read: %s", strerror(recovered.unread));
  else
    (void)cleanSay(&clean, res, "what lies beside it cannot be added: %s", strerror(errno));
  (void)snprintf(line, sizeof line, "%s: %s", log, clean.said);
  tell(data, line);
  return res;
}
