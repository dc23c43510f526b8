/* orphanreader.c -- adds to a traceset what orphaned regions hold, without changing anything
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/orphanreader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "recover/orphanregion.h"
#include "recover/regionfile.h"

enum { orphanPathMAX = RegionPathMAX + 300 }; /* a folder, and a name in it */

/* The findings that are told in one line for all processes that they are true of. */
enum {
  orphanRUNNING,        /* the process runs */
  orphanENDING,         /* a living collector is about to take its newest events */
  orphanRECORDING,      /* it has left no events, and its collector lives */
  orphanTAKEN,          /* its newest events were taken from its region */
  orphanUNWRITTEN,      /* the same, and its collector, or the process itself, had failed to write them */
  orphanUNCLOSED,       /* only its end is missing in the log, because it could not be written */
  orphanUNREAD,         /* its region cannot be read */
  orphanMISCOUNTS,      /* the program has written over counts in the region */
  orphanSPOILED,        /* the program has written over blocks in the region */
  orphanFINDINGS
};

typedef struct orphanFindingStruct {
  Count processes;                 /* of which it is true */
  Index file;                      /* of the first of them: its log, */
  uint32_t pid;                    /* its number, */
  char path[orphanPathMAX];        /* and its region */
} orphanFindingStruct, *orphanFinding;

/* A recording, and the log that has something of it. */
typedef struct orphanRecordingStruct {
  uint64_t recording;
  Index file;
} orphanRecordingStruct, *orphanRecording;

typedef struct orphanStruct {
  Table table;
  File *file;
  Count files;
  DamagedRanges regions;
  Reporter reporter;
  orphanRecording recording;       /* in order of their numbers; owned */
  Count recordings;
  Count seen, capacity;
  struct { dev_t device; ino_t inode; } *known; /* regions that were looked at; owned */
  Index at;                        /* the log whose folder is being searched */
  Bool nothing;                    /* nothing sound is in that log */
  orphanFindingStruct finding[orphanFINDINGS];
  int unreadWhy;                   /* errno, of the first region that cannot be read */
  Index shortened;                 /* the log of which most was cut off */
  uint64_t cut;                    /* so many bytes of it, after a collector had written them; 0: none are known */
  char refused[64];                /* why a region of a recording was not opened, the last one; "": all were */
  Count strangers;                 /* regions that were not opened and that no header block names */
  Count missing;                   /* processes without an end of which there is no region */
  File grown;                      /* the log of one that may have ended while it was opened; NULL: there is none */
  uint64_t events;                 /* taken */
  uint64_t spoiled;                /* events of blocks that programs have written over */
  OrphanRegionStruct region;       /* the current one */
} orphanStruct, *Orphan;

/* orphanCheck -- are the recordings in order, each once;  is each log that is named there;  is what was found of nobody
 * of no log? */
static Bool orphanCheck(const orphanStruct *orphan) __attribute__((unused));
static Bool orphanCheck(const orphanStruct *orphan)
{
  Bool sound = orphan->seen <= orphan->capacity && (orphan->cut == 0 || orphan->shortened < orphan->files);
  Index i;

  for (i = 0; sound && i < orphan->recordings; ++i)
    sound = orphan->recording[i].file < orphan->files &&
            (i == 0 || orphan->recording[i - 1].recording < orphan->recording[i].recording);
  for (i = 0; sound && i < orphanFINDINGS; ++i)
    sound = orphan->finding[i].processes == 0 || orphan->finding[i].file < orphan->files;
  return sound;
}

/* ---- One orphaned region ---- */

/* orphanFind -- a finding is true of the process of the current region */
static void orphanFind(Orphan orphan, unsigned what, Index file, const char *path)
{
  orphanFinding finding = &orphan->finding[what];

  AVER(what < orphanFINDINGS);
  AVER(file < orphan->files);
  if (finding->processes++ == 0) {
    finding->file = file;
    finding->pid = orphan->region.pid;
    (void)snprintf(finding->path, sizeof finding->path, "%s", path);
  }
}

