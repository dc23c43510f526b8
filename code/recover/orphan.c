/* orphan.c -- what processes that died have left in shared memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/orphan.h"

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
#include "base/text.h"
#include "recover/orphanregion.h"
#include "recover/regionplace.h"

enum { leftoverNAME = 300 /* bytes of a name in a folder */ };

/* Processes of which the same is to be told. */
typedef struct leftoverTellStruct {
  Count processes;
  Index file;                      /* of the first, */
  uint32_t pid;                    /* and its number */
  char path[RegionPathMAX + leftoverNAME];
} leftoverTellStruct, *LeftoverTell;

/* A recording, and the log that it is in. */
typedef struct leftoverOfStruct {
  uint64_t recording;
  Index file;
} leftoverOfStruct, *leftoverOf;

typedef struct leftoverStruct {
  Table table;
  File *file;
  Count files;
  Regions regions;
  Teller teller;
  Count seen, capacity;
  struct { dev_t device; ino_t inode; } *known; /* regions that were looked at; owned */
  leftoverTellStruct running, ending, taken, unwritten, spoilers, miscounters, unread;
  int unreadWhy;                   /* of the first of these: errno */
  leftoverTellStruct over;         /* those that have left nothing, and whose collector lives */
  leftoverTellStruct unclosed;     /* those that lack their end only, which they could not write */
  Index shortened;                 /* a log that was cut, */
  uint64_t cut;                    /* and how much of its end is missing; 0: none is known */
  leftoverOf of;                   /* by `recording`; owned */
  Count recordings;
  Index at;                        /* the log for which is searched, */
  Bool nothing;                    /* and nothing sound has come to it */
  char refused[64];                /* why a region of a recording could not be opened; "": none was refused */
  Count strangers;                 /* such regions that no process in the logs names */
  Count missing;                   /* processes that left nothing that can be had */
  uint64_t events;                 /* taken */
  uint64_t spoiled;                /* of blocks that their programs have written over */
  LeftRegionStruct region;
} leftoverStruct, *Leftover;

