/* jsondocument.h -- what views and other documents have in common: strings of JSON, times, names of processes, and what of
 * a recording is not in its log because somebody asked for that
 *
 * Of the newest events alone, and of the time before the recording was ended, numbers would be taken for those of the
 * whole program.
 *
 * Design: design/view.md .json, .called, .asked      Tests: test/end/eventview.t, test/export/process.t, test/analyse/asked.t
 */
#ifndef EXPORT_JSONDOCUMENT_H
#define EXPORT_JSONDOCUMENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/log.h"
#include "log/processname.h"

/* DocumentSince -- seconds from `first`, when a log begins, to `time`, both ns; 0 if that is earlier */
static inline double DocumentSince(uint64_t first, uint64_t time)
{
  return time < first ? 0 : (double)(time - first) / 1e9;
}

/* JsonString -- print `string` as JSON has it (CleanJson), in double quotes
 * JsonBytes -- the same of `length` bytes */
extern void JsonString(FILE *out, const char *string);
extern void JsonBytes(FILE *out, const char *bytes, Size length);

/* CalledSay -- print the path of the file that runs; before it the name for people, if that is another */
extern void CalledSay(FILE *out, const HeaderStruct *header);

enum { AskedLineMAX = 320 };

/* AskedLine -- the `i`th thing that was asked for: its name, and in `line` what is said of it, which may have bytes out of the log;
 * NULL: there are no more */
extern const char *AskedLine(char line[AskedLineMAX], const LogSummaryStruct *log, Index i);

/* AskedText -- a line of a view for each thing that was asked for; AskedJson -- members of an object, with no comma
 * behind them */
extern void AskedText(FILE *out, const LogSummaryStruct *log);
extern void AskedJson(FILE *out, const LogSummaryStruct *log);

#endif /* EXPORT_JSONDOCUMENT_H */
