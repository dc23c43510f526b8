/* amsreftest.c -- references of an AMS pool whose objects have headers: from functions, to what is no object of the
 * pool, to objects that are a header only, and from stacks that are not a thread's own
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "ams/amsdata.h"
#include "mm/arena.h"
#include "tap.h"

enum { HEADER = 16, BARE = 1024 };

/* The header of an object; its references stand behind it. */
typedef struct ObjectStruct {
  Word size, count;
} ObjectStruct, *Object;

#define objectOf(ref) ((Object)(void *)((char *)(ref) - HEADER))

static unsigned wrong; /* calls of formatScan for what is no object */

static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  Object object = objectOf(ref);
  Addr *at = (Addr *)ref;
  Word i;

  if (object->size != 1024) {
    ++wrong;
    return;
  }
  for (i = 0; i < object->count; ++i)
    if ((Addr)&at[i] >= base && (Addr)&at[i] < limit)
      AMSFix(scan, at[i]);
}

static Addr formatSkip(Addr ref) { return (Addr)((char *)ref + objectOf(ref)->size); }

static const AMSFormatStruct format = { 16, HEADER, formatScan, formatSkip };

static Arena arena;

/* make -- an object of 1024 bytes with one reference, and text that is none */
static Addr make(AMSAP ap, Addr ref)
{
  Object object;
  Addr addr;

  do {
    if (AMSReserve(&addr, ap, 1024) != ResOK)
      abort();
    object = (Object)(void *)addr;
    memset(object, 0xaa, 1024);
    object->size = 1024;
    object->count = 1;
    *(Addr *)(void *)((char *)object + HEADER) = ref;
  } while (!AMSCommit(ap, addr, 1024));
  return (Addr)((char *)object + HEADER);
}

static Pool newPool(AMSAP *apReturn, const AMSFormatStruct *its)
{
  Pool pool;

  if (AMSCreate(&pool, arena, its, NULL, 0) != ResOK || AMSAPCreate(apReturn, pool) != ResOK)
    abort();
  return pool;
}

static Size allocated(Pool pool)
{
  AMSStatsStruct stats;

  AMSStatsGet(&stats, pool);
  return stats.allocated;
}

/* ---- A function as a root ---- */

static Addr known[2]; /* which the function knows, and nobody else */

static void fixKnown(AMSScan scan, void *closure)
{
  AMSFix(scan, known[0]);
  AMSFix(scan, *(Addr *)closure);
}

static void testFun(void)
{
  AMSAP ap;
  Pool pool = newPool(&ap, &format);
  AMSRoot root;

  known[0] = make(ap, make(ap, NULL));
  known[1] = make(ap, NULL);
  TapIs(AMSRootCreateFun(&root, pool, fixKnown, &known[1]), ResOK, "a function may be a root");
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 3 * 1024, "what it fixes is kept, and what that refers to");
  known[1] = NULL;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 2 * 1024, "no more than that");
  AMSRootDestroy(root);
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == 0, "and nothing when it is gone");
  PoolDestroy(pool);
}

/* ---- What is no object ---- */

/* testForeign -- another pool's object begins the segment behind one of ours: where the header of ours would be, there
 * is the text of our last object */
static void testForeign(const char *class)
{
  static Addr roots[2];
  AMSAP ap;
  Pool pool = newPool(&ap, &format), other;
  AMSRoot root;
  Addr foreign;
  Count i;

  if (AMSRootCreateTable(&root, pool, AMSRankEXACT, roots, 2) != ResOK)
    abort();
  roots[0] = make(ap, NULL);
  if (PoolCreate(&other, arena, class, NULL, 0) != ResOK || PoolAlloc(&foreign, other, 64) != ResOK)
    abort();
  memset((void *)foreign, 0, 64);
  for (i = 1; i < ArenaGrainSIZE / 1024; ++i)
    roots[0] = make(ap, roots[0]);
  /* The objects of a segment fill it to its end: what lies there is an object's text. */
  roots[1] = (Addr)WordAlignUp((Word)roots[0], ArenaGrainSIZE);
  TapOk(PoolOfAddr(roots[1]) == other, "%s: an object of another pool is next to a full segment", class);
  TapOk(AMSCollect(pool) == ResOK && wrong == 0, "an exact reference to it is none to an object");
  TapIs(allocated(pool), ArenaGrainSIZE, "and changes nothing");
  PoolFree(other, foreign, 64);
  PoolDestroy(other);
  PoolDestroy(pool);
}

