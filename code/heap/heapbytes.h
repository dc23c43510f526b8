/* heapbytes.h -- numbers in few bytes, for saved heaps
 *
 * A number is written as LEB128 (base/bytesreader.h), in at most LebMAX bytes; a longer one is refused.
 * Four together are written as two bytes with the length of each, then each in as many bytes, the lowest first: no
 * branches, for what there are many of.  Signed differences are folded first, so that small ones of either sign are
 * small.
 *
 * Always true: size <= capacity;  once `failed`, nothing is written, and 0 is read.
 *
 * Design: design/view.md .state.save      Tests: test/heap/heapattest.c
 */
#ifndef HEAP_HEAPBYTES_H
#define HEAP_HEAPBYTES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/bytesreader.h"
#include "base/grow.h"

enum {
  HeapBytesFourMAX = 2 + 4 * 8 /* of four; as many must be there behind the place where four are read */
};

typedef struct HeapBytesStruct {
  unsigned char *bytes;
  Size size, capacity;
  Size next;   /* where reading is */
  Bool failed; /* writing: no memory; reading: no sense */
} HeapBytesStruct, *HeapBytes;

/* HeapBytesLittle -- the number with its lowest byte first in memory, or back */
static inline uint64_t HeapBytesLittle(uint64_t number)
{
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? number : __builtin_bswap64(number);
}

/* HeapBytesRoom -- make sure of `size` more bytes; FALSE: no memory */
static inline Bool HeapBytesRoom(HeapBytes to, Size size)
{
  while (UNLIKELY(to->capacity - to->size < size) && !to->failed)
    to->failed = !Grow(&to->bytes, &to->capacity, to->capacity, sizeof *to->bytes);
  return !to->failed;
}

/* HeapBytesAdd -- write a number where HeapBytesRoom has made sure of it */
static inline void HeapBytesAdd(HeapBytes to, uint64_t number)
{
  to->size = (Size)(LebPut(to->bytes + to->size, number) - to->bytes);
}

/* HeapBytesPut -- write a number */
static inline void HeapBytesPut(HeapBytes to, uint64_t number)
{
  if (HeapBytesRoom(to, LebMAX))
    HeapBytesAdd(to, number);
}

/* HeapBytesGet -- read one */
static inline uint64_t HeapBytesGet(HeapBytes from)
{
  const unsigned char *next;
  uint64_t number = 0;
  unsigned bits = 0;

  if (LIKELY(from->next < from->size)) {
    next = from->bytes + from->next;
    number = LebGet(&bits, &next, from->bytes + from->size);
    from->next = (Size)(next - from->bytes);
  }
  if (LIKELY(bits > 0 && bits <= 7 * LebMAX))
    return number;
  from->failed = TRUE;
  return 0;
}

/* HeapBytesAddFour -- write four numbers where HeapBytesRoom has made sure of HeapBytesFourMAX bytes */
static inline void HeapBytesAddFour(HeapBytes to, const uint64_t number[4])
{
  unsigned char *begin = to->bytes + to->size, *next = begin + 2;
  unsigned i, lengths = 0;

  for (i = 0; i < 4; ++i) {
    unsigned more = (63 - (unsigned)__builtin_clzll(number[i] | 1)) / 8; /* bytes behind the first */
    uint64_t little = HeapBytesLittle(number[i]);
    memcpy(next, &little, sizeof little);
    next += more + 1;
    lengths |= more << 3 * i;
  }
  begin[0] = (unsigned char)lengths;
  begin[1] = (unsigned char)(lengths >> 8);
  to->size = (Size)(next - to->bytes);
}

/* HeapBytesGetFour -- read them */
static inline void HeapBytesGetFour(uint64_t number[4], HeapBytes from)
{
  const unsigned char *next = from->bytes + from->next;
  unsigned i, lengths;

  if (UNLIKELY(from->size - from->next < HeapBytesFourMAX)) {
    from->failed = TRUE;
    memset(number, 0, 4 * sizeof number[0]);
    return;
  }
  lengths = next[0] | (unsigned)next[1] << 8;
  next += 2;
  for (i = 0; i < 4; ++i) {
    unsigned more = lengths >> 3 * i & 7;
    uint64_t little;
    memcpy(&little, next, sizeof little);
    number[i] = HeapBytesLittle(little) & UINT64_MAX >> (56 - 8 * more);
    next += more + 1;
  }
  from->next = (Size)(next - from->bytes);
}

/* HeapBytesFold -- a difference of two numbers; HeapBytesUnfold -- and back */
static inline uint64_t HeapBytesFold(uint64_t difference)
{
  return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t HeapBytesUnfold(uint64_t folded)
{
  return folded >> 1 ^ (0 - (folded & 1));
}

#endif /* HEAP_HEAPBYTES_H */
