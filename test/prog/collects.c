/* collects.c -- a program with a pool that is collected, which counts for itself what that does
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     collects [OBJECTS [LOG [THREADS [late]]]]
 *
 * With LOG (unless that is "-"), it is opened when half is done.  With THREADS, so many others are registered, and do
 * nothing.  With "late", one more does not let itself be stopped when a collection is to begin, which is abandoned.
 * Each round allocates so many objects, of which a table keeps some; a collection takes the others back.  The last line says what there was: collections, objects reclaimed, and objects
 * and bytes that are left.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amslist.h"
#include "emit/pawprint.h"
#include "mm/arena.h"

enum { ROUNDS = 10, KEPT = 500 };

static Addr kept[KEPT], weak[100000];

static sem_t registered;

static void *idle(void *closure)
{
  if (AMSThreadRegister() != ResOK)
    _exit(1);
  (void)sem_post(&registered);
  while (1)
    (void)pause();
  return closure;
}

static void idlers(unsigned long count)
{
  pthread_t thread;

  for (; count > 0; --count) {
    if (pthread_create(&thread, NULL, idle, NULL) != 0)
      _exit(1);
    (void)sem_wait(&registered);
  }
}

static sem_t abandoned;

/* late -- registered, with all signals blocked, until a collection has been abandoned */
static void *late(void *closure)
{
  sigset_t all;

  (void)sigfillset(&all);
  if (AMSThreadRegister() != ResOK || pthread_sigmask(SIG_BLOCK, &all, NULL) != 0)
    _exit(1);
  (void)sem_post(&registered);
  (void)sem_wait(&abandoned);
  AMSThreadDeregister();
  return closure;
}

static Res abandon(Pool pool)
{
  pthread_t thread;
  Res res;

  if (pthread_create(&thread, NULL, late, NULL) != 0)
    return ResFAIL;
  (void)sem_wait(&registered);
  res = AMSCollect(pool) == ResFAIL ? ResOK : ResFAIL;
  (void)sem_post(&abandoned);
  return pthread_join(thread, NULL) == 0 ? res : ResFAIL;
}

int main(int argc, char **argv)
{
  unsigned long objects = argc > 1 ? strtoul(argv[1], NULL, 0) : 5000, round, i, made = 0, left = 0;
  Size bytes = 0;
  AMSRoot root, weakRoot;
  Arena arena;
  Pool pool;
  AMSAP ap;
  Addr addr;

  if (objects * ROUNDS > sizeof weak / sizeof *weak || ArenaCreate(&arena, ChunkSIZE) != ResOK ||
      AMSCreate(&pool, arena, &format, NULL, 0) != ResOK || AMSAPCreate(&ap, pool) != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankEXACT, kept, KEPT) != ResOK ||
      AMSRootCreateTable(&weakRoot, pool, AMSRankWEAK, weak, sizeof weak / sizeof *weak) != ResOK)
    return 1;
  idlers(argc > 3 ? strtoul(argv[3], NULL, 0) : 0);
  EventLabel(pool, EventIntern("the objects"));
  if (argc > 4 && strcmp(argv[4], "late") == 0 && abandon(pool) != ResOK)
    return 1;
  for (round = 0; round < ROUNDS; ++round) {
    for (i = 0; i < objects; ++i) {
      Size size = i % 1000 == 0 ? 50000 : 16 + i % 7 * 16;
      do {
        if (AMSReserve(&addr, ap, size) != ResOK)
          return 1;
        ((Object)(void *)addr)->size = size;
        ((Object)(void *)addr)->next = i % 3 == 0 ? kept[i % KEPT] : NULL;
      } while (!AMSCommit(ap, addr, size));
      weak[made++] = addr;
      if (i % 5 == 0)
        kept[i * 7 % KEPT] = addr;
    }
    if (round == 4 && argc > 2 && strcmp(argv[2], "-") != 0 && EventLogOpen(argv[2]) != 0)
      return 1;
    if (round == 3 && AMSFinalize(pool, kept[0]) != ResOK)
      return 1;
    if (round == 5)
      memset(kept, 0, sizeof kept);
    if (AMSCollect(pool) != ResOK)
      return 1;
  }
  for (i = 0; i < made; ++i)
    if (weak[i] != NULL) {
      ++left;
      bytes += ((Object)(void *)weak[i])->size;
    }
  printf("%u collections, %lu reclaimed, %lu left, %lu bytes\n", (unsigned)ROUNDS, made - left, left,
         (unsigned long)bytes);
  AMSRootDestroy(weakRoot);
  return 0;
}
