/* usable.c -- allocates in every way, and says how many bytes each function was given beyond what it asked for
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Output: a line for each function, `name calls bytes'.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 3000, KEPT = 64 };

static void *kept[KEPT];
static char buffer[1024]; /* of standard output, which is not to allocate */

typedef struct Sum {
  const char *name;
  unsigned long calls, bytes;
} Sum;

static void count(Sum *sum, const void *p, size_t size)
{
  if (p == NULL)
    abort();
  ++sum->calls;
  sum->bytes += malloc_usable_size((void *)(uintptr_t)p) - size;
}

/* Each function is one caller: the count behind the call keeps that from being the last thing that it does. */
static __attribute__((noinline)) void *byMalloc(Sum *sum, void *old, size_t size)
{
  void *p;

  free(old);
  p = malloc(size);
  count(sum, p, size);
  return p;
}

static __attribute__((noinline)) void *byCalloc(Sum *sum, void *old, size_t size)
{
  void *p;

  free(old);
  p = calloc(1, size);
  count(sum, p, size);
  return p;
}

static __attribute__((noinline)) void *byResize(Sum *sum, void *old, size_t size)
{
  void *p = realloc(old, size);

  count(sum, p, size);
  return p;
}

static __attribute__((noinline)) void *byAligned(Sum *sum, void *old, size_t size)
{
  void *p = NULL;

  free(old);
  if (posix_memalign(&p, 64, size) != 0)
    abort();
  count(sum, p, size);
  return p;
}

int main(void)
{
  static void *(*const ways[])(Sum *, void *, size_t) = {byMalloc, byCalloc, byResize, byAligned};
  static Sum sums[] = {{.name = "byMalloc"}, {.name = "byCalloc"}, {.name = "byResize"}, {.name = "byAligned"}};
  unsigned seed = 12345;
  int i;

  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  for (i = 0; i < TIMES; ++i) {
    unsigned at, way;
    size_t size;
    seed = seed * 1103515245 + 12345;
    at = seed >> 16 & (KEPT - 1);
    way = seed >> 24 & 3;
    size = 1 + (seed >> 8) % (seed % 7 == 0 ? 300000 : 500);
    kept[at] = ways[way](&sums[way], kept[at], size);
  }
  for (i = 0; i < 4; ++i)
    printf("%s %lu %lu\n", sums[i].name, sums[i].calls, sums[i].bytes);
  return 0;
}
