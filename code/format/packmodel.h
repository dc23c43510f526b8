/* packmodel.h -- what packing and unpacking both know, event for event
 *
 * A packed block is two bytes that count controls, one that says the unit of times, and then two rows:
 *   payload   bits: times, and what the predictions missed
 *   controls  bytes: which head, how wide the time and how the (first) address is said; then the slot of each value, and how each further
 *             address is said
 * So nothing that says how long something is stands behind something whose length is not known yet.
 *
 * The model learns from addresses and values alone.  A value (a size, mostly) has a slot, chosen by a hash.  An address has a place in
 * `seen`, also chosen by a hash: there stands when it last passed, and the slot of the value it was last together with.  An
 * address without a value (a free) that is known with one goes on the list of that value's freed ones; the next event with that value
 * (an allocation) is expected to take it from there.
 *
 * Always true: whatever stands in `seen`, `freed` and `tie` is a place or slot that is there, also when the input was hostile.
 *
 * Design: design/pack.md      Tests: test/packtest.c
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
  packSlotNONE = 0,     /* in the model, slot `s` of a packed block is packSlotOfByte(s), and this one is of no value */
  packSlotsMAX = packSlots + 1,
  packClassWIDTH = 2,   /* bits that say how many bytes a new value has: 1, 2, 4 or 8 */

  packPsMAX = 4,        /* P's in one event; types with more are copied whole, as are those with an S */
  packHeads = 5,        /* heads that a control byte names by itself */
  packBanks = 12,       /* so many times as many there are; a byte changes the bank */
  packHeadsMAX = packHeads * packBanks,

  packTimes = 4,        /* widths of a time difference */
  packTimeWIDEST = 16,  /* the last of them, bits */
  packUnitMAX = 9,      /* the largest time unit: the width of the first class */

  packSeenWIDTH = 10,
  packSeenSIZE = 1 << packSeenWIDTH,
  packBackMAX = 1 << 14 /* how far back an address can be named */
};

/* How an address is said, cheapest first. */
enum {
  packFREED,   /* the one freed last among those of this value */
  packSAME,    /* the address before */
  packBACK3,   /* so many addresses back, less one, in so many bits */
  packNEAR5,   /* the distance to the last address of this value (or, without, of this head), zigzag, in so many bits */
  packBACK6,
  packNEAR9,
  packBACK14,
  packNEAR14,
  packNEAR18,
  packNEAR22,
  packNEAR32,
  packWHOLE,   /* 64 bits, in two halves of their own */
  packWays
};

/* Control bytes: (head * packTimes + time class) * packWays + way; or these. */
enum {
  packControlRAW = packHeads * packTimes * packWays, /* an event copied whole */
  packControlHEAD, /* a new head: its code and its P's are in the payload */
  packControlVALUE, /* a new value, in the payload; it takes its slot */
  packControlTIME, /* 32 bits more time, before the event */
  packControlBANK  /* + n: the heads from here on are of bank n */
};

_Static_assert(packControlBANK + packBanks == 256, "control bytes are all used");

#define packWAYS_BACK (1u << packSAME | 1u << packBACK3 | 1u << packBACK6 | 1u << packBACK14)

static const uint8_t packWayWidth[packWays] = {0, 0, 3, 5, 6, 9, 14, 14, 18, 22, 32, 64}; /* bits in the payload */

typedef struct PackModelStruct {
  uint64_t last;                              /* the newest address */
  uint64_t value[packSlotsMAX];               /* by slot */
  uint64_t base[packSlotsMAX + packHeadsMAX]; /* by slot, or behind those by head: the last address */
  uint16_t freed[packSlotsMAX];               /* by slot: the place of the address freed last */
  uint64_t seen[packSeenSIZE];                /* by place: an address that passed; */
  uint16_t when[packSeenSIZE];                /* it was the so-manieth; */
  uint16_t link[packSeenSIZE];                /* the place of the one freed before it with the same tie; */
  uint16_t tie[packSeenSIZE];                 /* the slot of the value that it was together with */
} PackModelStruct, *PackModel;

#define packINLINE static inline __attribute__((always_inline))

#define packHASH 0x9e3779b1u /* odd, and its bits are spread */

/* packSlotByte -- where a value is to be found */
packINLINE unsigned packSlotByte(uint64_t value)
{
  return ((uint32_t)value ^ (uint32_t)(value >> 32)) * packHASH >> 24;
}

#define packSlotOfByte(byte) ((byte) + 1u)

packINLINE uint64_t packPlace(uint64_t addr)
{
  return (uint32_t)addr * packHASH >> (32 - packSeenWIDTH);
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

/* packMask -- all ones if `condition`, which is 0 or 1, else zero; the compiler is not to make a branch of it, because what programs
 * allocate and free next is nothing that a processor could guess */
packINLINE uint64_t packMask(Bool condition)
{
  uint64_t mask = -(uint64_t)condition;

  __asm__("" : "+r"(mask));
  return mask;
}

/* packChoose -- `a` where `mask` is all ones, `b` where it is zero */
#define packChoose(mask, a, b) ((b) ^ (((a) ^ (b)) & (mask)))

/* packPass -- address `addr`, of place `place`, passes as number `now`
 *
 * slot     of the event's value, packSlotNONE if it has none; valued is all ones, or zero if it has none
 * known    all ones, or zero if another address stood at this place
 * returns  all ones if it was the one freed last of this slot
 */
packINLINE uint64_t packPass(PackModel model, uint64_t addr, uint64_t place, unsigned now, uint64_t slot, uint64_t valued,
                             uint64_t known)
{
  uint64_t tie = slot | (model->tie[place] & known & ~valued);
  uint64_t freed = model->freed[tie];
  uint64_t first = packMask(freed == place) & known & valued;
  uint64_t left = packChoose(first, model->link[place], freed);

  model->freed[tie] = (uint16_t)packChoose(valued, left, place);
  model->seen[place] = addr;
  model->when[place] = (uint16_t)now;
  model->link[place] = (uint16_t)freed;
  model->tie[place] = (uint16_t)tie;
  return first;
}

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
