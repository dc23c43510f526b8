/* uncounted.c -- a program that forbids itself the processor's counter, allocates 78 bytes fifty times, and has it
 * again
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <linux/prctl.h>
#include <stdlib.h>
#include <sys/prctl.h>

static void work(void)
{
  void *volatile p;
  int i;

  for (i = 0; i < 50; ++i) {
    p = malloc(78);
    free(p);
  }
}

int main(void)
{
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
    return 0;
  work();
  if (prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0) != 0)
    return 1;
  work();
  return 5;
}
