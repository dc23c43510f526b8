/* debugtest.c -- debug varieties of pools find what a client does wrong, and nothing where it does not
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mm/arena.h"
#include "mm/misuse.h"
#include "mm/pool.h"
#include "mm/pooldebug.h"
#include "tap.h"

static Arena arena;

static Pool newPool(const char *class, const PoolParamStruct *params, Count n)
{
  Pool pool = NULL;

  if (PoolCreate(&pool, arena, class, params, n) != ResOK)
    abort();
  return pool;
}

static char *take(Pool pool, Size size)
{
  Addr addr = NULL;

  if (PoolAlloc(&addr, pool, size) != ResOK)
    abort();
  return (char *)addr;
}

static void give(Pool pool, void *p, Size size) { PoolFree(pool, (Addr)p, size); }

/* -- what is wrong -- */

static void twice(Pool pool, Size size)
{
  char *p = take(pool, size);

  give(pool, p, size);
  give(pool, p, size);
}

static void twiceLater(Pool pool, Size size)
{
  char *p = take(pool, size);
  int i;

  give(pool, p, size);
  for (i = 0; i < 300; ++i)
    give(pool, take(pool, 1000), 1000);
  give(pool, p, size);
}

static void inner(Pool pool, Size size) { give(pool, take(pool, size) + 16, size); }
static void innerOdd(Pool pool, Size size) { give(pool, take(pool, size) + 1, size); }

static void foreign(Pool pool, Size size)
{
  static char room[64] __attribute__((aligned(16)));

  give(pool, room, size);
}

static void behind(Pool pool, Size size)
{
  char *p = take(pool, size);

  p[size] = 1;
  give(pool, p, size);
}

static void farBehind(Pool pool, Size size)
{
  char *p = take(pool, size);

  p[size + 15] = 1;
  give(pool, p, size);
}

static void inFront(Pool pool, Size size)
{
  char *p = take(pool, size);

  p[-8] = (char)~p[-8]; /* what is written must be something else */
  give(pool, p, size);
}

/* inFrontFar -- a word of the header, another one for each size, is set */
static void inFrontFar(Pool pool, Size size)
{
  Word *p = (Word *)(void *)take(pool, size);

  p[-2 - (int)(size % 7)] = size % 2 == 0 ? ~(Word)0 : 1;
  give(pool, p, size);
}

static void after(Pool pool, Size size)
{
  char *p = take(pool, size);

  give(pool, p, size);
  p[size - 1] = 1;
  PoolDestroy(pool);
}

static void afterSoon(Pool pool, Size size)
{
  char *p = take(pool, size);
  int i;

  give(pool, p, size);
  p[0] = 1;
  for (i = 0; i < 1000; ++i)
    give(pool, take(pool, 1000), 1000);
  exit(7); /* before the pool is destroyed */
}

static void resizeFreed(Pool pool, Size size)
{
  char *p = take(pool, size);
  Addr addr;

  give(pool, p, size);
  (void)PoolResize(&addr, pool, (Addr)p, size, 2 * size);
}

static void otherSize(Pool pool, Size size) { give(pool, take(pool, size), size + 1); }

static const struct {
  const char *name, *says;
  void (*act)(Pool pool, Size size);
  Bool sized; /* only where the size of a free counts */
} faults[] = {
  {"a second free", "free or resize of an object that is free already", twice, FALSE},
  {"a second free when it has left the quarantine", "free or resize of an object that is free already", twiceLater,
   FALSE},
  {"a free inside an object", "free or resize of an address inside an object", inner, FALSE},
  {"a free of an odd address inside one", "free or resize of an address inside an object", innerOdd, FALSE},
  {"a free of what is nobody's", "free or resize of what is no object", foreign, FALSE},
  {"a write right behind an object", "the memory behind an object was written to", behind, FALSE},
  {"a write 16 bytes behind it", "the memory behind an object was written to", farBehind, FALSE},
  {"a write before an object", "the memory before an object was written to", inFront, FALSE},
  {"a write far before an object", "the memory before an object was written to", inFrontFar, FALSE},
  {"a write after a free, at the end", "an object was written to after it was freed", after, FALSE},
  {"a write after a free, soon", "an object was written to after it was freed", afterSoon, FALSE},
  {"a resize of what was freed", "free or resize of an object that is free already", resizeFreed, FALSE},
  {"a free with another size", "free or resize of an object with another size than it has", otherSize, TRUE},
};

