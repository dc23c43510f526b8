/* inflate.c -- unpacks the zlib format
 *
 * Always true of the input: `bits` holds `held` bits that have been taken and not used; beyond the end come zeros, and
 * `beyond` counts their bytes, so that a loop which eats them ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/inflate.h"

#include <string.h>

enum {
  inflateBITS = 15,    /* of a code at most */
  inflateFAST = 10,    /* codes of so many bits or less are found by one look */
  inflateLITERALS = 288,
  inflateDISTANCES = 32,
  inflateEND = 256,    /* the symbol that ends a block */
  inflateBeyondMAX = 8 /* bytes behind the end that the bit buffer may have taken */
};

typedef struct inflateCodeStruct {
  uint16_t fast[1 << inflateFAST]; /* by the next bits: symbol << 4 | length; 0: a longer code, or none */
  uint16_t count[inflateBITS + 1]; /* codes of each length */
  uint16_t symbol[inflateLITERALS]; /* in the order of their codes */
} inflateCodeStruct, *inflateCode;

typedef struct inflateStruct {
  const unsigned char *next, *limit;
  uint64_t bits;
  unsigned held;
  Count beyond;
  unsigned char *base, *out, *end;
  inflateCodeStruct literal, distance;
} inflateStruct, *InflateState;

/* inflateNeed -- hold at least 48 bits */
static inline void inflateNeed(InflateState state)
{
  if (LIKELY(state->limit - state->next >= 8)) {
    uint64_t more;
    memcpy(&more, state->next, sizeof more);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    more = __builtin_bswap64(more);
#endif
    state->bits |= more << state->held;
    state->next += (63 - state->held) >> 3;
    state->held |= 56;
    return;
  }
  while (state->held <= 56) {
    if (state->next < state->limit)
      state->bits |= (uint64_t)*state->next++ << state->held;
    else
      ++state->beyond;
    state->held += 8;
  }
}

static inline unsigned inflateTake(InflateState state, unsigned n)
{
  unsigned value = (unsigned)(state->bits & (((uint64_t)1 << n) - 1));

  state->bits >>= n;
  state->held -= n;
  return value;
}

/* inflateCodeMake -- the code in which symbol i has length[i] bits; FALSE: there is no such code */
static Bool inflateCodeMake(inflateCode code, const unsigned char *length, Count n)
{
  uint16_t offset[inflateBITS + 2] = {0}, next[inflateBITS + 2] = {0};
  int left = 1;
  Index i;
  unsigned bits;

  memset(code->count, 0, sizeof code->count);
  memset(code->fast, 0, sizeof code->fast);
  for (i = 0; i < n; ++i)
    ++code->count[length[i]];
  code->count[0] = 0;
  for (bits = 1; bits <= inflateBITS; ++bits) {
    left = left * 2 - code->count[bits];
    if (left < 0)
      return FALSE;
    offset[bits + 1] = (uint16_t)(offset[bits] + code->count[bits]);
    next[bits + 1] = (uint16_t)((next[bits] + code->count[bits]) << 1);
  }
  for (i = 0; i < n; ++i) {
    unsigned value, reversed = 0, b;
    bits = length[i];
    if (bits == 0)
      continue;
    code->symbol[offset[bits]++] = (uint16_t)i;
    value = next[bits]++;
    if (bits > inflateFAST)
      continue;
    for (b = 0; b < bits; ++b)
      reversed |= (value >> b & 1) << (bits - 1 - b);
    for (; reversed < 1 << inflateFAST; reversed += 1u << bits)
      code->fast[reversed] = (uint16_t)(i << 4 | bits);
  }
  return TRUE;
}

/* inflateSlow -- the next symbol, bit by bit; -1: there is no such code */
static int inflateSlow(InflateState state, inflateCode code)
{
  int value = 0, first = 0, index = 0;
  unsigned bits;

  for (bits = 1; bits <= inflateBITS; ++bits) {
    value |= (int)(state->bits >> (bits - 1) & 1);
    if (value - first < code->count[bits]) {
      (void)inflateTake(state, bits);
      return code->symbol[index + value - first];
    }
    index += code->count[bits];
    first = (first + code->count[bits]) << 1;
    value <<= 1;
  }
  return -1;
}

