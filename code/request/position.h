/* position.h -- a place in the one order of a traceset's events
 *
 * A position stands before an event, or between two: it is the key by which events are ordered, and any key is a
 * position, whether or not an event has it.  So positions can be compared without reading anything, and stand for
 * the same place whichever kinds or types somebody reads.  A time is the position before all events of that time.
 *
 * As text a position is TIME/PROCESS/STREAM/SEQUENCE/PLACE: ns of wall time with sixteenths behind a point, the
 * process's identity in hex, and three numbers.  It holds for other openings of the same logs, also together with
 * others; where the clocks' lines changed meanwhile (a log has grown), to the nanosecond or so.
 *
 * Design: design/requests.md .position      Tests: test/request/requesttest.c
 */
#ifndef REQUEST_POSITION_H
#define REQUEST_POSITION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/pawlog.h"

typedef PawPosition LogPositionStruct, *LogPosition;

#define LogPositionFIRST {0, 0, 0, 0, 0}
#define LogPositionLAST  {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}

/* LogPositionCompare -- less than, equal to or greater than 0, as `a` stands before, at or behind `b` */
static inline int LogPositionCompare(const LogPositionStruct *a, const LogPositionStruct *b)
{
  if (a->fine != b->fine)
    return a->fine < b->fine ? -1 : 1;
  if (a->process != b->process)
    return a->process < b->process ? -1 : 1;
  if (a->stream != b->stream)
    return a->stream < b->stream ? -1 : 1;
  if (a->sequence != b->sequence)
    return a->sequence < b->sequence ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

#endif /* REQUEST_POSITION_H */
