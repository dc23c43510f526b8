/* mallocpool.h -- the SGF pool that serves the malloc of a process, behind functions like malloc's
 *
 * Arena and pool are made at the first use.  Nothing here emits an event for an object: the caller does so.  None
 * changes errno, and none calls the program's malloc.  What needs no pool to be asked is in poolsgf.h: SGFUsableSize,
 * SGFThreadExit, SGFThreadsWatch.
 *
 * Failure is NULL.  Sizes of 0 count as 1.  Objects are aligned to 16 bytes.  Any thread may free any object.
 *
 * Design: design/mm.md .mallocpool      Tests: test/mm/malloctest.c
 */
#ifndef MM_MALLOCPOOL_H
#define MM_MALLOCPOOL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/poolsgf.h"

/* MMDebug -- let the pool be of class SGFDebug; before it is made.  Then only MMPool and the functions for forks, and
 * the class's (pooldebug.h), may be called. */
extern void MMDebug(void);

/* MMPool -- the pool, for annotations; made if need be; NULL: there is no memory for it */
extern Pool MMPool(void);

extern void *MMAlloc(Size size);
extern void *MMAllocZero(Size size);                /* size is the product, which the caller has checked */
extern void *MMAllocAligned(Size size, Size align); /* align must be a power of two */

/* MMFree -- give back an object of the pool's
 * returns  FALSE: `p` is not ours (nor is NULL); nothing was done */
extern Bool MMFree(void *p);

/* MMResize -- `old` must be ours; on failure it lives on */
extern void *MMResize(void *old, Size size);

/* MMOwns -- is `p` in our pool?  Any address may be asked about. */
extern Bool MMOwns(const void *p);

#endif /* MM_MALLOCPOOL_H */
