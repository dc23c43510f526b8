/* region.h -- the memory in which a process's open blocks lie, as another process finds it
 *
 * A file, in memory (tmpfs) where that can be had, mapped shared by the process that writes it.  It begins with
 * RegionHeaderStruct, and has from RegionFIRST on `slots` places of RegionSlotSIZE bytes.  A place in use holds one
 * block, of 1 << log2[i] bytes, at its end. The writer holds a lock (flock) on it as long as it lives: the file's
 * mapping keeps it, not a descriptor.
 *
 * Design: design/format.md .region      Tests: test/deathtest.t
 */
#ifndef FORMAT_REGION_H
#define FORMAT_REGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"

#define RegionMAGIC "\x8fPAWreg\n"

enum {
  RegionFIRST = 16384,            /* where the slots begin, in the file; not touched: sparse */
  RegionSlotSIZE = 2 * BlockMAX,
  RegionSlotsMAX = 4096,
  RegionPathMAX = 1024
};

typedef struct RegionHeaderStruct {
  char magic[BlockMagicSIZE];
  uint32_t order;                 /* BlockORDER */
  uint32_t major;                 /* BlockMAJOR */
  uint32_t pid;
  uint32_t slots;
  uint64_t identity;              /* of the process */
  char log[RegionPathMAX];        /* the log that the blocks belong to, an absolute path; "" for another way out */
  uint8_t log2[RegionSlotsMAX];   /* of the size of each slot's block; 0: the slot is free */
} RegionHeaderStruct, *RegionHeader;

_Static_assert(sizeof(RegionHeaderStruct) <= RegionFIRST, "the slots are behind the header");

/* RegionSize -- bytes of a file of so many slots */
#define RegionSize(slots) (RegionFIRST + (Size)(slots) * RegionSlotSIZE)

/* RegionHeaderSound -- is this the beginning of a region of our own byte order and version, `size` bytes long? */
extern Bool RegionHeaderSound(RegionHeader header, Size size);

/* RegionBlockAt -- where slot `i`'s block begins in the file, and its size; FALSE if there is none */
extern Bool RegionBlockAt(Size *offsetReturn, Size *sizeReturn, RegionHeader header, Index i);

#endif /* FORMAT_REGION_H */
