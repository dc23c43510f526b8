/* unpack.c -- packed blocks made large again
 *
 * What comes in is hostile.  A shape is looked at once, when it is defined; after that the only dangers are running out of input or
 * output, which each event checks before it begins, and places in the history that are not there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include <string.h>

#include "base/aver.h"
#include "format/packmodel.h"

/* What is to be done for one parameter. */
typedef enum unpackDo {
  unpackSLOT,    /* a value out of slot `which` */
  unpackLITERAL, /* a value of 1 << which bytes */
  unpackLAST,    /* as this parameter was last */
  unpackOTHER,   /* 8 bytes, no slot */
  unpackADDR     /* + the mode of an A */
} unpackDo;

typedef struct UnpackFieldStruct {
  uint8_t what;    /* unpackDo */
  uint8_t which;   /* slot, width or -- for an address -- nothing */
  uint8_t param;
  uint8_t width;   /* bytes in memory: 4 or 8 */
  uint16_t offset; /* from the event's first byte */
} UnpackFieldStruct;

typedef struct UnpackShapeStruct {
  uint16_t code;
  uint16_t length;   /* without a string's characters */
  uint16_t size;     /* rounded up */
  uint8_t timeWidth;
  uint8_t fields;
  uint8_t strings;
  uint16_t type;     /* its place in the registry */
  UnpackFieldStruct field[packParamsMAX];
} UnpackShapeStruct, *UnpackShape;

typedef struct UnpackStruct {
  PackModelStruct model;
  UnpackShapeStruct shape[packShapeMAX];
} UnpackStruct;

const Size UnpackSIZE = sizeof(UnpackStruct);

/* Input is read 8 bytes at a time: hence the slack behind it. */
static inline uint64_t unpackGet(const uint8_t *place, unsigned width)
{
  uint64_t w;

  memcpy(&w, place, sizeof w);
  return packLittle(w) & (UINT64_MAX >> (64 - 8 * width));
}

static inline int64_t unpackGetSigned(const uint8_t *place, unsigned width)
{
  return (int64_t)(unpackGet(place, width) << (64 - 8 * width)) >> (64 - 8 * width);
}

/* unpackPut -- a parameter, as the writer's machine has it */
static inline void unpackPut(uint8_t *place, uint64_t value, unsigned width, Bool swapped)
{
  uint32_t w4 = (uint32_t)value;

  if (LIKELY(width == 8)) {
    if (UNLIKELY(swapped))
      value = __builtin_bswap64(value);
    memcpy(place, &value, sizeof value);
    return;
  }
  if (UNLIKELY(swapped))
    w4 = __builtin_bswap32(w4);
  memcpy(place, &w4, sizeof w4);
}

/* unpackField -- what mode `mode` of parameter `i` means; FALSE for a mode that is none */
static Bool unpackField(UnpackFieldStruct *field, EventType type, Index i, unsigned mode)
{
  field->param = (uint8_t)i;
  field->width = type->width[i];
  field->offset = type->offset[i];
  field->which = 0;
  switch (type->letter[i]) {
  case 'A':
    field->what = (uint8_t)(unpackADDR + mode);
    return mode < packModeADDRESSES;
  case 'W':
  case 'U':
    field->what = mode < packModeLITERAL ? unpackSLOT : unpackLITERAL;
    field->which = (uint8_t)(mode < packModeLITERAL ? mode : 1u << (mode - packModeLITERAL));
    return mode <= packModeLITERAL + 3;
  default:
    field->what = mode == packModeLAST ? unpackLAST : unpackOTHER;
    return mode <= packModeOTHER;
  }
}

