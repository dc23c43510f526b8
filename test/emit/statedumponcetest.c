/* statedumponcetest.c -- what already is is told once for each time that somebody asks, and counted anew each time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <sched.h>

#include "emit/statedump.h"
#include "emitting.h"
#include "mm/arena.h"
#include "mm/pool.h"
#include "mm/poolsgfcache.h"

#if defined(VARIETY_RASH) || defined(VARIETY_HOT)

int main(void)
{
  TapSkip("no events per object in this variety");
  return TapDone();
}

#else

enum { onceTHREADS = 2, onceTIMES = 2000 };

static Bool onceStop;

/* attend -- a thread all of whose events take the slow way */
static void *attend(void *unused)
{
  UNUSED(unused);
  while (!__atomic_load_n(&onceStop, __ATOMIC_ACQUIRE))
    if (StateDumpAttend())
      (void)sched_yield();
  return NULL;
}

/* waitAll -- StateDumpWait, and however long it takes: a thread that tells may have no processor */
static void waitAll(void)
{
  StateDumpWait();
  while (!StateDumpAttend())
    (void)sched_yield();
}

static void testOnce(void)
{
  pthread_t thread[onceTHREADS];
  DecodeStruct d;
  Index i;

  EmitMust(EventControlKinds("none") == 0); /* so there are but the two events around it */
  EmitFresh();
  for (i = 0; i < onceTHREADS; ++i)
    EmitMust(pthread_create(&thread[i], NULL, attend, NULL) == 0);
  for (i = 0; i < onceTIMES; ++i)
    waitAll();
  __atomic_store_n(&onceStop, TRUE, __ATOMIC_RELEASE);
  for (i = 0; i < onceTHREADS; ++i)
    (void)pthread_join(thread[i], NULL);
  EmitGet(&d);
  TapIs(DecodeCount(&d, EventStateBeginCODE), onceTIMES, "it is told as often as it is asked for, by whatever thread");
  TapIs(DecodeCount(&d, EventStateEndCODE), onceTIMES, "and each time to its end");
  DecodeFree(&d);
  EmitMust(EventControlKinds("all") == 0);
}

/* testAnew -- a pool of whose objects some cannot be told: a slow path is changing their slab */
static void testAnew(void)
{
  DecodedEvent end;
  DecodeStruct d;
  Addr large, small;
  Arena arena;
  Pool pool;

  EmitMust(ArenaCreate(&arena, 1) == ResOK);
  EmitMust(PoolCreate(&pool, arena, "SGF", NULL, 0) == ResOK);
  EmitMust(PoolAlloc(&large, pool, SGFBlockMAX + 1) == ResOK && PoolAlloc(&small, pool, 48) == ResOK);
  EmitFresh();
  SGFBusyBegin();
  waitAll();
  SGFBusyEnd();
  EmitGet(&d);
  TapIs(DecodeCount(&d, EventPoolLiveCODE), 1, "what cannot be told is left out");
  TapOk(DecodeFind(&d, EventPoolLiveEndCODE, (Word)pool) == NULL && DecodeCount(&d, EventStateEndCODE) == 1,
        "and that these are all is not said");
  DecodeFree(&d);
  EmitFresh();
  waitAll();
  EmitGet(&d);
  TapIs(DecodeCount(&d, EventPoolLiveCODE), 2, "the next time all objects are told");
  end = DecodeFind(&d, EventPoolLiveEndCODE, (Word)pool);
  TapIs(end != NULL ? DecodeWord(end, 1) : 0, 2, "and their number is theirs, without those of the time before");
  DecodeFree(&d);
  PoolDestroy(pool);
  ArenaDestroy(arena);
}

int main(void)
{
  EmitOpen();
  testOnce();
  testAnew();
  return TapDone();
}

#endif
