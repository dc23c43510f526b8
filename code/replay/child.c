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
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/resident.h"
#include "mm/arena.h"
#include "mm/pool.h"
#include "mm/poolsgf.h"

/* ---- Our own pools, as they were recorded ---- */

enum { childPoolsARENA = 64 << 20 }; /* bytes of the arena for pools that had none: a foreign malloc's */

typedef struct ChildPoolsStruct {
  Play play;
  PlayResult result;
  Arena *arenas;   /* by the script's number + 1; [0] for pools that had none */
} ChildPoolsStruct, *ChildPools;

static void *childPoolsAlloc(void *pool, Size size, Size align, Bool zero)
{
  Addr addr;
  Res res = align != 0 ? PoolAllocAligned(&addr, pool, size, align)
            : zero     ? PoolAllocZero(&addr, pool, size)
                       : PoolAlloc(&addr, pool, size);

  return res == ResOK ? (void *)addr : NULL;
}

static void *childPoolsResize(void *pool, void *old, Size oldSize, Size size)
{
  Addr addr;

  return PoolResize(&addr, pool, (Addr)old, oldSize, size) == ResOK ? (void *)addr : NULL;
}

static void childPoolsFree(void *pool, void *addr, Size size)
{
  PoolFree(pool, (Addr)addr, size);
}

/* childPoolsArena -- the arena with this number + 1; it is made for its first pool */
static Res childPoolsArena(Arena *arenaReturn, ChildPools pools, uint64_t number)
{
  const ScriptArenaStruct *recorded = PlayTable(pools->play, ScriptARENAS);
  Arena *arena = &pools->arenas[number];
  Res res = *arena == NULL ? ArenaCreate(arena, number == 0 ? childPoolsARENA : recorded[number - 1].size) : ResOK;

  *arenaReturn = *arena;
  return res;
}

/* childPoolsParams -- fill in the pool's parameters as they were recorded; returns how many */
static Count childPoolsParams(PoolParamStruct *params, Play play, const ScriptPoolStruct *recorded)
{
  const ScriptParamStruct *param = PlayTable(play, ScriptPARAMS);
  Count i, n = recorded->params < PoolParamMAX ? recorded->params : PoolParamMAX;

  for (i = 0; i < n; ++i) {
    params[i].name = param[recorded->param + i].name;
    params[i].value = (Word)param[recorded->param + i].value;
  }
  return n;
}

/* childPoolsClass -- of which class the pool is here; another one than it had is said once, unless the class stands for
 * malloc */
static const char *childPoolsClass(ChildPools pools, const char *class)
{
  PlayResult result = pools->result;
  const char *here = ScriptPoolClass(class);

  if (result->message[0] != '\0' || strcmp(class, here) == 0 || strcmp(class, "malloc") == 0)
    return here;
  snprintf(result->message, sizeof result->message, "pools of class %s are %s here%s",
           class[0] == '\0' ? "unknown" : class, here,
           strcmp(class, "AMS") == 0 ? ": objects are freed where they were reclaimed, and nothing is marked" : "");
  return here;
}

/* childPoolsAlign -- leave of the parameters only `align`; returns how many there are then */
static Count childPoolsAlign(PoolParamStruct *params, Count n)
{
  Index i;

  for (i = 0; i < n; ++i)
    if (strcmp(params[i].name, "align") == 0) {
      params[0] = params[i];
      return 1;
    }
  return 0;
}

static Res childPoolsCreate(void *data, PlayPool playPool, Index number)
{
  ChildPools pools = data;
  const ScriptPoolStruct *recorded = (const ScriptPoolStruct *)PlayTable(pools->play, ScriptPOOLS) + number;
  const char *class = childPoolsClass(pools, recorded->class);
  PoolParamStruct params[PoolParamMAX];
  Count i, n = childPoolsParams(params, pools->play, recorded);
  Arena arena;
  Pool pool;
  Res res = childPoolsArena(&arena, pools, recorded->arena);

  if (strcmp(class, recorded->class) != 0)
    n = strcmp(class, "MVFF") == 0 ? childPoolsAlign(params, n) : 0;
  if (res == ResOK)
    res = PoolCreate(&pool, arena, class, params, n);
  if (res != ResOK)
    return res;
  playPool->pool = pool;
  for (i = 0; i < n; ++i)
    if (strcmp(params[i].name, "align") == 0)
      playPool->align = params[i].value;
  return ResOK;
}

static void childPoolsDestroy(void *data, PlayPool pool)
{
  UNUSED(data);
  PoolDestroy(pool->pool);
}

/* childPoolsFind -- an allocator that makes the script's arenas and pools again.  FALSE: the message says why not; else
 * it may say later what cannot be as it was recorded. */
