/* packing.h -- a block being packed
 *
 * Two ways through it that write the same bytes: packRun (packrun.c) for the events that are nearly all there are, P,
 * A, A and W of a known head, without a branch that depends on what the program does; and packSlow (pack.c) for all
 * others.
 *
 * Always true: `newest` names only heads of the current bank; what `headOf` names is looked at before it is believed.
 *
 * Design: design/pack.md .pack.branch .pack.fast      Tests: test/format/packtest.c
 */
#ifndef FORMAT_PACKING_H
#define FORMAT_PACKING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "format/pack.h"
#include "format/packmodel.h"

enum {
  packTypeHASH = 64,  /* a table by the low bits of codes */
  packHeadHASH = 256,
  packSeenWIDTH = 10,
  packSeenSIZE = 1 << packSeenWIDTH,
  packSAMPLE = 32     /* events looked at to choose the unit of times */
};

/* The mark of a head that packRun is not to take: longer than any event, so that nothing that stands in a block is it;
 * zeros, above all, are not. */
#define packMarkNONE 0xffff0000u

/* A head as packRun wants it: one cache line. */
typedef struct PackHeadStruct {
  uint32_t mark;     /* code, and length << 16; or packMarkNONE */
  uint8_t value;     /* offset of the W; 0 if there is none */
  uint8_t addr;      /* of the A */
  uint8_t addr2;     /* of the second; 0 if there is none */
  uint8_t first;     /* its smallest control byte */
  uint8_t controls;  /* control bytes up to the first address */
  uint8_t pointers;  /* how many P's */
  uint16_t code;
  uint16_t base;     /* in the model, for addresses without a value; 0 if there is one */
  uint16_t reserved;
  uint64_t valued;   /* all ones if it has a W or U */
  uint64_t pMask;    /* all ones if there is a P, which for packRun is the first parameter */
  uint64_t p[packPsMAX];
} PackHeadStruct, *PackHead;

typedef struct PackingStruct *Packing;
/* PackRun -- pack events from `event` on until there is one that is not for it; returns its place, or `limit` */
typedef const uint8_t *(*PackRun)(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit);

typedef struct PackStruct {
  PackHeadStruct head[1 + packHeadsMAX]; /* the first is none, and nobody's; each other is one more than its number */
  PackModelStruct model;
  uint64_t seen[packSeenSIZE];  /* by hash: an address that passed, */
  uint16_t when[packSeenSIZE];  /* as number so-and-so */
  PackRun run;                  /* packRun for this processor; NULL until it is chosen */
  uint8_t newest[packTypeHASH]; /* by low bits of a code: the newest head of such a type; 0 for none */
  uint8_t headOf[packHeadHASH]; /* by hash of code and P's: a head; may be another one's */
  unsigned headNext;            /* the head that the next new one will be */
  unsigned bank;                /* of the newest event's head */
  uint8_t unit;                 /* of times */
  /* By leading zeros of a time difference: its width << 8, and its part of the control; 64 << 8 if it is too wide. */
  uint16_t time[65];
  uint8_t control[BlockMAX / EventALIGN * 4 + 64];
} PackStruct;

_Static_assert(sizeof(PackHeadStruct) == 64, "a head is found by a shift");

/* Where packing stands. */
typedef struct PackingStruct {
  uint8_t *payload;
  uint64_t at;    /* bits of it; the rest of the byte where the next one goes is zero */
  uint8_t *control;
  uint32_t time;  /* of the event before */
  unsigned now;   /* number of the next address */
  unsigned count; /* events, those of the format not counted */
} PackingStruct;

enum { packBitsMAX = 56 };

/* packBits -- append the low `width` bits, at most packBitsMAX, of `value`, which has no others */
packINLINE void packBits(Packing g, uint64_t value, unsigned width)
{
  uint8_t *next = g->payload + (g->at >> 3);

  value = packLittle(value << (g->at & 7) | *next);
  memcpy(next, &value, sizeof value);
  g->at += width;
}

