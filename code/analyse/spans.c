/* spans.c -- interval sets of addresses: what a process has mapped
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/spans.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/aver.h"
#include "base/grow.h"

void SpanPoolInit(SpanPool pool)
{
  *pool = (SpanPoolStruct){.used = 1};
  /* Priorities that a log cannot know: no order of its mappings makes a tree deep. */
  if (getrandom(&pool->random, sizeof pool->random, GRND_NONBLOCK) != sizeof pool->random)
    pool->random = (uint64_t)(uintptr_t)pool;
  pool->random |= 1;
}

void SpanPoolFinish(SpanPool pool)
{
  free(pool->node);
}

/* spanReserve -- make sure of `n` free nodes */
static Res spanReserve(SpanPool pool, Count n)
{
  uint32_t node;

  for (node = pool->free; node != 0 && n > 0; node = pool->node[node].right)
    --n;
  for (; n > 0; --n) {
    if (pool->used == SpansNodesMAX)
      return ResLIMIT;
    if (!Grow(&pool->node, &pool->capacity, pool->used, sizeof *pool->node))
      return ResMEMORY;
    node = (uint32_t)pool->used++;
    pool->node[node].right = pool->free;
    pool->free = node;
  }
  return ResOK;
}

/* spanNew -- a tree of one span; spanReserve has made sure of its node */
static uint32_t spanNew(SpanPool pool, uint64_t from, uint64_t to)
{
  uint32_t node = pool->free;

  AVER(node != 0);
  pool->free = pool->node[node].right;
  pool->random ^= pool->random << 13;
  pool->random ^= pool->random >> 7;
  pool->random ^= pool->random << 17;
  pool->node[node] = (SpanStruct){.from = from, .to = to, .priority = (uint32_t)(pool->random >> 32)};
  return node;
}

/* spanSplit -- those that begin before `key`, and the others */
static void spanSplit(SpanPool pool, uint32_t tree, uint64_t key, uint32_t *before, uint32_t *behind)
{
  while (tree != 0) {
    Span node = &pool->node[tree];
    if (node->from < key) {
      *before = tree;
      before = &node->right;
      tree = node->right;
    } else {
      *behind = tree;
      behind = &node->left;
      tree = node->left;
    }
  }
  *before = *behind = 0;
}

/* spanJoin -- one tree of two, of which the first lies before the second */
static uint32_t spanJoin(SpanPool pool, uint32_t a, uint32_t b)
{
  uint32_t root, *link = &root;

  while (a != 0 && b != 0) {
    if (pool->node[a].priority >= pool->node[b].priority) {
      *link = a;
      link = &pool->node[a].right;
      a = *link;
    } else {
      *link = b;
      link = &pool->node[b].left;
      b = *link;
    }
  }
  *link = a != 0 ? a : b;
  return root;
}

/* spanEdge -- the last span of a tree, or the first; NULL: there is none */
static Span spanEdge(SpanPool pool, uint32_t tree, Bool last)
{
  uint32_t edge = 0;

  for (; tree != 0; tree = last ? pool->node[tree].right : pool->node[tree].left)
    edge = tree;
  return edge == 0 ? NULL : &pool->node[edge];
}

/* spanFree -- free a tree's nodes; returns the bytes that it had */
static uint64_t spanFree(SpanPool pool, uint32_t tree)
{
  uint64_t bytes = 0;

  while (tree != 0) {
    Span node = &pool->node[tree];
    uint32_t right = node->right;
    if (node->left != 0) { /* turn until there is no left one: no stack is needed */
      uint32_t left = node->left;
      node->left = pool->node[left].right;
      pool->node[left].right = tree;
      tree = left;
      continue;
    }
    bytes += node->to - node->from;
    node->right = pool->free;
    pool->free = tree;
    tree = right;
  }
  return bytes;
}

/* spanCarve -- take away what is between, from sets that remain as those before and those behind; a node is reserved */
static void spanCarve(SpanPool pool, Spans spans, uint64_t from, uint64_t to, uint32_t *before, uint32_t *behind)
{
  uint64_t end = 0; /* of what reaches beyond `to` */
  uint32_t between;
  Span last;

  spanSplit(pool, spans->root, from, before, &between);
  spanSplit(pool, between, to, &between, behind);
  last = spanEdge(pool, *before, TRUE);
  if (last != NULL && last->to > from) {
    spans->bytes -= last->to - from;
    end = last->to;
    last->to = from;
  }
  last = spanEdge(pool, between, TRUE);
  if (last != NULL)
    end = last->to;
  spans->bytes -= spanFree(pool, between);
  if (end > to) {
    spans->bytes += end - to;
    *behind = spanJoin(pool, spanNew(pool, to, end), *behind);
  }
}

Res SpansRemove(SpanPool pool, Spans spans, uint64_t from, uint64_t to)
{
  uint32_t before, behind;
  Res res = from < to ? spanReserve(pool, 1) : ResOK;

  AVER(spans->root < pool->used);
  if (from >= to || res != ResOK)
    return res;
  spanCarve(pool, spans, from, to, &before, &behind);
  spans->root = spanJoin(pool, before, behind);
  return ResOK;
}

Res SpansAdd(SpanPool pool, Spans spans, uint64_t from, uint64_t to)
{
  uint32_t before, behind, touching = 0;
  Res res = from < to ? spanReserve(pool, 2) : ResOK;
  Span last, first;

  AVER(spans->root < pool->used);
  if (from >= to || res != ResOK)
    return res;
  spanCarve(pool, spans, from, to, &before, &behind);
  last = spanEdge(pool, before, TRUE);
  first = spanEdge(pool, behind, FALSE);
  spans->bytes += to - from;
  if (first != NULL && first->from == to) {
    to = first->to;
    spanSplit(pool, behind, first->from + 1, &touching, &behind);
    (void)spanFree(pool, touching);
  }
  if (last != NULL && last->to == from)
    last->to = to;
  else
    before = spanJoin(pool, before, spanNew(pool, from, to));
  spans->root = spanJoin(pool, before, behind);
  return ResOK;
}

void SpansClear(SpanPool pool, Spans spans)
{
  AVER_CRITICAL(SpansCheck(pool, spans));
  (void)spanFree(pool, spans->root);
  *spans = (SpansStruct){0};
}

/* spanFrom -- the first span of a tree that begins at `key` or behind it; NULL: there is none */
static const SpanStruct *spanFrom(const SpanPoolStruct *pool, uint32_t tree, uint64_t key)
{
  const SpanStruct *found = NULL;

  while (tree != 0) {
    const SpanStruct *node = &pool->node[tree];
    found = node->from >= key ? node : found;
    tree = node->from >= key ? node->left : node->right;
  }
  return found;
}

Bool SpansCheck(const SpanPoolStruct *pool, const SpansStruct *spans)
{
  const SpanStruct *span = spanFrom(pool, spans->root, 0);
  uint64_t end = 0, bytes = 0;
  Bool first = TRUE;

  for (; span != NULL; span = spanFrom(pool, spans->root, span->from + 1)) {
    if (span->from >= span->to || (!first && span->from <= end) ||
        (span->left != 0 && pool->node[span->left].priority > span->priority) ||
        (span->right != 0 && pool->node[span->right].priority > span->priority))
      return FALSE;
    first = FALSE;
    end = span->to;
    bytes += span->to - span->from;
  }
  return bytes == spans->bytes;
}
