/* amswrite.c -- the barrier: what is overwritten while objects are marked is marked
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .write      Tests: test/ams/graphtest.c, test/ams/mutants.t
 */
#include "ams/amsdata.h"

/* amsWriteShade -- a collection marks objects: keep what the slot refers to now */
static __attribute__((noinline)) void amsWriteShade(AMS ams, Addr *slot)
{
  if (AMSIsMarked(ams, __atomic_load_n(slot, __ATOMIC_RELAXED)))
    return;
  AMSClaim(ams);
  if (AMSMarking(ams))
    AMSFix(&ams->scan, __atomic_load_n(slot, __ATOMIC_RELAXED));
  LockRelease(&AMSPool(ams)->lock);
}

/* amsWriteForeign -- a thread that is not registered is not seen when a collection begins: so none may begin */
static __attribute__((noinline)) void amsWriteForeign(AMS ams, Addr *slot, Addr value)
{
  AMSClaim(ams);
  if (AMSMarking(ams))
    AMSFix(&ams->scan, __atomic_load_n(slot, __ATOMIC_RELAXED));
  __atomic_store_n(slot, value, __ATOMIC_RELAXED);
  LockRelease(&AMSPool(ams)->lock);
}

void AMSWrite(Pool pool, Addr object, Addr *slot, Addr value)
{
  AMS ams = PoolAMS(pool);
  AMSThread thread = AMSThreadSelf;

  UNUSED(object); /* for a barrier by object, such as a card table; this one needs the slot only */
  if (UNLIKELY(thread == NULL)) {
    amsWriteForeign(ams, slot, value);
    return;
  }
  /* If a collection begins anywhere from here to the last line, the slot is among its roots. */
  __atomic_store_n(&thread->slot, slot, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (UNLIKELY((__atomic_load_n(&ams->epoch, __ATOMIC_RELAXED) & 1) != 0))
    amsWriteShade(ams, slot);
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&thread->slot, NULL, __ATOMIC_RELAXED);
}
