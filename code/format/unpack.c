/* unpack.c -- packed blocks made large again
 *
 * As in pack.c there are two ways through it: `unpackEvent` for P, A, A and W in 8 bytes and our order, and
 * `unpackAny`; and `unpackExtra` for the control bytes that are no event.
 *
 * What comes in is hostile.  Every event is checked before it is written to fit, and after it was read to have been
 * there: what an event may take too much from the input is less than PackSlackSIZE.
 *
 * Always true: heads, slots and numbers of addresses are masked or were computed here, so that they lie in their
 * tables.  What a block unpacks to does not depend on what was unpacked before it: what it names was set in it, or it
 * is refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include <string.h>

#include "base/aver.h"
#include "format/packmodel.h"

/* A head, and what its events look like. */
typedef struct UnpackHeadStruct {
  EventType type;   /* NULL if there is no such head */
  uint16_t code;
  uint16_t length;
  uint16_t size;    /* of an event; 0 if there is no such head */
  uint16_t base;    /* in the model, for addresses without a value; 0 if there is one */
  uint8_t value[2]; /* offsets of the W's; 0 if there is none */
  uint8_t addr[2];  /* of the A's */
  uint8_t fast;     /* unpackEvent can take it */
  uint64_t valued;  /* all ones if there is a W or U */
  uint64_t p[packPsMAX];
} UnpackHeadStruct, *UnpackHead;

/* What a control byte says besides its head. */
typedef struct UnpackControlStruct {
  uint8_t timeWidth;
  uint8_t width;    /* of time and address together */
  uint8_t way;
  uint8_t head;
} UnpackControlStruct, *UnpackControl;

/* What a way means. */
typedef struct UnpackWayStruct {
  uint64_t back; /* all ones if it counts addresses */
  uint64_t mask; /* of the bits in the payload */
} UnpackWayStruct;

typedef struct UnpackStruct {
  PackModelStruct model;
  unsigned unit;     /* that `control` was made for; 0 for none */
  unsigned headNext;
  UnpackControlStruct control[256];
  uint8_t controls[256];       /* how many bytes of control an event of this control byte has up to its first address */
  UnpackHeadStruct head[packHeadsMAX];
  uint64_t history[2 * packBackMAX]; /* by packBackMAX + number: all addresses, and behind them those of a block before;
                                        below packBackMAX are zeros, which are never written */
} UnpackStruct;

const Size UnpackSIZE = sizeof(UnpackStruct);

static const UnpackWayStruct unpackWay[packWays] = {
  [packSAME] = {UINT64_MAX, 0}, [packBACK2] = {UINT64_MAX, 3}, [packBACK4] = {UINT64_MAX, 15},
  [packBACK8] = {UINT64_MAX, 0xff}, [packBACK14] = {UINT64_MAX, 0x3fff},
  [packNEAR5] = {0, 0x1f}, [packNEAR8] = {0, 0xff}, [packNEAR12] = {0, 0xfff}, [packNEAR19] = {0, 0x7ffff},
  [packNEAR22] = {0, 0x3fffff}, [packNEAR32] = {0, 0xffffffff}, [packNEAR64] = {0, UINT64_MAX}
};

/* Where unpacking stands. */
typedef struct UnpackingStruct {
  const uint8_t *payload;
  uint64_t at;            /* bits of it taken */
  uint64_t limit;         /* and there are */
  const uint8_t *control, *controlLimit;
  uint8_t *event, *eventLimit;
  UnpackHead heads;       /* of the current bank */
  uint32_t time;
  uint64_t newest;        /* number of the newest address */
  uint64_t beyond;        /* its highest bit: an address before the first was named */
  Bool swapped;
} UnpackingStruct, *Unpacking;

/* unpackPeek -- the next bits of payload, at least 57 */
packINLINE uint64_t unpackPeek(Unpacking u)
{
  uint64_t w;

  memcpy(&w, u->payload + (u->at >> 3), sizeof w);
  return packLittle(w) >> (u->at & 7);
}

/* unpackBits -- take `width` bits, 1 to 56 */
packINLINE uint64_t unpackBits(Unpacking u, unsigned width)
{
  uint64_t w = unpackPeek(u) & (UINT64_MAX >> (64 - width));

  u->at += width;
  return w;
}

