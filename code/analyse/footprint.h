/* footprint.h -- memory of a process besides its heap: its mappings, and how much of all is resident
 *
 * Mappings are those that programs make and remove themselves, by mmap, munmap, mremap, brk and sbrk; each process has
 * what it mapped, and a child of fork none of its parent's.  Resident bytes are the collector's samples.  Events are
 * known by their names, so that what has no such events says so.
 *
 * Always true:
 *   the family's bytes are the sums over its processes that live; a process that has ended has none
 *   a peak is not below what was there at any moment
 *
 * Design: design/view.md .mapped      Tests: test/analyse/memory.t, test/analyse/spanstest.c
 */
#ifndef ANALYSE_FOOTPRINT_H
#define ANALYSE_FOOTPRINT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct MemoryStruct *Memory;

/* Bytes of one process, or of all. */
typedef struct MemoryBytesStruct {
  Bool known;              /* there was an event that said so */
  uint64_t end;            /* when the process ended, or else at the log's end; of all: the sum of that */
  uint64_t peak, peakTime; /* the most at a time, and when; of all: that of those that lived together */
} MemoryBytesStruct, *MemoryBytes;

extern Res MemoryCreate(Memory *memoryReturn, Log log);
extern void MemoryDestroy(Memory memory);

/* MemoryEvent -- one event, in the order of LogRead */
extern void MemoryEvent(Memory memory, LogEvent event);

/* MemoryFinish -- all events have come.  ResMEMORY: it ran out at some time, and the numbers are too low. */
extern Res MemoryFinish(Memory memory);

/* MemoryMapped, MemoryResident -- of a process by its number, or, with NULL, of all */
extern void MemoryMapped(MemoryBytes bytesReturn, Memory memory, const Index *process);
extern void MemoryResident(MemoryBytes bytesReturn, Memory memory, const Index *process);

/* MemoryApart -- ns between two samples of what is resident, at most: a peak in between is not known.  0: not known */
extern uint64_t MemoryApart(Memory memory);

/* MemoryLeft -- mappings that were more than can be followed, so that the bytes are not exact */
extern uint64_t MemoryLeft(Memory memory);

#endif /* ANALYSE_FOOTPRINT_H */
