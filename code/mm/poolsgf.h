/* poolsgf.h -- SGF: the segregated general-purpose pool, which can serve as a program's malloc
 *
 * Objects of like size share a slab; each thread takes from slabs of its own without a lock, and a thread that frees
 * another thread's object passes it back with one atomic operation.  Large objects are segments.  Nothing is written
 * beside the objects: their sizes are found by address.
 *
 * Threads: each has a cache of slabs in each SGF pool that it uses.  SGFThreadExit gives a thread's caches to threads
 * that come later; without it they stay behind, and what others free into them is lost until the pool is destroyed.
 * Signal handlers must not allocate, as with any malloc.
 *
 * Design: design/mm.md .sgf      Tests: test/mm/pooltest.c, test/mm/malloctest.c
 */
#ifndef MM_POOLSGF_H
#define MM_POOLSGF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/pool.h"

typedef struct SGFStruct *SGF;

/* PoolSGF -- the SGF that `pool`, which must be of that class, is */
extern SGF PoolSGF(Pool pool);

/* SGFAlloc -- as PoolAlloc, without event
 *
 * size     0 counts as 1
 * returns  the object; NULL: there is no memory
 * cost     a few instructions while the thread's current slab of that size has a free block
 */
extern void *SGFAlloc(SGF sgf, Size size);

/* SGFAllocZero -- the same, zeroed; memory fresh from the system is not written to */
extern void *SGFAllocZero(SGF sgf, Size size);

/* SGFAllocAligned -- the same at a multiple of `align`, a power of two */
extern void *SGFAllocAligned(SGF sgf, Size size, Size align);

/* SGFFree -- as PoolFree, without event: gives back any SGF pool's object
 * returns  FALSE: `p` is not in an SGF pool, as NULL is not; nothing was done */
extern Bool SGFFree(void *p);

/* SGFResize -- as PoolResize, without event; NULL: there is no memory, and `old`, which is sgf's, lives on */
extern void *SGFResize(SGF sgf, void *old, Size size);

/* SGFUsableSize -- how many bytes the object at `p` really has; 0: it is not in an SGF pool
 * The client may use them all from now on: what is behind a large object is not watched any more. */
extern Size SGFUsableSize(const void *p);

/* SGFThreadExit -- the calling thread is about to end: give its caches to threads that come later
 *
 * It may still allocate and free afterwards, at the cost of a lock, as often as it likes.
 */
extern void SGFThreadExit(void);

/* SGFThreadsWatch -- from here on each thread that gets a cache calls SGFThreadExit when it ends, of itself */
extern void SGFThreadsWatch(void);

#endif /* MM_POOLSGF_H */
