/* chunk.h -- a piece of address space that an arena has reserved, and which of its grains are in use
 *
 * A plain chunk is ChunkSIZE bytes on a ChunkSIZE boundary: its first grains hold this header and a table with a
 * descriptor (seg.h) for each grain, so that address arithmetic alone leads from an object to its segment.  A huge
 * chunk holds a single segment that would take too much of a plain one, and as many whole slots of ChunkSIZE as that
 * needs. ChunkSlots knows what is in each slot, and so tells our addresses from others without touching them.
 *
 * Always true (ChunkCheck), for a plain chunk, grain by grain:
 *   used                    a segment or the header has it
 *   !used && touched        spare: committed, contents unknown
 *   !touched                zero whenever it is next used
 *   touched <= accessible   nothing at or above `accessible` may be touched
 *   freeCount == grains not used;  spareCount == grains touched and not used;  what is used is touched
 *   no run of free grains is longer than `runBound`
 *
 * A huge chunk has no tables: its segment has the first grains from hugeBase on, the spare ones are those behind them,
 * and freeCount counts these and all others up to its end.
 *
 * Threads: all under the arena's lock, but for ChunkSlots, which anybody reads.
 *
 * Design: design/mm.md .chunk      Tests: test/mm/arenatest.c
 */
#ifndef MM_CHUNK_H
#define MM_CHUNK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/ring.h"
#include "base/types.h"

#define ArenaGrainSHIFT 16
#define ArenaGrainSIZE  ((Size)1 << ArenaGrainSHIFT) /* bytes that an arena hands out and commits at least */

#if UINTPTR_MAX > 0xffffffffu
#define ChunkSHIFT        26
#define ChunkAddressWIDTH 48 /* no Linux gives more without being asked by a hint */
#else
#define ChunkSHIFT        24
#define ChunkAddressWIDTH 32
#endif
#define ChunkSIZE   ((Size)1 << ChunkSHIFT)
#define ChunkGRAINS (ChunkSIZE >> ArenaGrainSHIFT)

#define ChunkSegSTRIDE 128u  /* bytes of a grain's descriptor */
#define ChunkSegOFFSET 4096u /* where the table of descriptors begins */
#define ChunkHeaderSIZE   (ChunkSegOFFSET + ChunkGRAINS * ChunkSegSTRIDE) /* what is accessible of its grains */
#define ChunkHeaderGRAINS ((ChunkHeaderSIZE + ArenaGrainSIZE - 1) >> ArenaGrainSHIFT)

/* What is left of the header's last grain stays inaccessible, so that nobody who writes before the first object comes
 * to the descriptors. */
_Static_assert(ChunkHeaderSIZE % ArenaGrainSIZE != 0, "nothing is left for a guard");

/* More grains than this get a huge chunk of their own, which grows by moving its pages instead of copying. */
#define ChunkRunMAX ((Count)64)

typedef struct ArenaStruct *Arena;

typedef struct ChunkStruct {
  Word sig;            /* ChunkSIG */
  Arena arena;         /* that it belongs to */
  RingStruct ring;     /* the arena's chunks; plain ones without a free grain at the end */
  Addr base, limit;    /* of the mapping, the header included */
  Addr hugeBase;       /* a huge chunk's segment; NULL for a plain chunk */
  Count freeCount;     /* grains */
  Count spareCount;    /* grains */
  Count runBound;      /* grains */
  Index accessible;    /* grains */
  Word used[ChunkGRAINS / (sizeof(Word) * 8)];
  Word touched[ChunkGRAINS / (sizeof(Word) * 8)];
  uint16_t back[ChunkGRAINS]; /* grains from the first one of a grain's segment to it (seg.c) */
} ChunkStruct, *Chunk;

#define ChunkSIG ((Word)0x519C8045)

enum { ChunkSlotNONE = 0, ChunkSlotPLAIN, ChunkSlotHUGE, ChunkSlotHUGEMORE };

#define ChunkSlotCOUNT ((Word)1 << (ChunkAddressWIDTH - ChunkSHIFT))

