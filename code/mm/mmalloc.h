/* mmalloc.h -- one SGF pool for the whole process, behind an interface as malloc's
 *
 * For who serves a program's malloc.  Arena and pool are made at the first use.  Nothing here emits an event for an
 * object: whoever wraps these functions annotates.  None changes errno, and none calls the program's malloc.
 *
 * Failure is NULL.  Sizes of 0 count as 1.  Objects are aligned to 16 bytes.  Any thread may free any object.
 *
 * Design: design/mm.md .mmalloc .fork      Tests: test/mm/malloctest.c
 */
#ifndef MM_MMALLOC_H
#define MM_MMALLOC_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/pool.h"

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

/* MMUsableSize -- the bytes that may be used at `p`, an object of ours; 0: it is not ours */
extern Size MMUsableSize(const void *p);

/* MMOwns -- is `p` in our pool?  Any address may be asked about. */
extern Bool MMOwns(const void *p);

/* MMThreadExit -- the calling thread ends: its free memory is for others.  It may still allocate and free.
 * MMThreadsWatch -- from here on each thread that allocates does that of itself when it ends */
extern void MMThreadExit(void);
extern void MMThreadsWatch(void);

/* ---- Forking while other threads are in the memory manager ----
 *
 * A fork copies every lock as it is.  So whoever forks takes all of them first, and both processes release them: the
 * child finds arenas and pools in order.  Caches of threads that the child lacks are as they were in mid-operation: the
 * child never takes a block from them; what it frees into them stays there.
 *
 * Threads: MMForkPrepare in the thread that forks, before it; then MMForkParent there, MMForkChild in the child.
 */

extern void MMForkPrepare(void);
extern void MMForkParent(void);
extern void MMForkChild(void);

#endif /* MM_MMALLOC_H */
