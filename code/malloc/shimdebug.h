/* shimdebug.h -- a program's malloc from a debug pool: who allocates and who frees is kept with each object
 *
 * Sites (mm/pooldebug.h) are numbers of stacks (unwind/stacktree.h), whatever stacks events have.  In the child of a
 * fork they mean what they meant in its parent.
 *
 * Design: design/mm.md .debug      Tests: test/mm/debug.t
 */
#ifndef MALLOC_SHIMDEBUG_H
#define MALLOC_SHIMDEBUG_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "malloc/shimnext.h"

/* ShimDebug -- let next->pool, which is of class SGFDebug, serve by the functions of `next` */
extern void ShimDebug(ShimNextStruct *next);

#endif /* MALLOC_SHIMDEBUG_H */
