/* index.h -- where every block of a traceset is, in order of time
 *
 * Filled once, block by block as the files have them; then read as often as wanted, in order of the time at which the
 * blocks were opened.  Up to IndexRunMAX entries are kept in memory; beyond that sorted runs go to a temporary file
 * without a name, and reading merges them.
 *
 * A pass may begin at a time: entries that end before it are left out, whole groups of them by what is known of the
 * group, without a look at its entries.
 *
 * Always true (IndexCheck): a run is sorted by clock, first, stream, sequence, and then the better copy of a block
 * first; no entry of a group reaches beyond what stands in `reach` for it.
 *
 * Design: design/log.md .index      Tests: test/log/logtest.c, test/log/indextest.c, test/log/logchecktest.c
 */
#ifndef LOG_INDEX_H
#define LOG_INDEX_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/table.h"

enum {
  IndexRunMAX = 32768,    /* entries */
  IndexGROUP = 64,        /* entries that have one place in `reach`, and places that have one above them */
  IndexEntryCUT = 0x80    /* in flags: the file ends before the block does, or the next thing begins within it */
};

typedef struct IndexEntryStruct {
  uint64_t first, last; /* ticks */
  uint64_t place;       /* IndexPlace: file and offset */
  uint64_t sequence;
  uint32_t stream;      /* number in the table */
  uint16_t count;       /* events; BlockMAX / EventALIGN at most */
  uint8_t flags;        /* BlockFlag..., IndexEntryCUT */
  uint8_t kind;
} IndexEntryStruct, *IndexEntry;

#define IndexPlace(file, offset) ((uint64_t)(file) << 48 | (offset))
#define IndexPlaceFile(place)    ((Index)((place) >> 48))
#define IndexPlaceOffset(place)  ((place) & (((uint64_t)1 << 48) - 1))

/* A piece of a run with one clock. */
typedef struct IndexPieceStruct {
  Clock clock;
  uint64_t at;   /* number of its first entry in the spilled file; in memory if it is the last run */
  uint64_t count;
  uint64_t *reach; /* owned: the latest `last` of each group, then of each group of groups; endless is UINT64_MAX */
} IndexPieceStruct, *IndexPiece;

typedef struct IndexStruct {
  Table table;
  IndexEntry entry;    /* the run being filled, and the one that stays in memory */
  Count entries, capacity;
  uint64_t spilled;    /* entries in the file */
  int fd;              /* -1 while nothing is spilled */
  Count pieces, pieceCapacity;
  Count spilledPieces; /* the pieces of spilled runs come first */
  IndexPiece piece;
} IndexStruct, *TheIndex;

extern void IndexInit(TheIndex index, Table table);
extern void IndexFree(TheIndex index);
extern Bool IndexCheck(TheIndex index);

/* IndexAdd -- one more block; ResMEMORY, ResIO */
extern Res IndexAdd(TheIndex index, const IndexEntryStruct *entry);

/* IndexCutLast -- the block that was added last turns out to be cut off */
extern void IndexCutLast(TheIndex index);

/* IndexEnd -- no more blocks come, and the clocks are fitted */
extern Res IndexEnd(TheIndex index);

/* IndexCompare -- the order of two entries of one clock; of the copies of a block, first the one that serves best */
extern int IndexCompare(const IndexEntryStruct *a, const IndexEntryStruct *b);

/* A pass over the index. */
typedef struct IndexCursorStruct *IndexCursor;

typedef struct IndexPassStruct {
  TheIndex index;
  Count cursors;
  IndexCursor cursor; /* one for each piece that is not used up; cursor[0] is the next, the others in no order */
} IndexPassStruct, *IndexPass;

/* IndexPassBegin, IndexPassEnd -- begin and end one; ResMEMORY, ResIO.  End also after a failed Begin.
 *
 * from   fine: blocks that were sealed before have no part in the pass; one that nobody sealed may reach anywhere
 * cost   for each run, a look at its groups of groups, and for each block that has a part though it was opened before
 *        `from`, at its group: nothing that grows with the blocks between
 */
extern Res IndexPassBegin(IndexPass pass, TheIndex index, uint64_t from);
extern void IndexPassEnd(IndexPass pass);

/* IndexPassLeap -- leave out what was sealed before `from` from here on, as if the pass had begun there; ResIO */
extern Res IndexPassLeap(IndexPass pass, uint64_t from);

/* IndexNow -- the entry that is next, or NULL; *fineReturn is its `first` as fine time */
extern const IndexEntryStruct *IndexNow(IndexPass pass, uint64_t *fineReturn);

/* IndexAdvance -- go on to the next; ResIO */
extern Res IndexAdvance(IndexPass pass);

#endif /* LOG_INDEX_H */
