/* visits.h -- what a program does with its objects between its operations on them, as far as it matters to the cache
 *
 * How long a program waits for its objects depends on where an allocator has put them.  So after each VisitsPAUSE
 * operations of the one thread objects are read, and the time for that is measured apart from that of the operations:
 * what the next operations free or resize; some of the newest, at random; and many that were allocated one after the
 * other.
 *
 * Design: design/replayer.md .predict.visits      Tests: test/replay/visitstest.c, test/replay/replay.t
 */
#ifndef REPLAY_VISITS_H
#define REPLAY_VISITS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "replay/script.h"

enum {
  VisitsPAUSE = 256,      /* operations from one time that objects are read to the next */
  VisitsSINGLE = 32,      /* objects that are read at random, each time; */
  VisitsRUN = 256,        /* and in the order of their allocation */
  VisitsLINE = 64,
  VisitsREAD = 256,       /* bytes of an object that are read */
  VisitsRECENT = 1 << 20  /* objects that may be read: the newest */
};

typedef struct VisitsStruct {
  Bool on;
  void *const *slots; /* addresses by slot; */
  const void *absent; /* NULL, or this: there is no object */
  uint32_t *sizes;  /* by slot: the object's, UINT32_MAX for that and more */
  uint32_t *recent; /* the slots of the newest objects, a ring of VisitsRECENT */
  uint64_t made;    /* objects that were put there */
  uint64_t random;  /* the state of visitsRandom; not 0 */
  uint64_t ns;      /* processor time that all this took */
} VisitsStruct, *Visits;

/* VisitsSized -- the slot's object has this size now; `new`: it may be read from now on */
static inline void VisitsSized(Visits visits, uint32_t slot, uint64_t size, Bool new)
{
  visits->sizes[slot] = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  if (new)
    visits->recent[visits->made++ % VisitsRECENT] = slot;
}

/* VisitsMake -- read objects as the program would before the operations from `op` to `limit` */
extern void VisitsMake(Visits visits, ScriptOp op, ScriptOp limit);

#endif /* REPLAY_VISITS_H */