/* ChunkSlots -- what is at each multiple of ChunkSIZE: ChunkSlotNONE ... ; in memory are only the pages in use.  Before
 * there is any chunk there is no table, and count is 0; afterwards it is ChunkSlotCOUNT. */
typedef struct ChunkSlotsStruct {
  unsigned char *at;
  Word count;
} ChunkSlotsStruct;

extern ChunkSlotsStruct ChunkSlots;

/* ChunkSlot -- ChunkSlotPLAIN if `addr` lies in a plain chunk, and so on; any address may be asked about */
static inline unsigned ChunkSlot(const void *addr)
{
  Word slot = (Word)addr >> ChunkSHIFT;

  return LIKELY(slot < __atomic_load_n(&ChunkSlots.count, __ATOMIC_ACQUIRE))
           ? __atomic_load_n(&ChunkSlots.at[slot], __ATOMIC_RELAXED) : ChunkSlotNONE;
}

/* ChunkOfAddr -- the chunk that `addr` lies in, or NULL.  Any address may be asked about. */
extern Chunk ChunkOfAddr(const void *addr);

/* ChunkCreate -- reserve and prepare a plain chunk for `arena`; none of its grains is committed but the header's
 * errors   ResMEMORY */
extern Res ChunkCreate(Chunk *chunkReturn, Arena arena);

/* ChunkCreateHuge -- reserve a chunk for one segment of `size` bytes, a multiple of the grain, that begins at a
 * multiple of `align` (hugeBase).  The segment is committed unless `reserveOnly`.
 * errors   ResMEMORY */
extern Res ChunkCreateHuge(Chunk *chunkReturn, Arena arena, Size size, Size align, Bool reserveOnly);

/* ChunkDestroy -- release it, whatever is in it; the caller has taken it off the arena's ring */
extern void ChunkDestroy(Chunk chunk);

/* ChunkMove -- move the first `size` bytes of huge chunk `from`, which is off the ring, to huge chunk `to`, which was
 * made with `reserveOnly` and has then `toSize` bytes committed.  `from` is gone afterwards.
 * errors   ResMEMORY, and then nothing has changed */
extern Res ChunkMove(Chunk from, Size size, Chunk to, Size toSize);

/* ChunkFind -- the first run of `n` free grains whose address is a multiple of `align`; FALSE if there is none */
extern Bool ChunkFind(Index *indexReturn, Chunk chunk, Count n, Size align);

/* ChunkIsFree -- are grains [i, i + n) free? */
extern Bool ChunkIsFree(Chunk chunk, Index i, Count n);

/* ChunkSpare -- how many of grains [i, i + n), which are free, are spare */
extern Count ChunkSpare(Chunk chunk, Index i, Count n);

/* ChunkTake -- mark free grains used and make them accessible
 *
 * spareReturn   how many of them were spare; if none, they are zero
 * errors        ResMEMORY, and then nothing has changed
 */
extern Res ChunkTake(Count *spareReturn, Chunk chunk, Index i, Count n);

/* ChunkGive -- grains that were used are spare */
extern void ChunkGive(Chunk chunk, Index i, Count n);

/* ChunkPurge -- decommit the highest spare grains, `most` at most; returns how many */
extern Count ChunkPurge(Chunk chunk, Count most);

/* ChunkCommitTell -- emit ArenaCommit for each run of grains in [i, limit) that are `touched`: what there is; or are
 * not: what is about to be used, and was not committed */
extern void ChunkCommitTell(Chunk chunk, Index i, Index limit, Bool touched);

#define ChunkGrainAddr(chunk, i) ((Addr)((Word)(chunk) + ((Word)(i) << ArenaGrainSHIFT)))
#define ChunkHugeRoom(chunk)     (((Word)(chunk)->limit - (Word)(chunk)->hugeBase) >> ArenaGrainSHIFT) /* grains */
#define ChunkIsHuge(chunk)       ((chunk)->hugeBase != NULL)
#define ChunkIsEmpty(chunk)      ((chunk)->freeCount == ChunkGRAINS - ChunkHeaderGRAINS)

/* ChunkCheck -- does all hold that must always be true?  The arena's lock is held, or no other thread is there. */
extern Bool ChunkCheck(Chunk chunk);

#endif /* MM_CHUNK_H */
