/* timeparse.h -- parses times as people write them
 *
 * Design: design/log.md .when      Tests: test/log/logwhotest.c
 */
#ifndef FILTER_TIMEPARSE_H
#define FILTER_TIMEPARSE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

/* LogWhen -- `string` as ns since 1970: seconds since the traceset's start; "end-" and seconds before its end, which is
 * where the last block ends that is known when it is opened; or HH:MM:SS with or without a fraction, which is local
 * wall time on the day of the start (or on the next day, if it is before the start and the traceset reaches over
 * midnight).  ResPARAM: none of these. */
extern Res LogWhen(uint64_t *timeReturn, LogSummary summary, const char *string);

#endif /* FILTER_TIMEPARSE_H */
