/* handover.c -- what becomes of a stream's block when it is full, and where the next one comes from
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/handover.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "emit/control.h"
#include "emit/selfdrain.h"
#include "emit/send.h"
#include "handover/collectorsocket.h"

enum {
  handoverMoment = 20000000,      /* ns that a thread waits before it looks who lives */
  handoverShort = 500000,         /* ns that it waits where it need not be for a full block */
  handoverBrief = 100000,         /* ns between two looks whether other threads have made room */
  handoverStuck = 3000000000u,    /* ticks, about a second, that a thread waits for a full block to be drained */
  handoverStays = 3000000,        /* ticks, about a millisecond, where some blocks cannot be */
  handoverOverwrites = 64,        /* old blocks that are overwritten for one new one, at most */
  handoverFlushTries = 50         /* moments that a flush is waited for */
};

/* handoverFence -- the compiler keeps what stands before and behind apart; a signal handler sees them in this order */
static inline void handoverFence(void)
{
  __asm__ volatile("" : : : "memory");
}

/* handoverBefore -- how many events the stream has had, and the block: only where blocks are overwritten, so that
 * readers can tell how many those were; it costs a walk, which also tells whether something in the block, of which so
 * much is reserved, may be pending */
static uint64_t handoverBefore(BlockTally tallyReturn, Bool *pendingReturn, RegionHeader region, Stream stream,
                           BlockHeader block, Size reserved)
{
  *pendingReturn = TRUE;
  *tallyReturn = (BlockTallyStruct){.last = block->first};
  if (region->policy != RegionPolicyOVERWRITE)
    return BlockBeforeUNKNOWN;
  BlockWalk(tallyReturn, (char *)block + BlockHeaderSIZE, StoreSize(block) - BlockHeaderSIZE, block->first, FALSE);
  *pendingReturn = tallyReturn->pending > 0 || tallyReturn->used < reserved;
  /* What a handler has interrupted is counted, too: it will be committed. */
  tallyReturn->count += tallyReturn->pending;
  return stream->before == BlockBeforeUNKNOWN ? BlockBeforeUNKNOWN : stream->before + tallyReturn->count;
}

/* handoverTakeShared -- a fresh block where others can read it.  Where the newest are kept the oldest makes room. */
static Bool handoverTakeShared(Emitter emitter, Stream stream, unsigned unsent, Size size)
{
  RegionHeader region = EmitterRegion(emitter);
  unsigned tries;

  for (tries = 0; !StreamTakeFrom(stream, &emitter->shared, size); ++tries)
    if (unsent || tries == handoverOverwrites || !PolicyOverwrite(region))
      return FALSE;
  return TRUE;
}

/* handoverTakeOwn -- a fresh block of private memory */
static Bool handoverTakeOwn(Emitter emitter, Stream stream, Size size)
{
  Store store;
  Index i;

  for (i = 0; (store = EmitterStore(emitter, i + 1)) != NULL || (store = EmitterOwnMore(emitter, i)) != NULL; ++i)
    if (StreamTakeFrom(stream, store, size))
      return TRUE;
  return FALSE;
}

/* handoverLeaves -- is the collector about to let go?  Then room is a matter of a moment. */
static Bool handoverLeaves(Emitter emitter)
{
  return EmitterCollected(emitter) &&
         (__atomic_load_n(&EmitterRegion(emitter)->hand.collector, __ATOMIC_ACQUIRE) & RegionCollectorLEAVES) != 0;
}

/* handoverPatient -- how long a thread waits that is to wait: if full blocks take the room, until the collector must be
 * stuck; if open ones do, not long, and not at all once it is known */
static uint64_t handoverPatient(Emitter emitter, Bool crowded)
{
  if (crowded)
    return handoverStuck;
  return __atomic_load_n(&emitter->crowded, __ATOMIC_RELAXED) ? 0 : HandoverPATIENCE;
}

/* handoverImpatient -- has the thread waited for more than so many ticks? */
static Bool handoverImpatient(Thread thread, uint64_t patience)
{
  return thread->refused != 0 && EventClock(EVENT_SLOW) - thread->refused > patience;
}

