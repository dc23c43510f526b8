/* extract.h -- writes a part of a log as a log that can be read alone
 *
 * What is chosen is written as it is.  Besides, unless the part is to be bare: what defines things that events refer to
 * (interned strings and labels, modules, names of threads and processes, arenas and pools), whenever it was said before
 * the end; where the log is cut by time, what lived there (extractstate.h); and what a child of fork has inherited from a
 * process that is not chosen.  So that the cut log can be replayed
 * and shown as if all of it were there.
 *
 * Design: design/log.md .cut      Tests: test/export/extract.t, test/export/extracttest.c
 */
#ifndef EXPORT_EXTRACT_H
#define EXPORT_EXTRACT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/rewrite.h"
#include "heap/processevents.h"

/* ExtractWrite -- read a part of `log`, and write it with `rewrite`, whose end is left to the caller
 *
 * request  what is chosen; its hooks are not called
 * of       the processes that are chosen, whose ancestors the request has, too: their heap is read, and not written; or NULL
 * bare     nothing but what was chosen
 * lackingReturn  processes whose live objects cannot be told, because they have no events for it
 * returns  ResMEMORY, ResIO: reading stopped; a failure to write is LogRewriteEnd's to tell
 * cost     what comes before the part is read, too, as far as the heap and definitions need it: the heap from the nearest
 *          check point on (state.h)
 */
extern Res ExtractWrite(Count *lackingReturn, Log log, LogRewrite rewrite, LogRequest request, OfProcess of, Bool bare);

#endif /* EXPORT_EXTRACT_H */
