/* clones.c -- has 100 objects, makes CHILDREN by the system call itself, which free them; no thread but one
 *
 *     clones CHILDREN [FIFO]
 *     clones shares
 *
 * With a fifo it does not wait for them, and each has not allocated or freed anything before it has read a byte from
 * it.  `shares': instead of all that, a child that has the same memory lives for a while.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { clonesOBJECTS = 100, clonesSIZE = 100 };

static void clonesWait(const char *fifo)
{
  int fd = open(fifo, O_RDONLY);
  char byte;

  if (fd < 0 || read(fd, &byte, 1) != 1)
    abort();
}

static int clonesShares(void *argument)
{
  (void)argument;
  (void)usleep(400000);
  return 0;
}

int main(int argc, char **argv)
{
  static char stack[65536] __attribute__((aligned(16)));
  int children = argc > 1 ? atoi(argv[1]) : 1, i;
  void *volatile object[clonesOBJECTS];

  if (argc > 1 && strcmp(argv[1], "shares") == 0)
    return clone(clonesShares, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL) < 0 || wait(NULL) < 0;
  for (i = 0; i < clonesOBJECTS; ++i)
    object[i] = malloc(clonesSIZE);
  for (; children > 0; --children) {
    if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) == 0) {
      if (argc > 2)
        clonesWait(argv[2]);
      for (i = 0; i < clonesOBJECTS; ++i)
        free(object[i]);
      exit(0);
    }
    if (argc <= 2)
      (void)wait(NULL);
  }
  for (i = 0; i < clonesOBJECTS; ++i)
    free(object[i]);
  return 0;
}
