/* modulebytes.h -- bytes of a loaded module, which another thread may unload while they are read
 *
 * The dynamic linker finds a module without a lock, and nothing keeps the module loaded while its descriptions are
 * read.  So of all modules but those that are never unloaded the kernel copies the bytes, which gives an error where
 * nothing is mapped any more.  It copies a window at a time, because descriptions are read byte by byte.  What is read
 * may then be of another module that was loaded at the same place; readers check it as what may be damaged.
 *
 * Threads: each reader has its own.  Nothing is allocated, locked or kept.
 * Design: design/unwind.md .row.fleeting      Tests: test/unwind/ehframetest.c, test/unwind/reloads.t
 */
#ifndef UNWIND_MODULEBYTES_H
#define UNWIND_MODULEBYTES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { ModuleWindowSIZE = 512 };

typedef struct ModuleBytesStruct {
  const uint8_t *base, *limit; /* what may be read */
  Bool fleeting;               /* the module may be unloaded meanwhile */
  Bool gone;                   /* it was: something could not be read */
  Word from;                   /* what the window has of the module */
  Size count;
  uint8_t window[ModuleWindowSIZE];
} ModuleBytesStruct, *ModuleBytes;

extern void ModuleBytesInit(ModuleBytes bytes, const uint8_t *base, const uint8_t *limit, Bool fleeting);

/* ModuleBytesRead -- copy some bytes, which lie between base and limit; FALSE: they are not there any more
 *
 * size  at most ModuleWindowSIZE
 * cost  if the module is fleeting, a system call for each new window */
extern Bool ModuleBytesRead(void *room, ModuleBytes bytes, const uint8_t *at, Size size);

#endif /* UNWIND_MODULEBYTES_H */