/* orphanNamed -- the process whose header block in a log names the region at this path; NULL: none */
static Process orphanNamed(Orphan orphan, const char *path)
{
  Index i;

  for (i = 0; i < orphan->table->processes; ++i)
    if (strcmp(orphan->table->process[i]->public.header.region, path) == 0)
      return orphan->table->process[i];
  return NULL;
}

/* orphanUnread -- the current region cannot be read, or not all of it.  This is told of its process, and not that its
 * region is gone. */
static void orphanUnread(Orphan orphan, Index file, const char *path)
{
  Process process = orphanNamed(orphan, path);

  if (process != NULL && process->life == ProcessLifeUNKNOWN)
    process->life = ProcessLifeGONE;
  if (orphan->finding[orphanUNREAD].processes == 0)
    orphan->unreadWhy = orphan->region.failed;
  orphanFind(orphan, orphanUNREAD, file, path);
}

/* orphanProcess -- whether the current region's process runs is known now; if so, tell the table what the region says
 * of it: of one that has nothing in the log yet the recording, too, which goes on */
static Res orphanProcess(Orphan orphan, uint8_t life)
{
  Process process;
  Res res = TableProcess(&process, orphan->table, orphan->region.header.identity);

  if (res != ResOK)
    return res;
  process->life = life;
  if (life == ProcessLifeRUNS && !process->headed)
    process->public.header.recording = orphan->region.header.recording;
  if (life == ProcessLifeRUNS)
    OrphanRegionSays(&orphan->region, process, FALSE);
  return ResOK;
}

/* orphanLives -- the current region is not orphaned: the process runs, or its collector does */
static Res orphanLives(Orphan orphan, Index file, const char *path, Bool runs)
{
  orphan->file[file]->live = TRUE;
  orphanFind(orphan, runs ? orphanRUNNING : OrphanRegionEvents(&orphan->region) > 0 ? orphanENDING : orphanRECORDING,
             file, path);
  return orphanProcess(orphan, ProcessLifeRUNS);
}

/* orphanOrphan -- the collector of the current region was killed.  So the end of its recording is missing, unless that
 * is because the log was cut, which the region knows. */
static void orphanOrphan(Orphan orphan, uint64_t recording, Index file)
{
  uint64_t cut = OrphanRegionCut(&orphan->region, orphan->file[file]->fd);

  if (cut == 0)
    TableOrphan(orphan->table, recording);
  if (cut > orphan->cut) {
    orphan->cut = cut;
    orphan->shortened = file;
  }
}

/* orphanOpen -- do the logs lack a closing header block of the current region's process? */
static Bool orphanOpen(Orphan orphan)
{
  Process process = TableProcessFind(orphan->table, orphan->region.header.identity);

  return process == NULL || !process->public.header.ended;
}

/* orphanTake -- take what is in the current region, which belongs to a log, if it is orphaned */
static Res orphanTake(Orphan orphan, uint64_t recording, Index file, const char *path)
{
  OrphanRegion region = &orphan->region;
  OrphanCollector collector = OrphanRegionCollector(region);
  Bool runs = !OrphanRegionLock(region, LOCK_SH), unwritten;
  Res res;

  if (runs || collector == OrphanCollectorLIVES)
    return orphanLives(orphan, file, path, runs);
  /* Read it again: the process may have been running when the header was read. */
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
    orphanOrphan(orphan, recording, file);
  DamagedRangesForgetTail(orphan->regions, file); /* it is whole in the region */
  orphan->file[file]->left |= region->taken;
  orphan->events += region->events;
  orphan->spoiled += region->spoiled;
  if (region->spoiled > 0)
    orphanFind(orphan, orphanSPOILED, file, path);
  if (OrphanRegionMiscounts(region))
    orphanFind(orphan, orphanMISCOUNTS, file, path);
  unwritten = OrphanRegionUnwritten(region, collector);
  if (region->events > 0)
    orphanFind(orphan, unwritten ? orphanUNWRITTEN : orphanTAKEN, file, path);
  else if (collector == OrphanCollectorNONE && unwritten && orphanOpen(orphan))
    orphanFind(orphan, orphanUNCLOSED, file, path);
  if (region->failed != 0)
    orphanUnread(orphan, file, path);
  return ResOK;
}

