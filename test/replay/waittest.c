/* waittest.c -- threads that wait for each other's counters are woken, and none waits for ever
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/wait.h"

#include <pthread.h>

#include "tap.h"

enum { members = 12, steps = 3000 };

/* Threads in a ring: each takes a step when the one before it has taken one more than itself. */
typedef struct MemberStruct {
  uint64_t done;
  uint32_t sleepers;
  uint64_t early, processor; /* steps before their time; ns of waiting */
  struct MemberStruct *before;
  Bool first;
  pthread_t thread;
} __attribute__((aligned(64))) MemberStruct, *Member;

static MemberStruct member[members];
static uint32_t stop;

static void *ring(void *closure)
{
  Member own = closure;
  uint64_t i;

  for (i = 0; i < steps; ++i) {
    uint64_t wanted = own->first ? i : i + 1;
    own->processor += WaitUntil(&own->before->done, wanted, &own->before->sleepers, &stop);
    if (__atomic_load_n(&own->before->done, __ATOMIC_ACQUIRE) < wanted)
      ++own->early;
    __atomic_store_n(&own->done, i + 1, __ATOMIC_RELEASE);
    WaitWake(&own->sleepers);
  }
  return NULL;
}

static void testRing(void)
{
  uint64_t early = 0, done = 0;
  Index i;

  for (i = 0; i < members; ++i) {
    member[i].before = &member[(i + members - 1) % members];
    member[i].first = i == 0;
    if (pthread_create(&member[i].thread, NULL, ring, &member[i]) != 0)
      abort();
  }
  for (i = 0; i < members; ++i) {
    (void)pthread_join(member[i].thread, NULL);
    early += member[i].early;
    done += member[i].done;
  }
  TapIs(done, members * steps, "a ring of threads that wait for each other comes to its end");
  TapIs(early, 0, "and none goes on before its time");
}

static void *wait(void *closure)
{
  Member own = closure;

  own->processor = WaitUntil(&own->done, 1, &own->sleepers, &stop);
  return NULL;
}

/* testOne -- one waits for what comes late, or for what never comes */
static void testOne(Bool comes)
{
  static MemberStruct one;
  struct timespec late = {0, 100000000};

  one = (MemberStruct){.done = 0};
  stop = 0;
  if (pthread_create(&one.thread, NULL, wait, &one) != 0)
    abort();
  (void)nanosleep(&late, NULL);
  if (comes) {
    __atomic_store_n(&one.done, 1, __ATOMIC_RELEASE);
    WaitWake(&one.sleepers);
  } else {
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  }
  (void)pthread_join(one.thread, NULL);
  TapOk(one.processor > 0, comes ? "who waits long is woken" : "or sees that all is to stop");
  TapOk(one.processor < 50000000, "and has slept: %llu ns of processor time", (unsigned long long)one.processor);
}

int main(void)
{
  uint64_t there = 1;
  uint32_t sleepers = 0;

  TapIs(WaitUntil(&there, 1, &sleepers, &stop), 0, "what is there is not waited for");
  testRing();
  testOne(TRUE);
  testOne(FALSE);
  return TapDone();
}
