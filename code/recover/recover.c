/* recover.c -- puts what dead processes have left in memory into their log
 *
 * The log is scanned, as by any reader: so it is known which recordings it has, and what of each stream is there.  What is
 * appended is scanned on; so the closing header blocks count it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/recover.h"

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
#include "format/block.h"
#include "log/index.h"
#include "log/scan.h"
#include "log/table.h"
#include "recover/orphanregion.h"
#include "recover/regionplace.h"

enum { recoverSTREAMS = 8192 /* of a closing header block: whatever the numbers are, they fit */ };

/* A region that stays until its recording is closed: who is killed before that, or finds no room, can begin anew. */
typedef struct recoverHeldStruct {
  uint64_t recording;
  struct stat status;
} recoverHeldStruct;

typedef struct recoverStruct {
  int log;
  Bool certain;                /* it is the log even if nothing in it says so */
  const char *path;
  uint64_t recording;          /* only this one; 0: any that the log has */
  RecoverNow now;              /* NULL: nobody knows when processes ended */
  SyncStruct ended;            /* when the process of the region in hand had, at the latest */
  Bool keep;                   /* nothing that was added is removed */
  uid_t owner;                 /* of the log */
  Recovered recovered;
  Bool scanned;
  recoverHeldStruct *held;     /* one of each recording that had a collector, at most; owned */
  Count helds, capacity;
  Bool told;                   /* what is lost with the region in hand was counted in the log: once is enough */
  Bool untold;                 /* what is lost with the region in hand can be told nowhere in the log */
  Bool cut;                    /* the log lacks some of its end: it is not for us to say that it is whole */
  FileStruct file;
  ScanPlaceStruct place;
  ScanStruct scan;
  TableStruct table;
  IndexStruct index;
  DamagedRangesStruct regions;
  ReporterStruct reporter;
  OrphanRegionStruct region;
  char room[HeaderMAX];
} recoverStruct, *Recover;

/* ---- The log ---- */

/* recoverBlock -- blocks that are scanned go nowhere: the table counts them */
static Res recoverBlock(void *data, Stream stream, const IndexEntryStruct *entry, Bool seen)
{
  UNUSED(data);
  UNUSED(stream);
  UNUSED(entry);
  UNUSED(seen);
  return ResOK;
}

