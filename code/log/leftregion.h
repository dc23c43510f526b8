/* leftregion.h -- the memory of one dead process, copied as header block and blocks
 *
 * The process may have written anything there, and somebody may cut the file short meanwhile: it is read by place, each
 * part is copied first and judged then, and what is not sound is left out.
 *
 * Always true: what is written is a sound log, unpacked.
 *
 * Design: design/log.md .leftover      Tests: test/lefttest.c
 */
#ifndef LOG_LEFTREGION_H
#define LOG_LEFTREGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"
#include "format/region.h"
#include "log/table.h"

typedef struct LeftRegionStruct {
  int fd;                       /* the region; the caller's, open and locked */
  Table table;                  /* what the logs have */
  int to;                       /* the temporary file; -1 as long as there is none */
  uint64_t events;              /* taken that the logs have not, of this region */
  Bool taken;                   /* a header block or a block was written, of this region */
  RegionHeaderStruct header;    /* as LeftRegionRead found it */
  HeaderStruct parsed;
  char text[RegionTextSIZE];
  union {
    BlockHeaderStruct header;
    uint64_t align;
    unsigned char bytes[BlockMAX];
  } block;
} LeftRegionStruct, *LeftRegion;

/* LeftRegionRead -- is the file at region->fd a region of our version?  Its header, then. */
extern Bool LeftRegionRead(LeftRegion region);

/* LeftRegionText -- find the newest header block that is whole: it is in region->text then, and in region->parsed what
 * it says.  FALSE: there is none. */
extern Bool LeftRegionText(LeftRegion region, Size *lengthReturn);

/* LeftRegionCollected -- is there a collector that lives, and will take what is there? */
extern Bool LeftRegionCollected(LeftRegion region);

/* LeftRegionTake -- write to region->to (made if need be) what the logs do not have: the header block's newest text,
 * and what is committed in blocks, full or open.  The flight recorder's are left.  ResIO, ResMEMORY. */
extern Res LeftRegionTake(LeftRegion region);

#endif /* LOG_LEFTREGION_H */