/* handoverPrivate -- there is no room where a collector drains: may a stream that is sent go on in private memory?
 * Where blocks that are being filled have all slots it may, under each policy: the collector cannot make room there, so
 * no policy for a collector that is behind applies.  Where the program is to wait it may, too, when waiting has been in
 * vain: what keeps the room may be blocks that are being filled by threads that wait themselves.  Where the newest are
 * kept the oldest has made room already, if there is any. */
static Bool handoverPrivate(Emitter emitter, Thread thread, Bool crowded)
{
  uint64_t patience = handoverPatient(emitter, crowded);
  uint32_t policy = EmitterRegion(emitter)->policy;

  if (thread->inside || GrantLog() == NULL || handoverLeaves(emitter))
    return FALSE;
  if (policy == RegionPolicyBLOCK && crowded && SelfDrainPrivate(emitter, TRUE)) {
    /* What went there before is still there: the log takes nothing from us, either. */
    if (handoverImpatient(thread, handoverStuck))
      __atomic_store_n(&emitter->barred, TRUE, __ATOMIC_RELAXED);
    return FALSE;
  }
  return policy == RegionPolicyOVERWRITE || (!crowded && !StorePoor(&emitter->shared)) ||
         (policy == RegionPolicyBLOCK && (patience == 0 || handoverImpatient(thread, patience)));
}

/* handoverTake -- a fresh block from where the stream's blocks should lie */
static Bool handoverTake(Emitter emitter, Stream stream, unsigned unsent, Size size)
{
  /* The flight recorder's, too, where others may look at it. */
  return EmitterRegion(emitter) != NULL && (!unsent || EmitterCollected(emitter) || ControlSettings.allowed) &&
         (handoverTakeShared(emitter, stream, unsent, size) ||
          (!unsent && !EmitterCollected(emitter) && SelfDrainAll(emitter, SelfDrainHURRY) &&
           handoverTakeShared(emitter, stream, unsent, size)));
}

/* handoverTakeElse -- or else from where they may lie
 *
 * crowded  as many blocks are full in the region as may be; else there is no memory for one more
 */
static Bool handoverTakeElse(Emitter emitter, Thread thread, Stream stream, unsigned unsent, Size size, Bool crowded)
{
  if (!unsent && EmitterRegion(emitter) != NULL) {
    if (EmitterCollected(emitter))
      PolicyDoubt(emitter, EmitterRegion(emitter));
    if (EmitterCollected(emitter) && !handoverPrivate(emitter, thread, crowded))
      return FALSE;
    if (!__atomic_exchange_n(&emitter->crowded, TRUE, __ATOMIC_RELAXED))
      RawSay("no more room for blocks", emitter->shared.path,
             "events go through private memory, and are only counted if the process is killed");
  }
  return (unsent || !emitter->doomed) && handoverTakeOwn(emitter, stream, size);
}

/* handoverForgetCount -- count a block that is to be overwritten; while one in the region is counted it is nobody's */
static void handoverForgetCount(Emitter emitter, Store store, BlockHeader block, BlockTally tally)
{
  RegionHeader region = EmitterRegion(emitter);
  uint32_t rest = RegionRest(block->first, tally->last);
  Index slot;

  if (store != &emitter->shared) {
    StreamHome(emitter, block, block->count);
    RegionForgetTo(region, block->first + ((uint64_t)rest << RegionRestSHIFT));
    (void)__atomic_fetch_add(&region->pool.forgotten, tally->count, __ATOMIC_RELAXED);
    return;
  }
  slot = StoreSlot(region, block);
  block->count = (uint32_t)tally->count;
  block->rest = rest;
  __atomic_store_n(&region->state[slot], RegionOVERWRITTEN, __ATOMIC_RELEASE);
  RegionForget(region, slot, block);
}

/* handoverForget -- the stream's block is full, and there is no room where the newest are kept: nothing older is left
 * to be overwritten, so it is overwritten itself.  Put aside or sent it would be kept, and what comes behind it would
 * not.  FALSE: it is to be handed over; something in it is pending, or nothing is overwritten (any more: if the newest
 * are kept now, they were when room was looked for).
 * counted  as a full block
 */
