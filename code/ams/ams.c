/* ams.c -- the class AMS: creation, checks, what is alive
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md      Tests: test/ams/amstest.c
 */
#include "ams/amsdata.h"

#include <string.h>

#include "base/aver.h"
#include "mm/pages.h"

enum { amsTHRESHOLD, amsPAUSE, amsQUEUE, amsALIGN, amsHEADER };
static const PoolParamStruct amsParams[] = {
  [amsTHRESHOLD] = { "threshold", 0 },
  [amsPAUSE] = { "pause", 0 },
  [amsQUEUE] = { "queue", 65536 },
  [amsALIGN] = { "align", 16 },
  [amsHEADER] = { "header", 0 },
};

enum {
  amsQueueMIN = 16,
  amsQueueSPARE = 64, /* places that only what is taken from the queue goes back to */
  amsAlignMIN = 8,
  amsAlignMAX = 1024
};

#define amsSidesSIZE      (ChunkSlotCOUNT * sizeof(AMSSide))
#define amsQueueSize(ams) (((ams)->queueMax + amsQueueSPARE + AMSFixedMAX) * sizeof *(ams)->queue)

static Res amsInit(Pool pool, Word value[])
{
  AMS ams = PoolAMS(pool);
  Word align = value[amsALIGN];
  void *queue, *side;
  Index i;

  if (!WordIsPowerOf2(align) || align < amsAlignMIN || align > amsAlignMAX || value[amsQUEUE] < amsQueueMIN ||
      value[amsQUEUE] > UINT32_MAX || value[amsPAUSE] > UINT32_MAX || value[amsHEADER] > AMSLargeMIN ||
      value[amsHEADER] % sizeof(Word) != 0)
    return ResPARAM;
  ams->shift = (unsigned)__builtin_ctzll(align);
  ams->units = ArenaGrainSIZE >> ams->shift;
  ams->words = ams->units / WORD_WIDTH;
  ams->format.align = align;
  ams->format.headerSize = value[amsHEADER];
  ams->threshold = value[amsTHRESHOLD];
  ams->pauseUs = (unsigned)value[amsPAUSE];
  ams->queueMax = value[amsQUEUE];
  UnitsInit(&ams->tables, 2 * ams->words * sizeof(Word));
  UnitsInit(&ams->records, sizeof(union { struct AMSAPFullStruct ap; struct AMSRootStruct root; }));
  RingInit(&ams->aps);
  RingInit(&ams->roots);
  RingInit(&ams->large);
  RingInit(&ams->unswept);
  RingInit(&ams->gone);
  RingInit(&ams->rescan);
  for (i = 0; i < AMSBINS; ++i)
    RingInit(&ams->bins[i]);
  if (PagesMap(&queue, amsQueueSize(ams)) != ResOK)
    return ResMEMORY;
  if (PagesMap(&side, amsSidesSIZE) != ResOK) {
    PagesRelease((Addr)queue, amsQueueSize(ams));
    return ResMEMORY;
  }
  ams->queue = queue;
  ams->fixed = (Word *)queue + ams->queueMax + amsQueueSPARE;
  ams->side = side;
  return ResOK;
}

static void amsFinish(Pool pool)
{
  AMS ams = PoolAMS(pool);

  while (ams->sides != NULL) {
    AMSSide side = ams->sides;
    ams->sides = side->next;
    PagesRelease((Addr)side, AMSSideSize(ams));
  }
  PagesRelease((Addr)ams->side, amsSidesSIZE);
  UnitsFinish(&ams->tables);
  UnitsFinish(&ams->records);
  AMSFinalFinish(ams);
  PagesRelease((Addr)ams->queue, amsQueueSize(ams));
}

/* Objects come from allocation points, and go by themselves. */
static Res amsAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero)
{
  UNUSED(addrReturn);
  UNUSED(pool);
  UNUSED(size);
  UNUSED(align);
  UNUSED(zero);
  return ResPARAM;
}

static void amsFree(Pool pool, Addr addr, Size size)
{
  UNUSED(pool);
  UNUSED(addr);
  UNUSED(size);
  NOTREACHED;
}

static Res amsResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  UNUSED(old);
  UNUSED(oldSize);
  return amsAlloc(addrReturn, pool, size, 1, FALSE);
}

/* ---- The live objects ---- */

static void amsLiveTell(AMS ams, Word addr)
{
  Word limit = (Word)AMSBase(ams, ams->format.skip(AMSRef(ams, addr)));

  EVENT_PAW(PoolLive, AMSPool(ams), (Addr)addr, limit - addr);
  ++AMSPool(ams)->liveCount;
}

/* amsLiveRun -- objects of a run that are committed and have no bits yet.  Its thread may commit more meanwhile: those
 * have events of their own. */
