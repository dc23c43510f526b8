/* collectorend.c -- the ends of processes, and of the recording: what became of the events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "collect/collectordata.h"
#include "monitor/procfs.h"
#include "plinth/clock.h"

enum {
  collectorDying = 5,  /* tries for the lock of a process whose parent's end we have seen, 2 ms apart, */
  collectorDEAD = 500, /* and of one of which it is known that there is none any more */
  collectorCLOSING = 2, /* tries to write that the recording is over */
  collectorWAIT = 2000 /* ms without any progress at the receiver */
};

/* collectorPart -- tell the user, and count, what became of a process, and take it out of the collector; the caller
 * closes the drain */
static Drain collectorPart(Collector collector, Index i)
{
  Drain drain = collector->drain[i];
  uint64_t stopped = DrainStopped(drain);
  uint32_t overwritten = __atomic_load_n(&drain->header->pool.overwritten, __ATOMIC_RELAXED);
  uint64_t lost;

  AVER(i < collector->drains);
  if (stopped != 0)
    CollectorTell(collector, "%ld (%s): recording stopped after %.3f s, because no block was free", (long)drain->pid,
                  drain->program, (double)stopped * 1e-9);
  if (overwritten != 0 && drain->policy == RegionPolicyOVERWRITE)
    CollectorTell(collector, "%ld (%s): only the newest events were kept; %lu older block%s overwritten",
                  (long)drain->pid, drain->program, (unsigned long)overwritten,
                  overwritten == 1 ? " was" : "s were");
  if (drain->spoiled != 0)
    CollectorTell(collector,
                  "%ld (%s): %zu block%s in shared memory %s written over or cut off by the program; %llu event%s lost",
                  (long)drain->pid, drain->program, drain->spoiled, TextPlural(drain->spoiled),
                  drain->spoiled == 1 ? "was" : "were", (unsigned long long)drain->spoiledEvents,
                  drain->spoiledEvents == 1 ? " is" : "s are");
  if (RegionMiscounts(drain->header))
    CollectorTell(
        collector,
        "%ld (%s): how many events it lost is not known: the program has written over that count, which cannot be",
        (long)drain->pid, drain->program);
  /* Events that a process which goes on has in private memory (`away`) may still arrive. */
  lost = RegionCollected(drain->header) ? RegionLost(drain->header)
                                        : CountAdd(0, __atomic_load_n(&drain->header->lost, __ATOMIC_RELAXED));
  CountRaise(&lost, drain->spoiledEvents); /* as DrainFarewell */
  collector->shop.counts.discarded = CountAdd(collector->shop.counts.discarded, lost);
  if (!drain->muted && drain->head.types == NULL) /* no header block of the process says so */
    (void)SelfEventsLost(collector->self, lost);
  collector->drain[i] = collector->drain[--collector->drains];
  CollectorLink(collector);
  return drain;
}

/* collectorLast -- the region that is kept is that of `next`, or none, from here on: the one before it is removed */
static void collectorLast(Collector collector, Drain next)
{
  Drain last = collector->last;

  collector->last = next;
  CollectorLink(collector);
  if (last != NULL)
    DrainWithdraw(last);
}

/* collectorClosed -- a process has ended, and all its events are in the log: remove its region, unless it is the last
 * one.  If a log has no end, readers look for a region of its recording: if there is one, we were killed, and if there
 * is none, the log was cut. */
static void collectorClosed(Collector collector, Index i)
{
  Drain drain;

  CollectorReach(collector);
  drain = collectorPart(collector, i);
  if (collector->drains > 0) {
    DrainWithdraw(drain);
    return;
  }
  DrainKeep(drain);
  collectorLast(collector, drain);
}

void CollectorReach(Collector collector)
{
  uint64_t reached = BatchReached(&collector->shop.batch);
  Index i;

  for (i = 0; i < collector->drains; ++i)
    DrainReach(collector->drain[i], reached);
  if (collector->last != NULL)
    DrainReach(collector->last, reached);
}

void CollectorRelease(Collector collector)
{
  CollectorReach(collector);
  collectorLast(collector, NULL);
}


/* collectorTakeAll -- what the dead have left goes into the log, and then what is said of them at the end; ResIO: not
 * of all.  Two writes for all of them: who ends is mostly one of many that live for a moment. */
