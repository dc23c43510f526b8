/* reportseries.h -- numbers by row and slice of time, and how they are written into a report: packed, in base64
 *
 * A table has a number for each field of each row in each slice; of a graph of time a row is a line.  In the report a
 * row is a list of the slices in which it has anything but zeros; a number is a varint (LEB128), and one that may be
 * negative is zigzag.
 *
 * Design: design/report.md .packed      Tests: test/report/seriestest.c
 */
#ifndef REPORT_REPORTSERIES_H
#define REPORT_REPORTSERIES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "base/types.h"

/* Bytes that grow; after a failure for want of memory nothing is added. */
typedef struct SeriesBytesStruct {
  unsigned char *bytes; /* owned */
  Count size, capacity;
  Bool failed;
} SeriesBytesStruct, *SeriesBytes;

extern void SeriesBytesFinish(SeriesBytes bytes);
extern void SeriesByte(SeriesBytes bytes, unsigned byte);
extern void SeriesVarint(SeriesBytes bytes, uint64_t n);
extern void SeriesZigzag(SeriesBytes bytes, int64_t n);

/* SeriesBase64 -- print them as a JSON string */
extern void SeriesBase64(FILE *out, const SeriesBytesStruct *bytes);

/* How two neighbouring slices become one: the sum of both; what the later has at its end; the greater; or what the
 * slice has in which more lived at its peak, the first of two that have the same. */
typedef enum SeriesJoin { SeriesSUM, SeriesEND, SeriesMOST, SeriesPEAK } SeriesJoin;

typedef struct SeriesFieldStruct {
  const char *name;
  SeriesJoin join;
} SeriesFieldStruct;

typedef struct SeriesTableStruct {
  const SeriesFieldStruct *field;
  Count fields, rows, slices;
  int64_t *cell;        /* owned; by row, slice and field */
} SeriesTableStruct, *SeriesTable;

/* SeriesTableInit -- all zero.  ResMEMORY.  SeriesTableFinish in either case. */
extern Res SeriesTableInit(SeriesTable table, const SeriesFieldStruct *field, Count fields, Count rows, Count slices);
extern void SeriesTableFinish(SeriesTable table);

/* SeriesAt -- the numbers of a row in a slice, one for each field */
static inline int64_t *SeriesAt(SeriesTable table, Index row, Index slice)
{
  return table->cell + (row * table->slices + slice) * table->fields;
}

/* SeriesHalve -- half as many slices, each of two
 * first  by new slice: in the first of its two more lived, or as much */
extern void SeriesHalve(SeriesTable table, const Bool *first);

/* SeriesPacked -- print {"rows", "fields", "data"} of the first `used` rows and the last one; returns how many bytes
 * the data has; *failed: no memory */
extern Size SeriesPacked(FILE *out, SeriesTable table, Count used, Bool *failed);

/* SeriesLines -- print a member for each field of a table of one row: differences from slice to slice */
extern void SeriesLines(FILE *out, SeriesTable table, Bool *failed);

#endif /* REPORT_REPORTSERIES_H */