static inline int inflateSymbol(InflateState state, inflateCode code)
{
  unsigned entry = code->fast[state->bits & ((1 << inflateFAST) - 1)];

  if (UNLIKELY(entry == 0))
    return inflateSlow(state, code);
  (void)inflateTake(state, entry & 15);
  return (int)(entry >> 4);
}

/* inflateCopy -- `length` bytes again from `distance` bytes back; FALSE: they are not there, or have no room */
static inline Bool inflateCopy(InflateState state, Size length, Size distance)
{
  unsigned char *to = state->out;
  const unsigned char *from = to - distance;

  if (distance > (Size)(to - state->base) || length > (Size)(state->end - to))
    return FALSE;
  state->out += length;
  if (distance >= 8 && (Size)(state->end - to) >= length + 8) { /* beyond its end, bytes that come later are written */
    unsigned char *end = to + length;
    do {
      memcpy(to, from, 8);
      to += 8;
      from += 8;
    } while (to < end);
    return TRUE;
  }
  while (length-- > 0)
    *to++ = *from++;
  return TRUE;
}

/* inflateSymbols -- a block's symbols, to its end */
static Bool inflateSymbols(InflateState state)
{
  static const uint16_t lengthBase[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83,
                                        99, 115, 131, 163, 195, 227, 258};
  static const uint8_t lengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5,
                                       5, 0};
  static const uint16_t distanceBase[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769,
                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  static const uint8_t distanceBits[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10,
                                         11, 11, 12, 12, 13, 13};

  for (;;) {
    int symbol, far;
    Size length;

    inflateNeed(state);
    symbol = inflateSymbol(state, &state->literal);
    if (LIKELY(symbol >= 0 && symbol < inflateEND)) {
      if (state->out == state->end)
        return FALSE;
      *state->out++ = (unsigned char)symbol;
    } else if (symbol == inflateEND) {
      return state->beyond <= inflateBeyondMAX;
    } else {
      symbol -= inflateEND + 1;
      if (symbol < 0 || symbol >= (int)sizeof lengthBits)
        return FALSE;
      length = (Size)lengthBase[symbol] + inflateTake(state, lengthBits[symbol]);
      far = inflateSymbol(state, &state->distance);
      if (far < 0 || far >= (int)sizeof distanceBits)
        return FALSE;
      inflateNeed(state);
      if (!inflateCopy(state, length, (Size)distanceBase[far] + inflateTake(state, distanceBits[far])))
        return FALSE;
    }
    if (UNLIKELY(state->beyond > inflateBeyondMAX))
      return FALSE;
  }
}

/* inflateFixed -- a block in the code that is known beforehand */
static Bool inflateFixed(InflateState state)
{
  unsigned char length[inflateLITERALS];

  memset(length, 8, 144);
  memset(length + 144, 9, 112);
  memset(length + 256, 7, 24);
  memset(length + 280, 8, 8);
  (void)inflateCodeMake(&state->literal, length, inflateLITERALS);
  memset(length, 5, inflateDISTANCES);
  (void)inflateCodeMake(&state->distance, length, 30);
  return inflateSymbols(state);
}

/* inflateLengths -- the lengths of `n` codes, themselves coded in state->literal */
static Bool inflateLengths(InflateState state, unsigned char *length, Count n)
{
  Index i = 0;

  while (i < n) {
    unsigned char again = 0;
    int symbol;
    Count times;

    inflateNeed(state);
    symbol = inflateSymbol(state, &state->literal);
    if (symbol < 0 || state->beyond > inflateBeyondMAX)
      return FALSE;
    if (symbol < 16) {
      length[i++] = (unsigned char)symbol;
      continue;
    }
    if (symbol == 16 && i == 0)
      return FALSE;
    if (symbol == 16)
      again = length[i - 1];
    times = symbol == 16 ? 3 + inflateTake(state, 2) : symbol == 17 ? 3 + inflateTake(state, 3) :
            11 + inflateTake(state, 7);
    if (times > n - i)
      return FALSE;
    memset(length + i, again, times);
    i += times;
  }
  return length[inflateEND] != 0;
}

