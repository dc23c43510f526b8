/* pack.c -- making blocks small
 *
 * The model (packmodel.h) is what unpack.c keeps too; here is besides what finds in it the cheapest way to say an event.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include <string.h>

#include "format/packmodel.h"

/* `seen` and `shapeOf` may forget, and may point at what an earlier block left there: whatever they say is looked at before it is
 * believed.  So they are never cleared, and a wrong place costs a few bytes. */
typedef struct PackStruct {
  PackModelStruct model;
  uint16_t seen[packSeenSIZE];     /* by hash of an address: its newest place in the history */
  uint16_t shapeOf[packShapeHASH]; /* by hash of a shape's key: its number */
  uint64_t shapeKey[packShapeMAX]; /* by number: the key */
} PackStruct;

const Size PackSIZE = sizeof(PackStruct);

/* One event being packed. */
typedef struct PackingStruct {
  uint64_t key;   /* the shape so far */
  unsigned shift; /* where the next mode goes in it */
  uint8_t *next;  /* where the next byte goes */
} PackingStruct, *Packing;

static inline void packPut(Packing packing, uint64_t value, unsigned width)
{
  value = packLittle(value);
  memcpy(packing->next, &value, sizeof value);
  packing->next += width;
}

static inline void packMode(Packing packing, unsigned mode)
{
  packing->key |= (uint64_t)mode << packing->shift;
  packing->shift += packModeBITS;
}

/* packValue -- a W or U: one of the recent values, or its bytes.  Returns its slot. */
static inline unsigned packValue(PackModel model, Packing packing, uint64_t value)
{
  unsigned slot = packSlot(value);

  if (LIKELY(model->slotValue[slot] == value)) {
    packMode(packing, slot);
  } else {
    unsigned class = value < 0x100 ? 0 : value < 0x10000 ? 1 : value < 0x100000000 ? 2 : 3;
    packMode(packing, packModeLITERAL + class);
    packPut(packing, value, 1u << class);
    packSlotTake(model, slot, value);
  }
  return slot;
}

/* packOther -- a P or D: as before, or whole */
static inline void packOther(Packing packing, PackType type, Index param, uint64_t value)
{
  if (LIKELY(type->last[param] == value)) {
    packMode(packing, packModeLAST);
  } else {
    packMode(packing, packModeOTHER);
    packPut(packing, value, 8);
    type->last[param] = value;
  }
}

/* packSeen -- the newest place of `addr` in this block's history, 0 if it is not known; and note the place it now gets */
static inline unsigned packSeen(Pack pack, uint64_t addr)
{
  PackModel model = &pack->model;
  Index h = (Index)(addr * packHASH >> 50);
  unsigned place = pack->seen[h];

  if (place >= model->places || model->history[place].addr != addr) {
    Index other = h ^ 1;
    place = pack->seen[other];
    if (place >= model->places || model->history[place].addr != addr)
      place = 0;
    else
      h = other;
  }
  pack->seen[h] = (uint16_t)model->places;
  return place;
}

/* packDelta -- an address as a distance to one of the same parameter; or whole */
static inline void packDelta(Packing packing, uint64_t addr, uint64_t base)
{
  int64_t delta = (int64_t)(addr - base);

  if ((delta & 15) == 0 && delta >= -((int64_t)1 << 35) && delta < (int64_t)1 << 35) {
    int64_t units = delta / 16;
    unsigned width = units >= -0x8000 && units < 0x8000 ? 2 : units >= -0x800000 && units < 0x800000 ? 3 : 4;
    packMode(packing, packModeUNITS2 + (width - 2));
    packPut(packing, (uint64_t)units, width);
  } else if (delta >= -0x8000 && delta < 0x8000) {
    packMode(packing, packModeBYTES2);
    packPut(packing, (uint64_t)delta, 2);
  } else if (delta >= -(int64_t)0x80000000 && delta < (int64_t)0x80000000) {
    packMode(packing, packModeBYTES4);
    packPut(packing, (uint64_t)delta, 4);
  } else {
    packMode(packing, packModeWHOLE);
    packPut(packing, addr, 8);
  }
}

/* packAddr -- an A; `slot` is that of the event's first value, or packSlotNONE */
static inline void packAddr(Pack pack, Packing packing, PackType type, Index param, uint64_t addr, unsigned slot)
{
  PackModel model = &pack->model;
  unsigned place = packSeen(pack, addr), from;
  int64_t near = (int64_t)(addr - model->lastAddr);

  if (slot != packSlotNONE && model->history[model->freed[slot]].addr == addr) {
    from = model->freed[slot];
    packMode(packing, packModeFREED);
  } else if (near == 0) {
    from = model->places - 1u;
    packMode(packing, packModeSAME);
  } else if (place != 0 && model->places - place <= 256) {
    from = place;
    packMode(packing, packModeBACK1);
    packPut(packing, model->places - place - 1u, 1);
  } else if ((near & 15) == 0 && near >= -128 * 16 && near < 128 * 16) {
    from = 0;
    packMode(packing, packModeNEAR);
    packPut(packing, (uint64_t)(near / 16), 1);
  } else if (place != 0) {
    from = place;
    packMode(packing, packModeBACK2);
    packPut(packing, model->places - place - 1u, 2);
  } else {
    from = 0;
    packDelta(packing, addr, type->last[param]);
  }
  type->last[param] = addr;
  packRemember(model, addr, slot, from);
}

