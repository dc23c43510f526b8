/* leftover.c -- what processes that died have left in shared memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "log/leftregion.h"

enum { leftoverNAME = 300 /* bytes of a name in a folder */, leftoverTICK = 20000000 /* ns */ };

/* Processes of which the same is to be told. */
typedef struct leftoverTellStruct {
  Count processes;
  Index file;                      /* of the first, */
  uint32_t pid;                    /* and its number */
  char path[RegionPathMAX + leftoverNAME];
} leftoverTellStruct, *LeftoverTell;

typedef struct leftoverStruct {
  Table table;
  File *file;
  Count files;
  Regions regions;
  Teller teller;
  Count seen, capacity;
  struct { dev_t device; ino_t inode; } *known; /* regions that were looked at; owned */
  leftoverTellStruct running, ending, taken;
  uint64_t events;                 /* taken */
  LeftRegionStruct region;
} leftoverStruct, *Leftover;

static void leftoverCount(Leftover leftover, LeftoverTell tell, Index file, const char *path)
{
  if (tell->processes++ == 0) {
    tell->file = file;
    tell->pid = leftover->region.header.pid;
    (void)snprintf(tell->path, sizeof tell->path, "%s", path);
  }
}

/* leftoverIsNew -- a file that was not looked at yet; from now on it was */
static Bool leftoverIsNew(Leftover leftover, const struct stat *status)
{
  Index i;

  for (i = 0; i < leftover->seen; ++i)
    if (leftover->known[i].device == status->st_dev && leftover->known[i].inode == status->st_ino)
      return FALSE;
  if (!Grow(&leftover->known, &leftover->capacity, leftover->seen, sizeof *leftover->known))
    return FALSE;
  leftover->known[leftover->seen].device = status->st_dev;
  leftover->known[leftover->seen++].inode = status->st_ino;
  return TRUE;
}

/* leftoverTail -- the log's last, incomplete block is being written, or in a region, whole: it is no loss */
static void leftoverTail(Regions regions, Index file)
{
  Index i;

  for (i = 0; i < regions->count; ++i)
    if (IndexPlaceFile(regions->region[i].place) == file && regions->region[i].tail && regions->region[i].cut) {
      memmove(&regions->region[i], &regions->region[i + 1], (regions->count - i - 1) * sizeof regions->region[0]);
      --regions->count;
      return;
    }
}

/* leftoverTake -- the region in hand belongs to a log: take what a dead process left there */
static Res leftoverTake(Leftover leftover, Index file, const char *path)
{
  LeftRegion region = &leftover->region;
  File log = leftover->file[file];
  Res res;

  if (flock(region->fd, LOCK_SH | LOCK_NB) != 0) {
    log->live = TRUE;
    leftoverCount(leftover, &leftover->running, file, path);
    return ResOK;
  }
  if (LeftRegionCollected(region)) {
    log->live = TRUE;
    leftoverCount(leftover, &leftover->ending, file, path);
    return ResOK;
  }
  res = LeftRegionTake(region);
  if (res != ResOK)
    return res;
  leftoverTail(leftover->regions, file);
  log->left |= region->taken;
  leftover->events += region->events;
  if (region->events > 0)
    leftoverCount(leftover, &leftover->taken, file, path);
  return ResOK;
}

/* leftoverMissing -- a region that a header names is not to be had: `reason` says why */
static void leftoverMissing(Leftover leftover, Process process, int reason)
{
  Header header = &process->public.header;
  const char *log = leftover->teller->paths[process->file];

  if (reason != ENOENT && reason != ENOTDIR)
    TellerNote(leftover->teller, "%s: the newest events of process %u may be in %s, which cannot be read: %s", log,
               header->pid, header->region, strerror(reason));
  else if (!process->recovered)
    TellerNote(leftover->teller,
               "%s: process %u did not end normally, and its newest events are missing: they were in %s, which is gone",
               log, header->pid, header->region);
}

