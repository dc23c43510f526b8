/* blockruns.c -- the numbers of a stream's blocks that are there, and so which are missing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/blockruns.h"

#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"

/* blockRunsJoins -- does `b` follow `a` with nothing missing, as far as is known? */
static Bool blockRunsJoins(const BlockRunStruct *a, const BlockRunStruct *b, Bool loose)
{
  return a->to == b->from &&
         (loose || a->after == BlockBeforeUNKNOWN || b->before == BlockBeforeUNKNOWN || a->after >= b->before);
}

/* blockRunsJoin -- make run `i` and the one behind it one */
static void blockRunsJoin(BlockRuns runs, Index i)
{
  BlockRun run = &runs->run[i];

  AVER(i + 1 < runs->count);
  run->to = run[1].to;
  run->after = run[1].after;
  run->last = run[1].last;
  run->lastPlace = run[1].lastPlace;
  memmove(run + 1, run + 2, (runs->count - i - 2) * sizeof *run);
  --runs->count;
}

/* blockRunsRoom -- room for one more run; where there are too many, the oldest gap is summed up */
static Res blockRunsRoom(BlockRuns runs, Index *at)
{
  if (runs->count == BlockRunsMAX) {
    BlockRun run = runs->run;
    uint64_t lost;
    (void)BlockRunsLost(&lost, runs, &run[1]);
    runs->moreBlocks = CountAdd(runs->moreBlocks, run[1].from - run[0].to);
    runs->moreEvents = CountAdd(runs->moreEvents, lost);
    blockRunsJoin(runs, 0);
    *at -= *at > 0;
  }
  if (!Grow(&runs->run, &runs->capacity, runs->count, sizeof *runs->run))
    return ResMEMORY;
  return ResOK;
}

/* blockRunsAfter -- events of the stream up to the end of a block */
static uint64_t blockRunsAfter(uint64_t before, Count count)
{
  if (before == BlockBeforeUNKNOWN)
    return BlockBeforeUNKNOWN;
  return before + count; /* neither is greater than CountMAX */
}

/* blockRunsCopy -- a copy of a block in `run` says what the first one did not know, or did not have: if it is longer
 * than what stood at the end of the run, it may close the gap behind it */
static void blockRunsCopy(BlockRun run, const BlockRunStruct *block)
{
  if (run->from == block->from && run->before == BlockBeforeUNKNOWN)
    run->before = block->before;
  if (run->from == block->from)
    run->behind |= block->behind;
  if (run->to != block->to)
    return;
  if (run->after == BlockBeforeUNKNOWN)
    run->after = blockRunsAfter(block->before, block->last > run->last ? block->last : run->last);
  else if (block->last > run->last)
    run->after = blockRunsAfter(run->after, block->last - run->last);
  CountRaise(&run->last, block->last);
}

/* blockRunsBehind -- the run behind all that begin at or before `sequence` */
static Index blockRunsBehind(BlockRuns runs, uint64_t sequence)
{
  Index i = runs->count;

  while (i > 0 && runs->run[i - 1].from > sequence)
    --i;
  return i;
}

Res BlockRunsAdd(BlockRuns runs, uint64_t sequence, uint64_t before, Count count, uint64_t place, Bool loose,
                 Bool behind)
{
  BlockRunStruct block = {sequence, sequence + 1, before, blockRunsAfter(before, count), count, place, place, behind};
  Index i;
  Res res;

  AVER(sequence <= CountMAX && (before == BlockBeforeUNKNOWN || before <= CountMAX));
  i = blockRunsBehind(runs, sequence); /* where the block's run would be */
  if (i > 0 && runs->run[i - 1].to > sequence) {
    blockRunsCopy(&runs->run[i - 1], &block);
  } else if (i > 0 && blockRunsJoins(&runs->run[i - 1], &block, loose)) {
    runs->run[i - 1].to = block.to;
    runs->run[i - 1].after = block.after;
    runs->run[i - 1].last = count;
    runs->run[i - 1].lastPlace = place;
  } else {
    res = blockRunsRoom(runs, &i);
    if (res != ResOK)
      return res;
    memmove(runs->run + i + 1, runs->run + i, (runs->count - i) * sizeof block);
    runs->run[i++] = block;
    ++runs->count;
  }
  if (i < runs->count && blockRunsJoins(&runs->run[i - 1], &runs->run[i], loose))
    blockRunsJoin(runs, i - 1);
  return ResOK;
}

Bool BlockRunsHas(BlockRuns runs, uint64_t sequence)
{
  Index i = blockRunsBehind(runs, sequence);

  return i > 0 && runs->run[i - 1].to > sequence;
}

Bool BlockRunsEvents(BlockRuns runs)
{
  return runs->count > 0 && runs->run[runs->count - 1].after > 0;
}

uint64_t BlockRunsCount(BlockRuns runs)
{
  uint64_t events = 0;
  Index i;

  for (i = 0; i < runs->count; ++i) {
    const BlockRunStruct *run = &runs->run[i];
    events += run->before == BlockBeforeUNKNOWN || run->after == BlockBeforeUNKNOWN || run->after < run->before
                ? run->last + (run->to - run->from - 1) : run->after - run->before;
  }
  return events;
}

Bool BlockRunsLost(uint64_t *lostReturn, BlockRuns runs, const BlockRunStruct *next)
{
  const BlockRunStruct none = {.to = 0}, *previous = next > runs->run ? next - 1 : &none;

  if (previous->after == BlockBeforeUNKNOWN || next->before == BlockBeforeUNKNOWN) {
    *lostReturn = next->from - previous->to;
    return FALSE;
  }
  *lostReturn = next->before > previous->after ? next->before - previous->after : 0;
  return TRUE;
}

Bool BlockRunsMissing(uint64_t *lostReturn, Bool *exactReturn, BlockRuns runs, const BlockRunStruct *next, Bool loose)
{
  uint64_t blocks = BlockRunsBlocks(runs, next);

  *exactReturn = BlockRunsLost(lostReturn, runs, next);
  if (!loose)
    return blocks > 0 || *lostReturn > 0;
  /* Whether the others were overwritten is not known. */
  if (blocks > 1) {
    *lostReturn = 1;
    *exactReturn = FALSE;
  }
  return blocks > 0 && next->behind;
}

BlockRun BlockRunsBegins(BlockRuns runs, uint64_t sequence)
{
  Index i = blockRunsBehind(runs, sequence);

  return i > 0 && runs->run[i - 1].from == sequence ? &runs->run[i - 1] : NULL;
}

Bool BlockRunsCheck(BlockRuns runs)
{
  Bool sound = runs->count <= runs->capacity && runs->count <= BlockRunsMAX;
  Index i;

  for (i = 0; sound && i < runs->count; ++i) {
    const BlockRunStruct *run = &runs->run[i];
    sound = run->from < run->to && (i == 0 || (run[-1].to <= run->from && !blockRunsJoins(&run[-1], run, FALSE)));
  }
  return sound;
}

void BlockRunsFree(BlockRuns runs)
{
  free(runs->run);
}
