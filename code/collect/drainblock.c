/* drainblock.c -- one block out of a region into the batch
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/aver.h"
#include "collect/drain.h"
#include "format/fence.h"
#include "plinth/clock.h"
/* Its structs need format/block.h. */
#include "eventgen.h"

enum {
  drainNONE,               /* what a slot's mark says: nothing is known of what is in it */
  drainBEHIND,             /* a block that waits behind another of its stream */
  drainSTALLED,            /* something in it is pending */
  drainSNAPPED,            /* it was written as it is; more may come */
  drainBATCHED,            /* it is free when the batch is written */

  drainBehindMAX = 8,      /* blocks that wait behind one of which something is pending */
  drainLookEvery = 5000000 /* ns between two looks at a block of which something is pending */
};

/* What is being done with one slot. */
typedef struct TakingStruct {
  Drain drain;
  Index slot;
  Size size;           /* of the block, by the slot's state */
  uint8_t state;
  DrainWhat what;
  BlockHeader block;   /* the copy: sound as far as BlockUnsealedIs can tell */
  DrainSlot note;
  BlockTallyStruct tally;
  Size packed;         /* bytes that it is packed into already, where the next message goes; 0: it is not */
  Index stream;        /* its number */
  Bool pending;
} TakingStruct, *Taking;

static DrainStream takingStream(Taking taking)
{
  AVER_CRITICAL(taking->stream < taking->drain->streams.count);
  return &taking->drain->streams.stream[taking->stream];
}

/* takingPlace -- where the slot's block is in memory; its owner may write there */
static char *takingPlace(Taking taking)
{
  return (char *)taking->drain->header + RegionFIRST + (taking->slot + 1) * RegionSlotSIZE - taking->size;
}

/* takingHead -- copy the header of the slot's block */
__attribute__((no_sanitize("thread"))) static void takingHead(BlockHeader headerReturn, Taking taking)
{
  memcpy(headerReturn, takingPlace(taking), sizeof *headerReturn);
}

/* takingSized -- is there something to take, by the slot's state, and how large is it? */
static Bool takingSized(Taking taking)
{
  taking->size = (Size)1 << (taking->state & RegionLog2MASK);
  if (taking->size < BlockMIN || taking->size > BlockMAX)
    return FALSE;
  return (taking->state & RegionFULL) != 0 || ((taking->state & RegionOPEN) != 0 && DrainTakesOpen(taking->what));
}

/* takingGive -- free the slot when the batch is written */
static void takingGive(Taking taking)
{
  if ((taking->state & RegionFULL) == 0)
    return;
  taking->note->mark = drainBATCHED;
  BatchRelease(&taking->drain->shop->batch,
               (BatchSlotStruct){.header = taking->drain->header, .slot = taking->slot, .block = takingPlace(taking),
                                 .size = taking->size, .mark = &taking->note->mark});
}

/* takingMend -- the program has written over the slot's state */
static void takingMend(Taking taking, uint8_t state)
{
  taking->state = state;
  __atomic_store_n(&taking->drain->header->state[taking->slot], state, __ATOMIC_RELEASE);
}

/* takingMended -- is the block of another size than the slot says, or is there none at all?  Then the state is
 * mended. */
static Bool takingMended(Taking taking)
{
  uint8_t told = RegionStateTold(takingPlace(taking) + taking->size, BlockMAX, taking->drain->identity);
  const char *copy = (const char *)taking->block;

  if (RegionStateWrong(taking->state, told))
    takingMend(taking, told);
  else if (copy[0] == 0 && memcmp(copy, copy + 1, taking->size - 1) == 0)
    takingMend(taking, RegionFREE);
  else
    return FALSE;
  return TRUE;
}

/* takingFilled -- does the slot of a block that its owner is filling say that it is full?  Then the state is mended.
 * Should the owner hand it over meanwhile it is found when the process ends. */
static Bool takingFilled(Taking taking)
{
  if (taking->what == DrainALL || (taking->state & RegionFULL) == 0 || !RegionFilled(taking->block))
    return FALSE;
  takingMend(taking, (uint8_t)(RegionOPEN | __builtin_ctzl(taking->size)));
  return TRUE;
}

/* takingSpoiled -- the copy is none, though the slot has a size: the program has written over its header.  What its
 * owner may be filling, or erasing, is looked at again; in the memory of the dead nobody looks there any more. */
