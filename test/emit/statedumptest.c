/* statedumptest.c -- a log that begins late begins with what already is
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "emit/modules.h"
#include "emit/statedump.h"
#include "emitting.h"
#include "mm/arena.h"
#include "mm/mallocpool.h"
#include "mm/pool.h"

#if defined(VARIETY_RASH) || defined(VARIETY_HOT)

int main(void)
{
  TapSkip("no events per object in this variety");
  return TapDone();
}

#else

/* within -- do all events stand between the first StateBegin and the last StateEnd? */
static Bool within(Decode decode)
{
  uint64_t begin = UINT64_MAX, end = 0;
  Index i;

  for (i = 0; i < decode->events; ++i) {
    if (decode->event[i].code == EventStateBeginCODE && decode->event[i].time < begin)
      begin = decode->event[i].time;
    if (decode->event[i].code == EventStateEndCODE && decode->event[i].time > end)
      end = decode->event[i].time;
  }
  for (i = 0; i < decode->events; ++i)
    if (decode->event[i].time < begin || decode->event[i].time > end)
      return FALSE;
  return TRUE;
}

/* lives -- how often is it told that pool has this object, of at least `size` bytes? */
static Count lives(Decode decode, Pool pool, Addr addr, Size size)
{
  Count n = 0;
  Index i;

  for (i = 0; i < decode->events; ++i) {
    DecodedEvent event = &decode->event[i];
    n += event->code == EventPoolLiveCODE && DecodeWord(event, 0) == (Word)pool && DecodeWord(event, 1) == (Word)addr &&
         DecodeWord(event, 2) >= size;
  }
  return n;
}

/* told -- have all told, as a log that begins late has it */
static void told(Decode decode)
{
  EmitFresh();
  StateDumpWait();
  EmitGet(decode);
  DecodeSound(decode, "the state");
}

static void testUser(void)
{
  EventWord red = EventIntern("red");
  DecodeStruct d;
  DecodedEvent event;
  char many[2 * UserLabelsMAX];
  Index i;

  EventLabel(&d, red);
  EventLabel(&d, EventIntern("blue"));
  told(&d);
  TapOk(d.events > 2 && within(&d), "it stands between two events");
  event = DecodeFind(&d, EventInternCODE, red);
  TapOk(event != NULL && strcmp(event->bytes + 8 + sizeof(Word), "red") == 0, "a string");
  event = DecodeFind(&d, EventLabelCODE, (Word)&d);
  TapOk(event != NULL && DecodeWord(event, 1) == EventIntern("blue") && DecodeCount(&d, EventLabelCODE) == 1,
        "a label, the newest of its address");
  TapOk(DecodeCount(&d, EventThreadStartCODE) >= 1, "the thread");
  TapOk(DecodeCount(&d, EventModuleLoadCODE) >= 2, "the program and a library");
  DecodeFree(&d);
  for (i = 0; i < sizeof many; ++i)
    EventLabel(&many[i], red);
  told(&d);
  TapOk(DecodeCount(&d, EventLabelCODE) > UserLabelsMAX * 3 / 4 && DecodeCount(&d, EventLabelCODE) <= UserLabelsMAX,
        "there is a bound to labels");
  DecodeFree(&d);
}

static void testKinds(void)
{
  DecodeStruct d;

  EventFlush();
  TapOk(EventBufferKinds("none") == 0 && EventControlKinds("none") == 0, "nothing is sent");
  told(&d);
  TapIs(d.events, 2, "but that it begins and ends");
  DecodeFree(&d);
  TapOk(EventControlKinds("Pool") == 0, "pools");
  told(&d);
  TapIs(DecodeCount(&d, EventArenaCreateCODE) + DecodeCount(&d, EventThreadStartCODE) +
        DecodeCount(&d, EventInternCODE), 0, "what is not sent is not told");
  DecodeFree(&d);
  TapOk(EventControlKinds("all") == 0, "everything");
}

