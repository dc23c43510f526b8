/* strict.c -- a program that forbids itself all system calls but read, write and exit, and then allocates
 *
 * strict [TIMES]: so many allocations of 77 bytes, and their frees, in seccomp's strict mode; 0 says that this mode is
 * not to be had here.  Memory for them is there beforehand.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  long i, times = argc > 1 ? atol(argv[1]) : 1000;
  void *volatile p;

  p = malloc(100000);
  free(p);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
    (void)syscall(SYS_exit, 0);
  for (i = 0; i < times; ++i) {
    p = malloc(77);
    free(p);
  }
  (void)syscall(SYS_exit, 5);
  return 0;
}
