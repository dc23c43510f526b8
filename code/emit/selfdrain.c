/* selfdrain.c -- sends full blocks from the process itself, where there is no collector or none any more
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/selfdrain.h"

#include <string.h>

#include "emit/send.h"

/* ---- The state of a slot, and the block in it ---- */

/* drainAt -- where the block in a slot is, and how large it is, as the slot says; or NULL.  Its header may be spoiled.
 */
static inline BlockHeader drainAt(Size *sizeReturn, RegionHeader region, Index slot)
{
  Size offset;

  return RegionBlockAt(&offset, sizeReturn, region, slot) ? (BlockHeader)(void *)((char *)region + offset) : NULL;
}

/* drainWhole -- is the block's header as it was written? */
static inline Bool drainWhole(BlockHeader block, Size size)
{
  BlockHeaderStruct header;

  return block != NULL && BlockUnsealedIs(&header, block, size, 0);
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
  Emitter emitter;
  Stream stream;             /* NULL: of any */
  uint32_t number;           /* of the stream */
  SelfDrainHow how;
  SelfDrainEntryStruct done;     /* up to this one all were looked at */
  Count behind;              /* full blocks that are not listed, because they are newer */
  Count apart;               /* blocks in private memory that are listed, or newer, and were not sent */
  Count count;
  SelfDrainEntryStruct list[drainListMAX];
} SelfDrainStruct, *SelfDrain;

/* drainLess -- one block less is full */
static void drainLess(Emitter emitter, RegionHeader region)
{
  (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  (void)__atomic_fetch_add(&emitter->drained, 1, __ATOMIC_RELAXED);
}

/* drainFree -- erase a block, and free its slot, which the caller has claimed */
static void drainFree(Store store, RegionHeader region, BlockHeader block, Size size)
{
  StreamErase(region, block, size - BlockHeaderSIZE);
  StoreGive(store, block);
}

/* drainLose -- so many events are lost: count them where that survives us */
static void drainLose(Emitter emitter, Count lost)
{
  RegionHeader shared = EmitterRegion(emitter);

  (void)__atomic_fetch_add(shared != NULL ? &shared->lost : &emitter->lost, lost, __ATOMIC_RELAXED);
}

/* drainSpoiled -- the program has written over the header of a full block in a claimed slot.  It is not known to which
 * stream its events belong, so they are lost, and counted first.  Or the program has written over the state of a slot
 * that is empty: then nothing is lost, and nothing was counted as full. */
static void drainSpoiled(Emitter emitter, Store store, RegionHeader region, BlockHeader block, Size size)
{
  RegionHeader shared = EmitterRegion(emitter);
  Count lost = BlockSpoiled(block, size);

  drainLose(emitter, lost);
  if (store != &emitter->shared && shared != NULL)
    (void)__atomic_fetch_sub(&shared->pool.away, lost, __ATOMIC_RELAXED);
  /* It is not known, either, if a snapshot of it was sent. */
  if (lost > 0 && __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) > 0)
    drainLess(emitter, region);
  drainFree(store, region, block, size);
}

/* drainSend -- send a block that the caller has claimed, if no event in it is pending, or if `settle` says that none
 * will be filled in.  Where the program has written over events, those before them are sent. */
static SelfDrainResult drainSend(Emitter emitter, BlockHeader block, Bool settle, Count *countReturn)
{
  BlockTallyStruct tally = {.used = drainUsed(block), .count = SendCountUNKNOWN, .last = block->first};
  Res res = SendBlock(emitter, block, &tally, 0);

  if (res == ResFAIL) {
    BlockWalk(&tally, StreamEvents(block), StoreSize(block) - BlockHeaderSIZE, block->first, settle);
    *countReturn = tally.count;
    if (!settle && (!tally.broken || tally.pending > 0))
      return SelfDrainPENDING;
    res = SendBlock(emitter, block, &tally, 0);
    if (res == ResOK && tally.broken)
      drainLose(emitter, 1);
  }
  if (tally.count == SendCountUNKNOWN)
    BlockWalk(&tally, StreamEvents(block), StoreSize(block) - BlockHeaderSIZE, block->first, FALSE);
  *countReturn = tally.count;
  return res == ResOK ? SelfDrainSENT : SelfDrainREFUSED;
}

