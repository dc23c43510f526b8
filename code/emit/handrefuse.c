/* handrefuse.c -- where there is no room for a block: when it is looked for again
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/hand.h"
#include "emit/handoffer.h"

enum {
  refusePOOR = 100000,      /* ticks between two looks for a free slot */
  refuseVAIN = 3000000000u  /* ticks, about a second, that nobody finds any */
};

Bool HandVain(Process process, RegionHeader region)
{
  uint64_t refused = __atomic_load_n(&process->refused, __ATOMIC_RELAXED), now = EventClock(EVENT_SLOW);
  uint32_t freed = __atomic_load_n(&region->pool.freed, __ATOMIC_ACQUIRE);

  if (refused == 0 || __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) != 0 || now - refused < refuseVAIN)
    return FALSE;
  if (__atomic_exchange_n(&process->freed, freed, __ATOMIC_RELAXED) == freed)
    return TRUE;
  /* Somebody has made room, and it may not have been found yet. */
  __atomic_store_n(&process->refused, now, __ATOMIC_RELAXED);
  return FALSE;
}

void HandDoubt(Process process, RegionHeader region)
{
  uint64_t asked = __atomic_load_n(&process->asked, __ATOMIC_RELAXED), now = EventClock(EVENT_SLOW);

  if (asked != 0 && now - asked < refuseVAIN)
    return;
  /* The first time it may only be behind. */
  if (__atomic_compare_exchange_n(&process->asked, &asked, now, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && asked != 0 &&
      RegionCollected(region) && HandGone(region))
    (void)__atomic_fetch_or(&region->hand.collector, RegionCollectorDIED, __ATOMIC_ACQ_REL);
}

Bool HandRefuses(Process process, Thread thread, Stream stream)
{
  uint64_t refused = __atomic_load_n(&process->refused, __ATOMIC_RELAXED), looked, now;
  RegionHeader region;

  if (LIKELY(thread->refused == 0 && refused == 0))
    return FALSE;
  region = stream->block != NULL ? stream->store->header : ProcessRegion(process);
  now = EventClock(EVENT_SLOW);
  /* Without a collector, to look for room is to try all ways out; while there was one the thread has not done that. */
  if (region == NULL || !(stream->block != NULL ? HandCollected(process, stream->store) : ProcessCollected(process)))
    return thread->refused != 0 && now - thread->looked < HandPATIENCE &&
           thread->looked > __atomic_load_n(&process->tookOver, __ATOMIC_RELAXED);
  /* What other threads have found out holds for this one. */
  looked = __atomic_load_n(&process->looked, __ATOMIC_RELAXED);
  refused = refused == 0 || (thread->refused != 0 && thread->refused < refused) ? thread->refused : refused;
  return (region->policy == RegionPolicyDISCARD || HandBarred(process) || HandVain(process, region)) && now - refused > HandPATIENCE &&
         (now - (looked > thread->looked ? looked : thread->looked) < refusePOOR ||
          (stream->block != NULL && __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) >= region->limit &&
           !HandMend(region, now)));
}

Bool HandChanged(Process process, Thread thread, Bool changed)
{
  if (changed) {
    thread->refused = 0;
    if (HandBarred(process))
      __atomic_store_n(&process->barred, FALSE, __ATOMIC_RELAXED);
    if (__atomic_load_n(&process->refused, __ATOMIC_RELAXED) != 0)
      __atomic_store_n(&process->refused, 0, __ATOMIC_RELAXED);
    return TRUE;
  }
  thread->looked = EventClock(EVENT_SLOW);
  if (thread->refused == 0)
    thread->refused = thread->looked;
  __atomic_store_n(&process->looked, thread->looked, __ATOMIC_RELAXED);
  if (__atomic_load_n(&process->refused, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&process->refused, thread->looked, __ATOMIC_RELAXED);
  return FALSE;
}
