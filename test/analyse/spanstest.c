/* spanstest.c -- sets of addresses against an array of bits
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/spans.h"

#include <stdlib.h>

#include "tap.h"

enum { spansPAGES = 300, spansSETS = 3, spansROUNDS = 60000 };

static Bool oracle[spansSETS][spansPAGES];
static SpansStruct set[spansSETS];
static SpanPoolStruct pool;

static uint64_t spansBytes(const Bool *bits)
{
  uint64_t bytes = 0;
  Index i;

  for (i = 0; i < spansPAGES; ++i)
    bytes += bits[i];
  return bytes;
}

/* testRandom -- what is added and removed at random, over one another, in several sets; now and then a set
 * is cleared */
static void testRandom(uint64_t seed)
{
  Index i, which, wrong = 0, broken = 0;

  for (i = 0; i < spansROUNDS; ++i) {
    uint64_t r = TapRandom(&seed), from = (r >> 8) % spansPAGES;
    uint64_t length = (r >> 24) % (r % 8 == 0 ? spansPAGES : 12), to = from + length, p;
    Bool add = (r >> 40) % 16 < 9;
    which = (r >> 48) % spansSETS;
    if (to > spansPAGES)
      to = spansPAGES;
    if ((r >> 50) % 2000 == 0) {
      SpansClear(&pool, &set[which]);
      memset(oracle[which], 0, sizeof oracle[which]);
    }
    wrong += (add ? SpansAdd : SpansRemove)(&pool, &set[which], from, to) != ResOK;
    for (p = from; p < to; ++p)
      oracle[which][p] = add;
    wrong += set[which].bytes != spansBytes(oracle[which]);
    if (i % 64 == 0)
      for (which = 0; which < spansSETS; ++which)
        broken += !SpansCheck(&pool, &set[which]);
  }
  TapIs(wrong, 0, "as many bytes as bits are set");
  TapIs(broken, 0, "the spans are in order and do not touch");
  TapOk(pool.used <= spansSETS * spansPAGES, "nodes are used again");
}

/* testCheck -- each thing that is always true of a set, made untrue */
static void testCheck(void)
{
  SpansStruct spans = {0};
  Span root, child;
  Index i;

  for (i = 1; i <= 9; ++i)
    if (SpansAdd(&pool, &spans, i * 100, i * 100 + 10) != ResOK)
      abort();
  root = &pool.node[spans.root];
  child = &pool.node[root->left != 0 ? root->left : root->right];
  TapOk(SpansCheck(&pool, &spans), "a set of nine spans is as it should be");
  PLANT(spans.bytes, 91, SpansCheck(&pool, &spans), "a sum that is wrong");
  PLANT(root->to, root->from, SpansCheck(&pool, &spans), "a span that is empty");
  PLANT(root->to, root->from + 100, SpansCheck(&pool, &spans), "a span that touches the next");
  PLANT(child->from, root->from, SpansCheck(&pool, &spans), "spans that are out of order");
  PLANT(root->priority, child->priority - 1, SpansCheck(&pool, &spans), "a child with a higher priority");
  SpansClear(&pool, &spans);
}

static void testEnds(void)
{
  SpansStruct all = {0};

  TapOk(SpansAdd(&pool, &all, 0, UINT64_MAX) == ResOK && all.bytes == UINT64_MAX, "all there is");
  TapOk(SpansRemove(&pool, &all, 10, 10) == ResOK && SpansRemove(&pool, &all, 20, 10) == ResOK &&
            all.bytes == UINT64_MAX,
        "nothing is nothing");
  TapOk(SpansRemove(&pool, &all, 1, UINT64_MAX - 1) == ResOK && all.bytes == 2 && SpansCheck(&pool, &all), "a hole");
  SpansClear(&pool, &all);
  TapOk(all.bytes == 0 && all.root == 0, "and none");
}

/* testLimit -- a log may have as many mappings as it likes, in rising order, too */
static void testLimit(void)
{
  SpansStruct many = {0};
  uint64_t i;
  Res res = ResOK;

  for (i = 0; res == ResOK; ++i)
    res = SpansAdd(&pool, &many, 2 * i, 2 * i + 1);
  TapIs(res, ResLIMIT, "there is a bound");
  TapOk(i <= SpansNodesMAX && i > SpansNodesMAX / 2, "which is that of the nodes");
  TapOk(many.bytes == i - 1 && SpansCheck(&pool, &many), "what is there is whole");
  TapOk(SpansAdd(&pool, &many, 0, 4 * i) == ResLIMIT && many.bytes == i - 1 &&
        SpansCheck(&pool, &many), "nor does what finds none change anything");
  SpansClear(&pool, &many);
  TapOk(SpansAdd(&pool, &many, 5, 6) == ResOK && many.bytes == 1, "what is cleared can be used again");
  SpansClear(&pool, &many);
}

int main(void)
{
  uint64_t seed = TapSeed();
  Index i;

  SpanPoolInit(&pool);
  testRandom(seed);
  for (i = 0; i < spansSETS; ++i)
    SpansClear(&pool, &set[i]);
  testCheck();
  testEnds();
  testLimit();
  SpanPoolFinish(&pool);
  return TapDone();
}
