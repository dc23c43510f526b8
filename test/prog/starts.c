/* starts.c -- start a program in one of the ways that there are, without the library in its environment
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     starts HOW PROGRAM ARGUMENT     the program with its argument; system and popen take ARGUMENT as a command
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

static char home[] = "HOME=/", *without[] = {home, NULL};

/* startsCopy -- a copy of a file in memory, which has no name */
static int startsCopy(const char *path)
{
  int from = open(path, O_RDONLY), to = memfd_create("copy", 0);

  while (sendfile(to, from, NULL, 1 << 20) > 0)
    ;
  return to;
}

/* startsFolder -- the folder of a program */
static int startsFolder(const char *path)
{
  char folder[4096];

  (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  return open(folder, O_RDONLY | O_DIRECTORY);
}

/* startsChild -- in the child; returns if it does not know the way */
static void startsChild(const char *how, char *argv[])
{
  if (strcmp(how, "execle") == 0)
    (void)execle(argv[0], argv[0], argv[1], (char *)NULL, without);
  else if (strcmp(how, "execve") == 0)
    (void)execve(argv[0], argv, without);
  else if (strcmp(how, "fexecve") == 0)
    (void)fexecve(open(argv[0], O_RDONLY), argv, without);
  else if (strcmp(how, "execveat") == 0)
    (void)execveat(AT_FDCWD, argv[0], argv, without, 0);
  else if (strcmp(how, "memfd") == 0)
    (void)fexecve(startsCopy(argv[0]), argv, without);
  else if (strcmp(how, "folder") == 0)
    (void)execveat(startsFolder(argv[0]), strrchr(argv[0], '/') + 1, argv, without, 0);
  (void)unsetenv("LD_PRELOAD");
  if (strcmp(how, "execl") == 0)
    (void)execl(argv[0], argv[0], argv[1], (char *)NULL);
  else if (strcmp(how, "execlp") == 0)
    (void)execlp(argv[0], argv[0], argv[1], (char *)NULL);
}

int main(int argc, char **argv)
{
  int status = 1;
  pid_t pid = 0;

  if (argc != 4)
    return 2;
  if (strcmp(argv[1], "system") == 0) {
    (void)unsetenv("LD_PRELOAD");
    return WEXITSTATUS(system(argv[3]));
  }
  if (strcmp(argv[1], "popen") == 0) {
    FILE *from;
    (void)unsetenv("LD_PRELOAD");
    from = popen(argv[3], "r");
    return from == NULL || getc(from) != EOF ? 1 : WEXITSTATUS(pclose(from));
  }
  if (strcmp(argv[1], "posix_spawn") == 0)
    status = posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, without);
  else if (strcmp(argv[1], "posix_spawnp") == 0)
    status = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, without);
  else if (strcmp(argv[1], "vfork") == 0 && (status = 0, pid = vfork()) == 0) {
    (void)execve(argv[2], argv + 2, without);
    _exit(127);
  } else if (pid == 0 && (status = 0, pid = fork()) == 0) {
    startsChild(argv[1], argv + 2);
    _exit(127);
  }
  if (status != 0 || waitpid(pid, &status, 0) != pid)
    return 1;
  return WEXITSTATUS(status);
}
