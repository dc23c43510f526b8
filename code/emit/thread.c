/* thread.c -- the threads of a process that emit: who they are, and their ends
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "emit/buffer.h"
#include "emit/process.h"
#include "plinth/rawsyscall.h"

enum { threadSweepEvery = 16 };

static pthread_key_t threadKey; /* its destructor tells of their ends */
static Bool threadKeyed;

/* threadQueue -- a thread has ended: its place is free when those that ended before it have been used again.  The
 * process is locked. */
static void threadQueue(Process process, Thread thread)
{
  uint32_t number = thread->number;

  thread->next = 0;
  if (process->retired++ == 0)
    process->retiredFirst = number;
  else
    ProcessThread(process, process->retiredLast - 1)->next = number;
  process->retiredLast = number;
  __atomic_store_n(&thread->state, ThreadRETIRED, __ATOMIC_RELEASE);
}

/* threadZombie -- has the process's first thread ended while others go on?  It remains as long as they do, and /proc
 * alone tells. */
static Bool threadZombie(uint32_t tid)
{
  char room[512];
  TextStruct text;
  const char *end;

  TextInit(&text, room, sizeof room);
  TextString(&text, "/proc/self/task/");
  TextDecimal(&text, tid);
  TextString(&text, "/stat");
  room[RawReadFile(TextTerminate(&text), room, sizeof room - 1)] = '\0';
  end = strrchr(room, ')'); /* of its name */
  return end != NULL && (strncmp(end, ") Z", 3) == 0 || strncmp(end, ") X", 3) == 0);
}

/* threadDead -- did it end without telling?  The first thread is asked about when the process ends. */
static Bool threadDead(Process process, Thread thread, Bool last)
{
  uint32_t self = (uint32_t)RawCall(SYS_gettid);

  if (thread->tid == self)
    return FALSE;
  if (RawCall(SYS_tgkill, process->pid, thread->tid, 0) == -ESRCH)
    return TRUE;
  return last && thread->tid == process->pid && threadZombie(thread->tid);
}

void ProcessSweep(Process process, Bool last)
{
  Index i;

  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (thread->state == ThreadLIVE && !thread->inside && threadDead(process, thread, last)) {
      threadQueue(process, thread);
      ThreadFlush(process, thread, FALSE, TRUE);
    }
  }
  process->swept = process->serials;
}

/* threadFresh -- a place that no thread has had; NULL: there is none.  It needs no lock. */
static Thread threadFresh(Process process)
{
  unsigned used = __atomic_load_n(&process->threads, __ATOMIC_RELAXED);
  Thread thread;

  do
    if (used >= process->threadsMax)
      return NULL;
  while (!__atomic_compare_exchange_n(&process->threads, &used, used + 1, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  thread = ProcessThread(process, used);
  thread->number = used + 1;
  return thread;
}

/* threadPlace -- a place for one more thread: a fresh one, or that of the thread that ended longest ago; NULL: all
 * live */
static Thread threadPlace(Process process)
{
  Thread oldest = process->retired < ThreadsRetired ? threadFresh(process) : NULL;

  if (oldest != NULL || process->retired == 0)
    return oldest;
  oldest = ProcessThread(process, process->retiredFirst - 1);
  process->retiredFirst = oldest->next;
  --process->retired;
  ThreadRelease(process, oldest);
  return oldest;
}

/* threadSweepDue -- look for threads that died without a word: as often as that costs each new one little */
static Bool threadSweepDue(Process process)
{
  unsigned since = process->serials - process->swept;

  return since >= threadSweepEvery && since >= process->threads;
}

/* threadNew -- a state for the calling thread */
static Thread threadNew(Process process)
{
  Bool locked = ProcessLock(process);
  Thread thread;
  uint32_t number;

  if (locked && threadSweepDue(process))
    ProcessSweep(process, FALSE);
  thread = locked ? threadPlace(process) : threadFresh(process);
  if (thread != NULL) {
    number = thread->number;
    memset(thread, 0, sizeof *thread);
    thread->number = number;
    /* Stream 0 is nobody's. */
    thread->serial = __atomic_add_fetch(&process->serials, 1, __ATOMIC_RELAXED);
    thread->tid = (uint32_t)RawCall(SYS_gettid);
    thread->hot.self = &thread->hot;
    __atomic_store_n(&thread->state, ThreadLIVE, __ATOMIC_RELEASE);
  }
  if (locked)
    ProcessUnlock(process);
  return thread;
}

Thread ProcessThreadSelf(void)
{
  EventThread self = EventThreadSelf;
  Process process;
  Thread thread;

  if (self != NULL && self->self == self)
    return (Thread)(void *)self;
  process = ProcessIfReady();
  if (process == NULL)
    return NULL;
  thread = threadNew(process);
  if (thread == NULL) {
    ProcessLose(process);
    if (!__atomic_exchange_n(&process->thronged, TRUE, __ATOMIC_RELAXED))
      RawSay("too many threads", "", "events of some are lost, and counted");
    EventThreadSelf = NULL;
    return NULL;
  }
  EventThreadSelf = &thread->hot;
  if (threadKeyed)
    (void)pthread_setspecific(threadKey, thread);
  return thread;
}

Thread ProcessThreadNested(Thread thread)
{
  Process process = ProcessIfReady();

  if (thread->nested == NULL && process != NULL)
    thread->nested = threadNew(process);
  if (thread->nested == NULL && process != NULL)
    ProcessLose(process);
  return thread->nested;
}

/* threadRetire -- a state will emit no more; what it holds goes out.  Signals are blocked. */
static void threadRetire(Process process, Thread thread)
{
  /* A handler that jumped away from within a change has left its streams as they are: whoever reads the region finds
   * them. */
  if (!thread->inside)
    ThreadFlush(process, thread, FALSE, TRUE);
  /* Where it cannot be queued, who looks for threads that died without a word finds it. */
  if (!ProcessLock(process))
    return;
  if (!thread->inside)
    threadQueue(process, thread);
  ProcessUnlock(process);
}

/* threadEnded -- the calling thread ends.  Should it emit once more, it gets a new state, and we are called
 * again. */
static void threadEnded(void *state)
{
  Process process = ProcessIfReady();
  Thread thread = state;
  RawMaskStruct mask;

  if (process == NULL || &thread->hot != EventThreadSelf || thread->hot.self == NULL)
    return;
  RawBegin(&mask);
  EventThreadSelf = NULL;
  if (thread->nested != NULL)
    threadRetire(process, thread->nested);
  threadRetire(process, thread);
  RawEnd(&mask);
}

Bool ProcessOthers(Process process)
{
  uint32_t self = (uint32_t)RawCall(SYS_gettid);
  Index i;

  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == ThreadLIVE && &thread->hot != EventThreadSelf &&
        thread->tid != self)
      return TRUE;
  }
  return FALSE;
}

void ProcessThreadsBegin(void)
{
  if (!threadKeyed)
    threadKeyed = pthread_key_create(&threadKey, threadEnded) == 0;
}