static void testPools(void)
{
  PoolParamStruct unit = {"unitSize", 48};
  Addr object[3000];
  DecodeStruct d;
  Arena arena;
  Pool mfs, mvff;
  Count n = 0, wrong = 0;
  Index i;

  EmitMust(ArenaCreate(&arena, 1) == ResOK);
  EmitMust(PoolCreate(&mfs, arena, "MFS", &unit, 1) == ResOK);
  EmitMust(PoolCreate(&mvff, arena, "MVFF", NULL, 0) == ResOK);
  for (i = 0; i < 3000; ++i)
    EmitMust(PoolAlloc(&object[i], mfs, 48) == ResOK);
  for (i = 0; i < 3000; i += 3)
    PoolFree(mfs, object[i], 48);
  told(&d);
  TapOk(DecodeFind(&d, EventArenaCreateCODE, (Word)arena) != NULL, "the arena");
  TapOk(DecodeFind(&d, EventPoolCreateCODE, (Word)mfs) != NULL &&
        DecodeFind(&d, EventPoolCreateCODE, (Word)mvff) != NULL, "its pools");
  TapOk(DecodeFind(&d, EventPoolParamCODE, (Word)mfs) != NULL, "with parameters");
  for (i = 0; i < d.events; ++i)
    n += d.event[i].code == EventSegAllocCODE && DecodeWord(&d.event[i], 1) == (Word)mfs;
  TapIs(n, (3000 * 48 + ArenaGrainSIZE - 1) / ArenaGrainSIZE, "its segments");
  for (i = 0; i < 3000; ++i)
    wrong += lives(&d, mfs, object[i], 48) != (i % 3 != 0);
  TapIs(wrong, 0, "of the objects those that live, each once");
  TapIs(DecodeWord(DecodeFind(&d, EventPoolLiveEndCODE, (Word)mfs), 1), 2000, "and how many");
  TapIs(DecodeWord(DecodeFind(&d, EventPoolLiveEndCODE, (Word)mvff), 1), 0, "a pool without objects tells none");
  DecodeFree(&d);
  PoolDestroy(mfs);
  PoolDestroy(mvff);
  ArenaDestroy(arena);
}

/* mvffSize -- of the object with this number: mostly small, some of more than a segment */
static Size mvffSize(Index i)
{
  return i % 500 == 0 ? 200000 + i : i % 7 == 0 ? 1 + i % 5000 : 1 + i % 150;
}

/* mvffTold -- are the objects that live told, each once, of the bytes that they take, and no others? */
static Bool mvffTold(Pool pool, const Addr *object, const Size *size, Count n)
{
  DecodeStruct d;
  Count found = 0, live = 0, wrong = 0;
  Index i;

  told(&d);
  for (i = 0; i < d.events; ++i)
    found += d.event[i].code == EventPoolLiveCODE && DecodeWord(&d.event[i], 0) == (Word)pool;
  for (i = 0; i < n; ++i) {
    if (object[i] == NULL)
      continue;
    ++live;
    wrong += lives(&d, pool, object[i], size[i]) != 1 || lives(&d, pool, object[i], size[i] + 32) != 0;
  }
  wrong += DecodeWord(DecodeFind(&d, EventPoolLiveEndCODE, (Word)pool), 1) != live;
  DecodeFree(&d);
  return wrong == 0 && found == live;
}

