/* amsseg.c -- segments of an AMS pool: tiles, runs of free ones, sweeping
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .seg .sweep      Tests: test/ams/amstest.c
 */
#include "ams/amsdata.h"

#include <string.h>

#include "base/aver.h"
#include "mm/pages.h"

enum { amsSegPIECE = 256 << 10 }; /* bytes that are given back to the system at a time */

#define amsSegUnits(ams, size) ((Count)((size) >> (ams)->shift))

static Index amsSegUnitOf(AMS ams, AMSSeg seg, Word addr) { return amsSegUnits(ams, addr - (Word)SegBase(&seg->seg)); }
static Word amsSegAddr(AMS ams, AMSSeg seg, Index unit)
{
  return (Word)SegBase(&seg->seg) + ((Word)unit << ams->shift);
}


/* amsSegNext -- the first bit of `table` at or behind `i`, and not in `without` if that is given; `limit` if none */
static Index amsSegNext(const Word *table, const Word *without, Index i, Index limit)
{
  Index w = i / WORD_WIDTH;
  Word word;

  if (i >= limit)
    return limit;
  word = (without != NULL ? table[w] & ~without[w] : table[w]) >> i % WORD_WIDTH << i % WORD_WIDTH;
  while (word == 0) {
    if (++w >= limit / WORD_WIDTH)
      return limit;
    word = without != NULL ? table[w] & ~without[w] : table[w];
  }
  return w * WORD_WIDTH + (Index)__builtin_ctzll(word);
}

/* amsSegSide -- what the pool has in a slot of addresses, made if need be; NULL: no memory */
static AMSSide amsSegSide(AMS ams, Word base)
{
  AMSSide side = AMSSideOf(ams, base);
  void *p;

  if (side == NULL && PagesMap(&p, AMSSideSize(ams)) == ResOK) {
    side = p;
    side->next = ams->sides;
    ams->sides = side;
    __atomic_store_n(&ams->side[base >> ChunkSHIFT], side, __ATOMIC_RELEASE);
  }
  return side;
}

/* amsSegSlot -- the end of the slot that an address is in, or of the segment */
static Word amsSegSlot(AMSSeg seg, Word at)
{
  Word next = WordAlignDown(at, ChunkSIZE) + ChunkSIZE, limit = (Word)SegLimit(&seg->seg);

  return next < limit ? next : limit;
}

/* amsSegKinds -- the first grain of the segment is of this kind, and all others of that */
static void amsSegKinds(AMS ams, AMSSeg seg, uint8_t first, uint8_t rest)
{
  Word base = (Word)SegBase(&seg->seg), at, next;

  for (at = base; at < (Word)SegLimit(&seg->seg); at = next) {
    next = amsSegSlot(seg, at);
    memset(&AMSSideOf(ams, at)->kind[AMSSideGrain(at)], rest, (next - at) >> ArenaGrainSHIFT);
  }
  AMSSideOf(ams, base)->kind[AMSSideGrain(base)] = first;
}

/* amsSegInit -- all but what only small segments have */
static Res amsSegInit(AMS ams, AMSSeg seg, uint8_t kind)
{
  Word base = (Word)SegBase(&seg->seg), at;
  AMSSide side;

  RingInit(&seg->ring);
  RingInit(&seg->rescanRing);
  for (at = base; at < (Word)SegLimit(&seg->seg); at = amsSegSlot(seg, at))
    if (amsSegSide(ams, at) == NULL)
      return ResMEMORY;
  side = AMSSideOf(ams, base);
  seg->mark = &side->mark[AMSSideUnit(ams, base) / WORD_WIDTH];
  AVER(side->kind[AMSSideGrain(base)] == AMSSegNONE);
  amsSegKinds(ams, seg, kind, AMSSegREST);
  memset(seg->mark, 0, kind == AMSSegSMALL ? ams->words * sizeof(Word) : sizeof(Word));
  __atomic_store_n(&seg->kind, kind, __ATOMIC_RELEASE);
  return ResOK;
}

static Res amsSegNew(AMSSeg *segReturn, AMS ams, Size size, Size align, uint8_t kind)
{
  Seg seg;
  Res res = SegAlloc(&seg, NULL, AMSPool(ams), size, align);

  if (res != ResOK)
    return res;
  *segReturn = (AMSSeg)seg;
  res = amsSegInit(ams, *segReturn, kind);
  if (res != ResOK)
    SegFree(seg);
  return res;
}

