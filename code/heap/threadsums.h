/* threadsums.h -- what each thread of each process has allocated and freed
 *
 * Allocated are bytes that were asked for, and that resizes added; freed those of objects that went by a free, and that
 * resizes took away.  So of what a process has not inherited, nor told of, allocated less freed is what lives, and what
 * went without a free.
 *
 * Always true: a row is by the number of its process in the log, and the thread's in the process;  one without calls is
 * of no thread that did anything
 *
 * Design: design/view.md .summary.who      Tests: test/view/who.t
 */
#ifndef HEAP_THREADSUMS_H
#define HEAP_THREADSUMS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/heap.h"

typedef struct ThreadSumStruct {
  uint32_t id;                /* the system's number of the thread; 0: not known */
  uint64_t allocs, frees, resizes;
  uint64_t allocated, freed;  /* bytes */
  uint64_t temporary, temporaryBytes;
} ThreadSumStruct, *ThreadSum;

typedef struct ThreadSumsProcessStruct {
  Count threads;
  ThreadSum thread;           /* owned */
} ThreadSumsProcessStruct, *ThreadSumsProcess;

typedef struct ThreadSumsStruct {
  Count processes;
  ThreadSumsProcess process;  /* owned */
  Bool failed;                /* there was no memory */
} ThreadSumsStruct, *ThreadSums;

/* ThreadSumsFinish -- give the memory back; all is zero at first */
extern void ThreadSumsFinish(ThreadSums sums);

/* ThreadSumsAlloc, ThreadSumsFree, ThreadSumsResize -- an operation; not of what was told, or went without a free
 * temporary  the object was that (temporaries.h)
 * cost       1 to 2 ns */
extern void ThreadSumsAlloc(ThreadSums sums, HeapOperation operation);
extern void ThreadSumsFree(ThreadSums sums, HeapOperation operation, Bool temporary);
extern void ThreadSumsResize(ThreadSums sums, HeapOperation operation);

/* ThreadSumsOf -- the sum of a process by its number in the log; `id` is 0; with NULL, of all */
extern ThreadSumStruct ThreadSumsOf(ThreadSums sums, const Index *process);

/* ThreadSumsText -- print a line for each process, if there are several, and for each thread, if there are several: for
 * the first of each, by what they allocated
 * ThreadSumsJson -- print the threads of a process as an array of objects */
extern void ThreadSumsText(FILE *out, ThreadSums sums, Log log);
extern void ThreadSumsJson(FILE *out, ThreadSums sums, Index process);

/* ThreadSumsMembers -- print a sum as members of an object, with no comma behind them */
extern void ThreadSumsMembers(FILE *out, const ThreadSumStruct *sum);

#endif /* HEAP_THREADSUMS_H */