/* ---- Which region belongs to which log ---- */

static int orphanCompare(const void *a, const void *b)
{
  const orphanRecordingStruct *x = a, *y = b;

  return x->recording != y->recording ? (x->recording < y->recording ? -1 : 1) : 0;
}

/* orphanRecordings -- list the recordings of which the logs have something, each with the first log that has */
static Res orphanRecordings(Orphan orphan)
{
  Table table = orphan->table;
  Count n = 0, kept = 0;
  Index i;

  orphan->recording = calloc(table->processes + 1, sizeof *orphan->recording);
  if (orphan->recording == NULL)
    return ResMEMORY;
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->headed && process->public.header.recording != 0 && process->file < orphan->files &&
        !orphan->file[process->file]->core)
      orphan->recording[n++] = (orphanRecordingStruct){process->public.header.recording, process->file};
  }
  qsort(orphan->recording, n, sizeof *orphan->recording, orphanCompare);
  for (i = 0; i < n; ++i)
    if (kept == 0 || orphan->recording[kept - 1].recording != orphan->recording[i].recording)
      orphan->recording[kept++] = orphan->recording[i];
  orphan->recordings = kept;
  return ResOK;
}

/* orphanFor -- was the current region made for the log whose folder is searched?  Asked if that log has nothing sound,
 * and so does not say which recording it belongs to. */
static Bool orphanFor(Orphan orphan, RegionFile file)
{
  File log = orphan->file[orphan->at];
  char path[PATH_MAX], target[PATH_MAX];
  const char *name;

  if (log->core || realpath(log->path, path) == NULL)
    return FALSE;
  name = strrchr(path, '/') + 1;
  if (file->name.log != 0)
    return strlen(name) == file->name.log && strncmp(name, file->file, file->name.log) == 0;
  return RegionFileTarget(target, file) && strcmp(target, path) == 0;
}

/* orphanIsNew -- was this file not looked at before? */
static Bool orphanIsNew(Orphan orphan, RegionFile file)
{
  Index i;

  for (i = 0; i < orphan->seen; ++i)
    if (orphan->known[i].device == file->status.st_dev && orphan->known[i].inode == file->status.st_ino)
      return FALSE;
  if (!Grow(&orphan->known, &orphan->capacity, orphan->seen, sizeof *orphan->known))
    return FALSE;
  orphan->known[orphan->seen].device = file->status.st_dev;
  orphan->known[orphan->seen++].inode = file->status.st_ino;
  return TRUE;
}

/* orphanOwner -- who owns a log */
static uid_t orphanOwner(File log)
{
  struct stat status;

  return fstat(log->fd, &status) == 0 ? status.st_uid : geteuid();
}

/* orphanOpened -- take what is in the current region, if it belongs to one of the logs
 * of  the recording that its name says, if the logs have something of it; NULL: it may belong to the log without
 *     anything */
static Res orphanOpened(Orphan orphan, RegionFile file, orphanRecording of, const char *path)
{
  Index log = of != NULL ? of->file : orphan->at;
  OrphanRegion region = &orphan->region;
  Bool read = OrphanRegionRead(region);
  Process process;

  if (!read && region->failed == 0)
    return ResOK;
  if (of == NULL && ((read && !RegionFileFirst(file, region->header.inode, orphan->file[log]->fd)) ||
                     !orphanFor(orphan, file)))
    return ResOK;
  if (of != NULL && read && OrphanRegionSender(region)) {
    process = TableProcessFind(orphan->table, region->header.identity);
    if (process == NULL || !process->headed)
      return ResOK; /* the log of another process of the recording has it */
    log = process->file;
  }
  if (!orphanIsNew(orphan, file))
    return ResOK;
  if (read)
    return orphanTake(orphan, file->name.recording, log, path);
  orphanUnread(orphan, log, path);
  return ResOK;
}

/* orphanRefused -- a region of a recording in the logs was not opened, because of `error`.  If no header block names
 * it, tell that it is there: its process may have been unable to write anything into the log. */
