/* scriptdata.h -- a script being made, for what compiles it and what writes it
 *
 * Design: design/replayer.md .script      Tests: test/replay.t
 */
#ifndef VIEW_SCRIPTDATA_H
#define VIEW_SCRIPTDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/script.h"

enum {
  ScriptWaitedSIZE = 8     /* threads of which a thread remembers how far it has waited for them */
};

#define ScriptNONE UINT32_MAX

/* A growing array of `size`-byte things. */
typedef struct ScriptTableStruct {
  void *base;
  Count count, capacity;
} ScriptTableStruct, *ScriptTable;

typedef struct ScriptSlotStruct {
  uint32_t next;   /* among free ones */
  uint32_t thread; /* that gave it its address; of a free one, nothing */
  uint64_t epoch;  /* in which that was, or in which it was freed */
  uint64_t done;   /* how many operations of that thread must be done */
} ScriptSlotStruct;

typedef struct ScriptListStruct {
  ScriptThreadStruct public;
  uint64_t epoch;             /* that it entered last, + 1; 0 for none */
  uint64_t time;              /* of its last TIME */
  uint32_t stack;             /* freed slots, the newest first */
  Count stacked;
  struct {
    uint32_t thread;
    uint64_t done;
  } waited[ScriptWaitedSIZE];
  Count count;                /* operations in `ops` */
  ScriptOp ops;               /* ScriptChunkOPS of them */
} ScriptListStruct, *ScriptList;

typedef struct ScriptPlacedStruct {  /* a chunk that has been written */
  uint32_t thread;
  ScriptChunkStruct chunk;
} ScriptPlacedStruct;

struct ScriptStruct {
  int fd;
  Bool merged;
  uint64_t tick;                 /* ns between two TIME operations; 0 for none */
  Res res;
  int error;                     /* errno of ResIO */
  uint64_t offset;               /* bytes written */
  uint64_t first;                /* time of the first operation; 0 before it */
  uint64_t bytes, objects;       /* live */
  uint64_t inEpoch;              /* operations in the newest epoch */
  ScriptHeaderStruct header;
  ScriptTableStruct threads;                /* ScriptList */
  ScriptTableStruct chunks;                 /* ScriptPlacedStruct */
  ScriptTableStruct epochs;                 /* ScriptEpochStruct */
  ScriptTableStruct pools, params, arenas;  /* as in the file */
  ScriptTableStruct poolNumbers;            /* uint32_t: by the heap's number, script's + 1 */
  ScriptTableStruct arenaAddrs;             /* uint64_t: of each arena; 0 for one that is gone */
  ScriptTableStruct slots;                  /* ScriptSlotStruct */
  ScriptTableStruct threadNumbers;          /* uint32_t: by the heap's number, script's + 1 */
  uint32_t queueHead, queueTail; /* free slots for all, the oldest first */
};

/* ScriptTableAdd -- one more thing of `size` bytes, zeroed; NULL without memory, which the script remembers */
extern void *ScriptTableAdd(Script script, ScriptTable table, Size size);

#define ScriptTableAt(table, type, i) (&((type *)(table).base)[i])

/* ScriptFlush -- write what the list `number` has as a chunk */
extern void ScriptFlush(Script script, ScriptList list, Index number);

#endif /* VIEW_SCRIPTDATA_H */
