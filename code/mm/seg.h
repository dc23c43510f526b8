/* seg.h -- a segment: a run of an arena's grains that one pool owns
 *
 * A segment's descriptor is not in the segment: it is the entry of its first grain in its chunk's table, so that any
 * address leads to it by arithmetic, and so that descriptors are dense (if each were at the start of its segment, all
 * of them would compete for the same few lines of the cache).  The second half of an entry is the pool's own.
 *
 * Always true (SegCheck):
 *   base is a multiple of ArenaGrainSIZE;  grains > 0
 *   the chunk's table `back` tells of each grain of the segment how far it is from the first; of other grains, 0
 *   an entry that heads no segment has pool == NULL and grains == 0, and its pool's part is zero
 *
 * Threads: SegAlloc, SegFree and SegResize take the arena's lock.  SegOfAddr takes none: the caller knows that the
 * address is in use (then what it finds holds still), or only wants to know whether it is ours.
 *
 * Design: design/mm.md .seg      Tests: test/mm/arenatest.c
 */
#ifndef MM_SEG_H
#define MM_SEG_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "mm/arena.h"

typedef struct PoolStruct *Pool;

typedef struct SegStruct {
  Pool pool;           /* that owns it; NULL: none */
  Count grains;        /* of the whole segment */
  Addr base;           /* its first address */
  RingStruct poolRing; /* the pool's segments; under the arena's lock */
} SegStruct, *Seg;

/* SegEntry -- the descriptor of the grain that `addr` is in; only for addresses in a plain chunk */
static inline Seg SegEntry(const void *addr)
{
  Word chunk = WordAlignDown(addr, ChunkSIZE);

  return (Seg)(chunk + ChunkSegOFFSET + (((Word)addr - chunk) >> ArenaGrainSHIFT) * ChunkSegSTRIDE);
}

/* SegOfAddr -- the segment that `addr` lies in, or NULL.  Any address may be asked about. */
extern Seg SegOfAddr(const void *addr);

#define SegBase(seg)  ((seg)->base)
#define SegSize(seg)  ((Size)(seg)->grains << ArenaGrainSHIFT)
#define SegLimit(seg) ((Addr)((Word)(seg)->base + SegSize(seg)))

/* SegAlloc -- a segment for `pool`
 *
 * segReturn    its pool's part is zero
 * zeroReturn   the segment's memory is known to be zero; may be NULL
 * size         at least 1; rounded up to grains
 * align        of its base; a power of two
 * errors       ResMEMORY
 * cost         a lock and a scan of a small bit table; a system call for each MiB, and for each huge segment
 */
extern Res SegAlloc(Seg *segReturn, Bool *zeroReturn, Pool pool, Size size, Size align);

/* SegAllocToGrow -- the same for what has been growing and may grow more: alone in a chunk, where SegResize does not
 * fail for want of room.  Costs address space, a whole ChunkSIZE at least, and system calls. */
extern Res SegAllocToGrow(Seg *segReturn, Pool pool, Size size);

/* SegFree -- give a segment back to the arena; its descriptor is gone */
extern void SegFree(Seg seg);

/* SegResize -- let a segment have `size` bytes, rounded up to grains, where that needs no copying
 *
 * segIO    a large segment may be moved, with its contents and the pool's part of its descriptor
 * errors   ResFAIL (there is something behind it), ResMEMORY: it stays as it was
 */
extern Res SegResize(Seg *segIO, Size size);

/* SegCheck -- does all hold that must always be true?  The arena's lock is held, or no other thread uses the arena. */
extern Bool SegCheck(Seg seg);

#endif /* MM_SEG_H */
