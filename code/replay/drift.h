/* drift.h -- how far the bytes that live in a replay may be from those that lived in the program, within a span in
 * which threads are free to run in any order
 *
 * A thread does its own operations in their order.  So what it adds to the bytes that live is, at any moment, what it
 * had added after one of its operations in the span: between the least and the most that it ever had.  Threads are
 * taken as independent of each other, so their ranges add up as squares.
 *
 * Always true: least <= now <= most of each thread, and least <= 0 <= most;  the square is the sum of the squares of
 * the ranges of all threads that have done something in the span.
 *
 * Design: design/replayer.md .script.drift      Tests: test/replay/drifttest.c
 */
#ifndef REPLAY_DRIFT_H
#define REPLAY_DRIFT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* The span. */
typedef struct DriftStruct {
  uint64_t number; /* spans before it */
  double square;   /* bytes^2 */
} DriftStruct, *Drift;

/* A thread within its last span; all zero for a new one.  Bytes, since the span began. */
typedef struct DriftThreadStruct {
  uint64_t number; /* of that span, + 1; 0 for none */
  int64_t now, least, most;
} DriftThreadStruct, *DriftThread;

/* DriftBegin -- a new span begins; the first one does so by itself, from a struct of zeros */
static inline void DriftBegin(Drift drift)
{
  ++drift->number;
  drift->square = 0;
}

/* DriftAdd -- the thread's next operation adds so many bytes, or takes them away */
static inline void DriftAdd(Drift drift, DriftThread thread, int64_t bytes)
{
  double had, has;

  if (thread->number != drift->number + 1)
    *thread = (DriftThreadStruct){.number = drift->number + 1};
  had = (double)thread->most - (double)thread->least;
  thread->now = (int64_t)((uint64_t)thread->now + (uint64_t)bytes); /* a log may say anything: no overflow */
  if (thread->now > thread->most)
    thread->most = thread->now;
  if (thread->now < thread->least)
    thread->least = thread->now;
  has = (double)thread->most - (double)thread->least;
  drift->square += has * has - had * had;
}

/* DriftBeyond -- may it be so many bytes or more? */
static inline Bool DriftBeyond(const DriftStruct *drift, uint64_t bytes)
{
  return drift->square >= (double)bytes * (double)bytes;
}

#endif /* REPLAY_DRIFT_H */
