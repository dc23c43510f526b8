/* siblings.c -- a process and its child allocate, each objects of a size of its own, say when they have, and wait
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Usage: siblings COUNT -- the process allocates objects of 777 bytes, the child of 555.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  long count = argc > 1 ? atol(argv[1]) : 1000, i;
  pid_t child = fork();
  size_t size = child == 0 ? 555 : 777;

  for (i = 0; i < count; ++i)
    free(malloc(size));
  dprintf(1, "%s %d\n", child == 0 ? "child" : "parent", (int)getpid());
  for (;;)
    pause();
}
