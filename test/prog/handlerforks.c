/* handlerforks.c -- one thread allocates, and a timer's handler forks whatever that is in the middle of
 *
 *   handlerforks SIZE
 *
 * libc lets a process of one thread do so; the child ends at once.  Prints how many forks there were.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 400, OBJECTS = 64 };

static volatile sig_atomic_t forks;

static void handle(int signal)
{
  int error = errno;
  pid_t pid;

  (void)signal;
  if (forks == FORKS) /* the timer may come once more before that is printed */
    return;
  pid = fork();
  if (pid == 0)
    _exit(0);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  ++forks;
  errno = error;
}

int main(int argc, char **argv)
{
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  size_t size = argc > 1 ? strtoul(argv[1], NULL, 0) : 100;
  char *object[OBJECTS] = {NULL};
  unsigned i;

  if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &timer, NULL) != 0)
    return 1;
  for (i = 0; forks < FORKS; i = (i + 1) % OBJECTS) {
    free(object[i]);
    object[i] = malloc(size + i * 16);
    if (object[i] == NULL)
      return 2;
    *object[i] = 1;
  }
  printf("%d forks\n", (int)forks);
  return 0;
}
