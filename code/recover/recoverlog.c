/* recoverlog.c -- appends to a log what its dead processes have left in their regions
 *
 * The log is scanned first, as by any reader, to learn which recordings it has, and which blocks of each stream.  What
 * is appended is scanned, too, so that the closing header blocks count it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/recoverlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "base/text.h"
#include "format/block.h"
#include "log/scan.h"
#include "log/table.h"
#include "recover/orphanregion.h"
#include "recover/regionfile.h"

enum { recoverSTREAMS = 8192 }; /* lines `stream:` of a closing header block, which fit whatever the numbers are */

/* A region that stays until its recording is closed.  If we are killed before that, or the disk is full, the next
 * recovery finds it and closes the recording. */
typedef struct recoverHeldStruct {
  uint64_t recording;
  struct stat status;
} recoverHeldStruct;

typedef struct recoverStruct {
  int log;
  Bool certain;                /* it is the recording's log even if nothing in it says so */
  const char *path;
  uint64_t recording;          /* that is recovered; 0: any that the log has */
  RecoverNow now;              /* NULL: it is not known when processes ended */
  SyncStruct ended;            /* the process of the current region had ended by then */
  Bool keep;                   /* regions stay */
  uid_t owner;                 /* of the log */
  Recovered recovered;
  Bool scanned;                /* `file` is open */
  recoverHeldStruct *held;     /* at most one for each recording that had a collector; owned */
  Count helds, capacity;
  Bool told;                   /* the log counts what is lost with the current region: not to be counted again */
  Bool untold;                 /* nothing in the log can count what is lost with the current region */
  Bool cut;                    /* the end of the log was cut off, so that it must not be closed as whole */
  FileStruct file;
  File files[1];               /* that, as the only log */
  ScanPlaceStruct place;
  ScanStruct scan;
  TableStruct table;
  DamagedRangesStruct regions;
  ReporterStruct reporter;
  OrphanRegionStruct region;   /* the current one */
  char room[HeaderMAX];
} recoverStruct, *Recover;

/* recoverCheck -- is one region at most held for a recording, and none where all stay;  is the table sound? */
static Bool recoverCheck(Recover recover) __attribute__((unused));
static Bool recoverCheck(Recover recover)
{
  Bool sound = recover->helds <= recover->capacity && (!recover->keep || recover->helds == 0) &&
               (!recover->scanned || recover->file.fd >= 0);
  Index i, k;

  for (i = 0; sound && i < recover->helds; ++i)
    for (k = 0; sound && k < i; ++k)
      sound = recover->held[i].recording != recover->held[k].recording;
  return sound && TableCheck(&recover->table);
}

/* ---- The log ---- */

/* recoverScan -- scan the log, or what was appended to it since it was last scanned */
static Res recoverScan(Recover recover)
{
  struct stat status;
  Res res;

  if (!recover->scanned) {
    recover->file.fd = FileAgain(recover->log, O_RDONLY);
    if (recover->file.fd < 0)
      return ResIO;
    recover->scanned = TRUE;
  }
  if (fstat(recover->file.fd, &status) != 0 || !S_ISREG(status.st_mode))
    return ResIO;
  recover->file.size = (uint64_t)status.st_size;
  recover->file.windowSize = 0;
  res = ScanOn(&recover->scan, &recover->file, 0, &recover->place, UINT64_MAX);
  if (res != ResOK || recover->file.failed == 0)
    return res;
  errno = recover->file.failed;
  return ResIO;
}

/* recoverBegins -- does the file begin as a log does: with a block or a header block, or, where its oldest part was
 * given back, with zeros before one?  Anybody can get a header block into the middle of a file that is no log. */
static Bool recoverBegins(Recover recover)
{
  uint64_t first = FileZeros(&recover->file, 0, recover->file.size);
  const unsigned char *bytes = FileBytes(&recover->file, first, BlockMagicSIZE);

  return bytes != NULL && (memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0 ||
                           memcmp(bytes, BlockMAGIC, BlockMagicSIZE) == 0);
}

/* recoverHas -- has the log something of a recording, or is it certainly the recording's empty log?  Any other empty
 * file may be no log at all. */
