/* drainheader.h -- the header block of a process that is drained: taken from its region, and written again
 *
 * The process writes it into its region, and anew when it names new types; from here it goes into the log, again and
 * again, with a new relation of ticks to time.  Processes that have the same types, as those of one program have, share one registry.
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
  Size named;               /* `length` if the log has these lines already, else 0 */
  char *text;               /* owned; the registry's names point into it */
  RegistryStruct registry;  /* its types are owned */
} DrainTypesStruct, *DrainTypes;

typedef struct DrainHeaderStruct {
  uint32_t generation;      /* of the text that was taken last, sound or not; 0: none yet */
  Bool slow;                /* the process's clock is the system's */
  DrainTypes types;         /* NULL: no sound header yet */
  HeaderStruct header;
} DrainHeaderStruct, *DrainHeader;

struct DrainShopStruct;
struct DrainStreamsStruct;

/* DrainHeaderTake -- read the newest header block, if there is one that was not read
 *
 * identity  that it must have
 * pid       of the process, as we number it
 * shop      whose types are in use; its batch's room serves to read it, and nothing is put there
 * returns   ResEND: there is none; ResFORMAT: it is not sound, and not looked at again; ResIO, ResMEMORY: not
 *           now
 */
extern Res DrainHeaderTake(DrainHeader header, RegionHeader region, uint64_t identity, uint32_t pid,
                           struct DrainShopStruct *shop);

/* DrainHeaderAgain -- write it into the batch, with the newest relation of ticks to time.  Types that the log has from
 * the collector are named and not repeated.
 * lost   events that no block counts
 * ended  NULL; or nothing is left in memory, and the process's part ends: it names no region, and says what of these
 *        streams should be there */
extern Res DrainHeaderAgain(DrainHeader header, uint64_t lost, const struct DrainStreamsStruct *ended,
                            struct DrainShopStruct *shop);

/* DrainHeaderForget -- give back its types */
extern void DrainHeaderForget(DrainHeader header, DrainTypes *list);

#endif /* COLLECT_DRAINHEADER_H */
