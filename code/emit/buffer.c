/* buffer.c -- a thread's streams together: flushed, and given back
 *
 * Everything here runs with signals blocked, in the thread that owns the state, or for one that has ended.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/buffer.h"

#include "base/aver.h"
#include "emit/selfdrain.h"
#include "emit/stream.h"
#include "handover/handover.h"

void ThreadFlush(Process process, Thread thread, Bool unsent, Bool final)
{
  unsigned kind;

  thread->refused = 0; /* there may be room again */
  for (kind = 0; kind < EventStreamsLIMIT; ++kind) {
    HandLast(process, thread, kind, final);
    if (unsent)
      HandShow(process, thread, kind, final);
  }
}

void ThreadRelease(Process process, Thread thread)
{
  SelfDrainForget(process, thread->serial);
}

void ThreadForget(Thread thread, Store store)
{
  unsigned kind;

  for (kind = 0; kind < EventStreamsLIMIT; ++kind) {
    Stream stream = &thread->stream[kind][1];
    if (stream->store == store && stream->block != NULL) {
      __atomic_store_n(&thread->hot.cursor[kind][1].next, 0, __ATOMIC_RELEASE);
      BlockHeader block = stream->block;
      stream->block = NULL;
      StreamErase(store->header, block, stream->size - BlockHeaderSIZE);
      StoreGive(store, block);
    }
  }
}

Bool ThreadCheck(Thread thread)
{
  unsigned kind, unsent;

  AVER(thread->state <= ThreadRETIRED);
  AVER(thread->state != ThreadLIVE || thread->hot.self == &thread->hot);
  for (kind = 0; kind < EventStreamsLIMIT; ++kind)
    for (unsent = 0; unsent < 2; ++unsent) {
      Stream stream = &thread->stream[kind][unsent];
      Word next = thread->hot.cursor[kind][unsent].next;
      if (stream->block == NULL) {
        AVER((next & EventBlockBIT) == 0);
        continue;
      }
      AVER(WordIsPowerOf2(stream->size) && stream->size >= BlockMIN && stream->size <= BlockMAX);
      AVER((((Word)stream->block + stream->size) & (EventBlockBIT * 2 - 1)) == 0);
      AVER(next == 0 || next >= (Word)StreamEvents(stream->block));
    }
  return TRUE;
}
