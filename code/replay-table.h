/* replay-table.h -- a replay as a whole, and its results printed
 *
 * Design: design/replayer.md      Tests: test/replay.t
 */
#ifndef REPLAY_TABLE_H
#define REPLAY_TABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay-child.h"
#include "view/heaplook.h"
#include "view/script.h"
#include "view/source.h"

enum { ReplayMERGED, ReplayRECORDED };

enum { ReplayAllocatorsMAX = 64, ReplayReasonsMAX = 24, ReplayReasonSIZE = 352, ReplayRunsMAX = 1000 };

#define ReplayTICK 50000.0 /* ns: how precisely recorded time is kept */

/* An allocator, and what came of its runs. */
typedef struct ReplayAllocatorStruct {
  const char *name;        /* as the user gave it */
  ReplayKind kind;
  char library[4096];
  Bool ran;                /* `median` is good */
  PlayResultStruct median; /* of each number by itself; faults and failures of the worst run */
  char error[PlayMessageSIZE];
} ReplayAllocatorStruct, *ReplayAllocator;

typedef struct ReplayStruct {
  SourceStruct source;     /* first: it is the request's data */
  const char *log;
  const char *allocatorList, *speedText;
  unsigned threads;
  double speed;
  Count repeat;
  const char *named;       /* which process is asked for; NULL: any */
  Bool verify, json;
  LogProcess process;      /* the one that is replayed */
  Count processes;         /* in the log, that recorded */
  Bool begun;              /* an operation of its own has come, */
  Index first;             /* of this thread */
  Count others;            /* processes with operations that are not */
  uint64_t *counts;        /* events on objects, by process */
  Heap heap;
  Script script;
  Count allocators;
  ReplayAllocatorStruct allocator[ReplayAllocatorsMAX];
  Count reasons;           /* why the replay is not exact */
  char reason[ReplayReasonsMAX][ReplayReasonSIZE];
} ReplayStruct, *Replay;

/* ReplayTable, ReplayJson -- print what came of all allocators: as a table for people, as one JSON document */
extern void ReplayTable(Replay replay);
extern void ReplayJson(Replay replay);

#endif /* REPLAY_TABLE_H */