packINLINE uint64_t unpackBits64(Unpacking u)
{
  uint64_t low = unpackBits(u, 32);

  return low | unpackBits(u, 32) << 32;
}

/* unpackNumber -- the number of an address that is said in a known way */
packINLINE uint64_t unpackNumber(Unpacking u, unsigned way)
{
  return way == packNEAR64 ? unpackBits64(u) : packWayWidth[way] == 0 ? 0 : unpackBits(u, packWayWidth[way]);
}

_Static_assert(BlockMAX / EventALIGN * 2 <= packBackMAX, "all addresses of a block have places, if each takes 4 bytes");

/* unpackAddr -- the address that `way` and `number` say
 *
 * No sound event names an address before the first.  One that does gets a zero; `beyond` keeps that, and is looked at
 * when the block ends, because a branch for each address would be slower. */
packINLINE uint64_t unpackAddr(Unpack unpack, Unpacking u, unsigned way, uint64_t number, uint64_t base)
{
  PackModel model = &unpack->model;
  uint64_t near = model->base[base] + (number >> 1 ^ -(number & 1));
  uint64_t which = u->newest - (number & unpackWay[way].back); /* the newest, if `way` counts no addresses */
  uint64_t addr = packChoose(unpackWay[way].back, unpack->history[packBackMAX + which], near);

  u->beyond |= which;
  model->base[base] = addr;
  model->last = addr;
  unpack->history[packBackMAX + ++u->newest] = addr;
  return packOfUnits(addr);
}

packINLINE void unpackStore8(uint8_t *place, uint64_t w)
{
  memcpy(place, &w, sizeof w);
}

/* unpackEvent -- an event that is fast.  FALSE: its second address is said in no known way. */
packINLINE Bool unpackEvent(Unpack unpack, Unpacking u, UnpackHead head, UnpackControl control)
{
  EventHeaderStruct header = {head->code, head->length, 0};
  uint64_t slot = u->control[1] & head->valued, base = head->base + slot, second, number, addr;
  unsigned way = control->way;

  number = unpackPeek(u);
  u->time += (uint32_t)(number & ~(UINT64_MAX << control->timeWidth));
  if (UNLIKELY(way == packNEAR64)) {
    u->at += control->timeWidth;
    number = unpackBits64(u);
  } else {
    number = number >> control->timeWidth & unpackWay[way].mask;
    u->at += control->width;
  }
  second = unpack->model.value[u->control[2]];
  u->control += unpack->controls[u->control[0]];
  addr = unpackAddr(unpack, u, way, number, base);
  unpackStore8(u->event + sizeof header, head->p[0]);
  unpackStore8(u->event + head->value[0], unpack->model.value[slot]);
  unpackStore8(u->event + head->value[1], second); /* where there is none, on what gets the header */
  unpackStore8(u->event + head->addr[0], addr);
  if (head->addr[1] != 0) {
    way = *u->control++;
    if (UNLIKELY(way >= packWays))
      return FALSE;
    unpackStore8(u->event + head->addr[1], unpackAddr(unpack, u, way, unpackNumber(u, way), base));
  }
  header.time = u->time;
  memcpy(u->event, &header, sizeof header);
  u->event += head->size;
  return TRUE;
}

/* unpackPut -- a parameter, as the writer's machine has it */
static void unpackPut(uint8_t *place, uint64_t value, unsigned width, Bool swapped)
{
  uint32_t w4 = (uint32_t)value;

  if (width == 8) {
    unpackStore8(place, swapped ? __builtin_bswap64(value) : value);
    return;
  }
  if (swapped)
    w4 = __builtin_bswap32(w4);
  memcpy(place, &w4, sizeof w4);
}

static void unpackPutHeader(uint8_t *place, EventHeaderStruct header, Bool swapped)
{
  if (swapped) {
    header.code = __builtin_bswap16(header.code);
    header.length = __builtin_bswap16(header.length);
    header.time = __builtin_bswap32(header.time);
  }
  memcpy(place, &header, sizeof header);
}

