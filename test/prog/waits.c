/* waits.c -- children of fork that run only when all of them have been made
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * waits N OBJECTS FREES    Allocates OBJECTS objects; N times forks, and allocates one more, so that each child has
 * other objects.  Then each child frees FREES of those that it has from us.  Status 77: we may not keep them from
 * running.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* alone -- on one processor, and first: who is forked runs when we wait */
static int alone(void)
{
  struct sched_param first = {.sched_priority = 5};
  cpu_set_t one;
  int cpu = sched_getcpu();

  if (cpu < 0)
    return 0;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0 && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

static void child(void **object, long frees)
{
  long i;

  for (i = 0; i < frees; ++i)
    free(object[i]);
  _exit(0);
}

int main(int argc, char **argv)
{
  long n = argc > 1 ? atol(argv[1]) : 0, objects = argc > 2 ? atol(argv[2]) : 0, frees = argc > 3 ? atol(argv[3]) : 0,
       i;
  void **object = malloc((size_t)(objects + n) * sizeof *object);

  if (object == NULL || frees > objects || !alone())
    return object == NULL || frees > objects ? 2 : 77;
  for (i = 0; i < objects; ++i)
    object[i] = malloc(8);
  for (i = 0; i < n; ++i) {
    pid_t pid = fork();
    if (pid == 0)
      child(object, frees);
    if (pid < 0)
      return 2;
    object[objects + i] = malloc(8);
  }
  while (wait(NULL) > 0)
    ;
  return 0;
}