static void takingSpoiled(Taking taking)
{
  Drain drain = taking->drain;
  Bool full = (taking->state & RegionFULL) != 0;

  if ((!full && taking->what != DrainALL) || takingMended(taking))
    return;
  DrainSpoiled(drain, BlockSpoiled(taking->block, taking->size));
  if (full)
    BatchDrop((BatchSlotStruct){.header = drain->header, .slot = taking->slot, .block = takingPlace(taking),
                                .size = taking->size, .mark = &taking->note->mark});
  else
    __atomic_store_n(&drain->header->state[taking->slot], RegionOPEN, __ATOMIC_RELEASE);
  taking->state = RegionFREE;
}

/* takingWalk -- what is committed; room that was reserved at a full block's end is pending, too, though nothing that
 * follows tells of it */
static void takingWalk(Taking taking)
{
  BlockHeader block = taking->block;
  Size limit = taking->size - BlockHeaderSIZE;
  Bool full = (taking->state & RegionFULL) != 0;

  if (full && block->used > 0 && block->used <= limit && block->used % EventALIGN == 0)
    limit = block->used;
  BlockWalk(&taking->tally, block + 1, limit, block->first, FALSE);
  taking->pending = taking->tally.pending > 0 ||
                    (full && limit == block->used && taking->tally.used < limit && !taking->tally.broken);
  if (taking->tally.pending > 0 && (taking->what == DrainALL || !full))
    BlockWalk(&taking->tally, block + 1, limit, block->first, TRUE);
}

/* takingFlags -- the flags of the block in the log */
static unsigned takingFlags(Taking taking)
{
  DrainStream stream = takingStream(taking);
  unsigned flags = taking->block->flags & BlockFlagsOWNER;

  if (RegionOverwrites(taking->drain->header, taking->block)) {
    flags |= BlockFlagUNSENT; /* earlier blocks may have been overwritten, as was asked for, unless the log has the one
                                 before */
    if (stream->next > 0 && taking->block->sequence == stream->next && stream->total != BlockBeforeUNKNOWN)
      flags |= BlockFlagBEHIND;
  }
  if (taking->what != DrainALL && (taking->pending || (taking->state & RegionFULL) == 0))
    return flags | BlockFlagSEALED | BlockFlagSNAPSHOT;
  return flags | (taking->what == DrainALL && (taking->state & RegionFULL) == 0 ? BlockFlagRECOVERED : BlockFlagSEALED);
}

/* takingMessage -- where the block's message goes; NULL: the log cannot be written at present */
static unsigned char *takingMessage(Taking taking)
{
  return BatchPlace(&taking->drain->shop->batch, BlockHeaderSIZE + BlockRestMAX + PackSlackSIZE);
}

/* takingPack -- pack so many bytes of its events there; FALSE: they do not pack, or are not to be */
static Bool takingPack(Taking taking, Size used)
{
  DrainShop shop = taking->drain->shop;
  DrainTypes types = taking->drain->head.types;
  unsigned char *message = takingMessage(taking);

  taking->packed = 0;
  if (!shop->raw && types != NULL && message != NULL)
    taking->packed = BlockPack(shop->pack, &types->registry, taking->block + 1, used, taking->block->first,
                               message + BlockHeaderSIZE, &taking->tally.count);
  return taking->packed > 0;
}

/* takingAhead -- may the block that was just packed have events later than now?  The clock of its process may be ahead
 * of ours: in a time namespace, or where the process may not read the counter.  Events of long ago may look so, too. */
static Bool takingAhead(Taking taking)
{
  return (int32_t)(PackLastTime(taking->drain->shop->pack) - (uint32_t)EventClock(taking->drain->head.slow)) > 0;
}

/* takingQuick -- a full block that is plain from beginning to end, as nearly all are: packing it is all that is
 * needed to know it, because its events are not later than now */
static Bool takingQuick(Taking taking)
{
  Size used = taking->block->used;

  if ((taking->state & RegionFULL) == 0 || taking->drain->shop->events != NULL || used == 0 ||
      used > taking->size - BlockHeaderSIZE || used % EventALIGN != 0 || !takingPack(taking, used))
    return FALSE;
  if (takingAhead(taking)) {
    taking->packed = 0;
    return FALSE;
  }
  taking->tally.used = used;
  taking->tally.pending = 0;
  taking->tally.broken = FALSE;
  taking->tally.last = taking->block->first;
  taking->pending = FALSE;
  return TRUE;
}