static Bool recoverHas(Recover recover, uint64_t recording)
{
  Index i;

  for (i = 0; i < recover->table.processes; ++i)
    if (recover->table.process[i]->public.header.recording == recording)
      return recoverBegins(recover);
  return recover->certain && recover->recording == recording &&
         DamagedRangesNothing(&recover->regions, 0, recover->file.size);
}

/* ---- Ends ---- */

/* recoverStreams -- write the `stream:` lines of a process, from stream `from` of the table on, at most recoverSTREAMS
 * returns  the stream at which the next header block goes on */
static Index recoverStreams(Recover recover, Text text, Process process, Index from)
{
  Table table = &recover->table;
  Count n = 0;

  for (; from < table->streams && n < recoverSTREAMS; ++from) {
    LogStream stream = table->stream[from];
    BlockRuns runs = &stream->runs;
    HeaderStreamStruct its;
    if (stream->process != process || runs->count == 0)
      continue;
    its = (HeaderStreamStruct){stream->id, runs->run[runs->count - 1].to, runs->run[runs->count - 1].after,
                               stream->discarded};
    HeaderStreamWrite(text, &its);
    ++n;
  }
  return from;
}

/* recoverHeader -- append a header block of a process, or, if it has `ended`, as many as the lines of its streams
 * need */
static Res recoverHeader(Recover recover, Process process)
{
  Header header = &process->public.header;
  Index next = 0;
  Res res;

  do {
    TextStruct text;
    TextInit(&text, recover->room, sizeof recover->room);
    HeaderBegin(&text, header);
    next = header->ended ? recoverStreams(recover, &text, process, next) : recover->table.streams;
    res = HeaderEnd(&text);
    if (res == ResOK)
      res = FileAppend(recover->log, recover->room, TextLength(&text));
  } while (res == ResOK && next < recover->table.streams);
  return res;
}

/* recoverCounts -- the log was cut, so that the process's part of it cannot be closed.  Append what the region, which
 * will be removed, counts of the process. */
static Res recoverCounts(Recover recover, Process process)
{
  Header header = &process->public.header;
  uint64_t lost = header->lost;

  if (!process->headed || header->ended)
    return ResOK;
  header->lost = ProcessLost(process);
  return header->lost > lost || header->forgotten > 0 ? recoverHeader(recover, process) : ResOK;
}

/* recoverClose -- append the closing header block of a process, of which the log now has all that there was */
static Res recoverClose(Recover recover, Process process)
{
  Table table = &recover->table;
  Header header = &process->public.header;
  Index i;

  AVER(process->headed);
  header->region[0] = '\0';
  header->ended = TRUE;
  header->open = 0;
  header->streams = 0;
  CountRaise(&header->lost, process->lost);
  for (i = 0; i < table->streams; ++i)
    header->streams += table->stream[i]->process == process && table->stream[i]->runs.count > 0;
  return recoverHeader(recover, process);
}

/* recoverTell -- events of a process are lost that the log does not know.  Count them in a header block of the
 * recording's collector, which has ended; while it lives it does so itself.  If the log knows no collector, the region
 * stays. */
static Res recoverTell(Recover recover, uint64_t recording, uint64_t lost)
{
  Table table = &recover->table;
  Process process = NULL;
  Index i;

  for (i = 0; i < table->processes && process == NULL; ++i) {
    Header header = &table->process[i]->public.header;
    if (table->process[i]->headed && header->recording == recording && strcmp(header->role, HeaderRoleCOLLECTOR) == 0)
      process = table->process[i];
  }
  recover->untold = process == NULL;
  if (process == NULL)
    return ResOK;
  recover->told = TRUE;
  process->public.header.lost = CountAdd(process->public.header.lost, lost);
  return process->public.header.ended ? recoverClose(recover, process) : recoverHeader(recover, process);
}

/* recoverCensus -- how many processes of a recording the log has: that many its closing header block will say, because
 * of others nothing is known */
static uint64_t recoverCensus(Table table, uint64_t recording)
{
  uint64_t there = 0;
  Index i;

  for (i = 0; i < table->processes; ++i)
    there += ProcessRecorded(table->process[i]) && !table->process[i]->moved &&
             ProcessRecording(table->process[i]) == recording;
  return there;
}

