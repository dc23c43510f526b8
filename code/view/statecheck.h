/* statecheck.h -- saved states in the order of their positions: kept in memory, then in a file, then fewer
 *
 * A check point is what was saved (heapsave.h), for the position before which all events had been taken.  The first
 * StateMemoryMAX bytes are in memory, others in a temporary file without a name, StateFileMAX bytes at most.  Where
 * they come to be too many or too large, every other one is forgotten, and they are asked for at twice the distance: so
 * what they take is bounded, and where they stand follows the log's length.
 *
 * Always true (StateChecksCheck): positions and numbers of events rise; no two pieces of the file overlap.
 *
 * Design: design/view.md .state.check      Tests: test/viewstatetest.c
 */
#ifndef VIEW_STATECHECK_H
#define VIEW_STATECHECK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/position.h"

enum { StateChecksMAX = 256 };
#define StateMemoryMAX ((uint64_t)64 << 20)
#define StateFileMAX   ((uint64_t)1 << 30)

typedef struct StateCheckStruct {
  LogPositionStruct position;
  uint64_t events;       /* that were taken before it */
  unsigned char *bytes;  /* owned; NULL: in the file, */
  uint64_t offset;       /* there */
  Size size;
} StateCheckStruct, *StateCheck;

typedef struct StateChecksStruct {
  uint64_t interval;     /* events between two */
  uint64_t memoryMax, fileMax; /* the bounds; a test has smaller ones */
  uint64_t memory, file; /* bytes that are taken */
  int fd;                /* -1: no file yet */
  Bool fileFailed;       /* and there will be none */
  Count count;
  StateCheckStruct check[StateChecksMAX];
} StateChecksStruct, *StateChecks;

/* StateChecksInit -- none yet; one is wanted every `interval` events
 * StateChecksFinish -- forget all */
extern void StateChecksInit(StateChecks checks, uint64_t interval);
extern void StateChecksFinish(StateChecks checks);

/* StateChecksAdd -- keep one more, behind all others; `bytes` is taken over.  Where it finds no room, none is kept. */
extern void StateChecksAdd(StateChecks checks, const LogPositionStruct *position, uint64_t events,
                           unsigned char *bytes, Size size);

/* StateChecksFind -- the last one at `position` or before it; NULL if there is none */
extern StateCheck StateChecksFind(StateChecks checks, const LogPositionStruct *position);

/* StateChecksBytes -- its bytes; *ownedReturn is to be freed, and may be NULL.  ResIO, ResMEMORY. */
extern Res StateChecksBytes(const unsigned char **bytesReturn, unsigned char **ownedReturn, StateChecks checks,
                            StateCheck check);

/* StateChecksForget -- this one and all behind it cannot be had */
extern void StateChecksForget(StateChecks checks, StateCheck check);

extern Bool StateChecksCheck(StateChecks checks);

#endif /* VIEW_STATECHECK_H */
