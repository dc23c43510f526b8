/* amstest.c -- what an AMS pool promises, one thing after the other
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ams/amsdata.h"
#include "mm/arena.h"
#include "tap.h"

extern const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_stack_use_after_return=0"; }

/* An object: its size, and references. */
typedef struct ObjectStruct {
  Word size;
  Addr ref[];
} ObjectStruct, *Object;

#define refCount(object) (((object)->size - sizeof(ObjectStruct)) / sizeof(Addr))
#define objectOf(ref)    ((Object)(void *)(ref))

static unsigned long scans; /* calls of formatScan, */
static Size scanMax;        /* and the most bytes of one */

static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  Object object = objectOf(ref);
  Word from = (Word)base > (Word)object->ref ? (Word)base : (Word)object->ref;
  Word end = (Word)ref + object->size, at;

  if ((Word)limit < end)
    end = (Word)limit;
  ++scans;
  if (end > from && scanMax < end - from)
    scanMax = end - from;
  for (at = from; at < end; at += sizeof(Addr))
    AMSFix(scan, __atomic_load_n((Addr *)at, __ATOMIC_RELAXED));
}

static Addr formatSkip(Addr ref) { return (Addr)((Word)ref + objectOf(ref)->size); }

static const AMSFormatStruct format = { 16, 0, formatScan, formatSkip };

static Arena arena;

static Pool newPool(const PoolParamStruct *params, Count n)
{
  Pool pool;

  if (AMSCreate(&pool, arena, &format, params, n) != ResOK)
    abort();
  return pool;
}

/* make -- an object with `count` references, all NULL; NULL: no memory */
static Object make(AMSAP ap, Count count)
{
  Size size = WordAlignUp(sizeof(ObjectStruct) + count * sizeof(Addr), 16);
  Object object;
  Addr addr;

  do {
    if (AMSReserve(&addr, ap, size) != ResOK)
      return NULL;
    object = objectOf(addr);
    memset(object, 0, size);
    object->size = size;
  } while (!AMSCommit(ap, addr, size));
  return object;
}

static Size allocated(Pool pool)
{
  AMSStatsStruct stats;

  AMSStatsGet(&stats, pool);
  return stats.allocated;
}

static AMSAP newAP(Pool pool)
{
  AMSAP ap;

  if (AMSAPCreate(&ap, pool) != ResOK)
    abort();
  return ap;
}

static void table(Pool pool, AMSRank rank, Addr *base, Count count)
{
  AMSRoot root;

  if (AMSRootCreateTable(&root, pool, rank, base, count) != ResOK)
    abort();
}

#define CREATE_FAILS(what, name_, value_) \
  do { \
    static const PoolParamStruct params_[] = { { (name_), (value_) } }; \
    TapIs(AMSCreate(&pool, arena, &format, params_, 1), ResPARAM, "%s is refused", what); \
  } while (0)

static void testCreate(void)
{
  AMSFormatStruct odd = format;
  Addr addr;
  Pool pool;

  odd.align = 24;
  TapIs(AMSCreate(&pool, arena, &odd, NULL, 0), ResPARAM, "an alignment that is no power of two is refused");
  CREATE_FAILS("a parameter that is not there", "treshold", 1);
  CREATE_FAILS("a queue that is too short", "queue", 1);
  pool = newPool(NULL, 0);
  TapIs(PoolAlloc(&addr, pool, 16), ResPARAM, "objects come from allocation points only");
  TapIs(AMSFinalize(pool, (Addr)&pool), ResPARAM, "what is no object is not finalized");
  TapOk(PoolCheck(pool), "a new pool passes its check");
  PoolDestroy(pool);
}

static void testCycle(void)
{
  static Addr root[1];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  Object a, b;

  table(pool, AMSRankEXACT, root, 1);
  a = make(ap, 1);
  b = make(ap, 1);
  AMSWrite(pool, (Addr)a, &a->ref[0], (Addr)b);
  AMSWrite(pool, (Addr)b, &b->ref[0], (Addr)a);
  root[0] = (Addr)a;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 32, "a cycle lives while a root refers to it");
  root[0] = NULL;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 0, "a cycle that nothing refers to is taken back");
  TapOk(PoolCheck(pool), "the pool passes its check");
  AMSAPDestroy(ap);
  TapIs(AMSCollect(pool), ResOK, "without allocation points");
  TapIs(pool->segSize, 0, "an empty segment goes back to the arena");
  PoolDestroy(pool);
}

