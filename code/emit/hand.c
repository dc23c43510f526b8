/* hand.c -- full blocks to the collector, and empty ones from it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/hand.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/handfull.h"
#include "emit/handoffer.h"
#include "emit/send.h"
#include "emit/stream.h"
#include "plinth/quiet.h"

enum {
  handOfferMAX = 1000,        /* ms until an offer that nobody takes is withdrawn */
  handMoment = 20000000,      /* ns that a thread waits before it looks who lives */
  handPatience = 30000000,    /* ticks without room, some 10 ms, after which events are discarded at once */
  handPoor = 100000,          /* ticks between two looks for a free slot then */
  handFlushTries = 50,        /* moments that a flush is waited for */
  handNsPerMs = 1000000
};

/* handFence -- the compiler keeps what stands before and behind apart; a signal handler sees them in this order */
static inline void handFence(void)
{
  __asm__ volatile("" : : : "memory");
}

/* handBefore -- how many events the stream has had: only where blocks are overwritten, so that readers can tell how
 * many those were; it costs a walk, which also tells whether something in the block, of which so much is reserved, may
 * be pending */
static uint64_t handBefore(Bool *pendingReturn, RegionHeader region, Stream stream, BlockHeader block, Size reserved)
{
  BlockTallyStruct tally;

  *pendingReturn = TRUE;
  if (region->policy != RegionPolicyOVERWRITE || (block != NULL && stream->before == BlockBeforeUNKNOWN))
    return BlockBeforeUNKNOWN;
  if (block == NULL)
    return stream->before;
  BlockWalk(&tally, (char *)block + BlockHeaderSIZE, block->whole - BlockHeaderSIZE, block->first, FALSE);
  *pendingReturn = tally.pending > 0 || tally.used < reserved;
  /* What a handler has interrupted is counted, too: it will be committed. */
  return stream->before + tally.count + tally.pending;
}

/* handRefuses -- has there been no room for long, and is there none now?  Then an event is discarded at once: to look
 * for room costs a hundred times as much.  Not before: a collector that is only behind comes up meanwhile. */
static Bool handRefuses(RegionHeader region, Thread thread, BlockHeader block)
{
  uint64_t now;

  if (LIKELY(thread->refused == 0) || region->policy != RegionPolicyDISCARD)
    return FALSE;
  now = EventClock(EVENT_SLOW);
  return now - thread->refused > handPatience &&
         (now - thread->looked < handPoor ||
          (block != NULL && __atomic_load_n(&region->pool.full, __ATOMIC_ACQUIRE) >= region->limit));
}

/* handChanged -- remember since when there has been no room; returns whether there was */
static Bool handChanged(Thread thread, Bool changed)
{
  if (changed) {
    thread->refused = 0;
    return TRUE;
  }
  thread->looked = EventClock(EVENT_SLOW);
  if (thread->refused == 0)
    thread->refused = thread->looked;
  return FALSE;
}

