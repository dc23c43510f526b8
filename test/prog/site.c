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

CALLER(byMalloc, 30101, malloc(30101))
CALLER(byCalloc, 30102, calloc(1, 30102))
CALLER(byRealloc, 30103, realloc(NULL, 30103))
CALLER(byResize, 30104, realloc(old, 30104))
CALLER(byArray, 30105, reallocarray(old, 1, 30105))
CALLER(byAligned, 30106, aligned_alloc(64, 30106))
CALLER(byMemalign, 30107, memalign(64, 30107))
CALLER(byPages, 30108, valloc(30108))

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
  told("byMalloc", byMalloc, 30101);
  told("byCalloc", byCalloc, 30102);
  told("byRealloc", byRealloc, 30103);
  told("byResize", byResize, 30104);
  told("byArray", byArray, 30105);
  told("byAligned", byAligned, 30106);
  told("byMemalign", byMemalign, 30107);
  told("byPages", byPages, 30108);
  free(byMalloc(NULL));
  free(byCalloc(NULL));
  p = byArray(byResize(byRealloc(NULL)));
  free(p);
  free(byAligned(NULL));
  free(byMemalign(NULL));
  free(byPages(NULL));
  return 0;
}
