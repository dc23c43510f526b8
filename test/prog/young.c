/* young.c -- children of fork that do nothing until they are killed
 *
 *   young N                       N of them, one after the other, each for less than the one before
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 1;

  for (; n > 0; --n) {
    pid_t child = fork();
    if (child < 0)
      return 1;
    while (child == 0)
      (void)pause();
    (void)usleep((useconds_t)n * 300);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
  }
  return 0;
}
