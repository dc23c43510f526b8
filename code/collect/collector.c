/* collector.c -- the regions of a family of processes, drained into one log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/collectordata.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/names.h"
#include "base/text.h"
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
  BlockHeaderStruct block;

  if (place == NULL)
    return ResIO;
  memcpy(place, message, size);
  if (memcmp(message, BlockMAGIC, BlockMagicSIZE) == 0) {
    memcpy(&block, message, sizeof block);
    collector->shop.counts.events += block.count;
  }
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
  collector->meet.fd = collector->place.memory = collector->place.beside = collector->place.open = collector->handed = -1;
  collector->shop.pack = calloc(1, PackSIZE);
  res = collector->shop.pack == NULL ? ResMEMORY : RendezvousOpen(&collector->meet);
  if (res == ResOK && getrandom(&collector->place.recording, sizeof collector->place.recording, 0) < 0)
    res = ResIO;
  collector->place.recording |= collector->place.recording == 0;
  collector->shop.recording = collector->place.recording;
  if (res == ResOK)
    res = SelfEventsCreate(&collector->self, collectorSay, collector, collector->place.recording, settings->raw);
  if (res != ResOK) {
    CollectorFree(collector);
    return res;
  }
  if (settings->events != NULL)
    ChooseSay(collector->shop.chosen, sizeof collector->shop.chosen, settings->events);
  SelfEventsChoose(collector->self, settings->events);
  if (!settings->alone && UnrecordedCreate(&collector->absent) != ResOK)
    collector->absent = NULL;
  (void)snprintf(collector->mark, sizeof collector->mark, collectorVARIABLE "%s:%s", collector->meet.name,
                 collector->meet.token);
  *collectorReturn = collector;
  return ResOK;
}

uint64_t CollectorRecording(Collector collector)
{
  return collector->place.recording;
}

const char *CollectorAddress(Collector collector)
{
  return collector->mark + sizeof collectorVARIABLE - 1;
}

/* collectorWitness -- without a witness there is a recording all the same */
static void collectorWitness(Collector collector)
{
  ProcessWatchSettingsStruct settings = {
    .self = collector->settings.watcher ? collector->self : NULL,
    .interval = collector->settings.sample,
    .follow = !collector->settings.alone,
    .mark = collector->mark,
    .terminal = collector->settings.watched ? STDERR_FILENO : -1,
  };

  if (ProcessWatchCreate(&collector->watcher, &settings) != ResOK)
    collector->watcher = NULL;
}

/* collectorPaused -- is there nothing to be told yet?  What was paused begins with somebody's first event. */
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

/* collectorPrompt -- have the processor soon after it was asked for, in short slices, and before the program, where
 * that is permitted: what is not drained in time is lost.  It needs a fraction of one. */
static void collectorPrompt(void)
{
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {.size = sizeof attributes, .runtime = collectorSlice};

  (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - collectorNice);
  attributes.nice = getpriority(PRIO_PROCESS, 0);
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

  if (TrimCreate(&batch->trim, batch->fd, collector->settings.keep, ~(uint32_t)EventKindsFREQUENT) == ResOK)
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
      collector->settings.keep == 0 && collector->shop.batch.outlet == NULL)
    collector->shop.known = SelfEventsRegistry();
}

Res CollectorLog(Collector collector, int fd, const char *path)
{
  struct stat status;

  AVER(collector->shop.batch.fd < 0);
  BatchOpen(&collector->shop.batch, fd);
  PlaceOpen(&collector->place, collector->place.recording, path);
  if (fd < 0) {
    collector->shop.self = collector->self;
    return collectorRobust(collector);
  }
  if (fstat(fd, &status) != 0)
    return ResIO;
  /* Another description: what programs do to that is nothing to us. */
  collector->handed = PlaceAgain(&collector->place, fd, O_WRONLY | O_APPEND);
  collector->place.device = status.st_dev;
  collector->place.inode = status.st_ino;
  if (collector->settings.keep != 0)
    collectorKeep(collector);
  collectorHead(collector);
  return collectorRobust(collector);
}

Res CollectorSend(Collector collector, const char *where, const char **reasonReturn)
{
  Res res = PlinthOpen(&collector->outlet, where, NULL, reasonReturn);

  if (res == ResOK)
    collector->shop.batch.outlet = &collector->outlet;
  return res;
}

