/* scan.h -- goes through a file, and enters what is sound into the table and the index
 *
 * Goes from block to block by their sizes.  Where nothing sound stands it looks for the next place with a magic and a
 * sound header, and notes the region between.  A size is believed only if the header's checksum is right, and even
 * then a block that was cut short and written over by the next is recognised: if what comes behind it is not sound, or
 * if a whole copy of the block comes.
 *
 * Where the log has an index file (indexfile.h), headers of blocks are read from that; all else is the same.
 *
 * Design: design/log.md .scan      Tests: test/log/logbadtest.c, test/log/hostiletest.c
 */
#ifndef LOG_SCAN_H
#define LOG_SCAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"
#include "log/damage.h"
#include "log/index.h"
#include "log/indexfile.h"
#include "log/logfile.h"
#include "log/table.h"

/* What a file's scanning has come to. */
typedef struct ScanPlaceStruct {
  uint64_t offset;     /* everything before is scanned; */
  uint64_t searched;   /* where nothing sound stands at `offset`: the search has come so far; else 0 */
  Bool follows;        /* the next is the block that led to `offset` */
  BlockHeaderStruct previous;
} ScanPlaceStruct, *ScanPlace;

/* A sound thing in a file. */
typedef struct ScanThingStruct {
  Bool isBlock;
  uint64_t size;            /* bytes to what comes behind it */
  BlockHeaderStruct header; /* if it is a block */
  const char *body;         /* of a header block: lines in scan->text */
  Size bodyLength;
} ScanThingStruct, *ScanThing;

enum { ScanDoubtsMAX = 64 }; /* more are not looked at */

typedef struct ScanStruct {
  Table table;
  TheIndex index;      /* where blocks go; NULL: only the table is wanted */
  DamagedRanges regions;
  Reporter reporter;
  /* where blocks go instead; `seen`: one with the same number was found before; or NULL */
  Res (*block)(void *data, LogStream stream, const IndexEntryStruct *entry, Bool seen);
  void *data;          /* for it */
  Bool growing;        /* the file's end may come later: what is cut off there is left for the next time */
  IndexFile known;     /* headers of blocks are read from there, where it has them; or NULL */
  IndexFile making;    /* and are written there; or NULL */
  File file;           /* the one being scanned, */
  Index number;        /* and its number */
  uint64_t blocks;     /* sound ones found, */
  uint64_t events;     /* and what they announce */
  uint64_t headers;    /* sound header blocks found */
  unsigned foreign[3]; /* version of a block or header of another major, 0 if none was met */
  unsigned newer[3];   /* the highest version of the headers, if newer than the reporter's; else 0 */
  uint64_t wasted;     /* bytes read for header blocks that were none */
  uint64_t bytes, total; /* of the files before this one, and of all: for the hook, if total > 0 */
  uint64_t steps;      /* between two calls of it */
  File *files;         /* all of the traceset, by their numbers; NULL: there is one */
  Count doubts;        /* copies of blocks that are to be looked at, and their places */
  uint64_t doubt[ScanDoubtsMAX];
  LogStreamRecentStruct replaced; /* what the stream of the last block knew in its place before that */
  HeaderStruct header; /* the one that was read last, */
  char text[HeaderMAX]; /* and its text; so a scan is too large for a stack */
} ScanStruct, *Scan;

/* ScanCheck -- is there all that a scan fills in;  is an index file read or made, and not both;  is the window of the
 * file that is scanned no larger than its room? */
extern Bool ScanCheck(const ScanStruct *scan);

/* ScanFile -- scan `file`, which has `number`, from its beginning to its end; ResMEMORY, ResIO.  Whatever stands in the
 * file is no failure. */
extern Res ScanFile(Scan scan, File file, Index number);

/* ScanOn -- scan on from a place, all zeros at first, to the file's end or for so many blocks */
extern Res ScanOn(Scan scan, File file, Index number, ScanPlace place, uint64_t blocks);

/* ScanIndexed -- the file's index file serves from now on, as scan->known, if it has one that can be believed; the
 * caller closes it.  An index that is of no use is told in a line.  ResMEMORY. */
extern Res ScanIndexed(Scan scan, File file);

/* ---- scantake.c: what is found goes into the table and the index ---- */

/* ScanTakeBlock -- a block's header; `cut` if the file ends within the block
 * ScanTakeHeader -- a header block, which scan->header and `thing` have
 * ScanTakeCut -- the block that was taken last, which has this header, was cut short */
extern Res ScanTakeBlock(Scan scan, BlockHeader header, uint64_t offset, Bool cut);
extern Res ScanTakeHeader(Scan scan, ScanThing thing, uint64_t offset);
extern void ScanTakeCut(Scan scan, const BlockHeaderStruct *header);

#endif /* LOG_SCAN_H */
