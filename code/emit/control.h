/* control.h -- what is sent, and where to: functions, environment, messages
 *
 * The public names are in pawprint.h.
 *
 * Design: design/telemetry.md .control      Tests: test/emittest.c
 */
#ifndef EMIT_CONTROL_H
#define EMIT_CONTROL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/process.h"

/* ControlFromEnvironment -- obey PAWPRINT_LOG, PAWPRINT_KINDS, PAWPRINT_BUFFER and PAWPRINT_RAW; once, before the
 * first event */
extern void ControlFromEnvironment(void);

/* ControlJoin -- one table, also where the program has a copy of it; once in each process */
extern void ControlJoin(void);

/* ControlVariable -- an environment variable, or NULL; also before libc is ready (plinth/quiet.h) */
extern const char *ControlVariable(const char *name, char *room, Size size);

/* ControlFamily -- let programs that this one starts append to the same log: sets PAWPRINT_FAMILY, and PAWPRINT_LOG
 * to the log's absolute path.  Not in malloc. */
extern void ControlFamily(void);

/* ControlReceive -- obey the messages that the plinths have brought */
extern void ControlReceive(void);

#endif /* EMIT_CONTROL_H */
