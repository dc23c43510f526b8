/* statesystem.h -- what the system knows of the process, told as events: threads
 *
 * Design: design/telemetry.md .state      Tests: test/statetest.c
 */
#ifndef EMIT_STATESYSTEM_H
#define EMIT_STATESYSTEM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/state.h"

/* StateThreads -- tell of each thread that runs, with its name.  One caller at a time. */
extern void StateThreads(void);

#endif /* EMIT_STATESYSTEM_H */
