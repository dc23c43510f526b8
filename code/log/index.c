/* index.c -- where every block of a traceset is, in order of time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "format/block.h"
#include "log/file.h"

enum {
  indexBufferMAX = 64, /* entries of a spilled piece that are in memory during a pass */
  indexWORSE = BlockFlagRECOVERED | BlockFlagSNAPSHOT /* of two copies as long, the other one serves better */
};

struct IndexCursorStruct {
  Clock clock;
  uint64_t fine;        /* of the entry at `next` */
  IndexEntry next;      /* next <= limit; next == limit only while the cursor is filled */
  IndexEntry limit;
  uint64_t at, left;    /* in the spilled file: what comes behind limit */
  IndexEntry buffer;    /* NULL for the run in memory */
};

void IndexInit(TheIndex index, Table table)
{
  memset(index, 0, sizeof *index);
  index->table = table;
  index->fd = -1;
}

void IndexFree(TheIndex index)
{
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

/* indexRun -- sort what is in memory, and note its pieces */
static Res indexRun(TheIndex index)
{
  Index i, begin;

  if (index->entries == 0)
    return ResOK;
  qsort_r(index->entry, index->entries, sizeof *index->entry, indexCompare, index->table);
  for (begin = 0; begin < index->entries; begin = i) {
    Clock clock = indexClock(index->table, &index->entry[begin]);
    IndexPiece more = realloc(index->piece, (index->pieces + 1) * sizeof *more);
    if (more == NULL)
      return ResMEMORY;
    index->piece = more;
    for (i = begin + 1; i < index->entries && indexClock(index->table, &index->entry[i]) == clock; ++i)
      ;
    more[index->pieces].clock = clock;
    more[index->pieces].at = index->spilled + begin;
    more[index->pieces].count = i - begin;
    ++index->pieces;
  }
  return ResOK;
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
  if (index->entries == IndexRunMAX) {
    Res res = indexSpill(index);
    if (res != ResOK)
      return res;
  }
  if (index->entries == index->capacity) {
    Count capacity = index->capacity == 0 ? 64 : index->capacity * 2;
    IndexEntry more = realloc(index->entry, capacity * sizeof *more);
    if (more == NULL)
      return ResMEMORY;
    index->entry = more;
    index->capacity = capacity;
  }
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
  return indexRun(index);
}

Bool IndexCheck(TheIndex index)
{
  Index p, i;

  AVER(index->entries <= index->capacity && index->capacity <= IndexRunMAX);
  AVER(index->spilledPieces <= index->pieces);
  AVER((index->fd >= 0) == (index->spilled > 0));
  for (p = index->spilledPieces; p < index->pieces; ++p) {
    const IndexEntryStruct *entry = index->entry + (index->piece[p].at - index->spilled);
    for (i = 1; i < index->piece[p].count; ++i)
      AVER(IndexCompare(&entry[i - 1], &entry[i]) <= 0);
  }
  return TRUE;
}

/* indexCursorFill -- bring the next entries of a spilled piece into memory */
static Res indexCursorFill(TheIndex index, IndexCursor cursor)
{
  uint64_t count = cursor->left < indexBufferMAX ? cursor->left : indexBufferMAX;
  Res res = FileReadAt(index->fd, cursor->at * sizeof(IndexEntryStruct), cursor->buffer,
                       (Size)count * sizeof(IndexEntryStruct));

  cursor->next = cursor->buffer;
  cursor->limit = cursor->buffer + count;
  cursor->at += count;
  cursor->left -= count;
  return res;
}

/* indexCursorBegin -- a cursor for piece `i` */
static Res indexCursorBegin(IndexPass pass, IndexCursor cursor, Index i)
{
  TheIndex index = pass->index;
  IndexPiece piece = &index->piece[i];
  Res res = ResOK;

  memset(cursor, 0, sizeof *cursor);
  cursor->clock = ClockResolve(piece->clock);
  if (i >= index->spilledPieces) {
    cursor->next = index->entry + (piece->at - index->spilled);
    cursor->limit = cursor->next + piece->count;
  } else {
    cursor->at = piece->at;
    cursor->left = piece->count;
    cursor->buffer = malloc(indexBufferMAX * sizeof *cursor->buffer);
    res = cursor->buffer == NULL ? ResMEMORY : indexCursorFill(index, cursor);
  }
  if (res == ResOK)
    cursor->fine = ClockFine(cursor->clock, cursor->next->first);
  return res;
}

static Bool indexCursorBefore(IndexCursor a, IndexCursor b)
{
  return a->fine != b->fine ? a->fine < b->fine : IndexCompare(a->next, b->next) < 0;
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

Res IndexPassBegin(IndexPass pass, TheIndex index)
{
  Index i;
  Res res = ResOK;

  pass->index = index;
  pass->cursors = 0;
  pass->cursor = calloc(index->pieces + 1, sizeof *pass->cursor);
  if (pass->cursor == NULL)
    return ResMEMORY;
  for (i = 0; i < index->pieces && res == ResOK; ++i)
    res = indexCursorBegin(pass, &pass->cursor[pass->cursors++], i);
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
  return pass->cursor[0].next;
}

Res IndexAdvance(IndexPass pass)
{
  IndexCursor cursor = &pass->cursor[0];
  Res res = ResOK;

  AVER(pass->cursors > 0);
  if (++cursor->next == cursor->limit && cursor->left > 0)
    res = indexCursorFill(pass->index, cursor);
  if (cursor->next == cursor->limit) {
    free(cursor->buffer);
    *cursor = pass->cursor[--pass->cursors];
  } else {
    cursor->fine = ClockFine(cursor->clock, cursor->next->first);
  }
  indexChoose(pass);
  return res;
}
