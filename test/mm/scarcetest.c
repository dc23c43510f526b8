/* scarcetest.c -- memory runs out: whichever mapping fails, each call answers, and nothing is lost but what was refused
 *
 * A run of calls is done again and again, and the n-th mapping of it fails, for every n from 1 until a run has fewer;
 * and so again, with all mappings that follow failing, too.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mm/arena.h"
#include "mm/forks.h"
#include "mm/mallocpool.h"
#include "mm/pages.h"
#include "mm/pool.h"
#include "mm/poolsgf.h"
#include "tap.h"

enum { MANY = 15, RUNS = 1000 };

/* An object: its first and last 16 bytes are filled with a byte of its own. */
typedef struct ThingStruct {
  unsigned char *p;
  Size size;
  unsigned char byte;
} ThingStruct, *Thing;

static const Size sizes[] = {40, 5000, 70000, 300, 300000, 16, 200000, 17 << 20, 60000, 100, 1 << 20, 1200};
enum { HUGE = 7 };

static unsigned refused; /* calls that answered that there is no memory; atomic */
static Count left;       /* PagesFailAt when a run was over */

/* again -- there is memory again */
static void again(void)
{
  left = __atomic_exchange_n(&PagesFailAt, 0, __ATOMIC_RELAXED);
}

static void refuse(void) { (void)__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED); }

static void thingFill(Thing thing)
{
  memset(thing->p, thing->byte, 16);
  memset(thing->p + thing->size - 16, thing->byte, 16);
}

static Bool thingWhole(const ThingStruct *thing, Size size)
{
  const unsigned char *p = thing->p;
  unsigned char want[16];

  memset(want, thing->byte, sizeof want);
  return memcmp(p, want, 16) == 0 && (size < thing->size || memcmp(p + thing->size - 16, want, 16) == 0);
}

/* An allocator: functions that give NULL where there is no memory. */
typedef struct MakerStruct {
  Pool pool; /* NULL: the process's malloc */
  Bool fixed;
  Bool segregated; /* what is large is not copied where it grows */
  Bool good; /* FALSE: something is wrong; atomic */
} MakerStruct, *Maker;

static void *makerAlloc(Maker maker, Size size, Index i)
{
  Addr addr = NULL;
  Res res;

  if (maker->pool == NULL)
    return i % 5 == 0 ? MMAllocAligned(size, 4096) : i % 3 == 0 ? MMAllocZero(size) : MMAlloc(size);
  res = i % 5 == 0 && !maker->fixed ? PoolAllocAligned(&addr, maker->pool, size, 4096)
        : i % 3 == 0                ? PoolAllocZero(&addr, maker->pool, size)
                                    : PoolAlloc(&addr, maker->pool, size);
  if (res != ResOK && res != ResMEMORY)
    __atomic_store_n(&maker->good, FALSE, __ATOMIC_RELAXED);
  return res == ResOK ? addr : NULL;
}

static void *makerResize(Maker maker, void *p, Size size, Size to)
{
  Addr addr = NULL;
  Res res;

  if (maker->pool == NULL)
    return MMResize(p, to);
  res = PoolResize(&addr, maker->pool, p, size, to);
  if (res != ResOK && res != ResMEMORY)
    __atomic_store_n(&maker->good, FALSE, __ATOMIC_RELAXED);
  return res == ResOK ? addr : NULL;
}

static void makerFree(Maker maker, void *p, Size size)
{
  if (maker->pool != NULL)
    PoolFree(maker->pool, p, size);
  else if (!MMFree(p))
    __atomic_store_n(&maker->good, FALSE, __ATOMIC_RELAXED);
}

static void makerGet(Thing thing, Maker maker, Index i)
{
  thing->size = maker->fixed ? 1000 : sizes[i % ARRAY_LENGTH(sizes)];
  thing->byte = (unsigned char)(i + 1);
  thing->p = makerAlloc(maker, thing->size, i);
  if (thing->p == NULL)
    refuse();
  else
    thingFill(thing);
}

static void makerGrow(Thing thing, Maker maker, Size to)
{
  void *p;

  if (thing->p == NULL)
    return;
  p = makerResize(maker, thing->p, thing->size, to);
  if (p == NULL) {
    refuse();
    return; /* it lives on, which is looked at when it is freed */
  }
  thing->p = p;
  if (!thingWhole(thing, to < thing->size ? 16 : thing->size))
    __atomic_store_n(&maker->good, FALSE, __ATOMIC_RELAXED);
  thing->size = to;
  thingFill(thing);
}

/* things -- what each thread does */
static void *things(void *closure)
{
  Maker maker = closure;
  ThingStruct thing[MANY];
  Index i;

  for (i = 0; i < MANY; ++i)
    makerGet(&thing[i], maker, i);
  for (i = 0; i < MANY - 5 && !maker->fixed; i += 2)
    makerGrow(&thing[i], maker, thing[i].size * (thing[i].size < 100000 ? 5 : 1) + 100);
  if (maker->segregated)
    makerGrow(&thing[HUGE], maker, (Size)80 << 20);
  for (i = 0; i < MANY && !maker->fixed; i += 3)
    makerGrow(&thing[i], maker, 50);
  for (i = 0; i < MANY; ++i) {
    if (thing[i].p == NULL)
      continue;
    if (!thingWhole(&thing[i], thing[i].size))
      __atomic_store_n(&maker->good, FALSE, __ATOMIC_RELAXED);
    makerFree(maker, thing[i].p, thing[i].size);
  }
  return NULL;
}

