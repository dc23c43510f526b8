/* child.c -- the fresh process in which one allocator is measured
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Both ends of it: how replay starts the child, and what the child does.  The child uses no stdio and allocates nothing
 * itself, so that the allocator under test serves the program alone.
 */
#include "replay/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aver.h"
#include "mm/arena.h"
#include "mm/pool.h"
#include "mm/poolsgf.h"
#include "replay/player.h"

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

/* replayPools -- an allocator that recreates the script's arenas and pools
 * message  what cannot be as it was recorded, or why it failed (FALSE); it is kept, and may be written later */
static Bool replayPools(PlayAllocator allocatorReturn, Play play, char *message, Size size)
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

extern char **environ;

enum { childARGS = 9, childENVIRONMENT = 4096 };

/* The parent's side */

PlayResult ReplayChildShare(int *fileReturn)
{
  int fd = memfd_create("replay-result", 0);
  void *p;

  if (fd < 0 || ftruncate(fd, sizeof(PlayResultStruct)) != 0)
    return NULL;
  p = mmap(NULL, sizeof(PlayResultStruct), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *fileReturn = fd;
  return p == MAP_FAILED ? NULL : p;
}

/* childEnvironment -- ours, with LD_PRELOAD set to `library` or taken out, and our own telemetry off */
static void childEnvironment(char **environment, char *preload, Size size, const char *library)
{
  Count n = 0, i;

  for (i = 0; environ[i] != NULL && n < childENVIRONMENT - 4; ++i) {
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 && strncmp(environ[i], "PAWPRINT_", 9) != 0)
      environment[n++] = environ[i];
  }
  environment[n++] = (char *)(Word)"PAWPRINT_KINDS=none";
  environment[n++] = (char *)(Word)"PAWPRINT_BUFFER=none";
  if (library != NULL) {
    snprintf(preload, size, "LD_PRELOAD=%s", library);
    environment[n++] = preload;
  }
  environment[n] = NULL;
}

static Bool childStart(pid_t *pidReturn, int resultFile, ReplayKind kind, const char *library, PlayParams params)
{
  static char *environment[childENVIRONMENT];
  static char preload[4096 + 16], text[6][32];
  char *argv[childARGS] = {(char *)(Word)"replay", (char *)(Word)ReplayChildWORD,
                           text[0], text[1], text[2], text[3], text[4], text[5], NULL};

  childEnvironment(environment, preload, sizeof preload, library);
  snprintf(text[0], sizeof text[0], "%d", (int)kind);
  snprintf(text[1], sizeof text[1], "%d", params->fd);
  snprintf(text[2], sizeof text[2], "%d", resultFile);
  snprintf(text[3], sizeof text[3], "%u", params->verify);
  snprintf(text[4], sizeof text[4], "%.17g", params->speed);
  snprintf(text[5], sizeof text[5], "%zu", params->touch);
  if (fcntl(params->fd, F_SETFD, 0) != 0 || fcntl(resultFile, F_SETFD, 0) != 0)
    return FALSE;
  errno = posix_spawn(pidReturn, "/proc/self/exe", NULL, NULL, argv, environment);
  return errno == 0;
}

Bool ReplayChildRun(PlayResult result, int resultFile, ReplayKind kind, const char *library, PlayParams params)
{
  int status;
  pid_t pid;

  memset(result, 0, sizeof *result);
  if (!childStart(&pid, resultFile, kind, library, params)) {
    snprintf(result->message, sizeof result->message, "cannot start a process: %s", strerror(errno));
    return FALSE;
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFSIGNALED(status)) {
    snprintf(result->message, sizeof result->message, "killed by signal %d", WTERMSIG(status));
    return FALSE;
  }
  if (!result->done && result->message[0] == '\0')
    snprintf(result->message, sizeof result->message, "ended with status %d before the replay was over",
             WEXITSTATUS(status));
  return result->done;
}

/* Allocators that are malloc.  They are called as a program would call them: by the addresses that the linker found. */

static struct {
  void *(*malloc)(size_t);
  void *(*calloc)(size_t, size_t);
  void *(*realloc)(void *, size_t);
  int (*align)(void **, size_t, size_t);
  void *(*memalign)(size_t, size_t);
  void (*free)(void *);
} childMalloc;

static void *childAlloc(void *pool, Size size)
{
  UNUSED(pool);
  return childMalloc.malloc(size);
}

static void *childZero(void *pool, Size size)
{
  UNUSED(pool);
  return childMalloc.calloc(1, size);
}

static void *childAligned(void *pool, Size size, Size align)
{
  void *p;

  UNUSED(pool);
  if (childMalloc.align == NULL)
    return childMalloc.memalign(align, size);
  if (align < sizeof(void *))
    align = sizeof(void *);
  return childMalloc.align(&p, align, size) == 0 ? p : NULL;
}

static void *childResize(void *pool, void *old, Size oldSize, Size size)
{
  UNUSED(pool);
  UNUSED(oldSize);
  /* realloc(p, 0) may free: an object of no bytes is asked for as one of one. */
  return childMalloc.realloc(old, size == 0 ? 1 : size);
}

static void childFree(void *pool, void *addr, Size size)
{
  UNUSED(pool);
  UNUSED(size);
  childMalloc.free(addr);
}

