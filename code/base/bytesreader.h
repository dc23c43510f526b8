/* bytesreader.h -- a cursor over bytes that nobody vouches for, and LEB128 numbers
 *
 * Reads integers of either byte order, LEB128 numbers and strings.  What would go beyond the end gives 0, and all reads
 * behind it do so, too: `failed` says that it happened, and `next` stands at the end, so that loops end.
 *
 * Always true: next <= limit; once `failed`, next == limit.
 *
 * Tests: test/base/basetest.c, test/symbols/symbolstest.c, test/fuzz/fuzzsymbols.c
 */
#ifndef BASE_BYTESREADER_H
#define BASE_BYTESREADER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/types.h"

/* ---- LEB128 numbers: seven bits a byte, the lowest first, with the high bit where more follow ---- */

enum { LebMAX = 10 }; /* bytes of a number that LebPut writes */

/* LebPut -- write a number where there is room for LebMAX bytes; returns the byte behind it */
static inline unsigned char *LebPut(unsigned char *to, uint64_t number)
{
  for (; number >= 0x80; number >>= 7)
    *to++ = (unsigned char)(number | 0x80);
  *to++ = (unsigned char)number;
  return to;
}

/* LebGet -- read a number; of one with more than 64 bits, the lowest 64
 *
 * bitsReturn  how many bits it was written with, seven a byte; 0: it does not end before `limit`, and 0 is returned
 * nextIO      where it begins; afterwards the byte behind it, or `limit`
 */
static inline uint64_t LebGet(unsigned *bitsReturn, const unsigned char **nextIO, const unsigned char *limit)
{
  const unsigned char *next = *nextIO;
  uint64_t number = 0;
  unsigned bits = 0;

  while (LIKELY(next < limit)) {
    unsigned char byte = *next++;
    if (bits < 64)
      number |= (uint64_t)(byte & 0x7f) << bits;
    bits += 7;
    if (byte < 0x80) {
      *nextIO = next;
      *bitsReturn = bits;
      return number;
    }
  }
  *nextIO = limit;
  *bitsReturn = 0;
  return 0;
}

/* LebSigned -- a number that LebGet has read, of so many bits, the highest of which is its sign */
static inline int64_t LebSigned(uint64_t number, unsigned bits)
{
  if (bits > 0 && bits < 64 && (number >> (bits - 1) & 1) != 0)
    number |= ~(uint64_t)0 << bits;
  return (int64_t)number;
}

/* ---- The cursor ---- */

typedef struct ReaderStruct {
  const unsigned char *next, *limit;
  Bool swapped; /* integers have the other byte order */
  Bool failed;
} ReaderStruct, *Reader;

/* ReaderOf -- a cursor over `size` bytes, from `offset` on; one behind the end has failed, and so has one over no bytes
 * (NULL), which stands somewhere all the same: arithmetic with NULL is undefined */
static inline ReaderStruct ReaderOf(const unsigned char *bytes, Size size, uint64_t offset, Bool swapped)
{
  static const unsigned char none[1];

  if (bytes == NULL || offset > size)
    return (ReaderStruct){none, none, swapped, TRUE};
  return (ReaderStruct){bytes + offset, bytes + size, swapped, FALSE};
}

#define ReaderLeft(reader) ((Size)((reader)->limit - (reader)->next))

static inline void ReaderFail(Reader reader)
{
  reader->failed = TRUE;
  reader->next = reader->limit;
}

/* ReaderSkip -- pass so many bytes */
static inline void ReaderSkip(Reader reader, uint64_t size)
{
  if (UNLIKELY(size > ReaderLeft(reader)))
    ReaderFail(reader);
  else
    reader->next += size;
}

/* ReaderUnsigned -- an integer of 1 to 8 bytes */
static inline uint64_t ReaderUnsigned(Reader reader, unsigned size)
{
  uint64_t value = 0;
  unsigned i;

  if (UNLIKELY(size > ReaderLeft(reader)) || size > sizeof value) {
    ReaderFail(reader);
    return 0;
  }
  if (size == 4 || size == 8 || size == 2 || size == 1) {
    uint16_t two;
    uint32_t four;
    switch (size) {
    case 1:
      value = *reader->next;
      break;
    case 2:
      memcpy(&two, reader->next, sizeof two);
      value = reader->swapped ? __builtin_bswap16(two) : two;
      break;
    case 4:
      memcpy(&four, reader->next, sizeof four);
      value = reader->swapped ? __builtin_bswap32(four) : four;
      break;
    default:
      memcpy(&value, reader->next, sizeof value);
      value = reader->swapped ? __builtin_bswap64(value) : value;
    }
  } else {
    Bool big = reader->swapped != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (i = 0; i < size; ++i)
      value |= (uint64_t)reader->next[i] << 8 * (big ? size - 1 - i : i);
  }
  reader->next += size;
  return value;
}

#define ReaderU8(reader)  ((uint8_t)ReaderUnsigned(reader, 1))
#define ReaderU16(reader) ((uint16_t)ReaderUnsigned(reader, 2))
#define ReaderU32(reader) ((uint32_t)ReaderUnsigned(reader, 4))
#define ReaderU64(reader) ReaderUnsigned(reader, 8)

/* ReaderUleb, ReaderSleb -- LEB128 numbers; what has more than 64 bits is cut */
static inline uint64_t ReaderUleb(Reader reader)
{
  unsigned bits;
  uint64_t value = LebGet(&bits, &reader->next, reader->limit);

  if (UNLIKELY(bits == 0))
    reader->failed = TRUE;
  return value;
}

static inline int64_t ReaderSleb(Reader reader)
{
  unsigned bits;
  uint64_t value = LebGet(&bits, &reader->next, reader->limit);

  if (UNLIKELY(bits == 0))
    reader->failed = TRUE;
  return LebSigned(value, bits);
}

/* ReaderString -- the string that begins here, NUL-terminated, in place; NULL if it does not end */
static inline const char *ReaderString(Reader reader)
{
  const unsigned char *begin = reader->next, *end = memchr(begin, '\0', ReaderLeft(reader));

  if (end == NULL) {
    ReaderFail(reader);
    return NULL;
  }
  reader->next = end + 1;
  return (const char *)begin;
}

#endif /* BASE_BYTESREADER_H */
