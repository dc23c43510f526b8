/* orphan.c -- finds what dead processes have left in shared memory, and adds it to a traceset
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

enum { orphanNAME = 300 /* bytes of a name in a folder */ };

/* Processes of which the same is to be told. */
typedef struct orphanTellStruct {
  Count processes;
  Index file;                      /* of the first, */
  uint32_t pid;                    /* and its number */
  char path[RegionPathMAX + orphanNAME];
} orphanTellStruct, *OrphanTell;

/* A recording, and the log that it is in. */
typedef struct orphanOfStruct {
  uint64_t recording;
  Index file;
} orphanOfStruct, *orphanOf;

typedef struct orphanStruct {
  Table table;
  File *file;
  Count files;
  DamagedRanges regions;
  Reporter reporter;
  Count seen, capacity;
  struct { dev_t device; ino_t inode; } *known; /* regions that were looked at; owned */
  orphanTellStruct running, ending, taken, unwritten, spoilers, miscounters, unread;
  int unreadWhy;                   /* of the first of these: errno */
  orphanTellStruct over;         /* those that have left nothing, and whose collector lives */
  orphanTellStruct unclosed;     /* those that lack their end only, which they could not write */
  Index shortened;                 /* a log that was cut, */
  uint64_t cut;                    /* and how much of its end is missing; 0: none is known */
  orphanOf of;                   /* by `recording`; owned */
  Count recordings;
  Index at;                        /* the log for which is searched, */
  Bool nothing;                    /* and nothing sound has come to it */
  char refused[64];                /* why a region of a recording could not be opened; "": none was refused */
  Count strangers;                 /* such regions that no process in the logs names */
  Count missing;                   /* processes that left nothing that can be had */
  uint64_t events;                 /* taken */
  uint64_t spoiled;                /* of blocks that their programs have written over */
  OrphanRegionStruct region;
} orphanStruct, *Orphan;

static void orphanCount(Orphan orphan, OrphanTell tell, Index file, const char *path)
{
  if (tell->processes++ == 0) {
    tell->file = file;
    tell->pid = orphan->region.pid;
    (void)snprintf(tell->path, sizeof tell->path, "%s", path);
  }
}

/* orphanIsNew -- a file that was not looked at yet; from now on it was */
static Bool orphanIsNew(Orphan orphan, const struct stat *status)
{
  Index i;

  for (i = 0; i < orphan->seen; ++i)
    if (orphan->known[i].device == status->st_dev && orphan->known[i].inode == status->st_ino)
      return FALSE;
  if (!Grow(&orphan->known, &orphan->capacity, orphan->seen, sizeof *orphan->known))
    return FALSE;
  orphan->known[orphan->seen].device = status->st_dev;
  orphan->known[orphan->seen++].inode = status->st_ino;
  return TRUE;
}

/* orphanNamed -- a process whose header block in a log names the region at this path; NULL: there is none */
static Process orphanNamed(Orphan orphan, const char *path)
{
  Index i;

  for (i = 0; i < orphan->table->processes; ++i)
    if (strcmp(orphan->table->process[i]->public.header.region, path) == 0)
      return orphan->table->process[i];
  return NULL;
}

/* orphanUnread -- the region in hand cannot be read, or not all of it: count its process among those of which that is
 * told, and not among those whose region is gone */
static void orphanUnread(Orphan orphan, Index file, const char *path)
{
  Process process = orphanNamed(orphan, path);

  if (process != NULL && process->life == ProcessLifeUNKNOWN)
    process->life = ProcessLifeGONE;
  if (orphan->unread.processes == 0)
    orphan->unreadWhy = orphan->region.failed;
  orphanCount(orphan, &orphan->unread, file, path);
}

/* orphanTail -- the log's last, incomplete block is being written, or in a region, whole: it is no loss */
static void orphanTail(DamagedRanges regions, Index file)
{
  Index i;

  for (i = 0; i < regions->count; ++i)
    if (IndexPlaceFile(regions->region[i].place) == file && regions->region[i].tail && regions->region[i].cut) {
      memmove(&regions->region[i], &regions->region[i + 1], (regions->count - i - 1) * sizeof regions->region[0]);
      --regions->count;
      return;
    }
}

/* orphanProcess -- what is known of the region's process, from its own words; where it ends is known from now on */
static Res orphanProcess(Orphan orphan, uint8_t life)
{
  Process process;
  Res res = TableProcess(&process, orphan->table, orphan->region.header.identity);

  if (res == ResOK)
    process->life = life;
  if (res == ResOK && life == ProcessLifeRUNS)
    OrphanRegionSays(&orphan->region, process, FALSE);
  return res;
}

