/* counter.c -- a library to preload behind ours: counts the calls of the malloc family that come through, by itself
 *
 * At the end it appends its counts as one line to the file that COUNTER names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void *memalign(size_t align, size_t size);

static unsigned long counterMalloc, counterFree, counterCalloc, counterResize, counterResizeNew, counterResizeFree,
  counterAligned, counterFailed;

#define COUNT(what) ((void)__atomic_fetch_add(&(what), 1, __ATOMIC_RELAXED))

static void *counted(void *p, unsigned long *what)
{
  COUNT(*(p != NULL ? what : &counterFailed));
  return p;
}

void *malloc(size_t size)
{
  return counted(__libc_malloc(size), &counterMalloc);
}

void free(void *p)
{
  if (p != NULL)
    COUNT(counterFree);
  __libc_free(p);
}

void *calloc(size_t count, size_t size)
{
  return counted(__libc_calloc(count, size), &counterCalloc);
}

void *realloc(void *p, size_t size)
{
  if (p == NULL)
    return counted(__libc_realloc(p, size), &counterResizeNew);
  COUNT(*(size == 0 ? &counterResizeFree : &counterResize));
  return __libc_realloc(p, size);
}

void *memalign(size_t align, size_t size)
{
  return counted(__libc_memalign(align, size), &counterAligned);
}

__attribute__((destructor(101))) static void counterTell(void)
{
  const char *path = getenv("COUNTER");
  char line[256];
  int length, fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

  length = snprintf(line, sizeof line, "PoolAlloc=%lu PoolFree=%lu PoolAllocZero=%lu PoolResizeBegin=%lu PoolAllocAligned=%lu "
                    "PoolAllocFail=%lu\n", counterMalloc + counterResizeNew, counterFree + counterResizeFree, counterCalloc,
                    counterResize, counterAligned, counterFailed);
  if (fd >= 0) {
    (void)!write(fd, line, (size_t)length);
    (void)close(fd);
  }
}
