/* drain.c -- one process's region, drained
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/drain.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "collect/sigbus.h"
#include "plinth/clock.h"
#include "plinth/rawsyscall.h"

enum {
  drainHeaderEvery = 4 << 20,  /* bytes between two header blocks */
  drainDefineEvery = 64 << 10, /* and between two looks at open blocks that define something, at least */
  drainSMALL = 128,            /* slots of which notes were taken, at most, in what is used again */
  drainFew = 16,               /* blocks that wait until the process's header block is due */
  drainSlotsMIN = 8,           /* that a process can do anything with */
  drainLettingGo = 16          /* rounds before a process that fills blocks all the time goes on by itself */
};

/* drainFill -- all of the region's header that is known: what the process may rely on, and others find it by */
static void drainFill(Drain drain, RegionMaker maker, RendezvousMessage message, uint32_t tid)
{
  RegionHeader header = drain->header;

  RegionBegin(header, message->request.pid, drain->slots, drain->identity, maker->recording, maker->log);
  header->policy = drain->policy;
  header->limit = message->request.limit; /* the process's own: but it is asked for before that has the region */
  header->device = maker->device;
  header->inode = maker->inode;
  __atomic_store_n(&header->hand.collector, tid, __ATOMIC_SEQ_CST);
}

/* drainFile -- the file, and another description of it, locked */
static Res drainFile(Drain drain, RegionMaker maker, RendezvousMessage message, RegionGrant grant, int *lockedReturn)
{
  Res res = RegionMakerMake(&drain->file, grant->path, maker, message->pid, drain->size);

  if (res != ResOK)
    return res;
  memcpy(drain->path, grant->path, sizeof drain->path);
  *lockedReturn = drain->file.locked;
  drain->file.locked = -1;
  drain->header = SigbusMap(drain->file.fd, drain->size);
  return drain->header != NULL ? ResOK : ResMEMORY;
}

/* drainSlots -- as many as the process can map, and the limit on file sizes allows; 0: not enough */
static Count drainSlots(Count wanted)
{
  Count slots = wanted < RegionSlotsMAX ? wanted : RegionSlotsMAX;
  uint64_t limit = RawLimit(RLIMIT_FSIZE);

  if (limit < RegionSize(slots))
    slots = limit < RegionFIRST ? 0 : (Count)(limit - RegionFIRST) / RegionSlotSIZE;
  return slots >= drainSlotsMIN ? slots : 0;
}

/* drainNew -- a fresh one, or one that was used before; NULL without memory.  Most of it is about slots that are never
 * used: of pages that are not touched nothing is there. */
