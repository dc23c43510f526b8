/* functable.h -- the functions of an object file's symbol table
 *
 * Always true (FuncCheck): functions are sorted by address; those of one address stand together, the best name first.
 * No symbol without type and size is inside a function that has a size.
 *
 * Design: design/symbols.md .table      Tests: test/symbols/symbolstest.c
 */
#ifndef SYMBOLS_FUNCTABLE_H
#define SYMBOLS_FUNCTABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "symbols/objectfile.h"

typedef struct FuncStruct {
  uint64_t address, size; /* 0: it goes on to the next */
  const char *name;       /* NUL-terminated, in a section of the object file */
  uint8_t rank;           /* of names for one address the lowest is shown */
} FuncStruct, *Func;

typedef struct FuncTableStruct {
  Count count, capacity;
  Func func; /* owned */
  Bool whole; /* a .symtab was added: what has no function there has none, and is not only one that is not named */
} FuncTableStruct, *FuncTable;

/* FuncTableAdd -- add the functions of .symtab, or of .dynsym if there is none; FALSE: no memory.  `object` outlives
 * the table.
 * FuncTableSort -- after the last, before FuncTableFind */
extern Bool FuncTableAdd(FuncTable table, ObjectFile object);
extern void FuncTableSort(FuncTable table);
extern void FuncTableFinish(FuncTable table);

/* FuncTableFind -- the function in which an address is, or NULL */
extern Func FuncTableFind(FuncTable table, uint64_t address);

extern Bool FuncCheck(FuncTable table);

#endif /* SYMBOLS_FUNCTABLE_H */