/* orphanLives -- the process runs, or its collector does */
static Res orphanLives(Orphan orphan, Index file, const char *path, Bool runs)
{
  orphan->file[file]->live = TRUE;
  orphanCount(orphan, runs ? &orphan->running
                             : OrphanRegionEvents(&orphan->region) > 0 ? &orphan->ending : &orphan->over, file, path);
  return orphanProcess(orphan, ProcessLifeRUNS);
}

/* orphanOrphan -- a collector was killed: by that the end of its recording is missing, unless the log was cut, too, which
 * the region in hand knows */
static void orphanOrphan(Orphan orphan, RegionPlace place, Index file)
{
  uint64_t cut = OrphanRegionCut(&orphan->region, orphan->file[file]->fd);

  if (cut == 0)
    TableOrphan(orphan->table, place->name.recording);
  if (cut <= orphan->cut)
    return;
  orphan->cut = cut;
  orphan->shortened = file;
}

/* orphanOpen -- have the logs no closing header block of the region's process? */
static Bool orphanOpen(Orphan orphan)
{
  Process process = TableProcessFind(orphan->table, orphan->region.header.identity);

  return process == NULL || !process->public.header.ended;
}

/* orphanTake -- the region in hand belongs to a log: take what a dead process left there */
static Res orphanTake(Orphan orphan, RegionPlace place, Index file, const char *path)
{
  OrphanRegion region = &orphan->region;
  OrphanCollector collector = OrphanRegionCollector(region);
  Bool runs = !OrphanRegionLock(region, LOCK_SH);
  Res res;

  if (runs || collector == OrphanCollectorLIVES)
    return orphanLives(orphan, file, path, runs);
  /* Once more: it may have lived when its header was read. */
  if (!OrphanRegionRead(region)) {
    if (region->failed != 0)
      orphanUnread(orphan, file, path);
    return ResOK;
  }
  res = OrphanRegionTake(region);
  if (res == ResOK && OrphanRegionUsed(region))
    res = orphanProcess(orphan, ProcessLifeTAKEN);
  if (res != ResOK)
    return res;
  if (collector != OrphanCollectorNONE)
    orphanOrphan(orphan, place, file);
  orphanTail(orphan->regions, file);
  orphan->file[file]->left |= region->taken;
  orphan->events += region->events;
  orphan->spoiled += region->spoiled;
  if (region->spoiled > 0)
    orphanCount(orphan, &orphan->spoilers, file, path);
  if (OrphanRegionMiscounts(region))
    orphanCount(orphan, &orphan->miscounters, file, path);
  if (region->events > 0)
    orphanCount(orphan, OrphanRegionUnwritten(region, collector) ? &orphan->unwritten : &orphan->taken, file, path);
  else if (collector == OrphanCollectorNONE && OrphanRegionUnwritten(region, collector) && orphanOpen(orphan))
    orphanCount(orphan, &orphan->unclosed, file, path);
  if (region->failed != 0)
    orphanUnread(orphan, file, path);
  return ResOK;
}

/* ---- Which regions are whose ---- */

static int orphanCompare(const void *a, const void *b)
{
  const orphanOfStruct *x = a, *y = b;

  return x->recording != y->recording ? (x->recording < y->recording ? -1 : 1) : 0;
}

/* orphanRecordings -- which recordings are in the logs, and in which file each is */
static Res orphanRecordings(Orphan orphan)
{
  Table table = orphan->table;
  Count n = 0, kept = 0;
  Index i;

  orphan->of = calloc(table->processes + 1, sizeof *orphan->of);
  if (orphan->of == NULL)
    return ResMEMORY;
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->headed && process->public.header.recording != 0 && process->file < orphan->files &&
        !orphan->file[process->file]->core)
      orphan->of[n++] = (orphanOfStruct){process->public.header.recording, process->file};
  }
  qsort(orphan->of, n, sizeof *orphan->of, orphanCompare);
  for (i = 0; i < n; ++i)
    if (kept == 0 || orphan->of[kept - 1].recording != orphan->of[i].recording)
      orphan->of[kept++] = orphan->of[i];
  orphan->recordings = kept;
  return ResOK;
}

/* orphanFor -- nothing sound has come to the log in hand yet, so nobody says which recording it is of: was the region
 * made for a log of that name? */
