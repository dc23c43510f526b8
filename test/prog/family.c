/* family.c -- every function of the malloc family once, in a known order; prints what it finds wrong
 *
 * The whole of it is marked by what is allocated first and freed last: 11111 and 22222 bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition))                                              \
      printf("family.c:%d: %s (errno %d)\n", __LINE__, #condition, errno); \
  } while (0)

static volatile size_t huge = SIZE_MAX / 2 + 4096; /* volatile: compilers know what cannot be had */
static volatile size_t zero;

static void aligned(void)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *p = (void *)1, *q;

  q = memalign(64, 100);
  CHECK((uintptr_t)q % 64 == 0);
  free(q);
  q = aligned_alloc(128, 256);
  CHECK((uintptr_t)q % 128 == 0);
  free(q);
  CHECK(posix_memalign(&q, 4096, 101) == 0 && (uintptr_t)q % 4096 == 0);
  free(q);
  errno = 7;
  CHECK(posix_memalign(&p, 3, 10) == EINVAL && p == (void *)1 && posix_memalign(&p, 4, 10) == EINVAL && errno == 7);
  CHECK(posix_memalign(&p, 64, huge) == ENOMEM && p == (void *)1 && errno == ENOMEM);
  q = valloc(102);
  CHECK((uintptr_t)q % page == 0);
  free(q);
  q = pvalloc(103);
  CHECK((uintptr_t)q % page == 0 && malloc_usable_size(q) >= page);
  free(q);
}

static void resized(void)
{
  char *p = realloc(NULL, 104), *q;
  char *volatile kept; /* through a failure */

  CHECK(p != NULL);
  memset(p, 'x', 104);
  p = realloc(p, 100000);
  CHECK(p != NULL && p[0] == 'x' && p[103] == 'x');
  errno = 0;
  kept = p;
  q = realloc(p, huge);
  p = kept;
  CHECK(q == NULL && errno == ENOMEM && p[103] == 'x');
  p = reallocarray(p, 105, 2);
  CHECK(p != NULL && p[103] == 'x');
  errno = 0;
  kept = p;
  q = reallocarray(p, huge, 4);
  p = kept;
  CHECK(q == NULL && errno == ENOMEM && p[103] == 'x');
  q = realloc(p, zero);
  CHECK(q == NULL);
}

static void failing(void)
{
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(calloc(huge, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(memalign(64, huge) == NULL && errno == ENOMEM);
}

static void mapped(void)
{
  char *p = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  CHECK(p != MAP_FAILED);
  p = mremap(p, 12288, 20480, MREMAP_MAYMOVE);
  CHECK(p != MAP_FAILED);
  p[20479] = 1;
  CHECK(munmap(p, 20480) == 0);
  CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
  CHECK(sbrk(0) != (void *)-1);
  CHECK(sbrk(8192) != (void *)-1);
}

static void *late;

static void atEnd(void)
{
  free(late);
}

__attribute__((constructor(101))) static void first(void)
{
  void *volatile p = malloc(33333); /* volatile: compilers leave out what nobody looks at */

  free(p);
}

int main(void)
{
  void *volatile marker = malloc(11111);
  char *p;
  size_t i;

  free(NULL);
  late = malloc(106);
  CHECK(malloc_usable_size(late) >= 106 && malloc_usable_size(NULL) == 0);
  atexit(atEnd);
  p = calloc(107, 3);
  for (i = 0; i < 321; ++i)
    CHECK(p[i] == 0);
  free(p);
  resized();
  aligned();
  failing();
  mapped();
  free(marker);
  return 3;
}
