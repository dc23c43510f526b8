/* program.h -- can a program be observed?  What its file says
 *
 * A preloaded library sees only what the dynamic loader brings together, and only calls by name.  This looks at the
 * executable, as hostile bytes, and says why it would not be seen.
 *
 * Tests: test/eventrec.t
 */
#ifndef VIEW_PROGRAM_H
#define VIEW_PROGRAM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ProgramFind -- the file that running `name` would run, looked for in PATH as a shell does
 * returns ResOK; ResPARAM: not found; ResIO: found, and may not be run */
extern Res ProgramFind(char *room, Size size, const char *name);

/* ProgramUnseen -- why a program would not be observed, in words that live forever; NULL if nothing speaks against it
 *
 * path  an executable, or a script, whose interpreter is then looked at
 */
extern const char *ProgramUnseen(const char *path);

#endif /* VIEW_PROGRAM_H */
