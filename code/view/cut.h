/* cut.h -- a part of a log, written as a log that can be read alone
 *
 * What is chosen is written as it is.  Besides, unless the part is to be bare: what defines things that events refer to
 * (interned strings and labels, modules, names of threads and processes, arenas and pools), whenever it was said before
 * the end; and, where the log is cut by time, what lived there (cutstate.h).  So that the cut log can be replayed
 * and shown as if all of it were there.
 *
 * Design: design/log.md .cut      Tests: test/cut.t
 */
#ifndef VIEW_CUT_H
#define VIEW_CUT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/rewrite.h"

typedef struct CutStruct *Cut;

/* CutCreate -- a part of `log`, to be written with `rewrite`, which stays the caller's, as the log and the request do
 * request   what is chosen: bounds, kinds, types, count; its hooks are not called
 * keeps     called for each event that is chosen otherwise, may say FALSE; or NULL.  `data` is handed to it.
 * ResMEMORY. */
extern Res CutCreate(Cut *cutReturn, Log log, LogRewrite rewrite, LogRequest request,
                     Bool (*keeps)(void *data, LogEvent event), void *data);
extern void CutDestroy(Cut cut);

/* CutWrite -- read, and write; LogRewriteEnd is left to the caller
 * bare      nothing but what was chosen
 * lackingReturn  processes whose live objects cannot be told, because they have no events for it
 * ResMEMORY, ResIO: reading stopped. */
extern Res CutWrite(Count *lackingReturn, Cut cut, Bool bare);

#endif /* VIEW_CUT_H */
