/* threads.c -- the processes and threads of a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/threads.h"

#include <stdlib.h>
#include <string.h>

#include "log/called.h"

/* What event types tell, and nothing else if it is ...ONLY; the name is the last parameter. */
enum { whoTHREAD = PlansCLIENT, whoTHREADONLY, whoPROCESS };
enum { whoPID, whoTID, whoHANDLE, whoNAME };

static const PlansKnownStruct whoKnown[] = {
  {"ThreadStart", whoTHREAD, {NULL, "UW thread", "?PA handle", "S name"}},
  {"ThreadName", whoTHREADONLY, {NULL, "UW thread", "?PA handle", "S name"}},
  {"TaskName", whoTHREADONLY, {"UW pid", "UW task", "?PA handle", "S name"}},
  {"ProcessSeen", whoPROCESS, {"UW pid", NULL, NULL, "S name"}},
  {"ProcessStart", whoPROCESS, {"UW pid", NULL, NULL, "S name"}},
  {"ProcessExec", whoPROCESS, {"UW pid", NULL, NULL, "S program"}},
};

Bool WhoWants(EventType type)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(whoKnown); ++i)
    if (PlansNamed(type, whoKnown[i].type))
      return TRUE;
  return FALSE;
}

/* whoProcess -- one more process */
static WhoProcess whoProcess(Who who, LogProcess log, uint32_t pid)
{
  WhoProcess process = calloc(1, sizeof *process), *bucket = &who->numbered[pid % WhoBUCKETS], other;

  if (process == NULL) {
    who->failed = TRUE;
    return NULL;
  }
  process->log = log;
  process->pid = pid;
  process->leader = log != NULL ? HeaderLeader(&log->header) : pid;
  for (other = *bucket; other != NULL && other->pid != pid; other = other->bucket)
    ;
  process->id = pid < WhoOTHER && other == NULL ? pid : WhoOTHER + who->others++;
  process->bucket = *bucket;
  *bucket = process;
  if (log != NULL)
    process->name = StringsAdd(&who->strings, HeaderCalled(&log->header), strlen(HeaderCalled(&log->header)));
  *who->last = process;
  who->last = &process->next;
  return process;
}

Res WhoInit(Who who, Log log)
{
  Index i;

  memset(who, 0, sizeof *who);
  who->last = &who->first;
  PlansInit(&who->plans, sizeof(PlansTellStruct));
  who->count = LogProcesses(log);
  who->process = calloc(who->count + 1, sizeof(WhoProcess));
  if (who->process == NULL)
    return ResMEMORY;
  for (i = 0; i < who->count; ++i) {
    LogProcess process = LogProcessAt(log, i);
    who->process[i] = whoProcess(who, process, process->header.pid);
  }
  if (who->failed) {
    WhoFinish(who);
    return ResMEMORY;
  }
  return ResOK;
}

void WhoFinish(Who who)
{
  while (who->first != NULL) {
    WhoProcess process = who->first;
    who->first = process->next;
    while (process->threads != NULL) {
      WhoThread thread = process->threads;
      process->threads = thread->next;
      free(thread);
    }
    free(process);
  }
  free(who->process);
  PlansFinish(&who->plans);
  StringsFinish(&who->strings);
}

WhoProcess WhoPid(Who who, uint32_t pid)
{
  WhoProcess process, found = NULL;

  for (process = who->numbered[pid % WhoBUCKETS]; process != NULL; process = process->bucket) {
    if (process->pid == pid)
      found = process;
    if (found == process && process->met)
      break;
  }
  return found != NULL ? found : whoProcess(who, NULL, pid);
}

static WhoThread *whoBucket(Who who, WhoProcess process, uint32_t tid)
{
  return &who->thread[(((uint64_t)process->id << 32 | tid) * 0x9e3779b97f4a7c15u >> 32) % WhoBUCKETS];
}

WhoThread WhoLook(Who who, WhoProcess process, uint32_t tid)
{
  WhoThread thread = *whoBucket(who, process, tid);

  while (thread != NULL && (thread->process != process || thread->tid != tid))
    thread = thread->bucket;
  return thread;
}

static WhoThread whoThread(Who who, WhoProcess process, uint32_t tid)
{
  WhoThread *bucket = whoBucket(who, process, tid), thread = calloc(1, sizeof *thread);

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

const char *WhoThreadName(Who who, WhoThread thread, Size *lengthReturn)
{
  const char *name = thread->tid == thread->process->leader ? "main" : "thread";

  if (thread->name != 0)
    return StringsAt(&who->strings, thread->name, lengthReturn);
  *lengthReturn = strlen(name);
  return name;
}

WhoThread WhoNew(Who who, LogEvent event)
{
  WhoProcess process = event->process->number < who->count ? who->process[event->process->number] : NULL;
  WhoThread thread;

  if (process == NULL)
    return NULL;
  process->met = TRUE;
  thread = WhoLook(who, process, event->thread);
  if (thread == NULL)
    thread = whoThread(who, process, event->thread);
  who->recent[event->thread % WhoRECENT] = thread;
  return thread;
}

/* whoNamed -- a thread is called so; one that is not known yet will be */
static void whoNamed(Who who, PlansTell plan, LogEvent event, WhoProcess process)
{
  uint64_t handle = plan->param[whoHANDLE] < 0 ? 0 : LogEventWord(event, (Index)plan->param[whoHANDLE]);
  uint32_t tid = (uint32_t)LogEventWord(event, (Index)plan->param[whoTID]), name;
  Size length;
  const char *bytes = LogEventString(event, (Index)plan->param[whoNAME], &length);
  WhoThread thread;

  if (tid == event->thread && process->log == event->process) {
    thread = WhoOf(who, event);
  } else if (tid != 0) {
    thread = WhoLook(who, process, tid);
    if (thread == NULL)
      thread = whoThread(who, process, tid);
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

Bool WhoTell(Who who, LogEvent event)
{
  PlansTell plan = PlansTells(&who->plans, event, whoKnown, ARRAY_LENGTH(whoKnown));
  WhoProcess process;
  const char *bytes;
  Size length;

  if (UNLIKELY(plan == NULL)) {
    who->failed = TRUE;
    return FALSE;
  }
  if (LIKELY(plan->tells == PlansNOTHING))
    return FALSE;
  process = plan->param[whoPID] < 0 ? who->process[event->process->number]
                                      : WhoPid(who, (uint32_t)LogEventWord(event, (Index)plan->param[whoPID]));
  if (process == NULL)
    return FALSE;
  if (plan->tells != whoPROCESS) {
    whoNamed(who, plan, event, process);
    return plan->tells == whoTHREADONLY;
  }
  bytes = LogEventString(event, (Index)plan->param[whoNAME], &length);
  bytes = PlansBase(bytes, &length);
  if (process->name == 0 && length > 0)
    process->name = StringsAdd(&who->strings, bytes, length);
  return FALSE;
}
