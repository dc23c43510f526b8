/* most.c -- run a program, and say how much memory it had at most: most FILE PROGRAM...
 *
 * Writes KiB that were resident into the file; its status is the program's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  struct rusage usage;
  FILE *out;
  int status;
  pid_t pid;

  if (argc < 3 || (pid = fork()) < 0)
    return 125;
  if (pid == 0) {
    (void)execvp(argv[2], argv + 2);
    _exit(127);
  }
  if (wait4(pid, &status, 0, &usage) != pid || (out = fopen(argv[1], "w")) == NULL)
    return 125;
  (void)fprintf(out, "%ld\n", usage.ru_maxrss);
  return fclose(out) == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
