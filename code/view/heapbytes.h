/* heapbytes.h -- numbers in few bytes, for saved heaps
 *
 * A number is written seven bits a byte, the lowest first, with the high bit where more follow: at most ten bytes.
 * Signed differences are folded first, so that small ones of either sign are small.
 *
 * Always true: size <= capacity;  once `failed`, nothing is written, and 0 is read.
 *
 * Design: design/view.md .state.save      Tests: test/heapsavetest.c
 */
#ifndef VIEW_HEAPBYTES_H
#define VIEW_HEAPBYTES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>

#include "base/types.h"

enum { HeapBytesNumberMAX = 10 }; /* bytes of one number */

typedef struct HeapBytesStruct {
  unsigned char *bytes;
  Size size, capacity;
  Size next;   /* where reading is */
  Bool failed; /* writing: no memory; reading: no sense */
} HeapBytesStruct, *HeapBytes;

/* HeapBytesRoom -- make sure of `size` more bytes; FALSE: no memory */
static inline Bool HeapBytesRoom(HeapBytes to, Size size)
{
  if (UNLIKELY(to->capacity - to->size < size) && !to->failed) {
    Size capacity = (to->capacity + size) * 2;
    unsigned char *bytes = realloc(to->bytes, capacity);
    if (bytes == NULL) {
      to->failed = TRUE;
    } else {
      to->bytes = bytes;
      to->capacity = capacity;
    }
  }
  return !to->failed;
}

/* HeapBytesAdd -- write a number where HeapBytesRoom has made sure of it */
static inline void HeapBytesAdd(HeapBytes to, uint64_t number)
{
  unsigned char *next = to->bytes + to->size;

  for (; number >= 0x80; number >>= 7)
    *next++ = (unsigned char)(number | 0x80);
  *next++ = (unsigned char)number;
  to->size = (Size)(next - to->bytes);
}

/* HeapBytesPut -- write a number */
static inline void HeapBytesPut(HeapBytes to, uint64_t number)
{
  if (HeapBytesRoom(to, HeapBytesNumberMAX))
    HeapBytesAdd(to, number);
}

/* HeapBytesGet -- read one */
static inline uint64_t HeapBytesGet(HeapBytes from)
{
  uint64_t number = 0;
  unsigned shift = 0, byte;

  do {
    if (UNLIKELY(from->next == from->size || shift > 63)) {
      from->failed = TRUE;
      return 0;
    }
    byte = from->bytes[from->next++];
    number |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
  } while (byte >= 0x80);
  return number;
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

#endif /* VIEW_HEAPBYTES_H */
