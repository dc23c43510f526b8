/* extractstate.h -- the state dump with which an extract of a log begins
 *
 * Between StateBegin and StateEnd stands a PoolLive for each live object, at one moment before the cut.  What was not
 * settled at the cut (a resize that goes on, an event that waits for another) follows at its own time, still before the
 * cut; so do objects that were had meanwhile.  The cut log's live heap is then the uncut one's at every later time.
 *
 * Design: design/log.md .cut      Tests: test/export/extract.t, test/export/extracttest.c
 */
#ifndef EXPORT_EXTRACTSTATE_H
#define EXPORT_EXTRACTSTATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/rewrite.h"
#include "heap/heap.h"

/* ExtractState -- write what lives in `heap`, in all its processes that are shown, or in the one with this number; it has
 * taken what comes before `from` (ns)
 * thread          by which that process tells it
 * lackingReturn   how many processes have no events to tell that with: theirs is left out
 * returns         ResMEMORY; a failure to write is LogRewriteEnd's to tell */
extern Res ExtractState(Count *lackingReturn, LogRewrite rewrite, Log log, Heap heap, uint64_t from);
extern Res ExtractStateOf(Count *lackingReturn, LogRewrite rewrite, Log log, Heap heap, Index number, HeapThread thread,
                          uint64_t from);

#endif /* EXPORT_EXTRACTSTATE_H */
