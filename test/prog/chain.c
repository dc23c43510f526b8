/* chain.c -- a program that becomes itself again: chain PARTS COUNT [raw|thread]
 *
 * Each part allocates COUNT times, and frees.  raw: by a system call of its own; thread: another thread allocates, and
 * has ended before.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static void *chainAllocate(void *count)
{
  unsigned long n = strtoul(count, NULL, 10);

  for (; n > 0; --n) {
    void *block = malloc(4242);
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
  }
  return NULL;
}

int main(int argc, char *argv[])
{
  unsigned parts = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
  const char *how = argc > 3 ? argv[3] : "";
  char left[16];
  char *next[] = {argv[0], left, argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL, NULL};
  pthread_t thread;

  if (parts == 0)
    return 2;
  if (strcmp(how, "thread") == 0) {
    if (pthread_create(&thread, NULL, chainAllocate, argv[2]) != 0 || pthread_join(thread, NULL) != 0)
      return 1;
  } else {
    (void)chainAllocate(argv[2]);
  }
  if (parts == 1)
    return 0;
  (void)snprintf(left, sizeof left, "%u", parts - 1);
  if (strcmp(how, "raw") == 0)
    (void)syscall(SYS_execve, "/proc/self/exe", next, environ);
  else
    (void)execve("/proc/self/exe", next, environ);
  return 1;
}
