/* script.h -- what a process did to its heap, as a script that can be run again
 *
 * A script is a list of operations for each thread.  Objects are slots, numbers that are used again once their object
 * is gone, so that they are as dense as the heap was; addresses do not occur.  It lies in a file of its own, in chunks
 * that are read one after the other, so that running it takes little memory and never the allocator's.
 *
 * With several threads, the order that was recorded is kept as far as it matters.  Operations are counted off in
 * epochs, and no thread begins an epoch before all have done what they have in the one before the last (before the
 * last, where it is strict: pools are made and destroyed alone).  Within two epochs, an operation on an object that
 * another thread gave its address waits for that.  Every wait is for something earlier in the recorded order, so that
 * there is always a thread that can go on.
 *
 * Always true:
 *   a slot is used again by the thread that freed it, or two epochs later: never before its last user is done
 *   the operations of all threads, without OLD, ENTER, WAIT, TIME and those on pools, are `operations`
 *
 * Design: design/replayer.md .script      Tests: test/replay/replay.t
 */
#ifndef REPLAY_SCRIPT_H
#define REPLAY_SCRIPT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "heap/heapreorder.h"

enum {
  ScriptChunkOPS = 2048,     /* operations of a chunk */
  ScriptEpochOPS = 1024,     /* operations of an epoch, all threads together */
  ScriptPoolsMAX = 1 << 20,
  ScriptNameMAX = 32
};

typedef enum ScriptKind {
  ScriptALLOC, ScriptZERO, ScriptALIGNED, /* slot, pool, size, align */
  ScriptFREE,      /* slot, pool, size: as it was */
  ScriptDROP,      /* the same, but the object goes because its pool is destroyed next */
  ScriptOLD,       /* size: the object's that the next operation, RESIZE, changes */
  ScriptRESIZE,    /* slot, pool, size: the new one */
  ScriptPOOLCREATE, ScriptPOOLDESTROY, /* pool */
  ScriptENTER,     /* size: the epoch that the thread enters */
  ScriptWAIT,      /* slot: a thread; size: how many of its operations must be done */
  ScriptTIME       /* size: ns since the beginning */
} ScriptKind;

typedef struct ScriptOpStruct {
  uint32_t slot;
  uint32_t kind : 4;
  uint32_t align : 6; /* log2; 0 for none */
  uint32_t pool : 22;
  uint64_t size;
} ScriptOpStruct, *ScriptOp;

typedef struct ScriptChunkStruct {
  uint64_t offset; /* in the file */
  uint64_t count;  /* operations */
} ScriptChunkStruct;

typedef struct ScriptThreadStruct {
  uint64_t chunk;  /* its first, in the table of chunks */
  uint64_t chunks;
  uint64_t count;  /* operations, all kinds */
  uint64_t epoch;  /* in which it begins */
  uint32_t id;     /* the system's number */
} ScriptThreadStruct;

typedef struct ScriptEpochStruct {
  uint32_t threads; /* that do something in it */
  uint32_t lag;     /* 1: begins when all before it are done; 2: when all before the last are */
} ScriptEpochStruct;

typedef struct ScriptParamStruct {
  char name[ScriptNameMAX];
  uint64_t value;
} ScriptParamStruct;

typedef struct ScriptPoolStruct {
  char class[ScriptNameMAX]; /* "" if its creation was not recorded */
  uint64_t arena;             /* number + 1; 0 for none */
  uint64_t param, params;     /* in the table of parameters */
} ScriptPoolStruct;

typedef struct ScriptArenaStruct {
  uint64_t size; /* reserved at first */
} ScriptArenaStruct;

/* The file's last bytes: everything that is no chunk.  Tables lie at the offsets given, each of as many as counted. */
typedef struct ScriptHeaderStruct {
  uint64_t threads, epochs, pools, params, arenas, chunks;
  uint64_t threadTable, epochTable, poolTable, paramTable, arenaTable, chunkTable;
  uint64_t slots;
  uint64_t operations;           /* allocations, frees and resizes */
  uint64_t allocs, frees, resizes, drops;
  uint64_t peakBytes, peakObjects; /* asked for, in the recorded order; each at its own peak */
  uint64_t largest;              /* bytes of the largest object */
  uint64_t crossings;            /* operations on an object that another thread had last */
  uint64_t span;                 /* ns from the first operation to the last */
} ScriptHeaderStruct, *ScriptHeader;

typedef struct ScriptStruct *Script;

/* ScriptCreate -- an empty script in a temporary file
 *
 * merged   one list for all threads
 * tick     ns between two TIME operations of a thread, at least; 0 for none
 * errors   ResMEMORY, ResIO (errno: no temporary file) */
extern Res ScriptCreate(Script *scriptReturn, Bool merged, uint64_t tick);
extern void ScriptDestroy(Script script);

/* ScriptAdd -- take one operation of the process.  What fails is remembered, and told by ScriptFinish. */
extern void ScriptAdd(Script script, HeapOperation operation);

/* ScriptFinish -- write what is left and the tables
 * errors   ResMEMORY; ResIO (errno); ResLIMIT: more pools than ScriptPoolsMAX */
extern Res ScriptFinish(Script script);

/* ScriptHeaderOf -- the numbers, as far as they have been added; ScriptFile -- the file, at its beginning: whoever runs
 * it finds the header in its last bytes */
extern ScriptHeader ScriptHeaderOf(Script script);
extern int ScriptFile(Script script);

#endif /* REPLAY_SCRIPT_H */
