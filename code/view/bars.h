/* bars.h -- bars of block characters, for people
 *
 * A block is an eighth of a character at least.  Where the locale says that the terminal has no UTF-8, bars are of
 * whole characters.
 *
 * Design: design/view.md .bars      Tests: test/view/heapviews.t
 */
#ifndef VIEW_BARS_H
#define VIEW_BARS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "base/types.h"

/* BarsBlocks -- may block characters be printed? */
extern Bool BarsBlocks(void);

/* BarsAcross -- print a bar from left to right: of `width` characters if value == most, and of an eighth at least if
 * value > 0; nothing behind it
 * BarsUp -- print one character of a bar that is `height` characters high if value == most: the one that is `row`
 * characters above the lowest */
extern void BarsAcross(FILE *out, uint64_t value, uint64_t most, unsigned width);
extern void BarsUp(FILE *out, uint64_t value, uint64_t most, unsigned height, unsigned row);

#endif /* VIEW_BARS_H */
