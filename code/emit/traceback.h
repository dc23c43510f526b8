/* traceback.h -- the newest events as text, printed by the program itself
 *
 * Design: design/telemetry.md .sol.traceback      Tests: test/emit/tracebacktest.c
 */
#ifndef EMIT_TRACEBACK_H
#define EMIT_TRACEBACK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/aver.h"

/* TracebackAver -- an AverHandler: the newest events of all threads */
extern void TracebackAver(const char *condition, const char *file, unsigned line);

#endif /* EMIT_TRACEBACK_H */