static Res collectorTakeAll(Collector collector)
{
  Batch batch = &collector->shop.batch;
  Res res = ResOK;
  Index i;

  for (i = 0; i < collector->drains; ++i)
    if (collector->drain[i]->gone != 0 && DrainTakeAll(collector->drain[i]) != ResOK)
      res = ResIO;
  if (BatchWrite(batch) != ResOK)
    return ResIO;
  for (i = 0; i < collector->drains; ++i)
    if (collector->drain[i]->taken && DrainFarewell(collector->drain[i]) != ResOK)
      res = ResIO;
  return BatchWrite(batch) == ResOK ? res : ResIO;
}

Res CollectorBury(Collector collector, Bool look)
{
  Index i;
  Res res;

  for (i = 0; i < collector->drains && look; ++i)
    if (!DrainIsDead(collector->drain[i])) {
      (void)DrainHeaderNew(collector->drain[i]);
      (void)DrainGreet(collector->drain[i]);
    }
  collector->dead = 0;
  res = collectorTakeAll(collector);
  for (i = collector->drains; i-- > 0; )
    if (collector->drain[i]->parted && collector->shop.batch.used == 0)
      collectorClosed(collector, i);
  return res;
}

/* collectorSize -- the size of a message, whatever it is */
static uint64_t collectorSize(const void *message, Size size)
{
  UNUSED(message);
  return size;
}

void CollectorCount(CollectorCounts its, Collector collector)
{
  Batch batch = &collector->shop.batch;

  *its = (CollectorCountsStruct){
    .events = collector->shop.counts.events,
    .discarded = collector->shop.counts.discarded + SelfEventsDiscarded(collector->self),
    .bytes = batch->bytes,
    .missing = BatchMissing(batch),
    .untold = collector->untold,
    .stayed = collector->stayed,
  };
  if (batch->forward != NULL && batch->fd < 0) {
    uint64_t kept = PlinthLeft(batch->forward, BlockMessageEvents);
    /* What waits for the receiver is in the processes' memory yet, but for what we say ourselves. */
    its->events -= kept + BatchWaiting(batch, 0);
    its->discarded += kept + BatchWaiting(batch, SelfEventsIdentity(collector->self));
    its->bytes -= PlinthLeft(batch->forward, collectorSize);
  }
}

/* collectorFinish -- wait until the receiver has acknowledged what the way out keeps; tell the user what it has not */
static void collectorFinish(Collector collector)
{
  Batch batch = &collector->shop.batch;
  Plinth forward = batch->forward;
  unsigned long long events;
  Count left, before = SIZE_MAX;

  if (forward == NULL)
    return;
  while ((left = PlinthWait(forward, collectorWAIT)) > 0 && left < before) /* as long as some arrive */
    before = left;
  events = batch->skipped + PlinthLeft(forward, BlockMessageEvents);
  if (left == 0 && events == 0)
    return;
  if (batch->fd >= 0)
    CollectorTell(collector, "%s: %llu event%s not arrived: %s; the file has %s", forward->place, events,
                  events == 1 ? " has" : "s have", PlinthReason(forward), events == 1 ? "it" : "them");
  else
    CollectorTell(collector, "%s: %llu event%s in %zu block%s %s not been acknowledged: %s; %s as discarded; "
                  "with -o FILE a file has %s, too", forward->place, events, TextPlural(events), left, TextPlural(left),
                  events == 1 ? "has" : "have", PlinthReason(forward), events == 1 ? "it counts" : "they count",
                  events == 1 ? "it" : "them");
}

/* collectorFails -- the log could not be written: keep the reason of the first failure */
static Res collectorFails(Collector collector)
{
  if (collector->reason == 0)
    collector->reason = collector->shop.batch.reason;
  return ResIO;
}

/* collectorClosing -- fill a region that has no slots: its header block is the one that closes the recording */
static Res collectorClosing(Collector collector, int fd)
{
  RegionMaker maker = &collector->maker;
  Size length;
  const void *text = SelfEventsClosing(&length, collector->self);
  static RegionHeaderStruct header;

  memset(&header, 0, sizeof header);
  RegionBegin(&header, (uint32_t)getpid(), 0, SelfEventsIdentity(collector->self), maker->recording, maker->log);
  header.device = maker->device;
  header.inode = maker->inode;
  header.hand.collector = (uint32_t)gettid() | RegionCollectorDIED;
  header.pool.reached = BatchReached(&collector->shop.batch);
  header.text.generation = 2;
  header.text.length[0] = (uint32_t)length;
  AVER(length <= RegionTextSIZE);
  return pwrite(fd, text, length, RegionTEXT) == (ssize_t)length &&
                 pwrite(fd, &header, sizeof header, 0) == (ssize_t)sizeof header
             ? ResOK : ResIO;
}

