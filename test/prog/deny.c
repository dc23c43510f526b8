/* deny.c -- a library to preload: it refuses some calls, and makes the others as they would have been made without it
 *
 * Its mmap64 calls mmap by its name, and its _exit calls _Exit.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { denySIZE = 12345678 };

static void *next(const char *name)
{
  void *symbol = dlsym(RTLD_NEXT, name);

  if (symbol == NULL)
    abort();
  return symbol;
}

/* refuse -- what a refused call gives back */
static long refuse(void)
{
  errno = EXDEV; /* that no system gives */
  return -1;
}

void *mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
  void *(*real)(void *, size_t, int, int, int, off_t);

  if (size == denySIZE)
    return (void *)refuse();
  *(void **)&real = next("mmap");
  return real(place, size, protection, flags, fd, offset);
}

void *mmap64(void *place, size_t size, int protection, int flags, int fd, off64_t offset)
{
  return mmap(place, size, protection, flags, fd, (off_t)offset);
}

int munmap(void *place, size_t size)
{
  int (*real)(void *, size_t);

  if (size == denySIZE)
    return (int)refuse();
  *(void **)&real = next("munmap");
  return real(place, size);
}

void *mremap(void *old, size_t oldSize, size_t size, int flags, ...)
{
  void *(*real)(void *, size_t, size_t, int, ...);
  void *place = NULL;
  va_list args;

  va_start(args, flags);
  if ((flags & MREMAP_FIXED) != 0)
    place = va_arg(args, void *);
  va_end(args);
  if (size == denySIZE)
    return (void *)refuse();
  *(void **)&real = next("mremap");
  return real(old, oldSize, size, flags, place);
}

void *sbrk(intptr_t more)
{
  void *(*real)(intptr_t);

  if (more == denySIZE)
    return (void *)refuse();
  *(void **)&real = next("sbrk");
  return real(more);
}

int prctl(int option, ...)
{
  int (*real)(int, ...);
  unsigned long argument[4];
  va_list args;
  int i;

  va_start(args, option);
  for (i = 0; i < 4; ++i)
    argument[i] = va_arg(args, unsigned long);
  va_end(args);
  if (option == PR_SET_NAME && strcmp((const char *)argument[0], "denied") == 0)
    return (int)refuse();
  *(void **)&real = next("prctl");
  return real(option, argument[0], argument[1], argument[2], argument[3]);
}

/* A condition that nobody waits for cannot be signalled. */
int pthread_cond_signal(pthread_cond_t *cond)
{
  (void)cond;
  return EXDEV;
}

void _exit(int status)
{
  _Exit(status + 1);
}
