/* nested.c -- a library to preload: an allocator whose functions call each other through the dynamic linker
 *
 * Each of the five calls another one by its name: malloc and free call realloc, calloc, memalign and a realloc that
 * moves call malloc; and each object of memalign lies inside one of malloc's.  It is simple and never gives memory
 * back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { nestedHEAD = 16 };

static char *next, *limit;
static int lock;

static size_t *head(void *p)
{
  return (size_t *)((char *)p - nestedHEAD);
}

/* nestedTake -- memory, which is where all of it comes from */
static void *nestedTake(size_t size)
{
  enum { PIECE = 64 << 20 };
  size_t all = (size + 2 * nestedHEAD - 1) & ~(size_t)(nestedHEAD - 1);
  char *p = NULL;

  if (size > PIECE / 2) {
    errno = ENOMEM;
    return NULL;
  }
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0)
    continue;
  if ((size_t)(limit - next) < all) {
    next = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    limit = next + PIECE;
  }
  p = next + nestedHEAD;
  next += all;
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  *head(p) = size;
  return p;
}

void *malloc(size_t size)
{
  return realloc(NULL, size);
}

void free(void *p)
{
  if (p != NULL && realloc(p, 0) != NULL)
    abort();
}

void *calloc(size_t count, size_t size)
{
  size_t all;
  void *p = __builtin_mul_overflow(count, size, &all) ? NULL : malloc(all);

  return p != NULL ? memset(p, 0, all) : NULL;
}

void *realloc(void *old, size_t size)
{
  void *p;

  if (old == NULL)
    return nestedTake(size);
  p = size == 0 ? NULL : malloc(size);
  if (p != NULL)
    memcpy(p, old, *head(old) < size ? *head(old) : size);
  return p;
}

void *memalign(size_t align, size_t size)
{
  char *p = size > SIZE_MAX / 2 - align ? NULL : malloc(size + align + nestedHEAD);

  if (p == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  p = (char *)(((uintptr_t)p + nestedHEAD + align - 1) & ~(uintptr_t)(align - 1));
  *head(p) = size;
  return p;
}

size_t malloc_usable_size(void *p)
{
  return *head(p);
}
