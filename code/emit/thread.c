/* thread.c -- the threads of a process that emit: their places, their streams together, and their ends
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/emitter.h"
#include "emit/selfdrain.h"
#include "handover/handover.h"

enum { threadSweepEvery = 16 };

static pthread_key_t threadKey; /* its destructor tells of their ends */
static Bool threadKeyed;

void ThreadFlush(Emitter emitter, Thread thread, Bool unsent, Bool final)
{
  unsigned kind;

  thread->refused = 0; /* there may be room again */
  for (kind = 0; kind < EventStreamsLIMIT; ++kind) {
    HandoverLast(emitter, thread, kind, final);
    if (unsent)
      HandoverShow(emitter, thread, kind, final);
  }
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

/* threadStreamCheck -- ThreadCheck's part about one stream, whose cursor is at `next` */
static Bool threadStreamCheck(const StreamStruct *stream, Word next)
{
  Word at = stream->held != 0 ? stream->held : next;

  if ((stream->block == NULL || stream->held != 0) && (next & EventBlockBIT) != 0)
    return FALSE;
  return stream->block == NULL ||
         (stream->store != NULL && WordIsPowerOf2(stream->size) && stream->size >= BlockMIN &&
          stream->size <= BlockMAX && (((Word)stream->block + stream->size) & (EventBlockBIT * 2 - 1)) == 0 &&
          (at == 0 || at >= (Word)StreamEvents(stream->block)) && stream->sent <= stream->sequence &&
          stream->told <= stream->discarded);
}

Bool ThreadCheck(Thread thread)
{
  Bool sound = thread->state <= ThreadRETIRED && thread->number > 0 && thread->number <= ThreadsMAX &&
               (thread->state != ThreadLIVE || thread->hot.self == &thread->hot);
  unsigned kind;

  for (kind = 0; kind < EventStreamsLIMIT && sound; ++kind)
    sound = threadStreamCheck(&thread->stream[kind][0], thread->hot.cursor[kind][0].next) &&
            threadStreamCheck(&thread->stream[kind][1], thread->hot.cursor[kind][1].next);
  return sound;
}

/* threadQueue -- a thread has ended: its place may be used again after those of the threads that ended before it.  The
 * process is locked. */
static void threadQueue(Emitter emitter, Thread thread)
{
  uint32_t number = thread->number;

  AVER(thread->state == ThreadLIVE);
  thread->next = 0;
  if (emitter->retired++ == 0)
    emitter->retiredFirst = number;
  else
    EmitterThread(emitter, emitter->retiredLast - 1)->next = number;
  emitter->retiredLast = number;
  __atomic_store_n(&thread->state, ThreadRETIRED, __ATOMIC_RELEASE);
}

/* threadZombie -- has the process's first thread ended while others go on?  The system keeps it as long as they run,
 * and only /proc shows that it has ended. */
static Bool threadZombie(uint32_t tid)
{
  char path[40], room[512];
  const char *end;

  (void)TextMake(path, sizeof path, "/proc/self/task/%u/stat", tid);
  room[RawReadFile(path, room, sizeof room - 1)] = '\0';
  end = strrchr(room, ')'); /* of its name */
  return end != NULL && (strncmp(end, ") Z", 3) == 0 || strncmp(end, ") X", 3) == 0);
}

/* threadDead -- has it ended without our destructor?  The first thread is checked when the process ends. */
static Bool threadDead(Emitter emitter, Thread thread, Bool last)
{
  uint32_t self = (uint32_t)RawCall(SYS_gettid);

  if (thread->tid == self)
    return FALSE;
  if (RawCall(SYS_tgkill, emitter->pid, thread->tid, 0) == -ESRCH)
    return TRUE;
  return last && thread->tid == emitter->pid && threadZombie(thread->tid);
}

void EmitterSweep(Emitter emitter, Bool last)
{
  Index i;

  AVER(EmitterCheck(emitter));
  for (i = 0; i < emitter->threads; ++i) {
    Thread thread = EmitterThread(emitter, i);
    if (thread->state == ThreadLIVE && !thread->inside && threadDead(emitter, thread, last)) {
      threadQueue(emitter, thread);
      ThreadFlush(emitter, thread, FALSE, TRUE);
    }
  }
  emitter->swept = emitter->serials;
}

/* threadFresh -- a place that no thread has had; NULL: there is none.  It needs no lock. */
static Thread threadFresh(Emitter emitter)
{
  unsigned used = __atomic_load_n(&emitter->threads, __ATOMIC_RELAXED);
  Thread thread;

  do
    if (used >= __atomic_load_n(&EmitterThreadsMax, __ATOMIC_RELAXED))
      return NULL;
  while (!__atomic_compare_exchange_n(&emitter->threads, &used, used + 1, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  thread = EmitterThread(emitter, used);
  thread->number = used + 1;
  return thread;
}

/* threadPlace -- a place for one more thread: a fresh one, or that of the thread that ended longest ago; NULL: all
 * live */
static Thread threadPlace(Emitter emitter)
{
  Thread oldest = emitter->retired < ThreadsRetired ? threadFresh(emitter) : NULL;

  if (oldest != NULL || emitter->retired == 0)
    return oldest;
  oldest = EmitterThread(emitter, emitter->retiredFirst - 1);
  emitter->retiredFirst = oldest->next;
  --emitter->retired;
  (void)SelfDrainErase(emitter, oldest->serial * StreamNumbers, StreamNumbers, NULL, TRUE);
  return oldest;
}

/* threadNew -- a state for the calling thread */
static Thread threadNew(Emitter emitter)
{
  Bool locked = EmitterLock(emitter);
  unsigned since = emitter->serials - emitter->swept;
  Thread thread;
  uint32_t number;
  void *walk;

  /* Threads that died without a word are looked for as often as that costs each new one little. */
  if (locked && since >= threadSweepEvery && since >= emitter->threads)
    EmitterSweep(emitter, FALSE);
  thread = locked ? threadPlace(emitter) : threadFresh(emitter);
  if (thread != NULL) {
    number = thread->number;
    walk = thread->walk;
    memset(thread, 0, sizeof *thread);
    thread->number = number;
    thread->walk = walk;
    /* Stream 0 is nobody's. */
    thread->serial = __atomic_add_fetch(&emitter->serials, 1, __ATOMIC_RELAXED);
    thread->tid = (uint32_t)RawCall(SYS_gettid);
    thread->hot.self = &thread->hot;
    __atomic_store_n(&thread->state, ThreadLIVE, __ATOMIC_RELEASE);
    /* Later there is no moment for this: when the process ends, another thread may take blocks out of our streams. */
    AVER(ThreadCheck(thread));
  }
  if (locked)
    EmitterUnlock(emitter);
  return thread;
}

Thread EmitterThreadSelf(void)
{
  EventThread self = EventThreadSelf;
  Emitter emitter;
  Thread thread;

  if (self != NULL && self->self == self)
    return (Thread)(void *)self;
  emitter = EmitterIfReady();
  if (emitter == NULL)
    return NULL;
  thread = threadNew(emitter);
  if (thread == NULL) {
    EmitterLose(emitter);
    if (!__atomic_exchange_n(&emitter->thronged, TRUE, __ATOMIC_RELAXED))
      RawSay("too many threads", "", "events of some are lost, and counted");
    EventThreadSelf = NULL;
    return NULL;
  }
  EventThreadSelf = &thread->hot;
  if (threadKeyed)
    (void)pthread_setspecific(threadKey, thread);
  return thread;
}

Thread EmitterThreadNested(Thread thread)
{
  Emitter emitter = EmitterIfReady();

  if (thread->nested == NULL && emitter != NULL)
    thread->nested = threadNew(emitter);
  if (thread->nested == NULL && emitter != NULL)
    EmitterLose(emitter);
  return thread->nested;
}

/* threadRetire -- a thread's state will emit no more: send its blocks.  Signals are blocked. */
static void threadRetire(Emitter emitter, Thread thread)
{
  /* A handler that jumped away from within a change has left the streams as they are: readers of the region find the
   * blocks. */
  if (!thread->inside)
    ThreadFlush(emitter, thread, FALSE, TRUE);
  /* Where it cannot be queued, EmitterSweep finds it. */
  if (!EmitterLock(emitter))
    return;
  if (!thread->inside)
    threadQueue(emitter, thread);
  EmitterUnlock(emitter);
}

/* threadEnded -- the calling thread ends.  Should it emit once more, it gets a new state, and we are called
 * again. */
static void threadEnded(void *state)
{
  Emitter emitter = EmitterIfReady();
  Thread thread = state;
  RawMaskStruct mask;

  if (emitter == NULL || &thread->hot != EventThreadSelf || thread->hot.self == NULL)
    return;
  RawBegin(&mask);
  EventThreadSelf = NULL;
  if (thread->nested != NULL)
    threadRetire(emitter, thread->nested);
  threadRetire(emitter, thread);
  RawEnd(&mask);
}

Bool EmitterOthers(Emitter emitter)
{
  uint32_t self = (uint32_t)RawCall(SYS_gettid);
  Index i;

  for (i = 0; i < emitter->threads; ++i) {
    Thread thread = EmitterThread(emitter, i);
    if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == ThreadLIVE && &thread->hot != EventThreadSelf &&
        thread->tid != self)
      return TRUE;
  }
  return FALSE;
}

void EmitterThreadsBegin(void)
{
  if (!threadKeyed)
    threadKeyed = pthread_key_create(&threadKey, threadEnded) == 0;
}
