/* packmodel.h -- what packing and unpacking both know, event for event
 *
 * The model learns from addresses and values alone.  Recent values (sizes, mostly) live in a few slots, chosen by a hash.  Every address
 * that passes gets a place in the history.  An event with an address and a value (an allocation and its size) ties the address to the
 * value's slot; an event with an address and no value (a free) puts the address on that slot's list of freed ones; the next event with
 * that value is expected to take the address from there.
 *
 * Design: design/format.md .pack      Tests: test/packtest.c
 */
#ifndef FORMAT_PACKMODEL_H
#define FORMAT_PACKMODEL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/types.h"
#include "format/registry.h"

enum {
  packParamsMAX = 7,     /* parameters of an event that is packed; others are copied whole */
  packModeBITS = 6,      /* of a parameter in a shape's key */
  packSlots = 32,        /* recent values */
  packSlotNONE = 32,
  packPlacesMAX = 16384, /* more than the addresses in a block can be: at most 7 for 36 bytes */
  packSeenSIZE = 16384,
  packShapeMAX = 4096,
  packShapeHASH = 4096,

  packToken2 = 224,      /* tokens from here to packTokenRAW - 1 have a second byte */
  packTokenRAW = 254,    /* an event copied whole */
  packTokenNEW = 255     /* the key of a new shape, and the event */
};

_Static_assert(packShapeMAX <= packToken2 + (packTokenRAW - packToken2) * 256, "every shape has a token");

/* Modes of a W or U: 0 to packSlots - 1 name a slot; */
enum { packModeLITERAL = packSlots /* + 0, 1, 2, 3: the value itself, in 1, 2, 4, 8 bytes */ };

/* of a P or D: as it was last in this parameter of this type, or whole; */
enum { packModeLAST, packModeOTHER };

/* of an A. */
enum {
  packModeFREED,  /* the one freed last among those of this value */
  packModeSAME,   /* the address before */
  packModeBACK1,  /* so many places back in the history, 1 byte */
  packModeNEAR,   /* so many times 16 from the address before, 1 byte */
  packModeBACK2,  /* so many places back, 2 bytes */
  packModeUNITS2, /* so many times 16 from what this parameter was last, 2 bytes */
  packModeUNITS3,
  packModeUNITS4,
  packModeBYTES2, /* so many bytes from what this parameter was last */
  packModeBYTES4,
  packModeWHOLE,
  packModeADDRESSES
};

/* A key: code in bits 0 to 15, bytes of the time difference less one in 16 and 17, then the modes in coding order. */
enum { packKeyTIME = 16, packKeyMODES = 18 };

/* An address that passed. */
typedef struct PackPlaceStruct {
  uint64_t addr;
  uint16_t link; /* the address freed before this one, with the same slot; 0 for none */
  uint8_t slot;  /* the slot of the value that it is tied to, or packSlotNONE */
} PackPlaceStruct;

typedef struct PackTypeStruct {
  uint32_t block;               /* the block that `last` belongs to */
  uint64_t last[packParamsMAX]; /* of each parameter: the newest value */
} PackTypeStruct, *PackType;

typedef struct PackModelStruct {
  uint32_t block;               /* counts blocks, so that what is older than this one need not be cleared */
  unsigned places;              /* used in history; the first is 1 */
  unsigned shapes;
  uint64_t lastAddr;
  uint64_t slotValue[packSlots];
  uint16_t freed[packSlots];    /* place of the address freed last; 0 for none */
  PackPlaceStruct history[packPlacesMAX];
  PackTypeStruct type[RegistryTypesMAX];
} PackModelStruct, *PackModel;

static inline void packModelStart(PackModel model)
{
  ++model->block;
  model->places = 1;
  model->shapes = 0;
  model->lastAddr = 0;
  memset(model->slotValue, 0, sizeof model->slotValue);
  memset(model->freed, 0, sizeof model->freed);
  model->history[0] = (PackPlaceStruct){0, 0, packSlotNONE};
}

/* packModelType -- what the model knows of the `i`th type in this block */
static inline PackType packModelType(PackModel model, Index i)
{
  PackType type = &model->type[i];

  if (UNLIKELY(type->block != model->block)) {
    memset(type, 0, sizeof *type);
    type->block = model->block;
  }
  return type;
}

#define packHASH 0x9e3779b97f4a7c15ull

static inline unsigned packSlot(uint64_t value)
{
  return (unsigned)(value * packHASH >> 59);
}

static inline void packSlotTake(PackModel model, unsigned slot, uint64_t value)
{
  model->slotValue[slot] = value;
  model->freed[slot] = 0;
}

/* packRemember -- give `addr` the next place; `slot` is its event's, `from` the place where it was known to stand before, or 0 */
static inline void packRemember(PackModel model, uint64_t addr, unsigned slot, unsigned from)
{
  unsigned place = model->places++;
  PackPlaceStruct *here = &model->history[place];

  here->addr = addr;
  if (slot == packSlotNONE) {
    slot = model->history[from].slot;
    if (slot != packSlotNONE) {
      here->link = model->freed[slot];
      model->freed[slot] = (uint16_t)place;
    }
  } else if (from != 0 && from == model->freed[slot]) {
    model->freed[slot] = model->history[from].link;
  }
  here->slot = (uint8_t)slot;
  model->lastAddr = addr;
}

/* packCodes -- whether events of a type are packed, or copied whole */
static inline Bool packCodes(EventType type)
{
  return type->params - type->strings <= packParamsMAX;
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