/* drainClaim -- claim the full block in a slot; FALSE: there is none, or another thread has claimed it */
static Bool drainClaim(RegionHeader region, Index slot, uint8_t *stateReturn)
{
  *stateReturn = drainState(region, slot);
  return (*stateReturn & (RegionFULL | RegionTAKEN)) == RegionFULL &&
         __atomic_compare_exchange_n(&region->state[slot], stateReturn, (uint8_t)(*stateReturn | RegionTAKEN), FALSE,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* drainNumber -- a block of the stream is about to go out: write the number of events before it into its header, if
 * that is known.  It is not if another thread has sent blocks in between. */
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

/* drainNone -- where the slot says there is no block as it was written: the program has written over it, or over the
 * slot's state, which is mended.  The slot is claimed. */
static SelfDrainResult drainNone(Emitter emitter, Store store, RegionHeader region, Index slot, uint8_t state)
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
    drainSpoiled(emitter, store, region, block, size);
  return SelfDrainSENT;
}

/* drainTake -- send the block in a slot and free it, if it is still full
 *
 * stream  whose it is, if the caller owns that; else NULL
 */
static SelfDrainResult drainTake(Emitter emitter, Stream stream, Store store, RegionHeader region, Index slot,
                                 Bool settle)
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
    return drainNone(emitter, store, region, slot, state);
  if (RegionFilled(block)) { /* its owner is filling it: the program has written over the slot's state */
    __atomic_store_n(&region->state[slot], RegionOPEN | (state & RegionLog2MASK), __ATOMIC_RELEASE);
    return SelfDrainGONE;
  }
  snapped = drainSnapped(block);
  if (stream != NULL && !snapped)
    drainNumber(stream, block);
  leaving = store != &emitter->shared ? StreamDepart(emitter, block) : NULL;
  result = drainSend(emitter, block, settle, &count);
  if (store != &emitter->shared)
    StreamArrive(emitter, block, leaving, result == SelfDrainSENT);
  if (result != SelfDrainSENT) {
    __atomic_store_n(&region->state[slot], state, __ATOMIC_RELEASE);
    return result;
  }
  if (stream != NULL && !snapped)
    drainCount(stream, block, count);
  if (!snapped)
    drainLess(emitter, region);
  drainFree(store, region, block, size);
  return SelfDrainSENT;
}

/* drainCopy -- send a snapshot of a block in which something is pending, once; it stays where it is, and may stay for
 * ever: the handler that was to fill it may have jumped away */