/* collectorLeaves -- the closing header block stays in memory, as what a process has left does, for eventrec --clean;
 * ResIO: there is no room for it, either, or the log is no file */
static Res collectorLeaves(Collector collector)
{
  RegionMaker maker = &collector->maker;
  char path[RegionPathMAX];
  MadeRegionStruct file;
  struct stat status;
  Res res;

  if (maker->log[0] == '\0' || fstat(collector->shop.batch.fd, &status) != 0 || !S_ISREG(status.st_mode) ||
      RegionMakerMake(&file, path, maker, getpid(), RegionSize(0)) != ResOK)
    return ResIO;
  res = path[0] != '\0' ? collectorClosing(collector, file.fd) : ResIO;
  if (res != ResOK)
    MadeRegionRemove(&file);
  MadeRegionDrop(&file);
  collector->stayed += res == ResOK;
  return res;
}

/* collectorLastWords -- the log could not take all: it is to say that the recording is over, and how many events nobody
 * else can tell
 * of.  What it cannot take of that, either, stays in memory, from which readers and eventrec --clean have it: where a
 *      region
 * stays, that has the count, and else one is made for the closing header block.  Before that our own soft limit on file
 * sizes is raised to the hard one for that one message: another process may have written the log beyond the soft limit.
 * What then is in no place is for our owner to say. */
static void collectorLastWords(Collector collector)
{
  Batch batch = &collector->shop.batch;
  SelfEvents self = collector->self;
  BatchDroppedStruct dropped;
  uint64_t lost;

  BatchLast(&dropped, batch, SelfEventsIdentity(self));
  SelfEventsDropped(self, dropped.blocks, dropped.events);
  collector->untold = dropped.piece;
  if (collector->stays != NULL) {
    lost = SelfEventsLost(self, SelfEventsDiscarded(self));
    if (SelfEventsHeader(self) != ResOK || BatchWrite(batch) != ResOK)
      (void)__atomic_fetch_add(&collector->stays->header->lost, lost, __ATOMIC_RELAXED);
    return;
  }
  if (SelfEventsEnd(self) == ResOK && BatchWrite(batch) == ResOK)
    return;
  if ((!BatchFarther(batch) || BatchWrite(batch) != ResOK) && collectorLeaves(collector) != ResOK)
    collector->untold += SelfEventsLost(self, 0) + SelfEventsDiscarded(self);
}

/* collectorClose -- the recording is over, which the log says, if it can take that, and be it the second time; else the
 * last words.  Besides the processes that the log has, it says that there are `newborns`, which will write their own
 * header blocks to it. */
static Res collectorClose(Collector collector, Count newborns)
{
  unsigned tries;

  SelfEventsHeaded(collector->self, collector->shop.headed + newborns);
  for (tries = 0; tries < collectorCLOSING; ++tries) {
    if (SelfEventsEnd(collector->self) == ResOK && CollectorWrite(collector) == ResOK)
      return ResOK;
    (void)collectorFails(collector);
  }
  if (collector->shop.batch.fd >= 0)
    collectorLastWords(collector);
  return ResIO;
}

/* collectorAbsent -- tell who of the family has not announced itself */
static void collectorAbsent(Collector collector)
{
  Count unnamed;

  if (collector->absent == NULL)
    return;
  UnrecordedPoll(collector->absent, EventClockMonotonic(), TRUE);
  if (collector->settings.absent != NULL)
    UnrecordedTell(collector->absent, collector->settings.absent, collector->settings.data);
  unnamed = UnrecordedUnnamed(collector->absent);
  if (unnamed > 0)
    CollectorTell(collector, "%zu more process%s may not have been seen: there are too many to be named", unnamed,
                  unnamed == 1 ? "" : "es");
}

void CollectorUnseen(Collector collector, const char *program, const char *reason, Count processes)
{
  SelfEvents self = collector->self;
  char line[EventMaxStringLength + 1];

  (void)snprintf(line, sizeof line, "%s: %s", program, reason);
  if (self != NULL)
    EVENT_US(ProgramUnseen, (unsigned)processes, line);
}