static Bool handoverForget(Emitter emitter, Stream stream, Store store, BlockHeader block, Size reserved, Bool counted)
{
  RegionHeader region = EmitterRegion(emitter);
  BlockTallyStruct tally;
  Bool pending = TRUE;
  uint64_t before;

  if (region == NULL || !RegionOverwrites(region, block) || !RegionKeeps(region))
    return FALSE;
  before = handoverBefore(&tally, &pending, region, stream, block, reserved);
  if (pending)
    return FALSE;
  stream->before = before;
  stream->sent = ++stream->sequence;
  handoverForgetCount(emitter, store, block, &tally);
  StreamErase(store->header, block, reserved);
  if (counted)
    (void)__atomic_fetch_sub(&store->header->pool.full, 1, __ATOMIC_ACQ_REL);
  return TRUE;
}

/* handoverRoom -- may one more block be full in this store?  Then it is counted.  Where nobody else makes room we do;
 * or other threads, who are at it: then it is waited for, as long as they get on.  One of them may have been stopped;
 * and where blocks stay, nobody may be able to send any. */
static Bool handoverRoom(Emitter emitter, Store store, unsigned kind)
{
  uint64_t begin = EventClock(EVENT_SLOW);
  uint32_t drained = __atomic_load_n(&emitter->drained, __ATOMIC_RELAXED), before;
  long moment[2] = {0, handoverBrief};
  Bool all;

  while (!PolicyRoom(store->header, kind)) {
    if (HandoverCollected(emitter, store))
      return FALSE;
    before = drained;
    all = SelfDrainAll(emitter, SelfDrainHURRY);
    drained = __atomic_load_n(&emitter->drained, __ATOMIC_RELAXED);
    if (drained != before)
      begin = EventClock(EVENT_SLOW);
    if (RawBarred() || EventClock(EVENT_SLOW) - begin > (all ? handoverStuck : handoverStays))
      return PolicyRoom(store->header, kind);
    if (PolicyRoom(store->header, kind))
      return TRUE;
    (void)RawCall(SYS_nanosleep, moment, NULL);
  }
  return TRUE;
}

/* handoverOver -- the stream is done with a block, which has been counted as full.  Where nobody else drains it, it is
 * sent now, if that is possible. */
static void handoverOver(Emitter emitter, Stream stream, Store store, BlockHeader block, Size reserved)
{
  uint32_t number = block->stream;
  BlockTallyStruct tally;
  Bool pending = TRUE;

  StreamLeave(block);
  ++stream->sequence;
  if (HandoverCollected(emitter, store)) {
    stream->before = handoverBefore(&tally, &pending, store->header, stream, block, reserved);
    block->count = (uint32_t)tally.count; /* should it be overwritten */
    block->rest = RegionRest(block->first, tally.last);
    stream->sent = stream->sequence;
    stream->waits = TRUE; /* should the collector go */
    /* When the collector is dead, and another thread has just opened the log, it goes there with all that is left. */
    if (EmitterOpen() && RegionCollected(store->header))
      SelfDrainBeside(emitter, block, reserved);
    PolicyGive(store->header, block, reserved, pending);
    return;
  }
  PolicyGive(store->header, block, reserved, pending);
  stream->waits = !(stream->waits ? SelfDrainStream(emitter, stream, number, SelfDrainWAIT)
                                  : SelfDrainBlock(emitter, stream, store, block));
}

/* handoverOverwrite -- the flight recorder's stream is done with a block: it is forgotten, but for one that waits */
static void handoverOverwrite(Emitter emitter, Stream stream, Store store, BlockHeader block, Size reserved)
{
  uint32_t number = block->stream;
  BlockTallyStruct tally;
  Size size = StoreSize(block);

  StreamLeave(block);
  stream->sent = ++stream->sequence;
  StreamTally(&tally, block, size, reserved, FALSE);
  if (stream->before != BlockBeforeUNKNOWN)
    stream->before += tally.count;
  if (tally.pending > 0) {
    StreamAlter(block, reserved, block->before, block->discarded);
    stream->waits = TRUE;
    return;
  }
  StreamErase(store->header, block, reserved);
  StoreGive(store, block);
  if (stream->waits)
    stream->waits = !SelfDrainErase(emitter, number, 1, stream->block, FALSE);
}