static Bool orphanFor(Orphan orphan, RegionPlace place, const struct stat *status)
{
  File log = orphan->file[orphan->at];
  char path[PATH_MAX];
  const char *slash;

  if (log->core || realpath(log->path, path) == NULL)
    return FALSE;
  slash = strrchr(path, '/');
  if (place->name.log != 0)
    return strlen(slash + 1) == place->name.log && strncmp(slash + 1, place->file, place->name.log) == 0;
  return RegionPlaceLog(place, status->st_uid, path);
}

/* orphanFirst -- was the region made for that log? */
static Bool orphanFirst(Orphan orphan, RegionPlace place, const struct stat *status)
{
  return RegionPlaceFirst(place, orphan->region.header.inode, orphan->file[orphan->at]->fd) &&
         orphanFor(orphan, place, status);
}

/* orphanOwner -- who owns a log */
static uid_t orphanOwner(File log)
{
  struct stat status;

  return fstat(log->fd, &status) == 0 ? status.st_uid : geteuid();
}

/* orphanOpened -- a region may be believed: is it of one of the logs?  Then take what is in it */
static Res orphanOpened(Orphan orphan, RegionPlace place, orphanOf of, const struct stat *status)
{
  Index file = of != NULL ? of->file : orphan->at;
  char path[RegionPathMAX + orphanNAME];
  Bool read = OrphanRegionRead(&orphan->region);

  (void)snprintf(path, sizeof path, "%s/%s", place->folder, place->file);
  if ((!read && orphan->region.failed == 0) ||
      (of == NULL && !(read ? orphanFirst : orphanFor)(orphan, place, status)) ||
      !orphanIsNew(orphan, status))
    return ResOK;
  if (read)
    return orphanTake(orphan, place, file, path);
  orphanUnread(orphan, file, path);
  return ResOK;
}

/* orphanRefused -- a region of a recording in the logs cannot be opened: whoever has it may not have been able to write
 * a word into the log, which then names nobody who does */
static void orphanRefused(Orphan orphan, RegionPlace place, orphanOf of, const struct stat *status, int error)
{
  const char *log = orphan->reporter->paths[of->file];
  char path[RegionPathMAX + orphanNAME];

  if (error == EPERM && status->st_uid != geteuid())
    (void)snprintf(orphan->refused, sizeof orphan->refused, "it belongs to user %lu", (unsigned long)status->st_uid);
  else
    (void)snprintf(orphan->refused, sizeof orphan->refused, "%s", strerror(error));
  (void)snprintf(path, sizeof path, "%s/%s", place->folder, place->file);
  if (orphanNamed(orphan, path) != NULL || orphan->strangers++ > 0)
    return;
  ReporterLack(orphan->reporter, "%s: newest events may be in %s, which is not read: %s", log, path,
               orphan->refused);
}

/* orphanVisit -- a file that is called as regions are */
static Res orphanVisit(void *data, RegionPlace place)
{
  Orphan orphan = data;
  const orphanOfStruct wanted = {place->name.recording, 0};
  orphanOf of = bsearch(&wanted, orphan->of, orphan->recordings, sizeof wanted, orphanCompare);
  File log = orphan->file[of != NULL ? of->file : orphan->at];
  struct stat status = {.st_uid = geteuid()};
  Res res;

  if (of == NULL && !orphan->nothing)
    return ResOK;
  orphan->region.pid = place->name.pid;
  orphan->region.fd = RegionPlaceOpen(&status, place, FALSE, orphanOwner(log));
  if (orphan->region.fd < 0) {
    if (of != NULL && errno != ENOENT)
      orphanRefused(orphan, place, of, &status, errno);
    return ResOK;
  }
  res = orphanOpened(orphan, place, of, &status);
  (void)close(orphan->region.fd);
  return res;
}

/* What stands where a process's region should be. */
typedef struct orphanStandsStruct {
  OrphanRegion region;
  Header header;                   /* the process's */
  uid_t owner;                     /* of the log */
  enum { orphanNOTHING, orphanSPOILED, orphanEMPTY, orphanANOTHER } what;
} orphanStandsStruct, *orphanStands;

/* orphanThere -- nothing was read from a region of the process, but a file is there.  Of two that have a number one may have had its
 * region in a /dev/shm of its own. */
