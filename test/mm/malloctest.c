/* malloctest.c -- the pool that serves as a process's malloc: threads, their ends, and forks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mm/arena.h"
#include "mm/forks.h"
#include "mm/mallocpool.h"
#include "mm/poolsgf.h"
#include "tap.h"

static pthread_t start(void *(*function)(void *), void *closure)
{
  pthread_t thread;

  if (pthread_create(&thread, NULL, function, closure) != 0)
    abort();
  return thread;
}

/* total -- bytes of a pool's segments */
static Size total(Pool pool)
{
  Size size;

  LockClaim(&pool->arena->lock);
  size = pool->segSize;
  LockRelease(&pool->arena->lock);
  return size;
}

static Bool allBytes(const void *p, int byte, Size size)
{
  const unsigned char *bytes = p;

  return size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void testSimple(void)
{
  char *p, *q;
  char local = 0;
  Size size;
  Bool good = TRUE;

  TapOk(!MMOwns(&local) && !MMFree(&local) && !MMFree(NULL), "before the first use nothing is ours");
  errno = EDOM;
  p = MMAlloc(0);
  TapOk(p != NULL && (Word)p % 16 == 0, "an object of no bytes has an address");
  TapOk(MMOwns(p) && PoolOfAddr(p) == MMPool(), "which is ours");
  TapOk(MMFree(p), "and can be freed");
  for (size = 1; size < 3000000; size += 1 + size / 3) {
    p = MMAllocZero(size);
    good = good && p != NULL && allBytes(p, 0, size) && SGFUsableSize(p) >= size;
    memset(p, 1, SGFUsableSize(p));
    q = MMResize(p, size * 2);
    good = good && allBytes(q, 1, size);
    memset(q, 2, size * 2);
    p = MMResize(q, size / 2);
    good = good && allBytes(p, 2, size / 2) && MMFree(p);
  }
  TapOk(good, "objects of all sizes are zero if asked, and are resized with their contents");
  p = MMAllocAligned(1000, 1 << 20);
  TapOk((Word)p % (1 << 20) == 0 && SGFUsableSize(p) >= 1000 && MMFree(p), "an object is aligned to a mebibyte");
  TapOk(MMAlloc(SIZE_MAX) == NULL && MMAllocZero(SIZE_MAX / 2) == NULL, "impossible sizes are refused");
  p = MMAlloc(100);
  TapOk(MMResize(p, SIZE_MAX) == NULL && SGFUsableSize(p) >= 100 && MMFree(p), "as are such resizes");
  TapIs(errno, EDOM, "errno is kept all the time");
}

static void testHugeResize(void)
{
  Size size = 1 << 20, had = 0;
  unsigned char *p = NULL;
  Bool good = TRUE;

  p = MMAlloc(size);
  for (; size <= (Size)200 << 20 && p != NULL; size += size / 8) {
    p = MMResize(p, size);
    good = good && p != NULL && (had == 0 || p[had - 1] == 5);
    p[size - 1] = 5;
    had = size;
  }
  TapOk(good, "an object grows to 200 MiB, a little at a time");
  p = MMResize(p, 1 << 16);
  TapOk(p != NULL && SGFUsableSize(p) < 1 << 17 && MMFree(p), "and shrinks to a few grains");
  TapOk(ArenaCheck(PoolArena(MMPool())) && PoolCheck(MMPool()), "all is well");
}

/* -- objects that go from thread to thread -- */

enum { SLOTS = 2048, ROUNDS = 150000 };
static void *slot[SLOTS]; /* each holds an object; whoever puts another one there frees it */

static void *exchange(void *closure)
{
  uint64_t state = (Word)closure * 77777 + 1;
  Bool good = TRUE;
  unsigned i;

  for (i = 0; good && i < ROUNDS; ++i) {
    Size size = 8 + TapRandom(&state) % (TapRandom(&state) % 100 == 0 ? 100000 : 500);
    Size *p = MMAlloc(size), *old;
    if (p == NULL)
      return NULL;
    p[0] = size;
    *((unsigned char *)p + size - 1) ^= 0; /* the last byte can be touched */
    old = __atomic_exchange_n(&slot[TapRandom(&state) % SLOTS], p, __ATOMIC_ACQ_REL);
    if (old != NULL) {
      good = SGFUsableSize(old) >= old[0] && old[0] < 100600;
      old[0] = SIZE_MAX;
      (void)MMFree(old);
    }
  }
  SGFThreadExit();
  return good ? closure : NULL;
}

static void testExchange(void)
{
  pthread_t thread[4];
  Bool good = TRUE;
  Word i;

  for (i = 0; i < 4; ++i)
    thread[i] = start(exchange, (void *)(i + 1));
  for (i = 0; i < 4; ++i) {
    void *result;
    (void)pthread_join(thread[i], &result);
    good = good && result != NULL;
  }
  TapOk(good, "threads free each other's objects at random");
  TapOk(PoolCheck(MMPool()), "their caches are sound");
  for (i = 0; i < SLOTS; ++i) {
    if (slot[i] != NULL)
      (void)MMFree(slot[i]);
    slot[i] = NULL;
  }
  TapOk(PoolCheck(MMPool()) && ArenaCheck(PoolArena(MMPool())), "also when all has been freed by another thread");
}

/* -- one allocates, another frees: what comes back must be used again -- */

enum { QUEUE = 1024, ITEMS = 400000 };
static void *queue[QUEUE];
static Size queueHead, queueTail;

static void *consume(void *closure)
{
  Size tail;

  for (tail = 0; tail < ITEMS; ++tail) {
    while (__atomic_load_n(&queueHead, __ATOMIC_ACQUIRE) == tail)
      sched_yield();
    (void)MMFree(queue[tail % QUEUE]);
    __atomic_store_n(&queueTail, tail + 1, __ATOMIC_RELEASE);
  }
  SGFThreadExit();
  return closure;
}

static void testProducer(void)
{
  Size before = total(MMPool()), most = before, head;
  pthread_t thread = start(consume, NULL);

  for (head = 0; head < ITEMS; ++head) {
    while (head - __atomic_load_n(&queueTail, __ATOMIC_ACQUIRE) >= QUEUE)
      sched_yield();
    queue[head % QUEUE] = MMAlloc(500);
    if (queue[head % QUEUE] == NULL)
      abort();
    if (head % 4096 == 0 && total(MMPool()) > most)
      most = total(MMPool());
    __atomic_store_n(&queueHead, head + 1, __ATOMIC_RELEASE);
  }
  (void)pthread_join(thread, NULL);
  TapOk(most < before + ((Size)8 << 20), "what a consumer frees is used again by the producer (%zu KiB at most)",
        (most - before) >> 10);
}

/* ---- A thread that sleeps while others free what it allocated ---- */

enum { SLEEPERS = 1200000, SLEEPSIZE = 64 };

static void *sleeper[SLEEPERS];
static pthread_barrier_t sleeperBarrier;

/* sleeperAlloc -- allocate everything; FALSE: an object has another one's bytes */
static Bool sleeperAlloc(void)
{
  Count good = 0;
  Index i;

  for (i = 0; i < SLEEPERS; ++i) {
    sleeper[i] = MMAlloc(SLEEPSIZE);
    memset(sleeper[i], (int)(i & 0xff), SLEEPSIZE);
  }
  for (i = 0; i < SLEEPERS; ++i)
    good += allBytes(sleeper[i], (int)(i & 0xff), SLEEPSIZE);
  return good == SLEEPERS;
}

/* misuses -- does a child end by SIGABRT that frees an object, or resizes it, which was freed? */
static Bool misuses(void *p, Bool resizes)
{
  pid_t pid = fork();
  int status = 0;

  if (pid == 0) {
    (void)close(2);
    if (resizes)
      (void)MMResize(p, SLEEPSIZE - 4);
    else
      (void)MMFree(p);
    _exit(0);
  }
  return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void *sleeps(void *good)
{
  Index i;

  *(Bool *)good = sleeperAlloc();
  for (i = 0; i < 2; ++i) { /* it sleeps between two of these, while others free everything */
    (void)pthread_barrier_wait(&sleeperBarrier);
    (void)pthread_barrier_wait(&sleeperBarrier);
    *(Bool *)good &= misuses(sleeper[SLEEPERS - 3000], FALSE); /* the owner's, which is another way */
    *(Bool *)good &= sleeperAlloc();
  }
  for (i = 0; i < SLEEPERS; ++i)
    (void)MMFree(sleeper[i]);
  return NULL;
}

/* sleepersResident -- how many of these objects, one of a thousand, are in memory */
static Count sleepersResident(void)
{
  Word page = (Word)getpagesize();
  unsigned char in = 0;
  Count n = 0;
  Index i;

  for (i = 0; i < SLEEPERS; i += SLEEPERS / 1000)
    n += mincore((void *)WordAlignDown(sleeper[i], page), page, &in) == 0 && (in & 1) != 0;
  return n;
}

static void *freesFrom(void *first)
{
  Index i;

  for (i = (Index)(Word)first; i < SLEEPERS; i += 2)
    (void)MMFree(sleeper[i]);
  return NULL;
}

static void testAsleep(void)
{
  Bool good = FALSE;
  pthread_t thread, other;
  Count most, left;
  Index i;

  (void)pthread_barrier_init(&sleeperBarrier, NULL, 2);
  thread = start(sleeps, &good);
  (void)pthread_barrier_wait(&sleeperBarrier);
  most = sleepersResident();
  for (i = 0; i < SLEEPERS; ++i)
    (void)MMFree(sleeper[i]);
  left = sleepersResident();
#if UINTPTR_MAX > 0xffffffffu
  TapOk(most == 1000 && left < 500, "what others free while a thread sleeps goes back (of %zu places %zu stay)", most, left);
#endif
  TapOk(misuses(sleeper[SLEEPERS - 2000], FALSE), "freeing an object of it again is found");
  TapOk(misuses(sleeper[SLEEPERS - 2000], TRUE), "and so is resizing it");
  (void)pthread_barrier_wait(&sleeperBarrier);
  (void)pthread_barrier_wait(&sleeperBarrier);
  other = start(freesFrom, (void *)0);
  (void)freesFrom((void *)1);
  (void)pthread_join(other, NULL);
  (void)pthread_barrier_wait(&sleeperBarrier);
  (void)pthread_join(thread, NULL);
  TapOk(good, "and when the thread wakes it has its memory again, also from two that freed");
  TapOk(PoolCheck(MMPool()), "all is well");
  (void)pthread_barrier_destroy(&sleeperBarrier);
}

/* -- threads that come and go -- */

static void *comeAndGo(void *closure)
{
  void *p[600];
  unsigned i;

  for (i = 0; i < 600; ++i)
    p[i] = MMAlloc(64 + i * 16);
  for (i = 0; i < 600; i += 2)
    (void)MMFree(p[i]);
  for (i = 3; i < 600; i += 2)
    (void)MMFree(p[i]);
  SGFThreadExit();
  p[0] = MMAlloc(1000); /* a destructor of thread-specific data may still allocate and free */
  (void)MMFree(p[1]);
  (void)MMFree(p[0]);
  return closure;
}

static void testComeAndGo(void)
{
  Size size = 0;
  unsigned i, k;

  for (i = 0; i < 50; ++i) {
    pthread_t thread[4];
    for (k = 0; k < 4; ++k)
      thread[k] = start(comeAndGo, NULL);
    for (k = 0; k < 4; ++k)
      (void)pthread_join(thread[k], NULL);
    if (i == 4)
      size = total(MMPool());
  }
  TapOk(total(MMPool()) <= size + ((Size)6 << 20), "200 threads that come and go leave little (%zu, %zu KiB)",
        size >> 10, total(MMPool()) >> 10);
  TapOk(PoolCheck(MMPool()), "and their caches are sound");
}

/* testInherit -- what a thread left half used serves others */
static void *leaveHalf(void *closure)
{
  void **p = closure;
  unsigned i;

  for (i = 0; i < 20000; ++i)
    p[i] = MMAlloc(256);
  for (i = 0; i < 20000; i += 2)
    (void)MMFree(p[i]);
  SGFThreadExit();
  return NULL;
}

static void testInherit(void)
{
  static void *p[20000];
  pthread_t thread = start(leaveHalf, p);
  Size size;
  unsigned i;

  (void)pthread_join(thread, NULL);
  size = total(MMPool());
  for (i = 0; i < 20000; i += 2)
    p[i] = MMAlloc(256);
  TapOk(total(MMPool()) <= size + ((Size)1 << 19), "slabs that a thread left are used by another");
  for (i = 0; i < 20000; ++i)
    (void)MMFree(p[i]);
  TapOk(PoolCheck(MMPool()), "and all is well when their objects are freed");
}

static pthread_barrier_t barrier;

/* -- nothing is lost between threads that end, those that inherit from them, and those that free late -- */

enum { GENERATION = 4, GENERATIONS = 60 };

static void *generation(void *closure)
{
  SGF sgf = closure;
  uint64_t state = (Word)&state | 1;
  unsigned i;

  for (i = 0; i < 3000; ++i) {
    void *p = SGFAlloc(sgf, 16 + TapRandom(&state) % 2000);
    p = __atomic_exchange_n(&slot[TapRandom(&state) % SLOTS], p, __ATOMIC_ACQ_REL);
    if (p != NULL)
      (void)SGFFree(p);
  }
  SGFThreadExit();
  return closure;
}

/* collect -- inherit a cache, take in what came back to it, and leave it */
static void *collect(void *closure)
{
  void *p = SGFAlloc(closure, 5000);

  pthread_barrier_wait(&barrier); /* so that each thread has another cache */
  (void)SGFFree(p);
  SGFThreadExit();
  return closure;
}

static void *freeSlots(void *closure)
{
  unsigned i;

  for (i = 0; i < SLOTS; ++i) {
    if (slot[i] != NULL)
      (void)SGFFree(slot[i]);
    slot[i] = NULL;
  }
  SGFThreadExit();
  return closure;
}

static void together(void *(*function)(void *), void *closure, unsigned n)
{
  pthread_t thread[2 * GENERATION];
  unsigned i;

  for (i = 0; i < n; ++i)
    thread[i] = start(function, closure);
  for (i = 0; i < n; ++i)
    (void)pthread_join(thread[i], NULL);
}

static void *fillSlots(void *closure)
{
  unsigned i;

  for (i = 0; i < SLOTS; ++i)
    slot[i] = SGFAlloc(closure, 4000);
  SGFThreadExit();
  return closure;
}

static void testNothingWaits(void)
{
  Arena arena;
  Pool pool;
  Size full;

  if (ArenaCreate(&arena, 1) != ResOK || PoolCreate(&pool, arena, "SGF", NULL, 0) != ResOK)
    abort();
  together(fillSlots, PoolSGF(pool), 1);
  full = total(pool);
  together(freeSlots, NULL, 1);
  TapOk(total(pool) <= full / 4,
        "what comes back to a thread that is gone does not wait for ever (%zu of %zu KiB)",
        total(pool) >> 10, full >> 10);
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static void testNothingLost(void)
{
  Arena arena;
  Pool pool;
  unsigned i;

  if (ArenaCreate(&arena, 1) != ResOK || PoolCreate(&pool, arena, "SGF", NULL, 0) != ResOK)
    abort();
  for (i = 0; i < GENERATIONS; ++i)
    together(generation, PoolSGF(pool), 1 + i % GENERATION);
  together(freeSlots, NULL, 1);
  (void)pthread_barrier_init(&barrier, NULL, 2 * GENERATION);
  for (i = 0; i < 2; ++i)
    together(collect, PoolSGF(pool), 2 * GENERATION);
  (void)pthread_barrier_destroy(&barrier);
  TapIs(total(pool), 0, "when all is freed, no slab is kept by threads that are gone");
  TapOk(PoolCheck(pool), "and all is well");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

/* -- pools of one's own, and their end -- */

static void *useTwo(void *closure)
{
  SGF *sgf = closure;
  void *p = SGFAlloc(sgf[0], 40), *q = SGFAlloc(sgf[1], 40);
  Bool good = p != NULL && q != NULL && SGFFree(p);

  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier); /* meanwhile the first pool is destroyed */
  good = good && SGFFree(q) && MMFree(MMAlloc(40));
  SGFThreadExit();
  return good ? closure : NULL;
}

static void testDestroy(void)
{
  Arena arena;
  Pool pool[2];
  SGF sgf[2];
  pthread_t thread;
  void *result;

  if (ArenaCreate(&arena, 1) != ResOK || PoolCreate(&pool[0], arena, "SGF", NULL, 0) != ResOK ||
      PoolCreate(&pool[1], arena, "SGF", NULL, 0) != ResOK)
    abort();
  sgf[0] = PoolSGF(pool[0]);
  sgf[1] = PoolSGF(pool[1]);
  (void)pthread_barrier_init(&barrier, NULL, 2);
  thread = start(useTwo, sgf);
  pthread_barrier_wait(&barrier);
  PoolDestroy(pool[0]);
  pthread_barrier_wait(&barrier);
  (void)pthread_join(thread, &result);
  TapOk(result != NULL && PoolCheck(pool[1]), "a pool may be destroyed while threads have caches in it");
  PoolDestroy(pool[1]);
  TapOk(ArenaCheck(arena), "and leaves its arena sound");
  ArenaDestroy(arena);
}

/* -- forks -- */

static int stop;

static void *busy(void *closure)
{
  uint64_t state = (Word)closure + 1;

  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    void *p[64];
    unsigned i;
    for (i = 0; i < 64; ++i)
      p[i] = MMAlloc(TapRandom(&state) % 3 == 0 ? 200000 : TapRandom(&state) % 3000);
    for (i = 0; i < 64; ++i)
      (void)MMFree(p[i]);
  }
  SGFThreadExit();
  return closure;
}

static void *allocSome(void *closure)
{
  unsigned i;

  for (i = 0; i < 2000; ++i)
    (void)MMFree(MMAlloc(i * 100));
  SGFThreadExit();
  return closure;
}

/* child -- what a forked child does: allocate at all sizes, free what its parent allocated, start a thread */
static int child(void **inherited)
{
  pthread_t thread;
  unsigned i;

  for (i = 0; i < 100; ++i)
    if (!MMFree(inherited[i]))
      return 1;
  (void)allocSome(NULL);
#ifndef __SANITIZE_THREAD__ /* which does not support threads in a forked child */
  thread = start(allocSome, NULL);
  (void)pthread_join(thread, NULL);
#else
  UNUSED(thread);
#endif
  return ArenaCheck(PoolArena(MMPool())) ? 0 : 2;
}

/* handler -- what a handler of the program's may do before and after a fork, while this thread has all locks */
static void handler(void)
{
  void *p[100];
  unsigned i;

  for (i = 0; i < 100; ++i)
    p[i] = MMAlloc(i * 3000);
  for (i = 0; i < 100; ++i)
    (void)MMFree(p[i]);
}

static void testFork(void)
{
  pthread_t thread[2];
  void *inherited[100];
  unsigned i, failed = 0;

  for (i = 0; i < 100; ++i)
    inherited[i] = MMAlloc(i * 50);
  for (i = 0; i < 2; ++i)
    thread[i] = start(busy, (void *)(Word)i);
  for (i = 0; i < 40; ++i) {
    int status = -1;
    pid_t pid;
    alarm(20); /* a lock that is never released must not hang the test */
    MMForkPrepare();
    handler();
    pid = fork();
    if (pid == 0) {
      alarm(20);
      handler();
      MMForkDone();
      _exit(child(inherited));
    }
    handler();
    MMForkDone();
    alarm(0);
    (void)waitpid(pid, &status, 0);
    failed += status != 0;
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (i = 0; i < 2; ++i)
    (void)pthread_join(thread[i], NULL);
  for (i = 0; i < 100; ++i)
    (void)MMFree(inherited[i]);
  TapIs(failed, 0, "children forked while others allocate can allocate, free and start threads");
  TapOk(PoolCheck(MMPool()), "and the parent is sound");
}

int main(void)
{
  testSimple();
  testHugeResize();
  testExchange();
  testProducer();
  testAsleep();
  testComeAndGo();
  testInherit();
  testNothingWaits();
  testNothingLost();
  testDestroy();
  testFork();
  return TapDone();
}