/* takingSeal -- the block as a message, into the batch; FALSE: the log cannot be written at present */
static Bool takingSeal(Taking taking, uint64_t before)
{
  Drain drain = taking->drain;
  Batch batch = &drain->shop->batch;
  BlockHeaderStruct header = *taking->block;
  unsigned char *place = takingMessage(taking);
  uint64_t now = EventClock(drain->head.slow);

  if (place == NULL)
    return FALSE;
  AVER(taking->tally.used <= taking->size - BlockHeaderSIZE);
  if (taking->tally.pending > 0) /* what is pending is not waited for any more */
    BlockWalk(&taking->tally, taking->block + 1, taking->tally.used, taking->block->first, TRUE);
  if (drain->shop->events != NULL)
    BlockChoose(taking->block + 1, &taking->tally.used, &taking->tally.count, drain->shop->events, 0);
  header.flags = (uint8_t)takingFlags(taking);
  header.reserved0 = 0;
  header.reserved1 = 0;
  header.reserved2 = 0;
  header.used = (uint32_t)taking->tally.used;
  header.before = before;
  header.last = taking->tally.last;
  CountRaise(&drain->newest, taking->tally.last);
  header.mono = 0;
  if ((header.flags & BlockFlagSEALED) != 0) {
    header.mono = EventClockMonotonic();
    header.last = now > header.last ? now : header.last;
  }
  if (taking->packed == 0)
    (void)takingPack(taking, taking->tally.used);
  header.count = (uint32_t)taking->tally.count;
  BlockSeal(&header, place + BlockHeaderSIZE, taking->packed, taking->block + 1);
  memcpy(place, &header, sizeof header);
  BatchCommit(batch, header.size);
  /* A block may be written more than once: what is new in it counts. */
  if (header.count > taking->note->seenCount)
    drain->shop->counts.events += header.count - taking->note->seenCount;
  taking->note->seenCount = header.count;
  drain->shop->counts.bytes += header.size;
  drain->unheaded += header.size;
  return TRUE;
}

/* takingBefore -- how many events the stream had before this block; BlockBeforeUNKNOWN */
static uint64_t takingBefore(Taking taking)
{
  DrainStream stream = takingStream(taking);
  BlockHeader block = taking->block;

  if (block->before != BlockBeforeUNKNOWN)
    return block->before; /* the process knows: it sent what came before by itself */
  return block->sequence == stream->next ? stream->total : BlockBeforeUNKNOWN;
}

/* takingSend -- into the batch, and count.  FALSE: not now. */
static Bool takingSend(Taking taking)
{
  DrainStream stream = takingStream(taking);
  DrainSlot note = taking->note;
  BlockHeader block = taking->block;
  Bool again = note->mark == drainSNAPPED;
  uint64_t before = again ? note->before : takingBefore(taking);

  if (!takingSeal(taking, before))
    return FALSE;
  if (again && stream->total != BlockBeforeUNKNOWN) {
    stream->total += taking->tally.count - note->count;
  } else if (!again && block->sequence >= stream->next) {
    stream->next = block->sequence + 1;
    stream->total = before == BlockBeforeUNKNOWN ? before : before + taking->tally.count;
  }
  taking->drain->shop->counts.discarded += DrainStreamDiscarded(stream, block->discarded);
  note->before = before;
  note->count = (uint32_t)taking->tally.count;
  return TRUE;
}

/* takingOpen -- of an open block, what it holds now, if that is more than before */
static Bool takingOpen(Taking taking)
{
  DrainSlot note = taking->note;
  uint64_t before = takingBefore(taking);

  /* Its owner may have handed it over, and taken it again, while we copied. */
  Fence();
  if (!BlockSame(takingPlace(taking), taking->block) ||
      __atomic_load_n(&taking->drain->header->state[taking->slot], __ATOMIC_ACQUIRE) != taking->state)
    return FALSE;
  if (taking->tally.used == 0 || before == BlockBeforeUNKNOWN ||
      (taking->what <= DrainSHOWN &&
       ((taking->block->flags & BlockFlagUNSENT) != 0 || RegionOverwrites(taking->drain->header, taking->block))) ||
      note->count >= taking->tally.count)
    return FALSE;
  note->count = (uint32_t)taking->tally.count;
  if (!takingSeal(taking, before))
    return FALSE;
  if (RegionOverwrites(taking->drain->header, taking->block)) /* then these are there */
    __atomic_store_n(&((BlockHeader)(void *)takingPlace(taking))->size, note->count, __ATOMIC_RELAXED);
  return TRUE;
}

