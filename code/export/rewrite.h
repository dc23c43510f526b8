/* rewrite.h -- writes a log again, from the events that a pass delivers
 *
 * Each stream keeps its events, its thread and kind; its blocks are numbered from 0.  Headers are those of
 * rewritehead.h.  Processes get new identities, so that the new log and the old one may be read together.
 *
 * Always true: at most RewriteOpenMAX blocks are being filled; beyond that the one that waits longest is written as
 * it is.
 *
 * Design: design/log.md .rewrite      Tests: test/log/logwhotest.c, test/end/eventcnv.t
 */
#ifndef EXPORT_REWRITE_H
#define EXPORT_REWRITE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/writer.h"
#include "request/request.h"

enum { RewriteOpenMAX = 32 };

typedef Writer LogRewrite; /* of the format paw */

/* LogRewriteCreate -- write options->log to options->output, which has whatever fails, in packed blocks unless `raw` is
 * set; the options outlive it.  ResMEMORY.
 * All of it is in our byte order, whatever the processes' was; their word stays as wide as it was. */
extern Res LogRewriteCreate(LogRewrite *rewriteReturn, const WriterOptionsStruct *options);
extern const WriterOptionsStruct *LogRewriteOptions(LogRewrite rewrite);

/* LogRewritePart -- only the events of this request come; before the first header is written */
extern void LogRewritePart(LogRewrite rewrite, const LogRequestStruct *request);

/* LogRewriteBegin -- before the first event: the headers of all processes that have streams of some kinds, so that
 * processes keep their order, and with it events of one time theirs.  Without it they come as their events do. */
extern void LogRewriteBegin(LogRewrite rewrite, uint32_t kinds);

/* LogRewriteEvent -- take one event; a LogRequest's hook.  TRUE when writing has failed. */
extern Bool LogRewriteEvent(LogRequest request, LogEvent event);

/* LogRewritePut -- the same, for an event that comes another way, or is made up: in a stream that need not be in the
 * log (its kind is then the type's), its bytes in the process's byte order and widths, its time's low half in them and
 * `fine` within a second of it.  Events of a stream come by time; one that does not begins a new block. */
extern Bool LogRewritePut(LogRewrite rewrite, LogEvent event);

/* LogRewriteMake -- write an event that was not recorded, at `ticks`; its thread is `thread`, with the writer's
 * number `serial`.  value[i] is that of parameter i, the bits of a D; an S is `string`, cut if it is too long. */
extern Bool LogRewriteMake(LogRewrite rewrite, LogProcess process, EventType type, uint32_t serial, uint32_t thread,
                           uint64_t ticks, const uint64_t *value, const char *string);

/* LogRewriteTicks -- the earliest moment of a process's clock that is no earlier than a time (ns); at least 16 */
extern uint64_t LogRewriteTicks(LogRewrite rewrite, LogProcess process, uint64_t time);

/* LogRewriteEnd -- write what is left, and headers; the output is then flushed by its owner */
extern void LogRewriteEnd(LogRewrite rewrite);
extern void LogRewriteDestroy(LogRewrite rewrite);

#endif /* EXPORT_REWRITE_H */
