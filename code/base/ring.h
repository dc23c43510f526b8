/* ring.h -- doubly linked rings whose links are inside what they link
 *
 * Always true: each node's neighbours point back at it; a node alone points at itself.
 *
 * Tests: test/mm/arenatest.c
 */
#ifndef BASE_RING_H
#define BASE_RING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct RingStruct {
  struct RingStruct *next, *prev;
} RingStruct, *Ring;

#define RingINITIALIZER(ring) { &(ring), &(ring) }

/* RING_ELT -- the structure of type `type` whose member `field` is `node` */
#define RING_ELT(type, field, node) ((type *)(void *)((char *)(node) - offsetof(type, field)))

/* RING_FOR -- visit each node; the current one may be removed meanwhile */
#define RING_FOR(node, ring, after) \
  for ((node) = (ring)->next; (after) = (node)->next, (node) != (ring); (node) = (after))

static inline void RingInit(Ring ring) { ring->next = ring->prev = ring; }
static inline Bool RingIsSingle(const RingStruct *ring) { return ring->next == ring; }

/* RingInsertAfter, RingInsertBefore -- `node` becomes `ring`'s first, last */
static inline void RingInsertAfter(Ring ring, Ring node)
{
  node->next = ring->next;
  node->prev = ring;
  ring->next->prev = node;
  ring->next = node;
}

static inline void RingInsertBefore(Ring ring, Ring node) { RingInsertAfter(ring->prev, node); }

/* RingRemove -- `node` is alone again */
static inline void RingRemove(Ring node)
{
  node->prev->next = node->next;
  node->next->prev = node->prev;
  RingInit(node);
}

/* RingAppend -- the nodes of ring `other` are the last ones of `ring`, in their order, and `other` has none */
static inline void RingAppend(Ring ring, Ring other)
{
  if (RingIsSingle(other))
    return;
  other->next->prev = ring->prev;
  ring->prev->next = other->next;
  other->prev->next = ring;
  ring->prev = other->prev;
  RingInit(other);
}

static inline Bool RingCheck(const RingStruct *ring) { return ring->next->prev == ring && ring->prev->next == ring; }

#endif /* BASE_RING_H */
