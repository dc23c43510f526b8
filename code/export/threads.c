/* threads.c -- the processes and threads of a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/threads.h"

#include <stdlib.h>
#include <string.h>

#include "log/processname.h"

/* What event types tell, and nothing else if it is ...ONLY; the name is the last parameter. */
enum { threadsTHREAD = TypeCacheCLIENT, threadsTHREADONLY, threadsPROCESS };
enum { threadsPID, threadsTID, threadsHANDLE, threadsNAME };

static const TypeCacheKnownStruct threadsKnown[] = {
  {"ThreadStart", threadsTHREAD, {NULL, "UW thread", "?PA handle", "S name"}},
  {"ThreadName", threadsTHREADONLY, {NULL, "UW thread", "?PA handle", "S name"}},
  {"TaskName", threadsTHREADONLY, {"UW pid", "UW task", "?PA handle", "S name"}},
  {"ProcessSeen", threadsPROCESS, {"UW pid", NULL, NULL, "S name"}},
  {"ProcessStart", threadsPROCESS, {"UW pid", NULL, NULL, "S name"}},
  {"ProcessExec", threadsPROCESS, {"UW pid", NULL, NULL, "S program"}},
};

Bool ThreadsWants(EventType type)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(threadsKnown); ++i)
    if (TypeCacheNamed(type, threadsKnown[i].type))
      return TRUE;
  return FALSE;
}

/* threadsProcess -- one more process */
static ThreadsProcess threadsProcess(Threads who, LogProcess log, uint32_t pid)
{
  ThreadsProcess process = calloc(1, sizeof *process), *bucket = &who->numbered[pid % ThreadsBUCKETS], other;

  if (process == NULL) {
    who->failed = TRUE;
    return NULL;
  }
  process->log = log;
  process->pid = pid;
  process->leader = log != NULL ? HeaderLeader(&log->header) : pid;
  for (other = *bucket; other != NULL && other->pid != pid; other = other->bucket)
    ;
  process->id = pid < ThreadsOTHER && other == NULL ? pid : ThreadsOTHER + who->others++;
  process->bucket = *bucket;
  *bucket = process;
  if (log != NULL)
    process->name = StringsAdd(&who->strings, HeaderCalled(&log->header), strlen(HeaderCalled(&log->header)));
  *who->last = process;
  who->last = &process->next;
  return process;
}

Res ThreadsInit(Threads who, Log log)
{
  Index i;

  memset(who, 0, sizeof *who);
  who->last = &who->first;
  TypeCacheInit(&who->plans, sizeof(TypeCacheTellStruct));
  who->count = LogProcesses(log);
  who->process = calloc(who->count + 1, sizeof(ThreadsProcess));
  if (who->process == NULL)
    return ResMEMORY;
  for (i = 0; i < who->count; ++i) {
    LogProcess process = LogProcessAt(log, i);
    who->process[i] = threadsProcess(who, process, process->header.pid);
  }
  if (who->failed) {
    ThreadsFinish(who);
    return ResMEMORY;
  }
  return ResOK;
}

void ThreadsFinish(Threads who)
{
  while (who->first != NULL) {
    ThreadsProcess process = who->first;
    who->first = process->next;
    while (process->threads != NULL) {
      ThreadsThread thread = process->threads;
      process->threads = thread->next;
      free(thread);
    }
    free(process);
  }
  free(who->process);
  TypeCacheFinish(&who->plans);
  StringsFinish(&who->strings);
}

ThreadsProcess ThreadsPid(Threads who, uint32_t pid)
{
  ThreadsProcess process, found = NULL;

  for (process = who->numbered[pid % ThreadsBUCKETS]; process != NULL; process = process->bucket) {
    if (process->pid == pid)
      found = process;
    if (found == process && process->met)
      break;
  }
  return found != NULL ? found : threadsProcess(who, NULL, pid);
}

static ThreadsThread *threadsBucket(Threads who, ThreadsProcess process, uint32_t tid)
{
  return &who->thread[(((uint64_t)process->id << 32 | tid) * 0x9e3779b97f4a7c15u >> 32) % ThreadsBUCKETS];
}