/* handoverDone -- the stream has a fresh block, and is done with this one, which has been counted */
static void handoverDone(Emitter emitter, Stream stream, unsigned unsent, Store store, BlockHeader block, Size reserved)
{
  if (unsent)
    handoverOverwrite(emitter, stream, store, block, reserved);
  else if (store == &emitter->shared || !handoverForget(emitter, stream, store, block, reserved, TRUE))
    handoverOver(emitter, stream, store, block, reserved);
  else
    StoreGive(store, block);
}

/* handoverRefused -- does the log refuse a block of the stream that is in private memory?  A block that followed it in
 * the region would outlive it, and readers would count it as missing, though the process counts its events as lost. */
static Bool handoverRefused(Emitter emitter, Thread thread, unsigned kind)
{
  Stream stream = &thread->stream[kind][0];

  if (stream->refused && !thread->inside)
    (void)SelfDrainStream(emitter, stream, (uint32_t)StreamNumber(thread, kind, 0), SelfDrainHURRY);
  return stream->refused && EmitterRegion(emitter) != NULL;
}

/* handoverBack -- the stream has a fresh block in the region, and the log has just refused the one before, in private
 * memory: the fresh one goes back.  FALSE: the stream gets none elsewhere. */
static Bool handoverBack(Emitter emitter, Thread thread, Stream stream, Size size)
{
  BlockHeader block = stream->block;

  __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
  StreamErase(stream->store->header, block, 0);
  StoreGive(stream->store, block);
  return handoverTakeElse(emitter, thread, stream, FALSE, size, TRUE);
}

Bool HandoverChange(Emitter emitter, Thread thread, unsigned kind, unsigned unsent)
{
  Stream stream = &thread->stream[kind][unsent];
  Store store = stream->store;
  BlockHeader old = stream->block;
  Size size = StreamSize(emitter, stream, kind, unsent), reserved;
  Bool crowded, refused, taken;

  if (!unsent && PolicyRefuses(emitter, thread, stream)) {
    __atomic_store_n(&thread->hot.cursor[kind][unsent].next, 0, __ATOMIC_RELEASE);
    return FALSE;
  }
  reserved = old != NULL ? StreamReserved(thread, kind, unsent) : 0;
  __atomic_store_n(&thread->hot.cursor[kind][unsent].next, 0, __ATOMIC_RELEASE);
  crowded = old != NULL && !unsent && !handoverRoom(emitter, store, kind);
  if (crowded && !HandoverCollected(emitter, store))
    return PolicyChanged(emitter, thread, FALSE);
  refused = !unsent && handoverRefused(emitter, thread, kind);
  taken = !crowded && !refused && handoverTake(emitter, stream, unsent, size);
  if (!taken && old != NULL && !unsent && store == &emitter->shared &&
      handoverForget(emitter, stream, store, old, reserved, !crowded)) {
    StreamStart(emitter, thread, kind, unsent);
    stream->told = stream->discarded;
    return PolicyChanged(emitter, thread, TRUE);
  }
  if (!taken && !handoverTakeElse(emitter, thread, stream, unsent, size, crowded || refused)) {
    if (old != NULL && !unsent && !crowded)
      (void)__atomic_fetch_sub(&store->header->pool.full, 1, __ATOMIC_ACQ_REL);
    return unsent ? FALSE : PolicyChanged(emitter, thread, FALSE);
  }
  if (crowded) /* one more than may be: who goes on in private memory leaves no block behind */
    (void)__atomic_fetch_add(&store->header->pool.full, 1, __ATOMIC_ACQ_REL);
  if (old != NULL)
    handoverDone(emitter, stream, unsent, store, old, reserved);
  if (!unsent && stream->refused && stream->store == &emitter->shared && !handoverBack(emitter, thread, stream, size))
    return PolicyChanged(emitter, thread, FALSE);
  StreamStart(emitter, thread, kind, unsent);
  stream->told = stream->discarded;
  return unsent ? TRUE : PolicyChanged(emitter, thread, TRUE);
}

/* handoverElse -- where the stream's block is full, or there is none; 0: it takes the slow way */
static Word handoverElse(Emitter emitter, Thread thread, unsigned kind, Size size, Bool drained)
{
  if (PolicyRefuses(emitter, thread, &thread->stream[kind][0])) {
    __atomic_store_n(&thread->hot.cursor[kind][0].next, 0, __ATOMIC_RELEASE);
    return HandoverDiscard(emitter, thread, kind, 0) ? 0 : HandoverNOROOM;
  }
  return drained && HandoverChange(emitter, thread, kind, 0) ? StreamTry(emitter, thread, kind, 0, size) : 0;
}