static Bool childPoolCreate(void *data, PlayPool pool, Index number, char *error, Size size)
{
  UNUSED(data);
  UNUSED(number);
  UNUSED(error);
  UNUSED(size);
  pool->pool = NULL;
  pool->align = 2 * sizeof(void *);
  return TRUE;
}

static void childPoolDestroy(void *data, PlayPool pool)
{
  UNUSED(data);
  UNUSED(pool);
}

/* What a library lacks is made from what it has. */

static void *childCallocMade(size_t n, size_t size)
{
  void *p;

  if (__builtin_mul_overflow(n, size, &size))
    return NULL;
  p = childMalloc.malloc(size);
  return p == NULL ? NULL : memset(p, 0, size);
}

static void *childMemalignMade(size_t align, size_t size)
{
  UNUSED(align);
  return childMalloc.malloc(size);
}

/* childFind -- the function that the program would call; NULL if it is not in the object at `base` (NULL: anywhere) */
static void *childFind(const char *name, const void *base)
{
  void *function = dlsym(RTLD_DEFAULT, name);
  Dl_info info;

  if (function == NULL || (base != NULL && (dladdr(function, &info) == 0 || info.dli_fbase != base)))
    return NULL;
  return function;
}

/* childBase -- the object that has the function which is called `name`, or NULL */
static void *childBase(const char *name)
{
  void *function = dlsym(RTLD_DEFAULT, name);
  Dl_info info;

  return function != NULL && dladdr(function, &info) != 0 ? info.dli_fbase : NULL;
}

/* childMallocs -- find the malloc family; all of it must come from one place.  FALSE: the message says why not. */
static Bool childMallocs(PlayResult result, Bool library)
{
  void *base = library ? childBase("malloc") : NULL;
  Bool lost;

#define FIND(name) (*(void **)&childMalloc.name = childFind(#name, base))
  if (library && (base == NULL || base == childBase("gnu_get_libc_version"))) {
    snprintf(result->message, sizeof result->message, "could not be loaded, or has no malloc");
    return FALSE;
  }
  if (FIND(malloc) == NULL || FIND(free) == NULL || FIND(realloc) == NULL) {
    snprintf(result->message, sizeof result->message, "has no %s", childMalloc.malloc == NULL ? "malloc" :
             childMalloc.free == NULL ? "free" : "realloc");
    return FALSE;
  }
  if (FIND(calloc) == NULL)
    childMalloc.calloc = childCallocMade;
  *(void **)&childMalloc.align = childFind("posix_memalign", base);
  FIND(memalign);
  lost = childMalloc.align == NULL && childMalloc.memalign == NULL;
  if (lost) {
    childMalloc.memalign = childMemalignMade;
    snprintf(result->message, sizeof result->message, "has no posix_memalign: no alignments");
  }
#undef FIND
  return TRUE;
}

/* No allocator: what the replay itself costs.  Every object is the same page. */

static char childPage[4096] __attribute__((aligned(4096)));

static void *childNothing(void *pool, Size size)
{
  UNUSED(pool);
  UNUSED(size);
  return childPage;
}

static void *childNothingAligned(void *pool, Size size, Size align)
{
  UNUSED(align);
  return childNothing(pool, size);
}

static void *childNothingResize(void *pool, void *old, Size oldSize, Size size)
{
  UNUSED(old);
  UNUSED(oldSize);
  return childNothing(pool, size);
}

static void childNothingFree(void *pool, void *addr, Size size)
{
  UNUSED(pool);
  UNUSED(addr);
  UNUSED(size);
}

/* The child's side */

static Bool childAllocator(PlayAllocator allocator, PlayResult result, Play play, ReplayKind kind)
{
  static const PlayAllocatorStruct mallocs = {
    .alloc = childAlloc, .zero = childZero, .aligned = childAligned, .resize = childResize, .free = childFree,
    .poolCreate = childPoolCreate, .poolDestroy = childPoolDestroy};
  static const PlayAllocatorStruct nothing = {
    .alloc = childNothing, .zero = childNothing, .aligned = childNothingAligned, .resize = childNothingResize,
    .free = childNothingFree, .poolCreate = childPoolCreate, .poolDestroy = childPoolDestroy, .nothing = TRUE};

  if (kind == ReplayPAWPRINT)
    return replayPools(allocator, play, result->message, sizeof result->message);
  *allocator = kind == ReplayNONE ? nothing : mallocs;
  return kind == ReplayNONE || childMallocs(result, kind == ReplayLIBRARY);
}

int ReplayChildMain(int argc, char **argv)
{
  PlayAllocatorStruct allocator;
  PlayParamsStruct params;
  PlayResult result;
  Play play;
  int kind;

  if (argc != childARGS - 1)
    return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  kind = atoi(argv[2]);
  params.fd = atoi(argv[3]);
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[4]), 0);
  if (result == MAP_FAILED)
    return 2;
  params.verify = (Bool)atoi(argv[5]);
  params.speed = atof(argv[6]);
  params.touch = strtoull(argv[7], NULL, 10);
  if (PlayLoad(&play, &params, result->message, sizeof result->message) != ResOK ||
      !childAllocator(&allocator, result, play, (ReplayKind)kind))
    return 1;
  PlayRun(result, play, &allocator);
  _exit(result->done ? 0 : 1); /* what the allocator does at a normal end is not wanted: it has been measured */
}