/* child -- do it with a pool of its own, and end; what it says goes to the pipe */
static void child(int to, const char *class, Size size, Index fault)
{
  static const PoolParamStruct small[] = {{"quarantine", 200000}};
  Pool pool = newPool(class, small, 1);

  (void)dup2(to, 2);
  (void)signal(SIGABRT, SIG_DFL);
  faults[fault].act(pool, size);
  _exit(8);
}

/* found -- is a fault found by the means that it is to be found by? */
static Bool found(const char *class, Size size, Index fault)
{
  static char said[65536];
  int ends[2], status = 0;
  size_t had = 0;
  ssize_t n;
  pid_t pid;

  if (pipe(ends) != 0)
    abort();
  pid = fork();
  if (pid == 0)
    child(ends[1], class, size, fault);
  (void)close(ends[1]);
  while (had < sizeof said - 1 && (n = read(ends[0], said + had, sizeof said - 1 - had)) > 0)
    had += (size_t)n;
  said[had] = '\0';
  (void)close(ends[0]);
  if (pid < 0 || waitpid(pid, &status, 0) != pid)
    abort();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(said, "pawprint: ", 10) == 0 &&
      strncmp(said + 10, faults[fault].says, strlen(faults[fault].says)) == 0 && strstr(said, class) != NULL)
    return TRUE;
  printf("# %s, %zu bytes: status %x, said: %s\n", class, size, (unsigned)status, said);
  return FALSE;
}

static void testFaults(const char *class, Bool sized)
{
  static const Size sizes[] = {17, 64, 1000, 20000, 70000, 150000};
  Index i, k;

  for (i = 0; i < ARRAY_LENGTH(faults); ++i) {
    Bool all = TRUE;
    if (faults[i].sized && !sized)
      continue;
    for (k = 0; k < ARRAY_LENGTH(sizes); ++k)
      all &= found(class, sizes[k], i);
    TapOk(all, "%s: %s is found, whatever the size", class, faults[i].name);
  }
}

/* -- what is right -- */

enum { MANY = 600, STEPS = 60000 };

static struct {
  unsigned char *p;
  Size size;
  unsigned char byte;
} object[MANY];

static Bool whole(Index i, Size size)
{
  const unsigned char *p = object[i].p;

  return size == 0 || (p[0] == object[i].byte && memcmp(p, p + 1, size - 1) == 0);
}

static void fill(Index i, Size size, unsigned byte)
{
  object[i].size = size;
  object[i].byte = (unsigned char)byte;
  memset(object[i].p, (int)byte, size);
}

static Size randomSize(uint64_t *state)
{
  Size most = TapRandom(state) % 50 == 0 ? 300000 : TapRandom(state) % 10 == 0 ? 5000 : 200;

  return 1 + TapRandom(state) % most;
}

/* makeOne -- an object at place `i`, by one of the ways; FALSE: it is not as it should be */
static Bool makeOne(Pool pool, Index i, uint64_t *state)
{
  Size size = randomSize(state), align = (Size)16 << TapRandom(state) % 9;
  unsigned way = (unsigned)(TapRandom(state) % 3);
  Addr addr = NULL;
  Res res = way == 0   ? PoolAlloc(&addr, pool, size)
            : way == 1 ? PoolAllocZero(&addr, pool, size)
                       : PoolAllocAligned(&addr, pool, size, align);

  object[i].p = (void *)addr;
  object[i].byte = way == 1 ? 0 : PoolDebugFRESH;
  if (res != ResOK || PoolDebugSize(pool, addr) != size || (Word)addr % (way == 2 ? align : 16) != 0 ||
      object[i].p[-1] != PoolDebugFENCE || /* so that a 0 there is always found */
      !whole(i, size < 60000 ? size : 30000))
    return FALSE;
  fill(i, size, 1 + (unsigned)(TapRandom(state) % 250));
  return TRUE;
}

static Bool resizeOne(Pool pool, Index i, uint64_t *state)
{
  Size size = randomSize(state), kept = size < object[i].size ? size : object[i].size;
  Addr addr = NULL;

  if (PoolResize(&addr, pool, (Addr)(void *)object[i].p, object[i].size, size) != ResOK)
    return FALSE;
  object[i].p = (void *)addr;
  if (PoolDebugSize(pool, addr) != size || !whole(i, kept))
    return FALSE;
  fill(i, size, 1 + (unsigned)(TapRandom(state) % 250));
  return TRUE;
}

