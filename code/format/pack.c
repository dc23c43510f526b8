/* pack.c -- making blocks small
 *
 * Here is what is done once for a block, for each head, and for the events that packrun.c does not take.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include <string.h>

#include "base/aver.h"
#include "format/packing.h"

const Size PackSIZE = sizeof(PackStruct);

/* packForget -- a head is not to be found in `newest` any more */
static void packForget(Pack pack, unsigned number)
{
  uint8_t *newest = &pack->newest[pack->head[number].code % packTypeHASH];

  if (*newest == number)
    *newest = 0;
}

/* packBank -- make the bank of a head the current one */
static void packBank(Pack pack, Packing g, unsigned number)
{
  unsigned bank = (number - 1) / packHeads, i;

  if (pack->bank == bank)
    return;
  for (i = 1; i <= packHeads; ++i)
    packForget(pack, pack->bank * packHeads + i);
  pack->bank = bank;
  *g->control++ = (uint8_t)(packControlBANK + bank);
}

/* packHash -- where in `headOf` a head stands; for each of its P's, going on from its code */
packINLINE uint64_t packHash(uint64_t hash, uint64_t p)
{
  return (hash ^ p) * 0x9e3779b97f4a7c15u;
}

#define packHashPlace(hash) ((hash) >> 56)

PackHead PackSwitch(Pack pack, Packing g, EventHeaderStruct header, const uint8_t *event)
{
  uint64_t p;
  unsigned number;
  PackHead head;

  if (header.length < sizeof header + sizeof p)
    return NULL;
  p = packLoad8(event + sizeof header);
  number = pack->headOf[packHashPlace(packHash(header.code, p))];
  head = &pack->head[number];
  if (head->mark != ((uint32_t)header.length << 16 | header.code) || head->p[0] != p || head->pMask == 0 || number == 0)
    return NULL;
  packBank(pack, g, number);
  pack->newest[header.code % packTypeHASH] = (uint8_t)number;
  return head;
}

/* packLoad -- a parameter as a number; in our own byte order */
static uint64_t packLoad(const uint8_t *place, unsigned width)
{
  uint32_t w4;

  if (width == 8)
    return packLoad8(place);
  memcpy(&w4, place, sizeof w4);
  return w4;
}

/* packHeadFast -- see to it that packRun can take events of a head: 8 bytes each, P first if at all, one or two A, at
 * most one W */
static void packHeadFast(PackHead head, EventType type)
{
  unsigned i;

  for (i = 0; i < type->params; ++i) {
    uint8_t offset = (uint8_t)type->offset[i];
    if (type->width[i] != 8)
      return;
    if (type->letter[i] == 'A' && head->addr == 0)
      head->addr = offset;
    else if (type->letter[i] == 'A' && head->addr2 == 0)
      head->addr2 = offset;
    else if (type->letter[i] == 'W' && head->value == 0)
      head->value = offset;
    else if (!(type->letter[i] == 'P' && i == 0))
      return;
  }
  if (head->addr != 0)
    head->mark = (uint32_t)type->length << 16 | type->code;
}

/* packHeadNew -- a new head, and say so.  When all are taken, those that no bank byte is needed for are kept. */
static unsigned packHeadNew(Pack pack, Packing g, EventType type, const uint64_t p[packPsMAX], unsigned pointers)
{
  unsigned number = pack->headNext, i;
  PackHead head = &pack->head[number];

  pack->headNext = number < packHeadsMAX ? number + 1 : packHeads + 1;
  packForget(pack, number);
  memset(head, 0, sizeof *head);
  head->mark = packMarkNONE;
  head->code = type->code;
  head->first = (uint8_t)((number - 1) % packHeads * packTimes * packWays);
  head->valued = packMask(packValued(type));
  head->base = (uint16_t)(head->valued ? 0 : packSlots + number - 1);
  head->pointers = (uint8_t)pointers;
  head->pMask = packMask(pointers != 0);
  memcpy(head->p, p, sizeof head->p);
  packHeadFast(head, type);
  head->controls = (uint8_t)(1 + (head->value != 0));
  pack->model.base[packSlots + number - 1] = pack->model.last;
  *g->control++ = packControlHEAD;
  packBits(g, type->code, 16);
  for (i = 0; i < pointers; ++i)
    packBits64(g, p[i]);
  return number;
}

