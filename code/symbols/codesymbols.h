/* codesymbols.h -- what the code addresses in a log's events are: functions, files, lines, or a module and a distance
 *
 * Which parameters are code addresses is said by their names, in whichever registry: one that is called `site` or `pc`
 * is where a call returns to; `start` is a function, and `address` (of StackFrame) is inside a call.  A call is known
 * by the byte before the one it returns to; if that is in no function, it is the function that begins there.
 *
 * What the log itself tells, in events called SymbolFunction and SymbolFile (eventcnv -f paw --symbols), comes before
 * what the modules' files say.
 *
 * Design: design/symbols.md .places .told      Tests: test/symbols/symbols.t
 */
#ifndef SYMBOLS_CODESYMBOLS_H
#define SYMBOLS_CODESYMBOLS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "symbols/modulemap.h"
#include "symbols/symbols.h"

typedef struct CodeSymbolsStruct *CodeSymbols;

/* What a parameter is. */
typedef enum CodeKind { CodeNONE, CodeCALL, CodeINSIDE, CodeEXACT } CodeKind;

typedef struct CodeSymbolStruct {
  Module module;       /* NULL: none is known */
  uint64_t address;    /* as the event has it */
  uint64_t offset;     /* from the module's base */
  Bool told;           /* by the log itself */
  Count frames;        /* 0: its function is unknown */
  SymbolsFrameStruct frame[]; /* the innermost first */
} CodeSymbolStruct, *CodeSymbol;

/* CodeSymbolsCreate -- reads the log's modules, and the symbols that it has.  As LogRead; ResMEMORY.
 * note      is given lines for the user; or NULL */
extern Res CodeSymbolsCreate(CodeSymbols *placesReturn, Log log, void (*note)(void *data, const char *line),
                             void *data);
extern void CodeSymbolsDestroy(CodeSymbols places); /* NULL is none */

/* CodeSymbolsUnlined -- functions are wanted, but no files and lines: frames have none, for which less is read, unless
 * the log itself tells them.  Before the first address. */
extern void CodeSymbolsUnlined(CodeSymbols places);
extern ModuleMap CodeSymbolsModules(CodeSymbols places);

/* CodeInside -- the address that is looked up: the call is before where it returns to */
static inline uint64_t CodeInside(uint64_t address, CodeKind kind)
{
  return address - (kind == CodeCALL);
}

/* CodeParam -- what parameter `param` of a type is */
extern CodeKind CodeParam(EventType type, Index param);

/* CodeSymbolOf -- what an address is in a process at a time (ns); it stays.  NULL: no memory, or `address` is 0.
 * cost     the first time as SymbolsFind, then some 50 ns */
extern CodeSymbol CodeSymbolOf(CodeSymbols places, LogProcess process, uint64_t time, uint64_t address, CodeKind kind);

/* CodeSymbolText -- append it in words: "f at a.c:12 (inlined by) g at a.c:30", "f in libc.so.6", "libc.so.6+0x8a1b2";
 * nothing if nothing is known.  The bytes are those of the names, whatever they are. */
extern void CodeSymbolText(Text text, CodeSymbols places, CodeSymbol place);

/* CodeSymbolFrame -- append frame `i`'s function alone */
extern void CodeSymbolFrame(Text text, CodeSymbols places, CodeSymbol place, Index i);

#endif /* SYMBOLS_CODESYMBOLS_H */