/* unpackAny -- an event of any head.  FALSE: an address is said in no known way. */
static __attribute__((noinline)) Bool unpackAny(Unpack unpack, Unpacking u, UnpackHead head, UnpackControl control)
{
  EventType type = head->type;
  unsigned i, pointers = 0, way = control->way, addrs = 0;
  uint64_t number, base = head->base + (u->control[1] & head->valued);
  uint8_t *event = u->event;

  u->time += (uint32_t)unpackBits(u, control->timeWidth);
  memset(event + head->size - EventALIGN, 0, EventALIGN);
  ++u->control;
  for (i = 0; i < type->params; ++i)
    if (packIsValue(type->letter[i]))
      unpackPut(event + type->offset[i], unpack->model.value[*u->control++], type->width[i], u->swapped);
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'P') {
      unpackPut(event + type->offset[i], head->p[pointers++], type->width[i], u->swapped);
    } else if (type->letter[i] == 'A') {
      if (addrs++ > 0)
        way = *u->control++;
      if (way >= packWays)
        return FALSE;
      number = unpackAddr(unpack, u, way, unpackNumber(u, way), base);
      unpackPut(event + type->offset[i], number, type->width[i], u->swapped);
    }
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'D')
      unpackPut(event + type->offset[i], unpackBits64(u), 8, u->swapped);
  unpackPutHeader(event, (EventHeaderStruct){head->code, head->length, u->time}, u->swapped);
  u->event += head->size;
  return TRUE;
}

/* unpackRaw -- an event that was copied whole.  FALSE: it does not fit. */
static Bool unpackRaw(Unpacking u)
{
  EventHeaderStruct header;
  uint64_t first;
  Size size, i;

  if (u->limit - u->at < 64 || u->at > u->limit || u->event == u->eventLimit)
    return FALSE;
  first = packLittle(unpackBits64(u));
  memcpy(&header, &first, sizeof header);
  size = EventSizeOfLength(u->swapped ? __builtin_bswap16(header.length) : header.length);
  if (size < sizeof header || size > EventSizeMAX || size > (Size)(u->eventLimit - u->event) ||
      (size - sizeof header) * 8 > u->limit - u->at)
    return FALSE;
  unpackStore8(u->event, first);
  for (i = sizeof header; i < size; i += 8)
    unpackStore8(u->event + i, packLittle(unpackBits64(u)));
  u->time = u->swapped ? __builtin_bswap32(header.time) : header.time;
  u->event += size;
  return TRUE;
}

/* unpackHeadControls -- head `number` is one of the current bank: how many control bytes its events have */
static void unpackHeadControls(Unpack unpack, Unpacking u, unsigned number)
{
  UnpackHead head = &unpack->head[number];

  if (head >= u->heads && head < u->heads + packHeads)
    memset(unpack->controls + number % packHeads * packTimes * packWays,
           1 + (head->value[0] != 0) + (head->value[1] != 0), packTimes * packWays);
}

/* unpackHead -- a new head.  FALSE: of a type that there is not, or that is not packed. */
static Bool unpackHead(Unpack unpack, Registry registry, Unpacking u)
{
  EventType type = RegistryFind(registry, (uint16_t)unpackBits(u, 16));
  unsigned number = unpack->headNext, pointers = 0, i;
  UnpackHead head = &unpack->head[number];

  if (type == NULL || !packCodes(type))
    return FALSE;
  memset(head, 0, sizeof *head);
  unpack->headNext = number + 1 < packHeadsMAX ? number + 1 : packHeads;
  head->type = type;
  head->code = type->code;
  head->length = type->length;
  head->size = (uint16_t)EventSizeOfLength(type->length);
  head->valued = packMask(packValued(type));
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'P')
      head->p[pointers++] = unpackBits64(u);
  head->fast = (uint8_t)(packFast(head->value, head->addr, type) && !u->swapped);
  head->base = (uint16_t)(head->valued ? 0 : packSlots + number);
  unpack->model.base[packSlots + number] = unpack->model.last;
  unpackHeadControls(unpack, u, number);
  return TRUE;
}

static void unpackNewValue(PackModel model, Unpacking u)
{
  unsigned class = (unsigned)unpackBits(u, packClassWIDTH);
  uint64_t value = class < 3 ? unpackBits(u, 8u << class) : unpackBits64(u);
  unsigned slot = packSlot(value);

  model->value[slot] = value;
  model->base[slot] = model->last;
}

