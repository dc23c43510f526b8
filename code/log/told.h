/* told.h -- which blocks' damage has been told, so that another pass over them does not tell it again
 *
 * A set of numbers in memory that grows with the damage, not with the log.
 *
 * Always true: over a third of the slots are empty; an empty slot is 0.
 *
 * Design: design/log.md .gap      Tests: test/requesttest.c
 */
#ifndef LOG_TOLD_H
#define LOG_TOLD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct ToldStruct {
  uint64_t *slot; /* owned */
  Count count, capacity;
} ToldStruct, *Told;

/* ToldAdd -- FALSE: it was there.  Where memory is short everything is new. */
extern Bool ToldAdd(Told told, uint64_t place);
extern void ToldFree(Told told);

#endif /* LOG_TOLD_H */
