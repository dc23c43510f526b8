/* collector.c -- the regions of a family of processes, drained into one log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/collectordata.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched/types.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/names.h"
#include "eventgen.h"
#include "monitor/eventchoice.h"
#include "monitor/liveregion.h"
#include "plinth/clock.h"

enum {
  collectorNap = 300000,       /* ns between two rounds, while there is work */
  collectorPatience = 8,       /* rounds without work before it sleeps */
  collectorTend = 100000000,   /* ns between two looks at who lives; the longest sleep */
  collectorSlow = 1000000000,  /* ns without progress at the receiver, after which the collector says so */
  collectorBusy = 128,         /* blocks of one round after which there is no nap */
  collectorGRAVES = 8,         /* processes that have ended are buried together, or when it is looked who lives */
  collectorSlice = 500000,     /* ns of the processor at a time */
  collectorNice = 10
};

/* What of a node the kernel changes when we die lies so far before it. */
static const long collectorFutexAT =
  (long)offsetof(RegionHeaderStruct, hand.collector) - (long)offsetof(RegionHeaderStruct, hand.next);

/* collectorSay -- a SelfEventsWrite: into the batch, with the programs' blocks */
static Res collectorSay(void *data, const void *message, Size size)
{
  Collector collector = data;
  unsigned char *place = BatchPlace(&collector->shop.batch, size);

  if (place == NULL)
    return ResIO;
  memcpy(place, message, size);
  collector->shop.counts.events += BlockMessageEvents(message, size);
  BatchCommit(&collector->shop.batch, size);
  return ResOK;
}

Res CollectorNew(Collector *collectorReturn, const CollectorSettingsStruct *settings)
{
  Collector collector = calloc(1, sizeof *collector);
  Res res;

  if (collector == NULL)
    return ResMEMORY;
  collector->settings = *settings;
  collector->shop.events = settings->events;
  collector->shop.raw = settings->raw;
  collector->shop.batch.fd = -1;
  collector->meet.fd = collector->maker.memory = collector->maker.beside = collector->handed = -1;
  collector->shop.pack = calloc(1, PackSIZE);
  res = collector->shop.pack == NULL ? ResMEMORY : RendezvousOpen(&collector->meet);
  if (res == ResOK && getrandom(&collector->maker.recording, sizeof collector->maker.recording, 0) < 0)
    res = ResIO;
  collector->maker.recording |= collector->maker.recording == 0;
  collector->shop.recording = collector->maker.recording;
  if (res == ResOK)
    res = SelfEventsCreate(&collector->self, collectorSay, collector, collector->maker.recording, settings->raw,
                           settings->events);
  if (res != ResOK) {
    CollectorFree(collector);
    return res;
  }
  if (settings->events != NULL)
    EventChoiceSay(collector->shop.chosen, sizeof collector->shop.chosen, settings->events);
  if (!settings->alone && UnrecordedCreate(&collector->absent, settings->library) != ResOK)
    collector->absent = NULL;
  (void)snprintf(collector->mark, sizeof collector->mark, collectorVARIABLE "%s:%s", collector->meet.name,
                 collector->meet.token);
  *collectorReturn = collector;
  return ResOK;
}

uint64_t CollectorRecording(Collector collector)
{
  return collector->maker.recording;
}

const char *CollectorAddress(Collector collector)
{
  return collector->mark + sizeof collectorVARIABLE - 1;
}

/* collectorRegions -- bytes of memory that the regions of a process take: what nobody has written to takes none */
static uint64_t collectorRegions(void *data, uint32_t pid)
{
  Collector collector = data;
  uint64_t bytes = 0;
  struct stat status;
  Index i;

  for (i = 0; i < collector->drains; ++i)
    if ((uint32_t)collector->drain[i]->pid == pid && fstat(collector->drain[i]->file.fd, &status) == 0)
      bytes += (uint64_t)status.st_blocks * 512;
  return bytes;
}