/* leftoverOpen -- a file that may be a region; -1 with errno set */
static int leftoverOpen(const char *path)
{
  return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* leftoverNamed -- the region that a process's header names */
static Res leftoverNamed(Leftover leftover, Process process)
{
  Header header = &process->public.header;
  struct stat status;
  Res res = ResOK;
  int fd;

  /* What a process had whose header is in a core file was taken with that. */
  if (!process->headed || header->region[0] != '/' || leftover->file[process->file]->core)
    return ResOK;
  fd = leftoverOpen(header->region);
  if (fd < 0) {
    leftoverMissing(leftover, process, errno);
    return ResOK;
  }
  leftover->region.fd = fd;
  if (fstat(fd, &status) == 0 && LeftRegionRead(&leftover->region) &&
      leftover->region.header.identity == header->identity && leftoverIsNew(leftover, &status))
    res = leftoverTake(leftover, process->file, header->region);
  (void)close(fd);
  return res;
}

/* leftoverBirth -- when a file was made, in ns; 0: its file system does not say */
static int64_t leftoverBirth(int fd)
{
  struct statx status;

  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || (status.stx_mask & STATX_BTIME) == 0)
    return 0;
  return (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

/* leftoverOlder -- is a region older than the log?  Then it names another one, that had its inode or path before. */
static Bool leftoverOlder(int region, int log)
{
  int64_t its = leftoverBirth(region), the = leftoverBirth(log);

  /* Files' times go by the system's ticks. */
  return its != 0 && the != 0 && its + leftoverTICK < the;
}

/* leftoverBelongs -- does the region in hand name this log? */
static Bool leftoverBelongs(Leftover leftover, Index file, const char *path, const struct stat *status)
{
  RegionHeader header = &leftover->region.header;
  struct stat log;

  if (fstat(leftover->file[file]->fd, &log) != 0 || (status->st_uid != log.st_uid && status->st_uid != 0) ||
      leftoverOlder(leftover->region.fd, leftover->file[file]->fd))
    return FALSE;
  if (header->device != 0 || header->inode != 0)
    return header->device == log.st_dev && header->inode == log.st_ino;
  return path != NULL && strcmp(header->log, path) == 0;
}

/* leftoverFolder -- the regions in a folder whose names begin so, and that name this log (`path`; NULL: it has none) */
static Res leftoverFolder(Leftover leftover, const char *folder, const char *prefix, Index file, const char *path)
{
  DIR *dir = opendir(folder);
  struct dirent *entry;
  char name[RegionPathMAX + leftoverNAME];
  struct stat status;
  Res res = ResOK;

  while (dir != NULL && res == ResOK && (entry = readdir(dir)) != NULL) {
    int fd;
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
        (Size)snprintf(name, sizeof name, "%s/%s", folder, entry->d_name) >= sizeof name ||
        (fd = leftoverOpen(name)) < 0)
      continue;
    leftover->region.fd = fd;
    if (fstat(fd, &status) == 0 && LeftRegionRead(&leftover->region) &&
        leftoverBelongs(leftover, file, path, &status) && leftoverIsNew(leftover, &status))
      res = leftoverTake(leftover, file, name);
    (void)close(fd);
  }
  if (dir != NULL)
    (void)closedir(dir);
  return res;
}

/* leftoverSearch -- the regions that name a log, although none of its headers may name them */
static Res leftoverSearch(Leftover leftover, Index file)
{
  char *path = realpath(leftover->file[file]->path, NULL), *slash = path != NULL ? strrchr(path, '/') : NULL;
  char folder[RegionPathMAX], prefix[RegionPathMAX];
  Res res = leftoverFolder(leftover, "/dev/shm", "pawprint-", file, path);

  if (res == ResOK && slash != NULL && strlen(path) + sizeof ".region-" < sizeof folder) {
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + (slash == path)), path);
    (void)snprintf(prefix, sizeof prefix, "%s.region-", slash + 1);
    res = leftoverFolder(leftover, folder, prefix, file, path);
  }
  free(path);
  return res;
}

