/* arguments.h -- which program runs, and how it was called, for header blocks
 *
 * Design: design/collector.md .meet.program, design/view.md .called      Tests: test/export/process.t
 */
#ifndef EMIT_ARGUMENTS_H
#define EMIT_ARGUMENTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/emitter.h"
#include "format/header.h"

/* ArgumentsTake -- the program's file, its arguments, and whether the first one is the name by which it was executed
 *
 * room  to read the command line into, `size` bytes, for a program whose arguments libc does not know
 *
 * They are looked up at the process's beginning and at its end only, when one thread is here: a descriptor that is
 * opened in between may have a number that the program counts on.  One thread at a time. */
extern void ArgumentsTake(Header headerReturn, Emitter emitter, char *room, Size size);

#endif /* EMIT_ARGUMENTS_H */
