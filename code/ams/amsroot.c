/* amsroot.c -- roots: tables and functions, and weak tables
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .root .weak      Tests: test/ams/amstest.c
 */
#include "ams/amsdata.h"

#include "base/aver.h"

enum { amsRootSLOTS = 1024 }; /* weak references that are looked at between two looks at the clock */

static Res amsRootCreate(AMSRoot *rootReturn, Pool pool, const struct AMSRootStruct *proto)
{
  AMS ams = PoolAMS(pool);
  AMSRoot root;

  AMSClaim(ams);
  root = UnitsAlloc(&ams->records);
  if (root != NULL) {
    *root = *proto;
    root->pool = pool;
    RingInit(&root->ring);
    RingInsertBefore(&ams->roots, &root->ring);
    EVENT_PPUPW(RootCreate, root, pool, root->rank, root->base, root->count);
  }
  LockRelease(&pool->lock);
  if (root == NULL)
    return ResMEMORY;
  *rootReturn = root;
  return ResOK;
}

Res AMSRootCreateTable(AMSRoot *rootReturn, Pool pool, AMSRank rank, Addr *base, Count count)
{
  struct AMSRootStruct proto = { .rank = rank, .base = base, .count = count };

  AVER(rank <= AMSRankWEAK);
  AVER(base != NULL);
  return amsRootCreate(rootReturn, pool, &proto);
}

Res AMSRootCreateFun(AMSRoot *rootReturn, Pool pool, void (*scan)(AMSScan scan, void *closure), void *closure)
{
  struct AMSRootStruct proto = { .rank = AMSRankEXACT, .scan = scan, .closure = closure };

  AVER(scan != NULL);
  return amsRootCreate(rootReturn, pool, &proto);
}

#define amsRootNext(root) RING_ELT(struct AMSRootStruct, ring, (root)->ring.next)

void AMSRootDestroy(AMSRoot root)
{
  AMS ams = PoolAMS(root->pool);

  AMSClaim(ams);
  if (ams->weakRoot == root) {
    ams->weakRoot = amsRootNext(root);
    ams->weakNext = 0;
  }
  EVENT_PP(RootDestroy, root, root->pool);
  RingRemove(&root->ring);
  UnitsFree(&ams->records, root);
  LockRelease(&AMSPool(ams)->lock);
}

static void amsRootScan(AMS ams, AMSRoot root)
{
  Index i;

  if (root->base == NULL)
    root->scan(&ams->scan, root->closure);
  else if (root->rank == AMSRankAMBIG)
    AMSFixArea(ams, (Word)root->base, (Word)(root->base + root->count));
  else
    for (i = 0; i < root->count; ++i)
      AMSFix(&ams->scan, root->base[i]);
}

void AMSRootsScan(AMS ams)
{
  Ring node, after;

  RING_FOR(node, &ams->roots, after) {
    AMSRoot root = RING_ELT(struct AMSRootStruct, ring, node);
    Count refs = ams->refs + ams->scan.count;
    if (root->rank != AMSRankWEAK)
      amsRootScan(ams, root);
    root->refs = ams->refs + ams->scan.count - refs;
  }
}

void AMSRootsTell(AMS ams)
{
  Ring node, after;

  RING_FOR(node, &ams->roots, after) {
    AMSRoot root = RING_ELT(struct AMSRootStruct, ring, node);
    if (root->rank != AMSRankWEAK)
      EVENT_PWPWW(TraceScan, AMSPool(ams), ams->trace, root, AMSScanROOT, root->refs);
  }
}

/* ---- Weak references ---- */

void AMSWeakBegin(AMS ams)
{
  ams->weakRoot = RING_ELT(struct AMSRootStruct, ring, ams->roots.next);
  ams->weakNext = 0;
}

static void amsWeakClear(AMS ams, Addr *slot)
{
  Addr ref = __atomic_load_n(slot, __ATOMIC_RELAXED);

  /* If the client stores another reference meanwhile, that one stays. */
  if (!AMSIsMarked(ams, ref))
    (void)__atomic_compare_exchange_n(slot, &ref, NULL, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

Bool AMSWeakSome(AMS ams)
{
  Count left = amsRootSLOTS;

  while (&ams->weakRoot->ring != &ams->roots) {
    AMSRoot root = ams->weakRoot;
    for (; root->rank == AMSRankWEAK && ams->weakNext < root->count; ++ams->weakNext) {
      if (left-- == 0)
        return TRUE;
      amsWeakClear(ams, &root->base[ams->weakNext]);
    }
    ams->weakRoot = amsRootNext(root);
    ams->weakNext = 0;
  }
  return FALSE;
}

/* amsWeakGetSlow -- while objects are marked: what a thread gets to see is kept, unless it is too late */
static __attribute__((noinline)) Addr amsWeakGetSlow(AMS ams, Addr *slot)
{
  Addr ref;

  AMSClaim(ams);
  if (ams->phase == AMSPhaseWEAK)
    amsWeakClear(ams, slot);
  ref = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (AMSMarking(ams))
    AMSFix(&ams->scan, ref);
  LockRelease(&AMSPool(ams)->lock);
  return ref;
}

Addr AMSWeakGet(Pool pool, Addr *slot)
{
  AMS ams = PoolAMS(pool);
  Word epoch = __atomic_load_n(&ams->epoch, __ATOMIC_ACQUIRE);
  Addr ref = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

  /* If it is still the same epoch, no collection began or ended in between, and none began before `ref` was on the
   * stack or in a register. */
  if (LIKELY((epoch & 1) == 0 && __atomic_load_n(&ams->epoch, __ATOMIC_RELAXED) == epoch))
    return ref;
  return amsWeakGetSlow(ams, slot);
}
