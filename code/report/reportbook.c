/* reportbook.c -- what rows have over time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .book      Tests: test/report/report.t, test/report/agree.t
 */
#include "report/reportbook.h"

#include <stdlib.h>

static const SeriesFieldStruct bookFields[BookFIELDS] = {
  [BookALLOCS] = {"allocs", SeriesSUM}, [BookALLOCBYTES] = {"alloc_bytes", SeriesSUM},
  [BookTEMPORARY] = {"temporary", SeriesSUM}, [BookRESIZES] = {"resizes", SeriesSUM},
  [BookINOBJECTS] = {"in_objects", SeriesSUM}, [BookINBYTES] = {"in_bytes", SeriesSUM},
  [BookOUTOBJECTS] = {"out_objects", SeriesSUM}, [BookOUTBYTES] = {"out_bytes", SeriesSUM},
  [BookENDEDOBJECTS] = {"ended_objects", SeriesSUM}, [BookENDEDBYTES] = {"ended_bytes", SeriesSUM},
  [BookPEAKBYTES] = {"peak_bytes", SeriesPEAK}, [BookPEAKOBJECTS] = {"peak_objects", SeriesPEAK},
};

Res BookInit(Book book, BookTime time, Count rows, Count slices)
{
  book->time = time;
  book->row = calloc(rows, sizeof *book->row);
  return SeriesTableInit(&book->table, bookFields, BookFIELDS, rows, slices) == ResOK && book->row != NULL ? ResOK
         : ResMEMORY;
}

void BookFinish(Book book)
{
  SeriesTableFinish(&book->table);
  free(book->row);
  book->row = NULL;
}

void BookClose(Book book)
{
  Index i;

  for (i = 0; i < book->table.rows; ++i) {
    BookRow row = &book->row[i];
    int64_t *cell = SeriesAt(&book->table, i, book->time->slice);
    Bool changed = row->stamp == book->time->stamp;
    cell[BookPEAKBYTES] = (changed ? row->peakBytes : row->bytes) -
                          (row->bytes - cell[BookINBYTES] + cell[BookOUTBYTES]);
    cell[BookPEAKOBJECTS] = (changed ? row->peakObjects : row->objects) -
                            (row->objects - cell[BookINOBJECTS] + cell[BookOUTOBJECTS]);
  }
}

void BookHalve(Book book, const Bool *first)
{
  Index row, slice;

  /* Of the second of two slices the differences are to what there was when the first began. */
  for (row = 0; row < book->table.rows; ++row)
    for (slice = 1; slice < book->table.slices; slice += 2) {
      const int64_t *before = SeriesAt(&book->table, row, slice - 1);
      int64_t *cell = SeriesAt(&book->table, row, slice);
      cell[BookPEAKBYTES] += before[BookINBYTES] - before[BookOUTBYTES];
      cell[BookPEAKOBJECTS] += before[BookINOBJECTS] - before[BookOUTOBJECTS];
    }
  SeriesHalve(&book->table, first);
}