/* handoverDrained -- does a collector drain the stream's blocks?  What is in private memory is sent by us: not within a
 * change, which this is. */
static Bool handoverDrained(Emitter emitter, Thread thread, Stream stream)
{
  RegionHeader region = EmitterRegion(emitter);
  uint32_t collector;

  if (region == NULL || (stream->block == NULL && !PolicyRefuses(emitter, thread, stream)) ||
      (stream->block != NULL && stream->store != &emitter->shared) || EmitterOpen())
    return FALSE;
  collector = __atomic_load_n(&region->hand.collector, __ATOMIC_ACQUIRE);
  return (collector & RegionCollectorDIED) == 0 && collector != RegionCollectorNONE;
}

Word HandoverReserve(Thread thread, unsigned kind, Size size, Word at)
{
  Emitter emitter = EmitterIfReady();
  Stream stream = &thread->stream[kind][0];
  int error = errno;
  Bool drained;
  Word place;

  if (emitter == NULL || thread->inside)
    return 0;
  drained = EmitterCollected(emitter);
  if (!(drained ? handoverDrained : PolicyRefuses)(emitter, thread, stream))
    return 0;
  thread->inside = 1;
  handoverFence();
  StreamAbandon(at, size);
  place = StreamTry(emitter, thread, kind, 0, size);
  if (place == 0)
    place = handoverElse(emitter, thread, kind, size, drained);
  handoverFence();
  thread->inside = 0;
  errno = error;
  return place;
}

