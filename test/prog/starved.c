/* starved.c -- a program that has no descriptor left, and whose children emit
 *
 *     starved GENERATIONS OBJECTS END [orphan] [lone] [room=BYTES] [program ARGUMENT...]
 *
 * It opens files until it can open no more, and forks; its child allocates so many OBJECTS of 7000 bytes and more by
 * its generation, and forks in turn.  A child ends as END says: `exit`, `_exit`, `kill`, by which nothing is sent any
 * more. With `orphan` each child emits when its parent has ended.  With `lone` it may have no thread beside its first,
 * nor a child, unless it is root's.  With `room` the program's address space is limited to what it has and so many
 * bytes.  The last child becomes the `program`, if one is given, having closed one file; a program that is linked needs
 * it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile object;
static int last = -1;

/* has -- bytes of address space that are in use */
static unsigned long has(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");

  if (file == NULL || fscanf(file, "%lu", &pages) != 1)
    abort();
  (void)fclose(file);
  return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static void limit(unsigned long room)
{
  struct rlimit bytes = {has() + room, has() + room};

  if (setrlimit(RLIMIT_AS, &bytes) != 0)
    abort();
}

static void starve(void)
{
  int fd;

  while ((fd = open("/dev/null", O_RDONLY)) >= 0)
    last = fd;
}

static void emit(unsigned long objects, int generation)
{
  while (objects-- > 0) {
    object = malloc((size_t)(7000 + generation));
    if (object == NULL)
      abort();
    free(object);
  }
}

static void end(const char *how)
{
  if (strcmp(how, "kill") == 0)
    (void)kill(getpid(), SIGKILL);
  if (strcmp(how, "_exit") == 0)
    _exit(0);
  exit(0);
}

int main(int argc, char **argv)
{
  int generations = argc > 3 ? atoi(argv[1]) : 0, generation, next = 4, orphan, lone;
  unsigned long objects = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
  pid_t parent;

  orphan = next < argc && strcmp(argv[next], "orphan") == 0;
  next += orphan;
  lone = next < argc && strcmp(argv[next], "lone") == 0;
  next += lone;
  if (next < argc && strncmp(argv[next], "room=", 5) == 0)
    limit(strtoul(argv[next++] + 5, NULL, 10));
  starve();
  for (generation = 1; generation <= generations; ++generation) {
    pid_t child;
    parent = getpid();
    child = fork();
    if (child < 0)
      return 1;
    if (child > 0) {
      if (!orphan)
        (void)waitpid(child, NULL, 0);
      break;
    }
    if (lone && setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0}) != 0)
      abort();
    while (orphan && getppid() == parent)
      (void)usleep(1000);
    emit(objects, generation);
  }
  if (generation > generations && next < argc) {
    (void)close(last);
    (void)execv(argv[next], argv + next);
    return 1;
  }
  if (generation > 1)
    end(argv[3]);
  return 0;
}