static Res orphanThere(void *data, RegionPlace place)
{
  orphanStands stands = data;
  OrphanRegion region = stands->region;
  struct stat status;

  region->fd = RegionPlaceOpen(&status, place, FALSE, stands->owner);
  if (region->fd < 0)
    return ResOK;
  if (!OrphanRegionRead(region))
    stands->what = orphanSPOILED;
  else
    stands->what = region->header.identity == stands->header->identity ? orphanEMPTY : orphanANOTHER;
  (void)close(region->fd);
  return ResOK;
}

/* orphanMissing -- of a process that has not ended no region was found */
static void orphanMissing(Orphan orphan, Process process)
{
  Header header = &process->public.header;
  const char *log = orphan->reporter->paths[process->file];
  static const char *const why[] = {"which is gone", "which cannot be read, because its beginning was written over",
                                    "which is empty",
                                    "which is not here: what is there says that it is another process's"};
  orphanStandsStruct stands = {.region = &orphan->region, .header = header};

  if (!process->headed || header->region[0] == '\0' || header->ended || process->life != ProcessLifeUNKNOWN ||
      process->recovered || orphan->file[process->file]->core)
    return;
  process->life = ProcessLifeGONE;
  if (orphan->missing++ > 0)
    return;
  if (orphan->refused[0] != '\0')
    ReporterLack(orphan->reporter, "%s: the newest events of process %u may be in %s, which is not read: %s", log,
                 header->pid, header->region, orphan->refused);
  else {
    stands.owner = orphanOwner(orphan->file[process->file]);
    (void)RegionPlaceNamed(header->region, header->recording, orphan->file[process->file]->path, orphanThere, &stands);
    ReporterLack(orphan->reporter,
                 "%s: the end of process %u is missing, and its newest events, if there were any: what no receiver refused was "
                 "in %s, %s",
                 log, header->pid, header->region, why[stands.what]);
  }
}

/* orphanTell -- one line for those who run, one for those who were killed */
static void orphanTell(Orphan orphan)
{
  OrphanTell running = &orphan->running, ending = &orphan->ending, taken = &orphan->taken;
  OrphanTell unwritten = &orphan->unwritten, spoilers = &orphan->spoilers, unread = &orphan->unread;
  const char *const *paths = orphan->reporter->paths;

  if (running->processes == 1)
    ReporterLack(orphan->reporter, "%s: process %u is still running; its newest events are not in the log yet",
                 paths[running->file], running->pid);
  else if (running->processes > 1)
    ReporterLack(orphan->reporter, "%s: %zu processes are still running; their newest events are not in the log yet",
                 paths[running->file], running->processes);
  if (ending->processes > 0)
    ReporterLack(orphan->reporter, "%s: eventrec is about to write the newest events of process %u%s",
                 paths[ending->file], ending->pid, ending->processes > 1 ? " and others" : "");
  else if (orphan->over.processes > 0 && running->processes == 0)
    ReporterLack(orphan->reporter, "%s: eventrec still records; what is to come is not in the log yet",
                 paths[orphan->over.file]);
  if (orphan->cut == LeftCutUNKNOWN)
    ReporterLack(orphan->reporter, "%s: whether it was cut is not known: what its memory says of its length cannot be, and was written over",
                 paths[orphan->shortened]);
  else if (orphan->cut > 0)
    ReporterLack(orphan->reporter, "%s: it was cut: %llu bytes that eventrec has written are missing",
                 paths[orphan->shortened], (unsigned long long)orphan->cut);
  if (taken->processes == 1)
    ReporterNote(orphan->reporter, "%s: took %llu event%s of process %u from shared memory: %s", paths[taken->file],
                 (unsigned long long)orphan->events, TextPlural(orphan->events), taken->pid, taken->path);
  else if (taken->processes > 1)
    ReporterNote(orphan->reporter, "%s: took %llu event%s of %zu processes from shared memory: %s and others",
                 paths[taken->file], (unsigned long long)orphan->events, TextPlural(orphan->events), taken->processes,
                 taken->path);
  if (unwritten->processes > 0)
    ReporterLack(orphan->reporter, "%s: the newest events of process %u%s could not be written, and are in %s; eventrec "
                 "--clean adds them", paths[unwritten->file], unwritten->pid,
                 unwritten->processes > 1 ? " and others" : "", unwritten->path);
  if (orphan->unclosed.processes > 0)
    ReporterLack(orphan->reporter, "%s: the end of process %u%s could not be written, and is in %s; eventrec --clean adds it",
                 paths[orphan->unclosed.file], orphan->unclosed.pid,
                 orphan->unclosed.processes > 1 ? " and others" : "", orphan->unclosed.path);
  if (unread->processes > 0)
    ReporterLack(orphan->reporter, "%s: newest events of process %u%s may be in %s, which cannot be read: %s",
                 paths[unread->file], unread->pid, unread->processes > 1 ? " and others" : "", unread->path,
                 strerror(orphan->unreadWhy));
  if (orphan->miscounters.processes > 0)
    ReporterLack(orphan->reporter, "%s: how many events process %u%s lost is not known: it had written over that count in shared memory, "
                 "which cannot be", paths[orphan->miscounters.file], orphan->miscounters.pid,
                 orphan->miscounters.processes > 1 ? " and others" : "");
  if (spoilers->processes > 0)
    ReporterLack(orphan->reporter, "%s: process %u%s had written over blocks in shared memory; %llu event%s lost",
                 paths[spoilers->file], spoilers->pid, spoilers->processes > 1 ? " and others" : "",
                 (unsigned long long)orphan->spoiled, orphan->spoiled == 1 ? " is" : "s are");
  if (orphan->missing > 1)
    ReporterLack(orphan->reporter, "so it is with %zu other process%s", orphan->missing - 1,
                 orphan->missing == 2 ? "" : "es");
  if (orphan->strangers > 1)
    ReporterLack(orphan->reporter, "%zu other file%s in memory that may have newest events %s not read",
                 orphan->strangers - 1, TextPlural(orphan->strangers - 1), orphan->strangers == 2 ? "is" : "are");
}