static void testList(void)
{
  enum { N = 1000000 };
  static Addr root[1];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  Object object;
  Addr addr;
  unsigned i, n = 0;

  table(pool, AMSRankEXACT, root, 1);
  for (i = 0; i < N; ++i) {
    object = make(ap, 1);
    object->ref[0] = root[0];
    root[0] = (Addr)object;
  }
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == (Size)N * 16,
        "a list of a million is marked without recursion");
  for (addr = root[0]; addr != NULL; addr = objectOf(addr)->ref[0])
    ++n;
  TapIs(n, N, "and is whole");
  root[0] = NULL;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 0, "and is taken back");
  PoolDestroy(pool);
}

/* testWide -- an object that refers to more than the queue holds: the rest is found by rescanning */
static void testWide(void)
{
  enum { N = 100000 };
  static const PoolParamStruct params[] = { { "queue", 16 } };
  static Addr root[1];
  Pool pool = newPool(params, 1);
  AMSAP ap = newAP(pool);
  AMSStatsStruct stats;
  Object wide;
  unsigned i;

  table(pool, AMSRankEXACT, root, 1);
  root[0] = (Addr)make(ap, N);
  for (i = 0; i < N; ++i) {
    Object child = make(ap, 1), grandchild = make(ap, 1);
    child->ref[0] = (Addr)grandchild;
    wide = objectOf(root[0]);
    AMSWrite(pool, root[0], &wide->ref[i], (Addr)child);
  }
  scanMax = 0;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == objectOf(root[0])->size + (Size)N * 32,
        "a queue of 16 is enough for an object with %u references", (unsigned)N);
  AMSStatsGet(&stats, pool);
  TapOk(stats.overflows > 0, "because it was full %lu times", (unsigned long)stats.overflows);
  TapOk(scanMax <= 16384, "a large object is scanned in pieces (%lu bytes at most)", (unsigned long)scanMax);
  AMSWrite(pool, root[0], &objectOf(root[0])->ref[N - 1], NULL);
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == objectOf(root[0])->size + (Size)(N - 1) * 32,
        "the last reference of its last piece counts");
  PoolDestroy(pool);
}

static void testInterior(void)
{
  static Addr ambig[3], weak[3];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  Object small = make(ap, 9), large = make(ap, 100000), huge = make(ap, (32 << 20) / sizeof(Addr));

  table(pool, AMSRankAMBIG, ambig, 3);
  table(pool, AMSRankWEAK, weak, 3);
  weak[0] = (Addr)small;
  weak[1] = (Addr)large;
  weak[2] = (Addr)huge;
  ambig[0] = (Addr)((Word)small + 79);
  ambig[1] = (Addr)((Word)large + 700001);
  ambig[2] = (Addr)((Word)huge + (32 << 20) - 1);
  small = large = huge = NULL;
  TapIs(AMSCollect(pool), ResOK, "ambiguous references into the middle of objects:");
  TapOk(weak[0] != NULL, "a small one is kept");
  TapOk(weak[1] != NULL, "one that is larger than a segment of small ones is kept");
  TapOk(weak[2] != NULL, "one that has a chunk of its own is kept");
  ambig[0] = (Addr)((Word)weak[0] - 1);
  ambig[1] = ambig[2] = (Addr)(Word)12345;
  TapIs(AMSCollect(pool), ResOK, "references to what is beside them:");
  TapOk(weak[0] == NULL && weak[1] == NULL && weak[2] == NULL, "none is kept, and weak references say so");
  TapOk(allocated(pool) == 0 && PoolCheck(pool), "nothing is left");
  PoolDestroy(pool);
}

/* testSlot -- a thread that was stopped in the middle of AMSWrite: what it is about to overwrite is kept */
static void testSlot(void)
{
  static Addr weak[1];
  Addr *slot = malloc(sizeof *slot); /* which is no root */
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);

  if (slot == NULL || AMSThreadRegister() != ResOK)
    abort();
  table(pool, AMSRankWEAK, weak, 1);
  *slot = weak[0] = (Addr)make(ap, 1);
  AMSThreadSelf->slot = slot;
  AMSThreadDeregister(); /* stacks are looked at no more, */
  TapOk(AMSCollect(pool) == ResOK && weak[0] == NULL, "an object that only memory outside refers to is taken back");
  *slot = weak[0] = (Addr)make(ap, 1);
  if (AMSThreadRegister() != ResOK)
    abort();
  /* Nor here, but the slot is. */
  AMSThreadSelf->high = (Word)__builtin_frame_address(0);
  AMSThreadSelf->slot = slot;
  TapOk(AMSCollect(pool) == ResOK && weak[0] == *slot, "but not if a thread is about to overwrite that reference");
  AMSThreadDeregister();
  TapOk(AMSCollect(pool) == ResOK && weak[0] == NULL, "once it is overwritten, it is");
  PoolDestroy(pool);
  free(slot);
}

