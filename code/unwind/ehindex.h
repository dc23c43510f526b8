/* ehindex.h -- unwind rows of modules without .eh_frame_hdr
 *
 * The linker makes a table of a module's descriptions, unless it is told not to (--no-eh-frame-hdr).  Without that
 * table no program header says where .eh_frame is.  Then, at the first need, the section headers are read from the
 * module's file, and all of .eh_frame is read once, to make a table of our own.
 *
 * Always true (EhIndexCheck): the table of a module that was read is in order, and each of its entries is in .eh_frame
 *
 * Memory: 8 bytes for each description, at most EhIndexMemoryMAX for all modules; it is never given back, because a
 * thread may be looking into it.  Beyond that, and beyond EhIndexMAX modules, such modules have no rows.
 *
 * Threads: any; signal handlers, too.  No lock: while one thread reads a module others find no row in it.
 * Design: design/unwind.md .row.table      Tests: test/unwind/noheader.t
 */
#ifndef UNWIND_EHINDEX_H
#define UNWIND_EHINDEX_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "unwind/ehframe.h"
#include "unwind/loadedmodule.h"

enum { EhIndexMAX = 16, EhIndexMemoryMAX = 32 << 20 };

/* EhIndexRow -- the row of an instruction in such a module
 *
 * generation  of the modules: a table that was made under another one may be another module's, and is made again
 * returns     FALSE: another thread is making the table, so there is no row now
 * cost        a binary search; the first time two passes over .eh_frame and a sort, some 0.2 us for each description
 */
extern Bool EhIndexRow(UnwindRow row, Word at, const LoadedModuleStruct *module, uint32_t generation);

extern Bool EhIndexCheck(void);

#endif /* UNWIND_EHINDEX_H */
