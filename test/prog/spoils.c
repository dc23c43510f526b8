/* spoils.c -- a program that goes on writing into its region where the collector's robust list runs through it
 *
 *     spoils PROGRAM ARGUMENT...
 *
 * It starts the program, and spoils the list until that has ended.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/region.h"

/* region -- ours: what is mapped from the beginning of such a file; NULL: there is none */
static RegionHeader region(void)
{
  FILE *maps = fopen("/proc/self/maps", "r");
  RegionHeader header = NULL;
  char line[4096];

  while (maps != NULL && header == NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from, offset;
    if (strstr(line, "/" RegionPREFIX) != NULL && sscanf(line, "%lx-%*x %*s %lx", &from, &offset) == 2 && offset == 0)
      header = (RegionHeader)from;
  }
  if (maps != NULL)
    (void)fclose(maps);
  return header;
}

int main(int argc, char **argv)
{
  void *volatile object = malloc(1000); /* so there is a region */
  RegionHeader ours = region();
  pid_t child;

  if (argc < 2 || object == NULL || ours == NULL)
    return 77;
  child = fork();
  if (child == 0) {
    (void)execv(argv[1], argv + 1);
    _exit(127);
  }
  while (child > 0 && waitpid(child, NULL, WNOHANG) == 0)
    __atomic_store_n(&ours->hand.next, (void *)8, __ATOMIC_SEQ_CST);
  return 0;
}
