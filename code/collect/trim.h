/* trim.h -- a log that stays small: what is oldest is given back to the file system
 *
 * A recording that stays on keeps the newest part of its log.  Whole old blocks become holes in the file: places stay
 * what they are, so others may append and read meanwhile, and the log is sound at every moment.  A line in a header
 * block that is appended first tells how much was cut away.
 *
 * Blocks go in the order of their levels.  Those of frequent kinds go first, but for the newest.  Those of rare kinds
 * go when what is left of old blocks takes half of the limit: without that, samples of a recording of many hours would
 * leave no room for the newest events.  Blocks that define things stay as long as they and the newest eighth of the log
 * fit; of header blocks those stay that something needs.
 *
 * Always true (TrimCheck): gone[TrimDEFINING] <= gone[TrimRARE] <= gone[TrimFREQUENT] <= seen; limit >= TrimLimitMIN;
 * page is a power of two.
 *
 * Design: design/log.md .dropped, design/format.md .dropped      Tests: test/collect/trimtest.c
 */
#ifndef COLLECT_TRIM_H
#define COLLECT_TRIM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"
#include "log/logfile.h"

enum {
  TrimLimitMIN = 1 << 20, /* bytes: less would hold little but headers */
  TrimLISTS = 256
};

/* What a block is, in the order in which blocks go. */
typedef enum TrimLevel { TrimFREQUENT, TrimRARE, TrimDEFINING, TrimLEVELS } TrimLevel;

/* The newest header block of a process that has this registry: no earlier one is needed. */
typedef struct TrimHeaderStruct {
  struct TrimHeaderStruct *next; /* in its list, by identity */
  uint64_t identity, registry;   /* a hash of the lines that stand last */
  uint64_t place;
  Size length;
  Bool ended;                    /* it names no region: the process has ended */
  uint64_t newest[TrimLEVELS];   /* behind the beginning of the process's newest block of each level; 0: none */
} TrimHeaderStruct, *TrimHeader;

typedef struct TrimStruct {
  uint64_t limit;
  uint32_t rare, defining; /* kinds whose blocks are of these levels: masks */
  uint64_t seen;         /* headers and blocks before this are in the lists */
  uint64_t gone[TrimLEVELS]; /* of blocks before this none of this level is left */
  DroppedStruct dropped; /* what was cut away so far */
  uint64_t bearer;       /* identity of the process whose header block tells of it; 0: none yet */
  TrimHeader list[TrimLISTS];
  FileStruct file;       /* the log; its descriptor is the caller's */
  Size page;             /* the file system gives back multiples of this */
  uint64_t freed;        /* bytes of the file that take no room */
  HeaderStruct header;   /* what the header block in `text` says, */
  uint64_t registry;     /* and the hash of its registry */
  char text[HeaderMAX], marked[HeaderMAX];
} TrimStruct, *Trim;

/* TrimCreate -- keep a log to about `limit` bytes on the disk
 *
 * log      open for reading and for appending; the caller's
 * limit    at least TrimLimitMIN
 * rare, defining  a bit for each kind whose blocks are of these levels
 * returns  ResIO, errno EOPNOTSUPP: the file system cannot give back a part of a file; ResMEMORY, ResPARAM
 */
extern Res TrimCreate(Trim *trimReturn, int log, uint64_t limit, uint32_t rare, uint32_t defining);

/* TrimNewest -- something was appended: if the log is too large, give an eighth of the limit back
 *
 * returns  ResIO (errno): nothing was cut away that no header block tells of; may be called again
 * cost     reads 128 bytes of each block that came; when something goes, twice those again
 */
extern Res TrimNewest(Trim trim);

extern void TrimDestroy(Trim trim);
extern Bool TrimCheck(Trim trim);

#endif /* COLLECT_TRIM_H */
