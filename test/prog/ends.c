/* ends.c -- children, one after the other, that end in all ways, and a parent that allocates as soon as one has ended
 *
 *     ends
 *
 * Each child allocates endsCHILD bytes, and maps as many; between two of them the parent has endsPARENT bytes of each
 * for a moment.  One child becomes this program, which then has as much as it had before.
 *
 * Tests: test/emit/fork.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { endsCHILD = 50000000, endsPARENT = 40000000 };

static void *volatile object;

static void has(size_t size)
{
  object = malloc(size);
  if (object == NULL || mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
    abort();
}

int main(int argc, char **argv)
{
  static const char *const ways[] = {"exit", "_exit", "exec", "return"};
  unsigned i;

  if (argc > 1) {
    has(endsCHILD);
    return 0;
  }
  for (i = 0; i < sizeof ways / sizeof *ways; ++i) {
    void *map;
    pid_t child = fork();
    if (child == 0) {
      has(endsCHILD);
      if (strcmp(ways[i], "exit") == 0)
        exit(0);
      if (strcmp(ways[i], "_exit") == 0)
        _exit(0);
      if (strcmp(ways[i], "exec") == 0)
        (void)execl(argv[0], argv[0], "again", (char *)NULL);
      return 0;
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
      return 1;
    object = malloc(endsPARENT);
    map = mmap(NULL, endsPARENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
      return 1;
    free(object);
    (void)munmap(map, endsPARENT);
  }
  return 0;
}
