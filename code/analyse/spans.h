/* spans.h -- interval sets of addresses: what a process has mapped
 *
 * A mapping may replace parts of others, and be unmapped in parts.  A set is a treap of spans (intervals); all sets of
 * a pool share its nodes, whose number is bounded, so that no log can make a reader need more.
 *
 * Always true (SpansCheck):
 *   the spans of a set are in order, none is empty, and no two touch
 *   bytes is the sum of their lengths
 *   no node has a lower priority than its children
 *
 * Design: design/view.md .mapped      Tests: test/analyse/spanstest.c
 */
#ifndef ANALYSE_SPANS_H
#define ANALYSE_SPANS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { SpansNodesMAX = 1 << 20 };

typedef struct SpanStruct {
  uint64_t from, to;       /* to exclusive */
  uint32_t left, right;    /* nodes, or 0; `right` of a free node is the next free one */
  uint32_t priority;       /* not below its children's */
} SpanStruct, *Span;

typedef struct SpanPoolStruct {
  Span node;               /* owned; the first is none */
  Count used, capacity;    /* nodes that were ever used; places */
  uint32_t free;           /* the first free one, or 0 */
  uint64_t random;
} SpanPoolStruct, *SpanPool;

typedef struct SpansStruct {
  uint32_t root;
  uint64_t bytes;
} SpansStruct, *Spans;

extern void SpanPoolInit(SpanPool pool);
extern void SpanPoolFinish(SpanPool pool);

/* SpansAdd, SpansRemove -- all addresses from `from` to `to` are in the set, or none is; nothing if from >= to
 * ResMEMORY, ResLIMIT: no node for one span more; the set is as it was.  Time goes by the logarithm of the spans, and
 * by how many are taken away, each of which was added before. */
extern Res SpansAdd(SpanPool pool, Spans spans, uint64_t from, uint64_t to);
extern Res SpansRemove(SpanPool pool, Spans spans, uint64_t from, uint64_t to);

/* SpansClear -- the set is empty, and its nodes are free */
extern void SpansClear(SpanPool pool, Spans spans);

extern Bool SpansCheck(const SpanPoolStruct *pool, const SpansStruct *spans);

#endif /* ANALYSE_SPANS_H */
