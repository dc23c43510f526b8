/* batch.c -- messages on their way into the log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/batch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"

/* batchFree -- one slot, zeroed, the magic first: without that it is nobody's, whatever dies meanwhile.  A thread may
 * take it at once. */
static void batchFree(BatchSlotStruct *slot)
{
  __atomic_store_n((uint64_t *)slot->block, 0, __ATOMIC_RELEASE);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  memset(slot->block, 0, slot->size);
  __atomic_store_n(&slot->header->state[slot->slot], RegionFREE, __ATOMIC_RELEASE);
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

Res BatchWrite(Batch batch)
{
  Index i;

  while (batch->written < batch->used) {
    ssize_t n = write(batch->fd, batch->room + batch->written, batch->used - batch->written);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      batch->reason = n < 0 ? errno : ENOSPC;
      return ResIO;
    }
    batch->written += (Size)n;
    batch->bytes += (Size)n;
  }
  batch->reason = 0;
  batch->used = batch->written = 0;
  for (i = 0; i < batch->slots; ++i) {
    batchFree(&batch->slot[i]);
    if (i + 1 == batch->slots || batch->slot[i + 1].header != batch->slot[i].header)
      batchWake(batch->slot[i].header);
  }
  batch->slots = 0;
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
  batch->slot[batch->slots++] = slot;
}

void BatchUndo(Batch batch, Size used)
{
  AVER(batch->written <= used && used <= batch->used);
  batch->used = used;
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
  AVER(batch->written <= batch->used && batch->used <= BatchSIZE);
  AVER(batch->slots <= BatchSlotsMAX);
  return TRUE;
}
