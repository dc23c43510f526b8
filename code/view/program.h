/* program.h -- what a process did to its heap, as a program that can be run again
 *
 * A program is a list of operations for each thread.  Objects are slots, numbers that are used again once their
 * object is gone, so that they are as dense as the heap was; addresses do not occur.  It lies in a file of its own, in chunks
 * that are read one after the other, so that running it takes little memory and never the allocator's.
 *
 * With several threads, the order that was recorded is kept as far as it matters.  Operations are counted off in epochs, and
 * no thread begins an epoch before all have done what they have in the one before the last (before the last, where it is
 * strict: pools are made and destroyed alone).  Within two epochs, an operation on an object that another thread gave its
 * address waits for that.  Every wait is for something earlier in the recorded order, so that there is always a
 * thread that can go on.
 *
 * Always true (ProgramCheck):
 *   a slot is used again by the thread that freed it, or two epochs later: never before its last user is done
 *   the operations of all threads, without OLD, ENTER, WAIT, TIME and those on pools, are `operations`
 *
 * Design: design/replayer.md .program      Tests: test/programtest.c
 */
#ifndef VIEW_PROGRAM_H
#define VIEW_PROGRAM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "view/heaporder.h"

enum {
  ProgramChunkOPS = 2048,     /* operations of a chunk */
  ProgramEpochOPS = 1024,     /* operations of an epoch, all threads together */
  ProgramPoolsMAX = 1 << 20,
  ProgramNameMAX = 32
};

typedef enum ProgramKind {
  ProgramALLOC, ProgramZERO, ProgramALIGNED, /* slot, pool, size, align */
  ProgramFREE,      /* slot, pool, size: as it was */
  ProgramDROP,      /* the same, but the object goes because its pool is destroyed next */
  ProgramOLD,       /* size: the object's that the next operation, RESIZE, changes */
  ProgramRESIZE,    /* slot, pool, size: the new one */
  ProgramPOOLCREATE, ProgramPOOLDESTROY, /* pool */
  ProgramENTER,     /* size: the epoch that the thread enters */
  ProgramWAIT,      /* slot: a thread; size: how many of its operations must be done */
  ProgramTIME       /* size: ns since the beginning */
} ProgramKind;

typedef struct ProgramOpStruct {
  uint32_t slot;
  uint32_t kind : 4;
  uint32_t align : 6; /* log2; 0 for none */
  uint32_t pool : 22;
  uint64_t size;
} ProgramOpStruct, *ProgramOp;

typedef struct ProgramChunkStruct {
  uint64_t offset; /* in the file */
  uint64_t count;  /* operations */
} ProgramChunkStruct;

typedef struct ProgramThreadStruct {
  uint64_t chunk;  /* its first, in the table of chunks */
  uint64_t chunks;
  uint64_t count;  /* operations, all kinds */
  uint64_t epoch;  /* in which it begins */
  uint32_t id;     /* the system's number */
} ProgramThreadStruct;

typedef struct ProgramEpochStruct {
  uint32_t threads; /* that do something in it */
  uint32_t lag;     /* 1: begins when all before it are done; 2: when all before the last are */
} ProgramEpochStruct;

typedef struct ProgramParamStruct {
  char name[ProgramNameMAX];
  uint64_t value;
} ProgramParamStruct;

typedef struct ProgramPoolStruct {
  char class[ProgramNameMAX]; /* "" if its creation was not recorded */
  uint64_t arena;             /* number + 1; 0 for none */
  uint64_t param, params;     /* in the table of parameters */
} ProgramPoolStruct;

typedef struct ProgramArenaStruct {
  uint64_t size; /* reserved at first */
} ProgramArenaStruct;

/* The file's last bytes: everything that is no chunk.  Tables lie at the offsets given, each of as many as counted. */
typedef struct ProgramHeaderStruct {
  uint64_t threads, epochs, pools, params, arenas, chunks;
  uint64_t threadTable, epochTable, poolTable, paramTable, arenaTable, chunkTable;
  uint64_t slots;
  uint64_t operations;           /* allocations, frees and resizes */
  uint64_t allocs, frees, resizes, drops;
  uint64_t peakBytes, peakObjects; /* asked for, in the recorded order; each at its own peak */
  uint64_t largest;              /* bytes of the largest object */
  uint64_t crossings;            /* operations on an object that another thread had last */
  uint64_t span;                 /* ns from the first operation to the last */
} ProgramHeaderStruct, *ProgramHeader;

typedef struct ProgramStruct *Program;

/* ProgramCreate -- an empty program in a temporary file
 *
 * merged   one list for all threads
 * timed    with TIME operations, 20 us apart or more
 * errors   ResMEMORY, ResIO (errno: no temporary file) */
extern Res ProgramCreate(Program *programReturn, Bool merged, Bool timed);
extern void ProgramDestroy(Program program);

/* ProgramAdd -- take one operation of the process.  What fails is remembered, and told by ProgramFinish. */
extern void ProgramAdd(Program program, HeapOperation operation);

/* ProgramFinish -- write what is left and the tables
 * errors   ResMEMORY; ResIO (errno); ResLIMIT: more pools than ProgramPoolsMAX */
extern Res ProgramFinish(Program program);

/* ProgramHeaderOf -- the numbers, as far as they have been added; ProgramFile -- the file, at its beginning: whoever runs
 * it finds the header in its last bytes */
extern ProgramHeader ProgramHeaderOf(Program program);
extern int ProgramFile(Program program);

#endif /* VIEW_PROGRAM_H */