/* ---- Finalization ---- */

static void testFinal(void)
{
  static Addr weak[2];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  Object a = make(ap, 1), b = make(ap, 1);
  Addr got = NULL;
  unsigned i;

  table(pool, AMSRankWEAK, weak, 2);
  a->ref[0] = (Addr)b;
  weak[0] = (Addr)a;
  weak[1] = (Addr)b;
  TapOk(AMSFinalize(pool, (Addr)a) == ResOK && !AMSMessageGet(&got, pool), "no message while nothing is collected");
  TapIs(AMSCollect(pool), ResOK, "an object that is out of reach");
  TapOk(weak[0] == (Addr)a && weak[1] == (Addr)b, "is kept for its message, with what it refers to");
  TapIs(AMSCollect(pool), ResOK, "as long as nobody takes the message");
  TapOk(weak[1] == (Addr)b, "that is so");
  TapOk(AMSMessageGet(&got, pool) && got == (Addr)a, "the message names it");
  for (i = 0; i < 10000; ++i) /* the finalizer allocates, and resurrects nothing */
    ((Object)make(ap, 1))->ref[0] = got;
  TapOk(AMSFinalize(pool, got) == ResOK, "its finalizer allocates, and registers it once more");
  (void)AMSCollect(pool);
  TapOk(allocated(pool) == 32 && AMSMessageGet(&got, pool) && got == (Addr)a, "there is a second message");
  TapOk(!AMSMessageGet(&got, pool), "and no third");
  (void)AMSCollect(pool);
  TapOk(weak[0] == NULL && weak[1] == NULL && allocated(pool) == 0, "and then it is gone");
  PoolDestroy(pool);
}

/* testFinalList -- a list whose objects are all registered: each gets its message in the first collection */
static void testFinalList(void)
{
  enum { count = 3000 };
  static Addr all[count];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  unsigned order, i, got;
  Addr object;

  for (order = 0; order < 3; ++order) {
    for (i = 0; i < count; ++i) {
      all[i] = (Addr)make(ap, 1);
      objectOf(all[i])->ref[0] = i > 0 ? all[i - 1] : NULL;
    }
    for (i = 0; i < count; ++i)
      if (AMSFinalize(pool, all[order == 0 ? count - 1 - i : i]) != ResOK)
        abort();
    got = 0;
    if (order < 2) {
      (void)AMSCollect(pool);
    } else { /* in steps, and each message is taken as soon as it is there */
      (void)AMSStart(pool);
      while (AMSStep(pool, 1))
        while (AMSMessageGet(&object, pool))
          ++got;
    }
    while (AMSMessageGet(&object, pool))
      ++got;
    TapIs(got, count, "of a list of registered objects each is told, in whatever order they were (%u)", order);
    (void)AMSCollect(pool);
  }
  TapIs(allocated(pool), 0, "and then they are gone");
  PoolDestroy(pool);
}

/* testHugePlace -- a huge object at a place where a chunk with small ones was is kept, and its memory taken back */
static void testHugePlace(void)
{
  enum { huges = 8, size = 8 << 20 };
  static Addr root[huges], weak[huges];
  Arena its;
  Pool pool;
  AMSAP ap;
  Count kept = 0;
  unsigned i;

  if (ArenaCreate(&its, 1) != ResOK || AMSCreate(&pool, its, &format, NULL, 0) != ResOK)
    abort();
  ap = newAP(pool);
  table(pool, AMSRankEXACT, root, huges);
  table(pool, AMSRankWEAK, weak, huges);
  ArenaSpareLimitSet(its, 0); /* chunks go back at once */
  for (i = 0; i < (3 * (unsigned)ChunkSIZE >> 10); ++i) {
    Object object = make(ap, 127);
    object->ref[0] = root[0];
    root[0] = (Addr)object;
  }
  root[0] = NULL;
  (void)AMSCollect(pool);
  for (i = 0; i < huges; ++i)
    root[i] = weak[i] = (Addr)make(ap, size / sizeof(Addr));
  (void)make(ap, 1);
  (void)AMSCollect(pool);
  for (i = 0; i < huges; ++i)
    kept += weak[i] != NULL;
  TapOk(kept == huges && allocated(pool) >= (Size)huges * size, "huge objects where small ones were are kept");
  memset(root, 0, sizeof root);
  (void)AMSCollect(pool);
  TapOk(allocated(pool) == 0 && PoolCheck(pool), "as long as somebody refers to them");
  PoolDestroy(pool);
  ArenaDestroy(its);
}