/* takingDone -- write the block, and free its slot.  Bytes behind its last sound event that are no event count as one
 * lost event.  FALSE: not now. */
static Bool takingDone(Taking taking)
{
  if (!takingSend(taking))
    return FALSE;
  if (taking->tally.broken)
    DrainSpoiled(taking->drain, 1);
  takingGive(taking);
  return TRUE;
}

/* takingLast -- of a dead process: a full block, or what an open one holds */
static Bool takingLast(Taking taking)
{
  DrainStream stream = takingStream(taking);
  Bool open = (taking->state & RegionFULL) == 0;

  /* The flight recorder is not sent; a block whose number is lower than the next one is in the log; and an empty block
   * is not worth writing, unless it counts discarded events. */
  if (open && ((taking->block->flags & BlockFlagUNSENT) != 0 || taking->block->sequence < stream->next))
    return FALSE;
  if (open && taking->tally.used == 0 && taking->block->discarded == stream->discarded) {
    if (taking->tally.broken)
      takingSpoiled(taking);
    return FALSE;
  }
  return takingDone(taking);
}

/* takingStall -- an event in it is pending: wait for that, unless too many blocks wait behind it; then write a
 * snapshot */
static Bool takingStall(Taking taking)
{
  DrainStream stream = takingStream(taking);
  DrainSlot note = taking->note;

  note->looked = taking->drain->now;
  if (note->mark == drainSNAPPED)
    return FALSE;
  note->mark = drainSTALLED;
  stream->stall = (uint32_t)taking->slot + 1;
  if (stream->behind < drainBehindMAX)
    return FALSE;
  if (!takingSend(taking))
    return FALSE;
  note->mark = drainSNAPPED;
  stream->stall = 0;
  stream->behind = 0;
  return TRUE;
}

/* takingFull -- a full block of a living process */
static Bool takingFull(Taking taking)
{
  DrainStream stream = takingStream(taking);

  if (taking->pending)
    return takingStall(taking);
  if (!takingDone(taking))
    return FALSE;
  if (stream->stall == taking->slot + 1)
    stream->stall = 0;
  return TRUE;
}

/* takingStalled -- do the blocks of a stream wait for one of which something is pending?  Where blocks are overwritten
 * it may be gone, when it has been filled in. */
static Bool takingStalled(Taking taking, DrainStream stream)
{
  Drain drain = taking->drain;
  Index slot = stream->stall - 1;

  if (stream->stall != 0 && (drain->slot[slot].mark != drainSTALLED ||
                             (__atomic_load_n(&drain->header->state[slot], __ATOMIC_ACQUIRE) & RegionFULL) == 0))
    stream->stall = 0;
  return stream->stall != 0;
}

/* takingWaits -- is it known that there is nothing to do for the slot now, without a look at its block? */
static Bool takingWaits(Taking taking)
{
  Drain drain = taking->drain;
  DrainSlot note = taking->note;
  DrainStream stream;

  if (note->mark == drainNONE || taking->what == DrainALL || (taking->state & RegionFULL) == 0)
    return FALSE;
  stream = &drain->streams.stream[note->stream];
  if (note->mark == drainBEHIND) {
    stream->behind += takingStalled(taking, stream);
    return stream->stall != 0;
  }
  if (note->mark == drainSTALLED) {
    if (stream->behind >= drainBehindMAX)
      return FALSE;
    stream->behind = 0; /* they are counted anew in each round */
  }
  return drain->now - note->looked < drainLookEvery;
}

/* takingRetained -- is the slot's block full, and must it stay where it is until a flush or a death asks for it?
 *
 * The header of the block cannot answer that.  Its owner may be erasing the block, or filling the next one in its
 * place, and a header that is half old and half new can make a frequent block look rare.  Nor may we claim the slot to
 * find out: the owner would then overwrite a newer block instead.  The slot's ticket answers it: a block without one is
 * ours as soon as it is full. */
static Bool takingRetained(Taking taking)
{
  Drain drain = taking->drain;

  return drain->policy == RegionPolicyOVERWRITE && taking->what < DrainHELD && (taking->state & RegionFULL) != 0 &&
         __atomic_load_n(&drain->header->tickets[taking->slot], __ATOMIC_ACQUIRE) != 0;
}