static void amsLiveRun(AMS ams, AMSAPFull ap)
{
  Word init = ap->trapped ? ap->initAtFlip : __atomic_load_n(&ap->ap.init, __ATOMIC_ACQUIRE);
  Word addr;

  for (addr = ap->base; addr < init; addr = (Word)AMSBase(ams, ams->format.skip(AMSRef(ams, addr))))
    amsLiveTell(ams, addr);
}

static void amsLiveSeg(AMS ams, AMSSeg seg)
{
  Word base = (Word)SegBase(&seg->seg), bits;
  Index w;

  if (seg->kind == AMSSegLARGE && seg->object)
    amsLiveTell(ams, base);
  if (seg->kind == AMSSegSMALL)
    for (w = 0; w < ams->words; ++w)
      for (bits = AMSSegObject(ams, seg)[w]; bits != 0; bits &= bits - 1)
        amsLiveTell(ams, base + ((w * WORD_WIDTH + (Word)__builtin_ctzll(bits)) << ams->shift));
}

/* amsLive -- emit all objects.  In the middle of a sweep the segments that were not swept yet still hold dead objects:
 * these get a PoolLive, too, and their PoolReclaim follows when the segment is swept. */
static Bool amsLive(Pool pool, Bool late)
{
  AMS ams = PoolAMS(pool);
  Ring node, after;

  UNUSED(late);
  RING_FOR(node, &pool->segRing, after)
    amsLiveSeg(ams, (AMSSeg)RING_ELT(SegStruct, poolRing, node));
  RING_FOR(node, &ams->aps, after)
    amsLiveRun(ams, RING_ELT(struct AMSAPFullStruct, ring, node));
  return TRUE;
}

static Bool amsCheck(Pool pool)
{
  AMS ams = PoolAMS(pool);
  Ring node;

  for (node = pool->segRing.next; node != &pool->segRing; node = node->next)
    if (!AMSSegCheck(ams, (AMSSeg)RING_ELT(SegStruct, poolRing, node)))
      return FALSE;
  for (node = ams->aps.next; node != &ams->aps; node = node->next) {
    AMSAPFull ap = RING_ELT(struct AMSAPFullStruct, ring, node);
    if (ap->ap.pool != pool || (ap->seg != NULL && ap->seg->ap != ap) || (ap->seg == NULL && ap->ap.limit != 0) ||
        (!ap->trapped && ap->ap.limit != ap->top))
      return FALSE;
  }
  return (ams->epoch & 1) == (Word)AMSMarking(ams) && ams->queueCount <= ams->queueMax + amsQueueSPARE &&
         (ams->phase != AMSPhaseIDLE || (RingIsSingle(&ams->unswept) && RingIsSingle(&ams->rescan) &&
                                         ams->apsUnswept == 0)) &&
         ams->messageNext <= ams->message.count && ams->message.count <= ams->message.capacity;
}

static const PoolClassStruct amsClass = {
  .name = "AMS",
  .instanceSize = sizeof(AMSStruct),
  .params = amsParams,
  .paramCount = ARRAY_LENGTH(amsParams),
  .client = 1u << amsALIGN | 1u << amsHEADER, /* they are the format's */
  .init = amsInit,
  .finish = amsFinish,
  .alloc = amsAlloc,
  .free = amsFree,
  .resize = amsResize,
  .check = amsCheck,
  .live = amsLive,
};

/* amsForked -- in the child of a fork, with all locks: a thread that did a whole collection is not there.  What it left
 * is finished by whoever does the next one. */
static void amsForked(void)
{
  Ring a, p, afterA, afterP;

  RING_FOR(a, &ArenaRegistry, afterA)
    RING_FOR(p, &RING_ELT(ArenaStruct, arenasRing, a)->poolRing, afterP) {
      Pool pool = RING_ELT(PoolStruct, arenaRing, p);
      if (pool->class == &amsClass)
        PoolAMS(pool)->whole = (LockStruct)LockINITIALIZER;
    }
}

Res AMSCreate(Pool *poolReturn, Arena arena, const AMSFormatStruct *format, const PoolParamStruct *params, Count n)
{
  PoolParamStruct all[PoolParamMAX];
  Res res;

  AVER(format->skip != NULL);
  if (n > PoolParamMAX - 2)
    return ResPARAM;
  if (n > 0)
    memcpy(all, params, n * sizeof *all);
  all[n] = (PoolParamStruct){ "align", format->align };
  all[n + 1] = (PoolParamStruct){ "header", format->headerSize };
  res = AMSThreadsFork(amsForked);
  if (res == ResOK)
    res = PoolCreateOf(poolReturn, arena, &amsClass, all, n + 2);
  if (res == ResOK)
    PoolAMS(*poolReturn)->format = *format;
  return res;
}
