/* shorts.c -- short processes, one after the other: `shorts N` runs itself N times, and each run allocates a little
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { shortsOBJECTS = 100, shortsSIZE = 100 };

static int work(void)
{
  int i;

  for (i = 0; i < shortsOBJECTS; ++i) {
    char *p = malloc((size_t)(shortsSIZE + i));
    if (p == NULL)
      return 1;
    memset(p, i, shortsSIZE);
    if (i % 2 != 0)
      free(p);
  }
  return 0;
}

int main(int argc, char **argv)
{
  char *arguments[] = {argv[0], NULL};
  int status, left;

  if (argc < 2)
    return work();
  for (left = atoi(argv[1]); left > 0; --left) {
    pid_t pid = vfork();
    if (pid == 0) {
      (void)execve(argv[0], arguments, environ);
      _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
      return 1;
  }
  return 0;
}
