/* index.c -- where every block of a traceset is, in order of time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/index.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/logfile.h"

enum {
  indexBufferMAX = IndexGROUP, /* entries of a spilled piece that are in memory during a pass */
  indexWORSE = BlockFlagRECOVERED | BlockFlagSNAPSHOT /* of two copies as long, the other one serves better */
};

struct IndexCursorStruct {
  IndexPiece piece;
  Clock clock;
  uint64_t ticks;       /* sealed blocks that end before are left out */
  uint64_t fine;        /* of the entry that is next, */
  uint64_t next;        /* which has this number in its piece */
  IndexEntry entry;     /* entries from this number up to that one: */
  uint64_t at, limit;
  IndexEntry buffer;    /* the memory for them; NULL for the run in memory */
};

void IndexInit(TheIndex index, Table table)
{
  *index = (IndexStruct){.table = table, .fd = -1};
}

void IndexFree(TheIndex index)
{
  Index i;

  for (i = 0; i < index->pieces; ++i)
    free(index->piece[i].reach);
  free(index->entry);
  free(index->piece);
  if (index->fd >= 0)
    (void)close(index->fd);
}

#define indexCompareField(a, b) \
  do { \
    if ((a) != (b)) \
      return (a) < (b) ? -1 : 1; \
  } while (0)

int IndexCompare(const IndexEntryStruct *a, const IndexEntryStruct *b)
{
  indexCompareField(a->first, b->first);
  indexCompareField(a->stream, b->stream);
  indexCompareField(a->sequence, b->sequence);
  indexCompareField(a->flags & IndexEntryCUT, b->flags & IndexEntryCUT);
  indexCompareField(b->count, a->count);
  indexCompareField(a->flags & indexWORSE, b->flags & indexWORSE);
  indexCompareField(a->place, b->place);
  return 0;
}

static Clock indexClock(Table table, const IndexEntryStruct *entry)
{
  return ClockResolve(table->stream[entry->stream]->process->clock);
}

static int indexCompare(const void *a, const void *b, void *table)
{
  indexCompareField(indexClock(table, a)->number, indexClock(table, b)->number);
  return IndexCompare(a, b);
}

/* indexGroups -- places for so many things, one for each group of them */
static uint64_t indexGroups(uint64_t count)
{
  return (count + IndexGROUP - 1) / IndexGROUP;
}

/* indexEnd -- ticks up to which an entry's block may have events */
static uint64_t indexEnd(const IndexEntryStruct *entry)
{
  return (entry->flags & BlockFlagSEALED) != 0 ? entry->last : UINT64_MAX;
}

/* indexReach -- what the groups of a piece reach */
static Res indexReach(IndexPiece piece, const IndexEntryStruct *entry)
{
  uint64_t groups = indexGroups(piece->count), i;
  uint64_t *tops;

  piece->reach = calloc(groups + indexGroups(groups), sizeof *piece->reach);
  if (piece->reach == NULL)
    return ResMEMORY;
  tops = piece->reach + groups;
  for (i = 0; i < piece->count; ++i)
    CountRaise(&piece->reach[i / IndexGROUP], indexEnd(&entry[i]));
  for (i = 0; i < groups; ++i)
    CountRaise(&tops[i / IndexGROUP], piece->reach[i]);
  return ResOK;
}

/* indexRun -- sort what is in memory, and note its pieces */
static Res indexRun(TheIndex index)
{
  Index i, begin;
  Res res = ResOK;

  if (index->entries == 0)
    return ResOK;
  qsort_r(index->entry, index->entries, sizeof *index->entry, indexCompare, index->table);
  for (begin = 0; begin < index->entries && res == ResOK; begin = i) {
    Clock clock = indexClock(index->table, &index->entry[begin]);
    IndexPiece more;
    if (!Grow(&index->piece, &index->pieceCapacity, index->pieces, sizeof *more))
      return ResMEMORY;
    for (i = begin + 1; i < index->entries && indexClock(index->table, &index->entry[i]) == clock; ++i)
      ;
    more = &index->piece[index->pieces++];
    more->clock = clock;
    more->at = index->spilled + begin;
    more->count = i - begin;
    res = indexReach(more, &index->entry[begin]);
  }
  return res;
}

