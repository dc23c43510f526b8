/* mallocloop.c -- a tight loop of malloc and free: the worst that can be recorded
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

int main(int argc, char **argv)
{
  long n = argc > 1 ? atol(argv[1]) : 20000000, i;

  for (i = 0; i < n; ++i) {
    void *volatile p = malloc((size_t)(16 + (i & 7) * 8));
    free(p);
  }
  return 0;
}
