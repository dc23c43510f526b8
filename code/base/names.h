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
 * names    `count` names (at most 32), NULL where a bit has none
 * standard what + and - change
 * error    told when a name is unknown: "no kind is called X; there are Arena, Pool ..."
 * what     the word for what is named: "kind"
 * returns  ResPARAM: a name is unknown; the mask is not set.  No allocation; async-signal safe.
 */
extern Res NamesMask(uint32_t *maskReturn, const char *list, const char *const *names, Count count, uint32_t standard,
                     const char *what, Text error);

enum { NamesLengthMAX = 64, NamesNearMAX = 6 }; /* bytes of a name that are compared; names that are told to be near */

/* NamesDistance -- how far a word of `length` bytes is from a name: how many letters must be put in, left out or
 * replaced to make one the other; case does not count.  NamesLengthMAX: too long to tell. */
extern unsigned NamesDistance(const char *word, Size length, const char *name);

#endif /* BASE_NAMES_H */