static Pool otherPool;
static Bool otherEnds;

static void *otherRun(void *unused)
{
  Addr addr;

  (void)unused;
  while (!__atomic_load_n(&otherEnds, __ATOMIC_ACQUIRE))
    if (PoolAlloc(&addr, otherPool, (Size)80 << 20) == ResOK)
      PoolFree(otherPool, addr, (Size)80 << 20);
  return NULL;
}

/* testStale -- ambiguous roots have addresses of another arena, where a thread that is not registered makes memory and
 * gives it back meanwhile */
static void testStale(void)
{
  enum { count = 4096 };
  static Addr ambig[count];
  Pool pool = newPool(NULL, 0);
  Arena other;
  pthread_t thread;
  unsigned i, good = 0;
  Addr addr;

  if (ArenaCreate(&other, 1) != ResOK || PoolCreate(&otherPool, other, "SGF", NULL, 0) != ResOK)
    abort();
  table(pool, AMSRankAMBIG, ambig, count);
  for (i = 0; i < count; ++i)
    if (PoolAlloc(&addr, otherPool, (Size)80 << 20) == ResOK) {
      ambig[i] = (Addr)((Word)addr + 100);
      PoolFree(otherPool, addr, (Size)80 << 20);
    }
  if (pthread_create(&thread, NULL, otherRun, NULL) != 0)
    abort();
  for (i = 0; i < 3000; ++i)
    good += AMSCollect(pool) == ResOK;
  __atomic_store_n(&otherEnds, TRUE, __ATOMIC_RELEASE);
  (void)pthread_join(thread, NULL);
  TapIs(good, 3000, "words that lead to memory of others, which come and go, do no harm");
  PoolDestroy(pool);
  PoolDestroy(otherPool);
  ArenaDestroy(other);
}

/* ---- Steps ---- */

static void testSteps(void)
{
  static Addr root[1000];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  AMSStatsStruct stats;
  Object object;
  unsigned i, steps = 0;

  table(pool, AMSRankEXACT, root, 1000);
  for (i = 0; i < 100000; ++i) {
    object = make(ap, 3);
    object->ref[0] = root[i % 1000];
    root[i % 1000] = (Addr)object;
  }
  TapOk(!AMSStep(pool, 100), "there is nothing to go on with");
  TapIs(AMSStart(pool), ResOK, "a collection begins");
  for (i = 0; i < 1000; ++i)
    root[i] = NULL;
  for (i = 0; i < 1000; ++i)
    make(ap, 3);
  while (AMSStep(pool, 50))
    ++steps;
  TapOk(steps > 2, "it takes %u steps", steps);
  AMSStatsGet(&stats, pool);
  TapIs(stats.condemned, 100000 * 32, "it looks at what was there when it began");
  TapIs(stats.reclaimed, 0, "and keeps what was reachable then, although it no longer is,");
  AMSAPDestroy(ap);
  TapIs(allocated(pool), 101000 * 32, "and what was allocated meanwhile");
  (void)AMSCollect(pool);
  TapIs(allocated(pool), 0, "the next one takes it all");
  PoolDestroy(pool);
}

static void testAuto(unsigned pause, const char *how)
{
  PoolParamStruct params[] = { { "threshold", 1 << 20 }, { "pause", pause } };
  static Addr root[1];
  Pool pool = newPool(params, 2);
  AMSAP ap = newAP(pool);
  AMSStatsStruct stats;
  Object object;
  unsigned i;
  Size most = 0;

  root[0] = NULL;
  table(pool, AMSRankEXACT, root, 1);
  for (i = 0; i < 1000000; ++i) {
    object = make(ap, 3);
    if (i % 100 == 0) {
      object->ref[0] = i % 10000 == 0 ? NULL : root[0];
      root[0] = (Addr)object;
    }
    if (most < pool->segSize)
      most = pool->segSize;
  }
  AMSStatsGet(&stats, pool);
  TapOk(stats.collections >= 10, "%s: a pool collects by itself, %lu times", how, (unsigned long)stats.collections);
  TapOk(most <= (Size)4 << 20, "%s: 32 MB of objects need %lu KiB", how, (unsigned long)(most >> 10));
  PoolDestroy(pool);
}