static Bool childPoolsFind(PlayAllocator allocatorReturn, Play play, PlayResult result)
{
  static ChildPoolsStruct pools;
  Count arenas = PlayTableCount(play, ScriptARENAS) + 1;
  void *room = mmap(NULL, arenas * sizeof(Arena), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (room == MAP_FAILED) {
    snprintf(result->message, sizeof result->message, "no memory for %zu arenas", arenas - 1);
    return FALSE;
  }
  SGFThreadsWatch();
  pools = (ChildPoolsStruct){.play = play, .result = result, .arenas = room};
  *allocatorReturn = (PlayAllocatorStruct){.data = &pools,
                                           .alloc = childPoolsAlloc,
                                           .resize = childPoolsResize,
                                           .free = childPoolsFree,
                                           .poolCreate = childPoolsCreate,
                                           .poolDestroy = childPoolsDestroy,
                                           .drops = TRUE};
  return TRUE;
}

/* ---- The parent's side ---- */

enum { childPauseMIN = 500000, childPauseMAX = 32000000 }; /* ns between two looks at the child's memory */

ReplayRun ReplayChildShare(int *fileReturn)
{
  int fd = memfd_create("replay-result", 0);
  ReplayRun run;

  if (fd < 0 || ftruncate(fd, sizeof *run) != 0)
    return NULL;
  run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *fileReturn = fd;
  return run != MAP_FAILED ? run : NULL;
}

/* childSet -- is this variable of our environment one that the child has from us, or must not have? */
static Bool childSet(const AllocatorStruct *allocator, const char *variable)
{
  static const char *const ours[] = {"PAWPRINT_", "LD_PRELOAD="};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(ours); ++i)
    if (strncmp(variable, ours[i], strlen(ours[i])) == 0)
      return TRUE;
  for (i = 0; i < allocator->settings; ++i)
    if (strncmp(variable, allocator->setting[i], (Size)(strchr(allocator->setting[i], '=') + 1 - allocator->setting[i])) == 0)
      return TRUE;
  return FALSE;
}

/* childEnvironment -- the child's environment: ours, with the allocator's library and settings, and our telemetry off;
 * NULL: no memory */
static char **childEnvironment(const AllocatorStruct *allocator, char preload[PATH_MAX + 16])
{
  Count n = 0, have = 0;
  char **environment;
  Index i;

  while (environ[have] != NULL)
    ++have;
  environment = calloc(have + allocator->settings + 4, sizeof *environment);
  if (environment == NULL)
    return NULL;
  for (i = 0; i < have; ++i)
    if (!childSet(allocator, environ[i]))
      environment[n++] = environ[i];
  for (i = 0; i < allocator->settings; ++i)
    environment[n++] = (char *)(Word)allocator->setting[i];
  environment[n++] = (char *)(Word) "PAWPRINT_KINDS=none";
  environment[n++] = (char *)(Word) "PAWPRINT_BUFFER=none";
  if (allocator->library[0] != '\0') {
    snprintf(preload, PATH_MAX + 16, "LD_PRELOAD=%s", allocator->library);
    environment[n++] = preload;
  }
  return environment;
}

/* childWait -- wait until the child has ended; one that has more than so many bytes resident is killed.  Returns
 * how many it had then; 0: it was not. */
static uint64_t childWait(pid_t pid, uint64_t most, int *status)
{
  long pause = childPauseMIN;
  uint64_t had = 0, now;
  pid_t ended;

  while ((ended = waitpid(pid, status, most > 0 && had == 0 ? WNOHANG : 0)) <= 0) {
    if (ended < 0 && errno != EINTR)
      return had;
    if (ended < 0 || most == 0 || had > 0)
      continue;
    now = ResidentOf(pid);
    if (now > most && kill(pid, SIGKILL) == 0)
      had = now;
    (void)nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    pause = pause < childPauseMAX ? 2 * pause : pause;
  }
  return had;
}

Bool ReplayChildRun(ReplayRun run, int file, const AllocatorStruct *allocator, const PlayParamsStruct *params)
{
  char text[16], preload[PATH_MAX + 16];
  char *argv[] = {(char *)(Word)"replay", (char *)(Word)ReplayChildWORD, text, NULL};
  char **environment = childEnvironment(allocator, preload);
  PlayResult result = &run->result;
  int status = 0, error;
  uint64_t had;
  pid_t pid;

  *run = (ReplayRunStruct){.kind = allocator->kind, .params = *params};
  snprintf(text, sizeof text, "%d", file);
  error = environment == NULL                    ? ENOMEM
          : fcntl(params->fd, F_SETFD, 0) != 0 ? errno
                                               : posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environment);
  free(environment);
  if (error != 0) {
    snprintf(result->message, sizeof result->message, "cannot start a process: %s", strerror(error));
    return FALSE;
  }
  had = childWait(pid, params->memory, &status);
  result->message[sizeof result->message - 1] = '\0'; /* the allocator may have written there */
  if (WIFSIGNALED(status) && had > 0) {
    snprintf(result->message, sizeof result->message,
             "ended, because it had %llu MiB of memory where %llu are available", (unsigned long long)had >> 20,
             (unsigned long long)params->memory >> 20);
    return FALSE;
  }
  if (WIFSIGNALED(status)) {
    snprintf(result->message, sizeof result->message, "killed by signal %d", WTERMSIG(status));
    return FALSE;
  }
  if (!result->done && result->message[0] == '\0')
    snprintf(result->message, sizeof result->message, "ended with status %d before the replay was over",
             WEXITSTATUS(status));
  return result->done;
}

