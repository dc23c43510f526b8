/* scan.h -- find what is sound in a file, and put it into the table and the index
 *
 * Goes from block to block by their sizes.  Where nothing sound stands it looks for the next place with a magic and a
 * sound header, and notes the region between.  A size is believed only if the header's checksum is right, and even
 * then a block that was cut short and written over by the next is recognised.
 *
 * Design: design/log.md .scan      Tests: test/logbadtest.c, test/hostiletest.c
 */
#ifndef LOG_SCAN_H
#define LOG_SCAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"
#include "log/file.h"
#include "log/gap.h"
#include "log/index.h"
#include "log/table.h"

typedef struct ScanStruct {
  Table table;
  TheIndex index;
  Regions regions;
  Teller teller;
  File file;           /* the one being scanned, */
  Index number;        /* and its number */
  uint64_t blocks;     /* sound ones found, */
  uint64_t events;     /* and what they announce */
  uint64_t headers;    /* sound header blocks found */
  unsigned foreign[3]; /* version of a block or header of another major, 0 if none was met */
  unsigned newer[3];   /* the highest version of the headers, if newer than the teller's; else 0 */
  uint64_t wasted;     /* bytes read for header blocks that were none */
  char *text;          /* memory for header blocks; the caller frees it */
  HeaderStruct header;
} ScanStruct, *Scan;

/* ScanFile -- scan `file`, which has `number`; ResMEMORY, ResIO.  Whatever stands in the file is no failure. */
extern Res ScanFile(Scan scan, File file, Index number);

#endif /* LOG_SCAN_H */
