/* follow.c -- reads a log while it is written
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/aver.h"
#include "base/text.h"
#include "recover/orphanreader.h"
#include "request/reading.h"

enum {
  followDELAY = 250,     /* ms that an event waits for those of other streams */
  followQUIET = 1000,    /* ms without new blocks after which a log whose processes have all ended is over */
  followLOOK = 200,      /* ms between two checks which processes still run */
  followNAP = 20,        /* ms between two looks at the file, */
  followGRAIN = 5,       /* ms that count as one moment */
  followMOMENTS = 64     /* more than fit into followDELAY */
};

/* When new blocks came, and up to which time they reached. */
typedef struct followMomentStruct {
  uint64_t when; /* ms */
  uint64_t fine; /* of the latest event so far */
} followMomentStruct;

struct FollowStruct {
  Log log;
  LogIdleStruct idle;
  ScanStruct scan;
  ScanPlaceStruct place;
  PartialsStruct partials;
  Bool indexed;          /* the index is complete: new blocks go into the queue */
  Bool ready;            /* the next pass follows, */
  Reading reading;       /* and is this one; NULL before and behind it */
  Bool waiting;          /* what had come has been delivered */
  Bool last;             /* no process writes any more: the rest of the file is being read, */
  Bool over;             /* and all of it was read, or idle ended it */
  uint64_t furthest;     /* fine: of the latest event that came */
  uint64_t grown;        /* ms when the log last grew */
  uint64_t looked;       /* ms when a process was last found to run */
  Bool unborn;           /* it was seen that nothing but a piece of the first header block had come */
  Bool recovered;        /* what dead processes left in memory was read */
  Bool gone;             /* the file was cut short, or another has its name */
  Count first, moments;  /* a ring */
  followMomentStruct moment[followMOMENTS];
};

