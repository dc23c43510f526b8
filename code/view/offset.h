/* offset.h -- by how much the times of logs are shifted, as people write it
 *
 * A list, separated by commas: `FILE=SECONDS` for a log by its name, or SECONDS alone for the log of that place in the
 * order of the command line.
 *
 * Design: design/log.md .offset      Tests: test/offset.t
 */
#ifndef VIEW_OFFSET_H
#define VIEW_OFFSET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* OffsetParse -- what `list` says of `n` paths
 *
 * returns  nanoseconds for each path, 0 for those that are not named; the caller frees them.  NULL: `error` says why.
 * A FILE is a path as it was given, or the last part of one, if no other ends so. */
extern int64_t *OffsetParse(const char *list, const char *const *paths, Count n, char *error, Size size);

#endif /* VIEW_OFFSET_H */
