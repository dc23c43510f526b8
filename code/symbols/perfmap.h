/* perfmap.h -- functions that a program compiled while it ran, as it wrote them into /tmp/perf-PID.map
 *
 * A line is the first address and the size in hex, with 0x before them or without, and the name.  Later lines stand
 * for code that has taken the place of earlier code.
 *
 * Design: design/symbols.md .perfmap      Tests: test/symbols/symbols.t
 */
#ifndef SYMBOLS_PERFMAP_H
#define SYMBOLS_PERFMAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct PerfMapStruct *PerfMap;

enum { PerfMapMAX = 256 << 20 }; /* bytes of a file that are read */

/* PerfMapOpen -- that of a process, if it is a regular file of one's own user that was written at `since` (seconds
 * since 1970) or later; *mapReturn becomes NULL if there is none.  `folder` is /tmp, but in tests.  ResMEMORY. */
extern Res PerfMapOpen(PerfMap *mapReturn, const char *folder, unsigned pid, int64_t since);
extern void PerfMapClose(PerfMap map); /* NULL is none */

/* PerfMapFind -- the name of the function in which an address is, NUL-terminated, or NULL */
extern const char *PerfMapFind(PerfMap map, uint64_t address);

#endif /* SYMBOLS_PERFMAP_H */
