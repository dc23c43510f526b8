/* packtime.c -- the widths of time differences in a packed block
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/packtime.h"

#include "format/packmodel.h"

enum { packSAMPLE = 32 }; /* events looked at to choose the unit */

unsigned PackTimeUnit(const uint8_t *event, const uint8_t *limit)
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

void PackTimeTable(uint16_t table[PackTimePLACES], unsigned unit)
{
  uint8_t width[packTimes];
  unsigned bits, i;

  packTimeWidths(width, unit);
  for (bits = 0, i = 0; bits <= 32; ++bits) {
    while (bits > width[i] && i + 1 < packTimes)
      ++i;
    table[64 - bits] = (uint16_t)(bits <= width[i] ? width[i] << 8 | i * packWays : 64 << 8);
  }
}
