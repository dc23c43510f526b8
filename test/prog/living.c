/* living.c -- a library to preload behind ours: how many objects of the malloc family live, when each call is done
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern long living(void);

static long objects;

long living(void)
{
  return __atomic_load_n(&objects, __ATOMIC_RELAXED);
}

static void *more(void *p)
{
  if (p != NULL)
    (void)__atomic_fetch_add(&objects, 1, __ATOMIC_RELAXED);
  return p;
}

void *malloc(size_t size)
{
  return more(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
  return more(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
  return p == NULL ? malloc(size) : __libc_realloc(p, size);
}

void free(void *p)
{
  if (p == NULL)
    return;
  __libc_free(p);
  (void)__atomic_fetch_sub(&objects, 1, __ATOMIC_RELAXED);
}
