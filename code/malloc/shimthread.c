/* shimthread.c -- threads: created, named, joined, ended
 *
 * A thread that pthread_create starts begins in a function of ours, which tells of it, calls the program's, and tells
 * of its end, whichever way it ends.  Threads that libc starts by itself (timers, C11's thrd_create) are not seen.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimthread.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/process.h"
#include "malloc/shimlookup.h"
#include "malloc/shimsync.h"
#include "mm/pages.h"

enum { threadPLACES = 64, threadNAME = 16 };

/* What a new thread is to run.  It lies here from pthread_create until the thread begins. */
typedef struct ThreadTaskStruct {
  unsigned taken;
  void *(*start)(void *);
  void *argument;
} ThreadTaskStruct, *ThreadTask;

static ThreadTaskStruct threadTasks[threadPLACES] LARGE;

/* threadTaskTake -- a place for a task; NULL if there is no memory, where there is no place */
static ThreadTask threadTaskTake(void)
{
  void *page;
  Index i;

  for (i = 0; i < threadPLACES; ++i)
    if (__atomic_exchange_n(&threadTasks[i].taken, 1, __ATOMIC_ACQUIRE) == 0)
      return &threadTasks[i];
  return PagesMap(&page, sizeof(ThreadTaskStruct)) == ResOK ? page : NULL;
}

static void threadTaskGive(ThreadTask task)
{
  if (task >= threadTasks && task < threadTasks + threadPLACES)
    __atomic_store_n(&task->taken, 0, __ATOMIC_RELEASE);
  else
    PagesRelease((Addr)task, sizeof(ThreadTaskStruct));
}

/* threadBegins -- the calling thread has begun */
static void threadBegins(Addr start)
{
  char name[threadNAME] = "";

  if (!EVENT_WANTED(EventKindSystem))
    return;
  (void)RawCall(SYS_prctl, PR_GET_NAME, name);
  EVENT_UPAS(ThreadStart, SyncThread(), (void *)pthread_self(), start, name);
}

void ShimThreadTell(void)
{
  threadBegins(NULL);
}

static void threadEnds(void *unused)
{
  UNUSED(unused);
  EVENT_UP(ThreadEnd, SyncThread(), (void *)pthread_self());
}

/* threadRun -- what threads begin in */
static void *threadRun(void *argument)
{
  ThreadTaskStruct task = *(ThreadTask)argument;
  void *volatile result;

  threadTaskGive(argument);
  threadBegins((Addr)(Word)task.start);
  pthread_cleanup_push(threadEnds, NULL);
  result = task.start(task.argument);
  pthread_cleanup_pop(1);
  return result;
}

SHIM int pthread_create(pthread_t *handleReturn, const pthread_attr_t *attributes, void *(*start)(void *),
                        void *argument)
{
  ThreadTask task = threadTaskTake();
  int result;

  if (task == NULL)
    return EAGAIN;
  SyncStart();
  ShimExecStart();
  (void)ShimPassTo();
  task->start = start;
  task->argument = argument;
  result = SyncNext.create(handleReturn, attributes, threadRun, task);
  if (result != 0)
    threadTaskGive(task);
  else if (SYNC_WANTED)
    EVENT_UPA(ThreadCreate, SyncThread(), (void *)*handleReturn, (Addr)(Word)start);
  return result;
}

static void threadJoinCancelled(void *handle)
{
  EVENT_UPU(ThreadJoinEnd, SyncThread(), handle, ECANCELED);
}

#define THREAD_JOIN(name, parameters, call) \
  SHIM int name parameters \
  { \
    volatile int result; \
    if (!SYNC_WANTED) \
      return call; \
    EVENT_UP(ThreadJoinBegin, SyncThread(), (void *)handle); \
    pthread_cleanup_push(threadJoinCancelled, (void *)handle); \
    result = call; \
    pthread_cleanup_pop(0); \
    EVENT_UPU(ThreadJoinEnd, SyncThread(), (void *)handle, result); \
    return result; \
  }

THREAD_JOIN(pthread_join, (pthread_t handle, void **resultReturn), SyncNext.join(handle, resultReturn))
THREAD_JOIN(pthread_timedjoin_np, (pthread_t handle, void **resultReturn, SyncTime limit),
            SyncNext.timedJoin(handle, resultReturn, limit))
SYNC_AFTER(pthread_tryjoin_np, (pthread_t handle, void **resultReturn), SyncNext.tryJoin(handle, resultReturn),
           EVENT_UPU(ThreadJoinEnd, SyncThread(), (void *)handle, result))
SYNC_DONE(pthread_detach, (pthread_t handle), SyncNext.detach(handle),
          EVENT_UP(ThreadDetach, SyncThread(), (void *)handle))

SHIM void pthread_exit(void *result)
{
  if (SYNC_WANTED)
    EVENT_U(ThreadExit, SyncThread());
  SyncNext.exit(result);
  __builtin_unreachable();
}

SHIM int pthread_setname_np(pthread_t handle, const char *name)
{
  int result = SyncNext.setName(handle, name);

  if (EVENT_WANTED(EventKindSystem) && result == 0)
    EVENT_UPS(ThreadName, pthread_equal(handle, pthread_self()) ? SyncThread() : 0, (void *)handle, name);
  return result;
}

void ShimThreadNamed(void)
{
  char name[threadNAME] = "";

  if (!EVENT_WANTED(EventKindSystem))
    return;
  (void)RawCall(SYS_prctl, PR_GET_NAME, name);
  EVENT_UPS(ThreadName, SyncThread(), (void *)pthread_self(), name);
}
