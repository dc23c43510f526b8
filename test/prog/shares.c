/* shares.c -- threads that allocate in one pool, which collects by itself and as a whole
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     shares [THREADS]
 *
 * Each thread makes lists, of which a table keeps the last one.  The last line says how many collections there were.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "amslist.h"
#include "mm/arena.h"

enum { THREADS = 16, LISTS = 20, LENGTH = 3000, THRESHOLD = 256 << 10 };

static Pool pool;
static Addr kept[THREADS];

static Addr make(AMSAP ap, Addr next)
{
  Addr addr;

  do {
    if (AMSReserve(&addr, ap, sizeof(ObjectStruct) + 16) != ResOK)
      abort();
    ((Object)(void *)addr)->size = sizeof(ObjectStruct) + 16;
    ((Object)(void *)addr)->next = next;
  } while (!AMSCommit(ap, addr, sizeof(ObjectStruct) + 16));
  return addr;
}

static void *lists(void *place)
{
  unsigned i, j;
  AMSAP ap;

  if (AMSThreadRegister() != ResOK || AMSAPCreate(&ap, pool) != ResOK)
    abort();
  for (i = 0; i < LISTS; ++i) {
    Addr list = NULL;
    for (j = 0; j < LENGTH; ++j)
      list = make(ap, list);
    __atomic_store_n((Addr *)place, list, __ATOMIC_RELAXED);
  }
  AMSAPDestroy(ap);
  AMSThreadDeregister();
  return NULL;
}

int main(int argc, char **argv)
{
  unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 0) : 4, i;
  PoolParamStruct params[] = { { "threshold", THRESHOLD } };
  pthread_t thread[THREADS];
  AMSStatsStruct stats;
  AMSRoot root;
  Arena arena;

  if (threads > THREADS || ArenaCreate(&arena, ChunkSIZE) != ResOK ||
      AMSCreate(&pool, arena, &format, params, 1) != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankEXACT, kept, THREADS) != ResOK)
    return 1;
  for (i = 0; i < threads; ++i)
    if (pthread_create(&thread[i], NULL, lists, &kept[i]) != 0)
      return 1;
  for (i = 0; i < threads; ++i)
    (void)pthread_join(thread[i], NULL);
  AMSStatsGet(&stats, pool);
  printf("%zu collections\n", stats.collections);
  return 0;
}