static uint64_t followNow(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void followNap(void)
{
  static const struct timespec nap = {0, followNAP * 1000000};

  (void)nanosleep(&nap, NULL);
}

/* followBlock -- put a block that was found into the index or, later, the queue, unless it is a superfluous copy */
static Res followBlock(void *data, LogStream stream, const IndexEntryStruct *entry, Bool seen)
{
  Follow follow = data;
  Clock clock = ClockResolve(stream->process->clock);
  Bool wanted;
  Res res = PartialsSee(&wanted, &follow->partials, entry, seen);

  if (res != ResOK)
    return res;
  if (!follow->indexed) {
    if ((entry->flags & BlockFlagSNAPSHOT) == 0)
      PartialsForget(&follow->partials, entry);
    return IndexAdd(&follow->log->index, entry);
  }
  if (!seen)
    MissingBehind(&follow->log->reporter, &follow->log->regions, stream, entry->sequence);
  res = TableRefer(&follow->log->table);
  if (res != ResOK)
    return res;
  TableFitNew(&follow->log->table, follow->log->origin);
  if (clock->fitted && ClockFine(clock, entry->last) > follow->furthest)
    follow->furthest = ClockFine(clock, entry->last);
  return wanted ? QueuePut(&follow->reading->queue, clock->fitted ? ClockFine(clock, entry->first) : 0, entry) : ResOK;
}

/* followGone -- report that the file was truncated or replaced */
static void followGone(Follow follow, uint64_t offset, const char *what)
{
  follow->gone = TRUE;
  ReporterGap(&follow->log->reporter, IndexPlace(0, offset), 0, LogLostATLEAST, "%s", what);
}

/* followSize -- how long is the file now? */
static Res followSize(Follow follow)
{
  File file = follow->log->file[0];
  struct stat status, named;

  if (fstat(file->fd, &status) != 0)
    return ResIO;
  if (follow->gone)
    return ResOK;
  if ((uint64_t)status.st_size < file->size)
    followGone(follow, (uint64_t)status.st_size, "the file was cut short while it was followed");
  else if (stat(file->path, &named) == 0 && (named.st_ino != status.st_ino || named.st_dev != status.st_dev))
    followGone(follow, file->size, "another file has this name now");
  if ((uint64_t)status.st_size > file->size)
    follow->grown = followNow();
  file->size = (uint64_t)status.st_size;
  file->windowSize = 0; /* it may end where the file ended */
  return ResOK;
}

/* followScan -- scan what was appended, as far as there is room; *moreReturn: was anything? */
static Res followScan(Follow follow, Bool *moreReturn)
{
  uint64_t had = follow->scan.blocks + follow->scan.headers;
  uint64_t room = follow->indexed ? QueueMAX - follow->reading->queue.count : UINT64_MAX;
  Index regions = follow->log->regions.count;
  Res res = followSize(follow);

  if (res == ResOK)
    res = ScanOn(&follow->scan, follow->log->file[0], 0, &follow->place, room);
  if (follow->indexed) {
    /* Blocks of this round may still explain gaps. */
    DamagedRangesTell(&follow->log->regions, &follow->log->reporter, regions, FALSE);
  }
  *moreReturn = follow->scan.blocks + follow->scan.headers != had;
  return res;
}

/* followEnded -- have all processes ended, and is nothing appended any more? */
static Bool followEnded(Follow follow)
{
  uint64_t now = followNow();

  if (follow->looked != 0 && now < follow->looked + followLOOK)
    return FALSE;
  if (OrphanReaderAlive(&follow->log->table, follow->log->file[0])) {
    follow->looked = now;
    return FALSE;
  }
  return now >= follow->grown + followQUIET;
}

/* ---- The window of the merge ---- */

/* followNote -- note the time, and up to which time of events the blocks have come */
static void followNote(Follow follow, uint64_t now)
{
  followMomentStruct *last = &follow->moment[(follow->first + follow->moments - 1) % followMOMENTS];

  if (follow->moments > 0 && (now < last->when + followGRAIN || follow->moments == followMOMENTS)) {
    last->fine = follow->furthest;
    return;
  }
  follow->moment[(follow->first + follow->moments++) % followMOMENTS] = (followMomentStruct){now, follow->furthest};
}

/* followRelease -- let events go that have waited long enough */
static void followRelease(Follow follow)
{
  uint64_t now = followNow();

  while (follow->moments > 0 && follow->moment[follow->first].when + followDELAY <= now) {
    uint64_t until = follow->moment[follow->first].fine + 1;
    if (until > follow->reading->until)
      follow->reading->until = until;
    follow->first = (follow->first + 1) % followMOMENTS;
    --follow->moments;
  }
}

/* ---- Opening ---- */

/* followLock -- tell the writer that a reader follows.  It fails while the writer looks for the lock: try again. */
static void followLock(int fd)
{
  unsigned tries;

  for (tries = 0; tries < 10 && flock(fd, LOCK_SH | LOCK_NB) != 0; ++tries)
    followNap();
}

/* followRecover -- read what dead processes left in memory, unless that was done */
static Res followRecover(Follow follow)
{
  Count files = follow->log->files;
  Res res = ResOK;

  if (!follow->gone && !follow->recovered)
    res = LogLeftover(follow->log, &follow->scan);
  follow->recovered |= follow->log->files > files;
  return res;
}

/* followUnborn -- if nothing but a piece of the first header block has come, for so long that its writer may be dead,
 * read what that left in memory; if it left nothing, the rest of the piece may still come */
static Res followUnborn(Follow follow)
{
  ScanPlaceStruct end = follow->place;
  Res res;

  if (follow->unborn || follow->scan.blocks + follow->scan.headers > 0 || follow->log->file[0]->size == 0 ||
      followNow() < follow->grown + followQUIET)
    return ResOK;
  follow->unborn = TRUE;
  follow->scan.growing = FALSE;
  res = ScanOn(&follow->scan, follow->log->file[0], 0, &end, UINT64_MAX);
  follow->scan.growing = TRUE;
  if (res == ResOK)
    res = followRecover(follow);
  if (follow->recovered)
    follow->place = end;
  else
    DamagedRangesForgetTail(&follow->log->regions, 0);
  return res;
}

/* followBegin -- scan until there are events, and the blocks of the same time; or until no process writes */
static Res followBegin(Follow follow, char *error, Size size)
{
  Scan scan = &follow->scan;
  uint64_t since = 0;
  Bool more;
  Res res = followSize(follow);

  if (res == ResOK)
    res = ScanIndexed(scan, follow->log->file[0]);
  if (res != ResOK)
    return res;
  for (;;) {
    res = followScan(follow, &more);
    if (res != ResOK)
      return res;
    if (scan->foreign[0] != 0 || (scan->blocks + scan->headers == 0 && follow->place.searched != 0))
      return LogRefuse(scan, follow->log->file[0], error, size);
    if (follow->gone && scan->blocks == 0) {
      (void)snprintf(error, size, "%s: the file was cut short or replaced", follow->log->path[0]);
      return ResFORMAT;
    }
    if (scan->blocks > 0 && since == 0)
      since = followNow();
    res = followUnborn(follow);
    if (res != ResOK)
      return res;
    if (follow->gone || (since != 0 && followNow() >= since + followDELAY) ||
        (scan->blocks + scan->headers > 0 && followEnded(follow)))
      return ResOK;
    if (follow->idle.idle(follow->idle.data)) {
      (void)snprintf(error, size, "%s: nothing came", follow->log->path[0]);
      return ResEND;
    }
    followNap();
  }
}

static Follow followMake(Log log, const LogIdleStruct *idle)
{
  Follow follow = calloc(1, sizeof *follow);

  if (follow == NULL)
    return NULL;
  follow->log = log;
  follow->idle = *idle;
  LogScanBegin(log, &follow->scan);
  follow->scan.block = followBlock;
  follow->scan.data = follow;
  follow->scan.growing = TRUE;
  follow->grown = followNow();
  return follow;
}

/* followOpen -- the file is open */
static Res followOpen(Log log, const LogIdleStruct *idle, char *error, Size size)
{
  Follow follow = log->follow = followMake(log, idle);
  Index i;
  Res res = follow != NULL ? ResOK : ResMEMORY;

  if (res == ResOK) {
    followLock(log->file[0]->fd);
    log->reporter.telling = TRUE;
    res = followBegin(follow, error, size);
  }
  if (res != ResOK)
    return res;
  /* A late event must not come before the beginning of its clock. */
  for (i = 0; i < log->table.clocks; ++i)
    if (log->table.clock[i]->sync.known)
      ClockSee(log->table.clock[i], log->table.clock[i]->sync.early.ticks, log->table.clock[i]->sync.early.ticks);
  follow->scan.total = 0; /* later blocks are not waited for */
  LogScanned(log, &follow->scan);
  res = LogSpan(log);
  follow->ready = TRUE;
  return res;
}

Res LogFollowOpen(Log *logReturn, const char *path, LogHooks hooks, const LogIdleStruct *idle, char *error, Size size)
{
  struct stat status;
  Log log;
  Res res;

  if (strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode))) {
    (void)snprintf(error, size, "%s: only a file can be followed; leave out --follow", path);
    return ResPARAM;
  }
  res = LogMake(&log, &path, 1, hooks, error, size);
  if (res != ResOK)
    return res;
  if (log->file[0]->core) {
    (void)snprintf(error, size, "%s: a core does not grow; leave out --follow", path);
    res = ResPARAM;
  } else {
    res = followOpen(log, idle, error, size);
  }
  return LogMade(logReturn, log, res, error, size);
}

