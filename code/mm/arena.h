/* arena.h -- an arena owns address space, commits it, and hands it out in grains
 *
 * Address space is reserved in chunks (chunk.h), the first ones at creation, further ones as needed.  Memory that comes
 * back stays committed as spare up to the spare limit, and, where nobody has set that, what was in use lately, too;
 * what is above is decommitted, in each chunk from the top.
 *
 * Always true (ArenaCheck):
 *   committed == grains used + grains spare, headers included, in bytes
 *   committed <= reserved;  spare <= spareLimit (+ what is in use, unless spareFixed);  committed <= commitLimit
 *   plain chunks with a free grain come before those without, and huge chunks with a spare grain before those without
 *
 * Threads: every function may be called by any thread; the arena's lock guards it.  ArenaDestroy only by the last user.
 * Memory: an arena's own data is mapped, never allocated by malloc.
 *
 * Design: design/mm.md .arena      Tests: test/mm/arenatest.c
 */
#ifndef MM_ARENA_H
#define MM_ARENA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/ring.h"
#include "base/types.h"
#include "mm/chunk.h"
#include "mm/lock.h"

typedef struct ArenaStruct {
  Word sig;               /* ArenaSIG */
  RingStruct arenasRing;  /* all arenas of the process; under ArenaRegistryLock */
  RingStruct poolRing;    /* pools of this arena; under ArenaRegistryLock */
  LockStruct lock;        /* for all that follows, and for the rings of the pools' segments */
  RingStruct chunks;      /* plain chunks */
  RingStruct hugeChunks;  /* those with spare grains first */
  Size reserved;          /* bytes */
  Size committed;         /* bytes */
  Size spare;             /* bytes committed that no pool owns */
  Size spareLimit;        /* bytes */
  Bool spareFixed;        /* the limit was asked for: no more is spare, whatever is in use */
  Size peak, peakBefore;  /* bytes in use, the most since `peakSince`, and in the second before that */
  uint64_t peakSince;     /* ns, of CLOCK_MONOTONIC_COARSE */
  Count hugeSpares;       /* huge chunks with spare grains */
  Size commitLimit;       /* bytes */
} ArenaStruct;

#define ArenaSIG ((Word)0x519A7E4A)

#define ArenaSpareLimitDEFAULT ((Size)32 << 20) /* bytes; measured, see design/mm.md .arena.spare */

/* ArenaCreate -- a new arena that reserves `size` bytes at once, rounded up to chunks, at least one.  From then on a
 * fork takes the locks of all arenas and pools, so that the child may use them (forks.c).
 * ArenaMake -- the same without that, for forks.c
 * errors   ResMEMORY */
extern Res ArenaCreate(Arena *arenaReturn, Size size);
extern Res ArenaMake(Arena *arenaReturn, Size size);

/* ArenaDestroy -- give everything back.  The arena's pools must have been destroyed. */
extern void ArenaDestroy(Arena arena);

/* ArenaCheck -- does all hold that must always be true?  Its lock is held, or no other thread uses the arena. */
extern Bool ArenaCheck(Arena arena);

/* ArenaCommitLimitSet -- let the arena commit no more than so many bytes (at first: no limit)
 *
 * What would go beyond gives up spare memory, and then fails as for want of memory: with ResMEMORY.  Descriptors of
 * pools, and what their classes map for themselves, are not counted.
 * errors   ResLIMIT: more is in use, and nothing changes */
extern Res ArenaCommitLimitSet(Arena arena, Size limit);

/* ArenaSpareLimitSet -- let the arena keep so many bytes of memory that no pool owns; what is above goes back to the
 * system at once.  An arena whose limit was never set keeps ArenaSpareLimitDEFAULT, and for a second or two as much as
 * was in use lately, but no more of that than is in use.  The environment may give another limit (poolsettings.h). */
extern void ArenaSpareLimitSet(Arena arena, Size limit);

/* What an arena has, at one moment. */
typedef struct ArenaStatsStruct {
  Size reserved;    /* bytes of address space */
  Size committed;   /* bytes that may be in memory: those of segments, of headers, and spare ones */
  Size spare;       /* bytes of these that no pool owns */
  Size spareLimit;  /* bytes */
  Size commitLimit; /* bytes; SIZE_MAX: none */
  Count chunks;     /* pieces of address space */
  Count hugeChunks; /* those of them that hold one large segment each */
} ArenaStatsStruct, *ArenaStats;

extern void ArenaStatsGet(ArenaStats statsReturn, Arena arena);

