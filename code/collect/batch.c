/* batch.c -- messages that wait to be written to the log, and the slots that are free once they are
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/batch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "plinth/clock.h"
#include "plinth/rawsyscall.h"

enum {
  batchWait = 500,        /* ms, where there is a connection; */
  batchPatience = 10,     /* and how often */
  batchBehind = 250000000, /* ns for which a receiver that is not all there is may take nothing */
  batchSPENT = 1          /* since then it takes nothing that need be waited for: the end is near */
};

/* batchFree -- zero one slot, and free it.  Its state loses the size first: readers take a slot that has a size and no
 * header for one whose header was written over, and we may be killed at any moment.  A thread may take the slot at
 * once. */
static void batchFree(BatchSlotStruct *slot)
{
  uint8_t *state = &slot->header->state[slot->slot];

  __atomic_store_n(state, __atomic_load_n(state, __ATOMIC_RELAXED) & (uint8_t)~RegionLog2MASK, __ATOMIC_RELEASE);
  __asm__ volatile("" : : : "memory");
  __atomic_store_n((uint64_t *)slot->block, 0, __ATOMIC_RELEASE);
  /* A process that is killed dies between two instructions, so it is enough that the compiler keeps them in order. */
  __asm__ volatile("" : : : "memory");
  memset(slot->block, 0, slot->size);
  __atomic_store_n(state, RegionFREE, __ATOMIC_RELEASE);
  (void)__atomic_fetch_sub(&slot->header->pool.full, 1, __ATOMIC_SEQ_CST);
  *slot->mark = 0;
}