static void testFinalize(void)
{
  static Addr roots[1];
  AMSAP ap;
  Pool pool = newPool(&ap, &format);
  AMSRoot root;
  Addr reserved, last;

  if (AMSRootCreateTable(&root, pool, AMSRankEXACT, roots, 1) != ResOK)
    abort();
  roots[0] = make(ap, NULL);
  TapIs(AMSFinalize(pool, (Addr)((Word)roots[0] + 1)), ResPARAM, "an odd address is not finalized,");
  TapIs(AMSFinalize(pool, (Addr)((Word)roots[0] + 16)), ResPARAM, "nor one inside an object that was just committed,");
  if (AMSReserve(&reserved, ap, 64) != ResOK)
    abort();
  TapIs(AMSFinalize(pool, (Addr)((char *)reserved + HEADER)), ResPARAM, "nor one that is reserved,");
  ((Object)(void *)reserved)->size = 64;
  ((Object)(void *)reserved)->count = 0;
  if (!AMSCommit(ap, reserved, 64))
    abort();
  last = make(ap, NULL);
  TapIs(AMSFinalize(pool, last), ResOK, "but one is that was committed behind objects of which that was asked,");
  roots[0] = make(ap, NULL);
  (void)AMSCollect(pool);
  TapOk(AMSMessageGet(&reserved, pool) && reserved == last, "and has its message");
  TapIs(AMSFinalize(pool, (Addr)((Word)roots[0] + 16)), ResPARAM, "nor one inside an object of a collection,");
  TapIs(AMSFinalize(pool, roots[0]), ResOK, "but an object is");
  PoolDestroy(pool);
}

/* ---- An object that is a header only, at the end of a chunk ---- */

static Addr bareSkip(Addr ref) { return (Addr)((char *)ref + BARE); }

static void testEnd(void)
{
  static const AMSFormatStruct bare = { BARE, BARE, NULL, bareSkip };
  static Addr roots[2];
  AMSAP ap;
  Pool pool = newPool(&ap, &bare);
  AMSRoot root;
  Addr addr;

  if (AMSRootCreateTable(&root, pool, AMSRankAMBIG, roots, 2) != ResOK)
    abort();
  do {
    do {
      if (AMSReserve(&addr, ap, BARE) != ResOK)
        abort();
    } while (!AMSCommit(ap, addr, BARE));
    addr = (Addr)((Word)addr + BARE);
  } while ((Word)addr % ChunkSIZE != 0);
  roots[0] = addr;
  TapOk(AMSCollect(pool) == ResOK && allocated(pool) == BARE, "the last object of a chunk, a header only, is kept");
  PoolDestroy(pool);
}

/* ---- On another stack ---- */

static Res awayRes;
static Pool awayPool;
static ucontext_t away, home;

static void collectAway(void) { awayRes = AMSCollect(awayPool); }

static void testStack(void)
{
  static char stack[256 << 10];
  AMSAP ap;

  awayPool = newPool(&ap, &format);
  (void)make(ap, NULL);
  if (AMSThreadRegister() != ResOK || getcontext(&away) != 0)
    abort();
  away.uc_stack.ss_sp = stack;
  away.uc_stack.ss_size = sizeof stack;
  away.uc_link = &home;
  makecontext(&away, collectAway, 0);
  (void)swapcontext(&home, &away);
  TapIs(awayRes, ResFAIL, "a registered thread that is on a coroutine's stack begins no collection");
  TapIs(AMSCollect(awayPool), ResOK, "back on its own one it does");
  AMSThreadDeregister();
  PoolDestroy(awayPool);
}

int main(void)
{
  if (ArenaCreate(&arena, ChunkSIZE) != ResOK)
    abort();
  testFun();
  testForeign("MVFF");
  testForeign("SGF");
  testFinalize();
  testEnd();
  testStack();
  TapOk(ArenaCheck(arena), "the arena is sound");
  ArenaDestroy(arena);
  return TapDone();
}
