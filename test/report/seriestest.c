/* seriestest.c -- numbers by row and slice: packed, halved
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "report/reportbook.h"
#include "tap.h"

enum { ROWS = 7, SLICES = 64, FIELDS = 3 };

static const SeriesFieldStruct fields[FIELDS] = {{"sum", SeriesSUM}, {"end", SeriesEND}, {"most", SeriesMOST}};

static uint64_t next(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void testVarints(void)
{
  static const uint64_t number[] = {0, 1, 127, 128, 300, 1ull << 53, UINT64_MAX};
  SeriesBytesStruct bytes = {NULL, 0, 0, FALSE};
  char *text = NULL;
  Size size;
  FILE *out = open_memstream(&text, &size);
  Index i;

  for (i = 0; i < ARRAY_LENGTH(number); ++i)
    SeriesVarint(&bytes, number[i]);
  TapIs(bytes.size, 1 + 1 + 1 + 2 + 2 + 8 + 10, "numbers take a byte for each seven bits");
  bytes.size = 0;
  SeriesZigzag(&bytes, -1);
  SeriesZigzag(&bytes, 1);
  SeriesZigzag(&bytes, INT64_MIN);
  TapOk(bytes.size == 12 && bytes.bytes[0] == 1 && bytes.bytes[1] == 2, "small ones of either sign are short");
  bytes.size = 0;
  for (i = 0; i < 5; ++i)
    SeriesByte(&bytes, (unsigned)"hello"[i]);
  SeriesBase64(out, &bytes);
  bytes.size = 4;
  SeriesBase64(out, &bytes);
  bytes.size = 3;
  SeriesBase64(out, &bytes);
  bytes.size = 0;
  SeriesBase64(out, &bytes);
  (void)fclose(out);
  TapOk(strcmp(text, "\"aGVsbG8=\"\"aGVsbA==\"\"aGVs\"\"\"") == 0, "base64, with what is left over: %s", text);
  free(text);
  SeriesBytesFinish(&bytes);
}

/* testHalve -- random numbers against the rule, halved until one slice is left */
static void testHalve(uint64_t seed)
{
  SeriesTableStruct table;
  int64_t was[ROWS][SLICES][FIELDS];
  Bool first[SLICES];
  Count slices, wrong = 0;
  Index row, i;

  if (SeriesTableInit(&table, fields, FIELDS, ROWS, SLICES) != ResOK)
    abort();
  for (row = 0; row < ROWS * SLICES * FIELDS; ++row)
    table.cell[row] = (int64_t)(next(&seed) % 1000) - 500;
  for (slices = SLICES; slices > 1; slices /= 2) {
    for (row = 0; row < ROWS; ++row)
      for (i = 0; i < slices; ++i)
        memcpy(was[row][i], SeriesAt(&table, row, i), sizeof was[row][i]);
    for (i = 0; i < slices / 2; ++i)
      first[i] = next(&seed) % 2 == 0;
    SeriesHalve(&table, first);
    for (row = 0; row < ROWS; ++row)
      for (i = 0; i < slices / 2; ++i) {
        const int64_t *a = was[row][2 * i], *b = was[row][2 * i + 1], *now = SeriesAt(&table, row, i);
        wrong += now[0] != a[0] + b[0] || now[1] != b[1] || now[2] != (a[2] > b[2] ? a[2] : b[2]);
      }
  }
  TapIs(wrong, 0, "sums, ends and greatest numbers of two slices");
  TapIs(table.slices, 1, "down to one");
  SeriesTableFinish(&table);
}

/* testBook -- objects that come and go at random: at each slice's peak each row has what an array of all says, also when
 * slices were halved */
static void testBook(uint64_t seed)
{
  int64_t live[ROWS] = {0}, most[SLICES], at[SLICES][ROWS], begin[SLICES][ROWS], sum = 0;
  BookTimeStruct time = {.stamp = 1};
  BookStruct book;
  Bool first[SLICES];
  Count wrong = 0, slices;
  Index slice, step, row;

  if (BookInit(&book, &time, ROWS, SLICES) != ResOK)
    abort();
  for (slice = 0; slice < SLICES; ++slice) {
    time.slice = slice;
    time.mostBytes = most[slice] = sum;
    ++time.stamp;
    memcpy(begin[slice], live, sizeof live);
    memcpy(at[slice], live, sizeof live);
    for (step = next(&seed) % 40; step > 0; --step) {
      int64_t bytes = (int64_t)(next(&seed) % 100);
      row = next(&seed) % ROWS;
      if (next(&seed) % 2 == 0 || live[row] < bytes) {
        (void)BookIn(&book, row, 1, (uint64_t)bytes);
        live[row] += bytes, sum += bytes;
      } else {
        (void)BookOut(&book, row, 1, (uint64_t)bytes);
        live[row] -= bytes, sum -= bytes;
      }
      time.bytes = sum;
      if (sum > time.mostBytes) {
        time.mostBytes = most[slice] = sum;
        ++time.stamp;
        memcpy(at[slice], live, sizeof live);
      }
    }
    BookClose(&book);
  }
  for (slices = SLICES;; slices /= 2) {
    for (slice = 0; slice < slices; ++slice)
      for (row = 0; row < ROWS; ++row)
        wrong += SeriesAt(&book.table, row, slice)[BookPEAKBYTES] != at[slice][row] - begin[slice][row];
    if (slices == 1)
      break;
    for (slice = 0; slice < slices / 2; ++slice) {
      first[slice] = most[2 * slice] >= most[2 * slice + 1];
      memmove(at[slice], at[2 * slice + !first[slice]], sizeof at[slice]);
      memmove(begin[slice], begin[2 * slice], sizeof begin[slice]);
      most[slice] = most[2 * slice + !first[slice]];
    }
    BookHalve(&book, first);
  }
  TapIs(wrong, 0, "what each row had at the peak of each slice");
  BookFinish(&book);
}

int main(void)
{
  uint64_t seed = TapSeed();

  testVarints();
  testHalve(seed | 1);
  testBook(seed | 1);
  return TapDone();
}