/* unpackExtra -- a control byte that is no event.  FALSE: it cannot be. */
static __attribute__((noinline)) Bool unpackExtra(Unpack unpack, Registry registry, Unpacking u)
{
  unsigned control = *u->control++, i;

  switch (control) {
  case packControlRAW:
    return unpackRaw(u);
  case packControlHEAD:
    return unpackHead(unpack, registry, u);
  case packControlVALUE:
    unpackNewValue(&unpack->model, u);
    return TRUE;
  case packControlTIME:
    u->time += (uint32_t)unpackBits(u, 32);
    return TRUE;
  default:
    control -= packControlBANK;
    u->heads = &unpack->head[control * packHeads];
    for (i = 0; i < packHeads; ++i)
      unpackHeadControls(unpack, u, control * packHeads + i);
    return TRUE;
  }
}

/* unpackStart -- nothing known.  FALSE: `unit` cannot be. */
static Bool unpackStart(Unpack unpack, unsigned unit)
{
  uint8_t width[packTimes];
  unsigned i;

  if (unit < 1 || unit > packUnitMAX)
    return FALSE;
  memset(&unpack->model, 0, sizeof unpack->model);
  unpack->history[packBackMAX] = 0;
  unpack->headNext = 0;
  for (i = 0; i < packHeadsMAX; ++i)
    unpack->head[i].size = unpack->head[i].fast = 0;
  if (unit == unpack->unit)
    return TRUE;
  AVER(unit >= 1 && unit <= packUnitMAX);
  unpack->unit = unit;
  packTimeWidths(width, unit);
  for (i = 0; i < packControlRAW; ++i) {
    UnpackControl control = &unpack->control[i];
    control->way = (uint8_t)(i % packWays);
    control->timeWidth = width[i / packWays % packTimes];
    control->width = (uint8_t)(control->timeWidth + packWayWidth[control->way]);
    control->head = (uint8_t)(i / (packWays * packTimes));
  }
  return TRUE;
}

packINLINE Bool unpackRun(Unpack unpack, Registry registry, Unpacking unpacking)
{
  UnpackingStruct u = *unpacking;

  while (u.control < u.controlLimit) {
    unsigned byte = *u.control;
    Bool sound;
    if (UNLIKELY(byte >= packControlRAW)) {
      UnpackingStruct copy = u;
      sound = unpackExtra(unpack, registry, &copy);
      u = copy;
    } else {
      UnpackControl control = &unpack->control[byte];
      UnpackHead head = &u.heads[control->head];
      if (UNLIKELY(head->size > (Size)(u.eventLimit - u.event)))
        return FALSE;
      if (LIKELY(head->fast)) {
        sound = unpackEvent(unpack, &u, head, control);
      } else {
        UnpackingStruct copy = u;
        if (head->size == 0)
          return FALSE;
        sound = unpackAny(unpack, &copy, head, control);
        u = copy;
      }
    }
    if (UNLIKELY(!sound) || UNLIKELY(u.at > u.limit))
      return FALSE;
  }
  *unpacking = u;
  return TRUE;
}

Res BlockUnpack(Unpack unpack, Registry registry, const void *in, Size rest, uint64_t first, void *events, Size used)
{
  const uint8_t *base = in;
  UnpackingStruct u;
  Size controls;

  AVER(used <= BlockMAX);
  if (used == 0 || rest < packHeaderSIZE)
    return used == 0 && rest == 0 ? ResOK : ResFORMAT;
  controls = (Size)(base[0] | base[1] << 8);
  if (controls > rest - packHeaderSIZE || !unpackStart(unpack, base[2]))
    return ResFORMAT;
  u.payload = base + packHeaderSIZE;
  u.at = 0;
  u.limit = (rest - packHeaderSIZE - controls) * 8;
  u.controlLimit = base + rest;
  u.control = u.controlLimit - controls;
  u.event = events;
  u.eventLimit = u.event + used;
  u.heads = unpack->head;
  u.time = (uint32_t)first;
  u.newest = 0;
  u.beyond = 0;
  u.swapped = registry->widths.swapped;
  if (!unpackRun(unpack, registry, &u) || u.beyond >> 63 != 0)
    return ResFORMAT;
  return u.event == u.eventLimit && u.control == u.controlLimit && u.limit - u.at < 8 ? ResOK : ResFORMAT;
}
