/* amsscarcetest.c -- memory runs out for a pool that collects: whichever mapping fails, each call answers
 *
 * As test/mm/scarcetest.c: a run is done again and again, and its n-th mapping fails, for every n; and so again, with all
 * that follow failing, too.  In a run are allocations of all sizes, roots, finalization, threads that register and end,
 * whole collections and some in steps, with mappings failing in their middle, and a fork.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ams/amsdata.h"
#include "mm/arena.h"
#include "mm/pages.h"
#include "tap.h"

extern const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_stack_use_after_return=0"; }

enum { CHAIN = 3000, RUNS = 1000 };

/* An object: its size, the next one, a number; the rest is not looked at. */
typedef struct ObjectStruct {
  Word size;
  Addr next;
  Word number;
} ObjectStruct, *Object;

#define objectOf(ref) ((Object)(void *)(ref))

static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  Addr *slot = &objectOf(ref)->next;

  if ((Addr)slot >= base && (Addr)slot < limit)
    AMSFix(scan, __atomic_load_n(slot, __ATOMIC_RELAXED));
}

static Addr formatSkip(Addr ref) { return (Addr)((Word)ref + objectOf(ref)->size); }

static const AMSFormatStruct format = {16, 0, formatScan, formatSkip};

static unsigned refused;

static Bool refuse(Res res)
{
  if (res != ResOK)
    (void)__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
  return res == ResOK || res == ResMEMORY;
}

static const Size sizes[] = {32, 48, 1008, 32, 40000, 32, 32, 70000, 64, 32, 500000, 32};

/* make -- an object in front of a chain; FALSE: it answers with what it must not */
static Bool make(Addr *chainIO, AMSAP ap, Word number)
{
  Size size = sizes[number % ARRAY_LENGTH(sizes)];
  Object object;
  Addr addr;
  Res res;

  if (number % 200 != 0 && size > 1008)
    size = 32;
  do {
    res = AMSReserve(&addr, ap, size);
    if (res != ResOK)
      return refuse(res);
    object = objectOf(addr);
    object->size = size;
    object->number = number;
    object->next = *chainIO;
  } while (!AMSCommit(ap, addr, size));
  *chainIO = addr;
  return TRUE;
}

/* whole -- do the numbers of a chain fall? */
static Bool whole(Addr chain)
{
  Word last = ~(Word)0;

  for (; chain != NULL; chain = objectOf(chain)->next) {
    if (objectOf(chain)->number >= last)
      return FALSE;
    last = objectOf(chain)->number;
  }
  return TRUE;
}

typedef struct RunStruct {
  Pool pool;
  Bool good; /* FALSE: something is wrong; atomic */
} RunStruct, *Run;

static void wrong(Run run) { __atomic_store_n(&run->good, FALSE, __ATOMIC_RELAXED); }

/* mutate -- allocate, some of it to be kept, and collect in between */
static void mutate(Run run, AMSAP ap, Addr *root, Addr *weak)
{
  Addr lost = NULL, got;
  Word i;

  for (i = 0; i < CHAIN; ++i) {
    if (!make(i % 3 == 0 ? root : &lost, ap, i))
      wrong(run);
    if (i % 500 == 100 && *root != NULL && !refuse(AMSFinalize(run->pool, *root)))
      wrong(run);
    if (i % 500 == 101 && lost != NULL && !refuse(AMSFinalize(run->pool, lost)))
      wrong(run);
    if (i % 1000 == 500)
      lost = NULL;
    if (i == 700 && !refuse(AMSCollect(run->pool)))
      wrong(run);
    if (i == 1500 && !refuse(AMSStart(run->pool)))
      wrong(run);
    if (i > 1500 && i % 50 == 0)
      (void)AMSStep(run->pool, 200);
  }
  __atomic_store_n(weak, *root, __ATOMIC_RELAXED);
  if (!refuse(AMSCollect(run->pool)) || AMSWeakGet(run->pool, weak) != *root)
    wrong(run);
  while (AMSMessageGet(&got, run->pool))
    if (objectOf(got)->size < 32)
      wrong(run);
}

static void *mutator(void *closure)
{
  Run run = closure;
  AMSRoot exact = NULL, weakly = NULL;
  AMSAP ap = NULL;
  Addr root[1] = {NULL}, weak[1] = {NULL};
  Res res = AMSThreadRegister();

  if (res != ResOK) {
    if (!refuse(res))
      wrong(run);
    return NULL;
  }
  res = AMSAPCreate(&ap, run->pool);
  if (res == ResOK)
    res = AMSRootCreateTable(&exact, run->pool, AMSRankEXACT, root, 1);
  if (res == ResOK)
    res = AMSRootCreateTable(&weakly, run->pool, AMSRankWEAK, weak, 1);
  if (res == ResOK)
    mutate(run, ap, root, weak);
  if (!refuse(res) || !whole(root[0]))
    wrong(run);
  if (weakly != NULL)
    AMSRootDestroy(weakly);
  if (exact != NULL)
    AMSRootDestroy(exact);
  if (ap != NULL)
    AMSAPDestroy(ap);
  AMSThreadDeregister();
  return NULL;
}

/* What the thread sanitizer does in the child of a process with threads is its own business. */
#if defined(__SANITIZE_THREAD__)
enum { forks = FALSE };
#else
enum { forks = TRUE };
#endif

/* forked -- the child of a fork goes on with the pool */
static void forked(Run run)
{
  int status = 0;
  pid_t pid = fork();

  if (pid == 0) {
    (void)mutator(run);
    _exit(!run->good);
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
    wrong(run);
}

/* once -- one run; FALSE: something is wrong */
static Bool once(void)
{
  RunStruct run = {.good = TRUE};
  pthread_t thread[2];
  Arena arena;
  unsigned before;
  Index i;
  Res res = ArenaCreate(&arena, ChunkSIZE);

  if (res != ResOK)
    return refuse(res);
  res = AMSCreate(&run.pool, arena, &format, NULL, 0);
  if (res == ResOK) {
    for (i = 0; i < ARRAY_LENGTH(thread); ++i)
      if (pthread_create(&thread[i], NULL, mutator, &run) != 0)
        abort();
    for (i = 0; i < ARRAY_LENGTH(thread); ++i)
      (void)pthread_join(thread[i], NULL);
    if (forks)
      forked(&run);
    run.good = run.good && PoolCheck(run.pool) && ArenaCheck(arena);
    PagesFailAt = 0; /* there is memory again */
    before = refused;
    (void)mutator(&run);
    run.good = run.good && refused == before && AMSCollect(run.pool) == ResOK && PoolCheck(run.pool);
    PoolDestroy(run.pool);
  } else if (!refuse(res)) {
    return FALSE;
  }
  PagesFailAt = 0;
  run.good = run.good && ArenaCheck(arena);
  ArenaDestroy(arena);
  return run.good;
}

static void testRuns(Bool on)
{
  Count n, none = 0;
  Bool good = TRUE;

  refused = 0;
  for (n = 1; good && none < 5 && n < RUNS; ++n) {
    unsigned before = refused;
    PagesFailOn = on;
    PagesFailAt = n;
    good = once();
    none = refused == before ? none + 1 : 0;
  }
  TapOk(good && n < RUNS && refused > 5, "the n-th mapping%s fails, n to %lu: %u refusals, and all is sound",
        on ? " and all that follow" : "", (unsigned long)n, refused);
}

int main(void)
{
  testRuns(FALSE);
  testRuns(TRUE);
  return TapDone();
}
