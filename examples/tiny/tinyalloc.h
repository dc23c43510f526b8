/* tinyalloc.h -- a small allocator: one piece of memory, cut from the front, with a list of free cells for each size
 *
 * Not safe for threads.  It is here to show how an allocator tells what it does: see eventdef.h and the EVENT_ lines in
 * tinyalloc.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TINYALLOC_H
#define TINYALLOC_H

#include <stddef.h>

enum { TinyGRAIN = 16, TinySIZES = 64 };

typedef struct TinyStruct {
  char *base, *next, *limit;
  void *free[TinySIZES]; /* by size in grains, less one */
} TinyStruct, *Tiny;

/* TinyOpen -- a heap in `size` bytes at `base`, which stay the caller's; `name` is for whoever reads the log */
extern void TinyOpen(Tiny tiny, const char *name, void *base, size_t size);

/* TinyGet -- `size` bytes, at most TinyGRAIN * TinySIZES; NULL if there is no room.  TinyPut -- give them back. */
extern void *TinyGet(Tiny tiny, size_t size);
extern void TinyPut(Tiny tiny, void *cell, size_t size);

#endif /* TINYALLOC_H */
