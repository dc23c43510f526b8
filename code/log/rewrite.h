/* rewrite.h -- a log written again, from events that a pass delivers
 *
 * Each stream keeps its events, its thread and kind; its blocks are numbered from 0.  A process's header block comes
 * before its first block, again every few MiB, and at the end.  Processes get new identities, so that the new log and
 * the old one may be read together.
 *
 * Always true: at most RewriteOpenMAX blocks are being filled; beyond that the one that waits longest is written as
 * it is.
 *
 * Design: design/log.md .rewrite      Tests: test/logwhotest.c, test/eventcnv.t
 */
#ifndef LOG_REWRITE_H
#define LOG_REWRITE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/request.h"

enum { RewriteOpenMAX = 32, RewriteHeaderEACH = 4 << 20 /* bytes between two headers of a process */ };

typedef struct LogRewriteStruct *LogRewrite;

/* LogRewriteCreate -- write to `fd`, which stays the caller's; with `packed`, blocks are packed.  ResMEMORY.
 * All of it is in our byte order, whatever the processes' was; their word stays as wide as it was. */
extern Res LogRewriteCreate(LogRewrite *rewriteReturn, Log log, int fd, Bool packed);

/* LogRewriteEvent -- take one event; a LogRequest's hook.  TRUE when writing has failed. */
extern Bool LogRewriteEvent(LogRequest request, LogEvent event);

/* LogRewriteEnd -- write what is left, and headers; ResOK, or ResIO or ResMEMORY with errno set */
extern Res LogRewriteEnd(LogRewrite rewrite);
extern void LogRewriteDestroy(LogRewrite rewrite);

#endif /* LOG_REWRITE_H */