ThreadsThread ThreadsLook(Threads who, ThreadsProcess process, uint32_t tid)
{
  ThreadsThread thread = *threadsBucket(who, process, tid);

  while (thread != NULL && (thread->process != process || thread->tid != tid))
    thread = thread->bucket;
  return thread;
}

static ThreadsThread threadsThread(Threads who, ThreadsProcess process, uint32_t tid)
{
  ThreadsThread *bucket = threadsBucket(who, process, tid), thread = calloc(1, sizeof *thread);

  if (thread == NULL) {
    who->failed = TRUE;
    return NULL;
  }
  thread->process = process;
  thread->tid = tid;
  thread->ordinal = process->threads == NULL ? 1 : process->threads->ordinal + 1;
  thread->fresh = TRUE;
  thread->next = process->threads;
  process->threads = thread;
  thread->bucket = *bucket;
  *bucket = thread;
  return thread;
}

const char *ThreadsThreadName(Threads who, ThreadsThread thread, Size *lengthReturn)
{
  const char *name = thread->tid == thread->process->leader ? "main" : "thread";

  if (thread->name != 0)
    return StringsAt(&who->strings, thread->name, lengthReturn);
  *lengthReturn = strlen(name);
  return name;
}

ThreadsThread ThreadsNew(Threads who, LogEvent event)
{
  ThreadsProcess process = event->process->number < who->count ? who->process[event->process->number] : NULL;
  ThreadsThread thread;

  if (process == NULL)
    return NULL;
  process->met = TRUE;
  thread = ThreadsLook(who, process, event->thread);
  if (thread == NULL)
    thread = threadsThread(who, process, event->thread);
  who->recent[event->thread % ThreadsRECENT] = thread;
  return thread;
}

/* threadsNamed -- a thread is called so; one that is not known yet will be */
static void threadsNamed(Threads who, TypeCacheTell plan, LogEvent event, ThreadsProcess process)
{
  uint64_t handle = plan->param[threadsHANDLE] < 0 ? 0 : LogEventWord(event, (Index)plan->param[threadsHANDLE]);
  uint32_t tid = (uint32_t)LogEventWord(event, (Index)plan->param[threadsTID]), name;
  Size length;
  const char *bytes = LogEventString(event, (Index)plan->param[threadsNAME], &length);
  ThreadsThread thread;

  if (tid == event->thread && process->log == event->process) {
    thread = ThreadsOf(who, event);
  } else if (tid != 0) {
    thread = ThreadsLook(who, process, tid);
    if (thread == NULL)
      thread = threadsThread(who, process, tid);
  } else {
    for (thread = handle != 0 ? process->threads : NULL; thread != NULL && thread->handle != handle;
         thread = thread->next)
      ;
  }
  if (thread == NULL)
    return;
  name = StringsAdd(&who->strings, bytes, length);
  if (handle != 0)
    thread->handle = handle;
  if (name != 0 && name != thread->name) {
    thread->name = name;
    thread->fresh = TRUE;
  }
}

Bool ThreadsTell(Threads who, LogEvent event)
{
  TypeCacheTell plan = TypeCacheTells(&who->plans, event, threadsKnown, ARRAY_LENGTH(threadsKnown));
  ThreadsProcess process;
  const char *bytes;
  Size length;

  if (UNLIKELY(plan == NULL)) {
    who->failed = TRUE;
    return FALSE;
  }
  if (LIKELY(plan->tells == TypeCacheNOTHING))
    return FALSE;
  process = plan->param[threadsPID] < 0 ? who->process[event->process->number]
                                      : ThreadsPid(who, (uint32_t)LogEventWord(event, (Index)plan->param[threadsPID]));
  if (process == NULL)
    return FALSE;
  if (plan->tells != threadsPROCESS) {
    threadsNamed(who, plan, event, process);
    return plan->tells == threadsTHREADONLY;
  }
  bytes = LogEventString(event, (Index)plan->param[threadsNAME], &length);
  bytes = TypeCacheBase(bytes, &length);
  if (process->name == 0 && length > 0)
    process->name = StringsAdd(&who->strings, bytes, length);
  return FALSE;
}
