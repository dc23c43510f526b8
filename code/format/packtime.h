/* packtime.h -- the widths of time differences in a packed block
 *
 * A difference has one of four widths, which depend on the block's unit of times.
 *
 * Design: design/pack.md .pack.time      Tests: test/format/packtest.c
 */
#ifndef FORMAT_PACKTIME_H
#define FORMAT_PACKTIME_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { PackTimePLACES = 65 };

/* PackTimeUnit -- a unit of times that suits the first events from `event` to `limit`, of which there is one at least
 * PackTimeTable -- for each unit, by leading zeros of a difference: its width << 8, and its part of the control byte;
 * 64 << 8 if it is too wide */
extern unsigned PackTimeUnit(const uint8_t *event, const uint8_t *limit);
extern void PackTimeTable(uint16_t table[PackTimePLACES], unsigned unit);

#endif /* FORMAT_PACKTIME_H */