static void drainCopy(Emitter emitter, Stream stream, RegionHeader region, Index slot)
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
    if (tally.used == 0 || SendBlock(emitter, header, &tally, BlockFlagSNAPSHOT) == ResOK) {
      block->flags |= BlockFlagSNAPSHOT;
      if (stream != NULL)
        drainCount(stream, block, tally.count);
      drainLess(emitter, region);
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
static void drainListOne(SelfDrain drain, const SelfDrainEntryStruct *entry)
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
__attribute__((no_sanitize("thread"))) static void drainList(SelfDrain drain, Store store)
{
  RegionHeader region = StoreRegion(store);
  Index i, limit = region != NULL ? StoreLimit(store) : 0;

  for (i = 0; i < limit; ++i) {
    const BlockHeaderStruct *block;
    Size size;
    SelfDrainEntryStruct entry = {.store = store, .region = region, .slot = i};
    if ((drainState(region, i) & (RegionFULL | RegionTAKEN)) != RegionFULL ||
        (block = drainAt(&size, region, i)) == NULL)
      continue;
    entry.first = block->first;
    entry.sequence = block->sequence;
    entry.place = (Word)block;
    /* One stream alone does not look again and again at blocks that may stay pending for ever. */
    if ((drain->stream != NULL && (block->stream != drain->number ||
                                   (drain->how == SelfDrainWAIT && (block->flags & BlockFlagSNAPSHOT) != 0))) ||
        !drainBefore(&drain->done, &entry))
      continue;
    drain->apart += store != &drain->emitter->shared;
    drainListOne(drain, &entry);
  }
}

/* drainListed -- send the blocks that are listed; returns whether to go on, and whether one stays */
static Bool drainListed(SelfDrain drain, Bool *stayReturn)
{
  Index i;

  for (i = 0; i < drain->count; ++i) {
    SelfDrainEntry entry = &drain->list[i];
    SelfDrainResult result = drainTake(drain->emitter, drain->stream, entry->store, entry->region, entry->slot,
                                       drain->how == SelfDrainSETTLE);
    drain->done = *entry;
    drain->apart -= result == SelfDrainSENT && entry->store != &drain->emitter->shared;
    *stayReturn |= result == SelfDrainREFUSED;
    if (drain->stream != NULL)
      drain->stream->refused = result == SelfDrainREFUSED && drain->apart > 0;
    if (result == SelfDrainREFUSED)
      return FALSE;
    if (result == SelfDrainPENDING) {
      *stayReturn |= drain->stream == NULL || drain->how == SelfDrainWAIT;
      if (drain->how == SelfDrainWAIT && drain->count - i - 1 + drain->behind <= drainBehindMAX)
        return FALSE;
      drainCopy(drain->emitter, drain->stream, entry->region, entry->slot);
    }
  }
  return TRUE;
}

Bool SelfDrainStream(Emitter emitter, Stream stream, uint32_t number, SelfDrainHow how)
{
  SelfDrainStruct drain = {.emitter = emitter, .stream = stream, .number = number, .how = how};
  Bool stay = FALSE;
  Store store;
  Index i;

  if (stream != NULL)
    stream->refused = FALSE;
  do {
    drain.count = drain.behind = drain.apart = 0;
    /* A collector drains the shared region itself, and would erase a block under our hands. */
    for (i = EmitterCollected(emitter); (store = EmitterStore(emitter, i)) != NULL; ++i)
      drainList(&drain, store);
  } while (drainListed(&drain, &stay) && drain.count > 0);
  return !stay;
}

Bool SelfDrainAll(Emitter emitter, SelfDrainHow how)
{
  if (how == SelfDrainSETTLE) /* the process ends, and no other thread has any block */
    StoreMend(&emitter->shared);
  return SelfDrainStream(emitter, NULL, 0, how);
}

Bool SelfDrainBlock(Emitter emitter, Stream stream, Store store, BlockHeader block)
{
  SelfDrainResult result = drainTake(emitter, stream, store, store->header, StoreSlot(store->header, block), FALSE);

  stream->refused = result == SelfDrainREFUSED && store != &emitter->shared;
  return result == SelfDrainSENT;
}

void SelfDrainBeside(Emitter emitter, BlockHeader block, Size used)
{
  BlockTallyStruct tally = {.used = used, .count = SendCountUNKNOWN, .last = block->first};
  Size size = StoreSize(block);
  char *copy;

  if (!drainWhole(block, size)) {
    (void)__atomic_fetch_add(&emitter->lost, BlockSpoiled(block, size), __ATOMIC_RELAXED);
    return;
  }
  if (SendBlock(emitter, block, &tally, SendBESIDE) != ResFAIL)
    return;
  /* A signal handler has interrupted an event in it: the collector waits for that, and we cannot. */
  copy = RawMap(BlockMAX, BlockMIN);
  if (copy == NULL)
    return;
  memcpy(copy, block, size);
  BlockWalk(&tally, copy + BlockHeaderSIZE, used, block->first, FALSE);
  (void)__atomic_fetch_add(&emitter->lost, tally.pending > 0 ? tally.pending : 1, __ATOMIC_RELAXED);
  BlockWalk(&tally, copy + BlockHeaderSIZE, size - BlockHeaderSIZE, block->first, TRUE);
  (void)SendBlock(emitter, (BlockHeader)(void *)copy, &tally, SendBESIDE);
  RawUnmap(copy, BlockMAX);
}

Bool SelfDrainPrivate(Emitter emitter, Bool refused)
{
  unsigned mask = refused ? RegionFULL | RegionTAKEN : RegionFULL;
  Store store;
  Index i, k;

  for (k = EmitterFound(emitter); (store = EmitterStore(emitter, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i)
      if ((drainState(store->header, i) & mask) == RegionFULL)
        return TRUE;
  return FALSE;
}

/* drainLeft -- the number for one block.  Discarded events that were reported, or will be, are not counted again.  The
 * block may be in use by now: nothing is written into it. */
static uint64_t drainLeft(Emitter emitter, Store store, Index slot)
{
  Size size = 0;
  BlockHeader block = (drainState(store->header, slot) & RegionFULL) != 0 ? drainAt(&size, store->header, slot) : NULL;
  BlockTallyStruct tally;
  uint64_t lost;

  if (!drainWhole(block, size))
    return block != NULL ? BlockSpoiled(block, size) : 0;
  lost = SentLost(emitter, block->stream, block->discarded);
  if (drainSnapped(block))
    return lost;
  BlockWalk(&tally, StreamEvents(block), size - BlockHeaderSIZE, block->first, FALSE);
  return lost + tally.count;
}

uint64_t SelfDrainLeft(Emitter emitter)
{
  Index private = EmitterFound(emitter);
  uint64_t left = 0;
  Store store;
  Index i, k;

  SentPrepare(emitter);
  for (k = 0; (store = EmitterStore(emitter, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i) {
      uint64_t its = drainLeft(emitter, store, i);
      left += k >= private ? its : 0; /* blocks in the region stay, and their headers count what was discarded */
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

Bool SelfDrainErase(Emitter emitter, uint32_t first, uint32_t count, BlockHeader except, Bool settle)
{
  Store store;
  Bool all = TRUE;
  Index i, k;

  for (k = 0; (store = EmitterStore(emitter, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i) {
      Size size;
      BlockHeader block = drainOwned(&size, store->header, i, first, count);
      BlockTallyStruct tally = {.pending = 0};
      if (block == NULL || block == except)
        continue;
      if (!settle)
        StreamTally(&tally, block, size, drainUsed(block), FALSE);
      if (tally.pending == 0)
        drainFree(store, store->header, block, size);
      else
        all = FALSE;
    }
  return all;
}

/* drainSnapshot -- send a snapshot of one block; returns how many events no way out took */
static uint64_t drainSnapshot(Emitter emitter, Store store, Index slot, char *copy, SelfDrainWhat what)
{
  unsigned beside = what != SelfDrainPRIVATE && EmitterCollected(emitter) ? SendBESIDE : 0;
  BlockHeader header = (BlockHeader)(void *)copy, block;
  RegionHeader region = store->header;
  BlockTallyStruct tally;
  unsigned tries;

  for (tries = 0; tries < drainTries; ++tries) {
    Size size;
    if ((drainState(region, slot) & RegionOPEN) == 0 || (block = drainAt(&size, region, slot)) == NULL)
      return 0;
    if (!BlockCopyLive(copy, block, size) || !drainWhole(header, size))
      continue;
    if ((header->flags & BlockFlagUNSENT) != 0 && what != SelfDrainUNSENT)
      return 0;
    BlockWalk(&tally, StreamEvents(header), size - BlockHeaderSIZE, header->first, TRUE);
    if (tally.used == 0)
      return 0;
    if (SendBlock(emitter, header, &tally, (header->flags & BlockFlagUNSENT) | BlockFlagSNAPSHOT | beside) != ResOK)
      return tally.count + (what == SelfDrainPRIVATE ? SentLost(emitter, header->stream, header->discarded) : 0);
    if (store != &emitter->shared && BlockSame(block, header))
      StreamHome(emitter, block, tally.count);
    return 0;
  }
  return 0;
}

uint64_t SelfDrainSnapshot(Emitter emitter, SelfDrainWhat what)
{
  Store store;
  char *copy = RawMap(BlockMAX, BlockMIN);
  uint64_t refused = 0;
  Index i, k;

  if (copy == NULL)
    return 0;
  for (k = what == SelfDrainPRIVATE && EmitterFound(emitter); (store = EmitterStore(emitter, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i)
      refused += drainSnapshot(emitter, store, i, copy, what);
  RawUnmap(copy, BlockMAX);
  return refused;
}