/* orphanFile -- the temporary file, to be scanned */
static Res orphanFile(File *fileReturn, int fd)
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

Res OrphanTake(File *fileReturn, Table table, File *files, Count count, DamagedRanges regions, Reporter reporter)
{
  Orphan orphan = calloc(1, sizeof *orphan);
  Index i;
  int to;
  Res res = ResOK;

  *fileReturn = NULL;
  if (orphan == NULL)
    return ResMEMORY;
  orphan->table = orphan->region.table = table;
  orphan->file = files;
  orphan->files = count;
  orphan->regions = regions;
  orphan->reporter = reporter;
  orphan->region.to = -1;
  res = orphanRecordings(orphan);
  for (i = 0; i < count && res == ResOK; ++i) {
    orphan->at = i;
    orphan->nothing = DamagedRangesNothing(regions, i, files[i]->size);
    if (!files[i]->core)
      res = RegionPlaceSearch(files[i]->path, orphanVisit, orphan);
  }
  for (i = 0; i < table->processes && res == ResOK; ++i)
    orphanMissing(orphan, table->process[i]);
  for (i = 0; i < count; ++i)
    if (files[i]->live)
      orphanTail(regions, i);
  if (res == ResOK)
    orphanTell(orphan);
  to = orphan->region.to;
  free(orphan->known);
  free(orphan->of);
  free(orphan);
  if (res == ResOK && to >= 0)
    return orphanFile(fileReturn, to);
  if (to >= 0)
    (void)close(to);
  return res;
}

/* What is asked of one process. */
typedef struct orphanAliveStruct {
  OrphanRegion region;
  Process process;
  uid_t owner;
  Bool runs;
} orphanAliveStruct, *orphanAlive;

/* orphanRuns -- is there somebody behind a region, who is this process or drains it? */
static Res orphanRuns(void *data, RegionPlace place)
{
  orphanAlive alive = data;
  OrphanRegion region = alive->region;
  struct stat status;

  region->pid = place->name.pid;
  region->fd = RegionPlaceOpen(&status, place, FALSE, alive->owner);
  if (region->fd < 0)
    return ResOK;
  alive->runs = OrphanRegionRead(region) && region->header.identity == alive->process->public.header.identity &&
                (!OrphanRegionLock(region, LOCK_SH) || OrphanRegionCollector(region) == OrphanCollectorLIVES);
  (void)close(region->fd);
  return ResOK;
}

Bool OrphanAlive(Table table, File log)
{
  orphanAliveStruct alive = {.region = malloc(sizeof *alive.region), .owner = orphanOwner(log)};
  Index i;

  for (i = 0; alive.region != NULL && i < table->processes && !alive.runs; ++i) {
    Header header = &table->process[i]->public.header;
    alive.process = table->process[i];
    if (alive.process->headed && header->region[0] != '\0' && header->recording != 0)
      (void)RegionPlaceNamed(header->region, header->recording, log->path, orphanRuns, &alive);
  }
  free(alive.region);
  return alive.runs;
}
