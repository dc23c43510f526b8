/* replay-pools.c -- Pawprint's own pools as an allocator for the replay
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools are created where the script says, alone (script.h), so nothing here is locked.  An arena is made with its
 * first pool, and stays to the end.
 */
#include "replay-pools.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/aver.h"
#include "mm/arena.h"
#include "mm/pool.h"
#include "mm/sgf.h"

enum { poolsARENA = 64 << 20 }; /* bytes of the arena for pools that had none: a foreign malloc's */

typedef struct ReplayPoolsStruct {
  Play play;
  Arena *arenas;   /* by the script's number + 1; [0] for pools that had none */
  char *message;
  Size size;
} ReplayPoolsStruct, *ReplayPoolsState;

static void *poolsAlloc(void *pool, Size size)
{
  Addr addr;

  return PoolAlloc(&addr, pool, size) == ResOK ? (void *)addr : NULL;
}

static void *poolsZero(void *pool, Size size)
{
  Addr addr;

  return PoolAllocZero(&addr, pool, size) == ResOK ? (void *)addr : NULL;
}

static void *poolsAligned(void *pool, Size size, Size align)
{
  Addr addr;

  return PoolAllocAligned(&addr, pool, size, align) == ResOK ? (void *)addr : NULL;
}

static void *poolsResize(void *pool, void *old, Size oldSize, Size size)
{
  Addr addr;

  return PoolResize(&addr, pool, (Addr)old, oldSize, size) == ResOK ? (void *)addr : NULL;
}

static void poolsFree(void *pool, void *addr, Size size)
{
  PoolFree(pool, (Addr)addr, size);
}

static Res poolsArena(Arena *arenaReturn, ReplayPoolsState state, uint64_t number)
{
  Res res = ResOK;

  if (state->arenas[number] == NULL) {
    Size size = number == 0 ? poolsARENA : PlayArenas(state->play)[number - 1].size;
    res = ArenaCreate(&state->arenas[number], size);
  }
  *arenaReturn = state->arenas[number];
  return res;
}

/* poolsParams -- the pool's parameters as they were recorded; returns how many */
static Count poolsParams(PoolParamStruct *params, Play play, const ScriptPoolStruct *recorded)
{
  Count i, n = recorded->params < PoolParamMAX ? recorded->params : PoolParamMAX;

  for (i = 0; i < n; ++i) {
    params[i].name = PlayPoolParams(play)[recorded->param + i].name;
    params[i].value = (Word)PlayPoolParams(play)[recorded->param + i].value;
  }
  return n;
}

/* poolsOther -- a class that is not ours: say once, unless it stands for malloc, that SGF takes its place */
static void poolsOther(ReplayPoolsState state, const char *class)
{
  if (strcmp(class, "malloc") != 0 && state->message[0] == '\0')
    snprintf(state->message, state->size, "pools of class %s are SGF here", class[0] == '\0' ? "unknown" : class);
}

static Bool poolsCreate(void *data, PlayPool playPool, Index number, char *error, Size size)
{
  ReplayPoolsState state = data;
  const ScriptPoolStruct *recorded = &PlayPools(state->play)[number];
  Bool ours = strcmp(recorded->class, "MFS") == 0 || strcmp(recorded->class, "MVFF") == 0 ||
              strcmp(recorded->class, "SGF") == 0;
  PoolParamStruct params[PoolParamMAX];
  Count i, n = ours ? poolsParams(params, state->play, recorded) : 0;
  Arena arena;
  Pool pool;
  Res res = poolsArena(&arena, state, recorded->arena);

  if (!ours)
    poolsOther(state, recorded->class);
  if (res == ResOK)
    res = PoolCreate(&pool, arena, ours ? recorded->class : "SGF", params, n);
  if (res != ResOK) {
    snprintf(error, size, "class %s: %s", recorded->class, ResName(res));
    return FALSE;
  }
  playPool->pool = pool;
  playPool->align = 2 * sizeof(void *);
  for (i = 0; i < n; ++i) {
    if (strcmp(params[i].name, "align") == 0)
      playPool->align = params[i].value;
  }
  return TRUE;
}

static void poolsDestroy(void *data, PlayPool pool)
{
  UNUSED(data);
  PoolDestroy(pool->pool);
}

Bool ReplayPools(PlayAllocator allocatorReturn, Play play, char *message, Size size)
{
  static const PlayAllocatorStruct pools = {
    .alloc = poolsAlloc, .zero = poolsZero, .aligned = poolsAligned, .resize = poolsResize, .free = poolsFree,
    .poolCreate = poolsCreate, .poolDestroy = poolsDestroy, .drops = TRUE};
  static ReplayPoolsStruct state;
  void *arenas = mmap(NULL, (PlayHeader(play)->arenas + 1) * sizeof(Arena), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (arenas == MAP_FAILED) {
    snprintf(message, size, "no memory for %llu arenas", (unsigned long long)PlayHeader(play)->arenas);
    return FALSE;
  }
  SGFThreadsWatch();
  state.play = play;
  state.arenas = arenas;
  state.message = message;
  state.size = size;
  *allocatorReturn = pools;
  allocatorReturn->data = &state;
  return TRUE;
}
