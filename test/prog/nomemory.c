/* nomemory.c -- a library to preload: it makes allocations fail, and counts them
 *
 *   NOMEMORY_AT      number of the allocation that fails, from 1; it and those behind it, in all threads and in children
 *                    of fork.  Not set or 0: none
 *   NOMEMORY_ONCE    if set, it alone fails
 *   NOMEMORY_COUNT   a file to which the process appends, when it ends, how many there were, as a line
 *
 * An allocation is a call of the malloc family that asks for memory, or of mmap for memory that is no file's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void *memalign(size_t align, size_t size);

enum { SECONDS = 10 }; /* of processor time, which no run takes but one that goes in a circle: SIGXCPU */

static unsigned long at, count;
static int once, counts = -1;

__attribute__((constructor(101))) static void begin(void)
{
  const char *number = getenv("NOMEMORY_AT"), *path = getenv("NOMEMORY_COUNT");

  once = getenv("NOMEMORY_ONCE") != NULL;
  if (path != NULL)
    counts = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  count = 0;
  at = number == NULL ? 0 : strtoul(number, NULL, 10);
  (void)setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
}

__attribute__((destructor)) static void end(void)
{
  char line[32];
  int length = snprintf(line, sizeof line, "%lu\n", count);

  if (counts >= 0 && write(counts, line, (size_t)length) != length)
    abort();
}

static int fails(void)
{
  unsigned long number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);

  if (at == 0 || (once ? number != at : number < at))
    return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size)
{
  return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
  return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
  return fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
  size_t all;

  if (__builtin_mul_overflow(n, size, &all)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(p, all);
}

void *memalign(size_t align, size_t size)
{
  return fails() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
  return memalign(align, size);
}

int posix_memalign(void **place, size_t align, size_t size)
{
  void *p = memalign(align, size);

  if (p == NULL)
    return ENOMEM;
  *place = p;
  return 0;
}

void *mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
  return (flags & MAP_ANONYMOUS) != 0 && fails() ? MAP_FAILED
    : (void *)syscall(SYS_mmap, place, size, protection, flags, fd, offset);
}

void *mmap64(void *place, size_t size, int protection, int flags, int fd, off64_t offset)
{
  return mmap(place, size, protection, flags, fd, (off_t)offset);
}
