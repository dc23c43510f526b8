/* user.h -- what programs have told that stays true
 *
 * Design: design/telemetry.md .state      Tests: test/statetest.c
 */
#ifndef EMIT_USER_H
#define EMIT_USER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/public.h"

enum { UserLabelsMAX = 4096 }; /* addresses whose labels are kept: the first ones; of each, the newest label */

/* UserTell -- tell again what strings are interned, and what is labelled.  Takes no lock. */
extern void UserTell(void);

/* A row of our registry that somebody else's lacks, as a type that is defined at run time: readers go by the names. */
typedef struct UserRowStruct {
  const char *name, *format, *params, *describe;
  Bool definition; /* its events go to the stream that no policy overwrites */
  EventCode code;  /* 0: not defined yet */
} UserRowStruct, *UserRow;

/* UserRowTell -- an event of such a row, with its parameters; the first use takes a lock */
extern void UserRowTell(UserRow row, ...);

#endif /* EMIT_USER_H */
