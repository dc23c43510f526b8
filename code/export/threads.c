/* threads.c -- the processes and threads of a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
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
  return TypeCacheKnows(type, threadsKnown, ARRAY_LENGTH(threadsKnown));
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
  AVER(ThreadsCheck(who));
  return ResOK;
}

static Bool threadsProcessCheck(Threads who, ThreadsProcess process)
{
  ThreadsProcess older;

  for (older = process->bucket; older != NULL; older = older->bucket)
    if (older->id == process->id)
      return FALSE;
  return process->log == NULL ||
         (process->log->number < who->count && who->process[process->log->number] == process);
}

Bool ThreadsCheck(Threads who)
{
  ThreadsProcess process;
  ThreadsThread thread;
  uint32_t others = 0;
  Index i;

  for (process = who->first; process != NULL; process = process->next)
    if (!threadsProcessCheck(who, process) ||
        process->id != (process->id < ThreadsOTHER ? process->pid : ThreadsOTHER + others++))
      return FALSE;
  for (i = 0; i < who->threads; ++i) {
    thread = who->thread[i];
    if (thread->ordinal != (thread->next == NULL ? 1 : thread->next->ordinal + 1))
      return FALSE;
  }
  return others == who->others && who->threads == who->threadKeys.count;
}

void ThreadsFinish(Threads who)
{
  while (who->first != NULL) {
    ThreadsProcess process = who->first;
    who->first = process->next;
    free(process);
  }
  while (who->threads > 0)
    free(who->thread[--who->threads]);
  free(who->thread);
  StringsFinish(&who->threadKeys);
  free(who->process);
  TypeCacheFinish(&who->plans);
  StringsFinish(&who->strings);
  memset(who, 0, sizeof *who);
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

/* threadsThread -- the thread with this number in a process, made if there is none; NULL: no memory */
static ThreadsThread threadsThread(Threads who, ThreadsProcess process, uint32_t tid)
{
  uint32_t key[] = {process->id, tid}, number = StringsAdd(&who->threadKeys, (const char *)key, sizeof key);
  ThreadsThread thread = NULL;

  if (number != 0 && number <= who->threads)
    return who->thread[number - 1];
  if (number != 0 && Grow(&who->thread, &who->threadCapacity, who->threads, sizeof thread))
    thread = malloc(sizeof *thread);
  if (thread == NULL) {
    who->failed = TRUE;
    return NULL;
  }
  *thread = (ThreadsThreadStruct){.process = process, .tid = tid, .fresh = TRUE, .next = process->threads,
                                  .ordinal = process->threads == NULL ? 1 : process->threads->ordinal + 1};
  process->threads = thread;
  who->thread[who->threads++] = thread;
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

ThreadsThread ThreadsCollections(Threads who, ThreadsProcess process)
{
  static const char name[] = "collections";
  ThreadsThread thread = threadsThread(who, process, ThreadsCOLLECTIONS);

  if (thread != NULL && thread->name == 0)
    thread->name = StringsAdd(&who->strings, name, sizeof name - 1);
  return thread;
}

ThreadsThread ThreadsNew(Threads who, LogEvent event)
{
  ThreadsProcess process = event->process->number < who->count ? who->process[event->process->number] : NULL;
  ThreadsThread thread;

  if (process == NULL)
    return NULL;
  process->met = TRUE;
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