/* ---- Memory runs out ---- */

/* testLimit -- in a process of its own, whose address space is limited */
/* steps -- a collection in steps that do the least that can be done; how many */
static Count steps(Pool pool)
{
  Count n = 0;

  if (AMSStart(pool) != ResOK)
    abort();
  while (AMSStep(pool, 0))
    ++n;
  return n;
}

/* testLong -- the objects of a list are found one by one; yet the least that is done at a time is many of them */
static void testLong(void)
{
  enum { N = 100000 };
  static Addr root[1];
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  Object object;
  Count without, with;
  Index i;

  table(pool, AMSRankEXACT, root, 1);
  without = steps(pool);
  for (i = 0; i < N; ++i) {
    object = make(ap, 1);
    object->ref[0] = root[0];
    root[0] = (Addr)object;
  }
  with = steps(pool);
  TapIs(allocated(pool) + 65536 > (Size)N * 16, TRUE, "a list of %d objects is kept", N);
  TapOk(with < without + N / 100, "in %zu steps, where %zu do nothing", with, without);
  PoolDestroy(pool);
}

/* testGone -- no step gives back a large object at once, or sweeps the segments of all allocation points */
static void testGone(void)
{
  enum { SIZE = 64 << 20, POINTS = 100 };
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool), point[POINTS];
  Addr addr;
  Count without, with;
  Index i;

  without = steps(pool);
  if (AMSReserve(&addr, ap, SIZE) != ResOK)
    abort();
  objectOf(addr)->size = SIZE;
  memset(objectOf(addr)->ref, 0, SIZE - sizeof(ObjectStruct));
  if (!AMSCommit(ap, addr, SIZE))
    abort();
  (void)make(ap, 1); /* it has left the large one */
  with = steps(pool);
  TapOk(allocated(pool) == 0 && PoolCheck(pool), "a large object is gone");
  TapOk(with > without + 100, "in many steps: %zu, and %zu without", with, without);
  for (i = 0; i < POINTS; ++i)
    (void)make(point[i] = newAP(pool), 1);
  with = steps(pool);
  TapOk(allocated(pool) == 0 && PoolCheck(pool), "what %d allocation points had is gone", POINTS);
  TapOk(with > without + POINTS, "a step for each at least: %zu", with);
  /* They go on in segments that are not swept yet. */
  for (i = 0; i < POINTS; ++i)
    (void)make(point[i], 1);
  if (AMSStart(pool) != ResOK)
    abort();
  for (with = 0; with < without + POINTS / 2; ++with)
    (void)AMSStep(pool, 0);
  for (i = 0; i < POINTS; ++i)
    AMSAPDestroy(point[i]);
  TapOk(PoolCheck(pool), "they may be destroyed in the middle of that");
  while (AMSStep(pool, 0))
    ;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 0 && PoolCheck(pool), "and nothing is left");
  PoolDestroy(pool);
}

/* testLeft -- nor does an allocation point that leaves a large object which has died */
static void testLeft(void)
{
  enum { SIZE = 64 << 20, RUNS = 400 };
  Pool pool = newPool(NULL, 0);
  AMSAP ap = newAP(pool);
  ArenaStatsStruct before, left, after;
  Addr addr;
  Index i;

  ArenaStatsGet(&before, arena);
  if (AMSReserve(&addr, ap, SIZE) != ResOK)
    abort();
  objectOf(addr)->size = SIZE;
  memset(objectOf(addr)->ref, 0, SIZE - sizeof(ObjectStruct));
  if (!AMSCommit(ap, addr, SIZE) || AMSCollect(pool) != ResOK)
    abort();
  (void)make(ap, 1);
  ArenaStatsGet(&left, arena);
  TapOk(left.committed >= before.committed + SIZE && PoolCheck(pool), "what was left is not given back at once");
  for (i = 0; i < RUNS; ++i) {
    (void)make(ap, 2000);
    (void)make(ap, 6500);
  }
  ArenaStatsGet(&after, arena);
  TapOk(after.committed + SIZE / 2 < left.committed && PoolCheck(pool), "but while others are allocated: %zu, then %zu",
        left.committed, after.committed);
  PoolDestroy(pool);
}