/* leftoverTell -- one line for those who run, one for those who were killed */
static void leftoverTell(Leftover leftover)
{
  LeftoverTell running = &leftover->running, ending = &leftover->ending, taken = &leftover->taken;
  const char *const *paths = leftover->teller->paths;

  if (running->processes == 1)
    TellerNote(leftover->teller, "%s: process %u is still running; its newest events are not in the log yet",
               paths[running->file], running->pid);
  else if (running->processes > 1)
    TellerNote(leftover->teller, "%s: %zu processes are still running; their newest events are not in the log yet",
               paths[running->file], running->processes);
  if (ending->processes > 0)
    TellerNote(leftover->teller, "%s: eventrec is about to write the newest events of process %u%s",
               paths[ending->file], ending->pid, ending->processes > 1 ? " and others" : "");
  if (taken->processes == 1)
    TellerNote(leftover->teller, "%s: took %llu event%s of process %u from shared memory: %s", paths[taken->file],
               (unsigned long long)leftover->events, leftover->events == 1 ? "" : "s", taken->pid, taken->path);
  else if (taken->processes > 1)
    TellerNote(leftover->teller, "%s: took %llu events of %zu processes from shared memory: %s and others",
               paths[taken->file], (unsigned long long)leftover->events, taken->processes, taken->path);
}

/* leftoverFile -- the temporary file, to be scanned */
static Res leftoverFile(File *fileReturn, int fd)
{
  File file = calloc(1, sizeof *file);
  struct stat status;

  if (file == NULL || fstat(fd, &status) != 0) {
    free(file);
    (void)close(fd);
    return ResMEMORY;
  }
  file->fd = fd;
  file->path = "shared memory";
  file->size = (uint64_t)status.st_size;
  *fileReturn = file;
  return ResOK;
}

Res LeftoverTake(File *fileReturn, Table table, File *files, Count count, Regions regions, Teller teller)
{
  Leftover leftover = calloc(1, sizeof *leftover);
  Index i;
  int to;
  Res res = ResOK;

  *fileReturn = NULL;
  if (leftover == NULL)
    return ResMEMORY;
  leftover->table = leftover->region.table = table;
  leftover->file = files;
  leftover->files = count;
  leftover->regions = regions;
  leftover->teller = teller;
  leftover->region.to = -1;
  for (i = 0; i < table->processes && res == ResOK; ++i)
    res = leftoverNamed(leftover, table->process[i]);
  for (i = 0; i < count && res == ResOK; ++i)
    if (!files[i]->core)
      res = leftoverSearch(leftover, i);
  for (i = 0; i < count; ++i)
    if (files[i]->live)
      leftoverTail(regions, i);
  if (res == ResOK)
    leftoverTell(leftover);
  to = leftover->region.to;
  free(leftover->known);
  free(leftover);
  if (res == ResOK && to >= 0)
    return leftoverFile(fileReturn, to);
  if (to >= 0)
    (void)close(to);
  return res;
}

/* leftoverRuns -- is there somebody behind a region, who is this process or drains it? */
static Bool leftoverRuns(LeftRegion region, Header header)
{
  Bool runs;

  region->fd = leftoverOpen(header->region);
  if (region->fd < 0)
    return FALSE;
  runs = LeftRegionRead(region) && region->header.identity == header->identity &&
         (flock(region->fd, LOCK_SH | LOCK_NB) != 0 || LeftRegionCollected(region));
  (void)close(region->fd);
  return runs;
}

Bool LeftoverAlive(Table table)
{
  LeftRegion region = malloc(sizeof *region);
  Bool alive = FALSE;
  Index i;

  for (i = 0; region != NULL && i < table->processes && !alive; ++i) {
    Process process = table->process[i];
    alive = process->headed && process->public.header.region[0] == '/' &&
            leftoverRuns(region, &process->public.header);
  }
  free(region);
  return alive;
}
