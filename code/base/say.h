/* say.h -- printing for people: strings, lines and sizes, on a stream
 *
 * What a log, a sender or /proc calls its programs, threads, events and files may be any bytes.  Each of these writes
 * them so that nothing in them reaches a terminal as a command: control characters (C0, DEL, and C1 as UTF-8 has it),
 * changes of direction and bytes that are no UTF-8 stand as \ooo, in octal (TextPlain).
 *
 * Design: design/view.md .plain .progress      Tests: test/base/basetest.c, test/export/plain.t,
 * test/source/progress.t
 */
#ifndef BASE_SAY_H
#define BASE_SAY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdarg.h>
#include <stdio.h>

#include "types.h"

/* SayPlain -- a string of `length` bytes */
extern void SayPlain(FILE *out, const char *string, Size length);

/* SayLine -- what printf makes of the rest, as one line: a newline in an argument does not begin another
 * SayLines -- the same of an argument list, behind the name of the program that says it; newlines stay newlines
 *
 * Each is one write where the stream has no buffer, as standard error: nothing comes between. */
extern __attribute__((format(printf, 2, 3))) void SayLine(FILE *out, const char *format, ...);
extern __attribute__((format(printf, 3, 0))) void SayLines(FILE *out, const char *name, const char *format, va_list args);

/* SayMoves -- is `fd` a terminal whose cursor can be moved, so that a line can be written over? */
extern Bool SayMoves(int fd);

/* SayBytes -- a number of bytes, and in larger units what it comes to
 * SayShort -- the second alone;  SayShortly -- that as a string in `room`, which it returns
 * SayColumn -- the same at the right of a column of `width` characters, one of which is empty
 * SayChange -- so, by how much `after` is more or less than `before`, with a sign */
extern void SayBytes(FILE *out, uint64_t bytes);
enum { SayShortMAX = 16 };
extern void SayShort(FILE *out, uint64_t bytes);
extern char *SayShortly(char room[SayShortMAX], uint64_t bytes);
extern void SayColumn(FILE *out, int width, uint64_t bytes);
extern void SayChange(FILE *out, int width, uint64_t before, uint64_t after);

#endif /* BASE_SAY_H */
