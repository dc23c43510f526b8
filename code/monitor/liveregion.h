/* liveregion.h -- finds the region of a process that runs, and maps it from outside
 *
 * Whoever may look at a process finds its region among the files that it has mapped, opens it as the process itself
 * sees it (so in containers and chroots, too), and shares it from then on.  Nothing is written to by finding it.
 *
 * Always true of an open one (LiveRegionCheck): the region is sound, belongs to the caller's user, or, for root, to that of the
 * process, and says that it is the process's; its newest header block was sound.
 *
 * The process may cut its file short at any time, which kills whoever reads there with SIGBUS; tools catch that.
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
  Size size;             /* of the mapping, */
  RegionHeader region;   /* which begins here */
  dev_t device;          /* of the region's file */
  ino_t inode;
  Count slots;           /* of it, when it was opened: it may say anything later */
  Bool controlled;       /* the process has mapped the region's control table */
  char *text;            /* its newest header block, a copy, */
  Size length;           /* of so many bytes; */
  HeaderStruct header;   /* and what that says */
  Count types;           /* of events, in its registry, */
  RegistryNameStruct registry; /* which has this name */
  char kind[EventKindMAX][16]; /* names of the kinds, "" where a number has none */
} LiveRegionStruct, *LiveRegion;

/* LiveRegionOpen -- find and map a region of process `pid`: of its emitters, that with this number, from 0
 *
 * error    room of `size` bytes for a message that names the process when it fails
 * returns  ResFAIL: no such process, not ours, not recorded, or not to be had; ResEND: it has no more, and nothing is
 *          said; ResMEMORY
 * cost     reads /proc/PID/maps once; no walk over the region
 */
extern Res LiveRegionOpen(LiveRegion live, uint32_t pid, Index number, char *error, Size size);

/* LiveRegionClose -- give it back; also after a failed LiveRegionOpen */
extern void LiveRegionClose(LiveRegion live);

extern Bool LiveRegionCheck(LiveRegion live);

/* ---- Control: changing what the process records, and asking things of it, through its region ----
 *
 * The control table is the process's own: its annotations read it with each event, so a change costs them nothing and
 * holds from the next event on.  What is asked is done by the process at its next event, or by its collector.  Several at
 * a time may do this: bits are changed one by one, atomically.  These use `region` and `pid` alone. */

/* LiveRegionSent, LiveRegionBuffered -- the kinds that are sent, and those that the flight recorder keeps when they are not */
extern uint32_t LiveRegionSent(LiveRegion live);
extern uint32_t LiveRegionBuffered(LiveRegion live);

/* LiveRegionSend -- have these kinds sent, and no others.  Where one is switched on the process first tells what already
 * is. */
extern void LiveRegionSend(LiveRegion live, uint32_t kinds);

/* LiveRegionBuffer -- have the flight recorder keep these kinds while they are not sent, and no others */
extern void LiveRegionBuffer(LiveRegion live, uint32_t kinds);

/* LiveRegionWake -- call the process's collector, which looks no more often than every tenth of a second if nobody does;
 * without an answer, and without a word if it cannot be reached */
extern void LiveRegionWake(LiveRegion live);

/* LiveRegionWait -- until everything in `what` that was asked for is done, `ms` milliseconds at most; FALSE: it is not */
extern Bool LiveRegionWait(LiveRegion live, uint32_t what, unsigned ms);

#endif /* MONITOR_LIVEREGION_H */
