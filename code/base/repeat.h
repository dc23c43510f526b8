/* repeat.h -- prints a finding that is repeated a few times, and then only counts it
 *
 * Two findings are alike if they differ only in numbers: places, codes, counts.
 *
 * Always true (RepeatCheck): the first `kinds` kinds, and no others, have been counted;  what each is like is a string.
 *
 * Design: design/house.md .repeat      Tests: test/base/repeattest.c
 */
#ifndef BASE_REPEAT_H
#define BASE_REPEAT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { RepeatTOLD = 8, RepeatKINDS = 32, RepeatTEXT = 200 };

typedef struct RepeatKindStruct {
  uint64_t count;
  char like[RepeatTEXT];   /* with N in the place of each number */
} RepeatKindStruct, *RepeatKind;

/* All bytes are zero at first. */
typedef struct RepeatStruct {
  Count kinds;
  RepeatKindStruct kind[RepeatKINDS]; /* the last is that of all for which there was no place */
} RepeatStruct, *Repeat;

/* RepeatFirst -- is the finding one of the first of its kind, which are to be printed? */
extern Bool RepeatFirst(Repeat repeat, const char *what);

/* RepeatSay -- print a line on standard error for each kind of which there were more, and begin anew */
extern void RepeatSay(Repeat repeat, const char *tool);

extern Bool RepeatCheck(Repeat repeat);

#endif /* BASE_REPEAT_H */
