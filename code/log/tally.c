/* tally.c -- which blocks of a stream there are
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"

/* tallyJoins -- does `b` follow `a` with nothing missing? */
static Bool tallyJoins(const TallyRunStruct *a, const TallyRunStruct *b, Bool loose)
{
  return a->to == b->from && (loose || a->after >= b->before);
}

/* tallyJoin -- make run `i` and the one behind it one */
static void tallyJoin(Tally tally, Index i)
{
  TallyRun run = &tally->run[i];

  run->to = run[1].to;
  run->after = run[1].after;
  run->lastPlace = run[1].lastPlace;
  memmove(run + 1, run + 2, (tally->runs - i - 2) * sizeof *run);
  --tally->runs;
}

/* tallyRoom -- room for one more run; where there are too many, the oldest gap is summed up */
static Res tallyRoom(Tally tally, Index *at)
{
  if (tally->runs == TallyRunsMAX) {
    TallyRun run = tally->run;
    tally->moreBlocks += run[1].from - run[0].to;
    tally->moreEvents += run[1].before > run[0].after ? run[1].before - run[0].after : 0;
    tallyJoin(tally, 0);
    *at -= *at > 0;
  }
  if (tally->runs == tally->capacity) {
    Count capacity = tally->capacity == 0 ? 1 : tally->capacity * 2;
    TallyRun more = realloc(tally->run, capacity * sizeof *more);
    if (more == NULL)
      return ResMEMORY;
    tally->run = more;
    tally->capacity = capacity;
  }
  return ResOK;
}

Res TallyAdd(Tally tally, uint64_t sequence, uint64_t before, Count count, uint64_t place, Bool loose)
{
  TallyRunStruct block = {sequence, sequence + 1, before, before + count, place, place};
  Index i = tally->runs; /* where the block's run would be */
  Res res;

  if (sequence == UINT64_MAX)
    return ResOK; /* no writer counts that far, and neither can we */
  while (i > 0 && tally->run[i - 1].from > sequence)
    --i;
  if (i > 0 && tally->run[i - 1].to > sequence) {
    /* A copy.  One that is longer than what stood at the end of the run may close the gap behind it. */
    if (tally->run[i - 1].to == sequence + 1 && block.after > tally->run[i - 1].after)
      tally->run[i - 1].after = block.after;
  } else if (i > 0 && tallyJoins(&tally->run[i - 1], &block, loose)) {
    tally->run[i - 1].to = block.to;
    tally->run[i - 1].after = block.after;
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