packINLINE void packBits64(Packing g, uint64_t value)
{
  packBits(g, value & 0xffffffff, 32);
  packBits(g, value >> 32, 32);
}

/* packLeadingZeros -- of a number, 0 being taken for 1 */
packINLINE unsigned packLeadingZeros(uint64_t w)
{
  return (unsigned)__builtin_clzll(w | 1);
}

/* What to say of an address: the way, and its width << 8.  By leading zeros of the distance to its base; or, 64 behind
 * those, by leading zeros of how many addresses ago it passed. */
static const uint16_t packWay[2 * 64] = {
  [0 ... 31] = packNEAR64 | 64 << 8, [32 ... 41] = packNEAR32 | 32 << 8, [42 ... 44] = packNEAR22 | 22 << 8,
  [45 ... 51] = packNEAR19 | 19 << 8, [52 ... 55] = packNEAR12 | 12 << 8, [56 ... 58] = packNEAR8 | 8 << 8,
  [59 ... 63] = packNEAR5 | 5 << 8,
  [64 + 50 ... 64 + 55] = packBACK14 | 14 << 8, [64 + 56 ... 64 + 59] = packBACK8 | 8 << 8,
  [64 + 60 ... 64 + 61] = packBACK4 | 4 << 8, [64 + 62] = packBACK2 | 2 << 8, [64 + 63] = packSAME
};

/* packAddr -- how to say an address, `now` being its number: as packWay has it, and the number in *payload */
packINLINE unsigned packAddr(Pack pack, unsigned now, uint64_t addr, uint64_t base, uint64_t *payload)
{
  PackModel model = &pack->model;
  uint64_t place = (uint32_t)addr * packHASH >> (32 - packSeenWIDTH);
  uint64_t known = packMask(pack->seen[place] == addr);
  uint64_t ago = now - pack->when[place];
  int64_t distance = (int64_t)(addr - model->base[base]);
  uint64_t near = (uint64_t)distance << 1 ^ (uint64_t)(distance >> 63);
  uint64_t number = packChoose(known, ago, near);

  pack->seen[place] = addr;
  pack->when[place] = (uint16_t)now;
  model->base[base] = addr;
  model->last = addr;
  *payload = number + known; /* all ones added are one taken away */
  return packWay[packLeadingZeros(number) + (known & 64)];
}

packINLINE uint64_t packLoad8(const uint8_t *place)
{
  uint64_t w;

  memcpy(&w, place, sizeof w);
  return w;
}

/* packNewValue -- a value takes its slot */
packINLINE void packNewValue(PackModel model, Packing g, uint64_t slot, uint64_t value)
{
  unsigned class = value < 0x100 ? 0 : value < 0x10000 ? 1 : value < 0x100000000 ? 2 : 3;

  model->value[slot] = value;
  model->base[slot] = model->last;
  *g->control++ = packControlVALUE;
  if (class < 3) {
    packBits(g, class | value << packClassWIDTH, packClassWIDTH + (8u << class));
  } else {
    packBits(g, class, packClassWIDTH);
    packBits64(g, value);
  }
}

/* packTime -- put what of a time difference is more than an event can have before the event, whose `controls` bytes are
 * there already; returns what is left */
static inline uint32_t packTime(Packing g, unsigned controls, uint32_t elapsed)
{
  if (elapsed >> packTimeWIDEST == 0)
    return elapsed;
  memmove(g->control - controls + 1, g->control - controls, controls);
  g->control[-(int)controls] = packControlTIME;
  ++g->control;
  packBits(g, elapsed, 32);
  return 0;
}

/* PackSwitch -- the head of an event for packRun, where it is known but not the newest of its type; or NULL */
extern PackHead PackSwitch(Pack pack, Packing g, EventHeaderStruct header, const uint8_t *event);

/* PackRunChoose -- packRun as this processor does it best */
extern PackRun PackRunChoose(void);

#endif /* FORMAT_PACKING_H */
