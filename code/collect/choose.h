/* choose.h -- single event types, chosen by their names before anything is recorded
 *
 * Design: design/collector.md .choose      Tests: test/collect.t
 */
#ifndef COLLECT_CHOOSE_H
#define COLLECT_CHOOSE_H

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

#endif /* COLLECT_CHOOSE_H */
