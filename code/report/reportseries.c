/* reportseries.c -- numbers by row and slice of time, packed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .packed      Tests: test/report/seriestest.c
 */
#include "report/reportseries.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/bytesreader.h"
#include "base/grow.h"

void SeriesBytesFinish(SeriesBytes bytes)
{
  free(bytes->bytes);
  *bytes = (SeriesBytesStruct){NULL, 0, 0, FALSE};
}

void SeriesByte(SeriesBytes bytes, unsigned byte)
{
  if (bytes->failed || !Grow(&bytes->bytes, &bytes->capacity, bytes->size, 1)) {
    bytes->failed = TRUE;
    return;
  }
  bytes->bytes[bytes->size++] = (unsigned char)byte;
}

void SeriesVarint(SeriesBytes bytes, uint64_t n)
{
  unsigned char room[LebMAX], *end = LebPut(room, n), *next;

  for (next = room; next < end; ++next)
    SeriesByte(bytes, *next);
}

void SeriesZigzag(SeriesBytes bytes, int64_t n)
{
  SeriesVarint(bytes, (uint64_t)n << 1 ^ (uint64_t)(n >> 63));
}

void SeriesBase64(FILE *out, const SeriesBytesStruct *bytes)
{
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Index i;

  putc('"', out);
  for (i = 0; i < bytes->size; i += 3) {
    Count left = bytes->size - i;
    uint32_t three = (uint32_t)bytes->bytes[i] << 16 | (left > 1 ? (uint32_t)bytes->bytes[i + 1] << 8 : 0) |
                     (left > 2 ? bytes->bytes[i + 2] : 0);
    putc(digit[three >> 18], out);
    putc(digit[three >> 12 & 63], out);
    putc(left > 1 ? digit[three >> 6 & 63] : '=', out);
    putc(left > 2 ? digit[three & 63] : '=', out);
  }
  putc('"', out);
}

Res SeriesTableInit(SeriesTable table, const SeriesFieldStruct *field, Count fields, Count rows, Count slices)
{
  *table = (SeriesTableStruct){field, fields, rows, slices, calloc(rows * slices + 1, fields * sizeof *table->cell)};
  return table->cell != NULL ? ResOK : ResMEMORY;
}

void SeriesTableFinish(SeriesTable table)
{
  free(table->cell);
  table->cell = NULL;
}

static int64_t seriesJoined(SeriesJoin join, int64_t a, int64_t b, Bool first)
{
  switch (join) {
  case SeriesSUM: return a + b;
  case SeriesEND: return b;
  case SeriesMOST: return a >= b ? a : b;
  default: return first ? a : b;
  }
}

void SeriesHalve(SeriesTable table, const Bool *first)
{
  Count slices = table->slices / 2;
  Index row, slice, field;
  int64_t *to = table->cell;

  AVER(table->slices % 2 == 0);
  /* Each number moves towards the beginning, behind what has been read. */
  for (row = 0; row < table->rows; ++row)
    for (slice = 0; slice < slices; ++slice) {
      const int64_t *a = SeriesAt(table, row, 2 * slice), *b = SeriesAt(table, row, 2 * slice + 1);
      for (field = 0; field < table->fields; ++field)
        *to++ = seriesJoined(table->field[field].join, a[field], b[field], first[slice]);
    }
  table->slices = slices;
}

/* seriesRow -- the slices of a row in which it has anything */
static void seriesRow(SeriesBytes bytes, SeriesTable table, Index row)
{
  Index slice, field, last = 0;

  for (slice = 0; slice < table->slices; ++slice) {
    const int64_t *cell = SeriesAt(table, row, slice);
    for (field = 0; field < table->fields && cell[field] == 0; ++field)
      ;
    if (field == table->fields)
      continue;
    SeriesVarint(bytes, slice + 1 - last);
    last = slice + 1;
    for (field = 0; field < table->fields; ++field)
      SeriesZigzag(bytes, cell[field]);
  }
  SeriesVarint(bytes, 0);
}

Size SeriesPacked(FILE *out, SeriesTable table, Count used, Bool *failed)
{
  SeriesBytesStruct bytes = {NULL, 0, 0, FALSE};
  Size size;
  Index i;

  AVER(used < table->rows || table->rows == 0);
  fprintf(out, "{\"rows\": %zu, \"fields\": [", table->rows == 0 ? 0 : used + 1);
  for (i = 0; i < table->fields; ++i)
    fprintf(out, "%s\"%s\"", i == 0 ? "" : ", ", table->field[i].name);
  fputs("], \"data\": ", out);
  for (i = 0; i < table->rows; ++i)
    if (i < used || i + 1 == table->rows)
      seriesRow(&bytes, table, i);
  SeriesBase64(out, &bytes);
  putc('}', out);
  *failed |= bytes.failed;
  size = bytes.size;
  SeriesBytesFinish(&bytes);
  return size;
}

void SeriesLines(FILE *out, SeriesTable table, Bool *failed)
{
  SeriesBytesStruct bytes = {NULL, 0, 0, FALSE};
  Index field, slice;

  AVER(table->rows == 1);
  for (field = 0; field < table->fields; ++field) {
    int64_t last = 0;
    bytes.size = 0;
    for (slice = 0; slice < table->slices; ++slice) {
      SeriesZigzag(&bytes, SeriesAt(table, 0, slice)[field] - last);
      last = SeriesAt(table, 0, slice)[field];
    }
    fprintf(out, "%s\"%s\": ", field == 0 ? "" : ", ", table->field[field].name);
    SeriesBase64(out, &bytes);
  }
  *failed |= bytes.failed;
  SeriesBytesFinish(&bytes);
}