static void orphanRefused(Orphan orphan, RegionFile file, orphanRecording of, const char *path, int error)
{
  if (error == EPERM && file->status.st_uid != geteuid())
    (void)snprintf(orphan->refused, sizeof orphan->refused, "it belongs to user %lu",
                   (unsigned long)file->status.st_uid);
  else
    (void)snprintf(orphan->refused, sizeof orphan->refused, "%s", strerror(error));
  if (orphanNamed(orphan, path) == NULL && orphan->strangers++ == 0)
    ReporterLack(orphan->reporter, "%s: newest events may be in %s, which is not read: %s",
                 orphan->reporter->paths[of->file], path, orphan->refused);
}

/* orphanVisit -- a file with the name of a region */
static Res orphanVisit(void *data, RegionFile file)
{
  Orphan orphan = data;
  const orphanRecordingStruct wanted = {file->name.recording, 0};
  orphanRecording of = bsearch(&wanted, orphan->recording, orphan->recordings, sizeof wanted, orphanCompare);
  File log = orphan->file[of != NULL ? of->file : orphan->at];
  char path[orphanPathMAX];
  Res res;

  AVER(orphan->at < orphan->files);
  AVER(of == NULL || of->file < orphan->files);
  if (of == NULL && !orphan->nothing)
    return ResOK;
  (void)snprintf(path, sizeof path, "%s/%s", file->folder, file->file);
  if (!OrphanRegionOpen(&orphan->region, file, FALSE, orphanOwner(log))) {
    if (of != NULL && errno != ENOENT)
      orphanRefused(orphan, file, of, path, errno);
    return ResOK;
  }
  res = orphanOpened(orphan, file, of, path);
  (void)close(orphan->region.fd);
  return res;
}

/* ---- The region that a process's header block names ---- */

typedef struct orphanStandsStruct {
  OrphanRegion region;
  Header header;                   /* of the process */
  uid_t owner;                     /* of the log */
  enum { orphanNOTHING, orphanHEADLESS, orphanITS, orphanANOTHERS } what; /* what stands at the path */
  Bool alive;                      /* it is the process's region, and the process runs, or its collector does */
} orphanStandsStruct, *orphanStands;

/* orphanLook -- a file at the path that the header block names.  It may be another process's region, if both processes
 * have the same number and one of them had a /dev/shm of its own. */
static Res orphanLook(void *data, RegionFile file)
{
  orphanStands stands = data;
  OrphanRegion region = stands->region;

  if (!OrphanRegionOpen(region, file, FALSE, stands->owner))
    return ResOK;
  stands->what = !OrphanRegionRead(region)                                ? orphanHEADLESS
                 : region->header.identity == stands->header->identity ? orphanITS : orphanANOTHERS;
  stands->alive = stands->what == orphanITS &&
                  (!OrphanRegionLock(region, LOCK_SH) || OrphanRegionCollector(region) == OrphanCollectorLIVES);
  (void)close(region->fd);
  return ResOK;
}

/* orphanStandsAt -- look at the region of a process of which a log has a header block */
static orphanStandsStruct orphanStandsAt(OrphanRegion region, Header header, File log)
{
  orphanStandsStruct stands = {.region = region, .header = header, .owner = orphanOwner(log)};

  (void)RegionFileNamed(header->region, header->recording, log->path, orphanLook, &stands);
  return stands;
}

/* orphanGrew -- has the log become longer since it was opened? */
static Bool orphanGrew(File log)
{
  struct stat status;
  return fstat(log->fd, &status) == 0 && (uint64_t)status.st_size > log->size;
}

/* orphanMissing -- a process has not ended, and no region of it was found: tell what stands at the path of its region.
 * Only the first such process is told, the others are counted. */