void CollectorBaseline(Collector collector, pid_t pid, uint64_t user, uint64_t system, uint64_t resident)
{
  SelfEvents self = collector->self;

  if (self != NULL)
    EVENT_UWWW(ProcessBaseline, (unsigned)pid, user, system, resident);
}

/* leavingsAdd -- one process more */
static void leavingsAdd(Leavings leavings, Drain drain, uint64_t events)
{
  if (leavings->processes == 0)
    leavings->pid = drain->pid;
  if (leavings->processes < leavingsNAMED)
    (void)strcpy(leavings->path[leavings->processes], drain->path);
  leavings->events = CountAdd(leavings->events, events);
  ++leavings->processes;
}

/* leavingsTellKept -- which regions stay: a line, however many there are */
static void leavingsTellKept(Leavings kept, Collector collector)
{
  unsigned long long events = kept->events;
  char names[leavingsNAMED * (RegionPathMAX + 2)], more[32] = "";
  Size used = 0;
  Index i;

  if (kept->processes == 1 && events == 0)
    CollectorTell(collector, "%s stays, with the end of process %ld, which could not be written; eventrec --clean "
                  "removes it, and adds that to the log", kept->path[0], (long)kept->pid);
  else if (kept->processes == 1)
    CollectorTell(collector, "%s stays, with %llu event%s of process %ld that could not be written; eventrec --clean "
                  "removes it, and adds %s to the log if that is a file", kept->path[0], events, TextPlural(events),
                  (long)kept->pid, events == 1 ? "it" : "them");
  if (kept->processes < 2)
    return;
  for (i = 0; i < kept->processes && i < leavingsNAMED; ++i)
    used += (Size)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", kept->path[i]);
  if (kept->processes > leavingsNAMED)
    (void)snprintf(more, sizeof more, " and %zu more", kept->processes - leavingsNAMED);
  CollectorTell(collector, "the memory of %zu processes stays, with %llu event%s that could not be written: %s%s; "
                "eventrec --clean removes it, and adds %s to the log if that is a file", kept->processes, events,
                TextPlural(events), names, more, events == 1 ? "it" : "them");
}

/* leavingsTellLost -- how many events are lost with memory that has no name */
static void leavingsTellLost(Leavings lost, Collector collector)
{
  unsigned long long events = lost->events;
  char whose[48];

  if (lost->processes == 1)
    (void)snprintf(whose, sizeof whose, "process %ld", (long)lost->pid);
  else
    (void)snprintf(whose, sizeof whose, "%zu processes", lost->processes);
  if (lost->processes > 0)
    CollectorTell(collector, "%llu event%s of %s could not be written, and %s lost: the memory has no name under which "
                  "it could stay; make room in " RegionFOLDER, events, TextPlural(events), whose,
                  events == 1 ? "is" : "are");
}

/* collectorLost -- the events of a dead process are lost with its memory: no reader finds them there */
static void collectorLost(Collector collector, Drain drain, uint64_t events, uint64_t discarded)
{
  StatusLineCounts counts = &collector->shop.counts;

  counts->discarded += events;
  (void)SelfEventsLost(collector->self, counts->discarded - discarded);
  leavingsAdd(&collector->lost, drain, events);
}

/* collectorStayed -- what a process that has ended left could not be written, and stays where it is.  A region without
 * any event stays only for the end of the process, which a file can be given later. */
static void collectorStayed(Collector collector, Index i)
{
  Drain drain = collector->drain[i];
  uint64_t discarded = collector->shop.counts.discarded, events = DrainStays(drain);
  Bool worth = events > 0 || (collector->maker.log[0] != '\0' && !drain->muted);

  (void)collectorFails(collector);
  if (drain->path[0] == '\0')
    collectorLost(collector, drain, events, discarded);
  drain = collectorPart(collector, i);
  if (!worth) {
    DrainWithdraw(drain);
    return;
  }
  if (drain->path[0] != '\0') {
    leavingsAdd(&collector->kept, drain, events);
    ++collector->stayed;
  }
  if (collector->stays == NULL && drain->path[0] != '\0')
    collector->stays = drain;
  else
    DrainClose(drain);
}

