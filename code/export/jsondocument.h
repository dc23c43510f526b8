/* jsondocument.h -- what views and other documents have in common: JSON strings, names of processes, and which
 * events of the programs are not in the log because the user asked for that
 *
 * Views must show the last: numbers of the newest events alone, or of the time before the recording was ended, would be
 * taken for those of the whole program.
 *
 * Design: design/view.md .json, .called, .asked      Tests: test/end/eventview.t, test/export/process.t,
 * test/analyse/asked.t
 */
#ifndef EXPORT_JSONDOCUMENT_H
#define EXPORT_JSONDOCUMENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/log.h"
#include "log/processname.h"

/* JsonString -- print `string` as JSON has it (CleanJson), in double quotes
 * JsonBytes -- the same of `length` bytes */
extern void JsonString(FILE *out, const char *string);
extern void JsonBytes(FILE *out, const char *bytes, Size length);

/* CalledSay -- print the path of a process's program; before it the process's name, if that is another */
extern void CalledSay(FILE *out, const HeaderStruct *header);

enum { AskedLineMAX = 320 };

/* AskedLine -- the `i`th request of the user that left events out: its name, and in `line` a description, which may
 * have bytes out of the log; NULL: there are no more */
extern const char *AskedLine(char line[AskedLineMAX], const LogSummaryStruct *log, Index i);

/* AskedText -- print a line for each of them; AskedJson -- print members of an object, with no comma behind them */
extern void AskedText(FILE *out, const LogSummaryStruct *log);
extern void AskedJson(FILE *out, const LogSummaryStruct *log);

#endif /* EXPORT_JSONDOCUMENT_H */