static Res indexSpill(TheIndex index)
{
  Res res = indexRun(index);

  if (res == ResOK && index->fd < 0) {
    index->fd = FileOpenTemporary();
    if (index->fd < 0)
      res = ResIO;
  }
  if (res == ResOK)
    res = FileWriteAll(index->fd, index->entry, index->entries * sizeof *index->entry);
  index->spilled += index->entries;
  index->entries = 0;
  index->spilledPieces = index->pieces;
  return res;
}

Res IndexAdd(TheIndex index, const IndexEntryStruct *entry)
{
  AVER(entry->stream < index->table->streams);
  if (index->entries == IndexRunMAX) {
    Res res = indexSpill(index);
    if (res != ResOK)
      return res;
  }
  if (!Grow(&index->entry, &index->capacity, index->entries, sizeof *index->entry))
    return ResMEMORY;
  index->entry[index->entries++] = *entry;
  return ResOK;
}

void IndexCutLast(TheIndex index)
{
  AVER(index->entries > 0);
  index->entry[index->entries - 1].flags |= IndexEntryCUT;
}

Res IndexEnd(TheIndex index)
{
  AVER(index->pieces == index->spilledPieces);
  return indexRun(index);
}

Bool IndexCheck(TheIndex index)
{
  Bool sound = index->entries <= index->capacity && index->capacity <= IndexRunMAX &&
               index->spilledPieces <= index->pieces && (index->fd >= 0) == (index->spilled > 0);
  Index p, i;

  for (p = index->spilledPieces; sound && p < index->pieces; ++p) {
    const IndexPieceStruct *piece = &index->piece[p];
    const IndexEntryStruct *entry = index->entry + (piece->at - index->spilled);
    sound = piece->at >= index->spilled && piece->at - index->spilled + piece->count <= index->entries;
    for (i = 0; sound && i < piece->count; ++i)
      sound = (i == 0 || IndexCompare(&entry[i - 1], &entry[i]) <= 0) &&
              indexEnd(&entry[i]) <= piece->reach[i / IndexGROUP];
  }
  return sound;
}

/* indexCursorFill -- bring the entries of a spilled piece from `next` on into memory */
static Res indexCursorFill(TheIndex index, IndexCursor cursor)
{
  uint64_t left = cursor->piece->count - cursor->next, count = left < indexBufferMAX ? left : indexBufferMAX;

  AVER(cursor->buffer != NULL && index->fd >= 0);
  cursor->at = cursor->next;
  cursor->limit = cursor->next + count;
  return FileReadAt(index->fd, (cursor->piece->at + cursor->next) * sizeof(IndexEntryStruct), cursor->buffer,
                    (Size)count * sizeof(IndexEntryStruct));
}

/* indexLeaps -- how many entries from `next` on, which begins a group, reach nowhere for certain; 0 if one may */
static uint64_t indexLeaps(IndexCursor cursor)
{
  uint64_t groups = indexGroups(cursor->piece->count), group = cursor->next / IndexGROUP;

  if (group % IndexGROUP == 0 && cursor->piece->reach[groups + group / IndexGROUP] < cursor->ticks)
    return (uint64_t)IndexGROUP * IndexGROUP;
  return cursor->piece->reach[group] < cursor->ticks ? IndexGROUP : 0;
}

/* indexCursorSeek -- go on to the first entry, from `next` on, that takes part */
static Res indexCursorSeek(TheIndex index, IndexCursor cursor)
{
  Res res = ResOK;

  while (cursor->next < cursor->piece->count) {
    uint64_t leaps = cursor->next % IndexGROUP == 0 ? indexLeaps(cursor) : 0;
    const IndexEntryStruct *entry;
    if (leaps > 0) {
      cursor->next += leaps;
      continue;
    }
    if (cursor->next >= cursor->limit)
      res = indexCursorFill(index, cursor);
    if (res != ResOK)
      break;
    entry = &cursor->entry[cursor->next - cursor->at];
    if (indexEnd(entry) >= cursor->ticks) {
      cursor->fine = ClockFine(cursor->clock, entry->first);
      break;
    }
    ++cursor->next;
  }
  return res;
}

