/* limittest.c -- an arena keeps to its limits, and says what it has
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/arena.h"
#include "mm/pool.h"
#include "mm/seg.h"
#include "tap.h"

#define GRAIN ArenaGrainSIZE

static Arena arena;
static Pool pool;

static void begin(void)
{
  if (ArenaCreate(&arena, 1) != ResOK || PoolCreate(&pool, arena, "MFS", NULL, 0) != ResOK)
    abort();
}

static void end(void)
{
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static Seg take(Count grains)
{
  Seg seg = NULL;

  return SegAlloc(&seg, NULL, pool, grains * GRAIN, 1) == ResOK ? seg : NULL;
}

static ArenaStatsStruct stats(void)
{
  ArenaStatsStruct got;

  ArenaStatsGet(&got, arena);
  return got;
}

static void testCommit(void)
{
  Seg a, b, c;
  Size header;

  begin();
  header = stats().committed;
  a = take(10);
  TapIs(ArenaCommitLimitSet(arena, header + 9 * GRAIN), ResLIMIT, "a limit below what is in use is refused");
  TapIs(stats().commitLimit, SIZE_MAX, "and there is none");
  TapIs(ArenaCommitLimitSet(arena, header + 30 * GRAIN), ResOK, "a limit is set");
  b = take(20);
  TapOk(b != NULL && take(1) == NULL, "up to it there is memory, and beyond there is none");
  TapOk(ArenaCheck(arena), "the arena is sound");
  SegFree(b);
  TapIs(stats().spare, 20 * GRAIN, "what is freed is spare");
  b = take(20);
  TapOk(b != NULL && stats().spare == 0, "and is used again under the limit");
  SegFree(a);
  c = take(10);
  TapOk(c != NULL && take(1) == NULL, "as is what another one had");
  SegFree(b);
  a = take(300);
  TapOk(a == NULL && ArenaCheck(arena), "a segment with a chunk of its own is refused, too");
  TapIs(ArenaCommitLimitSet(arena, header + 11 * GRAIN), ResOK, "a limit below what is spare gives that back");
  TapIs(stats().committed, header + 11 * GRAIN, "so far as it must");
  TapOk(take(1) != NULL && take(1) == NULL, "and holds");
  TapIs(ArenaCommitLimitSet(arena, SIZE_MAX), ResOK, "the limit is lifted");
  b = take(300);
  TapOk(b != NULL, "then there is memory again");
  TapIs(ArenaCommitLimitSet(arena, stats().committed + 5 * GRAIN), ResOK, "with a limit above it");
  TapOk(SegResize(&b, 310 * GRAIN) != ResOK && SegSize(b) == 300 * GRAIN, "it does not grow beyond that");
  TapIs(SegResize(&b, 304 * GRAIN), ResOK, "but up to it");
  TapOk(SegResize(&b, 4000 * GRAIN) != ResOK && SegSize(b) == 304 * GRAIN, "nor does it move");
  TapOk(ArenaCheck(arena), "the arena is sound");
  end();
}

/* testSpread -- spare memory in pieces is given back where the whole would not fit under the limit */
static void testSpread(void)
{
  enum { N = 40 };
  Seg seg[N];
  Size header;
  unsigned i;

  begin();
  header = stats().committed;
  for (i = 0; i < N; ++i)
    seg[i] = take(1);
  for (i = 0; i < N; i += 2)
    SegFree(seg[i]);
  TapIs(ArenaCommitLimitSet(arena, header + N * GRAIN), ResOK, "half of the grains under a limit are spare, in pieces");
  TapOk(take(N / 2) != NULL, "a segment as large as all of them is had");
  TapOk(stats().committed <= header + N * GRAIN && ArenaCheck(arena), "under the limit");
  TapOk(take(1) == NULL, "and no more");
  end();
}

static void testSpare(void)
{
  Seg seg[64];
  ArenaStatsStruct got;
  unsigned i;

  begin();
  ArenaSpareLimitSet(arena, 40 * GRAIN);
  for (i = 0; i < 64; ++i)
    seg[i] = take(1);
  for (i = 0; i < 41; ++i)
    SegFree(seg[i]);
  TapIs(stats().spare, 30 * GRAIN, "where spare memory passes its limit a quarter of it goes, not all");
  for (; i < 64; ++i)
    SegFree(seg[i]);
  ArenaSpareLimitSet(arena, 10 * GRAIN);
  got = stats();
  TapOk(got.spare <= 10 * GRAIN && got.spareLimit == 10 * GRAIN, "a lower limit counts at once");
  ArenaSpareLimitSet(arena, 0);
  TapIs(stats().spare, 0, "with none all goes back");
  TapOk(ArenaCheck(arena), "the arena is sound");
  end();
}

static void testStats(void)
{
  ArenaStatsStruct before, got;
  Seg seg, huge;

  begin();
  before = stats();
  TapOk(before.chunks == 1 && before.hugeChunks == 0 && before.reserved == ChunkSIZE && before.spare == 0,
        "a new arena has one chunk, and nothing spare");
  seg = take(3);
  huge = take(500);
  got = stats();
  TapIs(got.chunks, 2, "a large segment is a chunk of its own,");
  TapIs(got.hugeChunks, 1, "and counted as such");
  TapOk(got.committed >= before.committed + 503 * GRAIN && got.reserved > before.reserved, "what is committed grows");
  SegFree(huge);
  SegFree(seg);
  got = stats();
  TapOk(got.spare == 504 * GRAIN && got.committed >= before.committed + 504 * GRAIN && got.hugeChunks == 1,
        "what is freed is spare, and its chunk kept");
  ArenaSpareLimitSet(arena, 3 * GRAIN);
  got = stats();
  TapOk(got.reserved == before.reserved && got.spare == 3 * GRAIN && got.committed == before.committed + 3 * GRAIN,
        "until that is too much");
  while (stats().chunks < 3)
    if (take(ChunkRunMAX) == NULL)
      abort();
  TapOk(ArenaCheck(arena), "an arena has as many chunks as it needs");
  end();
}

int main(void)
{
  testCommit();
  testSpread();
  testSpare();
  testStats();
  return TapDone();
}
