/* mapped.c -- a program that maps memory, over and beside what it has mapped, and whose child is killed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)

static __attribute__((noinline)) char *map(void *place, size_t size, int flags)
{
  char *at = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

  if (at == MAP_FAILED)
    _exit(9);
  return at;
}

/* twice -- a shared mapping that is mapped a second time, and one that moves and stays, too: four of this size */
static void twice(size_t size)
{
  char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (shared == MAP_FAILED || mremap(shared, 0, size, MREMAP_MAYMOVE) == MAP_FAILED)
    _exit(9);
  if (mremap(map(NULL, size, 0), size, size, MREMAP_MAYMOVE | 4) == MAP_FAILED) /* MREMAP_DONTUNMAP: Linux 5.7 */
    (void)map(NULL, size, 0);
}

int main(void)
{
  char *base = map(NULL, 64 * MB, 0);
  static void *kept[20];
  pid_t child;
  int i;

  (void)map(base + 16 * MB, 16 * MB, MAP_FIXED);      /* 64 as before */
  (void)munmap(base + 40 * MB, 8 * MB);               /* 56 */
  if (mremap(base, 4 * MB, 12 * MB, MREMAP_MAYMOVE) == MAP_FAILED) /* 64 */
    return 9;
  (void)sbrk((intptr_t)MB);                           /* 65 */
  for (i = 0; i < 20; ++i)
    if ((kept[i] = malloc(100000)) == NULL)           /* libc's own: it moves the break */
      return 9;
  (void)sbrk((intptr_t)MB);                           /* 66 */
  if (brk((char *)sbrk(0) + MB) != 0)                 /* 67 */
    return 9;
  (void)sbrk(-(intptr_t)MB);                          /* 66 */
  (void)munmap(base + 48 * MB, 16 * MB - 100);        /* 50: whole pages */
  twice(2 * MB);                                      /* 58 */
  for (i = 0; i < 20; ++i)
    memset(kept[i], 1, 100000);
  (void)usleep(300000);                               /* meanwhile it is sampled */
  child = fork();
  if (child == 0) {
    (void)map(NULL, 32 * MB, 0);
    (void)kill(getpid(), SIGKILL);
  }
  printf("%d\n", (int)child);
  (void)waitpid(child, NULL, 0);
  return 0;
}