static void orphanMissing(Orphan orphan, Process process)
{
  static const char *const why[] = {"which is gone",
                                     "which cannot be read, because its beginning was written over, or its file cut",
                                    "which is empty",
                                    "which is not here: what is there says that it is another process's"};
  Header header = &process->public.header;
  const char *log = orphan->reporter->paths[process->file];

  process->life = ProcessLifeGONE;
  if (orphan->missing++ > 0)
    return;
  if (orphan->refused[0] != '\0')
    ReporterLack(orphan->reporter, "%s: the newest events of process %u may be in %s, which is not read: %s", log,
                 header->pid, header->region, orphan->refused);
  else
    ReporterLack(orphan->reporter,
                 "%s: the end of process %u is missing, and its newest events, if there were any: what no receiver "
                 "refused was in %s, %s", log, header->pid, header->region,
                 why[orphanStandsAt(&orphan->region, header, orphan->file[process->file]).what]);
}

/* orphanUnended -- if a process has not ended and no region of it was found, find out why.  If the log has become
 * longer the process may have ended since: it wrote that, and then removed its region.  The same holds of a collector,
 * if no region says that it lives. */
static void orphanUnended(Orphan orphan, Process process)
{
  Header header = &process->public.header;
  File file = orphan->file[process->file];

  if (!process->headed || header->ended || process->life != ProcessLifeUNKNOWN || process->recovered || file->core)
    return;
  if ((strcmp(header->role, HeaderRoleCOLLECTOR) != 0 || !file->live) && orphanGrew(file)) {
    process->life = ProcessLifeRUNS;
    orphan->grown = file;
  } else if (header->region[0] != '\0') {
    orphanMissing(orphan, process);
  }
}

/* ---- What is told ---- */

/* orphanLack -- tell a finding, if it is true of a process.  The format gets the log, the number of the first process,
 * " and others" if there are, the region of the first, and `more`. */
static void orphanLack(Orphan orphan, unsigned what, const char *format, const char *more)
{
  orphanFinding finding = &orphan->finding[what];

  if (finding->processes > 0)
    ReporterLack(orphan->reporter, format, orphan->reporter->paths[finding->file], finding->pid,
                 finding->processes > 1 ? " and others" : "", finding->path, more);
}

/* orphanTellLiving -- of processes that run, and of living collectors */
static void orphanTellLiving(Orphan orphan)
{
  orphanFinding running = &orphan->finding[orphanRUNNING];

  if (running->processes > 1)
    ReporterLack(orphan->reporter, "%s: %zu processes are still running; their newest events are not in the log yet",
                 orphan->reporter->paths[running->file], running->processes);
  else
    orphanLack(orphan, orphanRUNNING, "%s: process %u is still running; its newest events are not in the log yet", "");
  if (orphan->finding[orphanENDING].processes > 0)
    orphanLack(orphan, orphanENDING, "%s: eventrec is about to write the newest events of process %u%s", "");
  else if (running->processes == 0)
    orphanLack(orphan, orphanRECORDING, "%s: eventrec still records; what is to come is not in the log yet", "");
  if (orphan->grown != NULL)
    ReporterLack(orphan->reporter,
                 "%s: it was written to while it was opened, and what came then is not read: open it again",
                 orphan->grown->path);
}

/* orphanTellCut -- of logs whose ends were cut off after a collector had written them */
static void orphanTellCut(Orphan orphan)
{
  const char *log = orphan->reporter->paths[orphan->shortened];

  if (orphan->cut == OrphanCutUNKNOWN)
    ReporterLack(orphan->reporter, "%s: whether it was cut is not known: what its memory says of its length cannot be, "
                 "and was written over", log);
  else if (orphan->cut > 0)
    ReporterLack(orphan->reporter, "%s: it was cut: %llu bytes that eventrec has written are missing", log,
                 (unsigned long long)orphan->cut);
}

/* orphanTellTaken -- how many events were taken, and from where */
static void orphanTellTaken(Orphan orphan)
{
  orphanFinding taken = &orphan->finding[orphanTAKEN];
  const char *log = orphan->reporter->paths[taken->file], *plural = TextPlural(orphan->events);
  unsigned long long events = orphan->events;

  if (taken->processes == 1)
    ReporterNote(orphan->reporter, "%s: took %llu event%s of process %u from shared memory: %s", log, events, plural,
                 taken->pid, taken->path);
  else if (taken->processes > 1)
    ReporterNote(orphan->reporter, "%s: took %llu event%s of %zu processes from shared memory: %s and others", log,
                 events, plural, taken->processes, taken->path);
}