static void testFirstFit(void)
{
  enum { N = 1500 };
  static Addr object[N];
  static Size size[N];
  uint64_t seed = TapSeed() | 1;
  Arena arena;
  Pool pool;
  Index i;

  EmitMust(ArenaCreate(&arena, 1) == ResOK);
  EmitMust(PoolCreate(&pool, arena, "MVFF", NULL, 0) == ResOK);
  for (i = 0; i < N; ++i) {
    size[i] = mvffSize(i);
    EmitMust((i % 11 == 0 ? PoolAllocAligned(&object[i], pool, size[i], (Size)16 << i % 8)
                      : PoolAlloc(&object[i], pool, size[i])) == ResOK);
    memset((void *)object[i], 0xff, size[i]);
  }
  TapOk(mvffTold(pool, object, size, N), "MVFF tells its objects, which touch one another");
  for (i = 0; i < N; ++i)
    if (TapRandom(&seed) % 2 == 0) {
      PoolFree(pool, object[i], size[i]);
      object[i] = NULL;
    } else if (TapRandom(&seed) % 3 == 0) {
      Size other = mvffSize(TapRandom(&seed) % N);
      EmitMust(PoolResize(&object[i], pool, object[i], size[i], other) == ResOK);
      memset((void *)object[i], 0xff, size[i] = other);
    }
  TapOk(mvffTold(pool, object, size, N), "and with holes between them, and resized");
  for (i = 0; i < N; ++i)
    if (object[i] != NULL)
      PoolFree(pool, object[i], size[i]);
  memset(object, 0, sizeof object);
  TapOk(mvffTold(pool, object, size, N), "and none when all are gone");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static void testLocked(void)
{
  DecodeStruct d;
  Arena arena;
  Pool pool;

  EmitMust(ArenaCreate(&arena, 1) == ResOK);
  EmitMust(PoolCreate(&pool, arena, "SGF", NULL, 0) == ResOK);
  EmitFresh();
  StateDumpAsk();
  LockClaim(&ArenaRegistryLock);
  TapOk(!StateDumpAttend(), "who holds the lock of the arenas is not waited for");
  LockRelease(&ArenaRegistryLock);
  LockClaim(&arena->lock);
  TapOk(!StateDumpAttend(), "nor who holds an arena's");
  TapOk(LockTry(&ArenaRegistryLock), "and what was taken is given back");
  LockRelease(&ArenaRegistryLock);
  LockRelease(&arena->lock);
  EmitGet(&d);
  TapIs(d.events, 0, "and nothing is told");
  DecodeFree(&d);
  TapOk(StateDumpAttend(), "then it is");
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

/* An allocator's threads: some have ended, some sleep, some work. */
enum { sgfTHREADS = 4, sgfOBJECTS = 500, sgfTRIES = 5 };

typedef struct WorkerStruct {
  pthread_t thread;
  Pool pool;
  unsigned seed;
  Bool works, ends;
  Addr object[sgfOBJECTS];
  Size size[sgfOBJECTS];
} WorkerStruct, *Worker;

static Bool sgfStop;
static unsigned sgfReady;

static unsigned next(unsigned *seed)
{
  *seed = *seed * 1103515245u + 12345u;
  return *seed >> 16;
}

static void *work(void *argument)
{
  Worker worker = argument;
  Addr addr;
  Index i;

  for (i = 0; i < sgfOBJECTS; ++i) {
    worker->size[i] = i % 100 == 0 ? 100000 : next(&worker->seed) % 2000 + 1;
    EmitMust(PoolAlloc(&worker->object[i], worker->pool, worker->size[i]) == ResOK);
  }
  (void)__atomic_add_fetch(&sgfReady, 1, __ATOMIC_ACQ_REL);
  while (!worker->ends && !__atomic_load_n(&sgfStop, __ATOMIC_ACQUIRE))
    if (worker->works && PoolAlloc(&addr, worker->pool, 48) == ResOK)
      PoolFree(worker->pool, addr, 48);
    else
      (void)sched_yield();
  if (worker->ends)
    SGFThreadExit();
  return NULL;
}

/* threadsTell -- such threads, and what is told of their objects while they go on */
static void threadsTell(Decode decode, Worker worker, Pool pool)
{
  Index i, j;

  sgfReady = 0;
  sgfStop = FALSE;
  EmitFresh();
  for (i = 0; i < sgfTHREADS; ++i) {
    worker[i].pool = pool;
    worker[i].seed = (unsigned)i;
    worker[i].works = i == 0;
    worker[i].ends = i == 1;
    EmitMust(pthread_create(&worker[i].thread, NULL, work, &worker[i]) == 0);
  }
  while (__atomic_load_n(&sgfReady, __ATOMIC_ACQUIRE) < sgfTHREADS)
    (void)sched_yield();
  (void)pthread_join(worker[1].thread, NULL);
  /* Some of each thread's are freed by another one. */
  for (i = 0; i < sgfTHREADS; ++i)
    for (j = i; j < sgfOBJECTS; j += 5)
      PoolFree(pool, worker[i].object[j], worker[i].size[j]);
  StateDumpWait();
  while (!StateDumpAttend()) /* the thread that is telling may have no processor for longer than that */
    (void)sched_yield();
  __atomic_store_n(&sgfStop, TRUE, __ATOMIC_RELEASE);
  for (i = 0; i < sgfTHREADS; ++i)
    if (i != 1)
      (void)pthread_join(worker[i].thread, NULL);
  EmitGet(decode);
}

static void testThreads(void)
{
  static WorkerStruct worker[sgfTHREADS];
  DecodeStruct d;
  Arena arena;
  Pool pool;
  Count wrong = 0, late = 0, tries = 0;
  Index i, j;

  EmitMust(ArenaCreate(&arena, 1) == ResOK);
  for (;;) {
    EmitMust(PoolCreate(&pool, arena, "SGF", NULL, 0) == ResOK);
    threadsTell(&d, worker, pool);
    /* A thread that has no processor for a second, in the middle of an operation, is left out; then this end is not
     * told. */
    if (DecodeFind(&d, EventPoolLiveEndCODE, (Word)pool) != NULL || ++tries == sgfTRIES)
      break;
    DecodeFree(&d);
    PoolDestroy(pool);
  }
  DecodeSound(&d, "threads");
  TapOk(tries < sgfTRIES, "all objects are told, and that they are all");
  for (i = 0; i < sgfTHREADS; ++i)
    for (j = 0; j < sgfOBJECTS; ++j) {
      Count n = lives(&d, pool, worker[i].object[j], worker[i].size[j]);
      /* The freed ones of the thread that works may be had again. */
      if (worker[i].works && j >= i && (j - i) % 5 == 0)
        late += n;
      else
        wrong += n != (j < i || (j - i) % 5 != 0);
    }
  TapIs(wrong, 0, "of all threads' objects those that live, each once");
  TapOk(late <= 1, "of a thread that works one may be on its way");
  /* A sanitizer may have a thread of its own. */
  TapOk(DecodeCount(&d, EventThreadStartCODE) - sgfTHREADS <= 1, "the threads, but for the one that has ended");
  DecodeFree(&d);
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

static void testAsked(void)
{
  RegionHeader region = EmitterGet()->shared.header;
  DecodeStruct d;

  EmitFresh();
  (void)__atomic_fetch_or(&region->hand.attention, RegionAskSTATE, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_or(&EventKindControl[EventControlCLOCK], (Word)EventControlATTEND, __ATOMIC_SEQ_CST);
  EventUserWord(1, 2);
  EmitGet(&d);
  TapOk(d.events > 3 && DecodeCount(&d, EventStateBeginCODE) == 1 && DecodeCount(&d, EventStateEndCODE) == 1,
        "who asks through the region has it told by the next event");
  TapOk(DecodeFind(&d, EventUserWordCODE, 1) != NULL && !within(&d), "which stands behind it");
  TapIs(region->hand.attention & RegionAskSTATE, 0, "once");
  DecodeFree(&d);
}

/* modulesSame -- how many ModuleLoad events are in `found`, if each says what one in `known` does; or 0 */
static Count modulesSame(Decode found, Decode known)
{
  Count n = 0;
  Index i, j;

  for (i = 0; i < found->events; ++i) {
    DecodedEvent one = &found->event[i];
    if (one->code != EventModuleLoadCODE)
      continue;
    for (j = 0; j < known->events; ++j) {
      DecodedEvent other = &known->event[j];
      if (other->code == EventModuleLoadCODE && other->length == one->length &&
          memcmp(other->bytes + 8, one->bytes + 8, (one->length & ~EventLengthCUT) - 8) == 0)
        break;
    }
    if (j == known->events)
      return 0;
    ++n;
  }
  return n;
}

enum { modulesTIMES = 300, modulesFORKS = 5 };
static volatile unsigned modulesInterrupted;
static pid_t modulesChild[modulesFORKS];

/* modulesAgain -- a handler that asks for what is being told; or has a child that does */
static void modulesAgain(int unused)
{
  unsigned n = modulesInterrupted++;
  DecodeStruct d;

  UNUSED(unused);
  if (n >= modulesFORKS) {
    ModulesTell(FALSE);
    return;
  }
  modulesChild[n] = fork();
  if (modulesChild[n] != 0)
    return;
  EmitFresh();
  ModulesTell(FALSE);
  EmitGet(&d);
  EmitterEnd();
  _exit(DecodeCount(&d, EventModuleLoadCODE) >= 2 ? 0 : 1);
}

/* modulesHeld -- does a sanitizer hold signals back, and want no child of a handler that allocates? */
static Bool modulesHeld(void)
{
#if defined(__SANITIZE_THREAD__)
  return TRUE;
#else
  return FALSE;
#endif
}

static void testModules(void)
{
  struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  DecodeStruct known, d;
  Count bad = 0, times = 0;
  int status;
  Index i;

  if (modulesHeld()) {
    TapSkip("the thread sanitizer holds signals back");
    return;
  }
  EmitFresh();
  ModulesTell(FALSE);
  EmitGet(&known);
  (void)signal(SIGALRM, modulesAgain);
  (void)setitimer(ITIMER_REAL, &often, NULL);
  for (; modulesInterrupted < modulesTIMES; ++times)
    ModulesTell(FALSE);
  (void)setitimer(ITIMER_REAL, &never, NULL);
  (void)signal(SIGALRM, SIG_IGN);
  EmitGet(&d);
  TapOk(modulesSame(&d, &known) >= times * DecodeCount(&known, EventModuleLoadCODE),
        "what files are mapped is told right, and each time, where a handler asks for it, too");
  for (i = 0; i < modulesFORKS; ++i)
    bad += waitpid(modulesChild[i], &status, 0) != modulesChild[i] || status != 0;
  TapIs(bad, 0, "and a child tells it whose parent was about it");
  DecodeFree(&d);
  DecodeFree(&known);
}

int main(void)
{
  EmitOpen();
  testUser();
  testKinds();
  testPools();
  testFirstFit();
  testLocked();
  testThreads();
  testAsked();
  testModules();
  return TapDone();
}

#endif
