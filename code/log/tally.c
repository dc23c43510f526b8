/* tally.c -- the numbers of a stream's blocks that are there, and so which are missing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"

/* tallyJoins -- does `b` follow `a` with nothing missing, as far as is known? */
static Bool tallyJoins(const TallyRunStruct *a, const TallyRunStruct *b, Bool loose)
{
  return a->to == b->from &&
         (loose || a->after == TallyUNKNOWN || b->before == TallyUNKNOWN || a->after >= b->before);
}

/* tallyJoin -- make run `i` and the one behind it one */
static void tallyJoin(Tally tally, Index i)
{
  TallyRun run = &tally->run[i];

  run->to = run[1].to;
  run->after = run[1].after;
  run->last = run[1].last;
  run->lastPlace = run[1].lastPlace;
  memmove(run + 1, run + 2, (tally->runs - i - 2) * sizeof *run);
  --tally->runs;
}

/* tallyRoom -- room for one more run; where there are too many, the oldest gap is summed up */
static Res tallyRoom(Tally tally, Index *at)
{
  if (tally->runs == TallyRunsMAX) {
    TallyRun run = tally->run;
    uint64_t lost;
    (void)TallyLost(&lost, &run[0], &run[1]);
    tally->moreBlocks = CountAdd(tally->moreBlocks, run[1].from - run[0].to);
    tally->moreEvents = CountAdd(tally->moreEvents, lost);
    tallyJoin(tally, 0);
    *at -= *at > 0;
  }
  if (!Grow(&tally->run, &tally->capacity, tally->runs, sizeof *tally->run))
    return ResMEMORY;
  return ResOK;
}

/* tallyAfter -- events of the stream up to the end of a block */
static uint64_t tallyAfter(uint64_t before, Count count)
{
  if (before == TallyUNKNOWN)
    return TallyUNKNOWN;
  return before + count; /* neither is greater than CountMAX */
}

/* tallyCopy -- a copy of a block in `run` says what the first one did not know, or did not have: if it is longer than
 * what stood at the end of the run, it may close the gap behind it */
static void tallyCopy(TallyRun run, const TallyRunStruct *block)
{
  if (run->from == block->from && run->before == TallyUNKNOWN)
    run->before = block->before;
  if (run->from == block->from)
    run->behind |= block->behind;
  if (run->to != block->to)
    return;
  if (run->after == TallyUNKNOWN)
    run->after = tallyAfter(block->before, block->last > run->last ? block->last : run->last);
  else if (block->last > run->last)
    run->after = tallyAfter(run->after, block->last - run->last);
  if (block->last > run->last)
    run->last = block->last;
}

/* tallyBehind -- the run behind all that begin at or before `sequence` */
static Index tallyBehind(Tally tally, uint64_t sequence)
{
  Index i = tally->runs;

  while (i > 0 && tally->run[i - 1].from > sequence)
    --i;
  return i;
}

Res TallyAdd(Tally tally, uint64_t sequence, uint64_t before, Count count, uint64_t place, Bool loose, Bool behind)
{
  TallyRunStruct block = {sequence, sequence + 1, before, tallyAfter(before, count), count, place, place, behind};
  Index i;
  Res res;

  i = tallyBehind(tally, sequence); /* where the block's run would be */
  if (i > 0 && tally->run[i - 1].to > sequence) {
    tallyCopy(&tally->run[i - 1], &block);
  } else if (i > 0 && tallyJoins(&tally->run[i - 1], &block, loose)) {
    tally->run[i - 1].to = block.to;
    tally->run[i - 1].after = block.after;
    tally->run[i - 1].last = count;
    tally->run[i - 1].lastPlace = place;
  } else {
    res = tallyRoom(tally, &i);
    if (res != ResOK)
      return res;
    memmove(tally->run + i + 1, tally->run + i, (tally->runs - i) * sizeof block);
    tally->run[i++] = block;
    ++tally->runs;
  }
  if (i < tally->runs && tallyJoins(&tally->run[i - 1], &tally->run[i], loose))
    tallyJoin(tally, i - 1);
  return ResOK;
}

Bool TallyHas(Tally tally, uint64_t sequence)
{
  Index i = tallyBehind(tally, sequence);

  return i > 0 && tally->run[i - 1].to > sequence;
}

Bool TallyEvents(Tally tally)
{
  return tally->runs > 0 && tally->run[tally->runs - 1].after > 0;
}

uint64_t TallyCount(Tally tally)
{
  uint64_t events = 0;
  Index i;

  for (i = 0; i < tally->runs; ++i) {
    const TallyRunStruct *run = &tally->run[i];
    events += run->before == TallyUNKNOWN || run->after == TallyUNKNOWN || run->after < run->before
                ? run->last + (run->to - run->from - 1) : run->after - run->before;
  }
  return events;
}

Bool TallyLost(uint64_t *lostReturn, const TallyRunStruct *previous, const TallyRunStruct *next)
{
  uint64_t after = previous != NULL ? previous->after : 0, to = previous != NULL ? previous->to : 0;

  if (after == TallyUNKNOWN || next->before == TallyUNKNOWN) {
    *lostReturn = next->from - to;
    return FALSE;
  }
  *lostReturn = next->before > after ? next->before - after : 0;
  return TRUE;
}

Bool TallyMissing(uint64_t *lostReturn, Bool *exactReturn, const TallyRunStruct *previous, const TallyRunStruct *next,
                  Bool loose)
{
  uint64_t blocks = next->from - (previous != NULL ? previous->to : 0);

  *exactReturn = TallyLost(lostReturn, previous, next);
  if (!loose)
    return blocks > 0 || *lostReturn > 0;
  /* Of the others nobody knows whether they were overwritten. */
  if (blocks > 1) {
    *lostReturn = 1;
    *exactReturn = FALSE;
  }
  return blocks > 0 && next->behind;
}

Bool TallyBehind(uint64_t *lostReturn, Bool *exactReturn, Tally tally, uint64_t sequence, Bool loose)
{
  Index i = tallyBehind(tally, sequence);

  if (i < 2 || tally->run[i - 1].from != sequence)
    return FALSE;
  return TallyMissing(lostReturn, exactReturn, &tally->run[i - 2], &tally->run[i - 1], loose);
}

Bool TallyCheck(Tally tally)
{
  Index i;

  AVER(tally->runs <= tally->capacity && tally->runs <= TallyRunsMAX);
  for (i = 0; i < tally->runs; ++i) {
    AVER(tally->run[i].from < tally->run[i].to);
    AVER(i == 0 || tally->run[i - 1].to <= tally->run[i].from);
  }
  return TRUE;
}

void TallyFree(Tally tally)
{
  free(tally->run);
}
