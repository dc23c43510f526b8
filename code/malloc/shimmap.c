/* shimmap.c -- the program's own mappings, and _exit, wrapped
 *
 * mmap, munmap, mremap, brk and sbrk are seen where the program or one of its libraries calls them by name; libc's
 * calls to itself and the dynamic loader's are not.  Who comes next serves them (malloc/shimlookup.h).  _exit ends the
 * program without its exit handlers: the log is brought up to date first.  exec needs none for that: the program that
 * comes after it finds what was left behind (handover/store.h), or whoever reads the log does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/event.h"
#include "emit/process.h"
#include "malloc/shimlookup.h"

static inline void *shimMapped(void *place, size_t size, int protection, int flags)
{
  if (LIKELY(place != MAP_FAILED && ShimPassing == 0))
    EVENT_AWUU(MemoryMap, place, size, (unsigned)protection, (unsigned)flags);
  return place;
}

#if defined(SYS_mmap2)
enum { shimMapUNIT = 4096 };
#define shimMapCALL SYS_mmap2
#else
enum { shimMapUNIT = 1 };
#define shimMapCALL SYS_mmap
#endif

#define SHIM_MMAP(name, Offset) \
  SHIM void *name(void *place, size_t size, int protection, int flags, int fd, Offset offset) \
  { \
    __typeof__(name) *next = SHIM_PASS(name); \
    void *result; \
    SHIM_PASSING(next != NULL, \
                 result = next != NULL ? next(place, size, protection, flags, fd, offset) \
                                       : (void *)syscall(shimMapCALL, place, size, protection, flags, fd, \
                                                         (long)(offset / shimMapUNIT))); \
    return shimMapped(result, size, protection, flags); \
  }

SHIM_MMAP(mmap, off_t)
SHIM_MMAP(mmap64, off64_t)

SHIM int munmap(void *place, size_t size)
{
  int (*next)(void *, size_t) = SHIM_PASS(munmap);
  int result;

  /* Before it is given up: another thread may have it at once.  What the system will refuse is not told. */
  if (LIKELY(ShimPassing == 0 && size != 0 && (Word)place % (Word)getpagesize() == 0 && size <= SIZE_MAX - (Word)place))
    EVENT_AW(MemoryUnmap, place, size);
  SHIM_PASSING(next != NULL, result = next != NULL ? next(place, size) : (int)syscall(SYS_munmap, place, size));
  return result;
}

SHIM void *mremap(void *old, size_t oldSize, size_t size, int flags, ...)
{
  void *(*next)(void *, size_t, size_t, int, ...) = SHIM_PASS(mremap);
  va_list args;
  void *place = NULL;

  va_start(args, flags);
  if ((flags & MREMAP_FIXED) != 0)
    place = va_arg(args, void *);
  va_end(args);
  SHIM_PASSING(next != NULL, place = next != NULL ? next(old, oldSize, size, flags, place)
                                                  : (void *)syscall(SYS_mremap, old, oldSize, size, flags, place));
  if (place != MAP_FAILED && ShimPassing == 0)
    EVENT_AWAW(MemoryRemap, old, oldSize, place, size);
  return place;
}

/* The break is libc's affair, too: where it is not known yet who comes next, that is looked up all the same. */

static char *shimSbrk(Bool others, intptr_t more)
{
  void *(*next)(intptr_t) = ShimPass.sbrk;
  char *before;

  if (UNLIKELY(next == NULL))
    *(void **)&next = ShimSymbol(RTLD_NEXT, "sbrk");
  SHIM_PASSING(others, before = next(more));
  return before;
}

SHIM int brk(void *limit)
{
  Bool others = ShimPassTo() == ShimPassOTHERS;
  char *before = shimSbrk(others, 0); /* libc may have moved it since the last event */
  int (*next)(void *) = ShimPass.brk;
  int result;

  if (UNLIKELY(next == NULL))
    *(void **)&next = ShimSymbol(RTLD_NEXT, "brk");
  SHIM_PASSING(others, result = next(limit));
  if (result == 0 && ShimPassing == 0)
    EVENT_AA(MemoryBreak, limit, before);
  return result;
}

SHIM void *sbrk(intptr_t more)
{
  char *before = shimSbrk(ShimPassTo() == ShimPassOTHERS, more);

  if (more != 0 && before != (void *)-1 && ShimPassing == 0)
    EVENT_AA(MemoryBreak, before + more, before);
  return before;
}

/* shimEnd -- the process ends by `next`, or by the system; the log is brought up to date before */
static _Noreturn void shimEnd(void (*next)(int status), int status)
{
  ProcessEnd();
  ProcessEnding(TRUE);
  if (next != NULL)
    next(status);
  for (;;)
    (void)syscall(SYS_exit_group, status);
}

SHIM void _exit(int status)
{
  shimEnd(SHIM_PASS(exit), status);
}

/* Not by _exit: another library's may call this one. */
SHIM void _Exit(int status)
{
  shimEnd(SHIM_PASS(exitC), status);
}
