/* shimmap.c -- the program's own mappings, and _exit, wrapped
 *
 * mmap, munmap, mremap, brk and sbrk are seen where the program or one of its libraries calls them by name; libc's
 * calls to itself and the dynamic loader's are not.  _exit ends the program without its exit handlers: the log is
 * brought up to date first.  exec needs none for that: the program that comes after it finds what was left behind
 * (emit/store.h), or whoever reads the log does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/event.h"
#include "emit/process.h"
#include "mm/shimlook.h"

#define SHIM __attribute__((visibility("default")))

static inline void *shimMapped(void *place, size_t size, int protection, int flags)
{
  if (LIKELY(place != MAP_FAILED))
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

/* shimReal -- the function of libc that a wrapper stands in front of; looked up once */
static void *shimReal(void **real, const char *name)
{
  void *symbol = __atomic_load_n(real, __ATOMIC_ACQUIRE);

  if (symbol == NULL) {
    symbol = ShimSymbol(RTLD_NEXT, name);
    __atomic_store_n(real, symbol, __ATOMIC_RELEASE);
  }
  return symbol;
}

/* SHIM_ASIDE -- where the library stays out, whoever would have been called is: a sanitizer wants to know of it */
#define SHIM_ASIDE(name, type, ...) \
  do { \
    static void *real_; \
    type function_; \
    void *symbol_; \
    if (LIKELY(!ProcessAside())) \
      break; \
    symbol_ = shimReal(&real_, name); \
    memcpy(&function_, &symbol_, sizeof function_); \
    return function_(__VA_ARGS__); \
  } while (0)

typedef void *(*ShimMmap)(void *place, size_t size, int protection, int flags, int fd, off_t offset);
typedef void *(*ShimMmap64)(void *place, size_t size, int protection, int flags, int fd, off64_t offset);
typedef int (*ShimMunmap)(void *place, size_t size);
typedef void *(*ShimMremap)(void *old, size_t oldSize, size_t size, int flags, ...);

SHIM void *mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
  SHIM_ASIDE("mmap", ShimMmap, place, size, protection, flags, fd, offset);
  return shimMapped((void *)syscall(shimMapCALL, place, size, protection, flags, fd, offset / shimMapUNIT), size,
                    protection, flags);
}

SHIM void *mmap64(void *place, size_t size, int protection, int flags, int fd, off64_t offset)
{
  SHIM_ASIDE("mmap64", ShimMmap64, place, size, protection, flags, fd, offset);
  return shimMapped((void *)syscall(shimMapCALL, place, size, protection, flags, fd, (long)(offset / shimMapUNIT)),
                    size, protection, flags);
}

SHIM int munmap(void *place, size_t size)
{
  SHIM_ASIDE("munmap", ShimMunmap, place, size);
  /* Before it is given up: another thread may have it at once.  What the system will refuse is not told. */
  if (LIKELY(size != 0 && (Word)place % (Word)getpagesize() == 0 && size <= SIZE_MAX - (Word)place))
    EVENT_AW(MemoryUnmap, place, size);
  return (int)syscall(SYS_munmap, place, size);
}

SHIM void *mremap(void *old, size_t oldSize, size_t size, int flags, ...)
{
  va_list args;
  void *place = NULL;

  va_start(args, flags);
  if ((flags & MREMAP_FIXED) != 0)
    place = va_arg(args, void *);
  va_end(args);
  SHIM_ASIDE("mremap", ShimMremap, old, oldSize, size, flags, place);
  place = (void *)syscall(SYS_mremap, old, oldSize, size, flags, place);
  if (place != MAP_FAILED)
    EVENT_AWAW(MemoryRemap, old, oldSize, place, size);
  return place;
}

static char *shimSbrk(intptr_t more)
{
  static void *real;
  void *(*function)(intptr_t);
  void *symbol = shimReal(&real, "sbrk");

  memcpy(&function, &symbol, sizeof function);
  return function(more);
}

SHIM int brk(void *limit)
{
  static void *real;
  int (*function)(void *);
  void *symbol = shimReal(&real, "brk");
  char *before = shimSbrk(0); /* libc may have moved it since the last event */
  int result;

  memcpy(&function, &symbol, sizeof function);
  result = function(limit);
  if (result == 0)
    EVENT_AA(MemoryBreak, limit, before);
  return result;
}

SHIM void *sbrk(intptr_t more)
{
  char *before = shimSbrk(more);

  if (more != 0 && before != (void *)-1)
    EVENT_AA(MemoryBreak, before + more, before);
  return before;
}

SHIM void _exit(int status)
{
  static void *real;
  void (*function)(int);
  void *symbol;

  if (ProcessAside()) {
    symbol = shimReal(&real, "_exit");
    memcpy(&function, &symbol, sizeof function);
    function(status);
  }
  ProcessEnd();
  ProcessEnding(TRUE);
  for (;;)
    (void)syscall(SYS_exit_group, status);
}

SHIM void _Exit(int status)
{
  _exit(status);
}
