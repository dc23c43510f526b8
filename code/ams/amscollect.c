/* amscollect.c -- a collection from its beginning to its end, in increments
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .phase .pause      Tests: test/ams/amstest.c, test/ams/graphtest.c
 */
#include "ams/amsdata.h"

#include <sched.h>
#include <string.h>

#include "base/aver.h"

enum {
  amsCollectUS = 100,             /* us of an increment of a whole collection, after which others get the lock */
  amsCollectYIELDS = 100,         /* that it waits for them */
  amsCollectBYTES = 32 << 10      /* that are given out before the pool's own next increment */
};

/* amsCollectEpoch -- from here on objects are marked, or no longer */
static void amsCollectEpoch(AMS ams, AMSPhase phase)
{
  ams->phase = phase;
  __atomic_store_n(&ams->epoch, ams->epoch + 1, __ATOMIC_RELEASE);
  AVER((ams->epoch & 1) == (Word)AMSMarking(ams));
}

/* amsCollectFlip -- threads are stopped: what exists is condemned, what roots refer to is marked */
static void amsCollectFlip(AMS ams)
{
  Ring node, after;

  ams->stopped = TRUE;
  RING_FOR(node, &ams->aps, after)
    AMSAPFlip(ams, RING_ELT(struct AMSAPFullStruct, ring, node));
  ams->condemned = ams->allocated;
  ams->reclaimed = ams->born = ams->since = ams->sinceStep = 0;
  memset(ams->phaseNs, 0, sizeof ams->phaseNs);
  ++ams->trace;
  amsCollectEpoch(ams, AMSPhaseMARK);
  AMSRootsScan(ams);
  AMSThreadsScan(ams);
  ams->stopped = FALSE;
}

/* amsCollectFlipTell -- the threads run again: now events may be emitted */
static void amsCollectFlipTell(AMS ams, const char *why, const AMSStopStruct *stop, Count refs)
{
  EVENT_PWWS(TraceStart, AMSPool(ams), ams->trace, ams->condemned, why);
  EVENT_PWUUWD(TraceFlip, AMSPool(ams), ams->trace, stop->threads, stop->signals, refs,
               (double)ams->stats.stopNs / 1e9);
  AMSRootsTell(ams);
  AMSThreadsTell(ams);
  AMSMarkFixedTell(ams);
  UNUSED(why);
  UNUSED(stop);
  UNUSED(refs);
}

static Res amsCollectStart(AMS ams, const char *why)
{
  Count refs = ams->refs + ams->scan.count;
  uint64_t begin = AMSNow();
  AMSStopStruct stop;
  Res res = AMSThreadsStop(&stop);

  if (res == ResOK) {
    amsCollectFlip(ams);
    AMSThreadsResume();
  }
  ams->stats.stopNs = AMSNow() - begin;
  if (ams->stats.stopMaxNs < ams->stats.stopNs)
    ams->stats.stopMaxNs = ams->stats.stopNs;
  if (res == ResOK) {
    amsCollectFlipTell(ams, why, &stop, ams->refs + ams->scan.count - refs);
  } else {
    ++ams->stats.abandoned;
    EVENT_PUUD(TraceAbandon, AMSPool(ams), stop.threads, stop.threads - stop.stopped, (double)ams->stats.stopNs / 1e9);
  }
  return res;
}

static Res amsCollectStartFor(AMS ams, const char *why)
{
  Res res = ResOK;

  AMSThreadsClaim();
  AMSClaim(ams);
  if (ams->phase == AMSPhaseIDLE)
    res = amsCollectStart(ams, why);
  LockRelease(&AMSPool(ams)->lock);
  AMSThreadsRelease();
  return res;
}

Res AMSStart(Pool pool) { return amsCollectStartFor(PoolAMS(pool), "client"); }

/* amsCollectSweep -- all is marked that will be: segments are swept when their time comes, or when one is needed */
static void amsCollectSweep(AMS ams)
{
  Ring node, after;
  Index i;

  amsCollectEpoch(ams, AMSPhaseSWEEP);
  for (i = 0; i < AMSBINS; ++i)
    RingAppend(&ams->unswept, &ams->bins[i]);
  RingAppend(&ams->unswept, &ams->large);
  RING_FOR(node, &ams->aps, after) {
    AMSAPFull ap = RING_ELT(struct AMSAPFullStruct, ring, node);
    AVER(!ap->unswept);
    ap->unswept = ap->seg != NULL;
    ams->apsUnswept += ap->unswept;
  }
}

static void amsCollectEnd(AMS ams)
{
  ams->phase = AMSPhaseIDLE;
  ams->survived = ams->condemned - ams->reclaimed;
  ++ams->stats.collections;
  ams->stats.condemned = ams->condemned;
  ams->stats.reclaimed = ams->reclaimed;
  EVENT_PWWWWWDDDD(TraceEnd, AMSPool(ams), ams->trace, ams->condemned, ams->survived, ams->reclaimed, ams->born,
                   (double)ams->stats.stopNs / 1e9,
                   (double)(ams->phaseNs[AMSPhaseMARK] + ams->phaseNs[AMSPhaseFINAL]) / 1e9,
                   (double)ams->phaseNs[AMSPhaseWEAK] / 1e9, (double)ams->phaseNs[AMSPhaseSWEEP] / 1e9);
}