/* packKey -- the bytes of a key: as many as its modes need */
static inline Size packKeySize(unsigned shift)
{
  return (shift + 7) / 8;
}

/* packToken -- put the number of the packed event's shape in front of what stands behind the byte at `token` */
static inline uint8_t *packToken(Pack pack, Packing packing, uint8_t *token)
{
  PackModel model = &pack->model;
  uint64_t key = packing->key;
  Index h = (Index)(key * packHASH >> 52);
  unsigned number = pack->shapeOf[h];
  Size size = (Size)(packing->next - (token + 1)), keySize;

  if (LIKELY(number < model->shapes && pack->shapeKey[number] == key)) {
    if (LIKELY(number < packToken2)) {
      *token = (uint8_t)number;
      return packing->next;
    }
    memmove(token + 2, token + 1, size);
    number -= packToken2;
    token[0] = (uint8_t)(packToken2 + (number >> 8));
    token[1] = (uint8_t)number;
    return packing->next + 1;
  }
  keySize = packKeySize(packing->shift);
  memmove(token + 1 + keySize, token + 1, size);
  token[0] = packTokenNEW;
  key = packLittle(key);
  memcpy(token + 1, &key, keySize);
  if (model->shapes < packShapeMAX) {
    pack->shapeKey[model->shapes] = packing->key;
    pack->shapeOf[h] = (uint16_t)model->shapes++;
  }
  return packing->next + keySize;
}

/* packLoad -- a parameter as a number; in our own byte order */
static inline uint64_t packLoad(const uint8_t *place, unsigned width)
{
  uint64_t w8;
  uint32_t w4;

  if (LIKELY(width == 8)) {
    memcpy(&w8, place, sizeof w8);
    return w8;
  }
  memcpy(&w4, place, sizeof w4);
  return w4;
}

/* packString -- what is behind the other parameters: its length and its bytes, the NUL and padding left out */
static inline void packString(Packing packing, const uint8_t *string, Size length)
{
  packPut(packing, length, 2);
  memcpy(packing->next, string, length);
  packing->next += length;
}

/* packPlain -- whether an event is as long as its type says and nothing stands where padding should be */
static inline Bool packPlain(EventType type, const uint8_t *event, unsigned length, Size size)
{
  Size at = length;

  if (LIKELY(length == type->length && length == size))
    return TRUE;
  if (length != type->length && (!type->strings || length <= type->length || event[length - 1] != 0))
    return FALSE;
  for (; at < size; ++at)
    if (event[at] != 0)
      return FALSE;
  return TRUE;
}

/* packEvent -- one event of a type that is packed, to `token`; returns the place behind it */
static inline uint8_t *packEvent(Pack pack, EventType type, Index typeIndex, const uint8_t *event, uint32_t elapsed,
                                 unsigned length, uint8_t *token)
{
  PackModel model = &pack->model;
  PackType known = packModelType(model, typeIndex);
  PackingStruct packing = {type->code, packKeyMODES, token + 1};
  unsigned timeWidth = elapsed < 0x100 ? 1 : elapsed < 0x10000 ? 2 : elapsed < 0x1000000 ? 3 : 4;
  unsigned slot = packSlotNONE, addrs = 0, i, coded = type->params - type->strings;

  packing.key |= (uint64_t)(timeWidth - 1) << packKeyTIME;
  packPut(&packing, elapsed, timeWidth);
  for (i = 0; i < coded; ++i) {
    uint64_t value = packLoad(event + type->offset[i], type->width[i]);
    switch (type->letter[i]) {
    case 'A':
      addrs |= 1u << i;
      break;
    case 'W':
    case 'U': {
      unsigned its = packValue(model, &packing, value);
      if (slot == packSlotNONE)
        slot = its;
      break;
    }
    default:
      packOther(&packing, known, i, value);
      break;
    }
  }
  for (; addrs != 0; addrs &= addrs - 1) {
    i = (unsigned)__builtin_ctz(addrs);
    packAddr(pack, &packing, known, i, packLoad(event + type->offset[i], type->width[i]), slot);
  }
  if (type->strings)
    packString(&packing, event + type->length, length - type->length - 1);
  return packToken(pack, &packing, token);
}

Size BlockPack(Pack pack, Registry registry, const void *events, Size used, uint64_t first, void *out)
{
  const uint8_t *event = events, *limit = event + used;
  uint8_t *next = out;
  uint32_t time = (uint32_t)first;

  packModelStart(&pack->model);
  while (event < limit) {
    EventHeaderStruct header;
    EventType type;
    Size size;

    memcpy(&header, event, sizeof header);
    size = EventSizeOfLength(header.length);
    type = RegistryFind(registry, header.code);
    if (LIKELY(type != NULL && packCodes(type) && header.length < EventLengthCUT &&
               packPlain(type, event, header.length, size))) {
      next = packEvent(pack, type, (Index)(type - registry->types), event, header.time - time, header.length, next);
    } else {
      *next++ = packTokenRAW;
      memcpy(next, event, size);
      next += size;
    }
    time = header.time;
    event += size;
  }
  return (Size)(next - (uint8_t *)out);
}
