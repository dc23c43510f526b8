/* pleads.c -- a program that asks for what deny.so refuses, and for a little more; it says what it was given
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { pleadsSIZE = 12345678, pleadsPAGE = 65536 };

static void say(const char *what, int failed)
{
  printf("%s: %d\n", what, failed ? errno : 0);
}

int main(void)
{
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS, protection = PROT_READ | PROT_WRITE;
  void *one, *two;

  say("mmap, denied", mmap(NULL, pleadsSIZE, protection, flags, -1, 0) == MAP_FAILED);
  say("mmap64, denied", mmap64(NULL, pleadsSIZE, protection, flags, -1, 0) == MAP_FAILED);
  say("mmap", (one = mmap(NULL, pleadsPAGE, protection, flags, -1, 0)) == MAP_FAILED);
  say("mmap64", (two = mmap64(NULL, 2 * pleadsPAGE, protection, flags, -1, 0)) == MAP_FAILED);
  say("mmap, of nothing", mmap(NULL, 0, protection, flags, -1, 0) == MAP_FAILED);
  say("mremap, denied", mremap(one, pleadsPAGE, pleadsSIZE, MREMAP_MAYMOVE) == MAP_FAILED);
  say("mremap", (one = mremap(one, pleadsPAGE, 3 * pleadsPAGE, MREMAP_MAYMOVE)) == MAP_FAILED);
  say("munmap, denied", munmap(one, pleadsSIZE) != 0);
  say("munmap", munmap(one, 3 * pleadsPAGE) != 0);
  say("munmap, amiss", munmap((char *)two + 1, 1) != 0);
  say("sbrk, denied", sbrk(pleadsSIZE) == (void *)-1);
  say("sbrk", sbrk(pleadsPAGE) == (void *)-1);
  say("prctl, denied", prctl(PR_SET_NAME, "denied") != 0);
  say("prctl", prctl(PR_SET_NAME, "given") != 0);
  printf("a condition, denied: %d\n", pthread_cond_signal(&cond));
  (void)fflush(stdout);
  _exit(3);
}
