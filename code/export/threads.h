/* threads.h -- the processes and threads of a log: which are met, what they are called, and numbers that tell them apart
 *
 * The system gives the numbers of processes out again, and logs of several machines may share them; viewers know a
 * process by nothing else.  So one that comes second with a number gets another, above all that a system gives.  A
 * thread's number, though, is a thread: the destructors of one that has ended are still it, though for the writer they
 * are not.
 *
 * Always true: no two processes of a Who have the same `id`; no two threads of a process the same `tid`.
 *
 * Design: design/view.md .drawn.who      Tests: test/export/drawn.t
 */
#ifndef EXPORT_THREADS_H
#define EXPORT_THREADS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "request/strings.h"
#include "request/typecache.h"

enum { ThreadsBUCKETS = 4096, ThreadsRECENT = 64, ThreadsOTHER = 1 << 30 };

typedef struct ThreadsProcessStruct {
  LogProcess log;   /* NULL: known only by what others tell of it */
  uint32_t pid;     /* the system's number, */
  uint32_t leader;  /* and that of its first thread */
  uint32_t id;
  Bool met;         /* an event of it, or one that tells of it, has come */
  uint32_t name;    /* in `strings` */
  void *client;     /* the client's own; NULL at first */
  struct ThreadsThreadStruct *threads; /* the newest first */
  struct ThreadsProcessStruct *next;   /* in order of appearance */
  struct ThreadsProcessStruct *bucket; /* of equal hash, the newest first */
} ThreadsProcessStruct, *ThreadsProcess;

typedef struct ThreadsThreadStruct {
  ThreadsProcess process;
  uint32_t tid;     /* the system's number */
  uint32_t ordinal; /* 1, 2, ... in its process */
  uint32_t name;    /* in `strings`; 0: not known */
  Bool fresh;       /* it is new, or has another name, since the client set this to FALSE */
  uint64_t handle;  /* as ThreadStart and ThreadName have it */
  void *client;     /* the client's own; NULL at first */
  struct ThreadsThreadStruct *next;   /* in its process */
  struct ThreadsThreadStruct *bucket; /* of equal hash */
} ThreadsThreadStruct, *ThreadsThread;

typedef struct ThreadsStruct {
  StringsStruct strings;
  TypeCacheStruct plans;
  ThreadsProcess *process;    /* by the log's number */
  Count count;
  ThreadsProcess first, *last;
  uint32_t others;        /* numbers above ThreadsOTHER that are given out */
  Bool failed;            /* there was no memory */
  ThreadsProcess numbered[ThreadsBUCKETS]; /* by pid */
  ThreadsThread thread[ThreadsBUCKETS];
  ThreadsThread recent[ThreadsRECENT];
} ThreadsStruct, *Threads;

/* ThreadsInit -- the processes that the log knows, none of them met.  ResMEMORY.  ThreadsFinish gives the memory back. */
extern Res ThreadsInit(Threads who, Log log);
extern void ThreadsFinish(Threads who);

/* ThreadsWants -- may an event of this type say what something is called? */
extern Bool ThreadsWants(EventType type);

/* ThreadsTell -- learn from an event what threads and processes are called.  TRUE: that is all that it says.
 * An event of a collector may be about a process in which the log has no events. */
extern Bool ThreadsTell(Threads who, LogEvent event);

/* ThreadsPid -- the process with this number that is there now: the last one met, or else the first; made if there is
 * none; NULL: no memory */
extern ThreadsProcess ThreadsPid(Threads who, uint32_t pid);

/* ThreadsLook -- the thread with this number in a process, or NULL */
extern ThreadsThread ThreadsLook(Threads who, ThreadsProcess process, uint32_t tid);

/* ThreadsThreadName -- what a thread is called; "main" or "thread" if nothing says it */
extern const char *ThreadsThreadName(Threads who, ThreadsThread thread, Size *lengthReturn);

/* ThreadsNew -- ThreadsOf's slow part */
extern ThreadsThread ThreadsNew(Threads who, LogEvent event);

/* ThreadsOf -- the thread whose event it is, made at its first; NULL: no memory */
static inline ThreadsThread ThreadsOf(Threads who, LogEvent event)
{
  ThreadsThread thread = who->recent[event->thread % ThreadsRECENT];

  if (LIKELY(thread != NULL && thread->tid == event->thread && thread->process->log == event->process))
    return thread;
  return ThreadsNew(who, event);
}

#endif /* EXPORT_THREADS_H */