Res AMSSegNewSmall(AMSSeg *segReturn, AMS ams)
{
  Word *tables = UnitsAlloc(&ams->tables);
  Res res;

  if (tables == NULL)
    return ResMEMORY;
  res = amsSegNew(segReturn, ams, ArenaGrainSIZE, 1, AMSSegSMALL);
  if (res != ResOK) {
    UnitsFree(&ams->tables, tables);
    return res;
  }
  (*segReturn)->tables = tables;
  AMSBitSet(AMSSegBegin(ams, *segReturn), 0);
  (*segReturn)->free = (*segReturn)->maxRun = (uint32_t)ams->units;
  return ResOK;
}

Res AMSSegNewLarge(AMSSeg *segReturn, AMS ams, Size size)
{
  return amsSegNew(segReturn, ams, size, ams->format.align, AMSSegLARGE);
}

void AMSSegFile(AMS ams, AMSSeg seg)
{
  Ring ring = &ams->large;

  AVER(seg->ap == NULL && RingIsSingle(&seg->ring));
  if (seg->kind == AMSSegSMALL)
    ring = &ams->bins[seg->maxRun > 0 ? 63u - (unsigned)__builtin_clzll((Word)seg->maxRun) : 0];
  RingInsertAfter(ring, &seg->ring);
}

Bool AMSSegRun(Index *firstReturn, Index *limitReturn, AMS ams, AMSSeg seg, Index *at, Count n, Count *skipped)
{
  const Word *begin = AMSSegBegin(ams, seg), *object = AMSSegObject(ams, seg);
  Index first, limit;

  for (first = *at; (first = amsSegNext(begin, object, first, ams->units)) < ams->units; first = limit) {
    limit = amsSegNext(begin, NULL, first + 1, ams->units);
    *at = limit;
    if (limit - first >= n) {
      *firstReturn = first;
      *limitReturn = limit;
      return TRUE;
    }
    if (*skipped < limit - first)
      *skipped = limit - first;
  }
  *at = ams->units;
  return FALSE;
}

void AMSSegRegister(AMS ams, AMSSeg seg, Word base, Word limit)
{
  Word addr, next;

  for (addr = base; addr < limit; addr = next) {
    next = (Word)AMSBase(ams, ams->format.skip(AMSRef(ams, addr)));
    AVER(next > addr && next <= limit); /* the format's `skip` says what AMSReserve was asked for */
    AVER((next & (ams->format.align - 1)) == 0);
    if (seg->kind == AMSSegSMALL) {
      Index unit = amsSegUnitOf(ams, seg, addr);
      AMSBitSet(AMSSegBegin(ams, seg), unit);
      AMSBitSet(AMSSegObject(ams, seg), unit);
    } else {
      seg->object = TRUE;
    }
  }
  ams->allocated += limit - base;
  ams->since += limit - base;
  ams->born += limit - base;
}

void AMSSegMarkAll(AMSSeg seg, Index i, Index limit)
{
  Index next;

  for (; i < limit; i = next) {
    Word bits = ~(Word)0 << i % WORD_WIDTH;
    next = WordAlignDown(i, WORD_WIDTH) + WORD_WIDTH;
    if (next > limit)
      bits &= ~(Word)0 >> (next - limit);
    __atomic_store_n(&seg->mark[i / WORD_WIDTH], seg->mark[i / WORD_WIDTH] | bits, __ATOMIC_RELAXED);
  }
}

/* amsSegBefore -- the last bit of `table` at or before `i`; bit 0 is set */
static Index amsSegBefore(const Word *table, Index i)
{
  Index w = i / WORD_WIDTH;
  Word word = table[w] << (WORD_WIDTH - 1 - i % WORD_WIDTH) >> (WORD_WIDTH - 1 - i % WORD_WIDTH);

  while (word == 0)
    word = table[--w];
  return w * WORD_WIDTH + 63 - (Index)__builtin_clzll(word);
}

