/* amsap.c -- allocation points: runs of free memory, one for each thread that allocates
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .ap      Tests: test/ams/amstest.c
 */
#include "ams/amsdata.h"

#include "base/aver.h"

enum {
  amsApLOOKS = 8,  /* segments of a bin that are asked whether they have a run of this size */
  amsApSWEEPS = 32 /* segments that are swept for one run, before a new one is taken */
};

#define amsApUnit(ap, addr) ((Index)(((addr) - (Word)SegBase(&(ap)->seg->seg)) >> PoolAMS((ap)->ap.pool)->shift))

Res AMSAPCreate(AMSAP *apReturn, Pool pool)
{
  AMS ams = PoolAMS(pool);
  AMSAPFull ap;

  AMSClaim(ams);
  ap = UnitsAlloc(&ams->records);
  if (ap != NULL) {
    ap->ap.pool = pool;
    RingInit(&ap->ring);
    RingInsertBefore(&ams->aps, &ap->ring);
  }
  LockRelease(&pool->lock);
  if (ap == NULL)
    return ResMEMORY;
  *apReturn = &ap->ap;
  return ResOK;
}

/* amsApSweep -- sweep its segment, if that was not done yet */
static void amsApSweep(AMS ams, AMSAPFull ap)
{
  if (!ap->unswept)
    return;
  ap->unswept = FALSE;
  --ams->apsUnswept;
  AMSSegSweep(ams, ap->seg);
}

void AMSAPSweepOne(AMS ams)
{
  Ring node = ams->aps.next;

  while (!RING_ELT(struct AMSAPFullStruct, ring, node)->unswept)
    node = node->next;
  amsApSweep(ams, RING_ELT(struct AMSAPFullStruct, ring, node));
}

/* amsApRegister -- the objects below `limit` get their bits, and the tile begins there */
static void amsApRegister(AMS ams, AMSAPFull ap, Word limit)
{
  AMSSegRegister(ams, ap->seg, ap->base, limit);
  ap->base = limit;
  if (ap->seg->kind == AMSSegSMALL && limit < ap->top)
    AMSBitSet(AMSSegBegin(ams, ap->seg), amsApUnit(ap, limit));
}

void AMSAPSettle(AMS ams, AMSAPFull ap)
{
  amsApSweep(ams, ap);
  if (!ap->trapped) /* else that was done when threads were stopped */
    amsApRegister(ams, ap, __atomic_load_n(&ap->ap.init, __ATOMIC_ACQUIRE));
}

static void amsApLimit(AMSAPFull ap, Word limit) { __atomic_store_n(&ap->ap.limit, limit, __ATOMIC_RELAXED); }

void AMSAPFlip(AMS ams, AMSAPFull ap)
{
  if (ap->seg == NULL)
    return;
  if (!ap->trapped)
    ap->initAtFlip = __atomic_load_n(&ap->ap.init, __ATOMIC_ACQUIRE);
  ap->trapped = TRUE;
  amsApLimit(ap, 0);
  amsApRegister(ams, ap, ap->initAtFlip);
  if (ap->seg->kind == AMSSegSMALL)
    AMSSegMarkAll(ap->seg, amsApUnit(ap, ap->base), amsApUnit(ap, ap->top));
  else if (!ap->seg->object)
    *ap->seg->mark = 1;
}

/* amsApUntrap -- its own thread goes on: what was reserved when the collection began is gone */
static void amsApUntrap(AMSAPFull ap)
{
  if (!ap->trapped)
    return;
  ap->trapped = FALSE;
  ap->ap.init = ap->ap.alloc = ap->initAtFlip;
  amsApLimit(ap, ap->top);
}

Bool AMSTrip(AMSAP point, Addr addr)
{
  AMSAPFull ap = AMSAPOf(point);
  AMS ams = PoolAMS(point->pool);
  Bool committed;

  AMSClaim(ams);
  AVER(ap->trapped);
  committed = (Word)addr < ap->initAtFlip;
  amsApUntrap(ap);
  LockRelease(&AMSPool(ams)->lock);
  return committed;
}

