/* symbols.h -- functions, files and lines for addresses in modules: the door of the room
 *
 * A module is a file that a process had mapped.  It is opened when the first address in it is asked for, and its tables
 * are read then; what is found stays until SymbolsDestroy.  A note says once what a module lacks.  Modules that are the
 * same file, by whatever paths, share what was read of it.  All open files together have a bound.
 *
 * Design: design/symbols.md      Tests: test/symbols/symbols.t, test/symbols/symbolstest.c
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/pawlog.h"

typedef struct SymbolsStruct *Symbols;

enum {
  SymbolsFramesMAX = 64,
  SymbolsFilesMAX = 4096 /* that are open at once, modules and files with debug information */
};

typedef PawFrame SymbolsFrameStruct, *SymbolsFrame;

/* A module, as a log tells of it. */
typedef struct SymbolsModuleStruct {
  const char *path;     /* NUL-terminated */
  const char *build;    /* its build id in hex, NUL-terminated; "": it has none; NULL: the log does not say */
  uint64_t loaded;      /* ns since 1970: a file that was changed later, and has no known build id, is another one */
} SymbolsModuleStruct, *SymbolsModule;

/* SymbolsCreate -- `note`, which may be NULL, is given lines for the user.  ResMEMORY. */
extern Res SymbolsCreate(Symbols *symbolsReturn, void (*note)(void *data, const char *line), void *data);
extern void SymbolsDestroy(Symbols symbols); /* NULL is none */

/* SymbolsUnlined -- functions are wanted, but no files and lines: frames have none, for which less is read.  Before the
 * first address. */
extern void SymbolsUnlined(Symbols symbols);

/* SymbolsFind -- what is known of an address in a module
 *
 * offset   the address less the module's base.  A return address is to be asked for less 1: the call is before it.
 * call     it is that of a return address: if it is in no function, that which begins behind it is meant
 * frames   room for `max` (at most SymbolsFramesMAX), the innermost first
 * returns  how many there are; 0: nothing is known
 * cost     reading the module's tables once, and its debug information by what was compiled at a time; then some 100 ns
 */
extern Count SymbolsFind(Symbols symbols, const SymbolsModuleStruct *module, uint64_t offset, Bool call,
                         SymbolsFrame frames, Count max);

/* SymbolsName -- a name as the linker knows it, as people write it; stays until SymbolsDestroy */
extern const char *SymbolsName(Symbols symbols, const char *name);

#endif /* SYMBOLS_SYMBOLS_H */
