/* policy.c -- the policies: what happens where there is no room for one more full block
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/handover.h"

#include "base/aver.h"
#include "emit/stream.h"
#include "handover/collectorsocket.h"

enum {
  policyTRIES = 64,              /* to have an old block, which other threads want, too */
  policySLACK = 64,              /* blocks that are counted as full and are not yet, or no longer, at most */
  policyLOOK = 30000000          /* ticks, some 10 ms, between two looks at the slots */
};

/* policyLimit -- how many blocks may be full; private memory has no limit but its size */
static uint32_t policyLimit(RegionHeader region)
{
  return region->limit != 0 ? region->limit : RegionSlotsOf(region);
}

/* policyRoom -- may one more block be full?  Then it is counted. */
static Bool policyRoom(RegionHeader region, unsigned kind)
{
  if (__atomic_fetch_add(&region->pool.full, 1, __ATOMIC_ACQ_REL) < policyLimit(region))
    return TRUE;
  /* Where frequent kinds are overwritten they fill the pool, and the others are drained all the same. */
  if (RegionKeeps(region) && (kind == EventStreamDEFINITION || (EventKindsFREQUENT >> kind & 1) == 0))
    return TRUE;
  (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  return FALSE;
}

/* policyCount -- how many slots are full, by their states, or were until just now */
static uint32_t policyCount(RegionHeader region)
{
  uint32_t count = 0;
  Index i;

  for (i = 0; i < RegionSlotsOf(region); ++i)
    count += (__atomic_load_n(&region->state[i], __ATOMIC_RELAXED) & (RegionFULL | RegionTAKEN)) != 0;
  return count;
}

/* policyMend -- there seems to be no room for one more full block: is the count right?  If it is higher than the number
 * of full slots, now and at the last look at least 10 ms ago, the program has written over it, and it is set anew.
 * TRUE: it was.
 *
 * What is too much may be blocks that threads are about to hand over, or have just freed: so it is looked at twice,
 * unless it is more than that can be.  Where it was that all the same, and the count is one too low now, it wraps when
 * all are free, is far too high then, and is mended again. */
static Bool policyMend(RegionHeader region, uint64_t now)
{
  static struct {
    uint64_t when;
    uint32_t more;
  } look;
  uint32_t full = __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE), limit = policyLimit(region), count, before;

  if ((full < limit || full - limit <= policySLACK) && now - __atomic_load_n(&look.when, __ATOMIC_RELAXED) < policyLOOK)
    return FALSE;
  __atomic_store_n(&look.when, now, __ATOMIC_RELAXED);
  count = policyCount(region);
  if (full <= count)
    return FALSE;
  before = __atomic_exchange_n(&look.more, full - count, __ATOMIC_RELAXED);
  return (full - count == before || full - count > policySLACK) &&
         __atomic_compare_exchange_n(&region->pool.full, &full, count, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* policyTicketNew -- a ticket that no block has had; odd where something in the block may be pending */
static uint64_t policyTicketNew(RegionHeader region, Bool pending)
{
  return __atomic_add_fetch(&region->pool.ticket, 1, __ATOMIC_RELAXED) * 2 + (pending != 0);
}

void PolicyGive(RegionHeader region, BlockHeader block, Size used, Bool pending)
{
  Index slot = StoreSlot(region, block);
  uint8_t log2 = (uint8_t)__builtin_ctzl(StoreSize(block));
  uint32_t sleeping;

  AVER_CRITICAL(slot < RegionSlotsMAX);
  StreamAlter(block, used, block->before, block->discarded);
  if (region->policy == RegionPolicyOVERWRITE)
    __atomic_store_n(&region->tickets[slot],
                     RegionOverwrites(region, block) ? policyTicketNew(region, pending) : 0, __ATOMIC_RELEASE);
  __atomic_store_n(&region->state[slot], RegionFULL | log2, __ATOMIC_SEQ_CST);
  sleeping = __atomic_load_n(&region->hand.sleeping, __ATOMIC_SEQ_CST);
  if (UNLIKELY(sleeping != 0) && __atomic_load_n(&region->pool.full, __ATOMIC_SEQ_CST) >= sleeping)
    CollectorSocketWake(region);
}

/* policyOld -- is a slot full, and not being read? */
static Bool policyOld(uint8_t state)
{
  return (state & (RegionFULL | RegionTAKEN)) == RegionFULL;
}

/* policyTicket -- of the block that was handed over last in a slot; 0: it is not overwritten */
static uint64_t policyTicket(RegionHeader region, Index slot)
{
  return __atomic_load_n(&region->tickets[slot], __ATOMIC_ACQUIRE);
}

/* policyOldest -- the slot of the full block of a frequent kind that has waited longest, and its ticket; or
 * RegionSlotsMAX */
static Index policyOldest(uint64_t *ticketReturn, RegionHeader region)
{
  Count slots = RegionSlotsOf(region);
  Index i, oldest = RegionSlotsMAX;

  *ticketReturn = UINT64_MAX;
  for (i = 0; i < slots; ++i) {
    uint64_t ticket;
    if (!policyOld(__atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE)))
      continue;
    ticket = policyTicket(region, i);
    if (ticket != 0 && ticket < *ticketReturn) {
      oldest = i;
      *ticketReturn = ticket;
    }
  }
  return oldest;
}

/* policyTold -- a slot says that a block of this size is full.  Where it should say something else, as the program has
 * written over it, that; else RegionFREE */
static uint8_t policyTold(RegionHeader region, BlockHeader block, Size size)
{
  if (block->whole != size)
    return RegionStateTold((char *)block + size, size, region->identity);
  return RegionFilled(block) ? (uint8_t)(RegionOPEN | __builtin_ctzl(size)) : RegionFREE;
}

/* policyForget -- erase the block in a slot, if that is still the one with this ticket, and nothing in it is pending
 *
 * While it was looked for other threads may have used the slot again, for what is newest now.  While it is erased it
 * belongs to no thread: if its slot were open, it would be sent should we be killed, though the blocks after it are
 * gone.  If a signal handler has interrupted an event in the block, the thread will still write that event: the block
 * stays, and is looked at again after all others.
 * From when it is claimed until it is counted its slot says that it is being overwritten, so that whoever comes after
 * us counts it.  That eventrec has died meanwhile is no reason to keep the block: other threads may have erased newer
 * ones since. */
static void policyForget(RegionHeader region, Index slot, uint64_t ticket)
{
  uint8_t state = __atomic_load_n(&region->state[slot], __ATOMIC_ACQUIRE), full = state, told;
  BlockTallyStruct tally = {0};
  BlockHeader block;
  Bool same, pending;
  Size offset, size;

  if (!policyOld(state) || !RegionBlockAt(&offset, &size, region, slot) || policyTicket(region, slot) != ticket ||
      !__atomic_compare_exchange_n(&region->state[slot], &state, RegionOVERWRITTEN, FALSE, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    return;
  block = (BlockHeader)(void *)((char *)region + offset);
  told = policyTold(region, block, size);
  full = told != RegionFREE ? told : full;
  same = told == RegionFREE && policyTicket(region, slot) == ticket;
  if (same && (ticket & 1) != 0)
    StreamTally(&tally, block, size, block->used, FALSE);
  pending = tally.pending > 0;
  if (pending)
    __atomic_store_n(&region->tickets[slot], policyTicketNew(region, TRUE), __ATOMIC_RELEASE);
  if (!same || pending) {
    __atomic_store_n(&region->state[slot], full, __ATOMIC_RELEASE);
    return;
  }
  RegionForget(region, slot, block);
  StreamErase(region, block, size - BlockHeaderSIZE);
  (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  __atomic_store_n(&region->state[slot], RegionFREE, __ATOMIC_RELEASE);
}

/* Whether the newest are kept is asked once more behind the look: if they still are, nobody had begun to send an older
 * one, so what was found was the oldest of all, and may go whatever comes. */
Bool PolicyOverwrite(RegionHeader region)
{
  uint64_t ticket;
  Index oldest = RegionKeeps(region) ? policyOldest(&ticket, region) : RegionSlotsMAX;

  if (oldest == RegionSlotsMAX || !RegionKeeps(region))
    return FALSE;
  policyForget(region, oldest, ticket);
  return TRUE;
}

Bool PolicyRoom(RegionHeader region, unsigned kind)
{
  unsigned tries;

  for (tries = 0; !policyRoom(region, kind); ++tries)
    if (!policyMend(region, EventClock(EVENT_SLOW)) && (tries == policyTRIES || !PolicyOverwrite(region)))
      return FALSE;
  return TRUE;
}

/* ---- Where there is no room for a block: when it is looked for again ---- */

enum {
  policyPOOR = 100000,      /* ticks between two looks for a free slot */
  policyVAIN = 3000000000u  /* ticks, about a second, that nobody finds any */
};

Bool PolicyVain(Emitter emitter, RegionHeader region)
{
  uint64_t refused = __atomic_load_n(&emitter->refused, __ATOMIC_RELAXED), now = EventClock(EVENT_SLOW);
  uint32_t freed = __atomic_load_n(&region->pool.freed, __ATOMIC_ACQUIRE);

  if (refused == 0 || __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) != 0 || now - refused < policyVAIN)
    return FALSE;
  if (__atomic_exchange_n(&emitter->freed, freed, __ATOMIC_RELAXED) == freed)
    return TRUE;
  /* A block was freed, and no thread may have found it yet. */
  __atomic_store_n(&emitter->refused, now, __ATOMIC_RELAXED);
  return FALSE;
}

void PolicyDoubt(Emitter emitter, RegionHeader region)
{
  uint64_t asked = __atomic_load_n(&emitter->asked, __ATOMIC_RELAXED), now = EventClock(EVENT_SLOW);

  if (asked != 0 && now - asked < policyVAIN)
    return;
  /* The first time it may only be behind. */
  if (__atomic_compare_exchange_n(&emitter->asked, &asked, now, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
      asked != 0 && RegionCollected(region) && CollectorSocketGone(region))
    (void)__atomic_fetch_or(&region->hand.collector, RegionCollectorDIED, __ATOMIC_ACQ_REL);
}

Bool PolicyRefuses(Emitter emitter, Thread thread, Stream stream)
{
  uint64_t refused = __atomic_load_n(&emitter->refused, __ATOMIC_RELAXED), looked, now;
  RegionHeader region;

  if (LIKELY(thread->refused == 0 && refused == 0))
    return FALSE;
  region = stream->block != NULL ? stream->store->header : EmitterRegion(emitter);
  now = EventClock(EVENT_SLOW);
  /* Without a collector, to look for room is to try all ways out; while there was one the thread has not done that. */
  if (region == NULL ||
      !(stream->block != NULL ? HandoverCollected(emitter, stream->store) : EmitterCollected(emitter)))
    return thread->refused != 0 && now - thread->looked < HandoverPATIENCE &&
           thread->looked > __atomic_load_n(&emitter->tookOver, __ATOMIC_RELAXED);
  /* What other threads have found out holds for this one. */
  looked = __atomic_load_n(&emitter->looked, __ATOMIC_RELAXED);
  refused = refused == 0 || (thread->refused != 0 && thread->refused < refused) ? thread->refused : refused;
  return (region->policy == RegionPolicyDISCARD || PolicyBarred(emitter) || PolicyVain(emitter, region)) &&
         now - refused > HandoverPATIENCE &&
         (now - (looked > thread->looked ? looked : thread->looked) < policyPOOR ||
          (stream->block != NULL && __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) >= region->limit &&
           !policyMend(region, now)));
}

Bool PolicyChanged(Emitter emitter, Thread thread, Bool changed)
{
  if (changed) {
    thread->refused = 0;
    if (PolicyBarred(emitter))
      __atomic_store_n(&emitter->barred, FALSE, __ATOMIC_RELAXED);
    if (__atomic_load_n(&emitter->refused, __ATOMIC_RELAXED) != 0)
      __atomic_store_n(&emitter->refused, 0, __ATOMIC_RELAXED);
    return TRUE;
  }
  thread->looked = EventClock(EVENT_SLOW);
  if (thread->refused == 0)
    thread->refused = thread->looked;
  __atomic_store_n(&emitter->looked, thread->looked, __ATOMIC_RELAXED);
  if (__atomic_load_n(&emitter->refused, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&emitter->refused, thread->looked, __ATOMIC_RELAXED);
  return FALSE;
}
