/* shimlook.c -- looking up functions with the mark of the thread set
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/shimlook.h"

#include <dlfcn.h>
#include <errno.h>

#include "mm/shimwithin.h"

/* LOOK -- call the dynamic loader with the thread marked as ShimLOOKUP and nothing else: so its frees have events, also
 * inside an operator new or delete */
#define LOOK(call) \
  do { \
    unsigned before = ShimWithin; \
    int error = errno; \
    ShimWithin = ShimLOOKUP; \
    call; \
    ShimWithin = before; \
    errno = error; \
  } while (0)

void *ShimSymbol(void *library, const char *name)
{
  void *symbol;

  LOOK(symbol = dlsym(library, name));
  return symbol;
}

void *ShimSymbolVersion(const char *name, const char *version)
{
  void *symbol;

  LOOK(symbol = dlvsym(RTLD_NEXT, name, version));
  return symbol;
}

void *ShimLibrary(const char *path)
{
  void *library;

  LOOK(library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD));
  return library;
}

void ShimLibraryLeave(void *library)
{
  LOOK((void)dlclose(library));
}