Bool HandChange(Process process, Thread thread, unsigned kind)
{
  Stream stream = &thread->stream[kind][0];
  RegionHeader region = ProcessRegion(process);
  BlockHeader old = stream->block;
  Size size = StreamSize(process, stream, kind, 0), reserved = old != NULL ? old->whole - BlockHeaderSIZE : 0;
  Bool pending;

  __atomic_store_n(&thread->hot.cursor[kind][0].next, 0, __ATOMIC_RELEASE);
  if (old != NULL && !HandRoom(region, kind))
    return handChanged(thread, FALSE);
  if (!StreamTakeFrom(stream, &process->shared, size)) {
    if (old != NULL)
      (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
    return handChanged(thread, FALSE);
  }
  stream->before = handBefore(&pending, region, stream, old, reserved);
  if (old != NULL)
    ++stream->sequence;
  StreamStart(process, thread, kind, 0);
  stream->told = stream->discarded;
  if (old != NULL)
    HandGive(region, old, reserved, pending);
  return handChanged(thread, TRUE);
}

/* handElse -- where the stream's block is full, or there is none; 0: it takes the slow way */
static Word handElse(Process process, Thread thread, unsigned kind, Size size)
{
  EventCursor cursor = &thread->hot.cursor[kind][0];

  if (handRefuses(ProcessRegion(process), thread, thread->stream[kind][0].block)) {
    __atomic_store_n(&cursor->next, 0, __ATOMIC_RELEASE);
    (void)HandDiscard(process, thread, kind);
    return HandNOROOM;
  }
  return HandChange(process, thread, kind) ? StreamTry(cursor, size) : 0;
}

Word HandReserve(Thread thread, unsigned kind, Size size, Word at)
{
  Process process = ProcessIfReady();
  RegionHeader region = process != NULL && ProcessCollected(process) ? ProcessRegion(process) : NULL;
  BlockHeader block = thread->stream[kind][0].block;
  int error = errno;
  uint32_t collector;
  Word place;

  if (region == NULL || thread->inside || (block == NULL && !handRefuses(region, thread, block)) || ProcessOpen())
    return 0;
  collector = __atomic_load_n(&region->hand.collector, __ATOMIC_ACQUIRE);
  if ((collector & RegionCollectorDIED) != 0 || collector == RegionCollectorNONE || collector == RegionCollectorOFFERED)
    return 0;
  thread->inside = 1;
  handFence();
  StreamAbandon(at, size);
  place = StreamTry(&thread->hot.cursor[kind][0], size);
  if (place == 0)
    place = handElse(process, thread, kind, size);
  handFence();
  thread->inside = 0;
  errno = error;
  return place;
}

void HandLast(Process process, Thread thread, unsigned kind)
{
  Stream stream = &thread->stream[kind][0];
  RegionHeader region = ProcessRegion(process);
  BlockHeader block = stream->block;
  Bool pending = FALSE;
  Size reserved;

  if (block == NULL)
    return;
  reserved = StreamReserved(thread, kind, 0);
  __atomic_store_n(&thread->hot.cursor[kind][0].next, 0, __ATOMIC_RELEASE);
  stream->before = reserved == 0 ? stream->before : handBefore(&pending, region, stream, block, reserved);
  __atomic_store_n(&stream->block, NULL, __ATOMIC_RELEASE);
  if (reserved == 0 && block->discarded == stream->told) {
    StreamErase(block, 0);
    StoreGive(&process->shared, block, stream->size);
    return;
  }
  ++stream->sequence;
  stream->told = stream->discarded;
  (void)__atomic_fetch_add(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  HandGive(region, block, reserved, pending);
}

Bool HandDiscard(Process process, Thread thread, unsigned kind)
{
  RegionHeader region = ProcessRegion(process);
  Stream stream = &thread->stream[kind][0];
  uint64_t none = 0;

  if (region->policy == RegionPolicyBLOCK && stream->block != NULL && RegionCollected(region))
    return TRUE;
  if (stream->block != NULL)
    stream->block->discarded = ++stream->discarded;
  else
    (void)__atomic_fetch_add(&region->lost, 1, __ATOMIC_RELAXED);
  if (region->policy == RegionPolicySTOP && __atomic_compare_exchange_n(&region->stopped, &none, EventClock(EVENT_SLOW),
                                                                        FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    ControlStop();
  return FALSE;
}

void HandWait(Process process)
{
  RegionHeader region = ProcessRegion(process);
  long moment[2] = {0, handMoment};
  uint32_t freed = __atomic_load_n(&region->pool.freed, __ATOMIC_ACQUIRE);

  (void)__atomic_fetch_add(&region->pool.waiting, 1, __ATOMIC_SEQ_CST);
  HandWake(region);
  if (__atomic_load_n(&region->pool.full, __ATOMIC_SEQ_CST) >= region->limit)
    (void)QuietCall(SYS_futex, &region->pool.freed, FUTEX_WAIT, freed, moment, NULL, 0);
  (void)__atomic_fetch_sub(&region->pool.waiting, 1, __ATOMIC_SEQ_CST);
}

Bool HandFlush(Process process)
{
  RegionHeader region = ProcessRegion(process);
  long moment[2] = {0, handMoment};
  uint32_t asked;
  unsigned i;

  (void)__atomic_fetch_or(&region->hand.attention, RegionAskFLUSH, __ATOMIC_SEQ_CST);
  __atomic_store_n(&region->hand.sleeping, 1, __ATOMIC_SEQ_CST);
  HandWake(region);
  for (i = 0; i < handFlushTries && RegionCollected(region); ++i) {
    asked = __atomic_load_n(&region->hand.attention, __ATOMIC_ACQUIRE);
    if ((asked & RegionAskFLUSH) == 0)
      return TRUE;
    (void)QuietCall(SYS_futex, &region->hand.attention, FUTEX_WAIT, asked, moment, NULL, 0);
  }
  return FALSE;
}

/* handSnapshot -- send what is committed in a full block in which something is pending, once; it stays where it is, and
 * may stay for ever: the handler that was to fill it may have jumped away */
static void handSnapshot(Process process, BlockHeader block)
{
  Size size = block->whole;
  BlockTallyStruct tally;
  BlockHeader header;
  char *copy;

  if ((block->flags & BlockFlagSNAPSHOT) != 0)
    return;
  copy = QuietMap(BlockMAX, BlockMIN);
  if (copy == NULL)
    return;
  header = (BlockHeader)(void *)copy;
  memcpy(copy, block, size);
  BlockWalk(&tally, copy + BlockHeaderSIZE, size - BlockHeaderSIZE, header->first, TRUE);
  if (tally.used == 0 || SendBlock(process, header, &tally, BlockFlagSNAPSHOT) == ResOK)
    block->flags |= BlockFlagSNAPSHOT;
  QuietUnmap(copy, BlockMAX);
}

/* handSend -- send a block that was handed over, and is ours again.  FALSE: it must stay. */
static Bool handSend(Process process, RegionHeader region, BlockHeader block)
{
  BlockTallyStruct tally;

  /* Without its magic it is in the log already. */
  if (memcmp(block->magic, BlockMAGIC, BlockMagicSIZE) != 0)
    return TRUE;
  BlockWalk(&tally, (char *)block + BlockHeaderSIZE, block->whole - BlockHeaderSIZE, block->first, FALSE);
  if (tally.pending > 0 || tally.used < block->used) {
    handSnapshot(process, block);
    return FALSE;
  }
  if (SendBlock(process, block, &tally, 0) != ResOK)
    (void)__atomic_fetch_add(&region->lost, tally.count, __ATOMIC_RELAXED);
  return TRUE;
}

/* handDrain -- send what was handed over and will be collected by nobody */
static void handDrain(Process process)
{
  RegionHeader region = ProcessRegion(process);
  Size offset, size;
  Index i;

  for (i = 0; region != NULL && i < region->slots; ++i) {
    uint8_t state = __atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE);
    BlockHeader block;
    if ((state & RegionFULL) == 0 || !RegionBlockAt(&offset, &size, region, i) ||
        !__atomic_compare_exchange_n(&region->state[i], &state, (uint8_t)(RegionOPEN | (state & RegionLog2MASK)), FALSE,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    block = (BlockHeader)(void *)((char *)region + offset);
    if (!handSend(process, region, block)) {
      __atomic_store_n(&region->state[i], state, __ATOMIC_RELEASE);
      continue;
    }
    StreamErase(block, size - BlockHeaderSIZE);
    (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&region->state[i], RegionFREE, __ATOMIC_RELEASE);
  }
}

/* handTakeOver -- the process sends by itself from here on */
static void handTakeOver(Process process)
{
  ProcessLock(process);
  if (ProcessCollected(process)) {
    ControlOpenLog();
    (void)SendHeader(process);
    /* Not before: others send as soon as they see this, and where there is no way out nothing is sent. */
    __atomic_store_n(&process->collected, FALSE, __ATOMIC_RELEASE);
  }
  ProcessUnlock(process);
}

void HandCheck(Process process)
{
  RegionHeader region = ProcessRegion(process);
  uint32_t collector;

  if (region == NULL)
    return;
  collector = __atomic_load_n(&region->hand.collector, __ATOMIC_ACQUIRE);
  if (collector == RegionCollectorOFFERED && ProcessCollected(process) &&
      EventClockMonotonic() - process->offered > (uint64_t)handOfferMAX * handNsPerMs &&
      __atomic_compare_exchange_n(&region->hand.collector, &collector, RegionCollectorNONE, FALSE, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    collector = RegionCollectorNONE;
  if (ProcessCollected(process) && (collector == RegionCollectorNONE || (collector & RegionCollectorDIED) != 0))
    handTakeOver(process);
  if (!ProcessCollected(process) && __atomic_load_n(&region->pool.full, __ATOMIC_RELAXED) != 0)
    handDrain(process);
}