Addr AMSSegFind(AMS ams, Word addr)
{
  AMSSide side = AMSSideOf(ams, addr);
  AMSSeg seg;
  Index unit;

  /* Before that its chunk is not looked at: others may just give it back, unless there is a segment of ours in it. */
  if (side == NULL || side->kind[AMSSideGrain(addr)] == AMSSegNONE)
    return NULL;
  seg = (AMSSeg)SegOfAddr((const void *)addr);
  AVER_CRITICAL(seg != NULL && seg->seg.pool == AMSPool(ams));
  if (seg->kind == AMSSegLARGE)
    return seg->object ? SegBase(&seg->seg) : NULL;
  unit = amsSegBefore(AMSSegBegin(ams, seg), amsSegUnitOf(ams, seg, addr));
  return AMSBit(AMSSegObject(ams, seg), unit) ? (Addr)amsSegAddr(ams, seg, unit) : NULL;
}

/* ---- Sweeping ---- */

/* amsSegMerge -- make one tile of neighbours that are free, and find out how much is */
static void amsSegMerge(AMS ams, AMSSeg seg)
{
  Word *begin = AMSSegBegin(ams, seg), *object = AMSSegObject(ams, seg);
  AMSAPFull ap = seg->ap;
  Index none = ams->units, run = none, held = none, w;
  Count free = 0, maxRun = 0;

  if (ap != NULL && ap->base < ap->top)
    held = amsSegUnitOf(ams, seg, ap->base);
  for (w = 0; w <= ams->words; ++w) {
    Word bits = w < ams->words ? begin[w] : 1; /* the end is as good as an object */
    if (run == none && w < ams->words && (bits & ~object[w]) == 0)
      continue;
    for (; bits != 0; bits &= bits - 1) {
      Index unit = w * WORD_WIDTH + (Index)__builtin_ctzll(bits);
      if (unit < none && !AMSBit(object, unit) && unit != held) {
        if (run == none)
          run = unit;
        else
          AMSBitReset(begin, unit);
      } else if (run != none) {
        free += unit - run;
        if (maxRun < unit - run)
          maxRun = unit - run;
        run = none;
      }
    }
  }
  ams->reclaimed += (free - seg->free) << ams->shift;
  ams->allocated -= (free - seg->free) << ams->shift;
  seg->free = (uint32_t)free;
  if (ap == NULL) /* otherwise it is what the allocation point has passed over */
    seg->maxRun = (uint32_t)maxRun;
}

/* amsSegTellDead -- emit that objects are gone: `bits` are those of word `w` */
static void amsSegTellDead(AMS ams, AMSSeg seg, Index w, Word bits)
{
  for (; bits != 0; bits &= bits - 1) {
    Word addr = amsSegAddr(ams, seg, w * WORD_WIDTH + (Index)__builtin_ctzll(bits));
    EVENT_PA(PoolReclaim, AMSPool(ams), (Addr)addr);
    UNUSED(addr);
  }
}

static void amsSegSweepSmall(AMS ams, AMSSeg seg)
{
  Word *mark = seg->mark, *object = AMSSegObject(ams, seg), dead = 0;
  Index w;

  for (w = 0; w < ams->words; ++w) {
    if (EVENT_WANTED(EventKindObject))
      amsSegTellDead(ams, seg, w, object[w] & ~mark[w]);
    dead |= object[w] & ~mark[w];
    object[w] &= mark[w];
    __atomic_store_n(&mark[w], 0, __ATOMIC_RELAXED);
  }
  if (dead != 0)
    amsSegMerge(ams, seg);
}

/* amsSegSweepLarge -- FALSE: its object is dead */
static Bool amsSegSweepLarge(AMS ams, AMSSeg seg)
{
  Bool alive = !seg->object || (*seg->mark & 1) != 0;
  Addr base = SegBase(&seg->seg);

  if (!alive) {
    Size size = (Size)((Word)AMSBase(ams, ams->format.skip(AMSRef(ams, base))) - (Word)base);
    ams->reclaimed += size;
    ams->allocated -= size;
    EVENT_PA(PoolReclaim, AMSPool(ams), base);
    seg->object = FALSE;
  }
  __atomic_store_n(seg->mark, 0, __ATOMIC_RELAXED);
  return alive;
}

/* amsSegDestroy -- give a segment back; on no ring */
static void amsSegDestroy(AMS ams, AMSSeg seg)
{
  AVER(seg->ap == NULL && RingIsSingle(&seg->ring));
  RingRemove(&seg->rescanRing);
  if (seg->kind == AMSSegSMALL)
    UnitsFree(&ams->tables, seg->tables);
  amsSegKinds(ams, seg, AMSSegNONE, AMSSegNONE);
  SegFree(&seg->seg);
}

