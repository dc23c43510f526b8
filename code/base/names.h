/* names.h -- a list of names as a set of bits: how people choose kinds
 *
 * "all", "none", "Arena,Pool" (only these), "+Object", "-Ref,-Seg" (against a default).  Spaces do not count.
 *
 * Tests: test/base/basetest.c
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

/* NamesMask -- the set that `list` chooses
 *
 * names    `count` names: number i stands for bit i % 32.  NULL: no name; "": only `all` means the bit
 * standard what + and - change
 * error    told when a name is unknown: "no kind is called X; there are Arena, Pool ..."
 * returns  ResPARAM: a name is unknown; the mask is not set.  No allocation; async-signal safe.
 */
extern Res NamesMask(uint32_t *maskReturn, const char *list, const char *const *names, Count count, uint32_t standard,
                     Text error);

#endif /* BASE_NAMES_H */