/* packHead -- the head of an event of type `type`; it may be new, and in another bank */
static PackHead packHead(Pack pack, Packing g, EventType type, const uint8_t *event)
{
  uint64_t p[packPsMAX] = {0}, hash = type->code;
  unsigned pointers = 0, number, i;

  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'P') {
      p[pointers] = packLoad(event + type->offset[i], type->width[i]);
      hash = packHash(hash, p[pointers++]);
    }
  hash = packHashPlace(pointers > 0 ? hash : packHash(hash, 0));
  number = pack->headOf[hash];
  if (number == 0 || pack->head[number].code != type->code || memcmp(pack->head[number].p, p, sizeof p) != 0)
    pack->headOf[hash] = (uint8_t)(number = packHeadNew(pack, g, type, p, pointers));
  packBank(pack, g, number);
  pack->newest[type->code % packTypeHASH] = (uint8_t)number;
  return &pack->head[number];
}

/* packValues -- see to it that all W and U of an event are in their slots.  FALSE: two would be in the same. */
static Bool packValues(PackModel model, Packing g, EventType type, const uint8_t *event)
{
  uint64_t value[EventParamMAX];
  unsigned i, k, n = 0;

  for (i = 0; i < type->params; ++i)
    if (packIsValue(type->letter[i])) {
      value[n] = packLoad(event + type->offset[i], type->width[i]);
      for (k = 0; k < n; ++k)
        if (value[k] != value[n] && packSlot(value[k]) == packSlot(value[n]))
          return FALSE;
      ++n;
    }
  for (k = 0; k < n; ++k) {
    unsigned slot = packSlot(value[k]);
    if (model->value[slot] != value[k])
      packNewValue(model, g, slot, value[k]);
  }
  return TRUE;
}

/* packEvent -- an event whose values have their slots, and whose time difference is one that an event can have */
static void packEvent(Pack pack, Packing g, EventType type, PackHead head, const uint8_t *event, uint32_t elapsed)
{
  uint8_t *control = g->control++;
  unsigned i, base = head->base, time = pack->time[packLeadingZeros(elapsed)];
  uint64_t payload;

  *control = (uint8_t)(head->first + time);
  for (i = type->params; i-- > 0; )
    if (packIsValue(type->letter[i]))
      base = packSlot(packLoad(event + type->offset[i], type->width[i])); /* at last, the first value's */
  for (i = 0; i < type->params; ++i)
    if (packIsValue(type->letter[i]))
      *g->control++ = (uint8_t)packSlot(packLoad(event + type->offset[i], type->width[i]));
  packBits(g, elapsed, time >> 8);
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'A') {
      uint64_t addr = packUnits(packLoad(event + type->offset[i], type->width[i]));
      unsigned way = packAddr(pack, g->now++, addr, base, &payload);
      if (control != NULL)
        *control = (uint8_t)(*control + way);
      else
        *g->control++ = (uint8_t)way;
      control = NULL;
      if (way >> 8 > packBitsMAX)
        packBits64(g, payload);
      else
        packBits(g, payload, way >> 8);
    }
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'D')
      packBits64(g, packLoad8(event + type->offset[i]));
}

/* packPlain -- whether an event is as long as its type says and nothing stands where padding should be */
static Bool packPlain(EventType type, const uint8_t *event, unsigned length)
{
  Size at = length, size = EventSizeOfLength(length);

  if (length != type->length)
    return FALSE;
  for (; at < size; ++at)
    if (event[at] != 0)
      return FALSE;
  return TRUE;
}

static const uint8_t *packRaw(Packing g, const uint8_t *event, EventHeaderStruct header)
{
  Size size = EventSizeOfLength(header.length), i;

  *g->control++ = packControlRAW;
  for (i = 0; i < size; i += 8)
    packBits64(g, packLoad8(event + i));
  g->time = header.time;
  return event + size;
}

/* packSlow -- one event of any kind; or only what packRun needs to take it.  Returns the place of the next; NULL:
 * not committed, or of a length that cannot be. */