/* orphanTell -- at most one line for each finding */
static void orphanTell(Orphan orphan)
{
  orphanFinding spoilers = &orphan->finding[orphanSPOILED];

  orphanTellLiving(orphan);
  orphanTellCut(orphan);
  orphanTellTaken(orphan);
  orphanLack(orphan, orphanUNWRITTEN, "%s: the newest events of process %u%s could not be written, and are in %s; "
             "eventrec --clean adds them", "");
  orphanLack(orphan, orphanUNCLOSED, "%s: the end of process %u%s could not be written, and is in %s; "
             "eventrec --clean adds it", "");
  orphanLack(orphan, orphanUNREAD, "%s: newest events of process %u%s may be in %s, which cannot be read: %s",
             strerror(orphan->unreadWhy));
  orphanLack(orphan, orphanMISCOUNTS, "%s: how many events process %u%s lost is not known: it had written over that "
             "count in shared memory, which cannot be", "");
  if (spoilers->processes > 0)
    ReporterLack(orphan->reporter, "%s: process %u%s had written over blocks in shared memory; %llu event%s lost",
                 orphan->reporter->paths[spoilers->file], spoilers->pid, spoilers->processes > 1 ? " and others" : "",
                 (unsigned long long)orphan->spoiled, orphan->spoiled == 1 ? " is" : "s are");
  if (orphan->missing > 1)
    ReporterLack(orphan->reporter, "so it is with %zu other process%s", orphan->missing - 1,
                 orphan->missing == 2 ? "" : "es");
  if (orphan->strangers > 1)
    ReporterLack(orphan->reporter, "%zu other file%s in memory that may have newest events %s not read",
                 orphan->strangers - 1, TextPlural(orphan->strangers - 1), orphan->strangers == 2 ? "is" : "are");
}

/* ---- All regions ---- */

/* orphanFile -- make a File of the temporary file */
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

Res OrphanReaderTake(File *fileReturn, Table table, File *files, Count count, DamagedRanges regions, Reporter reporter)
{
  Orphan orphan = calloc(1, sizeof *orphan);
  Index i;
  Res res;

  *fileReturn = NULL;
  if (orphan == NULL)
    return ResMEMORY;
  orphan->table = orphan->region.table = table;
  orphan->file = orphan->region.file = files;
  orphan->files = count;
  orphan->regions = regions;
  orphan->reporter = reporter;
  orphan->region.to = -1;
  res = orphanRecordings(orphan);
  for (i = 0; i < count && res == ResOK; ++i) {
    orphan->at = i;
    orphan->nothing = DamagedRangesNothing(regions, i, files[i]->size);
    if (!files[i]->core)
      res = RegionFileSearch(files[i]->path, orphanVisit, orphan);
  }
  for (i = 0; i < table->processes && res == ResOK; ++i)
    orphanUnended(orphan, table->process[i]);
  for (i = 0; i < count; ++i)
    if (files[i]->live || orphanGrew(files[i]))
      DamagedRangesForgetTail(regions, i);
  AVER(orphanCheck(orphan));
  if (res == ResOK)
    orphanTell(orphan);
  if (res == ResOK && orphan->region.to >= 0)
    res = orphanFile(fileReturn, orphan->region.to);
  else if (orphan->region.to >= 0)
    (void)close(orphan->region.to);
  free(orphan->known);
  free(orphan->recording);
  free(orphan);
  return res;
}

Bool OrphanReaderAlive(Table table, File log)
{
  OrphanRegion region = malloc(sizeof *region);
  Bool alive = FALSE;
  Index i;

  for (i = 0; region != NULL && i < table->processes && !alive; ++i) {
    Header header = &table->process[i]->public.header;
    if (table->process[i]->headed && header->region[0] != '\0' && header->recording != 0)
      alive = orphanStandsAt(region, header, log).alive;
  }
  free(region);
  return alive;
}
