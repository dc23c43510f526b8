/* pack.c -- making blocks small
 *
 * Two ways through it that write the same bytes: `packRun` for the events that are nearly all there are, P, A, A and W of a known head,
 * without a branch that depends on what the program does; and `packSlow` for everything else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include <string.h>

#include "base/aver.h"
#include "format/packmodel.h"

enum {
  packKindsMAX = 64,  /* types that packRun can tell from each other, by the low bits of their codes */
  packHeadHASH = 256,
  packHeadNONE = 255,
  packSAMPLE = 64     /* events looked at to choose units */
};

/* A type in use in this block, as packRun wants it. */
typedef struct PackKindStruct {
  uint32_t mark;     /* code, and length << 16; 0 if packRun is not to take it */
  uint8_t value;     /* offset of the W; 0 if there is none */
  uint8_t addr;      /* of the A */
  uint8_t addr2;     /* of the second; 0 if there is none */
  uint8_t first;     /* the head's smallest control byte */
  uint8_t controls;  /* control bytes up to the first address */
  uint8_t head;      /* packHeadNONE if there is none yet */
  uint16_t base;     /* in the model, for addresses without a value; 0 if there is one */
  uint16_t size;     /* of an event */
  uint16_t fast;     /* 1 if packRun can take it */
  uint64_t valued;   /* all ones if it has a W */
  uint64_t pMask;    /* all ones if there is a P, which then is the first parameter */
  uint64_t p;        /* its value */
  EventType type;    /* NULL if this kind is not in use */
  uint64_t reserved[2]; /* up to the size of a cache line, and a power of 2 */
} PackKindStruct, *PackKind;

#define packHASH64 0x9e3779b97f4a7c15u

typedef struct PackHeadStruct {
  uint16_t code;
  uint64_t p[packPsMAX];
} PackHeadStruct, *PackHead;

typedef struct PackingStruct *Packing;
typedef const uint8_t *(*PackRun)(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit);

typedef struct PackStruct {
  PackModelStruct model;
  PackRun run;                  /* packRun for this processor; NULL until it is chosen */
  uint8_t headOf[packHeadHASH]; /* by hash of kind and P's; may forget, and is looked at before it is believed */
  unsigned heads, headNext;
  unsigned bank;                /* of the newest event's head */
  uint8_t unit;                 /* of times */
  uint16_t time[65];            /* by leading zeros of a time difference: width << 8, and the control's part */
  PackKindStruct kind[packKindsMAX];
  PackHeadStruct head[packHeadsMAX];
  uint8_t control[BlockMAX / EventALIGN * 4 + 64];
} PackStruct;

const Size PackSIZE = sizeof(PackStruct);

/* Where packing stands. */
typedef struct PackingStruct {
  uint8_t *next;  /* where the next whole byte of payload goes */
  uint64_t bits;  /* what is not written yet */
  unsigned held;  /* how many bits that is: less than 8 */
  uint8_t *control;
  uint32_t time;  /* of the event before */
  unsigned now;   /* number of the next address */
} PackingStruct;

enum { packBitsMAX = 56 };

