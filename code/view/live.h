/* live.h -- what lives at a time: arenas, pools and objects of each process
 *
 * Objects are counted by pool, by size, by thread and, where that was recorded, by site; the largest and the oldest are
 * named.  A size class has the sizes from a power of two to below the next.
 *
 * Always true: the objects of a process's pools, classes and threads each sum up to its own.
 *
 * Design: design/view.md .live      Tests: test/live.t
 */
#ifndef VIEW_LIVE_H
#define VIEW_LIVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/request.h"
#include "view/ofprocess.h"

typedef struct LiveStruct *Live;

enum { LiveTopDEFAULT = 10 };

/* LiveCreate -- a view of `log` before `at`, ns of wall time (UINT64_MAX: at its end), with `top` objects and sites in
 * its lists; or at the position, if it is not NULL, which is at that time.  `only` as StateCreate has it; of
 * the processes of `of`, which stays, or, if it is NULL, of all.  ResMEMORY. */
extern Res LiveCreate(Live *liveReturn, Log log, const LogRequestStruct *only, uint64_t at,
                      const LogPositionStruct *position, Count top, OfProcess of);
extern void LiveDestroy(Live live);

/* LiveRequest -- the request that has to be served first */
extern LogRequest LiveRequest(Live live);

/* LiveFinish -- it has been: count.  ResMEMORY. */
extern Res LiveFinish(Live live);

/* LiveText, LiveJson -- print it: for people; as one JSON document */
extern void LiveText(FILE *out, Live live);
extern void LiveJson(FILE *out, Live live);

#endif /* VIEW_LIVE_H */
