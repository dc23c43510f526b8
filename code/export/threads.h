/* threads.h -- the processes and threads of a log: which are met, what they are called, and numbers that tell them apart
 *
 * The system gives the numbers of processes out again, and logs of several machines may share them; viewers know a
 * process by nothing else.  So one that comes second with a number gets another, above all that a system gives.  A
 * thread's number, though, is a thread: the destructors of one that has ended are still it, though for the writer they
 * are not.
 *
 * Always true: no two processes of a Who have the same `id`; no two threads of a process the same `tid`.
 *
 * Design: design/view.md .drawn.who      Tests: test/drawn.t
 */
#ifndef EXPORT_THREADS_H
#define EXPORT_THREADS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "request/strings.h"
#include "request/typecache.h"

enum { WhoBUCKETS = 4096, WhoRECENT = 64, WhoOTHER = 1 << 30 };

typedef struct WhoProcessStruct {
  LogProcess log;   /* NULL: known only by what others tell of it */
  uint32_t pid;     /* the system's number, */
  uint32_t leader;  /* and that of its first thread */
  uint32_t id;
  Bool met;         /* an event of it, or one that tells of it, has come */
  uint32_t name;    /* in `strings` */
  void *client;     /* the client's own; NULL at first */
  struct WhoThreadStruct *threads; /* the newest first */
  struct WhoProcessStruct *next;   /* in order of appearance */
  struct WhoProcessStruct *bucket; /* of equal hash, the newest first */
} WhoProcessStruct, *WhoProcess;

typedef struct WhoThreadStruct {
  WhoProcess process;
  uint32_t tid;     /* the system's number */
  uint32_t ordinal; /* 1, 2, ... in its process */
  uint32_t name;    /* in `strings`; 0: not known */
  Bool fresh;       /* it is new, or has another name, since the client set this to FALSE */
  uint64_t handle;  /* as ThreadStart and ThreadName have it */
  void *client;     /* the client's own; NULL at first */
  struct WhoThreadStruct *next;   /* in its process */
  struct WhoThreadStruct *bucket; /* of equal hash */
} WhoThreadStruct, *WhoThread;

typedef struct WhoStruct {
  StringsStruct strings;
  PlansStruct plans;
  WhoProcess *process;    /* by the log's number */
  Count count;
  WhoProcess first, *last;
  uint32_t others;        /* numbers above WhoOTHER that are given out */
  Bool failed;            /* there was no memory */
  WhoProcess numbered[WhoBUCKETS]; /* by pid */
  WhoThread thread[WhoBUCKETS];
  WhoThread recent[WhoRECENT];
} WhoStruct, *Who;

/* WhoInit -- the processes that the log knows, none of them met.  ResMEMORY.  WhoFinish gives the memory back. */
extern Res WhoInit(Who who, Log log);
extern void WhoFinish(Who who);

/* WhoWants -- may an event of this type say what something is called? */
extern Bool WhoWants(EventType type);

/* WhoTell -- learn from an event what threads and processes are called.  TRUE: that is all that it says.
 * An event of a collector may be about a process in which the log has no events. */
extern Bool WhoTell(Who who, LogEvent event);

/* WhoPid -- the process with this number that is there now: the last one met, or else the first; made if there is
 * none; NULL: no memory */
extern WhoProcess WhoPid(Who who, uint32_t pid);

/* WhoLook -- the thread with this number in a process, or NULL */
extern WhoThread WhoLook(Who who, WhoProcess process, uint32_t tid);

/* WhoThreadName -- what a thread is called; "main" or "thread" if nothing says it */
extern const char *WhoThreadName(Who who, WhoThread thread, Size *lengthReturn);

/* WhoNew -- WhoOf's slow part */
extern WhoThread WhoNew(Who who, LogEvent event);

/* WhoOf -- the thread whose event it is, made at its first; NULL: no memory */
static inline WhoThread WhoOf(Who who, LogEvent event)
{
  WhoThread thread = who->recent[event->thread % WhoRECENT];

  if (LIKELY(thread != NULL && thread->tid == event->thread && thread->process->log == event->process))
    return thread;
  return WhoNew(who, event);
}

#endif /* EXPORT_THREADS_H */
