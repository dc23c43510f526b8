/* inflate.h -- unpacks the zlib format (RFC 1950 and 1951), in which sections of debug information are compressed
 *
 * Neither recursion nor memory besides the output; every input ends.  The checksum at the end must fit.
 *
 * Design: design/symbols.md .compressed      Tests: test/symbols/inflate.t, test/fuzz/fuzzsymbols.c
 */
#ifndef SYMBOLS_INFLATE_H
#define SYMBOLS_INFLATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* No byte of input can become more bytes of output. */
enum { InflateRATIO = 1032 };

/* Inflate -- unpack `size` bytes into exactly `room` bytes at `out`
 * returns  ResFORMAT: the input is damaged, or has less or more than that */
extern Res Inflate(unsigned char *out, Size room, const unsigned char *in, Size size);

#endif /* SYMBOLS_INFLATE_H */
