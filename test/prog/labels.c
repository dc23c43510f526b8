/* labels.c -- a program that gives labels to an arena, a pool and objects of its own
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It prints the addresses of the arena, the pool, an object that has a label, one whose address had a label before, and
 * one whose label was taken away.  Where events of kind Sync are sent, it waits for a lock with a label when it ends.
 */
#include <stdio.h>

#include "emit/event.h"
#include "emit/pawprint.h"
#include "mm/arena.h"
#include "mm/pool.h"

static int lock;

int main(void)
{
  EventWord big = EventIntern("the \"big\" one\n"), old = EventIntern("an older one");
  Addr labelled, again, none;
  Arena arena;
  Pool pool;

  if (ArenaCreate(&arena, 1) != ResOK || PoolCreate(&pool, arena, "MVFF", NULL, 0) != ResOK)
    return 2;
  EventLabel(arena, EventIntern("the arena"));
  EventLabel(pool, EventIntern("the pool"));
  if (PoolAlloc(&labelled, pool, 54321) != ResOK || PoolAlloc(&again, pool, 123) != ResOK ||
      PoolAlloc(&none, pool, 77) != ResOK)
    return 2;
  EventLabel((const void *)labelled, big);
  EventLabel((const void *)again, old);
  EventLabel((const void *)none, old);
  PoolFree(pool, again, 123);
  if (PoolAlloc(&again, pool, 123) != ResOK)
    return 2;
  EventLabel((const void *)none, 0);
  printf("%#llx %#llx %#llx %#llx %#llx\n", (unsigned long long)(Word)arena, (unsigned long long)(Word)pool,
         (unsigned long long)(Word)labelled, (unsigned long long)(Word)again, (unsigned long long)(Word)none);
  (void)fflush(stdout);
  EventUserString(big, "last");
  EventLabel(&lock, EventIntern("the lock"));
  EVENT_UP(MutexRequest, 1, &lock);
  return 0;
}