static const IndexEntryStruct *indexCursorEntry(const struct IndexCursorStruct *cursor)
{
  return &cursor->entry[cursor->next - cursor->at];
}

static Bool indexCursorBefore(IndexCursor a, IndexCursor b)
{
  return a->fine != b->fine ? a->fine < b->fine : IndexCompare(indexCursorEntry(a), indexCursorEntry(b)) < 0;
}

/* indexChoose -- bring the cursor that is next to the front */
static void indexChoose(IndexPass pass)
{
  Index i, best = 0;
  struct IndexCursorStruct swap;

  for (i = 1; i < pass->cursors; ++i)
    if (indexCursorBefore(&pass->cursor[i], &pass->cursor[best]))
      best = i;
  if (best != 0) {
    swap = pass->cursor[0];
    pass->cursor[0] = pass->cursor[best];
    pass->cursor[best] = swap;
  }
}

/* indexPassSeek -- let a cursor go on to its next entry that takes part; where there is none it goes, and the last one
 * takes its place */
static Res indexPassSeek(IndexPass pass, IndexCursor cursor)
{
  Res res = indexCursorSeek(pass->index, cursor);

  if (res == ResOK && cursor->next >= cursor->piece->count) {
    free(cursor->buffer);
    *cursor = pass->cursor[--pass->cursors];
  }
  return res;
}

Res IndexPassBegin(IndexPass pass, TheIndex index, uint64_t from)
{
  *pass = (IndexPassStruct){.index = index, .cursor = calloc(index->pieces + 1, sizeof *pass->cursor)};
  if (pass->cursor == NULL)
    return ResMEMORY;
  for (; pass->cursors < index->pieces; ++pass->cursors) {
    IndexPiece piece = &index->piece[pass->cursors];
    IndexCursor cursor = &pass->cursor[pass->cursors];
    cursor->piece = piece;
    cursor->clock = ClockResolve(piece->clock);
    if (pass->cursors >= index->spilledPieces) {
      cursor->entry = index->entry + (piece->at - index->spilled);
      cursor->limit = piece->count;
    } else if ((cursor->entry = cursor->buffer = malloc(indexBufferMAX * sizeof *cursor->buffer)) == NULL) {
      return ResMEMORY;
    }
  }
  return IndexPassLeap(pass, from);
}

Res IndexPassLeap(IndexPass pass, uint64_t from)
{
  Index i;
  Res res = ResOK;

  for (i = pass->cursors; i-- > 0 && res == ResOK;) {
    IndexCursor cursor = &pass->cursor[i];
    uint64_t ticks = from > 0 ? ClockReach(cursor->clock, from) : 0;
    CountRaise(&cursor->ticks, ticks);
    res = indexPassSeek(pass, cursor);
  }
  if (res == ResOK)
    indexChoose(pass);
  return res;
}

void IndexPassEnd(IndexPass pass)
{
  Index i;

  for (i = 0; i < pass->cursors; ++i)
    free(pass->cursor[i].buffer);
  free(pass->cursor);
  pass->cursor = NULL;
  pass->cursors = 0;
}

const IndexEntryStruct *IndexNow(IndexPass pass, uint64_t *fineReturn)
{
  if (pass->cursors == 0)
    return NULL;
  *fineReturn = pass->cursor[0].fine;
  return indexCursorEntry(&pass->cursor[0]);
}

Res IndexAdvance(IndexPass pass)
{
  Res res;

  AVER(pass->cursors > 0);
  AVER_CRITICAL(pass->cursor[0].next < pass->cursor[0].piece->count);
  ++pass->cursor[0].next;
  res = indexPassSeek(pass, &pass->cursor[0]);
  indexChoose(pass);
  return res;
}
