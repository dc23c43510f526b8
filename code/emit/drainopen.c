/* drainopen.c -- blocks that are not full: those of the flight recorder that are done with, and what others are filling
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "emit/drain.h"
#include "emit/drainslot.h"
#include "emit/send.h"
#include "emit/sent.h"
#include "emit/stream.h"
#include "plinth/quiet.h"

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

Bool DrainOverwrite(Process process, uint32_t number, BlockHeader except)
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

void DrainForget(Process process, uint32_t serial)
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
static uint64_t drainSnapshot(Process process, Store store, Index slot, char *copy, DrainWhat what)
{
  unsigned beside = what != DrainPRIVATE && ProcessCollected(process) ? SendBESIDE : 0;
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
    if ((header->flags & BlockFlagUNSENT) != 0 && what != DrainUNSENT)
      return 0;
    BlockWalk(&tally, StreamEvents(header), size - BlockHeaderSIZE, header->first, TRUE);
    if (tally.used == 0)
      return 0;
    if (SendBlock(process, header, &tally, (header->flags & BlockFlagUNSENT) | BlockFlagSNAPSHOT | beside) != ResOK)
      return tally.count + (what == DrainPRIVATE ? SentLost(process, header->stream, header->discarded) : 0);
    if (store != &process->shared && BlockSame(block, header))
      StreamHome(process, block, tally.count);
    return 0;
  }
  return 0;
}

uint64_t DrainSnapshot(Process process, DrainWhat what)
{
  Store store;
  char *copy = QuietMap(BlockMAX, BlockMIN);
  uint64_t refused = 0;
  Index i, k;

  if (copy == NULL)
    return 0;
  for (k = what == DrainPRIVATE && ProcessFound(process); (store = ProcessStore(process, k)) != NULL; ++k)
    for (i = 0; StoreRegion(store) != NULL && i < StoreLimit(store); ++i)
      refused += drainSnapshot(process, store, i, copy, what);
  QuietUnmap(copy, BlockMAX);
  return refused;
}
