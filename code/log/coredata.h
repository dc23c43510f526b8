/* coredata.h -- a core file, from the inside: what those files of this room share that look through it
 *
 * Always true: `to` is a row of whole, sound header blocks and blocks; `process` has each identity once.
 *
 * Design: design/log.md .core      Tests: test/core.t
 */
#ifndef LOG_COREDATA_H
#define LOG_COREDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/header.h"
#include "format/region.h"
#include "log/elf.h"
#include "log/gap.h"

enum {
  CorePieceSIZE = 1 << 20,  /* read at a time */
  CoreProcessesMAX = 64,    /* whose events one core may have */
  CoreHeadersMAX = 1024     /* header blocks that are remembered */
};

/* A process that has something in the core. */
typedef struct CoreProcessStruct {
  uint64_t identity;
  uint32_t pid;
  uint64_t events;
  Bool blocks;  /* of it were found */
  Bool headed;  /* its header block was written */
  Bool region;  /* its region is in the core */
} CoreProcessStruct, *CoreProcess;

/* Where a sound header block is. */
typedef struct CoreHeaderStruct {
  uint64_t identity;
  uint64_t offset;
  Size length;
} CoreHeaderStruct, *CoreHeader;

typedef struct CoreStruct {
  ElfStruct elf;
  Teller teller;
  int to;                /* the temporary file */
  Bool cut;              /* the core is not whole */
  Bool gone;             /* it was told that shared memory is in neither the core nor a file */
  uint64_t read;         /* bytes of memory that were looked at: not more than the core has */
  uint64_t wasted;
  Res failed;            /* ResOK, or what became of writing blocks of a file */
  uint64_t next;         /* in the segment: behind the header block that was found last */
  Count processes, headers;
  CoreProcessStruct process[CoreProcessesMAX];
  CoreHeaderStruct header[CoreHeadersMAX];
  HeaderStruct parsed;
  RegionHeaderStruct region;
  union {
    BlockHeaderStruct header;
    uint64_t align;
    unsigned char bytes[BlockMAX];
  } block;               /* the one in hand */
  char text[HeaderMAX];
  unsigned char piece[CorePieceSIZE + BlockMagicSIZE];
} CoreStruct, *Core;

/* CoreProcessFind -- what is known of a process, from now on; NULL: of too many already */
extern CoreProcess CoreProcessFind(Core core, uint64_t identity);

/* CoreBlock -- core->block has `size` bytes that may be an open block: write it, settled and sealed.  ResIO. */
extern Res CoreBlock(Core core, Size size);

/* CoreSegment -- write the blocks that are in a segment's memory, and remember the header blocks.  ResIO. */
extern Res CoreSegment(Core core, ElfSegment segment);

/* CoreFile -- a file that the process had mapped: write its blocks, if it is a region and the core has it not.  For
 * ElfFiles, with the core as data. */
extern Bool CoreFile(void *core, const char *path);

#endif /* LOG_COREDATA_H */
