/* rewritemake.c -- an event that nobody has recorded, in a log that is written again
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stddef.h>
#include <string.h>

#include "base/aver.h"
#include "format/block.h"
#include "log/rewrite.h"

/* makePut -- a number of `width` bytes as its process would have written it */
static void makePut(unsigned char *place, uint64_t value, Size width, Bool swapped)
{
  uint64_t wide = swapped ? __builtin_bswap64(value) : value;
  uint32_t narrow = swapped ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;
  uint16_t half = swapped ? __builtin_bswap16((uint16_t)value) : (uint16_t)value;

  if (width == sizeof wide)
    memcpy(place, &wide, sizeof wide);
  else if (width == sizeof narrow)
    memcpy(place, &narrow, sizeof narrow);
  else if (width == sizeof half)
    memcpy(place, &half, sizeof half);
}

Bool LogRewriteMake(LogRewrite rewrite, LogProcess process, EventType type, uint32_t serial, uint32_t thread,
                    uint64_t ticks, const uint64_t *value)
{
  unsigned char bytes[EventSizeMAX] = {0};
  Bool swapped = process->header.widths.swapped;
  LogEventStruct event = {.process = process, .type = type, .thread = thread, .bytes = bytes,
                          .length = (uint16_t)(type->length + type->strings),
                          .stream = serial << 5 | (uint32_t)type->kind << 1, .cpu = LogCpuUNKNOWN,
                          .fine = LogRewriteFine(rewrite, process, ticks)};
  Index i;

  AVER(EventSizeOfLength(event.length) <= sizeof bytes);
  makePut(bytes + offsetof(EventHeaderStruct, code), type->code, 2, swapped);
  makePut(bytes + offsetof(EventHeaderStruct, length), event.length, 2, swapped);
  makePut(bytes + offsetof(EventHeaderStruct, time), ticks, 4, swapped);
  for (i = 0; i < type->params; ++i)
    makePut(bytes + type->offset[i], value[i], type->width[i], swapped);
  return LogRewritePut(rewrite, &event);
}
