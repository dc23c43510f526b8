/* newest.c -- threads that number what they allocate: by what a log has of each it is known what is missing
 *
 *     newest THREADS OBJECTS
 *
 * So many threads live at one time.  Each allocates and frees OBJECTS objects, the first of newestFIRST
 * bytes, each next one of one more, and waits for the end with what its block has.  They take turns of
 * newestTURN objects by a barrier, so that all have begun before any has gone on.
 *
 * Tests: test/emit/newest.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { newestFIRST = 5000, newestTURN = 50, newestSTACK = 65536 };

static pthread_barrier_t newestBarrier;
static sem_t newestDone;
static long newestObjects;

static void *newestRun(void *unused)
{
  void *volatile object;
  long i;

  (void)unused;
  for (i = 0; i < newestObjects; ++i) {
    if (i % newestTURN == 0)
      (void)pthread_barrier_wait(&newestBarrier);
    object = malloc((size_t)(newestFIRST + i));
    free(object);
  }
  (void)sem_post(&newestDone);
  for (;;)
    (void)pause();
  return NULL;
}

int main(int argc, char **argv)
{
  long threads = argc > 2 ? atol(argv[1]) : 0, i;
  pthread_attr_t attributes;
  pthread_t thread;

  newestObjects = argc > 2 ? atol(argv[2]) : 0;
  if (threads < 1)
    return 2;
  (void)pthread_attr_init(&attributes);
  (void)pthread_attr_setstacksize(&attributes, newestSTACK);
  (void)sem_init(&newestDone, 0, 0);
  (void)pthread_barrier_init(&newestBarrier, NULL, (unsigned)threads);
  for (i = 0; i < threads; ++i)
    if (pthread_create(&thread, &attributes, newestRun, NULL) != 0) {
      (void)fprintf(stderr, "only %ld threads\n", i);
      exit(77);
    }
  for (i = 0; i < threads; ++i)
    while (sem_wait(&newestDone) != 0)
      ;
  return 0;
}
