/* exittimes.h -- when the processes of a log ended, by their closing header blocks
 *
 * The collector's event of an end comes when it looks, up to a tenth of a second late, and without a collector there is
 * none.  A closing header block says it as well as anybody knows: the process itself wrote it last of all, or left the
 * time for the collector (ProcessEnding), or was killed, and the collector saw the end before it let any other process begin.
 *
 * Always true: those that are still to come are in order of time, and none of them is before `time`.
 *
 * Design: design/view.md .heap.process      Tests: test/heap/familytest.c, test/emit/fork.t
 */
#ifndef HEAP_EXITTIMES_H
#define HEAP_EXITTIMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

/* An end of which a header tells. */
typedef struct GoneOneStruct {
  uint64_t time;       /* ns */
  Index process;       /* of the log */
} GoneOneStruct, *GoneOne;

/* Those that are still to come, from `next` on; all 0 at first. */
typedef struct GoneStruct {
  Count looked;        /* processes of the log whose headers have been looked at */
  Index next;
  Count count, capacity;
  GoneOne one;         /* owned */
  uint64_t time;       /* of the next; UINT64_MAX: none; 0: nothing has been looked at */
} GoneStruct, *Gone;

/* GoneLook -- look for processes that the log did not have before.  ResMEMORY. */
extern Res GoneLook(Gone gone, Log log);

/* GoneNext -- the next process that ended before `time`; FALSE: there is none */
extern Bool GoneNext(Index *processReturn, uint64_t *timeReturn, Gone gone, uint64_t time);

/* GoneFrom -- go on at the `next`th of them, as if those before had come */
extern void GoneFrom(Gone gone, Index next);

extern void GoneFinish(Gone gone);

#endif /* HEAP_EXITTIMES_H */
