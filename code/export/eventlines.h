/* eventlines.h -- writes events as lines: text, descriptions, CSV and JSON
 *
 * What a line of an event type looks like is worked out once, as a form: literals with values between them.  Writing
 * an event is then copying and converting, without a decision that depends on the style.
 *
 * Design: design/log.md .line      Tests: test/end/eventcnv.t, test/export/linetest.c
 */
#ifndef EXPORT_EVENTLINES_H
#define EXPORT_EVENTLINES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "export/writer.h"
#include "request/request.h"
#include "symbols/calls.h"

typedef enum LineStyle {
  LineTEXT,     /* 0.000001234 4711/4712 PoolAlloc pool=0x7f0c1f9e0000 addr=0x7f0c1fa01040 size=32 */
  LineVERBOSE,  /* the same with kind and code before the name */
  LineDESCRIBE, /* 0.000001234 4711/4712 pool 0x7f0c1f9e0000 allocates 32 bytes at 0x7f0c1fa01040 */
  LineCSV,
  LineJSON
} LineStyle;

typedef Writer Line; /* the writers of text, csv and json are these */

/* LineCreate -- a writer of lines for the events of `log`; CSV writes its header line at once.  With `calls`,
 * which may be NULL and is taken over, code addresses come with what is there, and stacks with their functions.
 * ResMEMORY: nothing is taken over. */
extern Res LineCreate(Line *lineReturn, LineStyle style, Log log, Output output, const CallsStruct *calls);
extern void LineDestroy(Line line);

/* LineEvent -- write one event; a LogRequest's hook, with the Line as its data.  TRUE when writing has failed. */
extern Bool LineEvent(LogRequest request, LogEvent event);

/* LineRead -- read what `request` chooses, whose hook is LineEvent; in words strings stand for their numbers then.  As
 * LogRead. */
extern Res LineRead(Line line, LogRequest request);

#endif /* EXPORT_EVENTLINES_H */