static void amsApAttach(AMS ams, AMSAPFull ap, AMSSeg seg, Word base, Word top)
{
  ap->seg = seg;
  seg->ap = ap;
  ap->base = ap->ap.init = ap->ap.alloc = base;
  ap->top = top;
  amsApLimit(ap, top);
  ams->sinceStep += top - base;
  if (seg->kind == AMSSegLARGE) {
    *seg->mark = AMSMarking(ams);
    return;
  }
  seg->free -= (uint32_t)((top - base) >> ams->shift);
  if (AMSMarking(ams))
    AMSSegMarkAll(seg, amsApUnit(ap, base), amsApUnit(ap, top));
}

/* amsApGiveBack -- what is left of the run is a free tile */
static void amsApGiveBack(AMS ams, AMSAPFull ap)
{
  AMSSeg seg = ap->seg;
  Count rest;

  amsApSweep(ams, ap);
  amsApUntrap(ap);
  amsApRegister(ams, ap, ap->ap.init);
  if (seg->kind == AMSSegSMALL) {
    rest = (ap->top - ap->base) >> ams->shift;
    seg->free += (uint32_t)rest;
    if (seg->maxRun < rest)
      seg->maxRun = (uint32_t)rest;
  }
  ap->base = ap->top;
}

/* amsApNext -- a run of at least `n` units in a small segment, at or behind unit `at` */
static Bool amsApNext(AMS ams, AMSAPFull ap, AMSSeg seg, Index at, Count n)
{
  Index first, limit;
  Count skipped = seg->maxRun;
  Bool found = AMSSegRun(&first, &limit, ams, seg, &at, n, &skipped);
  Word base = (Word)SegBase(&seg->seg);

  seg->maxRun = (uint32_t)skipped;
  if (found)
    amsApAttach(ams, ap, seg, base + ((Word)first << ams->shift), base + ((Word)limit << ams->shift));
  return found;
}

/* amsApLeave -- no longer attached to its segment, whose run has been given back */
static void amsApLeave(AMS ams, AMSAPFull ap)
{
  AMSSeg seg = ap->seg;

  ap->seg = NULL;
  seg->ap = NULL;
  ap->base = ap->top = ap->ap.init = ap->ap.alloc = 0;
  amsApLimit(ap, 0);
  if (seg->kind == AMSSegLARGE && !seg->object)
    AMSSegDrop(ams, seg);
  else
    AMSSegFile(ams, seg);
}

/* amsApDetach -- give back what is left of the run.  By its thread, or where that does not use it. */
static void amsApDetach(AMS ams, AMSAPFull ap)
{
  AMSSeg seg = ap->seg;
  Index at, none;
  Count skipped;

  if (seg == NULL)
    return;
  at = seg->kind == AMSSegSMALL ? amsApUnit(ap, ap->top) : 0;
  amsApGiveBack(ams, ap);
  if (seg->kind == AMSSegSMALL) { /* the runs that it has not come to */
    skipped = seg->maxRun;
    (void)AMSSegRun(&none, &none, ams, seg, &at, ams->units + 1, &skipped);
    seg->maxRun = (uint32_t)skipped;
  }
  amsApLeave(ams, ap);
}

void AMSAPDestroy(AMSAP point)
{
  AMSAPFull ap = AMSAPOf(point);
  AMS ams = PoolAMS(point->pool);

  AMSClaim(ams);
  amsApDetach(ams, ap);
  RingRemove(&ap->ring);
  UnitsFree(&ams->records, ap);
  LockRelease(&AMSPool(ams)->lock);
}

/* amsApTake -- a segment that was filed, or has just been swept or made */
static Bool amsApTake(AMS ams, AMSAPFull ap, AMSSeg seg, Count n)
{
  RingRemove(&seg->ring);
  seg->maxRun = 0;
  if (!amsApNext(ams, ap, seg, 0, n))
    NOTREACHED; /* maxRun is what AMSSegRun finds */
  return TRUE;
}