/* collectorWitness -- watch the family from outside.  Where that cannot be done there is a recording all the same. */
static void collectorWitness(Collector collector)
{
  ProcessWatchSettingsStruct settings = {
    .self = collector->settings.watcher ? collector->self : NULL,
    .interval = (unsigned)collector->settings.sample,
    .follow = !collector->settings.alone,
    .mark = collector->mark,
    .regions = collectorRegions,
    .regionsData = collector,
    .terminal = collector->settings.watched ? STDERR_FILENO : -1,
  };

  if (ProcessWatchCreate(&collector->watcher, &settings) != ResOK)
    collector->watcher = NULL;
}

/* collectorPaused -- is there no process watch yet?  A paused recording begins with the first event of any process. */
static Bool collectorPaused(Collector collector)
{
  if (collector->settings.paused && collector->shop.counts.events > 0 && !collector->stopped) {
    collector->settings.paused = FALSE;
    collectorWitness(collector);
    if (collector->watcher != NULL && collector->program != 0)
      ProcessWatchProgram(collector->watcher, collector->program);
  }
  return collector->watcher == NULL;
}

void CollectorAlone(Collector collector)
{
  if (collector->watcher != NULL)
    ProcessWatchDestroy(collector->watcher);
  collector->watcher = NULL;
}

/* collectorPrompt -- ask the scheduler to run us soon after we wake, in short slices, and before the program, where
 * that is permitted: blocks that are not drained in time cost events.  We need a fraction of a processor. */
