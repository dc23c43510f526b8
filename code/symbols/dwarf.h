/* dwarf.h -- the debug information of an object file: lines, functions, and functions inlined into others
 *
 * DWARF 2 to 5.  What the compiler put into other files (.dwo) is not read.
 *
 * Nothing is read until it is asked for: first an index of which unit (what was compiled at a time) has which
 * addresses, by the root entries of all units; then of a unit that is needed its lines and its functions, once.
 *
 * Design: design/symbols.md .unit .hostile      Tests: test/symbols/symbols.t, test/symbols/symbolstest.c,
 * test/fuzz/fuzzsymbols.c
 */
#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "symbols/objectfile.h"

typedef struct DwarfStruct *Dwarf;

enum { DwarfFramesMAX = 64, DwarfPathMAX = 4096 };

/* A function at an address; the strings live as long as the Dwarf, but for the file, whose parts stand in a frame. */
typedef struct DwarfFrameStruct {
  const char *function;      /* as the linker knows it, if the debug information says that; NULL: unknown */
  const char *part[3];       /* of the file's path: slashes come between those that are there; NULL: not there */
  uint32_t line;             /* 0: unknown */
  Bool inlined;              /* the next frame is where it was inlined */
} DwarfFrameStruct, *DwarfFrame;

/* DwarfOpen -- the debug information of `object`, which outlives it; *dwarfReturn becomes NULL if it has none.
 * layout  the file whose addresses it is about: that of the module, or itself
 * alt     what .gnu_debugaltlink names, opened in the same way, or NULL; it outlives this one
 * ResMEMORY */
extern Res DwarfOpen(Dwarf *dwarfReturn, ObjectFile object, ObjectFile layout, Dwarf alt);
extern void DwarfClose(Dwarf dwarf); /* NULL is none */

/* DwarfUnlined -- files and lines are not wanted: what DwarfFind finds has none, for which less is read */
extern void DwarfUnlined(Dwarf dwarf);

/* DwarfFind -- what is known of an address, the innermost function first; returns how many frames, 0 if nothing is. */
extern Count DwarfFind(Dwarf dwarf, uint64_t address, DwarfFrame frames, Count max);

extern Bool DwarfCheck(Dwarf dwarf);

#endif /* SYMBOLS_DWARF_H */
