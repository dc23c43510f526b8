/* caveats.h -- what a view without a heap cannot know, a line for each thing: what was left out, discarded or damaged
 *
 * Lines are printed only where there is something to say; JSON has all members.
 *
 * Design: design/view.md .views.caveats      Tests: test/view/events.t
 */
#ifndef VIEW_CAVEATS_H
#define VIEW_CAVEATS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/log.h"

/* CaveatsText -- print the lines
 * CaveatsJson -- print the members of an object, with no comma before or behind them */
extern void CaveatsText(FILE *out, Log log);
extern void CaveatsJson(FILE *out, Log log);

#endif /* VIEW_CAVEATS_H */
