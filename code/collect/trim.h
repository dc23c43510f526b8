/* trim.h -- a log that stays small: what is oldest is given back to the file system
 *
 * A recording that stays on keeps the newest part of its log.  Whole old blocks become holes in the file: places stay
 * what they are, so others may append and read meanwhile, and the log is sound at every moment.  Blocks of kinds that
 * define things stay as long as they and the newest half of the rest fit; of header blocks those stay that something
 * needs.  A line in a header block that is appended first tells how much has gone.
 *
 * Always true (TrimCheck): all <= frequent <= seen <= the file's size; before `all` stands nothing but headers.
 *
 * Design: design/log.md .dropped, design/format.md .dropped      Tests: test/collect/trimtest.c
 */
#ifndef COLLECT_TRIM_H
#define COLLECT_TRIM_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"

typedef struct TrimStruct *Trim;

enum { TrimLimitMIN = 1 << 20 }; /* bytes: less would hold little but headers */

/* TrimCreate -- keep a log to about `limit` bytes on the disk
 *
 * log      open for reading and for appending; the caller's
 * limit    at least TrimLimitMIN
 * stay     a bit for each kind whose blocks stay as long as they fit
 * returns  ResIO, errno EOPNOTSUPP: the file system cannot give back a part of a file; ResMEMORY, ResPARAM
 */
extern Res TrimCreate(Trim *trimReturn, int log, uint64_t limit, uint32_t stay);

/* TrimNewest -- something was appended: if the log is too large, let an eighth of the limit go
 *
 * returns  ResIO (errno): nothing has gone that is not marked; may be called again
 * cost     reads 128 bytes of each block that came; when something goes, twice those again
 */
extern Res TrimNewest(Trim trim);

/* TrimDropped -- what has gone so far */
extern void TrimDropped(Dropped droppedReturn, Trim trim);

extern void TrimDestroy(Trim trim);
extern Bool TrimCheck(Trim trim);

#endif /* COLLECT_TRIM_H */
