/* user.h -- strings, labels and event types that the program has defined
 *
 * Design: design/telemetry.md .state      Tests: test/emit/statetest.c
 */
#ifndef EMIT_USER_H
#define EMIT_USER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/public.h"

enum { UserLabelsMAX = 4096 }; /* addresses whose labels are kept: the first ones; of each, the newest label */

/* UserTell -- tell again what strings are interned, and what is labelled.  Takes no lock. */
extern void UserTell(void);

#endif /* EMIT_USER_H */
