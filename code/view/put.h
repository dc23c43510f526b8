/* put.h -- numbers as digits, without checks for room and without calls: what all writers of lines put together
 *
 * Each writes at `p`, where the caller has made sure of PutSLACK bytes, and returns the place behind what it wrote;
 * beyond that, bytes may be written that the next piece writes over.
 *
 * Design: design/log.md .line      Tests: test/linetest.c
 */
#ifndef VIEW_PUT_H
#define VIEW_PUT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/text.h"
#include "base/types.h"

enum { PutSLACK = 40 };

extern const char PutPairs[201]; /* 00 to 99 */

/* PutNanos -- nine digits */
static inline char *PutNanos(char *p, uint32_t n)
{
  uint32_t high = n / 10000, low = n % 10000; /* 5 and 4 digits */

  memcpy(p + 7, PutPairs + 2 * (low % 100), 2);
  memcpy(p + 5, PutPairs + 2 * (low / 100), 2);
  memcpy(p + 3, PutPairs + 2 * (high % 100), 2);
  high /= 100;
  memcpy(p + 1, PutPairs + 2 * (high % 100), 2);
  p[0] = (char)('0' + high / 100);
  return p + 9;
}

/* PutDecimal -- most numbers are small */
static inline char *PutDecimal(char *p, uint64_t n)
{
  if (n < 10) {
    *p = (char)('0' + n);
    return p + 1;
  }
  if (n < 100) {
    memcpy(p, PutPairs + 2 * n, 2);
    return p + 2;
  }
  if (n < 10000) {
    unsigned high = (unsigned)n / 100, low = (unsigned)n % 100;
    char digits[8];
    memcpy(digits, PutPairs + 2 * high, 2);
    memcpy(digits + 2, PutPairs + 2 * low, 2);
    memcpy(p, digits + (n < 1000), 4);
    return p + (n < 1000 ? 3 : 4);
  }
  return TextPutDecimal(p, n);
}

/* PutHex8 -- eight hex digits of a 32-bit number, the first in the lowest byte */
static inline uint64_t PutHex8(uint32_t n)
{
  uint64_t x = __builtin_bswap32(n), nine;

  /* The bytes into 16 bits each, the highest lowest; then the nibbles of each into a byte. */
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  x = (x | x << 8) & 0x00ff00ff00ff00ffu;
  x = (x >> 4 & 0x000f000f000f000fu) | (x & 0x000f000f000f000fu) << 8;
  /* Above nine, a byte gets the distance from '9' + 1 to 'a' as well. */
  nine = (x + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
  return x + 0x3030303030303030u + nine * ('a' - '9' - 1);
}

static inline char *PutHex(char *p, uint64_t n)
{
  char digits[32];
  uint64_t high = PutHex8((uint32_t)(n >> 32)), low = PutHex8((uint32_t)n);
  unsigned skip = n == 0 ? 15 : (unsigned)__builtin_clzll(n) / 4;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  high = __builtin_bswap64(high);
  low = __builtin_bswap64(low);
#endif
  memcpy(digits, &high, 8);
  memcpy(digits + 8, &low, 8);
  memcpy(p, digits + skip, 16); /* what lies behind the digits is written over */
  return p + (16 - skip);
}

#endif /* VIEW_PUT_H */
