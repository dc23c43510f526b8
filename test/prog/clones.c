/* clones.c -- has 100 objects, makes CHILDREN by the system call itself, which free them; no thread but one
 *
 *     clones CHILDREN
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { clonesOBJECTS = 100, clonesSIZE = 100 };

int main(int argc, char **argv)
{
  int children = argc > 1 ? atoi(argv[1]) : 1, i;
  void *volatile object[clonesOBJECTS];

  for (i = 0; i < clonesOBJECTS; ++i)
    object[i] = malloc(clonesSIZE);
  for (; children > 0; --children) {
    if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) == 0) {
      for (i = 0; i < clonesOBJECTS; ++i)
        free(object[i]);
      exit(0);
    }
    (void)wait(NULL);
  }
  for (i = 0; i < clonesOBJECTS; ++i)
    free(object[i]);
  return 0;
}
