/* shimdlsym.c -- all of the library's calls of dlsym and its kin, and the real functions behind mmap, prctl and _exit
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimdlsym.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "emit/emitter.h"
#include "malloc/shimnext.h"
#include "malloc/shimscope.h"

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
  void *symbol = NULL;

  if (library == RTLD_NEXT)
    symbol = ShimScopeNext(name, NULL);
  else if (library == RTLD_DEFAULT)
    symbol = ShimScopeFirst(name);
  if (symbol == NULL)
    LOOK(symbol = dlsym(library, name));
  if (symbol == NULL)
    LOOK((void)dlerror()); /* the program has not made that call */
  return symbol;
}

void ShimNextSymbol(void *function, const char *name)
{
  /* A pointer to a function in the type of one to data, which POSIX lets us copy. */
  __atomic_store_n((void **)function, ShimSymbol(RTLD_NEXT, name), __ATOMIC_RELEASE);
}

void *ShimSymbolVersion(const char *name, const char *version)
{
  void *symbol = ShimScopeNext(name, version);

  if (symbol == NULL)
    LOOK(symbol = dlvsym(RTLD_NEXT, name, version));
  if (symbol == NULL)
    LOOK((void)dlerror());
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
  if (library == NULL)
    LOOK((void)dlerror());
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

/* ---- The functions that come next ---- */

ShimPassStruct ShimPass;
unsigned ShimPassWho;
__thread unsigned ShimPassing __attribute__((tls_model("initial-exec")));

static __thread Bool passLooking; /* this thread, at this moment */

/* passFind -- look up all of them; returns ShimPassLIBC or ShimPassOTHERS.  Two threads that do so find the same.  A
 * sanitizer because of which we stay out has replaced the walk through the libraries, too, and is not libc in any
 * case. */
static unsigned passFind(void)
{
  unsigned who = EmitterAside() ? ShimPassOTHERS : ShimPassLIBC;
  Word base = 0, limit = 0;

  if (who == ShimPassLIBC)
    (void)ShimExtent(&base, &limit, ShimSymbol(RTLD_NEXT, "gnu_get_libc_version")); /* only libc has that */
#define X(returns, member, name, parameters) \
  ShimNextSymbol(&ShimPass.member, name); \
  if (ShimPass.member != NULL && (Word)ShimPass.member - base >= limit - base) \
    who = ShimPassOTHERS;
  PASS_FUNCTIONS(X)
#undef X
  return who;
}

unsigned ShimPassLook(void)
{
  unsigned who = __atomic_load_n(&ShimPassWho, __ATOMIC_ACQUIRE);

  /* A sanitizer's functions may not be called before they are ready; but those of one that we stay out for must. */
  if (who != ShimPassUNKNOWN || passLooking || (EmitterSleeps() && !EmitterAside()))
    return who;
  passLooking = TRUE;
  who = passFind();
  __atomic_store_n(&ShimPassWho, who, __ATOMIC_RELEASE);
  passLooking = FALSE;
  return who;
}
