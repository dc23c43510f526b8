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
  Bool shared;                /* it is a file's */
  char path[RegionPathMAX];   /* of the file; "" for private memory, or a file without a name */
  uint8_t provided[RegionSlotsMAX]; /* log2 of the bytes of each slot that the file system has given already */
} StoreStruct, *Store;

/* StoreOpen -- memory for blocks
 *
 * log       the log whose blocks will lie here, an absolute path, or "" if that is no file
 * identity  of the process
 * fdReturn  the file, locked, for the caller to close; -1 if the memory is private.  NULL: private memory is meant.
 * returns   ResMEMORY if there is no address space; where no file can be had the memory is private
 */
extern Res StoreOpen(Store storeReturn, const char *log, uint64_t identity, int *fdReturn);

/* StoreProvide -- make sure that touching so much of the file cannot fail: a full tmpfs would kill the program with
 * SIGBUS.  FALSE: there is no room. */
extern Bool StoreProvide(Store store, Size offset, Size size);

/* StoreUnlink -- remove the file: nothing in it is needed any more.  The memory stays until the process ends. */
extern void StoreUnlink(Store store);

/* StoreTake -- a block of `size` bytes (a power of two from BlockMIN to BlockMAX), zeros; NULL: no slot, or no room
 * in the file system.  StoreGive -- give it back, as zeros. */
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
extern void StoreAdopt(const char *log, Res (*block)(void *data, void *base, Size size), void *data);

#endif /* EMIT_STORE_H */
