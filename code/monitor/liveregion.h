/* liveregion.h -- finds the region of a process that runs, and maps it from outside
 *
 * The region is found among the files that the process has mapped, and is opened by the path that the process itself
 * uses, so that this works in containers and chroots, too.  Then it is shared memory of both.  Nothing is written while
 * it is looked for.
 *
 * True when one is opened: the region is sound, belongs to the caller's user, or, for root, to that of the process, and
 * says that it is the process's.  Later the process may have written anything there.
 *
 * Always true of an open one (LiveRegionCheck), without looking into the region: it is mapped, with room for its slots;
 * `text` is a copy of its newest header block, which was sound.
 *
 * The process may truncate its file at any time; reading there raises SIGBUS then, which tools catch.
 *
 * Design: design/collector.md .control      Tests: test/end/eventctl.t
 */
#ifndef MONITOR_LIVEREGION_H
#define MONITOR_LIVEREGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"
#include "format/header.h"
#include "format/region.h"

enum { LiveRegionEMITTERS = 64 }; /* of one process, at most */

typedef struct LiveRegionStruct {
  uint32_t pid;          /* as the caller sees it */
  Size size;             /* bytes that are mapped */
  RegionHeader region;   /* where */
  dev_t device;          /* of the region's file */
  ino_t inode;
  Count slots;           /* as the region said when it was opened; it may say anything later */
  Bool controlled;       /* the process has mapped the region's control table */
  char *text;            /* a copy of the newest header block */
  Size length;           /* its bytes */
  HeaderStruct header;   /* the same, parsed */
  Count types;           /* types of events in its registry */
  RegistryNameStruct registry; /* the name of the registry */
  char kind[EventKindMAX][16]; /* names of the kinds, "" where a number has none */
} LiveRegionStruct, *LiveRegion;

/* LiveRegionOpen -- find and map a region of process `pid`
 *
 * passed   `count` regions of it that are open already: each of its emitters has one
 * error    room of `size` bytes for a message that names the process when it fails
 * returns  ResFAIL: no such process, not ours, not recorded, or not to be had; ResEND: it has no more than those, and
 *          nothing is said; ResMEMORY
 * cost     reads /proc/PID/maps once; no walk over the region
 */
extern Res LiveRegionOpen(LiveRegion live, uint32_t pid, const LiveRegionStruct *passed, Count count, char *error,
                          Size size);

/* LiveRegionClose -- unmap it, and free the copy; also after a failed LiveRegionOpen */
extern void LiveRegionClose(LiveRegion live);

extern Bool LiveRegionCheck(LiveRegion live);

/* ---- Control: changing what the process records, and asking things of it, through its region ----
 *
 * The annotations of the process read its control table with each event, so a change costs them nothing and holds from
 * the next event on.  The process does what it is asked at its next event, or its collector does it.  Several callers
 * may do this at a time, because the bits of a call are changed in one atomic step.  These use `region` and `pid`
 * alone. */

/* LiveRegionKinds -- the kinds that are sent; or those that the flight recorder keeps while they are not (`buffered`)
 */
extern uint32_t LiveRegionKinds(LiveRegion live, Bool buffered);

/* LiveRegionChoose -- have these kinds sent (or kept by the flight recorder while they are not sent), and no others.
 * Where a kind is switched on to be sent, the process first emits a state dump. */
extern void LiveRegionChoose(LiveRegion live, Bool buffered, uint32_t kinds);

/* LiveRegionWake -- wake the process's collector, which else looks ten times a second.  There is no answer, and no
 * error if it cannot be reached. */
extern void LiveRegionWake(LiveRegion live);

/* LiveRegionWait -- wait until all requests in `what`, a mask of RegionAsk..., are done, `ms` milliseconds at most;
 * FALSE: they are not */
extern Bool LiveRegionWait(LiveRegion live, uint32_t what, unsigned ms);

#endif /* MONITOR_LIVEREGION_H */
