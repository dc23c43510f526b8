/* selfdrain.c -- sends full blocks from the process itself, where there is no collector or none any more
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/selfdrain.h"

#include <string.h>

#include "emit/send.h"
#include "emit/sentcounts.h"
#include "emit/stream.h"
#include "format/region.h"
#include "handover/store.h"
#include "plinth/rawsyscall.h"

/* ---- What a slot says, and the block in it ---- */

/* drainAt -- where the block in a slot is, and how large it is, as the slot says; or NULL.  Its header may be spoiled. */
static inline BlockHeader drainAt(Size *sizeReturn, RegionHeader region, Index slot)
{
  Size offset;

  return RegionBlockAt(&offset, sizeReturn, region, slot) ? (BlockHeader)(void *)((char *)region + offset) : NULL;
}

/* drainWhole -- has it its header, as it was written? */
static inline Bool drainWhole(BlockHeader block, Size size)
{
  BlockHeaderStruct header;
  Bool swapped;

  return block != NULL && BlockHeaderUnsealedRead(&header, &swapped, block) == ResOK && !swapped && header.whole == size;
}

static inline uint8_t drainState(RegionHeader region, Index slot)
{
  return __atomic_load_n(&region->state[slot], __ATOMIC_ACQUIRE);
}

/* drainUsed -- bytes of a full block that were reserved for events; never more than it has */
static inline Size drainUsed(BlockHeader block)
{
  Size most = StoreSize(block) - BlockHeaderSIZE, used = __atomic_load_n(&block->used, __ATOMIC_RELAXED);

  return used <= most ? used : most;
}

/* drainSnapped -- has a snapshot of this full block been sent?  Then it is counted as full no longer. */
static inline Bool drainSnapped(BlockHeader block)
{
  return (block->flags & BlockFlagSNAPSHOT) != 0;
}

/* ---- Full blocks ---- */

enum {
  drainListMAX = 16,  /* slots that are looked at in one go: they are on the stack */
  drainBehindMAX = 8  /* blocks of a stream that wait behind one in which something is pending */
};

typedef enum SelfDrainResult { SelfDrainSENT, SelfDrainPENDING, SelfDrainREFUSED, SelfDrainGONE } SelfDrainResult;

/* One full block, as it looked when it was listed.  What was opened first comes first; `place` makes that an order
 * between any two. */
typedef struct SelfDrainEntryStruct {
  uint64_t first, sequence;
  Word place;
  Store store;
  RegionHeader region;
  Index slot;
} SelfDrainEntryStruct, *SelfDrainEntry;

/* One pass over all blocks, from the one that was opened first to the newest. */
typedef struct SelfDrainStruct {
  Process process;
  Stream stream;             /* NULL: of any */
  uint32_t number;           /* of the stream */
  SelfDrainHow how;
  SelfDrainEntryStruct done;     /* up to this one all were looked at */
  Count behind;              /* full blocks that are not listed, because they are newer */
  Count count;
  SelfDrainEntryStruct list[drainListMAX];
} SelfDrainStruct, *Drain;

/* drainLess -- one block less is full */
static void drainLess(Process process, RegionHeader region)
{
  (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  (void)__atomic_fetch_add(&process->drained, 1, __ATOMIC_RELAXED);
}

/* drainFree -- the block in a claimed slot is done with */
static void drainFree(Store store, RegionHeader region, BlockHeader block, Size size)
{
  StreamErase(region, block, size - BlockHeaderSIZE);
  StoreGive(store, block);
}

/* drainLose -- so many events are lost: count them where that survives us */
static void drainLose(Process process, Count lost)
{
  RegionHeader shared = ProcessRegion(process);

  (void)__atomic_fetch_add(shared != NULL ? &shared->lost : &process->lost, lost, __ATOMIC_RELAXED);
}

/* drainSpoiled -- the program has written over the header of a full block in a claimed slot: nobody knows whose its events
 * are, so they are lost, which is counted first.  Or over the state of a slot that is empty: nothing is lost then, and
 * none was counted as full. */
static void drainSpoiled(Process process, Store store, RegionHeader region, BlockHeader block, Size size)
{
  RegionHeader shared = ProcessRegion(process);
  Count lost = BlockSpoiled(block, size);

  drainLose(process, lost);
  if (store != &process->shared && shared != NULL)
    (void)__atomic_fetch_sub(&shared->pool.away, lost, __ATOMIC_RELAXED);
  if (lost > 0 && __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) > 0) /* whether a snapshot of it was sent nobody knows, either */
    drainLess(process, region);
  drainFree(store, region, block, size);
}

