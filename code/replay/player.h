/* player.h -- runs a script (script.h) on an allocator, and measures
 *
 * The player never allocates from the allocator under test: what it needs is mapped beforehand.  Each list of
 * operations has a thread; the threads wait for each other as the script says: first spinning, then giving up the
 * processor, then sleeping.
 *
 * Of each new object the first byte is written, and one byte of each of its pages, so that resident memory means
 * something.  Of objects larger than `touch` bytes only the first byte is.  With `verify` objects are filled and
 * checked instead.
 *
 * Always true (PlayCheck): there is a place for the result;  the tables are mapped from a page of the file on;  no more
 * epochs are complete than there are, and no thread has done more than its list has;  with `verify`, and only then, it
 * is remembered what is in each object.
 *
 * Design: design/replayer.md .play      Tests: test/replay/scripttest.c, test/replay/replay.t
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "replay/curve.h"
#include "replay/script.h"

typedef struct PlayPoolStruct {
  void *pool;  /* passed to the allocator's functions */
  Size align;  /* of every object in it that is at least as large */
} PlayPoolStruct, *PlayPool;

/* An allocator.  Each function is called by several threads at once. */
typedef struct PlayAllocatorStruct {
  void *data;
  /* alloc -- `align`: a power of two, or 0 for none in particular; `zero`: of an object without `align`.  NULL: it
   * fails. resize -- NULL: it fails, and the old object stays */
  void *(*alloc)(void *pool, Size size, Size align, Bool zero);
  void *(*resize)(void *pool, void *old, Size oldSize, Size size);
  void (*free)(void *pool, void *addr, Size size);
  /* poolCreate -- fill in *pool, the script's pool of this number.  Both NULL: pools are nothing to this allocator. */
  Res (*poolCreate)(void *data, PlayPool pool, Index number);
  void (*poolDestroy)(void *data, PlayPool pool);
  Bool drops;   /* poolDestroy destroys the pool's objects */
  Bool nothing; /* no allocator, without functions: measures the replay itself.  Every object is the same page. */
} PlayAllocatorStruct, *PlayAllocator;

enum { PlayMessageSIZE = 256, PlayFaultsMAX = 8 };

typedef struct PlayFaultStruct {
  enum { PlayFaultALIGN, PlayFaultZERO, PlayFaultOVERLAP, PlayFaultLOST, PlayFaultLIMIT } kind;
  uint64_t addr, size, offset;
} PlayFaultStruct, *PlayFault;

typedef struct PlayResultStruct {
  Bool done;                    /* what follows is good */
  uint64_t ns;                  /* from the first operation to the last, without visits */
  uint64_t cpu;                 /* ns of processor time, all threads; without visits, and waiting for each other */
  uint64_t visits;              /* ns of processor time for reading objects (visits.h); 0: none were read */
  uint64_t waited;              /* ns of processor time for waiting for each other */
  uint64_t base, peak;          /* resident bytes before, and at most */
  uint64_t resident[CurveSLICES]; /* bytes, by slice of recorded time, if that was asked for; 0: not known.  Atomic. */
  uint64_t failures;            /* allocations and resizes that failed */
  uint64_t faults;
  PlayFaultStruct fault[PlayFaultsMAX]; /* the first */
  char message[PlayMessageSIZE]; /* not done: the reason; done: differences from the recording, or "" */
} PlayResultStruct, *PlayResult;

typedef struct PlayParamsStruct {
  int fd;           /* the script */
  Bool verify;
  Bool visits;      /* read objects as a program would, if there is one thread */
  Bool base;        /* measure `base` only, and run nothing */
  double speed;     /* of recorded time; 0 for as fast as possible */
  uint64_t slice;   /* ns of recorded time: fill in `resident` for each, from a script with ticks; 0: leave it */
  uint64_t memory;  /* resident bytes of the process at most: with more it is ended; 0: no limit */
  Size touch;       /* objects larger than this get only their first page written */
} PlayParamsStruct, *PlayParams;

/* PlayLoad -- map the script's tables, and all memory that is needed to run it
 *
 * result   the caller's, and stays: what comes of the run, and its message
 * returns  NULL: result->message says why */
typedef struct PlayStruct *Play;
extern Play PlayLoad(PlayResult result, PlayParams params);

/* PlayTable -- a table of the script, and the number of its elements, for the allocator that is to run it */
extern const void *PlayTable(Play play, ScriptTable table);
extern Count PlayTableCount(Play play, ScriptTable table);

/* PlayRun -- run it once */
extern void PlayRun(Play play, PlayAllocator allocator);

extern Bool PlayCheck(Play play);

#endif /* REPLAY_PLAYER_H */
