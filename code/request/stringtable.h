/* stringtable.h -- strings out of logs, each kept once and known by a number
 *
 * Always true: numbers are 1, 2, ... in order of appearance; 0 is the empty string; what StringsAt returns stays where
 * it is until StringsFinish.  StringsCheck: each string is found by its bytes, and half of the places are empty.
 *
 * Design: design/view.md .drawn      Tests: test/export/drawntest.c
 */
#ifndef REQUEST_STRINGTABLE_H
#define REQUEST_STRINGTABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct StringsStruct {
  Count count;      /* strings, the empty one not counted */
  Count capacity;   /* places in `string`, and twice as many in `place`; a power of 2 */
  struct stringsEntryStruct **string;
  uint32_t *place;  /* by hash: the string's number; 0 for none */
  Bool failed;      /* some string found no memory: what has number 0 may be that one */
} StringsStruct, *Strings;

/* StringsFinish -- free the memory; the table is empty then, as a zeroed one is */
extern void StringsFinish(Strings strings);

extern Bool StringsCheck(Strings strings);

/* StringsAdd -- the number of the string of `length` bytes, which is copied if it is new; 0 if there is no memory */
extern uint32_t StringsAdd(Strings strings, const char *bytes, Size length);

/* StringsAt -- the string with this number, NUL-terminated; its bytes may be any */
extern const char *StringsAt(Strings strings, uint32_t number, Size *lengthReturn);

#endif /* REQUEST_STRINGTABLE_H */
