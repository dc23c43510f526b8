/* refused.c -- what the malloc family says where it cannot serve, or just can: lines that a test compares
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile got;
static char kept;

#define GIVES(call) \
  do { \
    errno = 0; \
    got = (call); \
    printf("%s: %s, errno %d\n", #call, got != NULL ? "an object" : "NULL", errno); \
    free(got); \
  } while (0)

#define ALIGNS(align, size) \
  do { \
    void *p = &kept; \
    int result; \
    errno = 0; \
    result = posix_memalign(&p, align, size); \
    printf("posix_memalign(%s, %s): %d, errno %d, %s\n", #align, #size, result, errno, p == &kept ? "kept" : "set"); \
    if (p != &kept) \
      free(p); \
  } while (0)

#define RESIZES(call) \
  do { \
    void *volatile old = malloc(100), *volatile p = old; \
    errno = 0; \
    got = (call); \
    printf("%s: %s, errno %d\n", #call, got != NULL ? "an object" : "NULL", errno); \
    free(got == NULL ? p : got); \
  } while (0)

/* volatile: compilers know what cannot be had.  `big` fits into the address space, but into no machine's memory. */
static volatile size_t big = sizeof(size_t) == 8 ? (size_t)1 << (sizeof(size_t) * 5 + 6) : SIZE_MAX >> 1;
static volatile size_t root = (size_t)1 << (sizeof(size_t) * 4 + 1);
static volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2 + 1, three = 3, none;

int main(void)
{
  GIVES(malloc(big));
  GIVES(malloc(half - 1));
  GIVES(malloc(most));
  GIVES(malloc(none));
  GIVES(calloc(big, 1));
  GIVES(calloc(root, root));
  GIVES(calloc(none, none));
  GIVES(realloc(NULL, big));
  GIVES(reallocarray(NULL, root, root));
  GIVES(aligned_alloc(64, big));
  GIVES(aligned_alloc(half, 10));
  GIVES(memalign(three, 10));
  GIVES(memalign(none, 10));
  GIVES(memalign(half / 2, 10));
  GIVES(memalign(most, 10));
  GIVES(valloc(big));
  GIVES(pvalloc(most));
  GIVES(pvalloc(none));
  ALIGNS(three, 10);
  ALIGNS(none, 10);
  ALIGNS(4, 10);
  ALIGNS(24, 10);
  ALIGNS(most, 10);
  ALIGNS(64, big);
  ALIGNS(64, most);
  ALIGNS(half, 10);
  ALIGNS(sizeof(void *), none);
  RESIZES(realloc(p, big));
  RESIZES(realloc(p, most));
  RESIZES(reallocarray(p, root, root));
  printf("malloc_usable_size(NULL): %zu\n", malloc_usable_size(NULL));
  return 0;
}