/* ---- Allocators that are malloc.  The linker finds their functions, as it would for a program. ---- */

/* Functions that the library lacks, besides malloc, free and realloc: they are made from those that it has. */
static struct {
  Bool calloc, align, memalign;
} childLacks;

/* childMalloc -- to the compiler some function: it makes a call of calloc out of malloc and memset, if it can see them
 */
static void *(*volatile childMalloc)(size_t) = malloc;

static void *childAlloc(void *pool, Size size, Size align, Bool zero)
{
  void *p;

  UNUSED(pool);
  if (align != 0 && !childLacks.align)
    return posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size) == 0 ? p : NULL;
  if (align != 0 && !childLacks.memalign)
    return memalign(align, size);
  if (!zero)
    return malloc(size);
  if (!childLacks.calloc)
    return calloc(1, size);
  p = childMalloc(size);
  return p == NULL ? NULL : memset(p, 0, size);
}

static void *childResize(void *pool, void *old, Size oldSize, Size size)
{
  UNUSED(pool);
  UNUSED(oldSize);
  /* realloc(p, 0) may free: an object of no bytes is asked for as one of one. */
  return realloc(old, size == 0 ? 1 : size);
}

static void childFree(void *pool, void *addr, Size size)
{
  UNUSED(pool);
  UNUSED(size);
  free(addr);
}

/* childBase -- the object (library) with the function that the linker finds; NULL if there is none */
static const void *childBase(const char *name)
{
  void *function = dlsym(RTLD_DEFAULT, name);
  Dl_info info;

  return function != NULL && dladdr(function, &info) != 0 ? info.dli_fbase : NULL;
}

/* childLibrary -- is the malloc family that of the library that is preloaded?  All of it must come from one place.
 * FALSE: the message says why not. */
static Bool childLibrary(PlayResult result)
{
  static const char *const needed[] = {"free", "realloc"};
  const void *base = childBase("malloc");
  Index i;

  if (base == NULL || base == childBase("gnu_get_libc_version")) {
    snprintf(result->message, sizeof result->message, "could not be loaded, or has no malloc");
    return FALSE;
  }
  for (i = 0; i < ARRAY_LENGTH(needed); ++i)
    if (childBase(needed[i]) != base) {
      snprintf(result->message, sizeof result->message, "has no %s", needed[i]);
      return FALSE;
    }
  childLacks.calloc = childBase("calloc") != base;
  childLacks.align = childBase("posix_memalign") != base;
  childLacks.memalign = childBase("memalign") != base;
  if (childLacks.align && childLacks.memalign)
    snprintf(result->message, sizeof result->message, "has no posix_memalign: no alignments");
  return TRUE;
}

/* ---- The child's side ---- */

/* childAllocator -- FALSE: the message says why there is none */
static Bool childAllocator(PlayAllocator allocator, PlayResult result, Play play, ReplayKind kind)
{
  if (kind == ReplayPAWPRINT)
    return childPoolsFind(allocator, play, result);
  if (kind == ReplayNONE) {
    *allocator = (PlayAllocatorStruct){.nothing = TRUE};
    return TRUE;
  }
  *allocator = (PlayAllocatorStruct){.alloc = childAlloc, .resize = childResize, .free = childFree};
  return kind == ReplayLIBC || childLibrary(result);
}

/* childFirst -- if the system has no memory left, let this process be the one that it kills */
static void childFirst(void)
{
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

  if (fd >= 0) {
    (void)!write(fd, "1000", 4);
    close(fd);
  }
}

int ReplayChildMain(int argc, char **argv)
{
  PlayAllocatorStruct allocator;
  ReplayRun run;
  Play play;

  if (argc != 3)
    return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  childFirst();
  run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
  if (run == MAP_FAILED)
    return 2;
  play = PlayLoad(&run->result, &run->params);
  if (play == NULL || !childAllocator(&allocator, &run->result, play, run->kind))
    return 1;
  PlayRun(play, &allocator);
  _exit(run->result.done ? 0 : 1); /* no normal end: the allocator's exit handlers are not wanted, and all has been
                                      measured */
}
