/* eventchoice.h -- the choice of single event types, by name, before anything is recorded
 *
 * Design: design/collector.md .choose      Tests: test/collect/collect.t
 */
#ifndef MONITOR_EVENTCHOICE_H
#define MONITOR_EVENTCHOICE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

enum { ChooseSIZE = 65536 / 8 }; /* bytes of a set of codes */

/* ChooseEvents -- the types that `list` names, separated by commas
 *
 * codesReturn  ChooseSIZE bytes: a bit for each code
 * kindsReturn  their kinds: a bit for each
 * error        where there is no such type: which, and those whose names are like it
 * returns      ResPARAM: a name is unknown, or there is none
 */
extern Res ChooseEvents(uint8_t *codesReturn, uint32_t *kindsReturn, const char *list, Text error);

/* ChooseSay -- the names of a set of types, for people: as many as `size` bytes have room for, and how many others */
extern void ChooseSay(char *room, Size size, const uint8_t *codes);

#endif /* MONITOR_EVENTCHOICE_H */