static __attribute__((noinline)) const uint8_t *packSlow(Pack pack, Registry registry, Packing g, const uint8_t *event,
                                                         const uint8_t *limit)
{
  EventHeaderStruct header;
  EventType type;
  PackHead head;
  uint32_t elapsed;

  memcpy(&header, event, sizeof header);
  if (header.code == 0 || (header.length & 0x7fffu) < sizeof header || (header.length & 0x7fffu) > EventSizeMAX ||
      EventSizeOfLength(header.length) > (Size)(limit - event))
    return NULL;
  type = RegistryFind(registry, header.code);
  if (type == NULL || !packCodes(type) || !packPlain(type, event, header.length)) {
    g->count += header.code >= EventCodeFIRST;
    return packRaw(g, event, header);
  }
  head = packHead(pack, g, type, event);
  if (head->mark != packMarkNONE)
    return event;
  ++g->count;
  if (!packValues(&pack->model, g, type, event))
    return packRaw(g, event, header);
  elapsed = packTime(g, 0, header.time - g->time);
  g->time = header.time;
  packEvent(pack, g, type, head, event, elapsed);
  return event + EventSizeOfLength(header.length);
}

/* packUnit -- a time unit that suits the first events */
static unsigned packUnit(const uint8_t *event, const uint8_t *limit)
{
  EventHeaderStruct header;
  unsigned n, bits = 0;
  uint32_t time;

  memcpy(&header, event, sizeof header);
  for (n = 0; n < packSAMPLE && event < limit; ++n) {
    time = header.time;
    memcpy(&header, event, sizeof header);
    bits += 32 - (unsigned)__builtin_clz((header.time - time) | 1);
    event += EventSizeOfLength(header.length);
  }
  n = (bits + n / 2) / n;
  return n < 2 ? 1 : n - 1 > packUnitMAX ? packUnitMAX : n - 1; /* what is a little below the mean is best */
}

/* packStart -- nothing known; the units chosen */
static void packStart(Pack pack, const uint8_t *events, Size used)
{
  uint8_t width[packTimes];
  unsigned bits, i;

  memset(&pack->model, 0, sizeof pack->model);
  memset(pack->seen, 0, sizeof pack->seen);
  memset(pack->when, 0, sizeof pack->when);
  memset(pack->newest, 0, sizeof pack->newest);
  memset(pack->headOf, 0, sizeof pack->headOf);
  pack->head[0].mark = packMarkNONE;
  pack->headNext = 1;
  pack->bank = 0;
  pack->unit = (uint8_t)packUnit(events, events + used);
  packTimeWidths(width, pack->unit);
  for (bits = 0, i = 0; bits <= 32; ++bits) {
    while (bits > width[i] && i + 1 < packTimes)
      ++i;
    pack->time[64 - bits] = (uint16_t)(bits <= width[i] ? width[i] << 8 | i * packWays : 64 << 8);
  }
}

Size BlockPack(Pack pack, Registry registry, const void *events, Size used, uint64_t first, void *out,
               Count *countReturn)
{
  const uint8_t *event = events, *limit = event + used;
  uint8_t *base = out;
  PackingStruct g = {base + packHeaderSIZE, 0, pack->control, (uint32_t)first, 1, 0};
  Size controls, payload;

  *countReturn = 0;
  if (used == 0)
    return 0;
  packStart(pack, events, used);
  g.payload[0] = 0;
  if (pack->run == NULL)
    pack->run = PackRunChoose();
  while (event < limit) {
    event = pack->run(pack, &g, event, limit);
    if (event < limit) {
      const uint8_t *next = packSlow(pack, registry, &g, event, limit);
      if (next == NULL)
        return 0;
      event = next;
    }
  }
  if (event != limit)
    return 0;
  controls = (Size)(g.control - pack->control);
  payload = (Size)((g.at + 7) >> 3);
  base[0] = (uint8_t)controls;
  base[1] = (uint8_t)(controls >> 8);
  base[2] = pack->unit;
  memcpy(g.payload + payload, pack->control, controls);
  *countReturn = g.count;
  return packHeaderSIZE + payload + controls;
}
