/* drain.c -- one process's region, drained
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "collect/guard.h"
#include "plinth/clock.h"

enum {
  drainHeaderEvery = 4 << 20, /* bytes between two header blocks */
  drainFew = 16,              /* blocks that wait until the process's header block is due */
  drainLettingGo = 16,        /* rounds before a process that fills blocks all the time goes on by itself */
  drainSENT = 0xffff          /* of the control table's first 32 bits: the kinds that are sent */
};

/* drainReopen -- the file of a descriptor, opened anew: the lock stays with the other one */
static int drainReopen(int fd)
{
  char path[32];

  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* drainRoot -- the root folder that a process sees, if the region's path leads elsewhere from ours; -1 */
static int drainRoot(Drain drain)
{
  struct stat status;
  char path[32];

  if (drain->path[0] != '/' ||
      (stat(drain->path, &status) == 0 && status.st_dev == drain->device && status.st_ino == drain->inode))
    return -1;
  (void)snprintf(path, sizeof path, "/proc/%ld/root", (long)drain->pid);
  return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* drainMap -- open and map the region, and see whether it is one and the sender's own */
static Res drainMap(Drain drain, OfferMessage message)
{
  struct stat status;

  drain->fd = drainReopen(message->fd);
  if (drain->fd < 0 || fstat(drain->fd, &status) != 0)
    return ResIO;
  if (!S_ISREG(status.st_mode) || status.st_uid != message->uid || status.st_size < RegionFIRST)
    return ResFORMAT;
  drain->device = status.st_dev;
  drain->inode = status.st_ino;
  drain->size = (Size)status.st_size;
  if (drain->size > RegionSize(RegionSlotsMAX))
    drain->size = RegionSize(RegionSlotsMAX);
  drain->header = GuardMap(drain->fd, drain->size);
  if (drain->header == NULL)
    return ResMEMORY;
  if (!RegionHeaderSound(drain->header, drain->size) ||
      drain->header->identity != message->offer.identity)
    return ResFORMAT;
  /* The process may change it; what was found sound is what counts. */
  drain->slots = drain->header->slots;
  return drain->slots <= RegionSlotsMAX && drain->size >= RegionSize(drain->slots) ? ResOK : ResFORMAT;
}

Res DrainOpen(Drain *drainReturn, DrainShop shop, OfferMessage message)
{
  /* Most of it is about slots that are never used: of pages that are not touched nothing is there. */
  Drain drain = mmap(NULL, sizeof *drain, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Res res;

  if (drain == MAP_FAILED)
    return ResMEMORY;
  drain->shop = shop;
  drain->root = drain->fd = -1;
  drain->pid = message->pid;
  drain->identity = message->offer.identity;
  memcpy(drain->path, message->offer.path, sizeof drain->path);
  res = drainMap(drain, message);
  if (res != ResOK) {
    DrainClose(drain);
    return res;
  }
  drain->policy = drain->header->policy;
  drain->root = drainRoot(drain);
  *drainReturn = drain;
  return ResOK;
}

void DrainClose(Drain drain)
{
  if (drain->header != NULL) {
    BatchForget(&drain->shop->batch, drain->header);
    GuardUnmap(drain->header, drain->size);
  }
  if (drain->fd >= 0)
    (void)close(drain->fd);
  if (drain->root >= 0)
    (void)close(drain->root);
  DrainHeaderForget(&drain->head, &drain->shop->types);
  DrainStreamsFree(&drain->streams);
  (void)munmap(drain, sizeof *drain);
}

static uint64_t drainLost(Drain drain)
{
  return __atomic_load_n(&drain->header->lost, __ATOMIC_RELAXED);
}

Bool DrainHeaderNew(Drain drain)
{
  if (drain->muted)
    return TRUE;
  if (DrainHeaderTake(&drain->head, drain->header, drain->identity, &drain->shop->types, &drain->shop->batch) == ResOK)
    drain->owed = FALSE;
  return drain->head.types != NULL;
}

Bool DrainGreet(Drain drain)
{
  Res res = ResOK;

  if (drain->owed && !drain->muted)
    res = DrainHeaderAgain(&drain->head, drainLost(drain), FALSE, &drain->shop->batch);
  if (res == ResLIMIT) {
    /* It has become too long by what we add: as the process wrote it, then. */
    drain->head.generation = 0;
    return DrainHeaderNew(drain) && !drain->owed;
  }
  if (res == ResOK)
    drain->owed = FALSE;
  return res == ResOK;
}

Res DrainAttach(Drain drain, uint32_t tid)
{
  uint32_t offered = RegionCollectorOFFERED;

  if (drain->head.types == NULL)
    drain->owed = FALSE;
  return __atomic_compare_exchange_n(&drain->header->hand.collector, &offered, tid, FALSE, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED) ? ResOK : ResFAIL;
}

/* drainCompare -- open blocks come last; else what was opened first comes first: so the blocks of each stream come in
 * order of their numbers */
static int drainCompare(const void *a, const void *b)
{
  const DrainEntryStruct *x = a, *y = b;

  if (x->open != y->open)
    return x->open ? 1 : -1;
  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* drainList -- the slots that may have something for us, in the order in which they are to be taken */
static Count drainList(Drain drain, DrainWhat what)
{
  uint64_t interesting = (DrainTakesOpen(what) ? RegionFULL | RegionOPEN : RegionFULL) * (uint64_t)0x0101010101010101u;
  DrainEntry list = drain->shop->list;
  RegionHeader header = drain->header;
  Count count = 0;
  Index i, k;

  for (i = 0; i < drain->slots; i += sizeof(uint64_t)) {
    /* All places have a state, also those behind the last slot. */
    if ((__atomic_load_n((uint64_t *)(void *)&header->state[i], __ATOMIC_RELAXED) & interesting) == 0)
      continue;
    for (k = i; k < i + sizeof(uint64_t) && k < drain->slots; ++k)
      count += DrainSlotList(&list[count], drain, k, __atomic_load_n(&header->state[k], __ATOMIC_ACQUIRE), what);
  }
  if (count > 1)
    qsort(list, count, sizeof *list, drainCompare);
  return count;
}

/* drainEmpty -- is there nothing full, or so little of a process that has just begun that it can wait? */
static Bool drainEmpty(Drain drain)
{
  uint32_t full = __atomic_load_n(&drain->header->pool.full, __ATOMIC_ACQUIRE);

  return full == 0 || (drain->owed && full < drainFew && full < drain->header->limit / 4);
}

Count DrainRound(Drain drain, DrainWhat what)
{
  Count count, taken = 0;
  Index i;

  if ((what == DrainFULL && drainEmpty(drain)) ||
      (!DrainHeaderNew(drain) && what != DrainALL))
    return 0;
  drain->now = EventClockMonotonic();
  count = drainList(drain, what);
  if (count > 0 && what != DrainALL && !DrainGreet(drain))
    return 0;
  for (i = 0; i < count; ++i)
    taken += DrainSlotTake(drain, &drain->shop->list[i], what);
  return taken;
}

void DrainRepeat(Drain drain)
{
  if (drain->unheaded >= drainHeaderEvery &&
      DrainHeaderAgain(&drain->head, drainLost(drain), FALSE, &drain->shop->batch) == ResOK)
    drain->unheaded = 0;
}

/* drainControl -- the control table's first 32 bits, whose lower half says what is sent */
static uint32_t *drainControl(Drain drain)
{
  static const uint32_t one = 1;
  Bool little = *(const unsigned char *)&one == 1;
  Size at = little || drain->head.header.widths.word != 8 ? 0 : sizeof(uint32_t);

  return (uint32_t *)(void *)((char *)drain->header + RegionCONTROL + at);
}

void DrainShut(Drain drain)
{
  if (!drain->shut)
    (void)__atomic_fetch_and(drainControl(drain), ~(uint32_t)drainSENT, __ATOMIC_SEQ_CST);
  drain->shut = TRUE;
}

void DrainMute(Drain drain)
{
  drain->muted = TRUE;
  DrainShut(drain);
}

Bool DrainIsDead(Drain drain)
{
  return flock(drain->fd, LOCK_EX | LOCK_NB) == 0;
}

/* drainRemove -- the region's file, if that is what its path leads to */
static void drainRemove(Drain drain)
{
  const char *path = drain->root >= 0 ? drain->path + strspn(drain->path, "/") : drain->path;
  int folder = drain->root >= 0 ? drain->root : AT_FDCWD;
  struct stat status;

  if (drain->path[0] == '/' && fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      status.st_dev == drain->device && status.st_ino == drain->inode)
    (void)unlinkat(folder, path, 0);
}

/* drainFarewell -- the header block that names no region */
static Res drainFarewell(Drain drain)
{
  return drain->muted ? ResOK : DrainHeaderAgain(&drain->head, drainLost(drain), TRUE, &drain->shop->batch);
}

Res DrainFinish(Drain drain)
{
  Batch batch = &drain->shop->batch;
  Count refused = batch->refused;
  uint32_t generation = drain->head.generation;
  Bool brief = drain->owed;
  Res res = ResOK;

  /* Of one that was there for a moment only, one header block is enough; it is written along with the blocks. */
  if (brief)
    res = drainFarewell(drain);
  if (res == ResOK)
    drain->owed = FALSE;
  (void)DrainRound(drain, DrainALL);
  if (BatchWrite(batch) != ResOK || batch->refused != refused)
    return ResIO; /* not all was taken */
  if (!brief || drain->head.generation != generation)
    res = drainFarewell(drain);
  if (res == ResOK)
    res = BatchWrite(batch);
  if (res == ResOK)
    drainRemove(drain);
  return res;
}

void DrainLetGo(Drain drain)
{
  unsigned round;

  for (round = 0; round < drainLettingGo && DrainRound(drain, DrainHELD) > 0; ++round)
    if (BatchWrite(&drain->shop->batch) != ResOK)
      break;
  if (!drain->muted)
    (void)DrainHeaderAgain(&drain->head, drainLost(drain), FALSE, &drain->shop->batch);
  drain->owed = FALSE;
  (void)BatchWrite(&drain->shop->batch);
  __atomic_store_n(&drain->header->hand.collector, RegionCollectorNONE, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_add(&drain->header->pool.freed, 1, __ATOMIC_SEQ_CST);
  (void)syscall(SYS_futex, &drain->header->pool.freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

const char *DrainProgram(Drain drain)
{
  return drain->head.header.program;
}

uint64_t DrainStopped(Drain drain)
{
  uint64_t stopped = __atomic_load_n(&drain->header->stopped, __ATOMIC_RELAXED);
  Sync begin = &drain->head.header.sync[0];
  SyncStruct now;

  if (stopped == 0 || drain->head.types == NULL)
    return 0;
  EventClockSync(&now, drain->head.slow);
  if (now.ticks <= begin->ticks || now.mono <= begin->mono || stopped <= begin->ticks)
    return 1;
  return (uint64_t)((double)(stopped - begin->ticks) * (double)(now.mono - begin->mono) /
                    (double)(now.ticks - begin->ticks));
}

Bool DrainCheck(Drain drain)
{
  AVER(drain->header != NULL && drain->fd >= 0);
  AVER(drain->slots <= RegionSlotsMAX && RegionSize(drain->slots) <= drain->size);
  return TRUE;
}
