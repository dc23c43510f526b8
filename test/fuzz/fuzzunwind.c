/* fuzzunwind.c -- unwind rows, from any bytes as the .eh_frame_hdr and .eh_frame of a module
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows are asked for at the beginning of each function that the table has, and a little behind it.  Nothing is read
 * outside the bytes, and a row is of a kind that there is.  Then all descriptions are read, as of a module without a table.
 */
#include "fuzz.h"

#include "unwind/ehframe.h"

#define tableOFFSET 12 /* behind the version, the encodings, the address of .eh_frame and the count */
#define entriesMAX  32

static void fuzzRow(const uint8_t *base, Size size, Word at)
{
  ModuleBytesStruct bytes;
  UnwindRowStruct row;

  ModuleBytesInit(&bytes, base, base + size, FALSE);
  EhFrameRow(&row, at, base, &bytes);
  if (row.kind >= RowLIMIT)
    FuzzFail("a kind of row that there is not");
}

/* fuzzAll -- all descriptions, as if the bytes were .eh_frame alone */
static void fuzzAll(const uint8_t *base, Size size)
{
  Word at = (Word)base, location, address;
  ModuleBytesStruct bytes;
  UnwindRowStruct row;

  ModuleBytesInit(&bytes, base, base + size, FALSE);
  while (EhFrameNext(&location, &address, &at, &bytes)) {
    if (address - (Word)base >= size)
      FuzzFail("a description outside the bytes");
    EhFrameDescribed(&row, location, address, &bytes);
    if (row.kind >= RowLIMIT)
      FuzzFail("a kind of row that there is not");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint8_t *base = malloc(size + 1); /* of its own, so that a sanitizer sees where it ends */
  int32_t offset;
  Index i;

  if (base == NULL)
    return 0;
  memcpy(base, data, size);
  for (i = 0; i < entriesMAX && tableOFFSET + 8 * (i + 1) <= size; ++i) {
    memcpy(&offset, base + tableOFFSET + 8 * i, sizeof offset);
    fuzzRow(base, size, (Word)base + (Word)(int64_t)offset);
    fuzzRow(base, size, (Word)base + (Word)(int64_t)offset + 1 + base[8 * i] % 64);
  }
  fuzzRow(base, size, (Word)base);
  fuzzRow(base, size, (Word)-1);
  fuzzAll(base, size);
  free(base);
  return 0;
}
