/* repeat.h -- a finding that comes again and again is printed a few times, and then only counted
 *
 * Two are alike if they differ in numbers only: places, codes, counts.
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

/* A caller begins with all bytes zero: no finding was printed yet. */
typedef struct RepeatStruct {
  Count kinds;
  RepeatKindStruct kind[RepeatKINDS]; /* the last is that of all for which there was no place */
} RepeatStruct, *Repeat;

/* RepeatFirst -- is that one of the first of its kind, which is to be told? */
extern Bool RepeatFirst(Repeat repeat, const char *what);

/* RepeatRest -- call `more` for each kind of which there were more, and begin anew */
extern void RepeatRest(Repeat repeat, void (*more)(void *data, uint64_t count, const char *like), void *data);

/* RepeatSay -- the same, as lines of a tool on standard error */
extern void RepeatSay(Repeat repeat, const char *tool);

#endif /* BASE_REPEAT_H */