/* drainSend -- send a block that is ours alone, if nothing in it is pending; or if nobody will fill that.  Where the program has
 * written over events what stands before is sent. */
static SelfDrainResult drainSend(Process process, BlockHeader block, Bool settle, Count *countReturn)
{
  BlockTallyStruct tally = {.used = drainUsed(block), .count = SendCountUNKNOWN, .last = block->first};
  Res res = SendBlock(process, block, &tally, 0);

  if (res == ResFAIL) {
    BlockWalk(&tally, StreamEvents(block), StoreSize(block) - BlockHeaderSIZE, block->first, settle);
    *countReturn = tally.count;
    if (!settle && (!tally.broken || tally.pending > 0))
      return SelfDrainPENDING;
    res = SendBlock(process, block, &tally, 0);
    if (res == ResOK && tally.broken)
      drainLose(process, 1);
  }
  if (tally.count == SendCountUNKNOWN)
    BlockWalk(&tally, StreamEvents(block), StoreSize(block) - BlockHeaderSIZE, block->first, FALSE);
  *countReturn = tally.count;
  return res == ResOK ? SelfDrainSENT : SelfDrainREFUSED;
}

/* drainClaim -- the full block in a slot is nobody else's from here on; returns whether it was there */
static Bool drainClaim(RegionHeader region, Index slot, uint8_t *stateReturn)
{
  *stateReturn = drainState(region, slot);
  return (*stateReturn & (RegionFULL | RegionTAKEN)) == RegionFULL &&
         __atomic_compare_exchange_n(&region->state[slot], stateReturn, (uint8_t)(*stateReturn | RegionTAKEN), FALSE,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* drainNumber -- a block of the stream goes out: say how many events were before it, if that is known.  It is not if
 * another thread has sent some that stand between. */
static void drainNumber(Stream stream, BlockHeader block)
{
  if (block->sequence != stream->sent)
    stream->before = BlockBeforeUNKNOWN;
  if (stream->before != BlockBeforeUNKNOWN)
    StreamAlter(block, block->used, stream->before, block->discarded);
}

/* drainCount -- so many events more of the stream have gone out, with this block */
static void drainCount(Stream stream, BlockHeader block, Count count)
{
  stream->sent = block->sequence + 1;
  if (stream->before != BlockBeforeUNKNOWN)
    stream->before += count;
}

/* drainNone -- where the slot says there is no block as it was written: the program has written over it, or over the slot's
 * state, which is mended.  The slot is claimed. */
static SelfDrainResult drainNone(Process process, Store store, RegionHeader region, Index slot, uint8_t state)
{
  uint8_t told = StoreTold(store, slot);
  BlockHeader block;
  Size size;

  if (RegionStateWrong(state, told)) {
    __atomic_store_n(&region->state[slot], told, __ATOMIC_RELEASE);
    return SelfDrainGONE;
  }
  block = drainAt(&size, region, slot);
  if (block != NULL)
    drainSpoiled(process, store, region, block, size);
  return SelfDrainSENT;
}

/* drainTake -- send the block in a slot and free it, if it is still full
 *
 * stream  whose it is, if the caller owns that; else NULL
 */
static SelfDrainResult drainTake(Process process, Stream stream, Store store, RegionHeader region, Index slot, Bool settle)
{
  SelfDrainResult result;
  RegionLeaving leaving;
  BlockHeader block;
  Count count = 0;
  Bool snapped;
  uint8_t state;
  Size size;

  if (!drainClaim(region, slot, &state))
    return SelfDrainGONE;
  block = drainAt(&size, region, slot);
  if (!drainWhole(block, size))
    return drainNone(process, store, region, slot, state);
  if (RegionFilled(block)) { /* its owner is filling it: the program has written over the slot's state */
    __atomic_store_n(&region->state[slot], RegionOPEN | (state & RegionLog2MASK), __ATOMIC_RELEASE);
    return SelfDrainGONE;
  }
  snapped = drainSnapped(block);
  if (stream != NULL && !snapped)
    drainNumber(stream, block);
  leaving = store != &process->shared ? StreamDepart(process, block) : NULL;
  result = drainSend(process, block, settle, &count);
  if (store != &process->shared)
    StreamArrive(process, block, leaving, result == SelfDrainSENT);
  if (result != SelfDrainSENT) {
    __atomic_store_n(&region->state[slot], state, __ATOMIC_RELEASE);
    return result;
  }
  if (stream != NULL && !snapped)
    drainCount(stream, block, count);
  if (!snapped)
    drainLess(process, region);
  drainFree(store, region, block, size);
  return SelfDrainSENT;
}

/* drainCopy -- send a snapshot of a block in which something is pending, once; it stays where it is, and may stay for
 * ever: the handler that was to fill it may have jumped away */
static void drainCopy(Process process, Stream stream, RegionHeader region, Index slot)
{
  BlockTallyStruct tally;
  BlockHeader block, header;
  uint8_t state;
  char *copy;
  Size size;

  if (!drainClaim(region, slot, &state))
    return;
  block = drainAt(&size, region, slot);
  copy = drainWhole(block, size) && !drainSnapped(block) ? RawMap(BlockMAX, BlockMIN) : NULL;
  if (copy != NULL) {
    header = (BlockHeader)(void *)copy;
    memcpy(copy, block, size);
    BlockWalk(&tally, copy + BlockHeaderSIZE, size - BlockHeaderSIZE, header->first, TRUE);
    if (tally.used == 0 || SendBlock(process, header, &tally, BlockFlagSNAPSHOT) == ResOK) {
      block->flags |= BlockFlagSNAPSHOT;
      if (stream != NULL)
        drainCount(stream, block, tally.count);
      drainLess(process, region);
    }
    RawUnmap(copy, BlockMAX);
  }
  __atomic_store_n(&region->state[slot], state, __ATOMIC_RELEASE);
}

static Bool drainBefore(const SelfDrainEntryStruct *a, const SelfDrainEntryStruct *b)
{
  if (a->first != b->first)
    return a->first < b->first;
  return a->sequence != b->sequence ? a->sequence < b->sequence : a->place < b->place;
}

/* drainListOne -- list a full block, and leave out the newest if there are too many */
static void drainListOne(Drain drain, const SelfDrainEntryStruct *entry)
{
  Index i;

  if (drain->count == drainListMAX) {
    ++drain->behind;
    if (!drainBefore(entry, &drain->list[drain->count - 1]))
      return;
    --drain->count;
  }
  for (i = drain->count++; i > 0 && drainBefore(entry, &drain->list[i - 1]); --i)
    drain->list[i] = drain->list[i - 1];
  drain->list[i] = *entry;
}

/* drainList -- list the oldest full blocks that were not looked at.  Their headers are read unclaimed: what is listed
 * wrongly is found out when it is claimed, and what is not listed now is listed the next time. */
__attribute__((no_sanitize("thread"))) static void drainList(Drain drain, Store store)
{
  RegionHeader region = StoreRegion(store);
  Index i, limit = region != NULL ? StoreLimit(store) : 0;

  for (i = 0; i < limit; ++i) {
    const BlockHeaderStruct *block;
    Size size;
    SelfDrainEntryStruct entry = {.store = store, .region = region, .slot = i};
    if ((drainState(region, i) & (RegionFULL | RegionTAKEN)) != RegionFULL || (block = drainAt(&size, region, i)) == NULL)
      continue;
    entry.first = block->first;
    entry.sequence = block->sequence;
    entry.place = (Word)block;
    /* One stream alone does not look again and again at blocks that may stay pending for ever. */
    if ((drain->stream != NULL && (block->stream != drain->number ||
                                   (drain->how == SelfDrainWAIT && (block->flags & BlockFlagSNAPSHOT) != 0))) ||
        !drainBefore(&drain->done, &entry))
      continue;
    drainListOne(drain, &entry);
  }
}

/* drainListed -- send the blocks that are listed; returns whether to go on, and whether one stays */
static Bool drainListed(Drain drain, Bool *stayReturn)
{
  Index i;

  for (i = 0; i < drain->count; ++i) {
    SelfDrainEntry entry = &drain->list[i];
    SelfDrainResult result = drainTake(drain->process, drain->stream, entry->store, entry->region, entry->slot,
                                       drain->how == SelfDrainSETTLE);
    drain->done = *entry;
    *stayReturn |= result == SelfDrainREFUSED;
    if (result == SelfDrainREFUSED)
      return FALSE;
    if (result == SelfDrainPENDING) {
      *stayReturn |= drain->stream == NULL || drain->how == SelfDrainWAIT;
      if (drain->how == SelfDrainWAIT && drain->count - i - 1 + drain->behind <= drainBehindMAX)
        return FALSE;
      drainCopy(drain->process, drain->stream, entry->region, entry->slot);
    }
  }
  return TRUE;
}

/* drainRun -- look at all blocks, from the oldest on; FALSE: some stay.  A collector drains the shared region itself, and
 * would erase a block under our hands. */
static Bool drainRun(Process process, Stream stream, uint32_t number, SelfDrainHow how)
{
  SelfDrainStruct drain = {.process = process, .stream = stream, .number = number, .how = how};
  Bool stay = FALSE;
  Store store;
  Index i;

  do {
    drain.count = drain.behind = 0;
    for (i = ProcessCollected(process); (store = ProcessStore(process, i)) != NULL; ++i)
      drainList(&drain, store);
  } while (drainListed(&drain, &stay) && drain.count > 0);
  return !stay;
}

Bool SelfDrainStream(Process process, Stream stream, uint32_t number, SelfDrainHow how)
{
  return drainRun(process, stream, number, how);
}

Bool SelfDrainAll(Process process, SelfDrainHow how)
{
  if (how == SelfDrainSETTLE) /* the process ends, and no other thread has any block */
    StoreMend(&process->shared);
  return drainRun(process, NULL, 0, how);
}

Bool SelfDrainBlock(Process process, Stream stream, Store store, BlockHeader block)
{
  return drainTake(process, stream, store, store->header, StoreSlot(store->header, block), FALSE) == SelfDrainSENT;
}

void SelfDrainBeside(Process process, BlockHeader block, Size used)
{
  BlockTallyStruct tally = {.used = used, .count = SendCountUNKNOWN, .last = block->first};
  Size size = StoreSize(block);
  char *copy;

  if (!drainWhole(block, size)) {
    (void)__atomic_fetch_add(&process->lost, BlockSpoiled(block, size), __ATOMIC_RELAXED);
    return;
  }
  if (SendBlock(process, block, &tally, SendBESIDE) != ResFAIL)
    return;
  /* A signal handler has interrupted an event in it: the collector waits for that, and we cannot. */
  copy = RawMap(BlockMAX, BlockMIN);
  if (copy == NULL)
    return;
  memcpy(copy, block, size);
  BlockWalk(&tally, copy + BlockHeaderSIZE, used, block->first, FALSE);
  (void)__atomic_fetch_add(&process->lost, tally.pending > 0 ? tally.pending : 1, __ATOMIC_RELAXED);
  BlockWalk(&tally, copy + BlockHeaderSIZE, size - BlockHeaderSIZE, block->first, TRUE);
  (void)SendBlock(process, (BlockHeader)(void *)copy, &tally, SendBESIDE);
  RawUnmap(copy, BlockMAX);
}

Bool SelfDrainPrivate(Process process, Bool refused)
{
  unsigned mask = refused ? RegionFULL | RegionTAKEN : RegionFULL;
  Store store;
  Index i, k;

  for (k = ProcessFound(process); (store = ProcessStore(process, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i)
      if ((drainState(store->header, i) & mask) == RegionFULL)
        return TRUE;
  return FALSE;
}

/* drainLeft -- the same of one block; what has been told, or will be, of events that were discarded is not counted
 * again.  The block may be in use by now: nothing is written into it. */
static uint64_t drainLeft(Process process, Store store, Index slot)
{
  Size size = 0;
  BlockHeader block = (drainState(store->header, slot) & RegionFULL) != 0 ? drainAt(&size, store->header, slot) : NULL;
  BlockTallyStruct tally;
  uint64_t lost;

  if (!drainWhole(block, size))
    return block != NULL ? BlockSpoiled(block, size) : 0;
  lost = SentLost(process, block->stream, block->discarded);
  if (drainSnapped(block))
    return lost;
  BlockWalk(&tally, StreamEvents(block), size - BlockHeaderSIZE, block->first, FALSE);
  return lost + tally.count;
}

uint64_t SelfDrainLeft(Process process)
{
  Index private = ProcessFound(process);
  uint64_t left = 0;
  Store store;
  Index i, k;

  SentPrepare(process);
  for (k = 0; (store = ProcessStore(process, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i) {
      uint64_t its = drainLeft(process, store, i);
      left += k >= private ? its : 0; /* what is in the region stays, and says itself what was discarded */
    }
  return left;
}

/* ---- Blocks that are not full: those of the flight recorder that are done with, and what others are filling ---- */

enum { drainTries = 4 /* to copy a block that its owner keeps changing */ };

/* drainOwned -- is a thread's block in this slot, that is not full, and of one of `count` streams from `first` on?
 * Then the block.  Those streams are the caller's; any other block may become something else while we look: an erased
 * one says stream 0, which is nobody's. */
__attribute__((no_sanitize("thread"))) static BlockHeader drainOwned(Size *sizeReturn, RegionHeader region, Index slot,
                                                                     uint32_t first, uint32_t count)
{
  uint8_t state = drainState(region, slot);
  BlockHeader block = (state & RegionOPEN) != 0 ? drainAt(sizeReturn, region, slot) : NULL;

  if (block == NULL || memcmp(block->magic, BlockMAGIC, BlockMagicSIZE) != 0)
    return NULL;
  return *(const volatile uint32_t *)&block->stream - first < count ? block : NULL;
}

Bool SelfDrainOverwrite(Process process, uint32_t number, BlockHeader except)
{
  Store store;
  Bool all = TRUE;
  Index i, k;

  for (k = 0; (store = ProcessStore(process, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i) {
      Size size;
      BlockHeader block = drainOwned(&size, store->header, i, number, 1);
      BlockTallyStruct tally;
      if (block == NULL || block == except)
        continue;
      StreamTally(&tally, block, size, drainUsed(block), FALSE);
      all &= tally.pending == 0;
      if (tally.pending > 0)
        continue;
      StreamErase(store->header, block, size - BlockHeaderSIZE);
      StoreGive(store, block);
    }
  return all;
}

void SelfDrainForget(Process process, uint32_t serial)
{
  Store store;
  Index i, k;

  for (k = 0; (store = ProcessStore(process, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i) {
      Size size;
      BlockHeader block = drainOwned(&size, store->header, i, serial * StreamNumbers, StreamNumbers);
      if (block == NULL)
        continue;
      StreamErase(store->header, block, size - BlockHeaderSIZE);
      StoreGive(store, block);
    }
}

/* drainSnapshot -- send one block as it is now, and leave it; returns how many events nobody took */
static uint64_t drainSnapshot(Process process, Store store, Index slot, char *copy, SelfDrainWhat what)
{
  unsigned beside = what != SelfDrainPRIVATE && ProcessCollected(process) ? SendBESIDE : 0;
  BlockHeader header = (BlockHeader)(void *)copy, block;
  RegionHeader region = store->header;
  BlockTallyStruct tally;
  unsigned tries;

  for (tries = 0; tries < drainTries; ++tries) {
    Size offset, size;
    if ((drainState(region, slot) & RegionOPEN) == 0 || !RegionBlockAt(&offset, &size, region, slot))
      return 0;
    block = (BlockHeader)(void *)((char *)region + offset);
    if (!BlockCopyLive(copy, block, size) || !drainWhole(header, size))
      continue;
    if ((header->flags & BlockFlagUNSENT) != 0 && what != SelfDrainUNSENT)
      return 0;
    BlockWalk(&tally, StreamEvents(header), size - BlockHeaderSIZE, header->first, TRUE);
    if (tally.used == 0)
      return 0;
    if (SendBlock(process, header, &tally, (header->flags & BlockFlagUNSENT) | BlockFlagSNAPSHOT | beside) != ResOK)
      return tally.count + (what == SelfDrainPRIVATE ? SentLost(process, header->stream, header->discarded) : 0);
    if (store != &process->shared && BlockSame(block, header))
      StreamHome(process, block, tally.count);
    return 0;
  }
  return 0;
}

uint64_t SelfDrainSnapshot(Process process, SelfDrainWhat what)
{
  Store store;
  char *copy = RawMap(BlockMAX, BlockMIN);
  uint64_t refused = 0;
  Index i, k;

  if (copy == NULL)
    return 0;
  for (k = what == SelfDrainPRIVATE && ProcessFound(process); (store = ProcessStore(process, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i)
      refused += drainSnapshot(process, store, i, copy, what);
  RawUnmap(copy, BlockMAX);
  return refused;
}