/* packBits -- append the low `width` bits, at most packBitsMAX, of `value`, which has no others */
packINLINE void packBits(Packing g, uint64_t value, unsigned width)
{
  uint64_t little;

  g->bits |= value << g->held;
  little = packLittle(g->bits);
  memcpy(g->next, &little, sizeof little);
  g->held += width;
  g->next += g->held >> 3;
  g->bits >>= g->held & ~7u;
  g->held &= 7;
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

/* What to say of an address, by leading zeros of the number to be said and by whether it passed before (then that is, how many passed
 * since; else the distance to the base): the way, and its width << 8. */
static const uint16_t packWay[2 * 64] = {
  [0 ... 31] = packNEAR64 | 64 << 8, [32 ... 41] = packNEAR32 | 32 << 8, [42 ... 44] = packNEAR22 | 22 << 8,
  [45 ... 51] = packNEAR19 | 19 << 8, [52 ... 55] = packNEAR12 | 12 << 8, [56 ... 58] = packNEAR8 | 8 << 8,
  [59 ... 63] = packNEAR5 | 5 << 8,
  [64 + 50 ... 64 + 55] = packBACK14 | 14 << 8, [64 + 56 ... 64 + 59] = packBACK8 | 8 << 8,
  [64 + 60 ... 64 + 61] = packBACK4 | 4 << 8, [64 + 62] = packBACK2 | 2 << 8, [64 + 63] = packSAME
};

/* packAddr -- how to say an address, `now` being its number: as packWay has it, and the number in *payload */
packINLINE unsigned packAddr(PackModel model, unsigned now, uint64_t addr, uint64_t base, uint64_t *payload)
{
  uint64_t place = packPlace(addr);
  uint64_t known = packMask(model->seen[place] == addr);
  uint64_t ago = now - model->when[place];
  int64_t distance = (int64_t)(addr - model->base[base]);
  uint64_t near = (uint64_t)distance << 1 ^ (uint64_t)(distance >> 63);
  uint64_t number = packChoose(known, ago, near);

  model->seen[place] = addr;
  model->when[place] = (uint16_t)now;
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

/* packRun -- pack events from `event` on until there is one that is not for us; returns its place, or `limit` */
packINLINE const uint8_t *packRun(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit)
{
  PackModel model = &pack->model;
  PackingStruct g = *packing;

  while (event < limit) {
    EventHeaderStruct header;
    PackKind kind;
    uint64_t value, payload, slot;
    unsigned way, time, width;
    uint32_t elapsed;

    memcpy(&header, event, sizeof header);
    kind = &pack->kind[header.code % packKindsMAX];
    __asm__("" : "+r"(kind)); /* to be computed once */
    elapsed = header.time - g.time;
    if (UNLIKELY(kind->mark != ((uint32_t)header.length << 16 | header.code)) ||
        UNLIKELY((packLoad8(event + sizeof header) & kind->pMask) != kind->p) || UNLIKELY(elapsed >> packTimeWIDEST))
      break;
    g.time = header.time;
    value = packLoad8(event + kind->value);
    slot = packSlot(value) & kind->valued;
    if (UNLIKELY(((model->value[slot] ^ value) & kind->valued) != 0))
      packNewValue(model, &g, slot, value);
    way = packAddr(model, g.now++, packUnits(packLoad8(event + kind->addr)), kind->base + slot, &payload);
    time = pack->time[packLeadingZeros(elapsed)];
    width = time >> 8;
    g.control[0] = (uint8_t)(kind->first + time + way);
    g.control[1] = (uint8_t)slot;
    g.control += kind->controls;
    width += way >> 8;
    if (UNLIKELY(width > packBitsMAX)) {
      packBits(&g, elapsed, time >> 8);
      packBits64(&g, payload);
    } else {
      packBits(&g, elapsed | payload << (time >> 8), width);
    }
    if (kind->addr2 != 0) {
      way = packAddr(model, g.now++, packUnits(packLoad8(event + kind->addr2)), kind->base + slot, &payload);
      *g.control++ = (uint8_t)way;
      if (UNLIKELY(way >> 8 > packBitsMAX))
        packBits64(&g, payload);
      else
        packBits(&g, payload, way >> 8);
    }
    event += kind->size;
  }
  *packing = g;
  return event;
}

static const uint8_t *packRunPlain(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit)
{
  return packRun(pack, packing, event, limit);
}

#if defined(__x86_64__)

#include <cpuid.h>

__attribute__((target("bmi,bmi2,lzcnt"))) static const uint8_t *packRunBits(Pack pack, Packing packing,
                                                                            const uint8_t *event, const uint8_t *limit)
{
  return packRun(pack, packing, event, limit);
}

/* packRunChoose -- the processor's instructions for bits save a fifth of the time */
static PackRun packRunChoose(void)
{
  unsigned a, b, c, d;

  if (!__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") || !__get_cpuid(0x80000001, &a, &b, &c, &d) ||
      (c & bit_LZCNT) == 0)
    return packRunPlain;
  return packRunBits;
}

#else

static PackRun packRunChoose(void)
{
  return packRunPlain;
}

#endif

/* packLoad -- a parameter as a number; in our own byte order */
static uint64_t packLoad(const uint8_t *place, unsigned width)
{
  uint32_t w4;

  if (width == 8)
    return packLoad8(place);
  memcpy(&w4, place, sizeof w4);
  return w4;
}

/* packUnfast -- packRun is not to take this kind until it has a head again */
static void packUnfast(PackKind kind)
{
  kind->mark = 0;
  kind->pMask = 0;
  kind->p = 1;
  kind->head = packHeadNONE;
}

/* packKindFast -- whether packRun can take events of a type: 8 bytes each, P first if at all, one or two A, at most one W */
static Bool packKindFast(PackKind kind, EventType type)
{
  unsigned i;

  for (i = 0; i < type->params; ++i) {
    uint8_t offset = (uint8_t)type->offset[i];
    if (type->width[i] != 8)
      return FALSE;
    if (type->letter[i] == 'A' && kind->addr == 0)
      kind->addr = offset;
    else if (type->letter[i] == 'A' && kind->addr2 == 0)
      kind->addr2 = offset;
    else if (type->letter[i] == 'W' && kind->value == 0)
      kind->value = offset;
    else if (!(type->letter[i] == 'P' && i == 0))
      return FALSE;
  }
  return kind->addr != 0;
}

/* packKind -- the kind of a type; it takes the place of another one that may stand there */
static PackKind packKind(Pack pack, EventType type)
{
  PackKind kind = &pack->kind[type->code % packKindsMAX];

  if (kind->type != type) {
    memset(kind, 0, sizeof *kind);
    kind->type = type;
    kind->fast = (uint16_t)packKindFast(kind, type);
    kind->size = (uint16_t)EventSizeOfLength(type->length);
    kind->valued = packMask(packValued(type));
    kind->controls = (uint8_t)(1 + (kind->value != 0));
    packUnfast(kind);
  }
  return kind;
}

/* packKindHead -- from here on `kind` has head `number`, whose first P is `p` */
static void packKindHead(PackKind kind, unsigned number, uint64_t p)
{
  kind->head = (uint8_t)number;
  kind->base = (uint16_t)(kind->valued ? 0 : packSlots + number);
  kind->first = (uint8_t)(number % packHeads * packTimes * packWays);
  if (kind->fast) {
    kind->mark = (uint32_t)kind->type->length << 16 | kind->type->code;
    kind->pMask = kind->type->letter[0] == 'P' ? UINT64_MAX : 0;
    kind->p = p & kind->pMask;
  }
}

/* packBank -- make the bank of head `number` the current one.  packRun takes only kinds of the current bank. */
static void packBank(Pack pack, Packing g, unsigned number)
{
  unsigned i;

  if (pack->bank == number / packHeads)
    return;
  pack->bank = number / packHeads;
  *g->control++ = (uint8_t)(packControlBANK + pack->bank);
  for (i = 0; i < packKindsMAX; ++i)
    packUnfast(&pack->kind[i]);
}

/* packHeadNew -- a new head, and say so */
static unsigned packHeadNew(Pack pack, Packing g, uint16_t code, const uint64_t p[packPsMAX], unsigned pointers)
{
  unsigned number = pack->headNext, i;
  PackHead head = &pack->head[number];

  pack->headNext = number + 1 < packHeadsMAX ? number + 1 : packHeads;
  if (number == pack->heads)
    ++pack->heads;
  else if (pack->kind[head->code % packKindsMAX].head == number)
    packUnfast(&pack->kind[head->code % packKindsMAX]);
  head->code = code;
  memcpy(head->p, p, sizeof head->p);
  pack->model.base[packSlots + number] = pack->model.last;
  *g->control++ = packControlHEAD;
  packBits(g, code, 16);
  for (i = 0; i < pointers; ++i)
    packBits64(g, p[i]);
  return number;
}

/* packHead -- make the head of `kind` the one with the P's at `p` */
static void packHead(Pack pack, Packing g, PackKind kind, const uint64_t p[packPsMAX], unsigned pointers)
{
  uint16_t code = kind->type->code;
  unsigned number, i;
  uint64_t hash = code * packHASH64;

  for (i = 0; i < pointers; ++i)
    hash = (hash ^ p[i]) * packHASH64;
  hash >>= 56;
  number = pack->headOf[hash];
  if (number >= pack->heads || pack->head[number].code != code || memcmp(pack->head[number].p, p, sizeof pack->head[number].p) != 0)
    pack->headOf[hash] = (uint8_t)(number = packHeadNew(pack, g, code, p, pointers));
  packBank(pack, g, number);
  if (kind->head != number)
    packKindHead(kind, number, p[0]);
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

/* packEvent -- an event whose kind has its head, and whose values have their slots */
static void packEvent(Pack pack, Packing g, PackKind kind, const uint8_t *event, uint32_t elapsed)
{
  PackModel model = &pack->model;
  EventType type = kind->type;
  uint8_t *control = g->control++;
  unsigned i, base = kind->base, time = pack->time[packLeadingZeros(elapsed)];
  uint64_t payload;

  *control = (uint8_t)(kind->first + time);
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
      unsigned way = packAddr(model, g->now++, addr, base, &payload);
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

static const uint8_t *packRaw(Packing g, const uint8_t *event, Size size)
{
  Size i;

  *g->control++ = packControlRAW;
  for (i = 0; i < size; i += 8)
    packBits64(g, packLoad8(event + i));
  return event + size;
}

/* packSlow -- one event of any kind */
static __attribute__((noinline)) const uint8_t *packSlow(Pack pack, Registry registry, Packing g, const uint8_t *event)
{
  EventHeaderStruct header;
  EventType type;
  PackKind kind;
  uint64_t p[packPsMAX] = {0};
  uint32_t elapsed;
  unsigned i, pointers = 0;

  memcpy(&header, event, sizeof header);
  type = RegistryFind(registry, header.code);
  elapsed = header.time - g->time;
  g->time = header.time;
  if (type == NULL || !packCodes(type) || !packPlain(type, event, header.length) || !packValues(&pack->model, g, type, event))
    return packRaw(g, event, EventSizeOfLength(header.length));
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] == 'P')
      p[pointers++] = packLoad(event + type->offset[i], type->width[i]);
  kind = packKind(pack, type);
  packHead(pack, g, kind, p, pointers);
  if (elapsed >> packTimeWIDEST != 0) {
    *g->control++ = packControlTIME;
    packBits(g, elapsed, 32);
    elapsed = 0;
  }
  packEvent(pack, g, kind, event, elapsed);
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
  memset(pack->kind, 0, sizeof pack->kind);
  pack->heads = pack->headNext = pack->bank = 0;
  pack->unit = (uint8_t)packUnit(events, events + used);
  packTimeWidths(width, pack->unit);
  for (bits = 0, i = 0; bits <= 32; ++bits) {
    while (bits > width[i] && i + 1 < packTimes)
      ++i;
    pack->time[64 - bits] = (uint16_t)(width[i] << 8 | i * packWays);
  }
}

Size BlockPack(Pack pack, Registry registry, const void *events, Size used, uint64_t first, void *out)
{
  const uint8_t *event = events, *limit = event + used;
  uint8_t *base = out;
  PackingStruct g = {base + packHeaderSIZE, 0, 0, pack->control, (uint32_t)first, 1};
  Size controls;

  if (used == 0)
    return 0;
  packStart(pack, events, used);
  if (pack->run == NULL)
    pack->run = packRunChoose();
  while (event < limit) {
    event = pack->run(pack, &g, event, limit);
    if (event < limit)
      event = packSlow(pack, registry, &g, event);
  }
  if (g.held > 0)
    ++g.next;
  controls = (Size)(g.control - pack->control);
  base[0] = (uint8_t)controls;
  base[1] = (uint8_t)(controls >> 8);
  base[2] = pack->unit;
  memcpy(g.next, pack->control, controls);
  return (Size)(g.next - base) + controls;
}