static void testLimit(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  TapSkip("a sanitizer needs more address space than can be given");
#else
  int status = 0;
  pid_t pid = fork();

  if (pid == 0) {
    PoolParamStruct params[] = { { "threshold", (Word)1 << 40 } };
    struct rlimit limit = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
    static Addr root[1];
    Object object;
    Pool pool;
    AMSAP ap;
    Count n, left;

    if (setrlimit(RLIMIT_AS, &limit) != 0)
      _exit(1);
    pool = newPool(params, 1);
    ap = newAP(pool);
    table(pool, AMSRankEXACT, root, 1);
    for (n = 0; (object = make(ap, 1023)) != NULL; ++n) {
      object->ref[0] = root[0];
      root[0] = (Addr)object;
    }
    if (n < 10000 || AMSCollect(pool) != ResOK || make(ap, 1023) != NULL) /* all are alive */
      _exit(2);
    if (AMSStart(pool) != ResOK || make(ap, 1023) != NULL) /* and during a collection there is none, either */
      _exit(3);
    for (left = n; left > n / 2; --left) /* half of them go; the pool finds that out when it needs memory */
      root[0] = objectOf(root[0])->ref[0];
    while (AMSStep(pool, 1000))
      ;
    for (n = 0; n < left / 2; ++n)
      if (make(ap, 1023) == NULL)
        _exit(4);
    _exit(PoolCheck(pool) ? 0 : 5);
  }
  TapOk(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status), "where memory runs out, a pool lives on");
  TapIs(WEXITSTATUS(status), 0, "fails as long as all is in use, and has memory again when something is not");
#endif
}

/* ---- Threads ---- */

static Pool threadPool;
static int threadGo;

static void *threadAllocates(void *closure)
{
  AMSAP ap = newAP(threadPool);
  Object keep;
  unsigned i;

  if (AMSThreadRegister() != ResOK)
    abort();
  keep = make(ap, 1);
  for (i = 0; __atomic_load_n(&threadGo, __ATOMIC_ACQUIRE); ++i) {
    Object object = make(ap, 1);
    AMSWrite(threadPool, (Addr)object, &object->ref[0], (Addr)keep);
    AMSWrite(threadPool, (Addr)keep, &keep->ref[0], i % 3 == 0 ? NULL : (Addr)object);
    keep = object;
  }
  *(int *)closure = keep->ref[0] != NULL && objectOf(keep->ref[0])->size == 16;
  if (i % 2 == 0) /* or the end of the thread does it */
    AMSThreadDeregister();
  return NULL;
}

static void *threadShort(void *closure)
{
  if (AMSThreadRegister() != ResOK)
    abort();
  return closure;
}

static void testThreads(void)
{
  pthread_t thread[2], brief;
  int good[2];
  unsigned i, failed = 0;

  threadPool = newPool(NULL, 0);
  threadGo = TRUE;
  for (i = 0; i < 2; ++i)
    if (pthread_create(&thread[i], NULL, threadAllocates, &good[i]) != 0)
      abort();
  for (i = 0; i < 200; ++i) { /* threads begin and end while others collect */
    if (pthread_create(&brief, NULL, threadShort, NULL) != 0)
      abort();
    failed += AMSCollect(threadPool) != ResOK;
    pthread_join(brief, NULL);
  }
  __atomic_store_n(&threadGo, FALSE, __ATOMIC_RELEASE);
  for (i = 0; i < 2; ++i)
    pthread_join(thread[i], NULL);
  TapIs(failed, 0, "200 collections while threads allocate, and others begin and end");
  TapOk(good[0] && good[1], "what is on their stacks only is kept");
  (void)AMSCollect(threadPool);
  TapOk(PoolCheck(threadPool), "the pool passes its check");
  PoolDestroy(threadPool);
}

static void *threadCollects(void *closure)
{
  while (__atomic_load_n(&threadGo, __ATOMIC_ACQUIRE))
    if (AMSCollect(threadPool) != ResOK)
      abort();
  return closure;
}

/* forked -- in the child, in the middle of a collection that other threads' allocation goes along with, and that
 * another thread may have been doing to its end; whoever waits for that one is ended by the alarm */
