/* site.c -- a program that knows where each of its allocations was asked for
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints FUNCTION LOW HIGH SIZE, in order: the call of that size is in that function, whose code lies between the two.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLER(name, size, call) \
  __attribute__((noinline)) static void *name(void *old) \
  { \
    void *volatile p = call; \
    (void)old; \
    return p; \
  }

CALLER(byMalloc, 101, malloc(101))
CALLER(byCalloc, 102, calloc(1, 102))
CALLER(byRealloc, 103, realloc(NULL, 103))
CALLER(byResize, 104, realloc(old, 104))
CALLER(byArray, 105, reallocarray(old, 1, 105))
CALLER(byAligned, 106, aligned_alloc(64, 106))
CALLER(byMemalign, 107, memalign(64, 107))
CALLER(byPages, 108, valloc(108))

/* Aligned as the others are asked for by the compiler's own options; the next function need not follow. */
enum { siteFUNCTION = 64 };

static void told(const char *name, void *(*function)(void *), unsigned size)
{
  (void)printf("%s %p %p %u\n", name, (void *)(size_t)function, (void *)((size_t)function + siteFUNCTION), size);
}

int main(void)
{
  void *p;

  (void)setvbuf(stdout, NULL, _IONBF, 0);
  told("byMalloc", byMalloc, 101);
  told("byCalloc", byCalloc, 102);
  told("byRealloc", byRealloc, 103);
  told("byResize", byResize, 104);
  told("byArray", byArray, 105);
  told("byAligned", byAligned, 106);
  told("byMemalign", byMemalign, 107);
  told("byPages", byPages, 108);
  free(byMalloc(NULL));
  free(byCalloc(NULL));
  p = byArray(byResize(byRealloc(NULL)));
  free(p);
  free(byAligned(NULL));
  free(byMemalign(NULL));
  free(byPages(NULL));
  return 0;
}
