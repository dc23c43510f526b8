/* playdata.h -- a script being run, for what loads it, keeps its threads in order, and runs it
 *
 * Design: design/replayer.md .play      Tests: test/replay.t
 */
#ifndef VIEW_PLAYDATA_H
#define VIEW_PLAYDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <pthread.h>
#include <time.h>

#include "view/play.h"

enum {
  PlayAHEAD = 16, /* operations whose slots are fetched before their turn */
  PlayPAGE = 4096
};

typedef struct PlayEpochStruct { /* as ScriptEpochStruct has it in the file */
  uint32_t threads; /* that are not done with it; atomic */
  uint32_t lag;
} PlayEpochStruct;

_Static_assert(sizeof(PlayEpochStruct) == sizeof(ScriptEpochStruct), "read from the file in one piece");

typedef struct PlayThreadStruct {
  uint64_t done;                 /* operations that it has done; atomic */
  Play play;
  const ScriptThreadStruct *list;
  ScriptOp ops;                 /* ScriptChunkOPS + PlayAHEAD of them; the last ones are zero */
  uint64_t epoch;                /* that it is in, + 1 */
  uint64_t old;                  /* size of the object that is being resized */
  uint64_t failures;
  pthread_t thread;
} __attribute__((aligned(64))) PlayThreadStruct, *PlayThread;

typedef struct PlayKeptStruct { /* what --verify knows of a slot's object */
  uint64_t size, seed;
  Bool live;
} PlayKeptStruct, *PlayKept;

struct PlayStruct {
  PlayParamsStruct params;
  PlayAllocator allocator;
  PlayResult result;
  ScriptHeaderStruct header;
  ScriptThreadStruct *threads;
  ScriptChunkStruct *chunks;
  ScriptPoolStruct *pools;
  ScriptParamStruct *poolParams;
  ScriptArenaStruct *arenas;
  PlayEpochStruct *epochs;
  PlayThread runners;
  PlayPool pool;                 /* by the script's number */
  void **slots;
  PlayKept kept;                 /* NULL without verify */
  char *buffers;
  uint64_t begin;                /* ns */
  uint64_t completed;    /* epochs that all are done with, and all before them; atomic */
  uint64_t faults;               /* atomic */
  uint32_t failed;       /* atomic: a thread cannot go on, and result->message says why */
};

/* PlayRead -- `size` bytes of the file at `offset`; FALSE: errno says why not, or the file is shorter */
extern Bool PlayRead(int fd, void *p, Size size, uint64_t offset);

/* PlayBuffer -- bytes of a list's buffer */
extern Size PlayBuffer(void);

/* PlayClock -- ns of a clock */
static inline uint64_t PlayClock(clockid_t clock)
{
  struct timespec now;

  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* PlayFailed -- has a thread found that it cannot go on?  Nobody waits any longer then. */
static inline Bool PlayFailed(Play play)
{
  return __atomic_load_n(&play->failed, __ATOMIC_RELAXED) != 0;
}

/* PlayAwait -- wait until the counter is at least `wanted` */
extern void PlayAwait(Play play, uint64_t *counter, uint64_t wanted);

/* PlayBarrier -- how many epochs must be complete before this one may begin */
extern uint64_t PlayBarrier(Play play, uint64_t epoch);

/* PlayEnter -- leave the epoch that the thread is in, and enter another when it may begin; PlayLeave -- be done
 * altogether */
extern void PlayEnter(Play play, PlayThread runner, uint64_t epoch);
extern void PlayLeave(Play play, PlayThread runner);

/* PlaySleep -- until `time`, ns since the beginning of the recording, has come at the speed asked for */
extern void PlaySleep(Play play, uint64_t time);

#endif /* VIEW_PLAYDATA_H */
