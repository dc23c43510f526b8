/* asked.h -- what of a recording is not in its log because somebody asked for that
 *
 * Of the newest events alone, and of the time before the recording was ended, numbers would be taken for those of the whole
 * program.
 *
 * Design: design/view.md .asked      Tests: test/asked.t
 */
#ifndef VIEW_ASKED_H
#define VIEW_ASKED_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/log.h"

enum { AskedLineMAX = 320 };

/* AskedLine -- the `i`th such thing: its name, and in `line` what is said of it, which may have bytes out of the log; NULL:
 * there are no more */
extern const char *AskedLine(char line[AskedLineMAX], const LogSummaryStruct *log, Index i);

/* AskedText -- a line of a view for each such thing; AskedJson -- members of an object, with no comma behind them */
extern void AskedText(FILE *out, const LogSummaryStruct *log);
extern void AskedJson(FILE *out, const LogSummaryStruct *log);

#endif /* VIEW_ASKED_H */
