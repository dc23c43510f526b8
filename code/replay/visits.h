/* visits.h -- what a program does with its objects between two operations on them, as far as it matters to the cache
 *
 * After each operation of the one thread one of the newest objects is read.
 *
 * Design: design/replayer.md .predict.visits      Tests: test/replay/replay.t
 */
#ifndef REPLAY_VISITS_H
#define REPLAY_VISITS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum {
  VisitsLINE = 64,
  VisitsREAD = 256,       /* bytes of an object that are read */
  VisitsRECENT = 1 << 20  /* objects that may be visited: the newest */
};

typedef struct VisitsStruct {
  Bool on;
  uint32_t *sizes;  /* by slot: the object's, UINT32_MAX for that and more */
  uint32_t *recent; /* the slots of the newest objects, a ring of VisitsRECENT */
  uint64_t made;    /* objects that were put there */
  uint64_t random;  /* the state of visitsRandom; not 0 */
} VisitsStruct, *Visits;

/* VisitsRead -- read a word of each cache line of an object's first VisitsREAD bytes */
static inline void VisitsRead(const void *addr, uint32_t size)
{
  const volatile uint64_t *p = addr;
  Size end = size < VisitsREAD ? size : VisitsREAD, at;

  for (at = 0; at + sizeof *p <= end; at += VisitsLINE)
    (void)p[at / sizeof *p];
}

/* visitsRandom -- 64 random bits: xorshift, which is quick and has no multiplication */
static inline uint64_t visitsRandom(Visits visits)
{
  uint64_t x = visits->random;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return visits->random = x;
}

/* VisitsVisit -- read one of the newest objects: its distance, in order of allocation, is below 2, 4, 8 ... with the
 * same probability for each
 * slots   addresses by slot; NULL or `absent`: there is no object */
static inline void VisitsVisit(Visits visits, void *const *slots, const void *absent)
{
  uint64_t random = visitsRandom(visits), known = visits->made < VisitsRECENT ? visits->made : VisitsRECENT;
  unsigned powers = 64 - (unsigned)__builtin_clzll(known | 1); /* 2^powers > known */
  unsigned power = (unsigned)(((random & UINT32_MAX) * (powers + 1)) >> 32);
  uint64_t distance = (random >> 32) & (((uint64_t)1 << power) - 1);
  uint32_t slot;

  if (distance >= known)
    return;
  slot = visits->recent[(visits->made - 1 - distance) % VisitsRECENT];
  if (slots[slot] != NULL && slots[slot] != absent)
    VisitsRead(slots[slot], visits->sizes[slot]);
}

/* VisitsSized -- the slot's object has this size now; `new`: it may be visited from now on */
static inline void VisitsSized(Visits visits, uint32_t slot, uint64_t size, Bool new)
{
  visits->sizes[slot] = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  if (new)
    visits->recent[visits->made++ % VisitsRECENT] = slot;
}

#endif /* REPLAY_VISITS_H */
