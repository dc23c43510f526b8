/* midst.c -- forks again and again while THREADS others allocate and free; each child says how many objects it has
 *
 *     midst THREADS CHILDREN
 *
 * prog/living.so, preloaded, knows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { midstSLOTS = 64, midstTHREADS = 16 };

extern long living(void) __attribute__((weak));

static int ended;

static void *run(void *number)
{
  unsigned random = (unsigned)(size_t)number, i;
  void *slot[midstSLOTS] = {NULL};

  while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
    random = random * 1103515245 + 12345;
    i = random >> 16 & (midstSLOTS - 1);
    free(slot[i]);
    slot[i] = malloc(2000 + (random >> 8) % 3000); /* larger than what a thread keeps for itself */
  }
  for (i = 0; i < midstSLOTS; ++i)
    free(slot[i]);
  return NULL;
}

static int child(void)
{
  char line[64];
  void *volatile first = malloc(7777);
  int length = snprintf(line, sizeof line, "%d %ld\n", (int)getpid(), living != NULL ? living() : 0);

  return first == NULL || write(1, line, (size_t)length) != length;
}

int main(int argc, char **argv)
{
  int threads = argc > 1 ? atoi(argv[1]) : 0, children = argc > 2 ? atoi(argv[2]) : 1, i, status = 0;
  pthread_t thread[midstTHREADS];
  pid_t pid;

  for (i = 0; i < threads && i < midstTHREADS; ++i)
    if (pthread_create(&thread[i], NULL, run, (void *)(size_t)(i + 1)) != 0)
      return 2;
  for (; children > 0 && status == 0; --children) {
    (void)usleep(2000);
    pid = fork();
    if (pid == 0)
      _exit(child());
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
      status = 3;
  }
  __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
  for (i = 0; i < threads && i < midstTHREADS; ++i)
    (void)pthread_join(thread[i], NULL);
  return status != 0;
}
