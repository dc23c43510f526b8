/* reportbook.h -- what rows have over time: what came and went in each slice, and what there was at the slice's peak
 *
 * Rows are callers, sizes or pools; each object is in one row.  All books of a report have the same slices and peaks
 * (BookTimeStruct): the peak of a slice is the first moment in it at which most bytes lived in all, the slice's
 * beginning included.  What a row had then costs a comparison for each operation, as in a site book
 * (callers/sitebook.h).
 *
 * Always true:
 *   the sums of the rows' live objects and bytes are those of BookTime
 *   a row has in->out of all slices so far as its live objects and bytes
 *
 * Design: design/report.md .book      Tests: test/report/report.t, test/report/agree.t
 */
#ifndef REPORT_REPORTBOOK_H
#define REPORT_REPORTBOOK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/aver.h"
#include "report/reportseries.h"

/* What a row has in a slice.  In and out are all objects that came to it and left it, for whatever reason: also when a
 * child of fork begins, a process ends, or a resize gives an object to another row.  At the end of a slice peak_bytes
 * and peak_objects become differences to what the row had at its beginning. */
typedef enum BookField {
  BookALLOCS, BookALLOCBYTES, BookTEMPORARY, BookRESIZES, BookINOBJECTS, BookINBYTES, BookOUTOBJECTS, BookOUTBYTES,
  BookENDEDOBJECTS, BookENDEDBYTES, /* of what went out: what a process had when it ended */
  BookPEAKBYTES, BookPEAKOBJECTS, BookFIELDS
} BookField;

typedef struct BookRowStruct {
  int64_t bytes, objects;         /* now, */
  int64_t peakBytes, peakObjects; /* at the slice's peak, if the row has changed since, */
  uint64_t stamp;                 /* which is so if this is the time's */
} BookRowStruct, *BookRow;

typedef struct BookTimeStruct {
  Index slice;
  int64_t bytes, objects;         /* that live in all, */
  int64_t mostBytes, mostObjects; /* at the slice's peak, */
  uint64_t mostTime;              /* which was then: ns */
  uint64_t stamp;                 /* how often there was a new peak, plus one */
} BookTimeStruct, *BookTime;

typedef struct BookStruct {
  BookTime time;
  SeriesTableStruct table;
  BookRow row;                    /* owned */
} BookStruct, *Book;

extern Res BookInit(Book book, BookTime time, Count rows, Count slices);
extern void BookFinish(Book book);

/* BookClose -- the slice of BookTime is over: what rows had at its peak */
extern void BookClose(Book book);

/* BookHalve -- half as many slices; the last one is over */
extern void BookHalve(Book book, const Bool *first);

/* bookChange -- a row changes now; its numbers in the slice */
static inline int64_t *bookChange(Book book, Index index)
{
  BookRow row = &book->row[index];

  AVER_CRITICAL(index < book->table.rows);
  if (row->stamp != book->time->stamp) {
    row->peakBytes = row->bytes;
    row->peakObjects = row->objects;
    row->stamp = book->time->stamp;
  }
  return SeriesAt(&book->table, index, book->time->slice);
}

/* BookIn, BookOut -- objects come to a row, or leave it; returns its numbers in the slice */
static inline int64_t *BookIn(Book book, Index index, uint64_t objects, uint64_t bytes)
{
  int64_t *cell = bookChange(book, index);

  cell[BookINOBJECTS] += (int64_t)objects;
  cell[BookINBYTES] += (int64_t)bytes;
  book->row[index].objects += (int64_t)objects;
  book->row[index].bytes += (int64_t)bytes;
  return cell;
}

static inline int64_t *BookOut(Book book, Index index, uint64_t objects, uint64_t bytes)
{
  int64_t *cell = bookChange(book, index);

  cell[BookOUTOBJECTS] += (int64_t)objects;
  cell[BookOUTBYTES] += (int64_t)bytes;
  book->row[index].objects -= (int64_t)objects;
  book->row[index].bytes -= (int64_t)bytes;
  return cell;
}

#endif /* REPORT_REPORTBOOK_H */