/* recoverEnd -- if no process records any more, write the closing header blocks of collectors that could not do so */
static Res recoverEnd(Recover recover)
{
  Table table = &recover->table;
  Res res = ResOK;
  Index i;

  for (i = 0; i < table->processes && res == ResOK && recover->recovered->running == 0 && !recover->cut; ++i) {
    Process process = table->process[i];
    if (process->headed && process->expected && !process->public.header.ended &&
        strcmp(process->public.header.role, HeaderRoleCOLLECTOR) == 0 && process->orphan) {
      process->public.header.processes = recoverCensus(table, process->public.header.recording);
      res = recoverClose(recover, process);
    }
  }
  return res;
}

/* ---- Regions ---- */

/* recoverGone -- if the process of the current region lived when its recording was about to end, and has ended since,
 * its closing header block says when that was seen, as the process would have done itself */
static void recoverGone(Recover recover, Header header)
{
  if (recover->now == NULL || recover->region.header.hand.released == 0)
    return;
  if (header->gone == 0)
    header->gone = strcmp(header->clock, SyncCOUNTER) == 0 ? recover->ended.ticks : recover->ended.mono;
  ++recover->recovered->released;
}

/* recoverEnded -- a region was taken: append the closing header block of its process, unless the process has written
 * one itself and left nothing behind, or more than this is missing from the log */
static Res recoverEnded(Recover recover, Process process)
{
  OrphanRegion region = &recover->region;
  Header header = &process->public.header;

  /* If the region's own header block is a closing one, it is a collector's, and was all that it had left to write. */
  if (!process->headed || (region->header.text.generation != 0 && region->parsed.ended))
    return ResOK;
  recoverGone(recover, header);
  if (!OrphanRegionUsed(region) || (header->ended && !region->taken && process->lost <= header->lost))
    return ResOK;
  return recoverClose(recover, process);
}

/* recoverScanHas -- scan the log, which must have something of a recording; ResPARAM with errno: it has not */
static Res recoverScanHas(Recover recover, uint64_t recording)
{
  Res res = recoverScan(recover);

  if (res != ResOK || recoverHas(recover, recording))
    return res;
  errno = EINVAL;
  return ResPARAM;
}

/* recoverTake -- append what the current region holds, its header block first, and the closing header block of its
 * process */
static Res recoverTake(Recover recover, uint64_t recording, OrphanCollector collector)
{
  OrphanRegion region = &recover->region;
  Process process;
  uint64_t blocks;
  Res res = recoverScanHas(recover, recording);

  if (res != ResOK)
    return res;
  blocks = recover->scan.blocks;
  recover->cut |= OrphanRegionCut(region, recover->log) > 0;
  recover->told = recover->untold = FALSE;
  region->table = &recover->table;
  region->to = recover->log;
  res = OrphanRegionTake(region);
  if (res == ResOK)
    res = recoverScan(recover);
  if (res == ResOK)
    res = TableProcess(&process, &recover->table, region->header.identity);
  if (res != ResOK)
    return res;
  recover->recovered->blocks += recover->scan.blocks - blocks;
  recover->recovered->spoiled += region->spoiled;
  process->lost = OrphanRegionLost(region);
  if (region->failed != 0)
    return ResIO;
  if (!process->headed && process->lost > 0 && !recover->keep)
    res = recoverTell(recover, recording, process->lost);
  if (res != ResOK || recover->cut)
    return res == ResOK ? recoverCounts(recover, process) : res;
  if (collector != OrphanCollectorNONE)
    TableOrphan(&recover->table, recording);
  return recoverEnded(recover, process);
}

/* recoverHeadless -- nothing can be read of the current region.  The log lacks the end of its process; if the log does
 * not know the process, count one event at least as lost. */
static Res recoverHeadless(Recover recover, RegionFile file)
{
  Table table = &recover->table;
  Bool known = FALSE;
  Index i;
  Res res = recoverScanHas(recover, file->name.recording);

  if (res != ResOK)
    return res;
  for (i = 0; i < table->processes; ++i) {
    Header header = &table->process[i]->public.header;
    known |= table->process[i]->headed && header->recording == file->name.recording && header->pid == file->name.pid &&
             !header->ended;
  }
  recover->untold = FALSE;
  ++recover->recovered->headless;
  return known || recover->keep ? ResOK : recoverTell(recover, file->name.recording, 1);
}