/* collectorRefused -- nothing is taken: say so once.  A receiver may take nothing for a moment, while it writes. */
static void collectorRefused(Collector collector)
{
  Bool sent = collector->shop.batch.fd < 0;
  uint64_t now = EventClockMonotonic();

  if (!collector->told)
    collector->since = now;
  if (collector->complained || (sent && now - collector->since < collectorSlow))
    return;
  if (sent)
    CollectorTell(collector, "the log cannot be sent: %s; events wait in memory, and -p says what becomes of those that find no room",
                  PlinthReason(&collector->outlet));
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

/* collectorFlush -- a process, or somebody for it, wants all that its blocks hold in the log */
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

/* collectorKinds -- the list is meant as the process names its kinds, against what it sends now */
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
  if (NamesMask(&mask, list, names, EventKindMAX, LiveRegionSent(live), "kind", &error) == ResOK)
    LiveRegionSend(live, mask);
}

/* collectorObey -- have a process do what a request says: "kinds LIST", "flush"; what is not understood is not done */
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

/* collectorHear -- what the way out brings back; that it is asked moves on what it keeps, too */
static void collectorHear(Collector collector)
{
  char request[256];
  Size length;
  Index i;

  while (collector->shop.batch.outlet != NULL &&
         PlinthReceive(&collector->outlet, request, sizeof request - 1, &length) == ResOK) {
    request[length] = '\0';
    for (i = 0; i < collector->drains; ++i)
      collectorObey(collector->drain[i], request);
  }
}

/* collectorFirst -- the header block of the first process is written at once: whoever receives the log calls it after
 * that.  Those of others, which are mostly there for a moment only, can wait. */
static void collectorFirst(Collector collector, Drain drain)
{
  collector->met = DrainHeaderNew(drain) && !drain->muted && DrainGreet(drain);
}

Count CollectorRound(Collector collector)
{
  Count taken = 0;
  Index i;

  collectorHear(collector);
  if (collector->told && CollectorWrite(collector) != ResOK)
    return 0;
  for (i = 0; i < collector->drains; ++i) {
    if (collector->drain[i]->gone != 0)
      continue; /* what it left is taken at one go */
    if (!collector->met)
      collectorFirst(collector, collector->drain[i]);
    taken += DrainRound(collector->drain[i], DrainFULL);
    DrainRepeat(collector->drain[i]);
    collectorFlush(collector, collector->drain[i]);
  }
  (void)CollectorWrite(collector);
  return taken;
}

/* collectorShow -- where somebody follows the log, who holds a lock on it, what fills slowly is shown as it is */
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

/* collectorSleeping -- say to all whether, and for what, we want to be woken */
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
  struct pollfd polls[2] = {{collector->meet.fd, POLLIN, 0}, {fd, POLLIN, 0}};
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

  return ppoll(polls, fd >= 0 ? 2 : 1, &time, NULL) > 0 && fd >= 0 && polls[1].revents != 0;
}

/* collectorSleep -- nothing is to be done: until somebody wakes us; TRUE: `fd` did */
static Bool collectorSleep(Collector collector, int fd, uint64_t ns)
{
  Bool readable;

  /* Where the log cannot be written nothing can be done, whoever calls. */
  if (collector->told)
    return poll(&(struct pollfd){fd, POLLIN, 0}, fd >= 0, (int)(ns / 1000000)) > 0;
  collectorSleeping(collector, TRUE);
  /* Who handed over a block before it could see that. */
  readable = CollectorRound(collector) > 0 ? FALSE : collectorWait(collector, fd, ns);
  collectorSleeping(collector, FALSE);
  return readable;
}

void CollectorGoesRound(Collector collector)
{
  if (PlaceGoesRound(&collector->place) && collector->absent != NULL)
    UnrecordedForgive(collector->absent, EventClockMonotonic());
}

Bool CollectorRun(Collector collector, int fd, uint64_t until)
{
  Count idle = 0;

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
  if (collector->shop.batch.fd >= 0 || collector->shop.batch.outlet != NULL)
    (void)syscall(SYS_set_robust_list, NULL, sizeof collector->robust);
  if (collector->shop.batch.trim != NULL)
    TrimDestroy(collector->shop.batch.trim);
  if (collector->shop.batch.fd >= 0)
    (void)close(collector->shop.batch.fd);
  if (collector->shop.batch.outlet != NULL)
    PlinthClose(&collector->outlet);
  if (collector->handed >= 0)
    (void)close(collector->handed);
  RendezvousClose(&collector->meet);
  PlaceClose(&collector->place);
  if (collector->self != NULL)
    SelfEventsDestroy(collector->self);
  if (collector->absent != NULL)
    UnrecordedDestroy(collector->absent);
  DrainShopFinish(&collector->shop);
  CollectorImagesFinish(&collector->images);
  free(collector->shop.pack);
  free(collector);
}

Bool CollectorCheck(Collector collector)
{
  Index i;

  AVER(collector->drains <= collectorDrainsMAX);
  AVER(BatchCheck(&collector->shop.batch));
  for (i = 0; i < collector->drains; ++i)
    AVER(DrainCheck(collector->drain[i]));
  return TRUE;
}
