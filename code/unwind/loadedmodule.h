/* loadedmodule.h -- a module as it is mapped: its program headers and segments
 *
 * The bytes are those of a module that is loaded, and may be damaged: nothing outside its mapping is read.
 *
 * Threads: any; signal handlers, too.  Nothing is allocated, locked or kept.
 * Design: design/unwind.md .row.hostile      Tests: test/unwind/ehframetest.c, test/unwind/noheader.t
 */
#ifndef UNWIND_LOADEDMODULE_H
#define UNWIND_LOADEDMODULE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct LoadedModuleStruct {
  const uint8_t *start, *limit; /* of the mapping; the file's first bytes are at its start */
  const char *path;             /* of its file; empty: the executable */
  Bool fleeting;                /* it may be unloaded at any moment: nothing of it, its path neither, may be there */
} LoadedModuleStruct, *LoadedModule;

/* LoadedModuleProgram -- a segment of the executable becomes all of it, if its headers are where the kernel says
 *
 * The kernel maps an executable's segments one by one.  Where there is room between two of them, the dynamic linker
 * gives for an address only the segment that has it, in which the file's first bytes are not. */
extern void LoadedModuleProgram(LoadedModule module);

/* LoadedModuleKeep -- what is loaded now is never unloaded: called when a program begins, before it has loaded anything
 * LoadedModuleFleeting -- may a module be unloaded, by what the dynamic linker has for it (struct link_map)?  The
 * executable never is. */
extern void LoadedModuleKeep(void);
extern Bool LoadedModuleFleeting(const void *link);

/* LoadedModuleFirst -- what the linker took for the address of a module's first byte; 0 also if its headers are
 * damaged */
extern Word LoadedModuleFirst(const LoadedModuleStruct *module);

/* LoadedModuleSegment -- the segment in which a place of the module is; FALSE: it is in none that can be read */
extern Bool LoadedModuleSegment(const uint8_t **base, const uint8_t **limit, const LoadedModuleStruct *module,
                                const uint8_t *place);

#endif /* UNWIND_LOADEDMODULE_H */