/* unpackShape -- read the key of a new shape at *next.  NULL: it is none. */
static UnpackShape unpackShape(Unpack unpack, Registry registry, const uint8_t **next)
{
  PackModel model = &unpack->model;
  /* More shapes than numbers: the last place serves those that have none. */
  UnpackShape shape = &unpack->shape[model->shapes < packShapeMAX ? model->shapes : packShapeMAX - 1];
  EventType type = RegistryFind(registry, (uint16_t)unpackGet(*next, 2));
  unsigned i, coded, turn, shift = packKeyMODES;
  uint64_t key;

  if (type == NULL || !packCodes(type))
    return NULL;
  coded = (unsigned)(type->params - type->strings);
  key = unpackGet(*next, (packKeyMODES + coded * packModeBITS + 7) / 8);
  *next += (packKeyMODES + coded * packModeBITS + 7) / 8;
  shape->code = type->code;
  shape->length = type->length;
  shape->size = (uint16_t)EventSizeOfLength(type->length);
  shape->timeWidth = (uint8_t)((key >> packKeyTIME & 3) + 1);
  shape->fields = 0;
  shape->strings = type->strings;
  shape->type = (uint16_t)(type - registry->types);
  /* Addresses come last, because they are predicted from the values. */
  for (turn = 0; turn < 2; ++turn)
    for (i = 0; i < coded; ++i)
      if ((type->letter[i] == 'A') == turn) {
        if (!unpackField(&shape->field[shape->fields++], type, i, (unsigned)(key >> shift) & 63))
          return NULL;
        shift += packModeBITS;
      }
  if (model->shapes < packShapeMAX)
    ++model->shapes;
  return shape;
}

/* What one event takes from the input and gives to the model. */
typedef struct UnpackingStruct {
  const uint8_t *in;
  unsigned slot;  /* of the event's first value, or packSlotNONE */
  Bool sound;
} UnpackingStruct, *Unpacking;

static inline uint64_t unpackAddr(PackModel model, PackType known, Unpacking unpacking, unsigned mode, Index param)
{
  unsigned from = 0, width;
  uint64_t addr;

  switch (mode) {
  case packModeFREED:
    from = unpacking->slot == packSlotNONE ? 0 : model->freed[unpacking->slot];
    addr = model->history[from].addr;
    break;
  case packModeSAME:
    from = model->places - 1u;
    addr = model->lastAddr;
    break;
  case packModeBACK1:
  case packModeBACK2:
    width = mode == packModeBACK1 ? 1 : 2;
    from = model->places - 1u - (unsigned)unpackGet(unpacking->in, width);
    unpacking->in += width;
    if (UNLIKELY(from - 1 >= model->places - 1)) {
      unpacking->sound = FALSE;
      from = 0;
    }
    addr = model->history[from].addr;
    break;
  case packModeNEAR:
    addr = model->lastAddr + (uint64_t)(unpackGetSigned(unpacking->in, 1) * 16);
    unpacking->in += 1;
    break;
  case packModeUNITS2:
  case packModeUNITS3:
  case packModeUNITS4:
    width = mode - packModeUNITS2 + 2;
    addr = known->last[param] + (uint64_t)(unpackGetSigned(unpacking->in, width) * 16);
    unpacking->in += width;
    break;
  case packModeBYTES2:
  case packModeBYTES4:
    width = mode == packModeBYTES2 ? 2 : 4;
    addr = known->last[param] + (uint64_t)unpackGetSigned(unpacking->in, width);
    unpacking->in += width;
    break;
  default:
    addr = unpackGet(unpacking->in, 8);
    unpacking->in += 8;
    break;
  }
  known->last[param] = addr;
  packRemember(model, addr, unpacking->slot, from);
  return addr;
}

static inline uint64_t unpackValue(PackModel model, PackType known, Unpacking unpacking, const UnpackFieldStruct *field)
{
  unsigned slot;
  uint64_t value;

  switch (field->what) {
  case unpackSLOT:
    slot = field->which;
    value = model->slotValue[slot];
    break;
  case unpackLITERAL:
    value = unpackGet(unpacking->in, field->which);
    unpacking->in += field->which;
    slot = packSlot(value);
    packSlotTake(model, slot, value);
    break;
  case unpackLAST:
    return known->last[field->param];
  case unpackOTHER:
    value = unpackGet(unpacking->in, 8);
    unpacking->in += 8;
    known->last[field->param] = value;
    return value;
  default:
    return unpackAddr(model, known, unpacking, field->what - (unsigned)unpackADDR, field->param);
  }
  if (unpacking->slot == packSlotNONE)
    unpacking->slot = slot;
  return value;
}

