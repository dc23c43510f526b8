/* tail.c -- threads whose destructors of thread-specific data free and allocate; when all are joined, a fork
 *
 * tail THREADS -- the child allocates one object; the parent has five when it forks, besides libc's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN = 5 };

static pthread_key_t key;
static void *volatile kept;

static void destroy(void *p)
{
  free(p);
  kept = malloc(77);
  free(kept);
}

static void *run(void *unused)
{
  (void)unused;
  return (void *)(long)pthread_setspecific(key, malloc(33));
}

int main(int argc, char **argv)
{
  int threads = argc > 1 ? atoi(argv[1]) : 1, i;
  pthread_t thread;
  pid_t child;

  if (pthread_key_create(&key, destroy) != 0)
    return 1;
  for (i = 0; i < threads; ++i) /* one after the other: libc has one stack for all */
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
      return 1;
  (void)dlsym(RTLD_DEFAULT, "pthread_create"); /* frees what the last lookup of this thread has allocated */
  for (i = 0; i < OWN; ++i)
    kept = malloc(5);
  if ((child = fork()) == 0) {
    kept = malloc(6);
    _exit(0);
  }
  return child < 0 || waitpid(child, NULL, 0) != child;
}