/* recoverScan -- scan what the log has, or has got since the last time: all of that */
static Res recoverScan(Recover recover)
{
  struct stat status;
  char name[32];
  Res res;

  if (!recover->scanned) {
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", recover->log);
    recover->file.fd = open(name, O_RDONLY | O_CLOEXEC);
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

/* recoverHas -- has the log something of a recording?  An empty one has nothing of any other; but neither has an empty file
 * that is none of ours. */
static Bool recoverHas(Recover recover, uint64_t recording)
{
  Index i;

  for (i = 0; i < recover->table.processes; ++i)
    if (recover->table.process[i]->public.header.recording == recording)
      return TRUE;
  return recover->certain && recover->recording == recording &&
         DamagedRangesNothing(&recover->regions, 0, recover->file.size);
}

/* ---- Ends ---- */

/* recoverStreams -- the `stream:` lines of a process, from stream `from` of the table on, at most recoverSTREAMS; where
 * it has come to */
static Index recoverStreams(Recover recover, Text text, Process process, Index from)
{
  Table table = &recover->table;
  Count n = 0;

  for (; from < table->streams && n < recoverSTREAMS; ++from) {
    Stream stream = table->stream[from];
    Tally tally = &stream->tally;
    HeaderStreamStruct its;
    if (stream->process != process || tally->runs == 0)
      continue;
    its = (HeaderStreamStruct){stream->id, tally->run[tally->runs - 1].to, tally->run[tally->runs - 1].after,
                               stream->discarded};
    HeaderStreamWrite(text, &its);
    ++n;
  }
  return from;
}

/* recoverOpen -- a process's header block, as it is known now; its part is not closed */
static Res recoverOpen(Recover recover, Process process)
{
  TextStruct text;
  Res res;

  TextInit(&text, recover->room, sizeof recover->room);
  HeaderBegin(&text, &process->public.header);
  res = HeaderEnd(&text);
  return res == ResOK ? FileAppend(recover->log, recover->room, TextLength(&text)) : res;
}

/* recoverCounts -- the log was cut, so a process's part cannot be closed: what its memory, which goes, counts is put there all the
 * same */
static Res recoverCounts(Recover recover, Process process)
{
  Header header = &process->public.header;
  uint64_t lost = header->lost;

  if (!process->headed || header->ended)
    return ResOK;
  header->lost = ProcessLost(process);
  return header->lost > lost || header->forgotten > 0 ? recoverOpen(recover, process) : ResOK;
}

/* recoverClose -- a process's closing header block: the log has all of it that there was */
static Res recoverClose(Recover recover, Process process)
{
  Table table = &recover->table;
  Header header = &process->public.header;
  Index i, next = 0;
  Res res = ResOK;

  header->region[0] = '\0';
  header->ended = TRUE;
  header->open = 0;
  header->streams = 0;
  if (process->lost > header->lost)
    header->lost = process->lost;
  for (i = 0; i < table->streams; ++i)
    header->streams += table->stream[i]->process == process && table->stream[i]->tally.runs > 0;
  do {
    TextStruct text;
    TextInit(&text, recover->room, sizeof recover->room);
    HeaderBegin(&text, header);
    next = recoverStreams(recover, &text, process, next);
    res = HeaderEnd(&text);
    if (res == ResOK)
      res = FileAppend(recover->log, recover->room, TextLength(&text));
  } while (res == ResOK && next < table->streams);
  return res;
}

/* recoverTell -- events are lost of a process that the log does not know: the recording's collector, which is no more, counts them,
 * as it does while it lives.  Where the log knows of none the memory stays, which tells of it. */
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
  return (process->public.header.ended ? recoverClose : recoverOpen)(recover, process);
}

/* recoverCensus -- how many processes a recording is said to have: those that the log has now, for nobody knows of
 * others */
static uint64_t recoverCensus(Table table, uint64_t recording)
{
  CensusStruct census;
  uint64_t there = 0;
  Index i;

  if (CensusTake(&census, table) != ResOK)
    return 0;
  for (i = 0; i < census.count; ++i)
    if (census.of[i].recording == recording)
      there = census.of[i].there;
  CensusFree(&census);
  return there;
}

/* recoverEnd -- where nobody records any more the recording is over, though its collector could not say so */
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

/* recoverLock -- has the process of the region in hand ended?  Then the region is locked, and that was when this was seen. */
static Bool recoverLock(Recover recover)
{
  if (!OrphanRegionLock(&recover->region, LOCK_EX))
    return FALSE;
  if (recover->now != NULL)
    recover->now(&recover->ended, FALSE);
  return TRUE;
}

/* recoverGone -- the process of the region in hand lived when its recording was about to end, and has ended since: the log
 * says when, as that process did if it could */
static void recoverGone(Recover recover, Header header)
{
  if (recover->now == NULL || recover->region.header.hand.released == 0)
    return;
  if (header->gone == 0)
    header->gone = strcmp(header->clock, SyncCOUNTER) == 0 ? recover->ended.ticks : recover->ended.mono;
  ++recover->recovered->released;
}

/* recoverClosed -- has the process closed its part itself, and left nothing? */
static Bool recoverClosed(Recover recover, Process process)
{
  Header header = &process->public.header;

  return header->ended && !recover->region.taken && process->lost <= header->lost;
}

/* recoverTake -- append what the region in hand has, its header block first, and the process's closing header block, unless more
 * is missing */
static Res recoverTake(Recover recover, uint64_t recording, OrphanCollector collector)
{
  Process process;
  uint64_t blocks;
  Bool used;
  Res res = recoverScan(recover);

  if (res != ResOK)
    return res;
  if (!recoverHas(recover, recording)) {
    errno = EINVAL;
    return ResPARAM;
  }
  blocks = recover->scan.blocks;
  recover->cut |= OrphanRegionCut(&recover->region, recover->log) > 0;
  recover->told = recover->untold = FALSE;
  recover->region.table = &recover->table;
  recover->region.to = recover->log;
  res = OrphanRegionTake(&recover->region);
  if (res == ResOK)
    res = recoverScan(recover);
  if (res == ResOK)
    res = TableProcess(&process, &recover->table, recover->region.header.identity);
  if (res != ResOK)
    return res;
  recover->recovered->blocks += recover->scan.blocks - blocks;
  recover->recovered->spoiled += recover->region.spoiled;
  used = OrphanRegionUsed(&recover->region);
  process->lost = OrphanRegionLost(&recover->region);
  if (recover->region.failed != 0)
    return ResIO;
  if (!process->headed && process->lost > 0 && !recover->keep)
    res = recoverTell(recover, recording, process->lost);
  if (res != ResOK || recover->cut)
    return res == ResOK ? recoverCounts(recover, process) : res;
  if (collector != OrphanCollectorNONE)
    TableOrphan(&recover->table, recording);
  /* Of a collector it is the closing header block itself that was left. */
  if (!process->headed || (recover->region.header.text.generation != 0 && recover->region.parsed.ended))
    return ResOK;
  recoverGone(recover, &process->public.header);
  return !used || recoverClosed(recover, process) ? ResOK : recoverClose(recover, process);
}

/* recoverOver -- nothing can be read of the region in hand.  The log lacks the end of its process; if it knows of none, one
 * event at least is lost. */
static Res recoverOver(Recover recover, RegionPlace place)
{
  Table table = &recover->table;
  Bool known = FALSE;
  Index i;
  Res res = recoverScan(recover);

  if (res != ResOK)
    return res;
  if (!recoverHas(recover, place->name.recording)) {
    errno = EINVAL;
    return ResPARAM;
  }
  for (i = 0; i < table->processes; ++i) {
    Header header = &table->process[i]->public.header;
    known |= table->process[i]->headed && header->recording == place->name.recording && header->pid == place->name.pid &&
             !header->ended;
  }
  recover->untold = FALSE;
  ++recover->recovered->over;
  return known || recover->keep ? ResOK : recoverTell(recover, place->name.recording, 1);
}

/* recoverHold -- is the region in hand, which was taken, to stay until its recording is closed? */
static Bool recoverHold(Recover recover, uint64_t recording, const struct stat *status)
{
  Index i;

  for (i = 0; i < recover->helds; ++i)
    if (recover->held[i].recording == recording)
      return FALSE;
  if (recover->told || !Grow(&recover->held, &recover->capacity, recover->helds, sizeof *recover->held))
    return FALSE;
  recover->held[recover->helds++] = (recoverHeldStruct){recording, *status};
  return TRUE;
}

/* recoverDrop -- the recordings are closed: remove what stayed for that */
static Res recoverDrop(void *data, RegionPlace place)
{
  Recover recover = data;
  Index i;

  for (i = 0; i < recover->helds; ++i)
    if (recover->held[i].recording == place->name.recording)
      RegionPlaceRemove(place, &recover->held[i].status);
  return ResOK;
}

/* recoverNone -- a file that is called as regions are, and none that can be read */
static Res recoverNone(Recover recover, RegionPlace place, const struct stat *status)
{
  OrphanRegion region = &recover->region;
  Res res = ResOK;

  if (OrphanRegionUnborn(region, status, place->name.pid)) {
    RegionPlaceRemove(place, status);
  } else if (region->failed == 0 && OrphanRegionOver(region, status, place->name.pid) && !OrphanRegionYoung(status)) {
    res = recoverOver(recover, place);
    if (res == ResOK && !recover->keep && !recover->untold)
      RegionPlaceRemove(place, status);
  }
  return res;
}

/* recoverOpened -- the same, open; with region.failed set it stays */
static Res recoverOpened(Recover recover, RegionPlace place, const struct stat *status)
{
  OrphanRegion region = &recover->region;
  OrphanCollector collector;
  Res res;

  if (!OrphanRegionRead(region))
    return region->failed == 0 ? recoverNone(recover, place, status) : ResIO;
  collector = OrphanRegionCollector(region);
  if (collector == OrphanCollectorLIVES || !recoverLock(recover)) {
    ++recover->recovered->running;
    recover->recovered->barred += RegionPlaceBarred(place, status);
    return ResOK;
  }
  /* Once more: it may have lived when its header was read. */
  if (!OrphanRegionRead(region))
    return region->failed == 0 ? ResOK : ResIO;
  res = recoverTake(recover, place->name.recording, collector);
  if (res == ResOK && !recover->keep && !recover->untold &&
      (collector == OrphanCollectorNONE || !recoverHold(recover, place->name.recording, status)))
    RegionPlaceRemove(place, status);
  return res;
}

/* recoverElsewhere -- is a region of a log that is another file, and is there?  Anybody may put the number of a recording, which
 * the names of its regions tell, into a file; the link beside a region was made by whoever made that. */
static Bool recoverElsewhere(Recover recover, RegionPlace place, const struct stat *status)
{
  struct stat log, its;
  char path[PATH_MAX];
  Bool certain, elsewhere;
  int fd;

  if (!RegionPlaceTarget(path, place, status->st_uid) || (fd = RegionPlaceAppend(&certain, path, place->name.recording)) < 0)
    return FALSE;
  elsewhere = fstat(fd, &log) == 0 && fstat(recover->log, &its) == 0 &&
              (log.st_dev != its.st_dev || log.st_ino != its.st_ino) &&
              LogRecordingHas(fd, certain, place->name.recording) == ResOK;
  (void)close(fd);
  if (elsewhere) {
    recover->recovered->elsewhere = TRUE;
    (void)strcpy(recover->recovered->log, path);
  }
  return elsewhere;
}

/* recoverVisit -- a file that is called as regions are.  Where one cannot be read the others are taken all the same. */
static Res recoverVisit(void *data, RegionPlace place)
{
  Recover recover = data;
  struct stat status;
  Res res;

  if (recover->recording != 0 ? place->name.recording != recover->recording
                              : !recoverHas(recover, place->name.recording))
    return ResOK;
  recover->region.pid = place->name.pid;
  recover->region.fd = RegionPlaceOpen(&status, place, TRUE, recover->owner);
  if (recover->region.fd < 0) {
    if (errno != ENOENT && errno != EPERM)
      recover->recovered->unread = errno;
    return ResOK;
  }
  if (recover->recording == 0 && !recover->keep && recoverElsewhere(recover, place, &status)) {
    (void)close(recover->region.fd);
    return ResOK;
  }
  res = recoverOpened(recover, place, &status);
  (void)close(recover->region.fd);
  if (recover->region.failed == 0 || (res != ResOK && res != ResIO))
    return res;
  recover->recovered->unread = recover->region.failed;
  return ResOK;
}

/* recoverForeign -- has the file nothing that a log has, though it is not empty?  Or is it the memory of a process, which has blocks,
 * too? */
static Bool recoverForeign(Recover recover)
{
  const ScanStruct *scan = &recover->scan;
  char magic[BlockMagicSIZE];

  if (pread(recover->file.fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
      memcmp(magic, RegionMAGIC, sizeof magic) == 0)
    return TRUE;
  return scan->blocks + scan->headers == 0 && scan->foreign[0] == 0 &&
         !DamagedRangesNothing(&recover->regions, 0, recover->file.size);
}

static void recoverFree(Recover recover)
{
  int reason = errno;

  if (recover->scanned)
    (void)close(recover->file.fd);
  TableFree(&recover->table);
  IndexFree(&recover->index);
  DamagedRangesFree(&recover->regions);
  free(recover->scan.text);
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
  recover->reporter.paths = (const char *const *)&recover->path;
  IndexInit(&recover->index, &recover->table);
  recover->scan.table = &recover->table;
  recover->scan.index = &recover->index;
  recover->scan.regions = &recover->regions;
  recover->scan.reporter = &recover->reporter;
  recover->scan.block = recoverBlock;
  recover->region.strict = TRUE;
  return recover;
}

Res LogRecover(int log, Bool certain, const char *path, uint64_t recording, RecoverNow now, Bool keep,
               Recovered recoveredReturn)
{
  struct stat status;
  Recover recover;
  Res res;

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
    res = RegionPlaceSearch(path, recoverVisit, recover);
  if (res == ResOK && recoveredReturn->unread != 0) {
    errno = recoveredReturn->unread;
    res = ResIO;
  }
  if (res == ResOK && recover->scanned)
    res = recoverEnd(recover);
  if (res == ResOK && recover->helds > 0)
    res = RegionPlaceSearch(path, recoverDrop, recover);
  recoverFree(recover);
  return res;
}

Res LogRecordingHas(int log, Bool certain, uint64_t recording)
{
  Recover recover = recoverMake(log, certain, "", recording, geteuid());
  Res res = recover != NULL ? recoverScan(recover) : ResMEMORY;

  if (res == ResOK && !recoverHas(recover, recording))
    res = ResPARAM;
  if (recover != NULL)
    recoverFree(recover);
  return res;
}
