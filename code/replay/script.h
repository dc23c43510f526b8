/* script.h -- what a process did to its heap, as a script that can be run again
 *
 * A script is a list of operations for each thread.  Objects are slots, numbers that are used again once their object
 * is gone, so that they are as dense as the heap was; addresses do not occur.  It lies in a file of its own, in chunks
 * that are read one after the other, so that running it takes little memory and never the allocator's.
 *
 * With several threads, the order that was recorded is kept as far as it matters.  Operations are counted off in
 * epochs, the longer the less their order matters to the bytes that live, and no thread begins an epoch before all
 * threads have done their operations of the epoch before the last.
 * Where the order is strict (pools are made and destroyed alone) no thread begins before those of the last epoch are
 * done, either.  Within two epochs, an operation on an object that another thread gave its address waits for that.
 * Every wait is for something earlier in the recorded order, so that there is always a thread that can go on.
 *
 * Always true (ScriptCheck):
 *   a slot is used again by the thread that freed it, or two epochs later: never before its last user is done
 *   a thread's chain of free slots is as long as the thread counts, and no longer than it may be
 *   allocations + frees + resizes <= operations of all lists;  allocations = frees + live objects
 *   live bytes and objects <= their peaks
 *
 * Design: design/replayer.md .script      Tests: test/replay/scripttest.c, test/replay/replay.t
 */
#ifndef REPLAY_SCRIPT_H
#define REPLAY_SCRIPT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/large.h"
#include "base/types.h"
#include "heap/heapreorder.h"
#include "replay/curve.h"

enum {
  ScriptChunkOPS = 2048,     /* operations of a chunk */
  ScriptEpochMIN = 1024,     /* operations of an epoch, all threads together, at least, ... */
  ScriptEpochMAX = 1 << 16,  /* ... and at most */
  ScriptPoolsMAX = 1 << 20,
  ScriptNameMAX = 32
};

#define ScriptTouchUNKNOWN UINT64_MAX

typedef enum ScriptKind {
  ScriptALLOC, ScriptZERO, ScriptALIGNED, /* slot, pool, size, align */
  ScriptFREE,      /* slot, pool, size: as it was */
  ScriptDROP,      /* the same, but the object goes because its pool is destroyed next */
  ScriptOLD,       /* size: the object's that the next operation, RESIZE, changes */
  ScriptRESIZE,    /* slot, pool, size: the new one */
  ScriptPOOLCREATE, ScriptPOOLDESTROY, /* pool */
  ScriptENTER,     /* size: the epoch that the thread enters */
  ScriptWAIT,      /* slot: a thread; size: how many of its operations must be done */
  ScriptTIME,      /* size: ns since the beginning */
  ScriptTOUCH      /* slot; size: of the object that the last operation left, which is large, in the table of touches */
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
  uint64_t next;   /* the thread's next chunk, its index + 1; 0 for none */
} ScriptChunkStruct;

typedef struct ScriptThreadStruct {
  uint64_t chunk;  /* its first, index + 1; 0 for none */
  uint64_t count;  /* operations, all kinds */
  uint64_t epoch;  /* in which it begins */
} ScriptThreadStruct;

typedef struct ScriptEpochStruct {
  uint32_t threads; /* that do something in it; for the player those that are not done with it, atomic */
  uint32_t lag;     /* 1: begins when all before it are done; 2: when all before the last are */
  uint32_t sleepers; /* the player's: of who waits to begin it (wait.h); 0 in the file */
  uint32_t unused;   /* tables follow each other, and are aligned to 8 bytes */
} ScriptEpochStruct;

typedef struct ScriptPoolStruct {
  char class[ScriptNameMAX]; /* "" if its creation was not recorded */
  uint64_t arena;             /* number + 1; 0 for none */
  uint64_t param, params;     /* in the table of parameters */
} ScriptPoolStruct;

typedef struct ScriptParamStruct {
  char name[ScriptNameMAX];
  uint64_t value;
} ScriptParamStruct;

typedef struct ScriptArenaStruct {
  uint64_t size; /* reserved at first */
  uint64_t addr; /* where it is in the program, by which the compiler finds it; 0 when it has been destroyed */
} ScriptArenaStruct;

/* A large object, until it is resized or goes. */
typedef struct ScriptTouchStruct {
  uint64_t size;    /* bytes */
  uint64_t touched; /* of these, that were in memory at last; or ScriptTouchUNKNOWN */
} ScriptTouchStruct;

/* The tables of a file: an array of one of these structs each. */
typedef enum ScriptTable {
  ScriptCHUNKS, ScriptTHREADS, ScriptEPOCHS, ScriptPOOLS, ScriptPARAMS, ScriptARENAS, ScriptTOUCHES, ScriptTABLES
} ScriptTable;

/* The file's last bytes.  The tables stand before it, one after the other; chunks stand before them. */
typedef struct ScriptHeaderStruct {
  struct {
    uint64_t offset, count; /* in the file; elements */
  } table[ScriptTABLES];
  uint64_t slots;
  uint64_t operations;             /* allocations, frees and resizes */
  uint64_t allocs, frees, resizes;
  uint64_t peakBytes, peakObjects; /* asked for, in the recorded order; each at its own peak */
  uint64_t peakUnknown;            /* bytes of large objects of which nobody knows how much was touched: at one time there
                                      may have been as many */
  uint64_t first;                  /* time of the first operation, ns since 1970; 0: there is none */
  uint64_t crossings;              /* operations on an object that another thread had last */
} ScriptHeaderStruct, *ScriptHeader;

typedef struct ScriptStruct *Script;

/* ScriptCreate -- an empty script in a temporary file
 *
 * merged   one list for all threads
 * tick     ns between two TIME operations of a thread, at least; 0 for none
 * errors   ResMEMORY, ResIO (errno: no temporary file) */
extern Res ScriptCreate(Script *scriptReturn, Bool merged, uint64_t tick);
extern void ScriptDestroy(Script script);

/* ScriptAdd -- take one operation of the process
 *
 * What fails is remembered, and told by ScriptFinish.
 * thread   number of the thread that does it; small numbers cost less.  0 for an operation on an arena, which no thread
 *          does. */
extern void ScriptAdd(Script script, HeapOperation operation, Index thread);

/* ScriptDraw -- put the bytes that live over time into this curve, from now on: from the first operation on */
extern void ScriptDraw(Script script, Curve curve);

/* ScriptFinish -- write what is left and the tables; nothing is added after that
 * errors   ResMEMORY; ResIO (errno); ResLIMIT: more pools than ScriptPoolsMAX, or more objects than slots have numbers
 */
extern Res ScriptFinish(Script script);

/* ScriptPoolClass -- of which class of ours a pool that was recorded as one of this class is in a replay: MFS, MVFF and
 * SGF are; one that is collected is MVFF, which lays objects out in the same segments, at the same alignment; a debug
 * variety is what it debugs; all others, malloc among them, are SGF
 * ScriptHasPools -- will there be pools of this class?  Of a finished script.
 * ScriptRecordedClass -- the class that the i-th pool had when it was recorded, "" if its creation was not; NULL: there
 *   are no more */
extern const char *ScriptPoolClass(const char *recorded);
extern Bool ScriptHasPools(Script script, const char *class);
extern const char *ScriptRecordedClass(Script script, Index i);

/* ScriptHeaderOf -- the numbers, as far as they have been added
 * ScriptFile -- the file; whoever runs it finds the header in its last bytes */
extern ScriptHeader ScriptHeaderOf(Script script);
extern int ScriptFile(Script script);

extern Bool ScriptCheck(Script script);

#endif /* REPLAY_SCRIPT_H */