/* unpackRaw -- an event that was copied whole; its size, or 0 if it does not fit */
static Size unpackRaw(uint32_t *timeReturn, const uint8_t *in, Size inSize, uint8_t *event, Size room, Bool swapped)
{
  EventHeaderStruct header;
  Size size;

  memcpy(&header, in, sizeof header);
  size = EventSizeOfLength(swapped ? __builtin_bswap16(header.length) : header.length);
  if (size < sizeof header || size > EventSizeMAX || size > inSize || size > room)
    return 0;
  memcpy(event, in, size);
  *timeReturn = swapped ? __builtin_bswap32(header.time) : header.time;
  return size;
}

/* unpackEvent -- one event of a known shape; its size, or 0 if it does not fit */
static inline Size unpackEvent(Unpack unpack, UnpackShape shape, Unpacking unpacking, const uint8_t *inLimit,
                               uint32_t *time, uint8_t *event, Size room, Bool swapped)
{
  PackModel model = &unpack->model;
  PackType known = packModelType(model, shape->type);
  EventHeaderStruct header = {shape->code, shape->length, 0};
  Size size = shape->size;
  unsigned i;

  if (UNLIKELY(size > room))
    return 0;
  unpacking->slot = packSlotNONE;
  *time += (uint32_t)unpackGet(unpacking->in, shape->timeWidth);
  unpacking->in += shape->timeWidth;
  for (i = 0; i < shape->fields; ++i) {
    const UnpackFieldStruct *field = &shape->field[i];
    unpackPut(event + field->offset, unpackValue(model, known, unpacking, field), field->width, swapped);
  }
  if (UNLIKELY(shape->strings)) {
    Size string = (Size)unpackGet(unpacking->in, 2);
    unpacking->in += 2;
    size = EventSizeOfLength(shape->length + string + 1);
    if (string > EventSizeMAX || size > room || unpacking->in > inLimit || string > (Size)(inLimit - unpacking->in))
      return 0;
    memset(event + size - EventALIGN, 0, EventALIGN);
    memcpy(event + shape->length, unpacking->in, string);
    event[shape->length + string] = 0;
    unpacking->in += string;
    header.length = (uint16_t)(shape->length + string + 1);
  } else if (UNLIKELY(size != shape->length)) {
    memset(event + shape->length, 0, size - shape->length);
  }
  header.time = *time;
  if (UNLIKELY(swapped)) {
    header.code = __builtin_bswap16(header.code);
    header.length = __builtin_bswap16(header.length);
    header.time = __builtin_bswap32(header.time);
  }
  memcpy(event, &header, sizeof header);
  return size;
}

Res BlockUnpack(Unpack unpack, Registry registry, const void *input, Size rest, uint64_t first, void *events, Size used)
{
  UnpackingStruct unpacking = {input, packSlotNONE, TRUE};
  const uint8_t *inLimit = unpacking.in + rest;
  uint8_t *event = events, *limit = event + used;
  uint32_t time = (uint32_t)first;
  Bool swapped = registry->widths.swapped;

  AVER(used <= BlockMAX);
  packModelStart(&unpack->model);
  while (unpacking.in < inLimit && event < limit) {
    unsigned token = *unpacking.in++;
    Size size;
    if (UNLIKELY(token == packTokenRAW)) {
      size = unpackRaw(&time, unpacking.in, (Size)(inLimit - unpacking.in), event, (Size)(limit - event), swapped);
      unpacking.in += size;
    } else {
      UnpackShape shape;
      if (UNLIKELY(token == packTokenNEW)) {
        shape = unpackShape(unpack, registry, &unpacking.in);
        if (shape == NULL)
          return ResFORMAT;
      } else {
        if (UNLIKELY(token >= packToken2))
          token = packToken2 + (token - packToken2) * 256 + *unpacking.in++;
        if (UNLIKELY(token >= unpack->model.shapes))
          return ResFORMAT;
        shape = &unpack->shape[token];
      }
      size = unpackEvent(unpack, shape, &unpacking, inLimit, &time, event, (Size)(limit - event), swapped);
    }
    if (UNLIKELY(size == 0 || !unpacking.sound))
      return ResFORMAT;
    event += size;
  }
  return unpacking.in == inLimit && event == limit ? ResOK : ResFORMAT;
}
