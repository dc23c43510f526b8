/* packrun.c -- packing of the events that are nearly all there are
 *
 * About a hundred instructions for each, and no branch but for what is rare: what the recorded program allocates and
 * frees next, no processor can guess.
 *
 * Design: design/pack.md .pack.branch      Tests: test/format/packtest.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/aver.h"
#include "format/packing.h"

/* packWide -- the payload of an event, where it is more than can be appended at once */
static __attribute__((noinline)) void packWide(Pack pack, Packing g, unsigned controls, uint32_t elapsed,
                                               uint64_t payload, unsigned way)
{
  elapsed = packTime(g, controls, elapsed);
  packBits(g, elapsed, pack->time[packLeadingZeros(elapsed)] >> 8);
  if (way >> 8 > packBitsMAX)
    packBits64(g, payload);
  else
    packBits(g, payload, way >> 8);
}

/* packAddr2 -- an address behind the first */
packINLINE void packAddr2(Pack pack, Packing g, uint64_t addr, uint64_t base)
{
  uint64_t payload;
  unsigned way = packAddr(pack, g->now++, packUnits(addr), base, &payload);

  *g->control++ = (uint8_t)way;
  if (UNLIKELY(way >> 8 > packBitsMAX))
    packBits64(g, payload);
  else
    packBits(g, payload, way >> 8);
}

/* packRun -- pack events from `event` on until there is one that is not for us; returns its place, or `limit` */
packINLINE const uint8_t *packRun(Pack pack, Packing packing, const uint8_t *event, const uint8_t *limit)
{
  PackModel model = &pack->model;
  PackingStruct g = *packing;

  while (event < limit) {
    EventHeaderStruct header;
    PackHead head;
    uint64_t value, payload, slot;
    unsigned way, time, width;
    uint32_t elapsed;

    memcpy(&header, event, sizeof header);
    head = &pack->head[pack->newest[header.code % packTypeHASH]];
    __asm__("" : "+r"(head)); /* to be computed once */
    elapsed = header.time - g.time;
    if (UNLIKELY(head->mark != ((uint32_t)header.length << 16 | header.code)) ||
        UNLIKELY((packLoad8(event + sizeof header) & head->pMask) != head->p[0])) {
      PackingStruct copy = g; /* so that the address of g itself is not taken */
      head = PackSwitch(pack, &copy, header, event);
      g = copy;
      if (head == NULL)
        break;
    }
    g.time = header.time;
    ++g.count;
    value = packLoad8(event + head->value);
    slot = packSlot(value) & head->valued;
    if (UNLIKELY(((model->value[slot] ^ value) & head->valued) != 0))
      packNewValue(model, &g, slot, value);
    way = packAddr(pack, g.now++, packUnits(packLoad8(event + head->addr)), head->base + slot, &payload);
    time = pack->time[packLeadingZeros(elapsed)];
    width = time >> 8;
    g.control[0] = (uint8_t)(head->first + time + way);
    g.control[1] = (uint8_t)slot;
    g.control += head->controls;
    width += way >> 8;
    if (UNLIKELY(width > packBitsMAX)) {
      PackingStruct copy = g;
      packWide(pack, &copy, head->controls, elapsed, payload, way);
      g = copy;
    } else {
      packBits(&g, elapsed | payload << (time >> 8), width);
    }
    if (head->addr2 != 0)
      packAddr2(pack, &g, packLoad8(event + head->addr2), head->base + slot);
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

/* PackRunChoose -- the processor's instructions for bits save a tenth of the time */
PackRun PackRunChoose(void)
{
  unsigned a, b, c, d;

  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & bit_BMI) == 0 || (b & bit_BMI2) == 0 ||
      !__get_cpuid(0x80000001, &a, &b, &c, &d) || (c & bit_LZCNT) == 0)
    return packRunPlain;
  return packRunBits;
}

#else

PackRun PackRunChoose(void)
{
  return packRunPlain;
}

#endif