/* inflateDynamic -- a block that brings its own code */
static Bool inflateDynamic(InflateState state)
{
  static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  unsigned char length[inflateLITERALS + inflateDISTANCES] = {0};
  unsigned literals, distances, lengths;
  Index i;

  inflateNeed(state);
  literals = 257 + inflateTake(state, 5);
  distances = 1 + inflateTake(state, 5);
  lengths = 4 + inflateTake(state, 4);
  if (literals > 286 || distances > 30)
    return FALSE;
  for (i = 0; i < lengths; ++i) {
    inflateNeed(state);
    length[order[i]] = (unsigned char)inflateTake(state, 3);
  }
  if (!inflateCodeMake(&state->literal, length, sizeof order))
    return FALSE;
  memset(length, 0, sizeof length);
  return inflateLengths(state, length, literals + distances) &&
         inflateCodeMake(&state->distance, length + literals, distances) &&
         inflateCodeMake(&state->literal, length, literals) && inflateSymbols(state);
}

/* inflateAlign -- go on at the next whole byte, with nothing held; FALSE: that is beyond the end */
static Bool inflateAlign(InflateState state)
{
  Size back;

  (void)inflateTake(state, state->held & 7);
  back = state->held / 8;
  if (state->beyond > back)
    return FALSE;
  state->next -= back - state->beyond;
  state->bits = 0;
  state->held = 0;
  state->beyond = 0;
  return TRUE;
}

/* inflateStored -- a block that is not compressed */
static Bool inflateStored(InflateState state)
{
  Size length, inverse;

  if (!inflateAlign(state) || state->limit - state->next < 4)
    return FALSE;
  length = (Size)state->next[0] | (Size)state->next[1] << 8;
  inverse = (Size)state->next[2] | (Size)state->next[3] << 8;
  state->next += 4;
  if ((length ^ inverse) != 0xffff || length > (Size)(state->limit - state->next) ||
      length > (Size)(state->end - state->out))
    return FALSE;
  memcpy(state->out, state->next, length);
  state->out += length;
  state->next += length;
  return TRUE;
}

/* inflateAdler -- the checksum of zlib */
static uint32_t inflateAdler(const unsigned char *bytes, Size size)
{
  enum { modulus = 65521, run = 5552 }; /* as many bytes as 32 bits can add up */
  uint32_t a = 1, b = 0;

  while (size > 0) {
    Size n = size < run ? size : run;
    size -= n;
    while (n-- > 0) {
      a += *bytes++;
      b += a;
    }
    a %= modulus;
    b %= modulus;
  }
  return b << 16 | a;
}

Res Inflate(unsigned char *out, Size room, const unsigned char *in, Size size)
{
  inflateStruct state = {.base = out, .out = out, .end = out + room};
  Bool last = FALSE, good = TRUE;
  const unsigned char *end;

  if (size < 6 || (in[0] & 15) != 8 || (in[0] << 8 | in[1]) % 31 != 0 || (in[1] & 0x20) != 0)
    return ResFORMAT;
  state.next = in + 2;
  state.limit = in + size;
  while (good && !last) {
    inflateNeed(&state);
    last = inflateTake(&state, 1) != 0;
    switch (inflateTake(&state, 2)) {
    case 0:
      good = inflateStored(&state);
      break;
    case 1:
      good = inflateFixed(&state);
      break;
    case 2:
      good = inflateDynamic(&state);
      break;
    default:
      good = FALSE;
    }
    good = good && state.beyond <= inflateBeyondMAX;
  }
  if (!good || state.out != state.end || !inflateAlign(&state) || state.limit - state.next < 4)
    return ResFORMAT;
  end = state.next;
  return ((uint32_t)end[0] << 24 | (uint32_t)end[1] << 16 | (uint32_t)end[2] << 8 | end[3]) ==
         inflateAdler(out, room) ? ResOK : ResFORMAT;
}