/* collectorBuryAll -- what those that have ended left goes into the log, or stays where it is: ResIO */
static Res collectorBuryAll(Collector collector)
{
  Res res = ResOK;
  Index i;

  if (collector->drains > 0) /* else what waits in the batch is written along with the closing header block */
    (void)CollectorBury(collector, TRUE);
  for (i = collector->drains; i-- > 0; )
    if (collector->drain[i]->gone != 0) {
      collectorStayed(collector, i);
      res = ResIO;
    }
  return res;
}

/* collectorLetGo -- the log says that the recording is over, or cannot, so nobody asks any more whether we were killed.
 * Processes that still run go on by themselves; *runningReturn is how many those are. */
static Res collectorLetGo(Collector collector, Count *runningReturn)
{
  Res res = collectorBuryAll(collector);

  *runningReturn = collector->drains;
  while (collector->drains > 0) {
    DrainLetGo(collector->drain[0]);
    DrainClose(collectorPart(collector, 0));
  }
  CollectorRelease(collector);
  if (collector->stays != NULL)
    DrainClose(collector->stays);
  collector->stays = NULL;
  leavingsTellKept(&collector->kept, collector);
  leavingsTellLost(&collector->lost, collector);
  return res;
}

/* collectorHeld -- has a process ended whose lock is still held?  A reader of its memory, which held it when the
 * process ended, gives it back soon. */
static Bool collectorHeld(Collector collector)
{
  Index i;

  for (i = 0; i < collector->drains; ++i) {
    Drain drain = collector->drain[i];
    if (drain->gone == 0 && drain->pid > 0 && kill(drain->pid, 0) != 0 && errno == ESRCH)
      return TRUE;
  }
  return FALSE;
}

/* A process that was forked in the last moment and has not run yet has not asked for a region; but it has a page of its
 * parent's mapped, whose name shows the recording.  design/collector.md .tree.newborn */
typedef struct NewbornsStruct {
  Collector collector;
  char mapped[24];         /* in the names of all regions of the recording; format/region.h */
  Count count;
} NewbornsStruct, *Newborns;

/* newbornsLook -- count a process of the family, if it is one */
static void newbornsLook(void *data, pid_t pid)
{
  Newborns newborns = data;
  ssize_t read;
  Index i;

  for (i = 0; i < newborns->collector->drains; ++i)
    if (newborns->collector->drain[i]->pid == pid)
      return;
  newborns->count += ProcHolds(&read, AT_FDCWD, pid, "maps", newborns->mapped, SIZE_MAX);
}

/* collectorNewborns -- how many processes of the family live, and will write to the log, but have not asked for a
 * region */
static Count collectorNewborns(Collector collector)
{
  NewbornsStruct newborns = {.collector = collector};

  (void)snprintf(newborns.mapped, sizeof newborns.mapped, "-%016llx-", (unsigned long long)collector->maker.recording);
  if (collector->watcher != NULL && !collector->settings.alone)
    ProcessWatchMembers(collector->watcher, newbornsLook, &newborns);
  return newborns.count;
}

Res CollectorEnd(Collector collector, Count *runningReturn)
{
  static const struct timespec moment = {0, 2000000};
  Count newborns;
  unsigned tries;
  Res res;
  Index i;

  AVER(CollectorCheck(collector));
  collector->shop.batch.patient = TRUE;
  /* A process that has just ended may hold its lock for a moment yet; and one that is being read, too. */
  for (tries = 0; tries < collectorDying || (tries < collectorDEAD && collectorHeld(collector)); ++tries) {
    CollectorReceive(collector);
    (void)CollectorRound(collector);
    /* What cannot be written now is tried again below. */
    if (CollectorBury(collector, TRUE) != ResOK)
      (void)collectorFails(collector);
    if (collector->drains == 0)
      break;
    (void)nanosleep(&moment, NULL);
  }
  newborns = collectorNewborns(collector);
  CollectorAlone(collector);
  CollectorGoesRound(collector);
  CollectorNotes(collector, TRUE);
  collectorAbsent(collector);
  if (collector->settings.last != NULL)
    collector->settings.last(collector->settings.data);
  res = collectorBuryAll(collector);
  for (i = 0; i < collector->drains; ++i)
    DrainLeave(collector->drain[i]);
  CollectorGoesRound(collector);
  if (collectorClose(collector, newborns) != ResOK)
    res = ResIO;
  if (collectorLetGo(collector, runningReturn) != ResOK)
    res = ResIO;
  *runningReturn += newborns;
  collectorFinish(collector);
  errno = collector->reason != 0 ? collector->reason : EIO;
  return res;
}

