/* chunk.c -- bookkeeping of the grains of a chunk
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A chunk has so few grains (a bit table of 16 words) that every search is a scan.
 *
 * Design: design/mm.md .chunk      Tests: test/mm/arenatest.c
 */
#include "mm/chunk.h"

#include "base/aver.h"
#include "emit/event.h"
#include "mm/pages.h"

#define chunkCommitSTEP 16u /* grains made accessible together: a system call for each MiB, not for each segment */

ChunkSlotsStruct ChunkSlots __attribute__((aligned(sizeof(ChunkSlotsStruct))));

_Static_assert(sizeof(ChunkStruct) <= ChunkSegOFFSET, "the chunk's header overlaps its table of segments");

/* chunkSlotsMake -- the table of slots, if there is none yet; arenas may be made at the same time */
static Res chunkSlotsMake(void)
{
  unsigned char *none = NULL;
  void *table;

  if (__atomic_load_n(&ChunkSlots.count, __ATOMIC_ACQUIRE) != 0)
    return ResOK;
  if (PagesMap(&table, ChunkSlotCOUNT) != ResOK)
    return ResMEMORY;
  if (!__atomic_compare_exchange_n(&ChunkSlots.at, &none, (unsigned char *)table, FALSE, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    PagesRelease(table, ChunkSlotCOUNT);
  __atomic_store_n(&ChunkSlots.count, ChunkSlotCOUNT, __ATOMIC_RELEASE);
  return ResOK;
}

static void chunkSlotSet(Chunk chunk, unsigned first, unsigned more)
{
  Word slot = (Word)chunk->base >> ChunkSHIFT;
  Word last = ((Word)chunk->limit - 1) >> ChunkSHIFT;

  AVER(last < ChunkSlotCOUNT);
  __atomic_store_n(&ChunkSlots.at[slot], (unsigned char)first, __ATOMIC_RELEASE);
  while (++slot <= last)
    __atomic_store_n(&ChunkSlots.at[slot], (unsigned char)more, __ATOMIC_RELEASE);
}

Chunk ChunkOfAddr(const void *addr)
{
  Word slot = (Word)addr >> ChunkSHIFT;

  if (ChunkSlot(addr) == ChunkSlotNONE)
    return NULL;
  while (__atomic_load_n(&ChunkSlots.at[slot], __ATOMIC_ACQUIRE) == ChunkSlotHUGEMORE)
    --slot;
  return (Chunk)(slot << ChunkSHIFT);
}

/* -- bit tables of grains -- */

static Bool chunkBit(const Word *table, Index i) { return (table[i / WORD_WIDTH] >> (i % WORD_WIDTH)) & 1; }

/* chunkMask -- the bits of word `w` that belong to grains [i, limit) */
static Word chunkMask(Index w, Index i, Index limit)
{
  Word mask = ~(Word)0;

  if (i > w * WORD_WIDTH)
    mask <<= i % WORD_WIDTH;
  if (limit < (w + 1) * WORD_WIDTH)
    mask &= ~(~(Word)0 << (limit % WORD_WIDTH));
  return mask;
}

static void chunkSet(Word *table, Index i, Count n)
{
  Index w;

  for (w = i / WORD_WIDTH; w * WORD_WIDTH < i + n; ++w)
    table[w] |= chunkMask(w, i, i + n);
}

static void chunkReset(Word *table, Index i, Count n)
{
  Index w;

  for (w = i / WORD_WIDTH; w * WORD_WIDTH < i + n; ++w)
    table[w] &= ~chunkMask(w, i, i + n);
}

static Count chunkCount(const Word *table, Index i, Count n)
{
  Count count = 0;
  Index w;

  for (w = i / WORD_WIDTH; w * WORD_WIDTH < i + n; ++w)
    count += (Count)__builtin_popcountll(table[w] & chunkMask(w, i, i + n));
  return count;
}

/* chunkNext -- the first grain from `i` on whose bit is `bit`; ChunkGRAINS if there is none */
static Index chunkNext(const Word *table, Index i, Bool bit)
{
  Word flip = bit ? 0 : ~(Word)0;
  Index w;

  for (w = i / WORD_WIDTH; w < ChunkGRAINS / WORD_WIDTH; ++w) {
    Word word = (table[w] ^ flip) & chunkMask(w, i, ChunkGRAINS);
    if (word != 0)
      return w * WORD_WIDTH + (Index)__builtin_ctzll(word);
  }
  return ChunkGRAINS;
}

/* chunkIsAll -- are the bits of grains [i, i + n) all `bit`? */
static Bool chunkIsAll(const Word *table, Index i, Count n, Bool bit) { return chunkNext(table, i, !bit) >= i + n; }

/* -- chunks -- */

/* chunkMake -- reserve `whole` bytes for a chunk, and commit `header` bytes at its beginning and `size` bytes from
 * `offset`
 * errors  ResMEMORY */
static Res chunkMake(Chunk *chunkReturn, Arena arena, Size whole, Size align, Size header, Size offset, Size size)
{
  Addr base;
  Chunk chunk;
  Res res = chunkSlotsMake();

  if (res == ResOK)
    res = PagesReserve(&base, whole, align);
  if (res != ResOK)
    return res;
  if ((((Word)base + whole - 1) >> ChunkSHIFT) >= ChunkSlotCOUNT || PagesCommit(base, header) != ResOK ||
      (size > 0 && PagesCommit((Addr)((Word)base + offset), size) != ResOK)) {
    PagesRelease(base, whole);
    return ResMEMORY;
  }
  chunk = (Chunk)(void *)base;
  chunk->sig = ChunkSIG;
  chunk->arena = arena;
  RingInit(&chunk->ring);
  chunk->base = base;
  chunk->limit = (Addr)((Word)base + whole);
  EVENT_PAW(ArenaReserve, arena, base, whole);
  *chunkReturn = chunk;
  return ResOK;
}

Res ChunkCreate(Chunk *chunkReturn, Arena arena)
{
  Chunk chunk;
  Res res = chunkMake(&chunk, arena, ChunkSIZE, ChunkSIZE, ChunkHeaderSIZE, 0, 0);

  if (res != ResOK)
    return res;
  chunkSet(chunk->used, 0, ChunkHeaderGRAINS);
  chunkSet(chunk->touched, 0, ChunkHeaderGRAINS);
  chunk->accessible = ChunkHeaderGRAINS;
  chunk->freeCount = chunk->runBound = ChunkGRAINS - ChunkHeaderGRAINS;
  chunkSlotSet(chunk, ChunkSlotPLAIN, ChunkSlotPLAIN);
  AVER(ChunkCheck(chunk));
  *chunkReturn = chunk;
  return ResOK;
}

Res ChunkCreateHuge(Chunk *chunkReturn, Arena arena, Size size, Size align, Bool reserveOnly)
{
  /* Where the segment begins in the chunk: behind a grain with the header, or at the first aligned place behind it. */
  Size offset = align > ArenaGrainSIZE ? align : ArenaGrainSIZE;
  Size most = (Size)ChunkSlotCOUNT << (ChunkSHIFT - 1);
  Chunk chunk;
  Res res;

  AVER(size > 0);
  AVER(WordAlignDown(size, ArenaGrainSIZE) == size);
  AVER(WordIsPowerOf2(align));
  if (size > most || offset > most)
    return ResMEMORY;
  /* Whole slots, so that no foreign address is ever looked up in a chunk, which another thread might be destroying. */
  res = chunkMake(&chunk, arena, WordAlignUp(offset + size, ChunkSIZE), align > ChunkSIZE ? align : ChunkSIZE,
                  ArenaGrainSIZE, offset, reserveOnly ? 0 : size);
  if (res != ResOK)
    return res;
  chunk->hugeBase = (Addr)((Word)chunk->base + offset);
  chunk->freeCount = ChunkHugeRoom(chunk);
  chunkSlotSet(chunk, ChunkSlotHUGE, ChunkSlotHUGEMORE);
  AVER(ChunkCheck(chunk));
  *chunkReturn = chunk;
  return ResOK;
}

void ChunkDestroy(Chunk chunk)
{
  Addr base = chunk->base;
  Size size = (Size)((Word)chunk->limit - (Word)chunk->base);

  AVER(chunk->sig == ChunkSIG);
  AVER(RingIsSingle(&chunk->ring));
  chunk->sig = 0;
  EVENT_PAW(ArenaRelease, chunk->arena, base, size);
  chunkSlotSet(chunk, ChunkSlotNONE, ChunkSlotNONE);
  PagesRelease(base, size);
}

Res ChunkMove(Chunk from, Size size, Chunk to, Size toSize)
{
  Addr base = from->base, hole = from->hugeBase, limit = from->limit;
  Addr end = (Addr)((Word)hole + size);
  Arena arena = from->arena;
  Res res;

  AVER(RingIsSingle(&from->ring));
  AVER(ChunkIsHuge(from) && ChunkIsHuge(to));
  AVER(size > 0 && size <= toSize);
  /* Moving leaves a hole, which another thread's mmap may fill at once: by then it must not be taken for ours, nor
     be released with the rest. */
  chunkSlotSet(from, ChunkSlotNONE, ChunkSlotNONE);
  res = PagesMove(hole, size, to->hugeBase, toSize);
  if (res != ResOK) {
    chunkSlotSet(from, ChunkSlotHUGE, ChunkSlotHUGEMORE);
    return res;
  }
  EVENT_PAW(ArenaDecommit, arena, hole, size);
  EVENT_PAW(ArenaRelease, arena, base, (Word)limit - (Word)base);
  PagesRelease(base, (Word)hole - (Word)base);
  if (end < limit)
    PagesRelease(end, (Word)limit - (Word)end);
  return ResOK;
}

Bool ChunkFind(Index *indexReturn, Chunk chunk, Count n, Size align)
{
  Index step = align > ArenaGrainSIZE ? align >> ArenaGrainSHIFT : 1;
  Index i = ChunkHeaderGRAINS;

  AVER(n > 0);
  AVER(WordIsPowerOf2(align));
  if (n > chunk->runBound || n > chunk->freeCount || step >= ChunkGRAINS)
    return FALSE;
  for (;;) {
    Index limit;
    i = chunkNext(chunk->used, i, FALSE);
    i = (i + step - 1) & ~(step - 1);
    if (i + n > ChunkGRAINS)
      break;
    limit = chunkNext(chunk->used, i, TRUE);
    if (limit - i >= n) {
      *indexReturn = i;
      return TRUE;
    }
    i = limit > i ? limit : i + 1;
  }
  if (step == 1)
    chunk->runBound = n - 1;
  return FALSE;
}

Bool ChunkIsFree(Chunk chunk, Index i, Count n)
{
  return n <= ChunkGRAINS - i && chunkIsAll(chunk->used, i, n, FALSE);
}

void ChunkCommitTell(Chunk chunk, Index i, Index limit, Bool touched)
{
  Index end;

  while ((i = chunkNext(chunk->touched, i, touched)) < limit) {
    end = chunkNext(chunk->touched, i, !touched);
    if (end > limit)
      end = limit;
    EVENT_PAW(ArenaCommit, chunk->arena, ChunkGrainAddr(chunk, i), (end - i) << ArenaGrainSHIFT);
    i = end;
  }
}

Count ChunkSpare(Chunk chunk, Index i, Count n)
{
  return chunkIsAll(chunk->touched, i, n, TRUE) ? n : chunkCount(chunk->touched, i, n);
}

Res ChunkTake(Count *spareReturn, Chunk chunk, Index i, Count n)
{
  Count spare;

  AVER_CRITICAL(ChunkIsFree(chunk, i, n));
  AVER(n > 0 && i >= ChunkHeaderGRAINS && i + n <= ChunkGRAINS);
  if (i + n > chunk->accessible) {
    Index top = (i + n + chunkCommitSTEP - 1) / chunkCommitSTEP * chunkCommitSTEP;
    Res res;
    if (top > ChunkGRAINS)
      top = ChunkGRAINS;
    res = PagesCommit(ChunkGrainAddr(chunk, chunk->accessible), (top - chunk->accessible) << ArenaGrainSHIFT);
    if (res != ResOK)
      return res;
    chunk->accessible = top;
  }
  spare = ChunkSpare(chunk, i, n);
  if (spare < n)
    ChunkCommitTell(chunk, i, i + n, FALSE);
  chunkSet(chunk->used, i, n);
  chunkSet(chunk->touched, i, n);
  chunk->freeCount -= n;
  chunk->spareCount -= spare;
  *spareReturn = spare;
  return ResOK;
}

void ChunkGive(Chunk chunk, Index i, Count n)
{
  AVER(n > 0 && i >= ChunkHeaderGRAINS && i + n <= ChunkGRAINS);
  AVER(chunkIsAll(chunk->used, i, n, TRUE));
  chunkReset(chunk->used, i, n);
  chunk->freeCount += n;
  chunk->spareCount += n;
  chunk->runBound = chunk->freeCount;
}

Count ChunkPurge(Chunk chunk, Count most)
{
  Count done = 0;
  Index i = ChunkGRAINS;

  AVER(!ChunkIsHuge(chunk));
  AVER(chunk->spareCount <= chunk->freeCount);
  while (done < most && chunk->spareCount > 0 && i > ChunkHeaderGRAINS) {
    Index limit;
    while (!(chunkBit(chunk->touched, i - 1) && !chunkBit(chunk->used, i - 1)))
      --i;
    limit = i;
    while (limit - i < most - done && chunkBit(chunk->touched, i - 1) && !chunkBit(chunk->used, i - 1))
      --i;
    EVENT_PAW(ArenaDecommit, chunk->arena, ChunkGrainAddr(chunk, i), (limit - i) << ArenaGrainSHIFT);
    PagesDecommit(ChunkGrainAddr(chunk, i), (limit - i) << ArenaGrainSHIFT);
    chunkReset(chunk->touched, i, limit - i);
    chunk->spareCount -= limit - i;
    done += limit - i;
  }
  return done;
}

/* chunkLongestRun -- of free grains */
static Count chunkLongestRun(Chunk chunk)
{
  Count longest = 0;
  Index i = 0, limit;

  while ((i = chunkNext(chunk->used, i, FALSE)) < ChunkGRAINS) {
    limit = chunkNext(chunk->used, i, TRUE);
    if (limit - i > longest)
      longest = limit - i;
    i = limit;
  }
  return longest;
}

/* chunkCheckGrains -- the tables of a plain chunk */
static Bool chunkCheckGrains(Chunk chunk)
{
  Count used = chunkCount(chunk->used, 0, ChunkGRAINS);

  return ChunkSlot(chunk) == ChunkSlotPLAIN && chunkIsAll(chunk->used, 0, ChunkHeaderGRAINS, TRUE) &&
         used + chunk->freeCount == ChunkGRAINS &&
         chunkCount(chunk->touched, 0, ChunkGRAINS) == used + chunk->spareCount && chunk->accessible <= ChunkGRAINS &&
         chunkNext(chunk->touched, chunk->accessible, TRUE) == ChunkGRAINS && chunkLongestRun(chunk) <= chunk->runBound;
}

Bool ChunkCheck(Chunk chunk)
{
  return chunk->sig == ChunkSIG && RingCheck(&chunk->ring) && (Chunk)(void *)chunk->base == chunk &&
         WordAlignDown(chunk->base, ChunkSIZE) == (Word)chunk->base &&
         (!ChunkIsHuge(chunk) ? chunkCheckGrains(chunk)
                              : ChunkSlot(chunk) == ChunkSlotHUGE && chunk->base < chunk->hugeBase &&
                                  chunk->hugeBase < chunk->limit && chunk->spareCount <= chunk->freeCount &&
                                  chunk->freeCount <= ChunkHugeRoom(chunk));
}
