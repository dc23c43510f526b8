/* drainheader.h -- the header block of a process that is drained: taken from its region, and written again
 *
 * The process writes the first one and those that name new types; here it is repeated, with a new relation of ticks to
 * time.  Processes that have the same types, as those of one program have, share one registry.
 *
 * Design: design/collector.md .hand.header      Tests: test/collecttest.c
 */
#ifndef COLLECT_DRAINHEADER_H
#define COLLECT_DRAINHEADER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "collect/batch.h"
#include "format/header.h"
#include "format/region.h"
#include "format/registry.h"

/* One text of types and what it means. */
typedef struct DrainTypesStruct {
  struct DrainTypesStruct *next;
  Count users;
  Size length;
  char *text;               /* owned; the registry's names point into it */
  RegistryStruct registry;  /* its types are owned */
} DrainTypesStruct, *DrainTypes;

typedef struct DrainHeaderStruct {
  uint32_t generation;      /* of the text that was taken last, sound or not; 0: none yet */
  Bool slow;                /* the process's clock is the system's */
  DrainTypes types;         /* NULL: no sound header yet */
  HeaderStruct header;
} DrainHeaderStruct, *DrainHeader;

/* DrainHeaderTake -- the newest header block, if there is one that was not taken, into the batch
 *
 * identity  that it must have
 * list      of all types that are in use
 * returns   ResEND: there is none; ResFORMAT: it is not sound, and not looked at again; ResIO, ResMEMORY: not
 *           now
 */
extern Res DrainHeaderTake(DrainHeader header, RegionHeader region, uint64_t identity, DrainTypes *list, Batch batch);

/* DrainHeaderAgain -- write it again
 * lost   events that no block counts
 * last   nothing is left in memory: it names no region */
extern Res DrainHeaderAgain(DrainHeader header, uint64_t lost, Bool last, Batch batch);

/* DrainHeaderForget -- give back its types */
extern void DrainHeaderForget(DrainHeader header, DrainTypes *list);

#endif /* COLLECT_DRAINHEADER_H */
