/* counter.c -- a library to preload behind ours: counts the calls of the malloc family that come through, by itself
 *
 * The counts lie in the file that COUNTER names, as 8-byte numbers, up to date at any moment; processes add up.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void *memalign(size_t align, size_t size);

/* In the file's order. */
enum { ALLOC, FREE, ZERO, RESIZE, ALIGNED, FAIL, LIMIT };

static uint64_t early[LIMIT]; /* before the file is there */
static uint64_t *counts = early;

static void count(unsigned what)
{
  (void)__atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

static void *counted(void *p, unsigned what)
{
  count(p != NULL ? what : FAIL);
  return p;
}

void *malloc(size_t size)
{
  return counted(__libc_malloc(size), ALLOC);
}

void free(void *p)
{
  if (p != NULL)
    count(FREE);
  __libc_free(p);
}

void *calloc(size_t n, size_t size)
{
  return counted(__libc_calloc(n, size), ZERO);
}

void *realloc(void *p, size_t size)
{
  if (p == NULL)
    return counted(__libc_realloc(p, size), ALLOC);
  count(size == 0 ? FREE : RESIZE);
  return __libc_realloc(p, size);
}

void *memalign(size_t align, size_t size)
{
  return counted(__libc_memalign(align, size), ALIGNED);
}

__attribute__((constructor(101))) static void begin(void)
{
  const char *path = getenv("COUNTER");
  int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
  void *map = MAP_FAILED;
  unsigned i;

  if (fd >= 0 && ftruncate(fd, 4096) == 0)
    map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED)
    return;
  counts = map;
  for (i = 0; i < LIMIT; ++i)
    (void)__atomic_fetch_add(&counts[i], early[i], __ATOMIC_RELAXED);
  (void)close(fd);
}