/* batchWake -- threads of the process may be waiting for what was freed */
static void batchWake(RegionHeader header)
{
  if (__atomic_load_n(&header->pool.waiting, __ATOMIC_SEQ_CST) == 0)
    return;
  (void)__atomic_fetch_add(&header->pool.freed, 1, __ATOMIC_SEQ_CST);
  (void)syscall(SYS_futex, &header->pool.freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void BatchDrop(BatchSlotStruct slot)
{
  AVER(slot.header != NULL && slot.mark != NULL && slot.slot < RegionSlotsMAX);
  batchFree(&slot);
  batchWake(slot.header);
}

/* batchMessage -- the size of the first of the messages at `bytes`, which are our own */
static Size batchMessage(const unsigned char *bytes, Size left, Bool *headerReturn)
{
  BlockHeaderStruct block;
  unsigned version[3];
  Size size = 0;
  Res res;

  *headerReturn = memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) == 0;
  if (*headerReturn) {
    res = HeaderLength(&size, version, bytes, left);
    AVER(res == ResOK);
  } else {
    memcpy(&block, bytes, sizeof block);
    size = block.size;
  }
  AVER(size > 0 && size <= left);
  return size;
}

/* batchPlace -- where in the log the next write goes; 0: the log has no places, as it is a pipe */
static uint64_t batchPlace(Batch batch)
{
  off_t at = lseek(batch->fd, 0, SEEK_CUR);

  return at > 0 ? (uint64_t)at : 0;
}

uint64_t BatchMissing(Batch batch)
{
  uint64_t place = batch->fd >= 0 ? batchPlace(batch) : 0;
  struct stat status;

  if (place == 0 || fstat(batch->fd, &status) != 0 || (uint64_t)status.st_size >= place)
    return batch->missing;
  batch->missing += place - (uint64_t)status.st_size;
  /* What is cut off counts once. */
  (void)lseek(batch->fd, status.st_size, SEEK_SET);
  return batch->missing;
}

uint64_t BatchReached(Batch batch)
{
  return batch->fd >= 0 && batch->forward == NULL ? batchPlace(batch) + batch->missing : 0;
}

/* batchWhole -- the message within which the last write ended counts as not written */
static void batchWhole(Batch batch)
{
  Size at = 0, size;
  Bool header;

  while (at < batch->written &&
         at + (size = batchMessage(batch->room + at, batch->used - at, &header)) <= batch->written)
    at += size;
  batch->bytes -= batch->written - at;
  batch->written = at;
}

/* batchLimited -- how much of what is left may be written: whole messages, up to the limit on file sizes, below which
 * room is left for the last words */
static Size batchLimited(Batch batch)
{
  uint64_t reserve = batch->last ? 0 : PlinthRESERVE, most;
  struct stat status;
  Size at = batch->written, size;
  Bool header;

  if (batch->limit == UINT64_MAX || batch->cut != 0 || fstat(batch->fd, &status) != 0)
    return batch->used - batch->written;
  most = (uint64_t)status.st_size + reserve < batch->limit ? batch->limit - reserve - (uint64_t)status.st_size : 0;
  while (at < batch->used && (size = batchMessage(batch->room + at, batch->used - at, &header)) <= most) {
    most -= size;
    at += size;
  }
  return at - batch->written;
}

/* batchAppend -- all of it to the log */
static Res batchAppend(Batch batch)
{
  if (batch->written < batch->used)
    (void)BatchMissing(batch);
  while (batch->written < batch->used) {
    uint64_t place = batchPlace(batch), end;
    struct stat status;
    ssize_t n = -1;
    Size size;
    /* The last write was short, and may have ended within a message.  If another process has appended to the log since,
     * that message is written again from its beginning. */
    if (batch->cut != 0 && (fstat(batch->fd, &status) != 0 || (uint64_t)status.st_size != batch->cut))
      batchWhole(batch);
    errno = EFBIG;
    size = batchLimited(batch);
    if (size > 0)
      n = write(batch->fd, batch->room + batch->written, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      batch->reason = n < 0 ? errno : ENOSPC;
      return ResIO;
    }
    batch->written += (Size)n;
    batch->bytes += (Size)n;
    /* Nobody else has this description of the file: it stands where we have written last.  That is less far than it
     * should be if the log was cut since its length was looked at. */
    end = batchPlace(batch);
    if (end != 0 && end < place + (Size)n)
      batch->missing += place + (Size)n - end;
    batch->cut = (Size)n < size ? end : 0;
  }
  return ResOK;
}

/* batchOffer -- offer one message to the receiver.  At the end of the recording the receiver is waited for, until it
 * takes nothing any more. */
static Res batchOffer(Batch batch, const void *message, Size size, Bool header)
{
  Res res = PlinthOffer(batch->forward, message, size, header);
  unsigned tries;

  for (tries = 0; res != ResOK && batch->patient && tries < batchPatience; ++tries) {
    (void)PlinthWait(batch->forward, batchWait);
    res = PlinthOffer(batch->forward, message, size, header);
  }
  return res;
}

/* batchSkip -- should a message that the receiver refuses go to the file only?  Then its events are counted. */
static Bool batchSkip(Batch batch, const void *message, Size size)
{
  uint64_t now = EventClockMonotonic();

  if (batch->fd < 0)
    return FALSE;
  batch->behind = batch->patient ? batchSPENT : batch->behind == 0 ? now : batch->behind;
  batch->patient = FALSE;
  if (now - batch->behind < batchBehind)
    return FALSE;
  batch->skipped += BlockMessageEvents(message, size);
  return TRUE;
}

/* batchSend -- all of it to the receiver, message by message */
static Res batchSend(Batch batch)
{
  while (batch->passed < batch->used) {
    const unsigned char *message = batch->room + batch->passed;
    Bool header;
    Size size = batchMessage(message, batch->used - batch->passed, &header);
    if (batchOffer(batch, message, size, header) == ResOK) {
      batch->behind = batch->behind == batchSPENT ? batchSPENT : 0;
    } else if (!batchSkip(batch, message, size)) {
      batch->patient = FALSE;
      batch->reason = ENOBUFS;
      return batch->fd >= 0 ? ResLIMIT : ResIO;
    }
    batch->passed += size;
    batch->bytes += batch->fd < 0 ? size : 0;
  }
  return ResOK;
}

/* batchOut -- so many bytes of the batch are wherever they are to go: whole messages, unless a write to the log was cut
 * short */
static Size batchOut(Batch batch)
{
  return batch->forward != NULL ? batch->passed : batch->written;
}

/* batchFreed -- free the slots whose blocks are out */
static void batchFreed(Batch batch)
{
  uint64_t reached = batch->slots > 0 ? BatchReached(batch) : 0;
  Size out = batchOut(batch);
  Index i, kept = 0;

  for (i = 0; i < batch->slots && batch->slot[i].end <= out; ++i) {
    __atomic_store_n(&batch->slot[i].header->pool.reached, reached, __ATOMIC_RELEASE);
    batchFree(&batch->slot[i]);
    if (i + 1 == batch->slots || batch->slot[i + 1].header != batch->slot[i].header)
      batchWake(batch->slot[i].header);
  }
  while (i < batch->slots)
    batch->slot[kept++] = batch->slot[i++];
  batch->slots = kept;
}

Res BatchWrite(Batch batch)
{
  Res res;

  AVER_CRITICAL(BatchCheck(batch));
  res = batch->fd >= 0 ? batchAppend(batch) : ResOK;
  if (res == ResOK && batch->forward != NULL)
    res = batchSend(batch);
  batchFreed(batch);
  if (res != ResOK)
    return res;
  AVER(batch->slots == 0);
  batch->reason = 0;
  batch->used = batch->written = batch->passed = 0;
  if (batch->trim != NULL && TrimNewest(batch->trim) != ResOK)
    batch->untrimmed = errno;
  return ResOK;
}

unsigned char *BatchPlace(Batch batch, Size size)
{
  AVER(size <= BatchSIZE);
  if ((size > BatchSIZE - batch->used || batch->slots == BatchSlotsMAX) && BatchWrite(batch) != ResOK) {
    ++batch->refused;
    return NULL;
  }
  return batch->room + batch->used;
}

void BatchCommit(Batch batch, Size size)
{
  AVER(size <= BatchSIZE - batch->used);
  batch->used += size;
}

void BatchRelease(Batch batch, BatchSlotStruct slot)
{
  AVER(batch->slots < BatchSlotsMAX);
  AVER(slot.header != NULL && slot.mark != NULL && slot.slot < RegionSlotsMAX);
  slot.end = batch->used;
  batch->slot[batch->slots++] = slot;
}

void BatchOpen(Batch batch, int fd)
{
  batch->fd = fd;
  batch->limit = RawLimit(RLIMIT_FSIZE);
}

/* batchTally -- what waits, for the receiver where there is one: blocks of one process, by its identity, and their
 * events; 0: of all */
static void batchTally(BatchDropped tallyReturn, Batch batch, uint64_t process)
{
  BlockHeaderStruct block;
  Size at, size;
  Bool header;

  *tallyReturn = (BatchDroppedStruct){0};
  for (at = batchOut(batch); at < batch->used; at += size) {
    size = batchMessage(batch->room + at, batch->used - at, &header);
    if (header)
      continue;
    memcpy(&block, batch->room + at, sizeof block);
    if (process != 0 && block.process != process)
      continue;
    ++tallyReturn->blocks;
    tallyReturn->events += BlockMessageEvents(batch->room + at, size);
  }
}

/* batchPiece -- of the message within which the last write ended: is it a block of the process, and does the log have
 * all of its
 * header?  Then readers say that the block is cut off, and how many events it had. */
static Bool batchPiece(BlockHeader block, Batch batch, Size end, uint64_t process)
{
  if (batch->cut == 0 || end - batch->written < BlockHeaderSIZE ||
      memcmp(batch->room + batch->written, BlockMAGIC, BlockMagicSIZE) != 0)
    return FALSE;
  memcpy(block, batch->room + batch->written, sizeof *block);
  return block->process == process;
}

void BatchLast(BatchDropped dropped, Batch batch, uint64_t process)
{
  Size end = batch->written;
  BlockHeaderStruct block;

  AVER(BatchCheck(batch) && !batch->last);
  batchWhole(batch);
  batchTally(dropped, batch, process);
  if (batchPiece(&block, batch, end, process) && dropped->blocks > 0) {
    dropped->piece = block.count;
    dropped->events -= block.count;
    --dropped->blocks;
  }
  batch->used = batch->written = batch->passed = 0;
  batch->cut = 0;
  batch->slots = 0;
  batch->last = TRUE;
}

Bool BatchFarther(Batch batch)
{
  Bool raised;

  AVER(batch->last);
  raised = RawLimitRaise(RLIMIT_FSIZE);

  BatchOpen(batch, batch->fd);
  return raised;
}

uint64_t BatchWaiting(Batch batch, uint64_t process)
{
  BatchDroppedStruct waiting;

  batchTally(&waiting, batch, process);
  return waiting.events;
}

void BatchForget(Batch batch, RegionHeader header)
{
  Index i, kept = 0;

  for (i = 0; i < batch->slots; ++i)
    if (batch->slot[i].header != header)
      batch->slot[kept++] = batch->slot[i];
  batch->slots = kept;
}

Bool BatchCheck(Batch batch)
{
  Index i;

  if (batch->used > BatchSIZE || batch->written > batch->used || batch->passed > batch->used ||
      (batch->forward == NULL && batch->passed != 0) || batch->slots > BatchSlotsMAX)
    return FALSE;
  for (i = 0; i < batch->slots; ++i)
    if (batch->slot[i].header == NULL || batch->slot[i].mark == NULL || batch->slot[i].slot >= RegionSlotsMAX ||
        batch->slot[i].end > batch->used || (i > 0 && batch->slot[i].end < batch->slot[i - 1].end))
      return FALSE;
  return TRUE;
}
