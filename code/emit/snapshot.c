/* snapshot.c -- what a running thread has committed, sent without its help
 *
 * The thread goes on meanwhile, and may fill, send or overwrite the block that is being copied; so a copy counts only
 * if the block is still the same afterwards.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "emit/buffer.h"
#include "emit/process.h"
#include "emit/send.h"
#include "plinth/quiet.h"

enum { snapshotTries = 4 }; /* to copy a block that its owner keeps changing */

/* snapshotSame -- is the block, which may be in use, still the one whose header that is? */
__attribute__((no_sanitize("thread"))) static Bool snapshotSame(BlockHeader block, BlockHeader header)
{
  const volatile BlockHeaderStruct *now = block;
  const volatile uint64_t *magic = (const volatile uint64_t *)(const void *)block->magic;
  uint64_t its;

  memcpy(&its, header->magic, sizeof its);
  return *magic == its && now->sequence == header->sequence && now->first == header->first;
}

/* snapshotCopy -- a block that may be in use, as it is now.  FALSE: its owner changed it meanwhile. */
__attribute__((no_sanitize("thread"))) static Bool snapshotCopy(char *copy, BlockHeader block, Size size)
{
  const volatile uint64_t *from = (const volatile uint64_t *)(const void *)block;
  BlockHeader header = (BlockHeader)(void *)copy;
  uint64_t *to = (uint64_t *)(void *)copy;
  Index i;

  for (i = 0; i < size / sizeof *to; ++i)
    to[i] = from[i];
  Fence();
  return memcmp(copy, BlockMAGIC, BlockMagicSIZE) == 0 && header->whole == size && snapshotSame(block, header);
}

/* snapshotBlock -- send one of a stream's blocks as it is now, and leave it */
__attribute__((no_sanitize("thread"))) static void snapshotBlock(Process process, Stream stream, BlockHeader *place,
                                                                  char *copy, unsigned flags)
{
  BlockHeader header = (BlockHeader)(void *)copy;
  BlockTallyStruct tally;
  unsigned tries;

  for (tries = 0; tries < snapshotTries; ++tries) {
    BlockHeader block = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    Size size;
    if (block == NULL)
      return;
    size = block->whole; /* which is one, as long as it is a block */
    if (size < BlockMIN || size > BlockMAX || (((Word)block + size) & (EventBlockBIT * 2 - 1)) != 0 ||
        !snapshotCopy(copy, block, size))
      continue;
    /* First this, then once more a look: if the owner has changed the block in between it may have missed it. */
    __atomic_store_n(&stream->snapped, header->sequence + 1, __ATOMIC_SEQ_CST);
    if (!snapshotSame(block, header))
      continue;
    BlockWalk(&tally, StreamEvents(header), size - BlockHeaderSIZE, header->first, TRUE);
    if (tally.used > 0)
      (void)SendBlock(process, header, &tally, flags | BlockFlagSNAPSHOT);
    return;
  }
}

void ThreadSnapshot(Thread thread, Bool unsent)
{
  Process process = ProcessGet();
  char *copy = QuietMap(BlockMAX, BlockMIN);
  unsigned kind, which;
  Index i;

  if (copy == NULL)
    return;
  for (kind = 0; process != NULL && kind < EventStreamsLIMIT; ++kind)
    for (which = 0; which <= (unsent != FALSE); ++which) {
      Stream stream = &thread->stream[kind][which];
      unsigned flags = which ? BlockFlagUNSENT : 0;
      for (i = 0; i < StreamParkedMAX; ++i)
        snapshotBlock(process, stream, &stream->parked[i].block, copy, flags);
      snapshotBlock(process, stream, &stream->block, copy, flags);
    }
  QuietUnmap(copy, BlockMAX);
}