/* recoverHold -- is the current region, which was taken, to stay until its recording is closed?  One of each recording
 * is, but none whose loss the log counts already: it would be counted twice. */
static Bool recoverHold(Recover recover, RegionFile file)
{
  Index i;

  for (i = 0; i < recover->helds; ++i)
    if (recover->held[i].recording == file->name.recording)
      return FALSE;
  AVER(!recover->keep && recover->helds <= recover->capacity);
  if (recover->told || !Grow(&recover->held, &recover->capacity, recover->helds, sizeof *recover->held))
    return FALSE;
  recover->held[recover->helds++] = (recoverHeldStruct){file->name.recording, file->status};
  return TRUE;
}

/* recoverDrop -- the recordings are closed: remove the regions that stayed for that */
static Res recoverDrop(void *data, RegionFile file)
{
  Recover recover = data;
  Index i;

  for (i = 0; i < recover->helds; ++i)
    if (recover->held[i].recording == file->name.recording) {
      file->status = recover->held[i].status;
      RegionFileRemove(file);
    }
  return ResOK;
}

/* recoverIts -- may the log have what is in the current region, which belongs to one of its recordings? */
static Res recoverIts(Recover recover, RegionFile file, Bool *itsReturn)
{
  Process process;
  Res res = ResOK;

  *itsReturn = TRUE;
  if (!OrphanRegionSender(&recover->region))
    return res;
  res = recoverScanHas(recover, file->name.recording);
  process = res == ResOK ? TableProcessFind(&recover->table, recover->region.header.identity) : NULL;
  *itsReturn = process != NULL && process->headed;
  return res;
}

/* recoverOrphan -- recover the current region, if its process has ended and no collector is going to take it.  If
 * region->failed is set afterwards it stays. */
static Res recoverOrphan(Recover recover, RegionFile file)
{
  OrphanRegion region = &recover->region;
  OrphanCollector collector = OrphanRegionCollector(region);
  Bool its;
  Res res = recoverIts(recover, file, &its);

  if (res != ResOK || !its)
    return res;
  if (collector == OrphanCollectorLIVES || !OrphanRegionLock(region, LOCK_EX)) {
    ++recover->recovered->running;
    recover->recovered->barred += RegionFileBarred(file);
    return ResOK;
  }
  if (recover->now != NULL)
    recover->now(&recover->ended, FALSE);
  /* Read it again: the process may have been running when the header was read. */
  if (!OrphanRegionRead(region))
    return region->failed == 0 ? ResOK : ResIO;
  res = recoverTake(recover, file->name.recording, collector);
  if (res == ResOK && !recover->keep && !recover->untold &&
      (collector == OrphanCollectorNONE || !recoverHold(recover, file)))
    RegionFileRemove(file);
  return res;
}

/* recoverOpened -- recover the current region, whatever the file is */
static Res recoverOpened(Recover recover, RegionFile file)
{
  Res res;

  switch (OrphanRegionKind(&recover->region, file)) {
  case OrphanREGION:
    return recoverOrphan(recover, file);
  case OrphanUNREAD:
    return ResIO;
  case OrphanUNBORN:
    RegionFileRemove(file);
    return ResOK;
  case OrphanHEADLESS:
    if (OrphanRegionYoung(file))
      return ResOK;
    res = recoverHeadless(recover, file);
    if (res == ResOK && !recover->keep && !recover->untold)
      RegionFileRemove(file);
    return res;
  case OrphanOTHER:
    break;
  }
  return ResOK;
}

/* recoverElsewhere -- was the region made for another log, which exists and has something of the recording?  Anybody
 * can write the number of a recording into a file, because the names of regions tell it; but the link beside a region
 * was made by the maker of the region. */
static Bool recoverElsewhere(Recover recover, RegionFile file)
{
  struct stat log, its;
  char path[PATH_MAX];
  int fd;

  if (!RegionFileTarget(path, file) || stat(path, &log) != 0 || fstat(recover->log, &its) != 0 ||
      (log.st_dev == its.st_dev && log.st_ino == its.st_ino))
    return FALSE;
  fd = RecoverLogOpen(path, file->name.recording, 0);
  if (fd < 0)
    return FALSE;
  (void)close(fd);
  recover->recovered->elsewhere = TRUE;
  (void)strcpy(recover->recovered->log, path);
  return TRUE;
}