Bool DrainSlotList(DrainEntry entry, Drain drain, Index slot, uint8_t state, DrainWhat what)
{
  TakingStruct taking = {.drain = drain, .slot = slot, .what = what, .note = &drain->slot[slot], .state = state};
  BlockHeaderStruct header;

  if (!takingSized(&taking) || taking.note->mark == drainBATCHED || takingRetained(&taking))
    return FALSE;
  takingHead(&header, &taking);
  if (what == DrainDEFINED && (state & RegionFULL) == 0 && header.kind != EventKindSystem &&
      BlockStreamPlace(&header) == header.kind)
    return FALSE;
  drain->used = slot < drain->used ? drain->used : slot + 1;
  if (taking.note->first != header.first) {
    taking.note->first = header.first;
    taking.note->mark = drainNONE;
    taking.note->count = taking.note->seenCount = 0;
  }
  entry->first = header.first;
  entry->sequence = header.sequence;
  entry->slot = (uint32_t)slot;
  entry->open = (state & RegionFULL) == 0;
  return TRUE;
}

/* takingBlock -- what is in the slot; TRUE if something of it went into the batch */
static Bool takingBlock(Taking taking)
{
  Drain drain = taking->drain;
  Bool full = (taking->state & RegionFULL) != 0;
  BlockHeaderStruct header;
  DrainStream stream;

  /* takingOpen compares the copy with the block again.  A full block that the program has changed is told as damaged
   * below. */
  (void)BlockCopyLive(taking->block, takingPlace(taking), taking->size);
  if (taking->block->first != taking->note->first)
    return FALSE; /* it is another one than was listed */
  /* Types that it needs were published before the block was handed over. */
  (void)DrainHeaderNew(drain);
  if (drain->owed && !DrainGreet(drain) && drain->head.types != NULL)
    return FALSE;
  if (!BlockUnsealedIs(&header, taking->block, taking->size, drain->identity) || header.sequence == UINT64_MAX) {
    takingSpoiled(taking);
    return FALSE;
  }
  if (takingFilled(taking) || DrainStreamGet(&taking->stream, &drain->streams, header.stream) != ResOK)
    return FALSE;
  taking->note->stream = (uint32_t)taking->stream;
  stream = takingStream(taking);
  if (taking->what != DrainALL && full && takingStalled(taking, stream) && stream->stall != taking->slot + 1) {
    taking->note->mark = drainBEHIND;
    ++stream->behind;
    return FALSE;
  }
  if (!takingQuick(taking))
    takingWalk(taking);
  if (taking->what == DrainALL)
    return takingLast(taking);
  return full ? takingFull(taking) : takingOpen(taking);
}

/* takingClaim -- keep a full block from being overwritten while it is read, and until it is free; FALSE: it was */
static Bool takingClaim(Taking taking)
{
  uint8_t state = taking->state;

  return taking->drain->policy != RegionPolicyOVERWRITE || (state & RegionFULL) == 0 ||
         __atomic_compare_exchange_n(&taking->drain->header->state[taking->slot], &state,
                                     (uint8_t)(state | RegionTAKEN), FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* takingLeave -- the block stays where it is: it may be overwritten again */
static void takingLeave(Taking taking)
{
  if (taking->drain->policy == RegionPolicyOVERWRITE && (taking->state & RegionFULL) != 0 &&
      taking->note->mark != drainBATCHED)
    __atomic_store_n(&taking->drain->header->state[taking->slot], taking->state & (uint8_t)~RegionTAKEN,
                     __ATOMIC_RELEASE);
}

Bool DrainSlotTake(Drain drain, DrainEntry entry, DrainWhat what)
{
  TakingStruct taking = {.drain = drain, .slot = entry->slot, .what = what, .note = &drain->slot[entry->slot],
                         .block = (BlockHeader)(void *)drain->shop->copy};
  Bool taken;

  AVER(entry->slot < drain->slots);
  taking.state = __atomic_load_n(&drain->header->state[taking.slot], __ATOMIC_ACQUIRE);
  if (!takingSized(&taking) || takingRetained(&taking) || takingWaits(&taking) ||
      BatchPlace(&drain->shop->batch, 0) == NULL || !takingClaim(&taking))
    return FALSE;
  if (drain->muted) {
    takingGive(&taking);
    return TRUE;
  }
  taken = takingBlock(&taking);
  takingLeave(&taking);
  return taken;
}
