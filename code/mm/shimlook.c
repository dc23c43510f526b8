/* shimlook.c -- looking up functions with the mark of the thread set
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mm/shimlook.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

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

Bool ShimReached(void)
{
  void *(*volatile call)(size_t) = malloc;
  Bool reached;
  void *p;

  LOOK(p = call(1));
  reached = p != NULL && ShimIsEarly(p);
  LOOK(free(p));
  return reached;
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

typedef struct LookExtentStruct {
  Word address, base, limit;
} LookExtentStruct, *LookExtent;

/* lookExtent -- has this library the address?  Then it is the last one that is asked. */
static int lookExtent(struct dl_phdr_info *info, size_t size, void *closure)
{
  LookExtent extent = closure;
  Index i;

  UNUSED(size);
  extent->base = SIZE_MAX;
  extent->limit = 0;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    Word start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type != PT_LOAD)
      continue;
    extent->base = start < extent->base ? start : extent->base;
    extent->limit = end > extent->limit ? end : extent->limit;
  }
  return extent->address >= extent->base && extent->address < extent->limit;
}

Bool ShimExtent(Word *baseReturn, Word *limitReturn, const void *address)
{
  LookExtentStruct extent = {.address = (Word)address};
  int found;

  if (address == NULL)
    return FALSE;
  LOOK(found = dl_iterate_phdr(lookExtent, &extent));
  if (found == 0)
    return FALSE;
  *baseReturn = extent.base;
  *limitReturn = extent.limit;
  return TRUE;
}