void AMSSegDrop(AMS ams, AMSSeg seg)
{
  if (SegSize(&seg->seg) > amsSegPIECE)
    RingInsertBefore(&ams->gone, &seg->ring);
  else
    amsSegDestroy(ams, seg);
}

/* To give back a large object takes the kernel 0.1 ms or more a MiB: too long for one increment. */
void AMSSegGive(AMS ams)
{
  AMSSeg seg = RING_ELT(AMSSegStruct, ring, ams->gone.next);
  Word from = ams->goneNext != 0 ? ams->goneNext : (Word)SegBase(&seg->seg), limit = (Word)SegLimit(&seg->seg);

  AVER(!RingIsSingle(&ams->gone) && from < limit);
  if (limit - from > amsSegPIECE) {
    PagesDecommit((Addr)from, amsSegPIECE);
    ams->goneNext = from + amsSegPIECE;
    return;
  }
  ams->goneNext = 0;
  RingRemove(&seg->ring);
  amsSegDestroy(ams, seg);
}

void AMSSegSweep(AMS ams, AMSSeg seg)
{
  Size reclaimed = ams->reclaimed;
  Bool empty = FALSE;

  AVER(!seg->rescan);
  if (seg->kind == AMSSegSMALL) {
    amsSegSweepSmall(ams, seg);
    empty = seg->free == ams->units;
  } else {
    empty = !amsSegSweepLarge(ams, seg);
  }
  if (ams->reclaimed > reclaimed)
    EVENT_PPWW(SegReclaim, &seg->seg, AMSPool(ams), ams->reclaimed - reclaimed,
               empty ? 0 : SegSize(&seg->seg) - ((Size)seg->free << ams->shift));
  if (seg->ap != NULL)
    return;
  if (empty)
    AMSSegDrop(ams, seg);
  else
    AMSSegFile(ams, seg);
}

/* ---- Checking ---- */

/* amsSegRunBits -- are all marks of units [i, limit) set? */
static Bool amsSegAllMarked(AMSSeg seg, Index i, Index limit)
{
  for (; i < limit; ++i)
    if (!AMSBit(seg->mark, i))
      return FALSE;
  return TRUE;
}

static Bool amsSegCheckAP(AMS ams, AMSSeg seg)
{
  AMSAPFull ap = seg->ap;
  Index unit;

  if (ap->seg != seg || ap->base > ap->top || ap->base < (Word)SegBase(&seg->seg) ||
      ap->top > (Word)SegLimit(&seg->seg))
    return FALSE;
  if (seg->kind != AMSSegSMALL || ap->base == ap->top)
    return TRUE;
  unit = amsSegUnitOf(ams, seg, ap->base);
  return AMSBit(AMSSegBegin(ams, seg), unit) && !AMSBit(AMSSegObject(ams, seg), unit) &&
         (!AMSMarking(ams) || amsSegAllMarked(seg, unit, amsSegUnitOf(ams, seg, ap->top)));
}

Bool AMSSegCheck(AMS ams, AMSSeg seg)
{
  const Word *begin = AMSSegBegin(ams, seg), *object = AMSSegObject(ams, seg);
  Count free = 0;
  Index w, unit, next;

  if (seg->ap != NULL && !amsSegCheckAP(ams, seg))
    return FALSE;
  if (seg->kind != AMSSegSMALL)
    return seg->kind == AMSSegLARGE && (seg->object || seg->ap != NULL || !RingIsSingle(&seg->ring));
  if (!AMSBit(begin, 0))
    return FALSE;
  for (w = 0; w < ams->words; ++w)
    if ((object[w] & ~begin[w]) != 0 || (ams->phase == AMSPhaseIDLE && seg->mark[w] != 0))
      return FALSE;
  for (unit = 0; unit < ams->units; unit = next) {
    next = amsSegNext(begin, NULL, unit + 1, ams->units);
    if (!AMSBit(object, unit))
      free += next - unit;
  }
  if (seg->ap != NULL)
    free -= amsSegUnits(ams, seg->ap->top - seg->ap->base);
  return free == seg->free;
}
