/* poolsgflarge.h -- large objects that were freed lately, kept for the thread that freed them
 *
 * A large object is a segment.  Getting one from the arena costs a lock and a search; so each cache keeps a few of
 * those that its thread freed last, up to SGFLargeKEEP bytes, for objects of about the same size.
 *
 * Always true (SGFLargeCheck):  a kept segment is the pool's, in a plain chunk, of SGFLargeMAX bytes at most, and no
 * object (`large` is FALSE);  largeSize == the sum of their sizes
 *
 * Threads: the cache's own, or who holds the pool's lock of an orphan.
 *
 * Design: design/mm.md .sgf.large      Tests: test/mm/pooltest.c, test/mm/misuse.t
 */
#ifndef MM_POOLSGFLARGE_H
#define MM_POOLSGFLARGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/poolsgfcache.h"

#define SGFLargeKEEP ((Size)2 << 20) /* bytes that a cache keeps */
#define SGFLargeMAX  ((Size)1 << 20) /* bytes of a segment that is kept */

/* SGFLargeTake -- a kept segment that has `size` bytes, and not an eighth more; NULL: none.  Its contents are old. */
extern Slab SGFLargeTake(SGFCache cache, Size size);

/* SGFLargePut -- keep a segment whose object was freed, and give back those that are too much then
 * returns  FALSE: it is not one to be kept */
extern Bool SGFLargePut(SGFCache cache, Slab slab);

/* SGFLargeDrop -- give all back */
extern void SGFLargeDrop(SGFCache cache);

extern Bool SGFLargeCheck(SGFCache cache);

#endif /* MM_POOLSGFLARGE_H */