void HandoverLast(Emitter emitter, Thread thread, unsigned kind, Bool final)
{
  Stream stream = &thread->stream[kind][0];
  BlockHeader block = stream->block;
  BlockTallyStruct tally;
  Size reserved;

  if (block != NULL) {
    reserved = StreamReserved(thread, kind, 0);
    __atomic_store_n(&thread->hot.cursor[kind][0].next, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
    stream->held = 0;
    if (reserved == 0 && stream->discarded == stream->told) {
      StreamErase(stream->store->header, block, 0);
      StoreGive(stream->store, block);
    } else {
      if (final)
        BlockWalk(&tally, StreamEvents(block), reserved, block->first, TRUE);
      stream->told = stream->discarded;
      (void)__atomic_fetch_add(&stream->store->header->pool.full, 1, __ATOMIC_ACQ_REL);
      handoverOver(emitter, stream, stream->store, block, reserved);
    }
  }
  if (stream->waits && !EmitterCollected(emitter))
    stream->waits = !SelfDrainStream(emitter, stream, (uint32_t)StreamNumber(thread, kind, 0),
                                     final ? SelfDrainSETTLE : SelfDrainHURRY);
}

void HandoverShow(Emitter emitter, Thread thread, unsigned kind, Bool final)
{
  Stream stream = &thread->stream[kind][1];
  BlockHeader block = stream->block;
  unsigned flags = BlockFlagUNSENT;
  BlockTallyStruct tally;
  Size reserved;

  if (block == NULL)
    return;
  reserved = StreamReserved(thread, kind, 1);
  StreamTally(&tally, block, stream->size, reserved, final);
  StreamLeave(block);
  if (HandoverCollected(emitter, stream->store))
    flags |= SendBESIDE; /* it has seen it */
  if ((tally.pending > 0 && !final) || (tally.used > 0 && SendBlock(emitter, block, &tally, flags) != ResOK))
    return;
  __atomic_store_n(&thread->hot.cursor[kind][1].next, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
  stream->sent = ++stream->sequence;
  stream->before += stream->before != BlockBeforeUNKNOWN ? tally.count : 0;
  StreamErase(stream->store->header, block, reserved);
  StoreGive(stream->store, block);
}

Bool HandoverDiscard(Emitter emitter, Thread thread, unsigned kind, unsigned unsent)
{
  RegionHeader region = EmitterRegion(emitter);
  Stream stream = &thread->stream[kind][unsent];
  uint64_t none = 0;

  if (!unsent && region != NULL && EmitterCollected(emitter))
    PolicyDoubt(emitter, region);
  /* Whose collector has just died sends by itself when it tries again. */
  if (!unsent && region != NULL && EmitterCollected(emitter) &&
      ((region->policy == RegionPolicyBLOCK && !PolicyBarred(emitter) && !PolicyVain(emitter, region)) ||
       handoverLeaves(emitter) || !RegionCollected(region)))
    return TRUE;
  /* A block in private memory ends with a process that is killed: what is counted there would be counted nowhere. */
  if (stream->block != NULL && (unsent || region == NULL || stream->store == &emitter->shared))
    StreamAlter(stream->block, stream->block->used, stream->block->before, ++stream->discarded);
  else if (!unsent)
    EmitterLose(emitter);
  /* Each thread that has lost an event stops the recording, not only the first one: else it would go on, and leave a
   * gap. */
  if (!unsent && region != NULL && region->policy == RegionPolicySTOP) {
    (void)__atomic_compare_exchange_n(&region->stopped, &none, EventClock(EVENT_SLOW), FALSE, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
    ControlSet(0, 0);
  }
  return FALSE;
}

void HandoverWait(Emitter emitter)
{
  RegionHeader region = EmitterRegion(emitter);
  long moment[2] = {0, handoverMoment};
  uint32_t freed = __atomic_load_n(&region->pool.freed, __ATOMIC_ACQUIRE);

  (void)__atomic_fetch_add(&region->pool.waiting, 1, __ATOMIC_SEQ_CST);
  CollectorSocketWake(region);
  if (__atomic_load_n(&region->pool.full, __ATOMIC_SEQ_CST) < region->limit)
    moment[1] = handoverShort; /* there is room by now, or what there is no room for is the block that comes next */
  (void)RawCall(SYS_futex, &region->pool.freed, FUTEX_WAIT, freed, moment, NULL, 0);
  (void)__atomic_fetch_sub(&region->pool.waiting, 1, __ATOMIC_SEQ_CST);
}

Bool HandoverFlush(Emitter emitter)
{
  RegionHeader region = EmitterRegion(emitter);
  long moment[2] = {0, handoverMoment};
  uint32_t asked;
  unsigned i;

  (void)__atomic_fetch_or(&region->hand.attention, RegionAskFLUSH, __ATOMIC_SEQ_CST);
  __atomic_store_n(&region->hand.sleeping, 1, __ATOMIC_SEQ_CST);
  CollectorSocketWake(region);
  for (i = 0; i < handoverFlushTries && RegionCollected(region); ++i) {
    asked = __atomic_load_n(&region->hand.attention, __ATOMIC_ACQUIRE);
    if ((asked & RegionAskFLUSH) == 0)
      return TRUE;
    (void)RawCall(SYS_futex, &region->hand.attention, FUTEX_WAIT, asked, moment, NULL, 0);
  }
  return FALSE;
}

/* handoverTakeOver -- the process sends by itself from here on */
static void handoverTakeOver(Emitter emitter)
{
  if (!EmitterLock(emitter))
    return;
  if (EmitterCollected(emitter)) {
    ControlOpenLog(emitter);
    (void)SendHeader(emitter);
    __atomic_store_n(&emitter->tookOver, EventClock(EVENT_SLOW), __ATOMIC_RELAXED);
    StoreInherit(&emitter->shared);
    /* Not before: others send as soon as they see this, and where there is no way out nothing is sent. */
    __atomic_store_n(&emitter->collected, FALSE, __ATOMIC_RELEASE);
  }
  EmitterUnlock(emitter);
  (void)SelfDrainAll(emitter, SelfDrainHURRY);
}

void HandoverPoll(Emitter emitter)
{
  RegionHeader region = EmitterRegion(emitter);
  uint32_t collector;

  if (region == NULL)
    return;
  collector = __atomic_load_n(&region->hand.collector, __ATOMIC_ACQUIRE);
  if ((collector & RegionCollectorDIED) != 0)
    __atomic_store_n(&emitter->alone, TRUE, __ATOMIC_RELAXED);
  if (EmitterCollected(emitter) && (collector == RegionCollectorNONE || (collector & RegionCollectorDIED) != 0))
    handoverTakeOver(emitter);
}