/* ArenaGrainsAlloc -- `n` grains in one run, committed; for seg.c, with the arena's lock held
 *
 * chunkReturn, indexReturn   where; a chunk with hugeBase set holds nothing else, and the index is 0
 * zeroReturn                 the memory is known to be zero; NULL: nobody wants to know
 * align                      of the first grain's address; a power of two
 * alone                      in a huge chunk, though it be small
 * errors                     ResMEMORY
 */
extern Res ArenaGrainsAlloc(Chunk *chunkReturn, Index *indexReturn, Bool *zeroReturn, Arena arena, Count n, Size align,
                            Bool alone);

/* ArenaGrainsExtend -- the `more` grains behind a run too, if they are free; ResFAIL if not.  Lock held. */
extern Res ArenaGrainsExtend(Arena arena, Chunk chunk, Index index, Count n, Count more);

/* ArenaGrainsFree -- give a run back; `n` are all of a huge chunk's grains.  Lock held. */
extern void ArenaGrainsFree(Arena arena, Chunk chunk, Index index, Count n);

/* ArenaHugeResize -- `n` grains for the segment in a huge chunk, which keeps its contents as far as they fit.  The
 * chunk may be replaced: the old one, with its header, is gone then.  Lock held.
 * errors   ResMEMORY, and then nothing has changed */
extern Res ArenaHugeResize(Chunk *chunkIO, Arena arena, Count n);

/* ---- Spare memory: between arena.c and arenaspare.c, with the lock held ----
 *
 * A huge chunk has first the grains of its segment, then `spareCount` spare ones; one without a segment is kept for the
 * next, and its header is spare, too.  Chunks with spare grains come before those without, and the ones that had some
 * last come first.
 */

#define ArenaBytes(n)    ((Size)(n) << ArenaGrainSHIFT)
#define ArenaHugeHEADER  ArenaGrainSIZE /* bytes of a huge chunk's header */
#define ArenaChunk(node) RING_ELT(ChunkStruct, ring, node)

/* ArenaChunkSize -- bytes of a chunk
 * ArenaHugeUsed -- how many grains the segment of a huge chunk has; 0: there is none
 * ArenaUsed -- bytes that are in use */
static inline Size ArenaChunkSize(Chunk chunk) { return (Size)((Word)chunk->limit - (Word)chunk->base); }
static inline Count ArenaHugeUsed(Chunk chunk) { return ChunkHugeRoom(chunk) - chunk->freeCount; }
static inline Size ArenaUsed(Arena arena) { return arena->committed - arena->spare; }

/* ArenaHugeSpares -- bytes of a huge chunk that are spare */
static inline Size ArenaHugeSpares(Chunk chunk)
{
  return ArenaBytes(chunk->spareCount) + (ArenaHugeUsed(chunk) == 0 ? ArenaHugeHEADER : 0);
}

/* ArenaHugeSpare -- so many grains of a huge chunk are its segment's from now on, and the next `spare` are spare
 * ArenaHugeDecommit -- decommit the last `n` spare grains of a huge chunk, which goes with them if nothing is left
 * ArenaHugeFew -- not too many huge chunks have spare grains: decommit those of the oldest */
extern void ArenaHugeSpare(Arena arena, Chunk chunk, Count used, Count spare);
extern void ArenaHugeDecommit(Arena arena, Chunk chunk, Count n);
extern void ArenaHugeFew(Arena arena);

/* ArenaPurge -- decommit spare memory until no more than `limit` bytes are left, that of huge chunks first
 * ArenaPurgeHuge -- the same of huge chunks alone */
extern void ArenaPurge(Arena arena, Size limit);
extern void ArenaPurgeHuge(Arena arena, Size limit);

/* ArenaPeak -- the most bytes that were in use within the last second or two; to be called when more is in use
 * ArenaSpareMost -- how many bytes may be spare now */
extern Size ArenaPeak(Arena arena);
extern Size ArenaSpareMost(Arena arena);

/* ArenaTrim -- decommit what is too much, or a piece of it; `huge`: a huge chunk was used last, so that the spare
 * memory of plain ones goes first, which has not been used as lately */
extern void ArenaTrim(Arena arena, Bool huge);

/* ArenaMay -- may the arena commit `more` bytes?  If need be, spare ones go back to the system. */
extern Bool ArenaMay(Arena arena, Size more);

/* ArenaRegistryLock -- guards the list of arenas and each arena's ring of pools; ArenaRegistry is that list */
extern LockStruct ArenaRegistryLock;
extern RingStruct ArenaRegistry;

#endif /* MM_ARENA_H */
