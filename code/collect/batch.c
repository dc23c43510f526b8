/* batch.c -- messages that wait to be written to the log, and the slots that are free once they are
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/batch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "format/header.h"
#include "plinth/clock.h"

enum {
  batchWait = 500,        /* ms, where there is a connection; */
  batchPatience = 10,     /* and how often */
  batchBehind = 250000000, /* ns for which an outlet that is not all there is may take nothing */
  batchSPENT = 1          /* since then it takes nothing that need be waited for: the end is near */
};

/* batchFree -- one slot, zeroed; first it says nothing of a size any more, for what has a size and no header was spoiled:
 * so whatever dies meanwhile nobody looks for a block there.  A thread may take it at once. */
static void batchFree(BatchSlotStruct *slot)
{
  uint8_t *state = &slot->header->state[slot->slot];

  __atomic_store_n(state, __atomic_load_n(state, __ATOMIC_RELAXED) & (uint8_t)~RegionLog2MASK, __ATOMIC_RELEASE);
  __asm__ volatile("" : : : "memory");
  __atomic_store_n((uint64_t *)slot->block, 0, __ATOMIC_RELEASE);
  /* Who dies does so between two instructions: that the compiler keeps them in order is enough. */
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

/* batchPlace -- where in the log we have come to; 0: it has no places */
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
  return batch->fd >= 0 && batch->outlet == NULL ? batchPlace(batch) + batch->missing : 0;
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

/* batchAgain -- the last write was short, and may have ended within a message.  If another process has appended to the
 * log since, that message is written again from its beginning. */
static void batchAgain(Batch batch)
{
  struct stat status;

  if (fstat(batch->fd, &status) != 0 || (uint64_t)status.st_size != batch->cut)
    batchWhole(batch);
}

/* batchLimited -- how much of what is left may be written: whole messages, up to the limit on file sizes, below which room
 * is left for the last words */
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
    Size size;
    ssize_t n = -1;
    if (batch->cut != 0)
      batchAgain(batch);
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
    /* Nobody else has this description of the file: it stands where we have written last. */
    batch->cut = (Size)n < size ? batchPlace(batch) : 0;
  }
  return ResOK;
}

/* batchOffer -- one message to the outlet; at the end it is waited for, unless it takes nothing any more */
static Res batchOffer(Batch batch, const void *message, Size size, Bool header)
{
  Res res = PlinthOffer(batch->outlet, message, size, header);
  unsigned tries;

  for (tries = 0; res != ResOK && batch->patient && tries < batchPatience; ++tries) {
    (void)PlinthWait(batch->outlet, batchWait);
    res = PlinthOffer(batch->outlet, message, size, header);
  }
  return res;
}

/* batchSkip -- is a message that the outlet refuses to go to the file only? */
static Bool batchSkip(Batch batch, const void *message, Bool header)
{
  uint64_t now = EventClockMonotonic();
  BlockHeaderStruct block;

  if (batch->fd < 0)
    return FALSE;
  batch->behind = batch->patient ? batchSPENT : batch->behind == 0 ? now : batch->behind;
  batch->patient = FALSE;
  if (now - batch->behind < batchBehind)
    return FALSE;
  if (!header) {
    memcpy(&block, message, sizeof block);
    batch->skipped += block.count;
  }
  return TRUE;
}

/* batchSend -- all of it to the outlet, message by message */
static Res batchSend(Batch batch)
{
  while (batch->passed < batch->used) {
    const unsigned char *message = batch->room + batch->passed;
    Bool header;
    Size size = batchMessage(message, batch->used - batch->passed, &header);
    if (batchOffer(batch, message, size, header) == ResOK) {
      batch->behind = batch->behind == batchSPENT ? batchSPENT : 0;
    } else if (!batchSkip(batch, message, header)) {
      batch->patient = FALSE;
      batch->reason = ENOBUFS;
      return batch->fd >= 0 ? ResLIMIT : ResIO;
    }
    batch->passed += size;
    batch->bytes += batch->fd < 0 ? size : 0;
  }
  return ResOK;
}

/* batchOut -- up to where the batch has come to all places that it is to come to: a whole number of messages, but where a
 * write to the log was cut short */
static Size batchOut(Batch batch)
{
  return batch->outlet != NULL ? batch->passed : batch->written;
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
  Res res = batch->fd >= 0 ? batchAppend(batch) : ResOK;

  if (res == ResOK && batch->outlet != NULL)
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
  slot.end = batch->used;
  batch->slot[batch->slots++] = slot;
}

void BatchOpen(Batch batch, int fd)
{
  struct rlimit limit;

  batch->fd = fd;
  batch->limit = UINT64_MAX;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    batch->limit = limit.rlim_cur;
}

/* batchPiece -- of the message within which the last write ended: is it a block of the process of which the log has the
 * whole header?  Readers tell of those that it is cut off, and of how many events. */
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
  Size at, size, end = batch->written;
  BlockHeaderStruct block;
  Bool header;

  batchWhole(batch);
  *dropped = (BatchDroppedStruct){.events = BatchWaiting(batch, process)};
  for (at = batchOut(batch); at < batch->used; at += size) {
    size = batchMessage(batch->room + at, batch->used - at, &header);
    if (header)
      continue;
    memcpy(&block, batch->room + at, sizeof block);
    dropped->blocks += block.process == process;
  }
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
  struct rlimit limit;

  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
    return FALSE;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
    return FALSE;
  BatchOpen(batch, batch->fd);
  return TRUE;
}

uint64_t BatchWaiting(Batch batch, uint64_t process)
{
  BlockHeaderStruct block;
  uint64_t events = 0;
  Size at, size;
  Bool header;

  for (at = batchOut(batch); at < batch->used; at += size) {
    size = batchMessage(batch->room + at, batch->used - at, &header);
    if (header)
      continue;
    memcpy(&block, batch->room + at, sizeof block);
    if (process == 0 || block.process == process)
      events += BlockMessageEvents(batch->room + at, size);
  }
  return events;
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
  AVER(batch->written <= batch->used && batch->passed <= batch->used && batch->used <= BatchSIZE);
  AVER(batch->slots <= BatchSlotsMAX);
  return TRUE;
}
