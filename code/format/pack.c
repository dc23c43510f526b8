/* pack.c -- packs blocks
 *
 * Two ways through it write the same bytes.  packRun takes the events that are nearly all there are: those with P, A, A
 * and W of a known head.  It takes about a hundred instructions for each, and no branch that depends on what the
 * recorded program does: which object it allocates and frees next, no processor can guess.  packSlow takes all others.
 *
 * Always true: `newest` names only heads of the current bank; what `headOf` names is compared before it is believed.
 *
 * Design: design/pack.md .pack.branch .pack.fast
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/pack.h"

#include "base/aver.h"
#include "format/packmodel.h"
#include "format/packtime.h"

enum {
  packTypeHASH = 64,  /* a table by the low bits of codes */
  packHeadHASH = 256,
  packSeenWIDTH = 10,
  packSeenSIZE = 1 << packSeenWIDTH
};

/* The mark of a head that packRun is not to take: longer than any event, so that nothing that stands in a block is it;
 * zeros, above all, are not. */
#define packMarkNONE 0xffff0000u

/* A head as packRun wants it: one cache line. */
typedef struct PackHeadStruct {
  uint32_t mark;     /* code, and length << 16; or packMarkNONE */
  uint8_t value[2];  /* offsets of the W's; 0 if there is none */
  uint8_t addr[2];   /* of the A's */
  uint8_t first;     /* its smallest control byte */
  uint8_t controls;  /* control bytes up to the first address */
  uint8_t pointers;  /* how many P's */
  uint8_t reserved;
  uint16_t code;
  uint16_t base;     /* in the model, for addresses without a value; 0 if there is one */
  uint64_t valued;   /* all ones if it has a W or U */
  uint64_t pMask;    /* all ones if there is a P, which for packRun is the first parameter */
  uint64_t p[packPsMAX];
} PackHeadStruct, *PackHead;

typedef struct PackingStruct *Packing;
/* PackRun -- pack events from `event` on until there is one that is not for it; returns its place, or `limit` */
typedef const uint8_t *(*PackRun)(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit);

typedef struct PackStruct {
  PackHeadStruct head[1 + packHeadsMAX]; /* the first is none; each other has its number plus one */
  PackModelStruct model;
  uint64_t seen[packSeenSIZE];  /* by hash: an address that passed, */
  uint16_t when[packSeenSIZE];  /* as number so-and-so */
  PackRun run;                  /* packRun for this processor; NULL until it is chosen */
  uint8_t newest[packTypeHASH]; /* by low bits of a code: the newest head of such a type; 0 for none */
  uint8_t headOf[packHeadHASH]; /* by hash of code and P's: a head; may be another one's */
  unsigned headNext;            /* the head that the next new one will be */
  unsigned bank;                /* of the newest event's head */
  uint8_t unit;                 /* of times */
  uint32_t lastTime;            /* of the block that was packed last: PackLastTime */
  uint16_t time[PackTimePLACES];
  uint8_t control[BlockMAX / EventALIGN * 4 + 64];
} PackStruct;

const Size PackSIZE = sizeof(PackStruct);

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

