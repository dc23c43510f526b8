/* churn.c -- threads that allocate, resize and free across each other, and fork; prints a checksum that depends on
 * nothing else
 *
 *     churn [THREADS [ROUNDS]]
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { churnSLOTS = 256 };

static void *slot[churnSLOTS]; /* exchanged among threads: what one allocates another frees */
static uint64_t total;
static unsigned rounds = 5000;

static void *run(void *number)
{
  uint64_t random = (uintptr_t)number * 0x9e3779b97f4a7c15u + 1;
  unsigned i;

  for (i = 0; i < rounds; ++i) {
    size_t size;
    unsigned char *p;
    random = random * 6364136223846793005u + 1442695040888963407u;
    size = 1 + (random >> 40) % (i % 100 == 0 ? 100000 : 500);
    p = (random & 4096) != 0   ? malloc(size)
        : (random & 8192) != 0 ? calloc(1, size)
                               : realloc(malloc(size / 2 + 1), size);
    if (p == NULL || (uintptr_t)p % 16 != 0) {
      printf("churn: %p is no object\n", (void *)p);
      exit(1);
    }
    memset(p, (int)i, size);
    __atomic_fetch_add(&total, size, __ATOMIC_RELAXED);
    free(__atomic_exchange_n(&slot[(random >> 20) % churnSLOTS], p, __ATOMIC_ACQ_REL));
  }
  return NULL;
}

/* The sanitizers' allocators keep a lock that another thread held when it forked: there the threads end first. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { churnTOGETHER = 0 };
#else
enum { churnTOGETHER = 1 };
#endif

static void joinAll(const pthread_t *thread, unsigned threads)
{
  unsigned t;

  for (t = 0; t < threads && t < 64; ++t)
    pthread_join(thread[t], NULL);
}

int main(int argc, char **argv)
{
  unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 4, t;
  pthread_t thread[64];
  pid_t child;
  int status = 0;

  if (argc > 2)
    rounds = (unsigned)atoi(argv[2]);
  for (t = 0; t < threads && t < 64; ++t)
    if (pthread_create(&thread[t], NULL, run, (void *)(uintptr_t)(t + 1)) != 0)
      return 2;
  if (!churnTOGETHER)
    joinAll(thread, threads);
  child = fork(); /* while they are at it */
  if (child == 0) {
    (void)run((void *)99);
    exit(0);
  }
  (void)waitpid(child, &status, 0);
  if (churnTOGETHER)
    joinAll(thread, threads);
  for (t = 0; t < churnSLOTS; ++t)
    free(slot[t]);
  printf("%llu %d\n", (unsigned long long)total, status);
  return 0;
}