static void testRight(const char *class, uint64_t state)
{
  static const PoolParamStruct params[] = {{"quarantine", 3000000}};
  Pool pool = newPool(class, params, 1);
  Bool good = TRUE;
  unsigned step;
  Index i;

  memset(object, 0, sizeof object);
  for (step = 0; good && step < STEPS; ++step) {
    i = TapRandom(&state) % MANY;
    if (object[i].p == NULL)
      good = makeOne(pool, i, &state);
    else if (!whole(i, object[i].size))
      good = FALSE;
    else if (TapRandom(&state) % 4 == 0)
      good = resizeOne(pool, i, &state);
    else
      give(pool, object[i].p, object[i].size), object[i].p = NULL;
    if (step % 5000 == 0)
      good = good && PoolCheck(pool);
  }
  TapOk(good, "%s: objects at random are as asked for, and keep their contents (step %u)", class, step);
  TapOk(PoolCheck(pool) && ArenaCheck(arena), "%s: the pool is sound", class);
  for (i = 0; i < MANY; ++i)
    if (object[i].p != NULL)
      give(pool, object[i].p, object[i].size);
  PoolDebugDrain(pool);
  TapOk(pool->debug->held == 0 && pool->debug->count == 0 && PoolCheck(pool), "%s: the quarantine can be emptied", class);
  PoolDestroy(pool);
  TapOk(ArenaCheck(arena), "%s: and the pool destroyed", class);
}

static void testQuarantine(const char *class)
{
  static const PoolParamStruct params[] = {{"quarantine", 1 << 20}};
  Pool pool = newPool(class, params, 1);
  char *p = take(pool, 100);
  Bool again = FALSE;
  int i;

  give(pool, p, 100);
  for (i = 0; i < 1000; ++i)
    again |= take(pool, 100) == p;
  TapOk(!again, "%s: what was freed is not allocated while it is in quarantine", class);
  for (i = 0; i < 2000; ++i)
    give(pool, take(pool, 1000), 1000);
  TapOk(pool->debug->held <= 1 << 20, "%s: the quarantine keeps to its limit", class);
  for (i = 0; i < 100000 && !again; ++i)
    again |= take(pool, 100) == p;
  TapOk(again, "%s: what has left it is allocated again", class);
  p = take(pool, 50 << 20);
  give(pool, p, 50 << 20);
  TapOk(pool->debug->held <= 1 << 20, "%s: a large object in quarantine counts for its ends", class);
  for (i = 0; i < 20; ++i)
    give(pool, take(pool, 10 << 20), 10 << 20);
  TapOk(pool->debug->space <= PoolDebugSPACE << 20 && pool->debug->count > 1 && PoolCheck(pool),
        "%s: and there is a limit to the addresses of such objects", class);
  PoolDestroy(pool);
}

/* testPoor -- memory that is in quarantine serves before an allocation fails */
static void testPoor(const char *class)
{
  Arena rich = arena;
  Pool pool;
  Addr addr;
  int i, failed = 0;

  if (ArenaCreate(&arena, ChunkSIZE) != ResOK)
    return;
  pool = newPool(class, NULL, 0);
  (void)ArenaCommitLimitSet(arena, 16 << 20);
  for (i = 0; i < 30000; ++i)
    if (PoolAlloc(&addr, pool, 1000) == ResOK)
      give(pool, (void *)addr, 1000);
    else
      ++failed;
  TapIs(failed, 0, "%s: what is in quarantine makes no allocation fail", class);
  PoolDestroy(pool);
  ArenaDestroy(arena);
  arena = rich;
}

int main(void)
{
  uint64_t seed = TapSeed();

  if (ArenaCreate(&arena, ChunkSIZE) != ResOK)
    return 1;
  testRight("MVFFDebug", seed);
  testRight("SGFDebug", seed + 1);
  testQuarantine("MVFFDebug");
  testQuarantine("SGFDebug");
  testPoor("MVFFDebug");
  testPoor("SGFDebug");
  testFaults("MVFFDebug", TRUE);
  testFaults("SGFDebug", FALSE);
  ArenaDestroy(arena);
  return TapDone();
}
