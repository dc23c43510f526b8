/* death.c -- a program with threads that dies in one of many ways; what it has emitted it says in a file, too
 *
 *     death COUNTS MODE [THREADS]
 *
 * Each thread t emits UserWord events (t + 1, 0), (t + 1, 1) ... and stores in the file COUNTS, which it maps, how many
 * it has emitted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "emit/event.h"
#include "emit/pawprint.h"

enum { threadsMAX = 64, deathEVENTS = 3000 };

static volatile uint64_t *counts; /* in the file */
static const char *mode;
static volatile int *volatile nowhere = (volatile int *)8;

static void nap(void)
{
  struct timespec time = {0, 30000};

  nanosleep(&time, NULL);
}

static void die(void)
{
  if (strcmp(mode, "exit") == 0 || strcmp(mode, "thread-exit") == 0)
    exit(0);
  if (strcmp(mode, "_exit") == 0)
    _exit(0);
  if (strcmp(mode, "abort") == 0)
    abort();
  if (strcmp(mode, "aver") == 0)
    AVER(counts == NULL);
  if (strcmp(mode, "segv") == 0)
    *nowhere = 1;
}

static void *run(void *number)
{
  uintptr_t t = (uintptr_t)number;
  uint64_t i, random = t * 0x9e3779b97f4a7c15u + 1;
  Bool forever = strcmp(mode, "kill") == 0;

  for (i = 0; forever || i < deathEVENTS || t != 0; ++i) {
    EventUserWord(t + 1, i);
    __atomic_store_n(&counts[t], i + 1, __ATOMIC_RELEASE);
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (random >> 57 == 0)
      nap();
  }
  if (strcmp(mode, "thread-exit") == 0)
    die();
  return NULL;
}

/* others -- wait until each of the others has something in its block, which a failed AVER is to print */
static void others(unsigned threads)
{
  unsigned t;

  for (t = 1; t < threads; ++t)
    while (__atomic_load_n(&counts[t], __ATOMIC_ACQUIRE) == 0)
      nap();
}

int main(int argc, char **argv)
{
  unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 3;
  pthread_t thread[threadsMAX];
  uintptr_t t;
  int fd;

  if (argc < 3 || threads > threadsMAX || (fd = open(argv[1], O_RDWR | O_CREAT, 0600)) < 0 || ftruncate(fd, 4096) != 0)
    return 2;
  counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  mode = argv[2];
  if (counts == MAP_FAILED)
    return 2;
  (void)alarm(100); /* whoever was to kill it may have been killed */
  for (t = 0; t < threads; ++t)
    if (pthread_create(&thread[t], NULL, run, (void *)t) != 0)
      return 2;
  pthread_join(thread[0], NULL);
  others(threads);
  if (strcmp(mode, "return") != 0 && strcmp(mode, "alone") != 0)
    die();
  return 0;
}