/* packNumber -- append the number of an address, of any width */
packINLINE void packNumber(Packing g, uint64_t number, unsigned width)
{
  if (UNLIKELY(width > packBitsMAX))
    packBits64(g, number);
  else
    packBits(g, number, width);
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

/* ---- Heads ---- */

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

/* packSwitch -- the head of an event for packRun, where it is known but not the newest of its type; or NULL */
static __attribute__((noinline)) PackHead packSwitch(Pack pack, Packing g, EventHeaderStruct header,
                                                     const uint8_t *event)
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

/* ---- The fast way ---- */

/* packWide -- the payload of an event, where it is more than can be appended at once */
static __attribute__((noinline)) void packWide(Pack pack, Packing g, unsigned controls, uint32_t elapsed,
                                               uint64_t payload, unsigned way)
{
  elapsed = packTime(g, controls, elapsed);
  packBits(g, elapsed, pack->time[packLeadingZeros(elapsed)] >> 8);
  packNumber(g, payload, way >> 8);
}

/* packAddr2 -- an address behind the first */
packINLINE void packAddr2(Pack pack, Packing g, uint64_t addr, uint64_t base)
{
  uint64_t payload;
  unsigned way = packAddr(pack, g->now++, packUnits(addr), base, &payload);

  *g->control++ = (uint8_t)way;
  packNumber(g, payload, way >> 8);
}

/* packAlike -- would the two values of a fast event take the same slot?  Then it is copied whole. */
packINLINE Bool packAlike(PackHead head, const uint8_t *event)
{
  uint64_t value, second;

  if (head->value[1] == 0)
    return FALSE;
  value = packLoad8(event + head->value[0]);
  second = packLoad8(event + head->value[1]);
  return packSlot(value) == packSlot(second) && value != second;
}

/* packRun -- pack events from `event` on until there is one that is not for us; returns its place, or `limit` */
packINLINE const uint8_t *packRun(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit)
{
  PackModel model = &pack->model;
  PackingStruct g = *packing;

  while (event < limit) {
    EventHeaderStruct header;
    PackHead head;
    uint64_t value, payload, slot, second = 0;
    unsigned way, time, width;
    uint32_t elapsed;

    memcpy(&header, event, sizeof header);
    head = &pack->head[pack->newest[header.code % packTypeHASH]];
    __asm__("" : "+r"(head)); /* to be computed once */
    elapsed = header.time - g.time;
    if (UNLIKELY(head->mark != ((uint32_t)header.length << 16 | header.code)) ||
        UNLIKELY((packLoad8(event + sizeof header) & head->pMask) != head->p[0])) {
      PackingStruct copy = g; /* so that the address of g itself is not taken */
      head = packSwitch(pack, &copy, header, event);
      g = copy;
      if (head == NULL)
        break;
    }
    if (UNLIKELY(packAlike(head, event)))
      break;
    g.time = header.time;
    ++g.count;
    value = packLoad8(event + head->value[0]);
    slot = packSlot(value) & head->valued;
    if (UNLIKELY(((model->value[slot] ^ value) & head->valued) != 0))
      packNewValue(model, &g, slot, value);
    if (head->value[1] != 0) {
      value = packLoad8(event + head->value[1]);
      second = packSlot(value);
      if (UNLIKELY(model->value[second] != value))
        packNewValue(model, &g, second, value);
    }
    way = packAddr(pack, g.now++, packUnits(packLoad8(event + head->addr[0])), head->base + slot, &payload);
    time = pack->time[packLeadingZeros(elapsed)];
    width = time >> 8;
    g.control[0] = (uint8_t)(head->first + time + way);
    g.control[1] = (uint8_t)slot;
    g.control[2] = (uint8_t)second;
    g.control += head->controls;
    width += way >> 8;
    if (UNLIKELY(width > packBitsMAX)) {
      PackingStruct copy = g;
      packWide(pack, &copy, head->controls, elapsed, payload, way);
      g = copy;
    } else {
      packBits(&g, elapsed | payload << (time >> 8), width);
    }
    if (head->addr[1] != 0)
      packAddr2(pack, &g, packLoad8(event + head->addr[1]), head->base + slot);
    event += header.length; /* which is a multiple of EventALIGN, as all parameters are */
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

/* packRunChoose -- the processor's instructions for bits save a tenth of the time */
static PackRun packRunChoose(void)
{
  unsigned a, b, c, d;

  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & bit_BMI) == 0 || (b & bit_BMI2) == 0 ||
      !__get_cpuid(0x80000001, &a, &b, &c, &d) || (c & bit_LZCNT) == 0)
    return packRunPlain;
  return packRunBits;
}

#else

static PackRun packRunChoose(void)
{
  return packRunPlain;
}

#endif

/* ---- The slow way ---- */

/* packLoad -- a parameter as a number; in our own byte order */
static uint64_t packLoad(const uint8_t *place, unsigned width)
{
  uint32_t w4;

  if (width == 8)
    return packLoad8(place);
  memcpy(&w4, place, sizeof w4);
  return w4;
}

/* packHeadNew -- a new head, and say so.  When all are taken, those that no bank byte is needed for are kept. */
static unsigned packHeadNew(Pack pack, Packing g, EventType type, const uint64_t p[packPsMAX], unsigned pointers)
{
  unsigned number = pack->headNext, i;
  PackHead head = &pack->head[number];

  AVER(number >= 1 && number <= packHeadsMAX);
  AVER(pointers <= packPsMAX);
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
  if (packFast(head->value, head->addr, type))
    head->mark = (uint32_t)type->length << 16 | type->code;
  head->controls = (uint8_t)(1 + (head->value[0] != 0) + (head->value[1] != 0));
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
      packNumber(g, payload, way >> 8);
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
  if (head->mark != packMarkNONE && !packAlike(head, event))
    return event;
  ++g->count;
  if (!packValues(&pack->model, g, type, event))
    return packRaw(g, event, header);
  elapsed = packTime(g, 0, header.time - g->time);
  g->time = header.time;
  packEvent(pack, g, type, head, event, elapsed);
  return event + EventSizeOfLength(header.length);
}

/* packStart -- nothing known; the units chosen */
static void packStart(Pack pack, const uint8_t *events, Size used)
{
  memset(&pack->model, 0, sizeof pack->model);
  memset(pack->seen, 0, sizeof pack->seen);
  memset(pack->when, 0, sizeof pack->when);
  memset(pack->newest, 0, sizeof pack->newest);
  memset(pack->headOf, 0, sizeof pack->headOf);
  pack->head[0].mark = packMarkNONE;
  pack->headNext = 1;
  pack->bank = 0;
  pack->unit = (uint8_t)PackTimeUnit(events, events + used);
  PackTimeTable(pack->time, pack->unit);
}

Size BlockPack(Pack pack, Registry registry, const void *events, Size used, uint64_t first, void *out,
               Count *countReturn)
{
  const uint8_t *event = events, *limit = event + used;
  uint8_t *base = out;
  PackingStruct g = {base + packHeaderSIZE, 0, pack->control, (uint32_t)first, 1, 0};
  Size controls, payload;

  AVER(used <= BlockMAX);
  AVER(used % EventALIGN == 0);
  *countReturn = 0;
  if (used == 0)
    return 0;
  packStart(pack, events, used);
  g.payload[0] = 0;
  if (pack->run == NULL)
    pack->run = packRunChoose();
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
  pack->lastTime = g.time;
  *countReturn = g.count;
  return packHeaderSIZE + payload + controls;
}

uint32_t PackLastTime(Pack pack)
{
  return pack->lastTime;
}
