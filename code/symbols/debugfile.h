/* debugfile.h -- finds the file in which a module's debug information is, if that is not in the module
 *
 * Looked for by build id in the folders of PAWPRINT_DEBUG_PATH and in /usr/lib/debug, then by the name that the module
 * gives (.gnu_debuglink).  One that does not belong to the module, by its build id or else by its checksum, is none;
 * nor is one that would have to be read to its end for that, and is too large (`room`).
 *
 * Design: design/symbols.md .debugfile      Tests: test/symbols/symbols.t
 */
#ifndef SYMBOLS_DEBUGFILE_H
#define SYMBOLS_DEBUGFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "symbols/objectfile.h"

enum { DebugPathMAX = 4096 };

/* DebugFileFind -- the file for the module at `path`, which was opened as `module` or is gone (NULL), and has, or had,
 * a build id of `length` hex digits, or none (0).  NULL: there is none.  `found`, of DebugPathMAX bytes, gets its
 * path; `room` is what it may take. */
extern ObjectFile DebugFileFind(char *found, const char *path, ObjectFile module, const char *build, Size length,
                                ObjectRoom room);

/* DebugFileAlt -- the file that another with debug information, at `path`, shares entries with; NULL: there is none */
extern ObjectFile DebugFileAlt(ObjectFile object, const char *path);

#endif /* SYMBOLS_DEBUGFILE_H */
