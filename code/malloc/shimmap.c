/* shimmap.c -- the program's own mappings, and _exit, wrapped
 *
 * mmap, munmap, mremap, brk and sbrk are seen where the program or one of its libraries calls them by name; libc's
 * calls to itself and the dynamic loader's are not.  The functions behind the wrappers serve them
 * (malloc/shimdlsym.h).  _exit ends the program without its exit handlers: the log is brought up to date first.  exec
 * needs that only in some cases (shimexec.c): else the next program, or a reader of the log, finds the blocks
 * (handover/blockstore.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/emitter.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimnext.h"

#if !defined(MREMAP_DONTUNMAP)
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

static inline void *shimMapped(void *place, size_t size, int protection, int flags, const void *site)
{
  if (LIKELY(place != MAP_FAILED && ShimPassing == 0))
    SHIM_TELL_MEMORY(AWUU, MemoryMap, site, place, size, (unsigned)protection, (unsigned)flags);
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
    return shimMapped(result, size, protection, flags, SITE); \
  }

SHIM_MMAP(mmap, off_t)
SHIM_MMAP(mmap64, off64_t)

SHIM int munmap(void *place, size_t size)
{
  int (*next)(void *, size_t) = SHIM_PASS(munmap);
  int result;

  /* Before the call: another thread may get the same memory at once.  A call that the system will refuse has no
   * event. */
  if (LIKELY(ShimPassing == 0 && size != 0 && (Word)place % (Word)getpagesize() == 0 && size <= SIZE_MAX - (Word)place))
    SHIM_TELL_MEMORY(AW, MemoryUnmap, SITE, place, size);
  SHIM_PASSING(next != NULL, result = next != NULL ? next(place, size) : (int)syscall(SYS_munmap, place, size));
  return result;
}

SHIM void *mremap(void *old, size_t oldSize, size_t size, int flags, ...)
{
  void *(*next)(void *, size_t, size_t, int, ...) = SHIM_PASS(mremap);
  va_list args;
  void *place = NULL;

  va_start(args, flags);
  if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) /* the other one takes it for a hint */
    place = va_arg(args, void *);
  va_end(args);
  SHIM_PASSING(next != NULL, place = next != NULL ? next(old, oldSize, size, flags, place)
                                                  : (void *)syscall(SYS_mremap, old, oldSize, size, flags, place));
  if (UNLIKELY(oldSize == 0 || (flags & MREMAP_DONTUNMAP) != 0)) /* the old one stays: this is one more */
    return shimMapped(place, size, PROT_READ | PROT_WRITE, oldSize == 0 ? MAP_SHARED : MAP_PRIVATE, SITE);
  if (place != MAP_FAILED && ShimPassing == 0)
    SHIM_TELL_MEMORY(AWAW, MemoryRemap, SITE, old, oldSize, place, size);
  return place;
}

/* libc moves the break itself: so its functions are called, also while ShimPassWho is unknown. */

static char *shimSbrk(Bool others, intptr_t more)
{
  void *(*next)(intptr_t) = ShimPass.sbrk;
  char *before;

  if (UNLIKELY(next == NULL))
    ShimNextSymbol(&next, "sbrk");
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
    ShimNextSymbol(&next, "brk");
  SHIM_PASSING(others, result = next(limit));
  if (result == 0 && ShimPassing == 0)
    SHIM_TELL_MEMORY(AA, MemoryBreak, SITE, limit, before);
  return result;
}

SHIM void *sbrk(intptr_t more)
{
  char *before = shimSbrk(ShimPassTo() == ShimPassOTHERS, more);

  if (more != 0 && before != (void *)-1 && ShimPassing == 0)
    SHIM_TELL_MEMORY(AA, MemoryBreak, SITE, before + more, before);
  return before;
}

/* shimEnd -- the process ends by `next`, or by the system; the log is brought up to date before */
static _Noreturn void shimEnd(void (*next)(int status), int status)
{
  ShimEnd();
  EmitterEnd();
  EmitterEnding(TRUE);
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
