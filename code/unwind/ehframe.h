/* ehframe.h -- unwind rows: how the caller of a frame is found, from a module's .eh_frame
 *
 * Compilers describe for each instruction where the canonical frame address (CFA: the stack pointer of the caller
 * behind the call) and the saved registers are.  A row is that description for one instruction, of which only what a
 * walk needs is kept: the CFA, and where the caller's rbp is saved.  The return address is always below the CFA.
 *
 * The bytes are those of a module that is loaded, and may be damaged: nothing outside the given bounds is read, and
 * what is not understood gives RowBROKEN.
 *
 * Threads: any, at any time; signal handlers, too.  Nothing is allocated, locked or kept.
 * Design: design/unwind.md .row      Tests: test/unwind/ehframetest.c, test/fuzz/fuzzunwind.c
 */
#ifndef UNWIND_EHFRAME_H
#define UNWIND_EHFRAME_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "unwind/modulebytes.h"

typedef enum RowKind {
  RowUNKNOWN,   /* no description tells of the instruction */
  RowOUTERMOST, /* the function says that it has no caller */
  RowRSP,       /* CFA = rsp + cfaOffset; rbp is at CFA + rbpOffset */
  RowRBP,       /* CFA = rbp + cfaOffset; rbp is at CFA + rbpOffset */
  RowREALIGNED, /* CFA = *(rbp + cfaOffset); rbp is at rbp + rbpOffset: functions that align their stack */
  RowSIGNAL,    /* a signal's frame: all registers are in the context at rsp */
  RowBROKEN,    /* there is a description, but it is damaged, or has a rule that is not understood: the walk ends */
  RowLIMIT
} RowKind;

typedef struct UnwindRowStruct {
  RowKind kind;
  Bool rbpSaved;     /* FALSE: the caller's rbp is still in rbp */
  int32_t cfaOffset; /* bytes */
  int32_t rbpOffset; /* bytes */
} UnwindRowStruct, *UnwindRow;

/* EhFrameRow -- the row of an instruction
 *
 * at           address inside the instruction: a return address minus one, or where a signal interrupted
 * hdr          the module's .eh_frame_hdr
 * bytes        what of the module may be read: its segment with .eh_frame_hdr and .eh_frame
 * cost         a binary search, and the interpretation of one function's description: some 200 ns; of a module that may
 *              be unloaded some 10 system calls besides
 * source       System V ABI for AMD64, 4.2.4; LSB 5.0, 10.6 (exception frames)
 */
extern void EhFrameRow(UnwindRow row, Word at, const uint8_t *hdr, ModuleBytes bytes);

/* EhFrameNext -- the next description of an .eh_frame, in the order in which they stand there
 *
 * at           where to look; becomes what follows the description
 * bytes        the .eh_frame, of which nothing else is read
 * returns      FALSE: there is none any more, or what follows is damaged
 * locationReturn, addressReturn  where its function begins; where the description stands: for EhFrameDescribed
 */
extern Bool EhFrameNext(Word *locationReturn, Word *addressReturn, Word *at, ModuleBytes bytes);

/* EhFrameDescribed -- the row of an instruction by the description at an address; RowUNKNOWN if it is of another
 * function */
extern void EhFrameDescribed(UnwindRow row, Word at, Word address, ModuleBytes bytes);

#endif /* UNWIND_EHFRAME_H */
