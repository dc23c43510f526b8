/* wrapped.c -- allocations through functions that have the names of wrappers of malloc, and one that has not
 *
 * Each of the callers asks for 10 objects of 100 bytes, through one function or two.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#define COUNT 10

extern void *_Znwm(size_t size);
extern void *PyMem_Malloc(size_t size);

/* Each call has something behind it, so that it is not the last and leaves out a frame; and each function has its name in
 * it, so that the compiler does not make one of several. */
#define WRAPPER(name, inner) \
  __attribute__((noinline)) void *name(size_t size) \
  { \
    void *volatile p = inner(size); \
    __asm__ volatile("# " #name); \
    return p; \
  }

extern void *xmalloc(size_t size), *g_malloc(size_t size), *sqlite3Malloc(size_t size), *safe_malloc(size_t size),
  *getMemory(size_t size), *_PyMem_RawMalloc(size_t size);

WRAPPER(xmalloc, malloc)
WRAPPER(g_malloc, malloc)
WRAPPER(_Znwm, malloc)
WRAPPER(_PyMem_RawMalloc, malloc)
WRAPPER(PyMem_Malloc, _PyMem_RawMalloc)
WRAPPER(sqlite3Malloc, malloc)
WRAPPER(safe_malloc, xmalloc)
WRAPPER(getMemory, malloc)

#define CALLER(name, inner) \
  static __attribute__((noinline)) void name(void) \
  { \
    int i; \
    for (i = 0; i < COUNT; ++i) { \
      void *volatile p = inner(100); \
      __asm__ volatile("# " #name); \
      free(p); \
    } \
  }

CALLER(byX, xmalloc)
CALLER(byGlib, g_malloc)
CALLER(byNew, _Znwm)
CALLER(byPython, PyMem_Malloc)
CALLER(bySqlite, sqlite3Malloc)
CALLER(bySafe, safe_malloc)
CALLER(byOwn, getMemory)

int main(void)
{
  byX();
  byGlib();
  byNew();
  byPython();
  bySqlite();
  bySafe();
  byOwn();
  return 0;
}
