/* suppressions.h -- which leaks a report leaves out, by patterns in a file of LeakSanitizer's format
 *
 *   # a comment
 *   leak:pattern
 *
 * A pattern matches a part of the name of a function or module; * is any text, ^ the name's beginning, $ its end.  A
 * leak is suppressed by the first pattern in the file that matches one of its frames.
 *
 * Design: design/view.md .leaks      Tests: test/callers/suppressionstest.c, test/analyse/leaks.t
 */
#ifndef CALLERS_SUPPRESSIONS_H
#define CALLERS_SUPPRESSIONS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { SuppressionMAX = 4096 }; /* bytes of a line */

typedef struct SuppressionsStruct {
  Count count, capacity;
  char **pattern; /* owned, each of them, too */
} SuppressionsStruct, *Suppressions;

/* SuppressionsRead -- the patterns of a file; there are none at first, when all is zero
 * error    room of `size` bytes for a message when it fails
 * returns  ResIO, ResFORMAT: a line is nothing of the sort; ResMEMORY.  SuppressionsFinish in either case. */
extern Res SuppressionsRead(Suppressions suppressions, const char *path, char *error, Size size);
extern void SuppressionsFinish(Suppressions suppressions);

/* SuppressionMatches -- does the pattern match a name of `length` bytes? */
extern Bool SuppressionMatches(const char *pattern, const char *name, Size length);

#endif /* CALLERS_SUPPRESSIONS_H */
