/* clean.h -- strings out of logs, made fit for the files of others
 *
 * What a log calls its events, threads and programs may be any bytes.  Each of these writes to an Output in pieces, so
 * that a string may be of any length.
 *
 * Design: design/view.md .drawn.clean      Tests: test/drawntest.c
 */
#ifndef VIEW_CLEAN_H
#define VIEW_CLEAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/output.h"

/* CleanJson -- as JSON has it, in double quotes; bytes that are no UTF-8 become U+FFFD
 * CleanJsonChar -- one character of that, of the `left` bytes there, at `p`, unchecked:
 * CleanJsonMAX bytes; returns the place behind it */
enum { CleanJsonMAX = 6 };
extern char *CleanJsonChar(char *p, const char *bytes, Size left, Size *lengthReturn);
extern void CleanJson(Output output, const char *bytes, Size length);

/* CleanPlain -- as it is, but for control characters, those of `forbidden` (ASCII) and bytes that are no UTF-8: each of
 * those becomes a '?' */
extern void CleanPlain(Output output, const char *bytes, Size length, const char *forbidden);

/* CleanLines -- lines for people: newlines and tabs stay, what else is not TextPrintable stands as \ooo */
extern void CleanLines(Output output, const char *bytes, Size length);

#endif /* VIEW_CLEAN_H */