static void collectorPrompt(void)
{
  struct sched_attr attributes = {.size = sizeof attributes, .sched_runtime = collectorSlice};

  (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - collectorNice);
  attributes.sched_nice = getpriority(PRIO_PROCESS, 0);
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* collectorRobust -- from here on the kernel tells the processes of our death */
static Res collectorRobust(Collector collector)
{
  collectorPrompt();
  if (!collector->settings.paused)
    collectorWitness(collector);
  collector->tended = EventClockMonotonic();
  collector->robust.list.next = &collector->robust.list;
  collector->robust.futex_offset = collectorFutexAT;
  return syscall(SYS_set_robust_list, &collector->robust, sizeof collector->robust) == 0 ? ResOK : ResIO;
}

/* collectorKeep -- only the newest part of the log stays, and what defines things */
static void collectorKeep(Collector collector)
{
  Batch batch = &collector->shop.batch;

  /* Names and labels are events of kind User. */
  if (TrimCreate(&batch->trim, batch->fd, collector->settings.keep, ~(uint32_t)EventKindsFREQUENT,
                 (uint32_t)1 << EventKindUser) == ResOK)
    return;
  batch->trim = NULL;
  CollectorTell(collector, "the log cannot be kept small: %s", errno == EOPNOTSUPP
                ? "its file system cannot give back parts of a file; choose another folder" : strerror(errno));
}

/* collectorHead -- our own header block is the first in the log, with all types: processes that have the same need not
 * repeat them, unless it may be cut away */
static void collectorHead(Collector collector)
{
  if (SelfEventsHeader(collector->self) == ResOK && BatchWrite(&collector->shop.batch) == ResOK &&
      collector->settings.keep == 0 && collector->shop.batch.forward == NULL)
    collector->shop.known = SelfEventsRegistry();
}

Res CollectorLog(Collector collector, int fd, const char *path)
{
  struct stat status;

  AVER(collector->shop.batch.fd < 0);
  BatchOpen(&collector->shop.batch, fd);
  RegionMakerOpen(&collector->maker, collector->maker.recording, path);
  if (fd < 0) {
    collector->shop.self = collector->self;
    return collectorRobust(collector);
  }
  if (fstat(fd, &status) != 0)
    return ResIO;
  /* Another description: what programs do to that is nothing to us. */
  collector->handed = FileAgain(fd, O_WRONLY | O_APPEND);
  collector->maker.device = status.st_dev;
  collector->maker.inode = status.st_ino;
  if (collector->settings.keep != 0)
    collectorKeep(collector);
  collectorHead(collector);
  return collectorRobust(collector);
}

Res CollectorSend(Collector collector, const char *where, const char **reasonReturn)
{
  Res res;

  AVER(collector->shop.batch.forward == NULL && collector->shop.batch.fd < 0);
  res = PlinthOpen(&collector->forward, where, NULL, reasonReturn);
  if (res == ResOK)
    collector->shop.batch.forward = &collector->forward;
  return res;
}

/* collectorRefused -- neither file nor receiver takes anything: tell the user once.  A receiver may take nothing for a
 * moment, while it writes. */
static void collectorRefused(Collector collector)
{
  Bool sent = collector->shop.batch.fd < 0;
  uint64_t now = EventClockMonotonic();

  if (!collector->told)
    collector->since = now;
  if (collector->complained || (sent && now - collector->since < collectorSlow))
    return;
  if (sent)
    CollectorTell(
        collector,
        "the log cannot be sent: %s; events wait in memory, and -p says what becomes of those that find no room",
        PlinthReason(&collector->forward));
  else
    CollectorTell(collector, "the log cannot be written: %s%s", strerror(collector->shop.batch.reason),
                  collector->drains > 0 ? "; events wait in memory, and those that find no room are discarded" : "");
  collector->complained = TRUE;
}

Res CollectorWrite(Collector collector)
{
  Res res = BatchWrite(&collector->shop.batch);

  if (res == ResIO)
    collectorRefused(collector);
  else
    collector->complained = FALSE;
  if (res == ResOK && collector->last != NULL)
    CollectorReach(collector);
  collector->told = res == ResIO;
  if (collector->shop.batch.untrimmed != 0 && !collector->crowded)
    CollectorTell(collector, "the log grows: parts of it cannot be given back: %s",
                  strerror(collector->shop.batch.untrimmed));
  collector->crowded = collector->shop.batch.untrimmed != 0;
  collector->shop.batch.untrimmed = 0;
  return res;
}

/* collectorFlush -- write all that the blocks of a process hold, if the process, or eventctl, has asked for that */
static void collectorFlush(Collector collector, Drain drain)
{
  if ((__atomic_load_n(&drain->header->hand.attention, __ATOMIC_ACQUIRE) & RegionAskFLUSH) == 0)
    return;
  (void)DrainRound(drain, DrainFLUSH);
  if (CollectorWrite(collector) != ResOK)
    return;
  (void)__atomic_fetch_and(&drain->header->hand.attention, ~(uint32_t)RegionAskFLUSH, __ATOMIC_SEQ_CST);
  (void)syscall(SYS_futex, &drain->header->hand.attention, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* collectorKinds -- choose what a process sends: the list has the names that the process gives its kinds, and + and -
 * change what it sends now */
static void collectorKinds(Drain drain, LiveRegion live, const char *list)
{
  const char *names[EventKindMAX];
  char room[256];
  uint32_t mask;
  TextStruct error;
  Index i;

  if (drain->head.types == NULL)
    return;
  for (i = 0; i < EventKindMAX; ++i)
    names[i] = drain->head.types->registry.kind[i];
  TextInit(&error, room, sizeof room);
  if (NamesMask(&mask, list, names, EventKindMAX, LiveRegionKinds(live, FALSE), &error) == ResOK)
    LiveRegionChoose(live, FALSE, mask);
}

/* collectorObey -- pass a request on to a process: "kinds LIST" or "flush"; any other is ignored */
static void collectorObey(Drain drain, const char *request)
{
  LiveRegionStruct live = {.region = drain->header};

  if (drain->muted || drain->shut)
    return;
  if (strcmp(request, "flush") == 0)
    RegionAsk(drain->header, RegionAskFLUSH);
  else if (strncmp(request, "kinds ", 6) == 0)
    collectorKinds(drain, &live, request + 6);
}

/* collectorHear -- obey the requests that the receiver brings back.  Asking it also makes it send what it keeps. */
static void collectorHear(Collector collector)
{
  char request[256];
  Size length;
  Index i;

  while (collector->shop.batch.forward != NULL &&
         PlinthReceive(&collector->forward, request, sizeof request - 1, &length) == ResOK) {
    request[length] = '\0';
    for (i = 0; i < collector->drains; ++i)
      collectorObey(collector->drain[i], request);
  }
}

Count CollectorRound(Collector collector)
{
  Count taken = 0;
  Index i;

  collectorHear(collector);
  if (collector->told && CollectorWrite(collector) != ResOK)
    return 0;
  for (i = 0; i < collector->drains; ++i) {
    Drain drain = collector->drain[i];
    if (drain->gone != 0)
      continue; /* all that it left is taken in one go */
    /* The header block of the first process is written at once, as receivers name the log after that process.  Those of
     * others, most of which live for a moment only, can wait. */
    if (!collector->met)
      collector->met = DrainHeaderNew(drain) && !drain->muted && DrainGreet(drain);
    taken += DrainRound(drain, DrainFULL);
    DrainRepeat(drain);
    collectorFlush(collector, drain);
  }
  (void)CollectorWrite(collector);
  return taken;
}

/* collectorShow -- where a reader follows the log, for which it holds a lock on it, write snapshots of the open
 * blocks */
static void collectorShow(Collector collector)
{
  int fd = collector->shop.batch.fd;
  Index i;

  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
    (void)flock(fd, LOCK_UN);
    return;
  }
  for (i = 0; i < collector->drains; ++i)
    (void)DrainRound(collector->drain[i], DrainSHOWN);
  (void)CollectorWrite(collector);
}

/* collectorSleeping -- tell all processes whether to wake us, and how many blocks must be full for that */
static void collectorSleeping(Collector collector, Bool sleeping)
{
  Index i;

  for (i = 0; i < collector->drains; ++i)
    __atomic_store_n(&collector->drain[i]->header->hand.sleeping, sleeping ? DrainWorth(collector->drain[i]) : 0,
                     __ATOMIC_SEQ_CST);
}

/* collectorWait -- until a datagram is there, or `fd` is readable: TRUE; or so long */
static Bool collectorWait(Collector collector, int fd, uint64_t ns)
{
  /* Also while the log cannot be written: a process that has begun waits for the answer.  Threads with full blocks do
   * not wake us then. */
  struct pollfd polls[2] = {{collector->meet.fd, POLLIN, 0}, {fd, POLLIN, 0}};
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

  return ppoll(polls, ARRAY_LENGTH(polls), &time, NULL) > 0 && polls[1].revents != 0;
}

/* collectorSleep -- there is nothing to do: sleep until a process wakes us, or so long; TRUE: `fd` is readable */
static Bool collectorSleep(Collector collector, int fd, uint64_t ns)
{
  Bool readable;

  if (collector->told)
    return collectorWait(collector, fd, ns);
  collectorSleeping(collector, TRUE);
  /* A thread may have handed over a block before it could see that we sleep. */
  readable = CollectorRound(collector) > 0 ? FALSE : collectorWait(collector, fd, ns);
  collectorSleeping(collector, FALSE);
  return readable;
}

void CollectorGoesRound(Collector collector)
{
  if (RegionMakerGoesRound(&collector->maker) && collector->absent != NULL)
    UnrecordedForgive(collector->absent, EventClockMonotonic());
  CollectorNotes(collector, FALSE);
}

Bool CollectorRun(Collector collector, int fd, uint64_t until)
{
  Count idle = 0;

  AVER(CollectorCheck(collector));
  for (;;) {
    uint64_t now, due = collectorTend;
    Count taken;
    CollectorReceive(collector);
    taken = CollectorRound(collector);
    idle = taken > 0 ? 0 : idle + 1;
    if (collector->dead >= collectorGRAVES && !collector->told)
      (void)CollectorBury(collector, FALSE);
    now = EventClockMonotonic();
    if (now - collector->tended >= collectorTend) {
      collector->tended = now;
      CollectorGoesRound(collector);
      (void)CollectorBury(collector, TRUE);
      collectorShow(collector);
      CollectorLink(collector);
      if (collector->absent != NULL)
        UnrecordedPoll(collector->absent, now, FALSE);
    }
    if (now >= until)
      return FALSE;
    if (!collectorPaused(collector))
      due = ProcessWatchPoll(collector->watcher, now, &collector->shop.counts);
    due = due < collectorTend ? due : collectorTend;
    if (idle < collectorPatience && collector->drains > 0 && !collector->told) {
      if (collectorWait(collector, fd, taken >= collectorBusy ? 0 : collectorNap))
        return TRUE;
    } else if (collectorSleep(collector, fd, until - now < due ? until - now : due)) {
      return TRUE;
    }
  }
}

void CollectorProgram(Collector collector, pid_t pid)
{
  collector->program = pid;
  if (collector->watcher != NULL)
    ProcessWatchProgram(collector->watcher, pid);
}

void CollectorEnded(Collector collector, pid_t pid, int status)
{
  if (collector->watcher != NULL)
    ProcessWatchEnded(collector->watcher, pid, status);
}

void CollectorStop(Collector collector)
{
  Index i;

  AVER(CollectorCheck(collector));
  collector->stopped = TRUE;
  SelfEventsStopped(collector->self);
  CollectorAlone(collector);
  for (i = 0; i < collector->drains; ++i) {
    DrainShut(collector->drain[i]);
    (void)DrainRound(collector->drain[i], DrainSHOWN);
  }
  (void)CollectorWrite(collector);
}

void CollectorSeen(Collector collector, pid_t pid, const char *path, Bool certain)
{
  if (collector->absent != NULL)
    UnrecordedSeen(collector->absent, pid, path, certain, EventClockMonotonic());
}

void CollectorFree(Collector collector)
{
  CollectorAlone(collector);
  CollectorRelease(collector);
  while (collector->drains > 0) {
    DrainClose(collector->drain[--collector->drains]);
    CollectorLink(collector);
  }
  if (collector->shop.batch.fd >= 0 || collector->shop.batch.forward != NULL)
    (void)syscall(SYS_set_robust_list, NULL, sizeof collector->robust);
  if (collector->shop.batch.trim != NULL)
    TrimDestroy(collector->shop.batch.trim);
  if (collector->shop.batch.fd >= 0)
    (void)close(collector->shop.batch.fd);
  if (collector->shop.batch.forward != NULL)
    PlinthClose(&collector->forward);
  if (collector->handed >= 0)
    (void)close(collector->handed);
  RendezvousClose(&collector->meet);
  RegionMakerClose(&collector->maker);
  if (collector->self != NULL)
    SelfEventsDestroy(collector->self);
  if (collector->absent != NULL)
    UnrecordedDestroy(collector->absent);
  DrainShopFinish(&collector->shop);
  free(collector->images.image);
  free(collector->shop.pack);
  free(collector);
}

Bool CollectorCheck(Collector collector)
{
  Drain first = collector->drains > 0 ? collector->drain[0] : collector->last;
  Index i;

  if (collector->drains > collectorDrainsMAX || (collector->last != NULL && collector->drains > 0) ||
      !BatchCheck(&collector->shop.batch) || collector->shop.spares > DrainSPARE)
    return FALSE;
  /* What comes behind the first in the kernel's list is in the regions, where programs may have written over it. */
  if (collector->robust.list.next != NULL &&
      (void *)collector->robust.list.next !=
          (first != NULL ? (void *)&first->header->hand.next : &collector->robust.list))
    return FALSE;
  for (i = 0; i < collector->drains; ++i)
    if (collector->drain[i]->shop != &collector->shop || !DrainCheck(collector->drain[i]))
      return FALSE;
  return TRUE;
}