/* amsCollectSweepOne -- sweep a segment, or give back a piece of what was swept; FALSE: there is nothing left */
static Bool amsCollectSweepOne(AMS ams)
{
  AMSSeg seg;

  if (!RingIsSingle(&ams->gone)) {
    AMSSegGive(ams);
  } else if (ams->apsUnswept > 0) {
    AMSAPSweepOne(ams);
  } else if (!RingIsSingle(&ams->unswept)) {
    seg = RING_ELT(AMSSegStruct, ring, ams->unswept.next);
    RingRemove(&seg->ring);
    AMSSegSweep(ams, seg);
  } else {
    return FALSE;
  }
  return TRUE;
}

/* amsCollectSome -- the least that is done at a time */
static void amsCollectSome(AMS ams)
{
  switch (ams->phase) {
  case AMSPhaseIDLE:
    break;
  case AMSPhaseMARK:
    if (!AMSMarkSome(ams)) {
      ams->phase = AMSPhaseFINAL;
      AMSFinalBegin(ams);
    }
    break;
  case AMSPhaseFINAL:
    if (!AMSMarkSome(ams) && !AMSFinalSome(ams)) {
      ams->phase = AMSPhaseWEAK;
      AMSWeakBegin(ams);
    }
    break;
  case AMSPhaseWEAK:
    if (!AMSMarkSome(ams) && !AMSWeakSome(ams))
      amsCollectSweep(ams);
    break;
  case AMSPhaseSWEEP:
    if (!amsCollectSweepOne(ams))
      amsCollectEnd(ams);
    break;
  }
}

/* amsCollectStep -- an increment, with the lock; FALSE: the collection is complete, or there is none */
static Bool amsCollectStep(AMS ams, unsigned us)
{
  uint64_t begin = AMSNow(), last = begin, now = begin;

  while (ams->phase != AMSPhaseIDLE) {
    AMSPhase phase = ams->phase;
    amsCollectSome(ams);
    now = AMSNow();
    ams->phaseNs[phase] += now - last;
    last = now;
    if (now - begin >= (uint64_t)us * 1000)
      break;
  }
  if (ams->stats.stepMaxNs < now - begin)
    ams->stats.stepMaxNs = now - begin;
  ams->sinceStep = 0;
  return ams->phase != AMSPhaseIDLE;
}

Bool AMSStep(Pool pool, unsigned us)
{
  AMS ams = PoolAMS(pool);
  Word trace;
  Bool more;

  AMSClaim(ams);
  trace = ams->trace;
  more = ams->phase != AMSPhaseIDLE;
  if (more) {
    EVENT_PW(TraceStepBegin, pool, trace);
    more = amsCollectStep(ams, us);
    EVENT_PWU(TraceStepEnd, pool, trace, ams->phase);
  }
  UNUSED(trace);
  LockRelease(&pool->lock);
  return more;
}

/* amsCollectYield -- between two increments of a whole collection others get the pool's lock */
static void amsCollectYield(AMS ams)
{
  unsigned tries;

  LockRelease(&AMSPool(ams)->lock);
  for (tries = 0; tries < amsCollectYIELDS && __atomic_load_n(&ams->waiting, __ATOMIC_RELAXED) > 0; ++tries)
    (void)sched_yield();
  AMSClaim(ams);
}

/* amsCollectFinish -- go on to the end of what is in progress, as one step: another thread that wants this, too, waits
 * for `whole`, and finds nothing left to do */
static void amsCollectFinish(AMS ams)
{
  Word trace;
  Bool more;

  AMSLockClaim(&ams->whole);
  AMSClaim(ams);
  trace = ams->trace;
  if (ams->phase != AMSPhaseIDLE) {
    EVENT_PW(TraceStepBegin, AMSPool(ams), trace);
    do {
      more = amsCollectStep(ams, amsCollectUS);
      if (more)
        amsCollectYield(ams);
    } while (more && ams->trace == trace);
    EVENT_PWU(TraceStepEnd, AMSPool(ams), trace, ams->trace == trace ? ams->phase : AMSPhaseIDLE);
  }
  LockRelease(&AMSPool(ams)->lock);
  LockRelease(&ams->whole);
}

Res AMSCollectFor(AMS ams, const char *why)
{
  Res res;

  amsCollectFinish(ams);
  res = amsCollectStartFor(ams, why);
  if (res == ResOK)
    amsCollectFinish(ams);
  return res;
}

Res AMSCollect(Pool pool) { return AMSCollectFor(PoolAMS(pool), "client"); }

/* amsCollectLater -- a thread could not be stopped, perhaps for long: try again when as much more was allocated, not at
 * once, because each try stops all others for a second */
static void amsCollectLater(AMS ams)
{
  AMSClaim(ams);
  ams->since = 0;
  LockRelease(&AMSPool(ams)->lock);
}

void AMSAuto(AMS ams)
{
  Bool idle, due, step;

  if (ams->threshold == 0)
    return;
  AMSClaim(ams);
  idle = ams->phase == AMSPhaseIDLE;
  due = idle && ams->since >= ams->threshold && ams->since >= ams->survived / 2;
  step = !idle && ams->sinceStep >= amsCollectBYTES;
  LockRelease(&AMSPool(ams)->lock);
  if (due && amsCollectStartFor(ams, "threshold") != ResOK) {
    amsCollectLater(ams);
    return;
  }
  if (!idle || due) {
    if (ams->pauseUs == 0)
      amsCollectFinish(ams);
    else if (step)
      (void)AMSStep(AMSPool(ams), ams->pauseUs);
  }
}

void AMSStatsGet(AMSStats statsReturn, Pool pool)
{
  AMS ams = PoolAMS(pool);

  AMSClaim(ams);
  *statsReturn = ams->stats;
  statsReturn->allocated = ams->allocated;
  LockRelease(&pool->lock);
}
