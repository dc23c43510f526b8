/* say.h -- for people: strings and sizes
 *
 * Design: design/view.md .summary      Tests: test/eventview.t
 */
#ifndef VIEW_SAY_H
#define VIEW_SAY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "base/types.h"

/* SayPlain -- a string out of a log: nothing in it may upset a terminal */
extern void SayPlain(FILE *out, const char *string, Size length);

/* SayBytes -- a number of bytes, and in larger units what it comes to */
extern void SayBytes(FILE *out, uint64_t bytes);

#endif /* VIEW_SAY_H */
