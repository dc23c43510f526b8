/* processname.h -- the name of a process
 *
 * A header has the file that the process runs, /proc/self/exe, and its arguments.  Who started a program by a link, as
 * sh, python3 or an applet of busybox, knows it by that name, which is the first argument's; a login shell's has a -
 * before it.  What does not look like the name of a file, and is not known to be the one by which the program was
 * executed, is not taken from there: then it is the file's own name.
 *
 * Design: design/view.md .called      Tests: test/export/process.t
 */
#ifndef LOG_PROCESSNAME_H
#define LOG_PROCESSNAME_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

/* HeaderCalled -- the name for people, without folders; a part of the header */
extern const char *HeaderCalled(const HeaderStruct *header);

/* HeaderProgram -- the name of the file that runs, without its folders; a part of the header */
extern const char *HeaderProgram(const HeaderStruct *header);

/* HeaderRuns -- is `program`, a path or a name of `length` bytes, what it runs, as far as is known? */
extern Bool HeaderRuns(const HeaderStruct *header, const char *program, Size length);

/* LogProcessIs -- does NAME or PID mean it?  NAME: for people, that of the file, or its whole path.  PID: for who
 * recorded it; or, if there is none of that number, for itself */
extern Bool LogProcessIs(Log log, LogProcess process, const char *word);

/* LogProcessNone -- which processes there are that are called about so, where none is: "no process ..." */
extern void LogProcessNone(Log log, const char *word, char *error, Size size);

#endif /* LOG_PROCESSNAME_H */
