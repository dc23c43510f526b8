/* store.h -- where a process's blocks lie: its own memory, or a file that outlives it
 *
 * A Store is one region (format/region.h): private memory for a flight recorder that nobody will read after the
 * process's end, or a file mapped shared as soon as anything is sent.  Slots are taken and given back without a lock.
 *
 * Always true: slot i's block ends at base + RegionFIRST + (i + 1) * RegionSlotSIZE, which is a multiple of
 * RegionSlotSIZE; so an address in a block has EventBlockBIT set, and the one behind it has not.
 *
 * Design: design/telemetry.md .store      Tests: test/emittest.c, test/deathtest.t
 */
#ifndef EMIT_STORE_H
#define EMIT_STORE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/region.h"

typedef struct StoreStruct {
  RegionHeader header;        /* the mapping's first byte; NULL if there is no store */
  char path[RegionPathMAX];   /* of the file; "" for private memory */
} StoreStruct, *Store;

/* StoreOpen -- memory for blocks
 *
 * log       the log whose blocks will lie here, an absolute path, or "": then the memory is private
 * identity  of the process
 * returns   ResMEMORY if there is no address space; where no file can be had the memory is private, and `path` is ""
 */
extern Res StoreOpen(Store storeReturn, const char *log, uint64_t identity);

/* StoreUnlink -- remove the file: nothing in it is needed any more.  The memory stays until the process ends. */
extern void StoreUnlink(Store store);

/* StoreTake -- a block of `size` bytes (a power of two from BlockMIN to BlockMAX), zeroed; NULL: no slot, or no room
 * in the file system.  StoreGive -- give it back. */
extern void *StoreTake(Store store, Size size);
extern void StoreGive(Store store, void *block, Size size);

/* StoreForked -- in the child of a fork: memory stands where its parent's blocks were, because fork may have
 * interrupted an event (in a signal handler) that is going to be written there; and what stood so for the parent is
 * given back */
extern void StoreForked(void);

/* StoreAdopt -- the regions that a process with our number left behind: one that became us by exec
 *
 * Calls `block` for each block in each region of `log` whose owner is gone, and removes the file, unless `block` fails:
 * then whoever reads the log still finds it.
 */
extern void StoreAdopt(const char *log, Res (*block)(void *base, Size size));

#endif /* EMIT_STORE_H */
