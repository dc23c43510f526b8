/* packmodel.h -- what packing and unpacking both know, event for event
 *
 * A packed block is two bytes that count controls, one that says the unit of times, and then two rows:
 *   payload   bits: times, and what the predictions missed
 *   controls  bytes: which head, how wide the time and how the (first) address is said; then the slot of each value,
 *             and how each further address is said
 * So nothing that says how long something is stands behind something whose length is not known yet.
 *
 * The model learns from addresses and values alone.  A value (a size, mostly) has a slot, chosen by a hash.  An address
 * that passed not long ago is said as how many addresses ago that was, any other as the distance to the last address of
 * the same value, or head.
 *
 * Design: design/pack.md      Tests: test/format/packtest.c
 */
#ifndef FORMAT_PACKMODEL_H
#define FORMAT_PACKMODEL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/types.h"
#include "format/block.h"
#include "format/registry.h"

enum {
  packHeaderSIZE = 3,   /* u16 controls, u8 time unit */
  packSHIFT = 3,        /* addresses are counted in units of 8 */

  packSlots = 256,      /* values that are remembered; in a packed block a slot is a byte */
  packClassWIDTH = 2,   /* bits that say how many bytes a new value has: 1, 2, 4 or 8 */

  packPsMAX = 4,        /* P's in one event; types with more are copied whole, as are those with an S */
  packHeads = 5,        /* heads that a control byte names by itself */
  packBanks = 12,       /* so many times as many there are; a byte changes the bank */
  packHeadsMAX = packHeads * packBanks,

  packTimes = 4,        /* widths of a time difference */
  packTimeWIDEST = 16,  /* the last of them, bits */
  packUnitMAX = 9,      /* the largest time unit: the width of the first class */

  packBackMAX = 1 << 14 /* how far back an address can be named */
};

/* How an address is said. */
enum {
  packSAME,    /* the address before */
  packBACK2,   /* so many addresses before that one, less one, in so many bits */
  packBACK4,
  packBACK8,
  packBACK14,
  packNEAR5,   /* the distance to the last address of this value (or, without, of this head), zigzag, in so many bits */
  packNEAR8,
  packNEAR12,
  packNEAR19,
  packNEAR22,
  packNEAR32,
  packNEAR64,
  packWays
};

/* packWayWidth -- bits in the payload */
static const uint8_t packWayWidth[packWays] = {0, 2, 4, 8, 14, 5, 8, 12, 19, 22, 32, 64};

/* Control bytes: (head * packTimes + time class) * packWays + way; or these. */
enum {
  packControlRAW = packHeads * packTimes * packWays, /* an event copied whole */
  packControlHEAD, /* a new head: its code and its P's are in the payload */
  packControlVALUE, /* a new value, in the payload; it takes its slot */
  packControlTIME, /* 32 bits more time, before the event */
  packControlBANK  /* + n: the heads from here on are of bank n */
};

_Static_assert(packControlBANK + packBanks == 256, "control bytes are all used");

typedef struct PackModelStruct {
  uint64_t last;                              /* the newest address */
  uint64_t value[packSlots];               /* by slot */
  uint64_t base[packSlots + packHeadsMAX]; /* by slot, or behind those by head: the last address */
} PackModelStruct, *PackModel;

#define packINLINE static inline __attribute__((always_inline))

#define packHASH 0x9e3779b1u /* odd, and its bits are spread */

/* packSlot -- where a value is to be found */
packINLINE unsigned packSlot(uint64_t value)
{
  return (uint32_t)value * packHASH >> 24;
}

/* Addresses are counted in units: what is no multiple of a unit becomes a very large number, and stays what it is. */
static inline uint64_t packUnits(uint64_t addr)
{
  return addr >> packSHIFT | addr << (64 - packSHIFT);
}

static inline uint64_t packOfUnits(uint64_t units)
{
  return units << packSHIFT | units >> (64 - packSHIFT);
}

/* packTimeWidths -- the widths of a time difference where the unit is `unit` */
static inline void packTimeWidths(uint8_t width[packTimes], unsigned unit)
{
  width[0] = (uint8_t)unit;
  width[1] = (uint8_t)(unit + 2);
  width[2] = (uint8_t)(unit + 5);
  width[3] = packTimeWIDEST;
}

/* packMask -- all ones if `condition`, which is 0 or 1, else zero; the compiler is not to make a branch of it, because
 * what programs allocate and free next is nothing that a processor could guess */
packINLINE uint64_t packMask(Bool condition)
{
  uint64_t mask = -(uint64_t)condition;

  __asm__("" : "+r"(mask));
  return mask;
}

/* packChoose -- `a` where `mask` is all ones, `b` where it is zero */
#define packChoose(mask, a, b) ((b) ^ (((a) ^ (b)) & (mask)))

/* packCodes -- whether events of a type are packed, or copied whole */
static inline Bool packCodes(EventType type)
{
  unsigned i, pointers = 0;

  for (i = 0; i < type->params; ++i)
    pointers += type->letter[i] == 'P';
  return pointers <= packPsMAX && !type->strings;
}

#define packIsValue(letter) ((letter) == 'W' || (letter) == 'U')

/* packValued -- whether events of a type have a value */
static inline Bool packValued(EventType type)
{
  unsigned i;

  for (i = 0; i < type->params; ++i)
    if (packIsValue(type->letter[i]))
      return TRUE;
  return FALSE;
}

/* packFast -- can the fast ways of pack.c and unpack.c take events of a type: 8 bytes for each parameter, a P at most
 * at the beginning, one or two A, at most two W?
 * value, addr  two each, 0; become the offsets of the W's and of the A's, as far as there are such */
static inline Bool packFast(uint8_t value[2], uint8_t addr[2], EventType type)
{
  unsigned i;

  for (i = 0; i < type->params; ++i) {
    uint8_t offset = (uint8_t)type->offset[i];
    if (type->width[i] != 8)
      return FALSE;
    if (type->letter[i] == 'A' && addr[1] == 0)
      addr[addr[0] != 0] = offset;
    else if (type->letter[i] == 'W' && value[1] == 0)
      value[value[0] != 0] = offset;
    else if (!(type->letter[i] == 'P' && i == 0))
      return FALSE;
  }
  return addr[0] != 0;
}

/* Packed bytes are little-endian everywhere. */
static inline uint64_t packLittle(uint64_t w)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(w);
#else
  return w;
#endif
}

#endif /* FORMAT_PACKMODEL_H */
