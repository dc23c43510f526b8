/* hand.c -- full blocks to the collector, and empty ones from it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/hand.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/send.h"
#include "emit/stream.h"
#include "plinth/quiet.h"

enum {
  handOfferMAX = 1000,        /* ms until an offer that nobody takes is withdrawn */
  handTries = 20,             /* to send an offer while the collector's queue is full, a millisecond apart */
  handMoment = 20000000,      /* ns that a thread waits before it looks who lives */
  handPatience = 30000000,    /* ticks without room, some 10 ms, after which events are discarded at once */
  handPoor = 100000,          /* ticks between two looks for a free slot then */
  handOverwrites = 64,        /* tries to have an old block, which other threads want, too */
  handFlushTries = 50,        /* moments that a flush is waited for */
  handNsPerMs = 1000000
};

/* handFence -- the compiler keeps what stands before and behind apart; a signal handler sees them in this order */
static inline void handFence(void)
{
  __asm__ volatile("" : : : "memory");
}

/* handAddress -- of the collector's socket, in the abstract namespace; returns its length */
static Size handAddress(struct sockaddr_un *address)
{
  Size length = strlen(ControlSettings.collector);

  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, ControlSettings.collector, length);
  return offsetof(struct sockaddr_un, sun_path) + 1 + length;
}