static void forked(Pool pool, AMSAP ap, Object object)
{
  (void)alarm(60);
  while (AMSStep(pool, 1000))
    ;
  if (object->size != 16 || make(ap, 1) == NULL || AMSCollect(pool) != ResOK)
    _exit(1);
  _exit(PoolCheck(pool) && object->size == 16 ? 0 : 2);
}

static void testFork(void)
{
  pthread_t thread, collector;
  AMSAP ap;
  Object object;
  int good, status, bad = 0;
  unsigned i;

  threadPool = newPool(NULL, 0);
  threadGo = TRUE;
  ap = newAP(threadPool);
  if (AMSThreadRegister() != ResOK || pthread_create(&thread, NULL, threadAllocates, &good) != 0 ||
      pthread_create(&collector, NULL, threadCollects, NULL) != 0)
    abort();
  object = make(ap, 1);
  for (i = 0; i < 20; ++i) {
    pid_t pid;
    if (AMSStart(threadPool) != ResOK)
      abort();
    if ((pid = fork()) == 0)
      forked(threadPool, ap, object);
    bad += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    while (AMSStep(threadPool, 1000))
      ;
  }
  __atomic_store_n(&threadGo, FALSE, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  pthread_join(collector, NULL);
  TapIs(bad, 0, "a child that is forked during a collection finishes it, allocates and collects");
  TapOk(object->size == 16 && PoolCheck(threadPool), "and so does the parent");
  AMSThreadDeregister();
  PoolDestroy(threadPool);
}

static void *threadBlocks(void *closure)
{
  sigset_t set;

  (void)AMSThreadRegister();
  (void)sigfillset(&set);
  (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
  __atomic_store_n(&threadGo, TRUE, __ATOMIC_RELEASE);
  while (__atomic_load_n(&threadGo, __ATOMIC_ACQUIRE))
    (void)sched_yield();
  return closure;
}

/* stallsOnce -- is half as much as the threshold allocated behind a collection that could not begin, without another try? */
static Bool stallsOnce(void)
{
  static const PoolParamStruct params[] = { { "threshold", 1 << 20 } };
  AMSStatsStruct stats = { .abandoned = 0 };
  Pool pool = newPool(params, 1);
  AMSAP ap = newAP(pool);
  Count n;

  while (stats.abandoned == 0 && make(ap, 1000) != NULL)
    AMSStatsGet(&stats, pool);
  for (n = 0; n < (1 << 19) / 8000; ++n)
    (void)make(ap, 1000);
  AMSStatsGet(&stats, pool);
  PoolDestroy(pool);
  return stats.abandoned == 1;
}

static void testBlocked(void)
{
  pthread_t thread;
  AMSStatsStruct stats;

  threadPool = newPool(NULL, 0);
  threadGo = FALSE;
  if (pthread_create(&thread, NULL, threadBlocks, NULL) != 0)
    abort();
  while (!__atomic_load_n(&threadGo, __ATOMIC_ACQUIRE))
    (void)sched_yield();
  TapIs(AMSCollect(threadPool), ResFAIL, "a thread that blocks the signal: no collection, and nobody waits for ever");
  AMSStatsGet(&stats, threadPool);
  TapIs(stats.abandoned, 1, "that is counted");
  TapOk(stallsOnce(), "a pool with a threshold does not try again at once");
  __atomic_store_n(&threadGo, FALSE, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  TapIs(AMSCollect(threadPool), ResOK, "afterwards there are collections again");
  PoolDestroy(threadPool);
}

int main(void)
{
  TapIs(AMSSignalSet(SIGUSR2), ResOK, "another signal may be chosen");
  if (ArenaCreate(&arena, ChunkSIZE) != ResOK)
    abort();
  testCreate();
  testCycle();
  testList();
  testWide();
  testInterior();
  testSlot();
  testFinal();
  testFinalList();
  testHugePlace();
  testStale();
  testSteps();
  testAuto(0, "whole");
  testAuto(200, "in steps");
  testGone();
  testLeft();
  testLong();
  testLimit();
  testThreads();
  testFork();
  testBlocked();
  TapIs(AMSSignalSet(SIGUSR1), ResLIMIT, "but not once threads are registered");
  TapOk(scans > 0 && ArenaCheck(arena), "the arena is sound");
  ArenaDestroy(arena);
  return TapDone();
}
