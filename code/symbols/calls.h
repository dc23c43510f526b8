/* calls.h -- the calls that stacks and sites consist of, as words: functions where symbols are, else modules and places
 *
 * A call is known by the address that it returns to, in a process, at a time.  It has a name for each function: those
 * that were inlined come first; or one name, "libfoo.so+0x1010", where no function is known.
 *
 * Threads: one at a time.
 * Design: design/symbols.md .calls      Tests: test/export/drawn.t, test/symbols/symbols.t
 */
#ifndef SYMBOLS_CALLS_H
#define SYMBOLS_CALLS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/frametable.h"
#include "symbols/codesymbols.h"

typedef struct CallsStruct {
  CodeSymbols symbols; /* the owner's; NULL: functions are not asked for */
  ModuleMap modules;   /* those of `symbols`, or one's own */
  FrameTable frames;
} CallsStruct, *Calls;

typedef struct CallStruct {
  CodeSymbol symbol; /* its functions; NULL: none is known */
  Module module;     /* NULL: none is known */
  uint64_t back;     /* the address that it returns to */
} CallStruct, *Call;

enum { CallNameMAX = 4096 }; /* bytes of a name */

/* CallsInit -- read the log's frames and, without `symbols`, its modules; as LogRead, ResMEMORY
 * CallsFinish -- also after CallsInit has failed, and of what is all zeros */
extern Res CallsInit(Calls calls, Log log, CodeSymbols symbols);
extern void CallsFinish(Calls calls);

/* CallsFind -- the call that returns to `back`; returns how many names it has, 1 at least
 * CallsName -- append name `i`, the innermost is 0; its bytes are any */
extern Count CallsFind(Call call, Calls calls, LogProcess process, uint64_t time, uint64_t back);
extern void CallsName(Text text, Calls calls, Call call, Index i);

/* CallsParam -- is parameter `param` of a type the number of a stack?
 * CallsStack -- append the calls of a stack, the innermost first: "f < g < main"; "..." stands for what was not
 * recorded, and "?" for what is not known */
extern Bool CallsParam(EventType type, Index param);
extern void CallsStack(Text text, Calls calls, LogProcess process, uint64_t time, uint32_t stack);

#endif /* SYMBOLS_CALLS_H */