static Drain drainNew(DrainShop shop)
{
  Drain drain;

  if (shop->spares > 0)
    return shop->spare[--shop->spares];
  drain = mmap(NULL, sizeof *drain, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return drain != MAP_FAILED ? drain : NULL;
}

/* drainGive -- it may be used again, as new, unless too much was written there */
static void drainGive(Drain drain)
{
  DrainShop shop = drain->shop;
  Count used = drain->used;

  if (shop->spares == DrainSPARE || used > drainSMALL) {
    (void)munmap(drain, sizeof *drain);
    return;
  }
  memset(drain, 0, offsetof(DrainStruct, slot));
  memset(drain->slot, 0, used * sizeof drain->slot[0]);
  shop->spare[shop->spares++] = drain;
}

void DrainShopFinish(DrainShop shop)
{
  while (shop->spares > 0)
    (void)munmap(shop->spare[--shop->spares], sizeof(DrainStruct));
}

Res DrainMake(Drain *drainReturn, DrainShop shop, RegionMaker maker, RendezvousMessage message, uint32_t tid,
              RegionGrant grant, int *lockedReturn)
{
  Drain drain = drainNew(shop);
  Res res;

  *lockedReturn = -1;
  if (drain == NULL)
    return ResMEMORY;
  drain->shop = shop;
  drain->file.fd = drain->file.locked = drain->file.folder = -1;
  drain->pid = message->pid;
  drain->identity = message->request.identity;
  drain->policy = message->request.policy;
  drain->slots = drainSlots(message->request.slots);
  drain->size = RegionSize(drain->slots);
  drain->owed = TRUE;
  memcpy(drain->program, message->request.program, sizeof drain->program);
  res = ResPARAM;
  if (drain->slots > 0 && drain->policy <= RegionPolicyOVERWRITE)
    res = drainFile(drain, maker, message, grant, lockedReturn);
  if (res != ResOK) {
    DrainWithdraw(drain);
    return res;
  }
  drainFill(drain, maker, message, tid);
  grant->slots = (uint32_t)drain->slots;
  AVER(DrainCheck(drain));
  *drainReturn = drain;
  return ResOK;
}

void DrainWithdraw(Drain drain)
{
  MadeRegionRemove(&drain->file);
  DrainClose(drain);
}

void DrainClose(Drain drain)
{
  if (drain->header != NULL) {
    BatchForget(&drain->shop->batch, drain->header);
    SigbusUnmap(drain->header, drain->size);
  }
  MadeRegionDrop(&drain->file);
  DrainHeaderForget(&drain->head, &drain->shop->types);
  DrainStreamsFree(&drain->streams);
  drainGive(drain);
}

/* drainControl -- the control table's first 32 bits, whose lower half says what is sent */
static uint32_t *drainControl(Drain drain)
{
  return (uint32_t *)(void *)((char *)drain->header + RegionControlAt(drain->head.header.widths.word));
}

/* drainHead -- put the header block into the batch, with what only the region knows by now.  What the process sent
 * until we switched it off, it sent until its part of the log ended. */
static Res drainHead(Drain drain, uint64_t lost, const DrainStreamsStruct *ended)
{
  DrainShop shop = drain->shop;
  Res res;

  if (!drain->shut)
    drain->sent = __atomic_load_n(drainControl(drain), __ATOMIC_RELAXED) & RegionControlSENT;
  drain->head.header.sent.now = drain->sent;
  HeaderForgotten(&drain->head.header, RegionForgotten(drain->header),
                  __atomic_load_n(&drain->header->pool.forgottenTo, __ATOMIC_RELAXED));
  drain->head.header.stopped = __atomic_load_n(&drain->header->stopped, __ATOMIC_RELAXED);
  res = DrainHeaderAgain(&drain->head, lost, ended, shop);
  if (res == ResOK && !drain->counted && drain->head.types != NULL && drain->head.header.recording == shop->recording) {
    drain->counted = TRUE;
    ++shop->headed;
  }
  if (shop->headed > 0 && shop->self != NULL && SelfEventsHeader(shop->self) == ResOK)
    shop->self = NULL;
  return res;
}

/* drainAgain -- the same while the process lives */
static Res drainAgain(Drain drain)
{
  return drainHead(drain, __atomic_load_n(&drain->header->lost, __ATOMIC_RELAXED), NULL);
}

Bool DrainHeaderNew(Drain drain)
{
  Res res;

  SigbusAgain(drain->header);
  if (drain->muted)
    return TRUE;
  res = DrainHeaderTake(&drain->head, drain->header, drain->identity, (uint32_t)drain->pid, drain->shop);
  if (res == ResOK)
    drain->owed = TRUE;
  else if (res == ResFORMAT && drain->head.generation != 0)
    RegionAsk(drain->header, RegionAskHEADER);
  return drain->head.types != NULL;
}

Bool DrainGreet(Drain drain)
{
  if (drain->head.types == NULL || (drain->owed && !drain->muted && drainAgain(drain) != ResOK))
    return FALSE;
  drain->owed = FALSE;
  return TRUE;
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

uint32_t DrainWorth(Drain drain)
{
  uint32_t quarter = drain->header->limit / 4, worth = quarter < drainFew ? quarter : drainFew;

  return drain->owed && worth > 1 ? worth : 1;
}

Count DrainRound(Drain drain, DrainWhat what)
{
  Count count, taken = 0;
  Index i;

  if (what == DrainFULL && __atomic_load_n(&drain->header->pool.full, __ATOMIC_ACQUIRE) < DrainWorth(drain))
    return 0; /* nothing is full, or so little that it can wait */
  if (!DrainHeaderNew(drain) && what != DrainALL)
    return 0;
  drain->now = EventClockMonotonic();
  count = drainList(drain, what);
  if (count > 0 && !drain->muted && !DrainGreet(drain) && what != DrainALL)
    return 0;
  for (i = 0; i < count; ++i)
    taken += DrainSlotTake(drain, &drain->shop->list[i], what);
  return taken;
}

void DrainRepeat(Drain drain)
{
  if (drain->unheaded >= drainHeaderEvery && drainAgain(drain) == ResOK)
    drain->unheaded = drain->defined = 0;
  /* Most modules are loaded at the beginning, so the first snapshot comes early; each later one waits for half as many
   * bytes more. */
  if (drain->unheaded >= drain->defined + drain->defined / 2 + drainDefineEvery) {
    drain->defined = drain->unheaded;
    (void)DrainRound(drain, DrainDEFINED);
  }
}

void DrainShut(Drain drain)
{
  if (!drain->shut)
    drain->sent = __atomic_fetch_and(drainControl(drain), ~(uint32_t)RegionControlSENT, __ATOMIC_SEQ_CST) &
                  RegionControlSENT;
  drain->shut = TRUE;
}

void DrainMute(Drain drain)
{
  drain->muted = TRUE;
  DrainShut(drain);
}

Bool DrainIsDead(Drain drain)
{
  if (drain->gone == 0 && flock(drain->file.fd, LOCK_EX | LOCK_NB) == 0) {
    (void)DrainHeaderNew(drain); /* which says what clock it has */
    drain->gone = EventClock(drain->head.slow);
  }
  return drain->gone != 0;
}

/* drainLeaving -- what the process was writing to the log itself when it was killed is there, or is missed */
static void drainLeaving(Drain drain)
{
  Index i, number;

  for (i = 0; i < RegionLEAVING; ++i) {
    RegionLeavingStruct its = drain->header->leaving[i];
    DrainStream stream;
    if (its.count == 0 || its.count >= RegionLeavingCLAIMED || its.sequence > UINT32_MAX ||
        DrainStreamGet(&number, &drain->streams, its.stream) != ResOK)
      continue;
    stream = &drain->streams.stream[number];
    if (stream->next > its.sequence)
      continue;
    stream->total = its.to <= CountMAX ? its.to : BlockBeforeUNKNOWN;
    stream->next = its.sequence + 1;
  }
}

/* drainEnd -- no slot from this one on has any memory */
static Index drainEnd(Drain drain)
{
  Index end = drain->slots;
  off_t at;

  while (end > 0 && drain->header->state[end - 1] == RegionFREE)
    --end;
  while (end < drain->slots && (at = lseek(drain->file.fd, (off_t)RegionSize(end), SEEK_DATA)) >= (off_t)RegionFIRST)
    end = ((Size)at - RegionFIRST) / RegionSlotSIZE + 1;
  return end;
}

/* drainCut -- the process has cut its region's file: the blocks that were behind the end are lost, and of each one
 * event at least is counted.  Returns how many slots the file still has. */
static Index drainCut(Drain drain)
{
  struct stat status;
  Size size = fstat(drain->file.fd, &status) == 0 ? (Size)status.st_size : drain->size;
  Index i = drain->slots;

  if (size < RegionFIRST)
    DrainSpoiled(drain, 1); /* what the states of the slots were is lost, too */
  for (; i > 0 && RegionSize(i) > size; --i)
    if (drain->header->state[i - 1] != RegionFREE) {
      drain->header->state[i - 1] = RegionFREE;
      DrainSpoiled(drain, 1);
    }
  return i;
}

/* drainMend -- the process is dead: slots whose states it has written over get those that their blocks tell, and what
 * it began to overwrite is counted */
static void drainMend(Drain drain)
{
  Index i, there = drainCut(drain), end = drainEnd(drain);

  for (i = 0; i < end && i < there; ++i) {
    char *at = (char *)drain->header + RegionSize(i + 1);
    uint8_t told = RegionStateTold(at, BlockMAX, drain->identity);
    BlockHeader begun = RegionForgetBegun(drain->header, i, at);
    if (begun != NULL)
      RegionForget(drain->header, i, begun);
    if (RegionStateWrong(drain->header->state[i], told))
      drain->header->state[i] = told;
  }
}

Res DrainTakeAll(Drain drain)
{
  Batch batch = &drain->shop->batch;
  Count refused = batch->refused;

  AVER(DrainCheck(drain));
  (void)DrainHeaderNew(drain);
  drainMend(drain);
  (void)DrainRound(drain, DrainALL);
  drain->taken = batch->refused == refused;
  return drain->taken ? ResOK : ResIO;
}

Res DrainFarewell(Drain drain)
{
  uint64_t ending = __atomic_load_n(&drain->header->ending, __ATOMIC_RELAXED);
  uint64_t lost;
  Res res = ResOK;

  AVER(drain->taken);
  RegionLedgerClose(drain->header);
  drainLeaving(drain);
  /* When it ended it may have said itself, unless it has emitted something since; else that was seen. */
  drain->head.header.gone = ending != 0 && ending >= drain->newest && ending < drain->gone ? ending : drain->gone;
  lost = RegionLost(drain->header);
  CountRaise(&lost, drain->spoiledEvents); /* the header counts them, too, unless the process has cut or spoiled it */
  if (!drain->muted)
    res = drainHead(drain, lost, &drain->streams);
  drain->parted = res == ResOK;
  return res;
}

void DrainReach(Drain drain, uint64_t place)
{
  __atomic_store_n(&drain->header->pool.reached, place, __ATOMIC_RELAXED);
}

void DrainKeep(Drain drain)
{
  AVER(drain->parted);
  memset(drain->header->state, 0, sizeof drain->header->state); /* nobody looks for a block where there will be none */
  (void)fallocate(drain->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RegionFIRST,
                  (off_t)(drain->size - RegionFIRST));
  (void)flock(drain->file.fd, LOCK_UN);
}

void DrainSpoiled(Drain drain, Count events)
{
  ++drain->spoiled;
  drain->spoiledEvents += events;
  (void)__atomic_fetch_add(&drain->header->lost, events, __ATOMIC_RELAXED);
}

/* drainStay -- the events of the block in a slot that was to be sent; what it says was discarded is counted */
static uint64_t drainStay(Drain drain, Index slot)
{
  BlockHeader block = (BlockHeader)(void *)drain->shop->copy;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  Size at, size;
  Index number;

  if (!RegionBlockAt(&at, &size, drain->header, slot))
    return 0;
  memcpy(block, (char *)drain->header + at, size);
  if (!BlockUnsealedIs(&sound, block, size, drain->identity)) {
    Count events = BlockSpoiled(block, size);
    if (events > 0)
      DrainSpoiled(drain, events);
    drain->header->state[slot] &= (uint8_t)~RegionLog2MASK;
    return 0;
  }
  if ((sound.flags & BlockFlagUNSENT) != 0)
    return 0;
  BlockWalk(&tally, block + 1, size - BlockHeaderSIZE, sound.first, TRUE);
  if (DrainStreamGet(&number, &drain->streams, sound.stream) == ResOK)
    drain->shop->counts.discarded += DrainStreamDiscarded(&drain->streams.stream[number], sound.discarded);
  return tally.count;
}

uint64_t DrainStays(Drain drain)
{
  uint64_t events = 0;
  Index i;

  AVER(drain->gone != 0 && DrainCheck(drain));
  for (i = 0; i < drain->slots && !drain->muted; ++i)
    events += drainStay(drain, i);
  return events;
}

void DrainLeave(Drain drain)
{
  unsigned round;

  AVER(drain->gone == 0 && DrainCheck(drain));
  (void)__atomic_fetch_or(&drain->header->hand.collector, RegionCollectorLEAVES, __ATOMIC_SEQ_CST);
  for (round = 0; round < drainLettingGo && DrainRound(drain, DrainHELD) > 0; ++round)
    if (BatchWrite(&drain->shop->batch) != ResOK)
      break;
  if (!drain->muted)
    (void)drainAgain(drain);
  drain->owed = FALSE;
  (void)BatchWrite(&drain->shop->batch);
}

void DrainLetGo(Drain drain)
{
  AVER(drain->gone == 0);
  __atomic_store_n(&drain->header->hand.released, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&drain->header->hand.collector, RegionCollectorNONE, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_add(&drain->header->pool.freed, 1, __ATOMIC_SEQ_CST);
  (void)syscall(SYS_futex, &drain->header->pool.freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
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
  Index i;

  if (drain->shop == NULL || drain->header == NULL || drain->file.fd < 0 || drain->slots > RegionSlotsMAX ||
      drain->size != RegionSize(drain->slots) || drain->used > drain->slots || drain->policy > RegionPolicyOVERWRITE ||
      (drain->parted && !drain->taken) || !DrainStreamsCheck(&drain->streams))
    return FALSE;
  for (i = 0; i < drain->used; ++i)
    if (drain->slot[i].mark != 0 && !drain->muted && drain->slot[i].stream >= drain->streams.count)
      return FALSE;
  for (i = 0; i < drain->streams.count; ++i)
    if (drain->streams.stream[i].stall > drain->slots)
      return FALSE;
  return TRUE;
}