void FollowDestroy(Follow follow)
{
  PartialsFree(&follow->partials);
  if (follow->scan.known != NULL)
    IndexFileClose(follow->scan.known);
  free(follow);
}

/* ---- Following ---- */

void FollowBegin(Follow follow, Reading reading)
{
  Log log = follow->log;

  if (!follow->ready || follow->indexed)
    return;
  AVER(LogCheck(log) && reading->log == log && reading->queue.count == 0);
  follow->reading = reading;
  follow->indexed = TRUE;
  follow->furthest = (log->summary.last - log->origin + 1) << ClockFineSHIFT;
  reading->partials = &follow->partials;
  reading->until = 0;
  followNote(follow, follow->grown);
}

/* followLast -- no process writes any more: a block that is cut off stays so; read what dead processes left in
 * memory */
static Res followLast(Follow follow)
{
  Log log = follow->log;
  Res res = ResOK;

  follow->scan.growing = FALSE;
  if (follow->place.offset < log->file[0]->size) {
    res = ScanOn(&follow->scan, log->file[0], 0, &follow->place, QueueMAX - follow->reading->queue.count);
    follow->reading->until = follow->furthest + 1;
    if (res != ResOK || follow->place.offset < log->file[0]->size)
      return res;
  }
  res = followRecover(follow);
  if (res == ResOK)
    log->reporter.accounted = MissingEnds(&log->reporter, &log->regions, &log->table);
  DamagedRangesTell(&log->regions, &log->reporter, log->regions.count, TRUE);
  follow->reading->until = UINT64_MAX;
  follow->over = TRUE;
  return res;
}

Res FollowRound(Follow follow)
{
  Bool more;
  Res res;

  AVER(follow->indexed && QueueCheck(&follow->reading->queue) && PartialsCheck(&follow->partials));
  if (follow->over)
    return ResEND;
  if (follow->last)
    return followLast(follow);
  if (follow->waiting) {
    if (follow->idle.idle(follow->idle.data)) {
      follow->over = TRUE;
      return ResEND;
    }
    followNap();
  }
  follow->waiting = TRUE;
  res = followScan(follow, &more);
  if (more)
    followNote(follow, followNow());
  followRelease(follow);
  follow->last = follow->gone || (!more && follow->moments == 0 && followEnded(follow));
  if (follow->last) {
    follow->place.searched = 0;
    if (res == ResOK)
      res = followSize(follow); /* a process that ended since we looked at the file closed the log before it ended */
  }
  return res;
}

void FollowEnd(Follow follow, Reading reading)
{
  Log log = follow->log;

  if (follow->reading != reading)
    return;
  if (reading->late > 0)
    ReporterNote(&log->reporter, "%s: %llu event%s came late, and stand%s behind later ones", log->path[0],
                 (unsigned long long)reading->late, TextPlural(reading->late), reading->late == 1 ? "s" : "");
  log->summary.last = log->origin + (reading->latest >> ClockFineSHIFT);
  follow->reading = NULL;
}
