/* eventchoice.h -- eventrec -E: the list of event types to record, from names to a set of codes
 *
 * The set is handed to the programs, which emit no other types.  (The readers' -E is source/openlogs.h.)
 *
 * Design: design/collector.md .choose      Tests: test/collect/collect.t
 */
#ifndef MONITOR_EVENTCHOICE_H
#define MONITOR_EVENTCHOICE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

enum { EventChoiceSIZE = 65536 / 8 }; /* bytes of a set of codes */

/* EventChoiceParse -- parse a list of types, which are separated by commas
 *
 * codesReturn  EventChoiceSIZE bytes: a bit for each code.  Where a type has a caller or a stack, the types that say
 *              which code that is are among them.
 * kindsReturn  their kinds: a bit for each
 * error        told which name is unknown, and the names that are like it
 * returns      ResPARAM: a name is unknown, or there is none
 */
extern Res EventChoiceParse(uint8_t *codesReturn, uint32_t *kindsReturn, const char *list, Text error);

/* EventChoiceAdd -- put a code into a set */
extern void EventChoiceAdd(uint8_t *codes, Index code);

/* EventChoiceCallers -- wrappers emit one of several types of the same event, by whether callers are recorded, and how
 * many: put into the set, too, those that will come in the place of types that were chosen, with what explains their
 * callers
 *
 * caller  what their names end with: "Site", "Stack", or "" for those without callers
 * frees   those of frees have callers, too
 */
extern void EventChoiceCallers(uint8_t *codes, const char *caller, Bool frees);

/* EventChoiceSay -- write the names of a set of types for people: as many as `size` bytes have room for, and the number
 * of the others */
extern void EventChoiceSay(char *room, Size size, const uint8_t *codes);

#endif /* MONITOR_EVENTCHOICE_H */