/* amsApFiled -- a run in one of the segments in the bins */
static Bool amsApFiled(AMS ams, AMSAPFull ap, Count n)
{
  unsigned bin = 63u - (unsigned)__builtin_clzll((Word)n), looks = 0;
  Ring node, after;

  RING_FOR(node, &ams->bins[bin], after) {
    AMSSeg seg = RING_ELT(AMSSegStruct, ring, node);
    if (seg->maxRun >= n)
      return amsApTake(ams, ap, seg, n);
    if (++looks == amsApLOOKS)
      break;
  }
  while (++bin < AMSBINS)
    if (!RingIsSingle(&ams->bins[bin]))
      return amsApTake(ams, ap, RING_ELT(AMSSegStruct, ring, ams->bins[bin].next), n);
  return FALSE;
}

/* amsApSwept -- the same in a segment that is swept for it; `most` of them */
static Bool amsApSwept(AMS ams, AMSAPFull ap, Count n, Count most)
{
  for (; most > 0 && !RingIsSingle(&ams->unswept); --most) {
    AMSSeg seg = RING_ELT(AMSSegStruct, ring, ams->unswept.next);
    RingRemove(&seg->ring);
    AMSSegSweep(ams, seg);
    if (amsApFiled(ams, ap, n))
      return TRUE;
  }
  return FALSE;
}

/* amsApSegNew -- a large segment, or a small one if `size` is 0.  What is gone makes room for it. */
static Res amsApSegNew(AMSSeg *segReturn, AMS ams, Size size)
{
  Res res;

  while ((res = size > 0 ? AMSSegNewLarge(segReturn, ams, size) : AMSSegNewSmall(segReturn, ams)) != ResOK &&
         !RingIsSingle(&ams->gone))
    AMSSegGive(ams);
  return res;
}

static Res amsApRefillSmall(AMS ams, AMSAPFull ap, Size size)
{
  Count n = size >> ams->shift;
  AMSSeg seg = ap->seg;
  Res res;

  if (seg != NULL) {
    Index at = seg->kind == AMSSegSMALL ? amsApUnit(ap, ap->top) : 0;
    amsApGiveBack(ams, ap);
    if (seg->kind == AMSSegSMALL && amsApNext(ams, ap, seg, at, n))
      return ResOK;
    amsApLeave(ams, ap);
  }
  if (amsApFiled(ams, ap, n) || amsApSwept(ams, ap, n, amsApSWEEPS))
    return ResOK;
  res = amsApSegNew(&seg, ams, 0);
  if (res == ResOK)
    (void)amsApTake(ams, ap, seg, n);
  else if (amsApSwept(ams, ap, n, SIZE_MAX))
    res = ResOK;
  return res;
}

static Res amsApRefill(AMS ams, AMSAPFull ap, Size size)
{
  AMSSeg seg;
  Res res;

  if (!RingIsSingle(&ams->gone))
    AMSSegGive(ams); /* what an allocation point has left would else wait for the next collection's end */
  if (size <= AMSLargeMIN)
    return amsApRefillSmall(ams, ap, size);
  amsApDetach(ams, ap);
  res = amsApSegNew(&seg, ams, size);
  if (res == ResOK)
    amsApAttach(ams, ap, seg, (Word)SegBase(&seg->seg), (Word)SegBase(&seg->seg) + size);
  return res;
}

/* amsApReserve -- once more, with the lock */
static Res amsApReserve(Addr *addrReturn, AMS ams, AMSAPFull ap, Size size)
{
  Res res = ResOK;

  AMSClaim(ams);
  amsApUntrap(ap);
  if (ap->top - ap->ap.alloc < size)
    res = amsApRefill(ams, ap, size);
  if (res == ResOK) {
    *addrReturn = (Addr)ap->ap.alloc;
    ap->ap.alloc += size;
  }
  LockRelease(&AMSPool(ams)->lock);
  return res;
}

Res AMSFill(Addr *addrReturn, AMSAP point, Size size)
{
  AMSAPFull ap = AMSAPOf(point);
  AMS ams = PoolAMS(point->pool);
  Res res;

  AVER(size > 0 && (size & (ams->format.align - 1)) == 0);
  AMSAuto(ams);
  res = size <= SIZE_MAX / 2 ? amsApReserve(addrReturn, ams, ap, size) : ResMEMORY;
  if (res != ResOK && ams->threshold > 0 && AMSCollectFor(ams, "memory") == ResOK)
    res = amsApReserve(addrReturn, ams, ap, size);
  return res;
}