static void leftoverCount(Leftover leftover, LeftoverTell tell, Index file, const char *path)
{
  if (tell->processes++ == 0) {
    tell->file = file;
    tell->pid = leftover->region.pid;
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

/* leftoverNamed -- a process whose header block in a log names the region at this path; NULL: there is none */
static Process leftoverNamed(Leftover leftover, const char *path)
{
  Index i;

  for (i = 0; i < leftover->table->processes; ++i)
    if (strcmp(leftover->table->process[i]->public.header.region, path) == 0)
      return leftover->table->process[i];
  return NULL;
}

/* leftoverUnread -- the region in hand cannot be read, or not all of it: count its process among those of which that is
 * told, and not among those whose region is gone */
static void leftoverUnread(Leftover leftover, Index file, const char *path)
{
  Process process = leftoverNamed(leftover, path);

  if (process != NULL && process->life == ProcessLifeUNKNOWN)
    process->life = ProcessLifeGONE;
  if (leftover->unread.processes == 0)
    leftover->unreadWhy = leftover->region.failed;
  leftoverCount(leftover, &leftover->unread, file, path);
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

/* leftoverProcess -- what is known of the region's process, from its own words; where it ends is known from now on */
static Res leftoverProcess(Leftover leftover, uint8_t life)
{
  Process process;
  Res res = TableProcess(&process, leftover->table, leftover->region.header.identity);

  if (res == ResOK)
    process->life = life;
  if (res == ResOK && life == ProcessLifeRUNS)
    LeftRegionSays(&leftover->region, process, FALSE);
  return res;
}

/* leftoverLives -- the process runs, or its collector does */
static Res leftoverLives(Leftover leftover, Index file, const char *path, Bool runs)
{
  leftover->file[file]->live = TRUE;
  leftoverCount(leftover, runs ? &leftover->running
                               : LeftRegionEvents(&leftover->region) > 0 ? &leftover->ending : &leftover->over, file, path);
  return leftoverProcess(leftover, ProcessLifeRUNS);
}

/* leftoverOrphan -- a collector was killed: by that the end of its recording is missing, unless the log was cut, too, which
 * the region in hand knows */
static void leftoverOrphan(Leftover leftover, LeftPlace place, Index file)
{
  uint64_t cut = LeftRegionCut(&leftover->region, leftover->file[file]->fd);

  if (cut == 0)
    TableOrphan(leftover->table, place->name.recording);
  if (cut <= leftover->cut)
    return;
  leftover->cut = cut;
  leftover->shortened = file;
}

/* leftoverOpen -- have the logs no closing header block of the region's process? */
static Bool leftoverOpen(Leftover leftover)
{
  Process process = TableProcessFind(leftover->table, leftover->region.header.identity);

  return process == NULL || !process->public.header.ended;
}

/* leftoverTake -- the region in hand belongs to a log: take what a dead process left there */
static Res leftoverTake(Leftover leftover, LeftPlace place, Index file, const char *path)
{
  LeftRegion region = &leftover->region;
  LeftCollector collector = LeftRegionCollector(region);
  Bool runs = !LeftRegionLock(region, LOCK_SH);
  Res res;

  if (runs || collector == LeftCollectorLIVES)
    return leftoverLives(leftover, file, path, runs);
  /* Once more: it may have lived when its header was read. */
  if (!LeftRegionRead(region)) {
    if (region->failed != 0)
      leftoverUnread(leftover, file, path);
    return ResOK;
  }
  res = LeftRegionTake(region);
  if (res == ResOK && LeftRegionUsed(region))
    res = leftoverProcess(leftover, ProcessLifeTAKEN);
  if (res != ResOK)
    return res;
  if (collector != LeftCollectorNONE)
    leftoverOrphan(leftover, place, file);
  leftoverTail(leftover->regions, file);
  leftover->file[file]->left |= region->taken;
  leftover->events += region->events;
  leftover->spoiled += region->spoiled;
  if (region->spoiled > 0)
    leftoverCount(leftover, &leftover->spoilers, file, path);
  if (LeftRegionMiscounts(region))
    leftoverCount(leftover, &leftover->miscounters, file, path);
  if (region->events > 0)
    leftoverCount(leftover, LeftRegionUnwritten(region, collector) ? &leftover->unwritten : &leftover->taken, file, path);
  else if (collector == LeftCollectorNONE && LeftRegionUnwritten(region, collector) && leftoverOpen(leftover))
    leftoverCount(leftover, &leftover->unclosed, file, path);
  if (region->failed != 0)
    leftoverUnread(leftover, file, path);
  return ResOK;
}

/* ---- Which regions are whose ---- */

static int leftoverCompare(const void *a, const void *b)
{
  const leftoverOfStruct *x = a, *y = b;

  return x->recording != y->recording ? (x->recording < y->recording ? -1 : 1) : 0;
}

/* leftoverRecordings -- which recordings are in the logs, and in which file each is */
static Res leftoverRecordings(Leftover leftover)
{
  Table table = leftover->table;
  Count n = 0, kept = 0;
  Index i;

  leftover->of = calloc(table->processes + 1, sizeof *leftover->of);
  if (leftover->of == NULL)
    return ResMEMORY;
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->headed && process->public.header.recording != 0 && process->file < leftover->files &&
        !leftover->file[process->file]->core)
      leftover->of[n++] = (leftoverOfStruct){process->public.header.recording, process->file};
  }
  qsort(leftover->of, n, sizeof *leftover->of, leftoverCompare);
  for (i = 0; i < n; ++i)
    if (kept == 0 || leftover->of[kept - 1].recording != leftover->of[i].recording)
      leftover->of[kept++] = leftover->of[i];
  leftover->recordings = kept;
  return ResOK;
}

/* leftoverFor -- nothing sound has come to the log in hand yet, so nobody says which recording it is of: was the region
 * made for a log of that name? */
static Bool leftoverFor(Leftover leftover, LeftPlace place, const struct stat *status)
{
  File log = leftover->file[leftover->at];
  char path[PATH_MAX];
  const char *slash;

  if (log->core || realpath(log->path, path) == NULL)
    return FALSE;
  slash = strrchr(path, '/');
  if (place->name.log != 0)
    return strlen(slash + 1) == place->name.log && strncmp(slash + 1, place->file, place->name.log) == 0;
  return LeftPlaceLog(place, status->st_uid, path);
}

/* leftoverFirst -- was the region made for that log? */
static Bool leftoverFirst(Leftover leftover, LeftPlace place, const struct stat *status)
{
  return LeftPlaceFirst(place, leftover->region.header.inode, leftover->file[leftover->at]->fd) &&
         leftoverFor(leftover, place, status);
}

/* leftoverOwner -- who owns a log */
static uid_t leftoverOwner(File log)
{
  struct stat status;

  return fstat(log->fd, &status) == 0 ? status.st_uid : geteuid();
}

/* leftoverOpened -- a region may be believed: is it of one of the logs?  Then take what is in it */
static Res leftoverOpened(Leftover leftover, LeftPlace place, leftoverOf of, const struct stat *status)
{
  Index file = of != NULL ? of->file : leftover->at;
  char path[RegionPathMAX + leftoverNAME];
  Bool read = LeftRegionRead(&leftover->region);

  (void)snprintf(path, sizeof path, "%s/%s", place->folder, place->file);
  if ((!read && leftover->region.failed == 0) ||
      (of == NULL && !(read ? leftoverFirst : leftoverFor)(leftover, place, status)) ||
      !leftoverIsNew(leftover, status))
    return ResOK;
  if (read)
    return leftoverTake(leftover, place, file, path);
  leftoverUnread(leftover, file, path);
  return ResOK;
}

/* leftoverRefused -- a region of a recording in the logs cannot be opened: whoever has it may not have been able to write
 * a word into the log, which then names nobody who does */
static void leftoverRefused(Leftover leftover, LeftPlace place, leftoverOf of, const struct stat *status, int error)
{
  const char *log = leftover->teller->paths[of->file];
  char path[RegionPathMAX + leftoverNAME];

  if (error == EPERM && status->st_uid != geteuid())
    (void)snprintf(leftover->refused, sizeof leftover->refused, "it belongs to user %lu", (unsigned long)status->st_uid);
  else
    (void)snprintf(leftover->refused, sizeof leftover->refused, "%s", strerror(error));
  (void)snprintf(path, sizeof path, "%s/%s", place->folder, place->file);
  if (leftoverNamed(leftover, path) != NULL || leftover->strangers++ > 0)
    return;
  TellerLack(leftover->teller, "%s: newest events may be in %s, which is not read: %s", log, path,
             leftover->refused);
}

/* leftoverVisit -- a file that is called as regions are */
static Res leftoverVisit(void *data, LeftPlace place)
{
  Leftover leftover = data;
  const leftoverOfStruct wanted = {place->name.recording, 0};
  leftoverOf of = bsearch(&wanted, leftover->of, leftover->recordings, sizeof wanted, leftoverCompare);
  File log = leftover->file[of != NULL ? of->file : leftover->at];
  struct stat status = {.st_uid = geteuid()};
  Res res;

  if (of == NULL && !leftover->nothing)
    return ResOK;
  leftover->region.pid = place->name.pid;
  leftover->region.fd = LeftPlaceOpen(&status, place, FALSE, leftoverOwner(log));
  if (leftover->region.fd < 0) {
    if (of != NULL && errno != ENOENT)
      leftoverRefused(leftover, place, of, &status, errno);
    return ResOK;
  }
  res = leftoverOpened(leftover, place, of, &status);
  (void)close(leftover->region.fd);
  return res;
}

/* What stands where a process's region should be. */
typedef struct leftoverStandsStruct {
  LeftRegion region;
  Header header;                   /* the process's */
  uid_t owner;                     /* of the log */
  enum { leftoverNOTHING, leftoverSPOILED, leftoverEMPTY, leftoverANOTHER } what;
} leftoverStandsStruct, *leftoverStands;

/* leftoverThere -- nothing was read from a region of the process, but a file is there.  Of two that have a number one may have had its
 * region in a /dev/shm of its own. */
static Res leftoverThere(void *data, LeftPlace place)
{
  leftoverStands stands = data;
  LeftRegion region = stands->region;
  struct stat status;

  region->fd = LeftPlaceOpen(&status, place, FALSE, stands->owner);
  if (region->fd < 0)
    return ResOK;
  if (!LeftRegionRead(region))
    stands->what = leftoverSPOILED;
  else
    stands->what = region->header.identity == stands->header->identity ? leftoverEMPTY : leftoverANOTHER;
  (void)close(region->fd);
  return ResOK;
}

/* leftoverMissing -- of a process that has not ended no region was found */
static void leftoverMissing(Leftover leftover, Process process)
{
  Header header = &process->public.header;
  const char *log = leftover->teller->paths[process->file];
  static const char *const why[] = {"which is gone", "which cannot be read, because its beginning was written over",
                                    "which is empty",
                                    "which is not here: what is there says that it is another process's"};
  leftoverStandsStruct stands = {.region = &leftover->region, .header = header};

  if (!process->headed || header->region[0] == '\0' || header->ended || process->life != ProcessLifeUNKNOWN ||
      process->recovered || leftover->file[process->file]->core)
    return;
  process->life = ProcessLifeGONE;
  if (leftover->missing++ > 0)
    return;
  if (leftover->refused[0] != '\0')
    TellerLack(leftover->teller, "%s: the newest events of process %u may be in %s, which is not read: %s", log,
               header->pid, header->region, leftover->refused);
  else {
    stands.owner = leftoverOwner(leftover->file[process->file]);
    (void)LeftPlaceNamed(header->region, header->recording, leftover->file[process->file]->path, leftoverThere, &stands);
    TellerLack(leftover->teller,
               "%s: the end of process %u is missing, and its newest events, if there were any: what no receiver refused was "
               "in %s, %s",
               log, header->pid, header->region, why[stands.what]);
  }
}

/* leftoverTell -- one line for those who run, one for those who were killed */
static void leftoverTell(Leftover leftover)
{
  LeftoverTell running = &leftover->running, ending = &leftover->ending, taken = &leftover->taken;
  LeftoverTell unwritten = &leftover->unwritten, spoilers = &leftover->spoilers, unread = &leftover->unread;
  const char *const *paths = leftover->teller->paths;

  if (running->processes == 1)
    TellerLack(leftover->teller, "%s: process %u is still running; its newest events are not in the log yet",
               paths[running->file], running->pid);
  else if (running->processes > 1)
    TellerLack(leftover->teller, "%s: %zu processes are still running; their newest events are not in the log yet",
               paths[running->file], running->processes);
  if (ending->processes > 0)
    TellerLack(leftover->teller, "%s: eventrec is about to write the newest events of process %u%s",
               paths[ending->file], ending->pid, ending->processes > 1 ? " and others" : "");
  else if (leftover->over.processes > 0 && running->processes == 0)
    TellerLack(leftover->teller, "%s: eventrec still records; what is to come is not in the log yet",
               paths[leftover->over.file]);
  if (leftover->cut == LeftCutUNKNOWN)
    TellerLack(leftover->teller, "%s: whether it was cut is not known: what its memory says of its length cannot be, and was written over",
               paths[leftover->shortened]);
  else if (leftover->cut > 0)
    TellerLack(leftover->teller, "%s: it was cut: %llu bytes that eventrec has written are missing",
               paths[leftover->shortened], (unsigned long long)leftover->cut);
  if (taken->processes == 1)
    TellerNote(leftover->teller, "%s: took %llu event%s of process %u from shared memory: %s", paths[taken->file],
               (unsigned long long)leftover->events, TextPlural(leftover->events), taken->pid, taken->path);
  else if (taken->processes > 1)
    TellerNote(leftover->teller, "%s: took %llu event%s of %zu processes from shared memory: %s and others",
               paths[taken->file], (unsigned long long)leftover->events, TextPlural(leftover->events), taken->processes,
               taken->path);
  if (unwritten->processes > 0)
    TellerLack(leftover->teller, "%s: the newest events of process %u%s could not be written, and are in %s; eventrec "
               "--clean adds them", paths[unwritten->file], unwritten->pid,
               unwritten->processes > 1 ? " and others" : "", unwritten->path);
  if (leftover->unclosed.processes > 0)
    TellerLack(leftover->teller, "%s: the end of process %u%s could not be written, and is in %s; eventrec --clean adds it",
               paths[leftover->unclosed.file], leftover->unclosed.pid,
               leftover->unclosed.processes > 1 ? " and others" : "", leftover->unclosed.path);
  if (unread->processes > 0)
    TellerLack(leftover->teller, "%s: newest events of process %u%s may be in %s, which cannot be read: %s",
               paths[unread->file], unread->pid, unread->processes > 1 ? " and others" : "", unread->path,
               strerror(leftover->unreadWhy));
  if (leftover->miscounters.processes > 0)
    TellerLack(leftover->teller, "%s: how many events process %u%s lost is not known: it had written over that count in shared memory, "
               "which cannot be", paths[leftover->miscounters.file], leftover->miscounters.pid,
               leftover->miscounters.processes > 1 ? " and others" : "");
  if (spoilers->processes > 0)
    TellerLack(leftover->teller, "%s: process %u%s had written over blocks in shared memory; %llu event%s lost",
               paths[spoilers->file], spoilers->pid, spoilers->processes > 1 ? " and others" : "",
               (unsigned long long)leftover->spoiled, leftover->spoiled == 1 ? " is" : "s are");
  if (leftover->missing > 1)
    TellerLack(leftover->teller, "so it is with %zu other process%s", leftover->missing - 1,
               leftover->missing == 2 ? "" : "es");
  if (leftover->strangers > 1)
    TellerLack(leftover->teller, "%zu other file%s in memory that may have newest events %s not read",
               leftover->strangers - 1, TextPlural(leftover->strangers - 1), leftover->strangers == 2 ? "is" : "are");
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
  res = leftoverRecordings(leftover);
  for (i = 0; i < count && res == ResOK; ++i) {
    leftover->at = i;
    leftover->nothing = RegionsNothing(regions, i, files[i]->size);
    if (!files[i]->core)
      res = LeftPlaceSearch(files[i]->path, leftoverVisit, leftover);
  }
  for (i = 0; i < table->processes && res == ResOK; ++i)
    leftoverMissing(leftover, table->process[i]);
  for (i = 0; i < count; ++i)
    if (files[i]->live)
      leftoverTail(regions, i);
  if (res == ResOK)
    leftoverTell(leftover);
  to = leftover->region.to;
  free(leftover->known);
  free(leftover->of);
  free(leftover);
  if (res == ResOK && to >= 0)
    return leftoverFile(fileReturn, to);
  if (to >= 0)
    (void)close(to);
  return res;
}

/* What is asked of one process. */
typedef struct leftoverAliveStruct {
  LeftRegion region;
  Process process;
  uid_t owner;
  Bool runs;
} leftoverAliveStruct, *leftoverAlive;

/* leftoverRuns -- is there somebody behind a region, who is this process or drains it? */
static Res leftoverRuns(void *data, LeftPlace place)
{
  leftoverAlive alive = data;
  LeftRegion region = alive->region;
  struct stat status;

  region->pid = place->name.pid;
  region->fd = LeftPlaceOpen(&status, place, FALSE, alive->owner);
  if (region->fd < 0)
    return ResOK;
  alive->runs = LeftRegionRead(region) && region->header.identity == alive->process->public.header.identity &&
                (!LeftRegionLock(region, LOCK_SH) || LeftRegionCollector(region) == LeftCollectorLIVES);
  (void)close(region->fd);
  return ResOK;
}

Bool LeftoverAlive(Table table, File log)
{
  leftoverAliveStruct alive = {.region = malloc(sizeof *alive.region), .owner = leftoverOwner(log)};
  Index i;

  for (i = 0; alive.region != NULL && i < table->processes && !alive.runs; ++i) {
    Header header = &table->process[i]->public.header;
    alive.process = table->process[i];
    if (alive.process->headed && header->region[0] != '\0' && header->recording != 0)
      (void)LeftPlaceNamed(header->region, header->recording, log->path, leftoverRuns, &alive);
  }
  free(alive.region);
  return alive.runs;
}
