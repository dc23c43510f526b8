/* large.c -- allocates an object that is large enough for a mark in pictures, and resizes another, at known places
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#if defined(__clang__)
#define PLACE __attribute__((noinline, optnone))
#else
#define PLACE __attribute__((noinline, noipa))
#endif

static void *volatile taken, *volatile grown;

PLACE static void taker(void)
{
  taken = malloc(2 << 20);
  free(taken);
}

PLACE static void between(void)
{
  taker();
  taken = NULL;
}

PLACE static void grower(void)
{
  grown = realloc(grown, 100000);
  free(grown);
}

int main(void)
{
  between();
  grown = malloc(100);
  grower();
  return 0;
}
