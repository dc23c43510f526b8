/* bursts.c -- workers of a server: each answers a request in its turn, for which it needs much, and keeps a little of it
 *
 *   bursts [workers [rounds]]    16 and 4 if not said
 *
 * glibc gives each worker an arena of its own, and a burst leaves in it what nobody else can use.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { burst = 60000, most = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static long workers, rounds, turn;
static void *kept[most][64];

/* answer -- a burst of small objects, all of which are freed, but for one that came last */
static void answer(long worker, long round)
{
  static void *object[burst];
  uint64_t state = (uint64_t)(worker * rounds + round + 1) * 0x9e3779b97f4a7c15ull;
  long i;

  for (i = 0; i < burst; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    object[i] = malloc(32 + state % 200);
    memset(object[i], 1, 32);
  }
  free(kept[worker][round % 64]);
  kept[worker][round % 64] = object[burst - 1];
  for (i = 0; i < burst - 1; ++i)
    free(object[i]);
}

static void *work(void *number)
{
  long worker = (long)(intptr_t)number, round;

  for (round = 0; round < rounds; ++round) {
    pthread_mutex_lock(&lock);
    while (turn % workers != worker)
      pthread_cond_wait(&next, &lock);
    answer(worker, round);
    ++turn;
    pthread_cond_broadcast(&next);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t thread[most];
  long i;

  workers = argc > 1 ? atol(argv[1]) : 16;
  rounds = argc > 2 ? atol(argv[2]) : 4;
  if (workers < 1 || workers > most || rounds < 1 || rounds > 64)
    return 2;
  for (i = 0; i < workers; ++i)
    if (pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i) != 0)
      return 3;
  for (i = 0; i < workers; ++i)
    (void)pthread_join(thread[i], NULL);
  return 0;
}
