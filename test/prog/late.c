/* late.c -- a program of several threads that is recorded from its middle on
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     late THREADS SECONDS/100 LOG     under a preloaded libpawprint
 *
 * Each thread has a few hundred objects, some of them small, some large, frees them, those of others too, and
 * allocates anew; one thread sleeps all the time on what it has.  In the middle of this the first thread opens LOG.  At
 * the end all that is left is freed, but for one object of each thread; what those are is printed: ADDRESS SIZE.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { lateOBJECTS = 400, lateTHREADS = 16 };

static void *exchange[lateOBJECTS]; /* objects on their way from one thread to another */
static int stop, ready;
static void *kept[lateTHREADS];

static unsigned next(unsigned *seed)
{
  *seed = *seed * 1103515245u + 12345u;
  return *seed >> 16;
}

static size_t size(unsigned random)
{
  return random % 50 == 0 ? 70000 + random * 10 : random % 7 == 0 ? random % 5000 : random % 200;
}

static void step(void **object, unsigned *seed)
{
  unsigned random = next(seed), i = random % lateOBJECTS;

  switch (next(seed) % 4) {
  case 0:
    object[i] = __atomic_exchange_n(&exchange[i], object[i], __ATOMIC_ACQ_REL);
    break;
  case 1:
    if (object[i] != NULL)
      object[i] = realloc(object[i], size(next(seed)) + 1);
    break;
  default:
    free(object[i]);
    object[i] = malloc(size(next(seed)));
  }
}

static void *worker(void *number)
{
  unsigned seed = (unsigned)(uintptr_t)number, i;
  void *object[lateOBJECTS] = {NULL};

  kept[seed] = malloc(1000 + seed);
  for (i = 0; i < lateOBJECTS; ++i)
    object[i] = malloc(size(next(&seed)));
  (void)__atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
    if ((uintptr_t)number == 1)
      (void)usleep(1000);
    else
      step(object, &seed);
  for (i = 0; i < lateOBJECTS; ++i)
    free(object[i]);
  return NULL;
}

int main(int argc, char **argv)
{
  unsigned threads = argc > 3 ? (unsigned)atoi(argv[1]) : 0, time = argc > 3 ? (unsigned)atoi(argv[2]) : 0, i;
  pthread_t thread[lateTHREADS];
  void *symbol = dlsym(RTLD_DEFAULT, "EventLogOpen");
  int (*open)(const char *);

  memcpy(&open, &symbol, sizeof open);
  if (symbol == NULL || threads == 0 || threads > lateTHREADS)
    return 2;
  for (i = 0; i < threads; ++i)
    if (pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)i) != 0)
      return 3;
  while ((unsigned)__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < threads)
    (void)usleep(1000);
  (void)usleep(time * 10000);
  if (open(argv[3]) != 0)
    return 4;
  (void)usleep(time * 10000);
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  for (i = 0; i < threads; ++i)
    (void)pthread_join(thread[i], NULL);
  for (i = 0; i < lateOBJECTS; ++i)
    free(exchange[i]);
  for (i = 0; i < threads; ++i)
    (void)printf("%p %u\n", kept[i], 1000 + i);
  return 0;
}