/* handTell -- one datagram to the collector; fd: a descriptor to go with it, or -1.  0, or minus an errno. */
static long handTell(RegionOffer offer, int fd)
{
  struct sockaddr_un address;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {offer, sizeof *offer};
  struct msghdr message = {.msg_name = &address, .msg_namelen = (socklen_t)handAddress(&address), .msg_iov = &part,
                           .msg_iovlen = 1};
  long to = QuietCall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), res;

  if (to < 0)
    return to;
  if (fd >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  res = QuietCall(SYS_sendmsg, to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  (void)QuietCall(SYS_close, to);
  return res < 0 ? res : 0;
}

static void handOfferFill(RegionOffer offer)
{
  memset(offer, 0, sizeof *offer);
  memcpy(offer->magic, RegionMAGIC, BlockMagicSIZE);
  offer->version = RegionOfferVERSION;
  (void)strcpy(offer->token, ControlSettings.token);
}

Bool HandOffer(Process process, int fd)
{
  long moment[2] = {0, handNsPerMs}, res = -EAGAIN;
  RegionOfferStruct offer;
  unsigned i;

  handOfferFill(&offer);
  offer.pid = process->pid;
  offer.identity = process->identity;
  (void)strcpy(offer.path, process->shared.path);
  __atomic_store_n(&ProcessRegion(process)->hand.collector, RegionCollectorOFFERED, __ATOMIC_RELEASE);
  process->offered = EventClockMonotonic();
  for (i = 0; i < handTries && (res = handTell(&offer, fd)) == -EAGAIN; ++i)
    (void)QuietCall(SYS_nanosleep, moment, NULL);
  __atomic_store_n(&process->collected, res == 0, __ATOMIC_RELEASE);
  if (!ProcessCollected(process))
    __atomic_store_n(&ProcessRegion(process)->hand.collector, RegionCollectorNONE, __ATOMIC_RELEASE);
  return ProcessCollected(process);
}

void HandNote(const char *path)
{
  RegionOfferStruct note;
  Size length = strlen(path);

  if (ControlSettings.collector[0] == '\0' || length >= sizeof note.path)
    return;
  handOfferFill(&note);
  memcpy(note.path, path, length);
  (void)handTell(&note, -1);
}

/* handWake -- let the collector know, if it sleeps */
static void handWake(RegionHeader region)
{
  RegionOfferStruct call;

  if (LIKELY(__atomic_load_n(&region->hand.sleeping, __ATOMIC_SEQ_CST) == 0) ||
      __atomic_exchange_n(&region->hand.sleeping, 0, __ATOMIC_ACQ_REL) == 0)
    return;
  handOfferFill(&call);
  (void)handTell(&call, -1);
}

/* handFrequent -- may the stream's blocks be overwritten?  Not those of definitions, and of what is rare. */
static Bool handFrequent(unsigned kind)
{
  return kind != EventStreamDEFINITION && (EventKindsFREQUENT >> kind & 1) != 0;
}

/* handRoom -- may one more block be full?  Then it is counted. */
static Bool handRoom(RegionHeader region, unsigned kind)
{
  if (__atomic_fetch_add(&region->pool.full, 1, __ATOMIC_ACQ_REL) < region->limit)
    return TRUE;
  /* Where frequent kinds are overwritten they fill the pool, and the others are drained all the same. */
  if (region->policy == RegionPolicyOVERWRITE && !handFrequent(kind))
    return TRUE;
  (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  return FALSE;
}

static Index handSlot(RegionHeader region, BlockHeader block)
{
  return ((Size)((char *)block + block->whole - (char *)region) - RegionFIRST) / RegionSlotSIZE - 1;
}

/* handTicketNew -- a ticket that no block has had; odd where something in the block may be pending */
static uint64_t handTicketNew(RegionHeader region, Bool pending)
{
  return __atomic_add_fetch(&region->pool.ticket, 1, __ATOMIC_RELAXED) * 2 + (pending != 0);
}

/* handGive -- the block, of which `used` bytes are reserved, is the collector's from here on.  It is counted.  What may
 * be overwritten has a ticket. */
static void handGive(RegionHeader region, BlockHeader block, Size used, Bool pending)
{
  Index slot = handSlot(region, block);
  uint8_t log2 = (uint8_t)__builtin_ctz(block->whole);

  block->used = (uint32_t)used;
  if (region->policy == RegionPolicyOVERWRITE)
    __atomic_store_n(&region->tickets[slot],
                     RegionOverwrites(region, block) ? handTicketNew(region, pending) : 0, __ATOMIC_RELEASE);
  __atomic_store_n(&region->state[slot], RegionFULL | log2, __ATOMIC_SEQ_CST);
  handWake(region);
}

/* handOld -- is a slot full, and not being read? */
static Bool handOld(uint8_t state)
{
  return (state & (RegionFULL | RegionTAKEN)) == RegionFULL;
}

/* handTicket -- of the block that was handed over last in a slot; 0: it is not overwritten */
static uint64_t handTicket(RegionHeader region, Index slot)
{
  return __atomic_load_n(&region->tickets[slot], __ATOMIC_ACQUIRE);
}

/* handOldest -- the slot of the full block of a frequent kind that has waited longest, and its ticket; or `slots` */
static Index handOldest(uint64_t *ticketReturn, RegionHeader region)
{
  Index i, oldest = region->slots;

  *ticketReturn = UINT64_MAX;
  for (i = 0; i < region->slots; ++i) {
    uint64_t ticket;
    if (!handOld(__atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE)))
      continue;
    ticket = handTicket(region, i);
    if (ticket != 0 && ticket < *ticketReturn) {
      oldest = i;
      *ticketReturn = ticket;
    }
  }
  return oldest;
}

/* handPending -- is an event of a full block still to be filled in, because a signal handler has interrupted it? */
static Bool handPending(BlockHeader block)
{
  BlockTallyStruct tally;

  StreamTally(&tally, block, block->whole, block->used, FALSE);
  return tally.pending > 0;
}

/* handForget -- erase the block in a slot, if that is still the one with this ticket, and nothing in it is pending
 *
 * While it was looked for other threads may have used the slot again, for what is newest now.  While it is erased it is
 * nobody's: if it were open, it would be sent should we be killed, and what is between it and the others is gone.
 * Where something is pending somebody will write: the block stays, and is looked at again when all others were. */
static void handForget(RegionHeader region, Index slot, uint64_t ticket)
{
  uint8_t state = __atomic_load_n(&region->state[slot], __ATOMIC_ACQUIRE), full = state;
  BlockHeader block;
  Bool same, pending;
  Size offset, size;

  if (!handOld(state) || !RegionBlockAt(&offset, &size, region, slot) || handTicket(region, slot) != ticket ||
      !__atomic_compare_exchange_n(&region->state[slot], &state, RegionTAKEN, FALSE, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    return;
  block = (BlockHeader)(void *)((char *)region + offset);
  same = handTicket(region, slot) == ticket;
  pending = same && (ticket & 1) != 0 && handPending(block);
  if (pending)
    __atomic_store_n(&region->tickets[slot], handTicketNew(region, TRUE), __ATOMIC_RELEASE);
  if (!same || pending) {
    __atomic_store_n(&region->state[slot], full, __ATOMIC_RELEASE);
    return;
  }
  StreamErase(block, size - BlockHeaderSIZE);
  (void)__atomic_fetch_add(&region->pool.overwritten, 1, __ATOMIC_RELAXED);
  (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
  __atomic_store_n(&region->state[slot], RegionFREE, __ATOMIC_RELEASE);
}

/* handOverwrite -- forget the oldest full block of a frequent kind.  FALSE: none; TRUE also if another thread was
 * quicker, or the block stays */
static Bool handOverwrite(RegionHeader region)
{
  uint64_t ticket;
  Index oldest = handOldest(&ticket, region);

  if (oldest == region->slots)
    return FALSE;
  handForget(region, oldest, ticket);
  return TRUE;
}

/* handMake -- the same, if need be by forgetting what is oldest */
static Bool handMake(RegionHeader region, unsigned kind)
{
  unsigned tries;

  for (tries = 0; !handRoom(region, kind); ++tries)
    if (region->policy != RegionPolicyOVERWRITE || tries == handOverwrites || !handOverwrite(region))
      return FALSE;
  return TRUE;
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
  if (old != NULL && !handMake(region, kind))
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
    handGive(region, old, reserved, pending);
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
  handGive(region, block, reserved, pending);
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
  handWake(region);
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
  handWake(region);
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
