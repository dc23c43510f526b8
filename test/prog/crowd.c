/* crowd THREADS OBJECTS [kill|together|short] -- so many threads live at one time, and each allocates and frees so many
 * objects of 4711 bytes: one after the other, so that only one of them runs at any moment, but each keeps what it has
 * for its events; or all together, if so asked for; or each has ended before the next one begins (short).  In the end
 * it is killed if that was
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { crowdSIZE = 4711, crowdSTACK = 65536 };

static sem_t crowdDone;
static long crowdObjects;
static int crowdShort;

static void *crowdRun(void *unused)
{
  void *volatile object;
  long i;

  (void)unused;
  for (i = 0; i < crowdObjects; ++i) {
    object = malloc(crowdSIZE);
    free(object);
  }
  (void)sem_post(&crowdDone);
  while (!crowdShort)
    (void)pause();
  return NULL;
}

int main(int argc, char **argv)
{
  long threads = argc > 2 ? atol(argv[1]) : 0, i;
  int together = argc > 3 && strcmp(argv[3], "together") == 0;
  pthread_attr_t attributes;
  pthread_t thread;

  crowdObjects = argc > 2 ? atol(argv[2]) : 0;
  crowdShort = argc > 3 && strcmp(argv[3], "short") == 0;
  (void)pthread_attr_init(&attributes);
  (void)pthread_attr_setstacksize(&attributes, crowdSTACK);
  (void)sem_init(&crowdDone, 0, 0);
  for (i = 0; i < threads; ++i) {
    if (pthread_create(&thread, &attributes, crowdRun, NULL) != 0) {
      (void)fprintf(stderr, "only %ld threads\n", i);
      exit(77);
    }
    while (!together && sem_wait(&crowdDone) != 0)
      ;
    if (crowdShort)
      (void)pthread_join(thread, NULL);
  }
  for (i = 0; together && i < threads; ++i)
    while (sem_wait(&crowdDone) != 0)
      ;
  if (argc > 3 && !together && !crowdShort)
    (void)kill(getpid(), SIGKILL);
  return 0;
}
