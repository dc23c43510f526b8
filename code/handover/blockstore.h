/* blockstore.h -- allocates the blocks (sub-buffers) of a process, from shared memory that outlives the process
 *
 * A Store is one region (format/region.h): a file that is mapped shared as soon as anything is sent; before that, for a
 * flight recorder that nobody will read after the process's end, private memory.  Slots are taken and given back
 * without a lock.
 *
 * Always true (StoreCheck): slot i's block ends at base + RegionFIRST + (i + 1) * RegionSlotSIZE, which is a multiple
 * of RegionSlotSIZE; so an address in a block has EventBlockBIT set, and the address behind the block has not.  For
 * each slot below `limit` the file system has provided either nothing, or room for a block of BlockMIN to BlockMAX
 * bytes.  Only a file has a path.
 *
 * Design: design/telemetry.md .store      Tests: test/emit/emittest.c, test/handover/adopttest.c, test/recover/death.t
 */
#ifndef HANDOVER_BLOCKSTORE_H
#define HANDOVER_BLOCKSTORE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/region.h"

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

typedef struct StoreStruct {
  RegionHeader header;        /* the mapping's first byte; NULL if there is no store */
  Bool shared;                /* it is a file's */
  uint64_t poor;              /* when the file system had no room last; CLOCK_MONOTONIC, ns */
  Index limit;                /* no slot from this one on was ever taken */
  uint8_t provided[RegionSlotsMAX]; /* log2 of the bytes of each slot that the file system has given already */
  char path[RegionPathMAX];   /* of the file; "" for private memory, or a file without a name */
} StoreStruct, *Store;

/* StoreOpen -- memory for blocks
 *
 * log        the log whose blocks will lie here, an absolute path, or "" if that is no file
 * recording  that it is of: its identity
 * identity   of the process
 * fdReturn   the file, locked, for the caller to close; -1 if the memory is private.  NULL: private memory is meant.
 * returns    ResMEMORY if there is no address space; if there can be no file the memory is private
 */
extern Res StoreOpen(Store storeReturn, const char *log, uint64_t recording, uint64_t identity, int *fdReturn);

/* StoreAttach -- the store is a region that the collector has made
 *
 * fd      the file, locked, which stays the caller's
 * slots   that it has
 * path    as the collector sees it
 * returns ResMEMORY: no address space; ResFORMAT: it is none
 */
extern Res StoreAttach(Store storeReturn, int fd, Count slots, const char *path);

/* StoreDetach -- give the mapping back, with what is in it; nobody uses it yet */
extern void StoreDetach(Store store);

/* StoreSlots -- how many slots a region may have, for the address space that there is */
extern Count StoreSlots(void);

/* StoreProvide -- make sure that touching so much of the file cannot fail: a full tmpfs would kill the program with
 * SIGBUS.  FALSE: there is no room. */
extern Bool StoreProvide(Store store, Size offset, Size size);

extern Bool StoreCheck(Store store);

/* StoreMark -- make an empty file with the name that a region would have.  It is the only trace of a process that can
 * neither have a region nor write the log.  An empty file needs no room. */
extern void StoreMark(const char *log, uint64_t recording);

/* StoreUnlink -- remove the file, and the link beside it: nothing in it is needed any more.  The memory stays until the
 * process ends.  A file that cannot be removed is emptied, but for the region's header. */
extern void StoreUnlink(Store store);

/* StoreAhead -- make the file system provide room for some of the largest blocks now, because the process may not be
 * allowed to ask for it later */
extern void StoreAhead(Store store);

/* StoreTake -- a block of *size bytes (a power of two from BlockMIN to BlockMAX), zeros, or a smaller one where the
 * file system has no room; *size says which.  NULL: no slot, or no room for any.
 * Its slot has no size before the block is started (stream.h).  StoreGive -- give it back, as zeros. */
extern void *StoreTake(Store store, Size *size);
extern void StoreGive(Store store, void *block);

/* StorePoor -- had the file system no room a moment ago?  If not, and StoreTake still finds no slot, then each slot has
 * a block. */
extern Bool StorePoor(Store store);

/* StoreInherit -- the collector is dead, and the blocks that it had claimed are ours: one that it read is full, and one
 * that it was erasing is erased */
extern void StoreInherit(Store store);

/* StoreTold -- the state that a slot should have, judged by the block in it; RegionFREE: there is no block.
 * StoreMend -- set the states of slots that the program has written over to what StoreTold says; no other thread may
 * use a slot meanwhile. */
extern uint8_t StoreTold(Store store, Index slot);
extern void StoreMend(Store store);

/* StoreRegion -- its region, or NULL as long as there is none: another thread may be making it */
static inline RegionHeader StoreRegion(Store store)
{
  return __atomic_load_n(&store->header, __ATOMIC_ACQUIRE);
}

/* StoreLimit -- how many slots are worth looking at: those behind were never taken */
static inline Index StoreLimit(Store store)
{
  return __atomic_load_n(&store->limit, __ATOMIC_ACQUIRE);
}

/* StoreSlot -- which slot of a region a block is in.  StoreSize -- how large it is.  The place tells: its header may
 * have been spoiled by a stray write of the program. */
static inline Index StoreSlot(RegionHeader region, const void *block)
{
  return ((Size)((const char *)block - (const char *)region) - RegionFIRST) / RegionSlotSIZE;
}

static inline Size StoreSize(const void *block)
{
  return RegionSlotSIZE - (Word)block % RegionSlotSIZE;
}

/* For regionadopt.c.  StoreName -- the path of the `n`th region of this process, in RegionFOLDER or beside the log;
 * FALSE: there is no room for it, or there is none.  StoreLink -- that of the link beside a region, in a buffer of
 * RegionPathMAX bytes.  StoreRemove -- remove a region and its link; FALSE: that cannot be. */
enum { StoreNumbersMAX = 64 }; /* regions that a process may leave behind by exec; more stay for the collector */
extern Bool StoreName(char *room, Size size, const char *log, uint64_t recording, unsigned n, Bool beside);
extern const char *StoreLink(char *room, const char *path);
extern Bool StoreRemove(const char *path);

/* StoreForks -- the process forks now, and this is its shared store */
extern void StoreForks(Store store);

/* StoreFamilySeen -- in the child: is the file of that store to be seen under its name, as others see it? */
extern Bool StoreFamilySeen(void);

/* StoreForked -- in the child of a fork: map private memory where the parent's blocks were, because fork may have
 * interrupted an event (it may have been called in a signal handler) that will still be written there.  The memory that
 * was mapped for the same reason when the parent itself was forked is given back. */
extern void StoreForked(void);

#endif /* HANDOVER_BLOCKSTORE_H */
