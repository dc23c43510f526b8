/* player.h -- run a script (script.h) on an allocator, and measure
 *
 * The runner itself never allocates from the allocator under test: what it needs is mapped beforehand.  Each list of
 * operations has a thread; they wait for each other as the script says, first spinning, then giving up the processor,
 * then asleep.
 *
 * Each new object is written to: its first byte, and one byte of each page of it, so that resident memory means
 * something. Objects larger than `touch` bytes get only the first.  With `verify` objects are filled and checked
 * instead.
 *
 * Design: design/replayer.md .play      Tests: test/replay/replay.t
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "replay/script.h"

typedef struct PlayPoolStruct {
  void *pool;  /* whatever the allocator's functions want */
  Size align;  /* of every object in it that is at least as large */
} PlayPoolStruct, *PlayPool;

/* An allocator.  Each function is called by several threads at once; alloc, zero, aligned and resize return NULL
 * when they fail, and a failed resize leaves the old object. */
typedef struct PlayAllocatorStruct {
  void *data;
  void *(*alloc)(void *pool, Size size);
  void *(*zero)(void *pool, Size size);
  void *(*aligned)(void *pool, Size size, Size align);
  void *(*resize)(void *pool, void *old, Size oldSize, Size size);
  void (*free)(void *pool, void *addr, Size size);
  /* poolCreate -- fill in *pool; FALSE: `error` says why not */
  Bool (*poolCreate)(void *data, PlayPool pool, Index number, char *error, Size size);
  void (*poolDestroy)(void *data, PlayPool pool);
  Bool drops;   /* poolDestroy destroys the pool's objects */
  Bool nothing; /* there is no memory behind the addresses */
} PlayAllocatorStruct, *PlayAllocator;

enum { PlayMessageSIZE = 256, PlayFaultsMAX = 8 };

typedef struct PlayFaultStruct {
  enum { PlayFaultALIGN, PlayFaultZERO, PlayFaultOVERLAP, PlayFaultLOST, PlayFaultLIMIT } kind;
  uint64_t addr, size, offset;
} PlayFaultStruct, *PlayFault;

typedef struct PlayResultStruct {
  Bool done;                    /* what follows is good */
  uint64_t ns;                  /* from the first operation to the last */
  uint64_t cpu;                 /* ns of processor time, all threads */
  uint64_t base, peak;          /* resident bytes before, and at most */
  uint64_t failures;            /* allocations and resizes that failed */
  uint64_t faults;
  PlayFaultStruct fault[PlayFaultsMAX]; /* the first */
  char message[PlayMessageSIZE]; /* not done: why; done: what was not as recorded, or "" */
} PlayResultStruct, *PlayResult;

typedef struct PlayParamsStruct {
  int fd;           /* the script */
  Bool verify;
  double speed;     /* of recorded time; 0 for as fast as possible */
  Size touch;       /* objects larger than this get only their first page written */
} PlayParamsStruct, *PlayParams;

/* PlayLoad -- map the script's tables, ready to be run The allocator that is to run it may want to read them:
 * PlayPoolAt etc.  Ends with a message in `error` if not ResOK. */
typedef struct PlayStruct *Play;
extern Res PlayLoad(Play *playReturn, PlayParams params, char *error, Size size);

extern ScriptHeader PlayHeader(Play play);
extern const ScriptPoolStruct *PlayPools(Play play);
extern const ScriptParamStruct *PlayPoolParams(Play play);
extern const ScriptArenaStruct *PlayArenas(Play play);

/* PlayRun -- run it once; what came of it goes to *result, which may be shared with another process */
extern void PlayRun(PlayResult result, Play play, PlayAllocator allocator);

#endif /* REPLAY_PLAYER_H */
