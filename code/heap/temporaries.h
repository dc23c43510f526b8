/* temporaries.h -- which objects are temporary: freed by the thread that allocated them before it did anything else
 *
 * What counts is what the thread does with the heap, in the repaired order.
 *
 * Always true: what a thread allocated last is remembered until its next operation, with its pool;  address 0: nothing
 *
 * Design: design/view.md .sites.temporary      Tests: test/analyse/sites.t, test/view/heapviews.t
 */
#ifndef HEAP_TEMPORARIES_H
#define HEAP_TEMPORARIES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"

/* What a thread allocated last, if it has done nothing since. */
typedef struct TemporaryLastStruct {
  HeapPool pool;
  uint64_t addr, time;  /* of its allocation: another thread may have put another object there since */
} TemporaryLastStruct, *TemporaryLast;

typedef struct TemporaryProcessStruct {
  Count threads;
  TemporaryLast last; /* owned; by the thread's number in its process */
} TemporaryProcessStruct, *TemporaryProcess;

typedef struct TemporariesStruct {
  Count processes;
  TemporaryProcess process; /* owned; by the log's number */
  Bool failed;              /* there was no memory */
} TemporariesStruct, *Temporaries;

/* TemporariesFinish -- give the memory back; all is zero at first */
extern void TemporariesFinish(Temporaries temporaries);

/* TemporariesPlace -- where it stands what the operation's thread allocated last; NULL: no memory */
extern TemporaryLast TemporariesPlace(Temporaries temporaries, Index process, Index thread);

/* TemporariesDid -- the operation's thread has done something; `allocated`: it allocated the object.  Was the object
 * that goes what it had allocated just before? */
static inline Bool TemporariesDid(Temporaries temporaries, HeapOperation operation, Bool allocated)
{
  Index thread = operation->thread == NULL ? 0 : operation->thread->number;
  TemporaryLast last;
  Bool same;

  if (LIKELY(operation->process < temporaries->processes &&
             thread < temporaries->process[operation->process].threads))
    last = &temporaries->process[operation->process].last[thread];
  else if ((last = TemporariesPlace(temporaries, operation->process, thread)) == NULL)
    return FALSE;
  same = last->addr == operation->object->addr && last->time == operation->object->time &&
         last->pool == operation->pool && operation->object->thread == (uint32_t)thread;
  last->addr = allocated ? operation->object->addr : 0;
  last->time = operation->object->time;
  last->pool = operation->pool;
  return same;
}

#endif /* HEAP_TEMPORARIES_H */
