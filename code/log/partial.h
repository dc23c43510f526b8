/* partial.h -- blocks of which a longer copy may come, and which of their events were delivered
 *
 * A block that fills slowly comes as snapshots (BlockFlagSNAPSHOT), each longer than the one before, and at last whole.
 * An event stays at its place in the block; so a bit for each place tells which were had.
 *
 * Always true: a block is here from its first snapshot until it was had whole.
 *
 * Design: design/log.md .follow      Tests: test/followtest.c
 */
#ifndef LOG_PARTIAL_H
#define LOG_PARTIAL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/index.h"
#include "log/load.h"

typedef struct PartialStruct {
  struct PartialStruct *next;  /* in its list */
  uint32_t stream;             /* number in the table */
  Bool whole;                  /* the block came whole: the next copy is one too many */
  uint64_t first, sequence;
  uint64_t had[BlockMAX / EventALIGN / 64];
} PartialStruct, *Partial;

enum { PartialsLISTS = 256 };

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

/* PartialsForget -- a block came whole, and its snapshots will not be read */
extern void PartialsForget(Partials partials, const IndexEntryStruct *entry);

/* PartialsTake -- of a loaded block, leave the events that were not had yet */
extern void PartialsTake(Partials partials, Loaded loaded, const IndexEntryStruct *entry);

extern void PartialsFree(Partials partials);

#endif /* LOG_PARTIAL_H */