static void *thread(void *closure)
{
  (void)things(closure);
  SGFThreadExit();
  return NULL;
}

static void threads(Maker maker)
{
  pthread_t each[2];
  Index i;

  for (i = 0; i < ARRAY_LENGTH(each); ++i)
    if (pthread_create(&each[i], NULL, thread, maker) != 0)
      abort();
  for (i = 0; i < ARRAY_LENGTH(each); ++i)
    (void)pthread_join(each[i], NULL);
}

static void begin(Count n, Bool on)
{
  PagesFailOn = on;
  __atomic_store_n(&PagesFailAt, n, __ATOMIC_RELAXED);
}

/* poolRun -- one run with a pool; FALSE: something is wrong */
static Bool poolRun(const char *class)
{
  static const PoolParamStruct unit[] = {{"unitSize", 1000}, {"extendBy", 65536}};
  MakerStruct maker = {.fixed = strcmp(class, "MFS") == 0, .segregated = strncmp(class, "SGF", 3) == 0, .good = TRUE};
  Arena arena;
  unsigned before;

  left = 0;
  if (ArenaCreate(&arena, ChunkSIZE) != ResOK) {
    refuse();
    again();
    return TRUE;
  }
  if (PoolCreate(&maker.pool, arena, class, unit, maker.fixed ? 2 : 0) == ResOK) {
    threads(&maker);
    maker.good = maker.good && PoolCheck(maker.pool) && ArenaCheck(arena);
    again();
    before = refused;
    (void)things(&maker);
    maker.good = maker.good && refused == before && PoolCheck(maker.pool);
    PoolDestroy(maker.pool);
  } else {
    refuse();
  }
  again();
  maker.good = maker.good && ArenaCheck(arena);
  ArenaDestroy(arena);
  return maker.good;
}

static void testPool(const char *class, Bool on)
{
  Bool good = TRUE, reached = TRUE;
  Count n;

  refused = 0;
  for (n = 1; good && reached && n < RUNS; ++n) {
    unsigned before = refused;
    begin(n, on);
    good = poolRun(class);
    reached = refused != before || n < 20;
    if (!reached) { /* perhaps the mapping that failed could be done without: look a little further */
      begin(n + 3, on);
      before = refused;
      good = good && poolRun(class);
      reached = refused != before;
    }
  }
  TapOk(good && n < RUNS && refused > 3, "%s: the n-th mapping%s fails, n to %lu: %u refusals, and all is sound", class,
        on ? " and all that follow" : "", (unsigned long)n, refused);
  SGFThreadExit();
}

/* ---- The process's malloc ---- */

enum { childGOOD = 0, childREFUSED = 10, childWRONG = 11 };

/* forked -- a child, which allocates; its status */
static int forked(Maker maker)
{
  int status = 0;
  pid_t pid;

  MMForkPrepare();
  pid = fork();
  MMForkDone();
  if (pid == 0) {
    (void)things(maker);
    _exit(maker->good ? childGOOD : childWRONG);
  }
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : childWRONG;
}

/* mallocRun -- a process whose malloc is made anew */
static int mallocRun(Count n, Bool on)
{
  MakerStruct maker = {.good = TRUE, .segregated = TRUE};
  unsigned before = 0;

  refused = 0;
  begin(n, on);
  (void)things(&maker);
  threads(&maker);
  if (forked(&maker) != childGOOD)
    return childWRONG;
  before = refused;
  again();
  (void)things(&maker);
  if (!maker.good || refused != before || !PoolCheck(MMPool()) || !ArenaCheck(PoolArena(MMPool())))
    return childWRONG;
  return before > 0 ? childREFUSED : childGOOD;
}

static void testMalloc(Bool on)
{
  Count n, some = 0, none = 0;
  Bool good = TRUE;

  for (n = 1; good && none < 5 && n < RUNS; ++n) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
      _exit(mallocRun(n, on));
    good = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != childWRONG;
    if (good && WEXITSTATUS(status) == childREFUSED)
      ++some, none = 0;
    else
      ++none;
  }
  TapOk(good && some > 5 && n < RUNS,
        "malloc: the n-th mapping%s fails, n to %lu, in threads and children, too: %lu runs with refusals, and all is sound",
        on ? " and all that follow" : "", (unsigned long)n, (unsigned long)some);
}

/* The thread sanitizer has no threads in a forked child. */
#if defined(__SANITIZE_THREAD__)
enum { forks = FALSE };
#else
enum { forks = TRUE };
#endif

int main(void)
{
  static const char *const classes[] = {"MFS", "MVFF", "SGF", "MVFFDebug", "SGFDebug"};
  Index i;

  if (forks) {
    testMalloc(FALSE);
    testMalloc(TRUE);
  } else {
    TapSkip("no threads in a forked child under this sanitizer");
  }
  for (i = 0; i < ARRAY_LENGTH(classes); ++i) {
    testPool(classes[i], FALSE);
    testPool(classes[i], TRUE);
  }
  return TapDone();
}
