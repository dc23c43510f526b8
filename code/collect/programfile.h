/* programfile.h -- reads a program's ELF file, and says which allocations of the program cannot be recorded
 *
 * A preloaded library is called only where the dynamic loader links a call by name to it.  So nothing is recorded of a
 * static program, and little of one that has a malloc of its own.  These functions read the headers and the symbol
 * tables of the executable, which may be hostile, and give the reason.  The work is bounded: of a file whose tables are
 * larger than any linker makes them no reason is given.
 *
 * user   the user who named the file.  If we are root the file is opened only if that user may search the folders on
 *        its path, and may read it by its mode, as a member of no group.  ProgramANYBODY: that user is not known, and
 *        everybody must be allowed to.
 * left   bytes of files that may still be read, in all files; what is read is subtracted.  If fewer than
 *        ProgramBytesMAX are left, a reason may not be found.
 *
 * Tests: test/collect/programfiletest.c, test/end/eventrec.t, test/collect/unseen.t, test/monitor/unrecorded.t,
 * test/collect/trust.t
 */
#ifndef COLLECT_PROGRAMFILE_H
#define COLLECT_PROGRAMFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

#define ProgramANYBODY ((uid_t)-1)

enum { ProgramBytesMAX = 32 << 20 }; /* of one file that are looked at; node has 17 MiB of symbols and their names */

/* ProgramFind -- the file that running `name` would run, looked for in PATH as a shell does
 * returns ResOK; ResPARAM: not found; ResIO: found, and may not be run */
extern Res ProgramFind(char *room, Size size, const char *name);

/* ProgramInterpreter -- the interpreter that a script names; FALSE: it is none, or cannot be read */
extern Bool ProgramInterpreter(char *room, Size size, const char *path, uid_t user);

/* ProgramUnseen -- why a program would not be observed, in words that live forever; NULL if nothing speaks against it
 *
 * path  an executable, or a script, whose interpreter is then looked at
 */
extern const char *ProgramUnseen(const char *path, uid_t user, Size *left);

/* ProgramPreloads -- can the program be started with our library preloaded?  Not if its loader is musl's, which ends a
 * program that has a library for glibc; whatever else speaks against its being seen, it starts. */
extern Bool ProgramPreloads(const char *path, uid_t user);

/* ProgramPartly -- is that a reason for which only some of it is not seen?  ProgramStatic -- one that does not hold for
 * a program in which the library is from the beginning? */
extern Bool ProgramPartly(const char *reason);
extern Bool ProgramStatic(const char *reason);

/* Functions that only one allocator has, in a file: a bit for each allocator. */
typedef struct ProgramDoorsStruct {
  unsigned has;  /* they are in it */
  unsigned asks; /* it cannot do without them, */
  unsigned may;  /* or can, and calls them where they are there */
} ProgramDoorsStruct, *ProgramDoors;

/* ProgramDoorsRead -- what is in the file, an executable or a library; nothing, if it is neither
 * ProgramDoor -- that it calls such functions, in words that live forever; NULL: it does not, or has them itself
 * there   the allocators that are beside it */
extern void ProgramDoorsRead(ProgramDoors doors, const char *path, uid_t user, Size *left);
extern const char *ProgramDoor(const ProgramDoorsStruct *doors, unsigned there);

#endif /* COLLECT_PROGRAMFILE_H */
