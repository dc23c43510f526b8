/* arriving.h -- blocks that come while a pass runs: those that wait, and those of which a longer copy may come
 *
 * A block that fills slowly comes as snapshots (BlockFlagSNAPSHOT), each longer than the one before, and at last whole.
 * An event stays at its place in the block; so a bit for each place tells which were delivered.  A block of which a
 * part came, because its writer was killed within the write, or that did not load, is such a block as well: a copy may
 * come from the memory of the process.
 *
 * Always true: a Partial is here from its block's first snapshot, piece or failure until that was had whole;
 * (PartialsCheck) it is in the list of its stream and number, and `count` is how many there are.  QueueCheck: no entry
 * of the queue comes before its parent in the heap, which is by the time at which the blocks were opened; at most
 * QueueMAX.
 *
 * Design: design/log.md .follow      Tests: test/request/followtest.c
 */
#ifndef REQUEST_ARRIVING_H
#define REQUEST_ARRIVING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/index.h"
#include "log/load.h"

typedef struct PartialStruct {
  struct PartialStruct *next;  /* in its list */
  uint32_t stream;             /* number in the table */
  Bool whole;                  /* the whole block came: any other copy is superfluous */
  uint64_t first, sequence;
  const char *failed;          /* why it did not load, a constant; NULL: that was not tried, or was told */
  uint64_t place;              /* where it did not, */
  uint32_t lost;               /* and how many events stand there */
  uint64_t had[BlockMAX / EventALIGN / 64];
} PartialStruct, *Partial;

enum {
  PartialsLISTS = 256,
  PartialsFAILED = 4096 /* where there are so many, none is kept because it did not load: the log decides of that */
};

typedef struct PartialsStruct {
  Partial list[PartialsLISTS]; /* by stream and number */
  Count count;
} PartialsStruct, *Partials;

/* PartialsSee -- a block was found: is it to be read?
 *
 * seen        one with its number was found before
 * wantedReturn FALSE for a copy of a block that came whole
 * ResMEMORY
 */
extern Res PartialsSee(Bool *wantedReturn, Partials partials, const IndexEntryStruct *entry, Bool seen);

/* PartialsForget -- the whole block came, so its snapshots are not read any more */
extern void PartialsForget(Partials partials, const IndexEntryStruct *entry);

/* PartialsTake -- remove from a loaded block the events that were delivered already */
extern void PartialsTake(Partials partials, Loaded loaded, const IndexEntryStruct *entry);

/* PartialsFail -- a block did not load: a copy that comes later is to be read
 *
 * what        why, a constant
 * returns     FALSE: there is no room for that; nobody waits for a copy
 */
extern Bool PartialsFail(Partials partials, const IndexEntryStruct *entry, const char *what, uint32_t lost);

/* PartialsTell -- call `lost` for each block that did not load and of which no copy came, with its place, the reason,
 * and how many of its events were not delivered; it is told once */
typedef void (*PartialsLost)(void *data, uint64_t place, const char *what, uint32_t lost);
extern void PartialsTell(Partials partials, PartialsLost lost, void *data);

extern Bool PartialsCheck(Partials partials);
extern void PartialsFree(Partials partials);

enum { QueueMAX = 32768 };

typedef struct QueueEntryStruct {
  uint64_t fine; /* of the block's first tick */
  IndexEntryStruct entry;
} QueueEntryStruct, *QueueEntry;

typedef struct QueueStruct {
  QueueEntry heap; /* owned */
  Count count, capacity;
} QueueStruct, *Queue;

/* QueuePut -- add an entry; ResMEMORY; ResLIMIT if there are too many */
extern Res QueuePut(Queue queue, uint64_t fine, const IndexEntryStruct *entry);

/* QueueTake -- away with the first */
extern void QueueTake(Queue queue);
extern void QueueFree(Queue queue);
extern Bool QueueCheck(Queue queue);

#endif /* REQUEST_ARRIVING_H */