/* recoverVisit -- a file with the name of a region.  If one cannot be read the others are recovered all the same. */
static Res recoverVisit(void *data, RegionFile file)
{
  Recover recover = data;
  OrphanRegion region = &recover->region;
  Res res = ResOK;

  if (recover->recording != 0 ? file->name.recording != recover->recording : !recoverHas(recover, file->name.recording))
    return ResOK;
  if (!OrphanRegionOpen(region, file, TRUE, recover->owner)) {
    if (errno != ENOENT && errno != EPERM)
      recover->recovered->unread = errno;
    return ResOK;
  }
  region->failed = 0;
  if (recover->recording != 0 || recover->keep || !recoverElsewhere(recover, file))
    res = recoverOpened(recover, file);
  (void)close(region->fd);
  if (region->failed == 0 || (res != ResOK && res != ResIO))
    return res;
  recover->recovered->unread = region->failed;
  return ResOK;
}

/* recoverForeign -- is the file no log?  It is not empty, and does not begin as one. */
static Bool recoverForeign(Recover recover)
{
  return !recoverBegins(recover) && !DamagedRangesNothing(&recover->regions, 0, recover->file.size);
}

static void recoverFree(Recover recover)
{
  int reason = errno;

  if (recover->scanned)
    (void)close(recover->file.fd);
  TableFree(&recover->table);
  DamagedRangesFree(&recover->regions);
  free(recover->held);
  free(recover);
  errno = reason;
}

static Recover recoverMake(int log, Bool certain, const char *path, uint64_t recording, uid_t owner)
{
  Recover recover = calloc(1, sizeof *recover);

  if (recover == NULL)
    return NULL;
  recover->log = log;
  recover->certain = certain;
  recover->path = path;
  recover->recording = recording;
  recover->owner = owner;
  recover->file.path = path;
  recover->files[0] = &recover->file;
  recover->region.file = recover->files;
  recover->reporter.paths = (const char *const *)&recover->path;
  recover->scan.table = &recover->table;
  recover->scan.regions = &recover->regions;
  recover->scan.reporter = &recover->reporter;
  recover->region.strict = TRUE;
  return recover;
}

Res RecoverLog(int log, Bool certain, const char *path, uint64_t recording, RecoverNow now, Bool keep,
               Recovered recoveredReturn)
{
  struct stat status;
  Recover recover;
  Res res;

  AVER(path != NULL);
  *recoveredReturn = (RecoveredStruct){0};
  if (fstat(log, &status) != 0 || !S_ISREG(status.st_mode))
    return ResIO;
  recover = recoverMake(log, certain, path, recording, status.st_uid);
  if (recover == NULL)
    return ResMEMORY;
  recover->now = now;
  recover->keep = keep;
  recover->recovered = recoveredReturn;
  res = recording == 0 ? recoverScan(recover) : ResOK;
  if (res == ResOK && recording == 0 && recoverForeign(recover))
    res = ResPARAM;
  if (res == ResOK)
    res = RegionFileSearch(path, recoverVisit, recover);
  if (res == ResOK && recoveredReturn->unread != 0) {
    errno = recoveredReturn->unread;
    res = ResIO;
  }
  AVER(recoverCheck(recover));
  if (res == ResOK && recover->scanned)
    res = recoverEnd(recover);
  if (res == ResOK && recover->helds > 0)
    res = RegionFileSearch(path, recoverDrop, recover);
  recoverFree(recover);
  return res;
}

int RecoverLogOpen(const char *path, uint64_t recording, uint64_t sender)
{
  Bool certain;
  int log = RegionFileAppend(&certain, path, recording);
  Recover recover = log >= 0 ? recoverMake(log, certain, path, recording, geteuid()) : NULL;
  Res res = recover != NULL ? recoverScanHas(recover, recording) : ResMEMORY;
  Process process = res == ResOK && sender != 0 ? TableProcessFind(&recover->table, sender) : NULL;

  if (res == ResOK && sender != 0 && (process == NULL || !process->headed)) {
    errno = EINVAL;
    res = ResPARAM;
  }
  if (recover != NULL)
    recoverFree(recover);
  return res == ResOK || log < 0 ? log : FileCloseFailed(log);
}
