/* threads.h -- the processes and threads that a picture shows: their names, and numbers that are unique in it
 *
 * For the formats chrome, paje and folded.
 *
 * The system gives process numbers out again, and logs of several machines may share them, but viewers know a process
 * by its number alone.  So the second process with a number gets another one, above all that a system gives.  Threads
 * are known by the system's number: what the destructors of a thread emit belongs to it, though it has another serial
 * number then.
 *
 * Always true (ThreadsCheck): a process of the log is in `process` by its number; no two processes have the same `id`,
 * which is the `pid`, or at least ThreadsOTHER, and those rise; each key of a thread has a thread; ordinals in a
 * process count from 1.
 *
 * Design: design/view.md .drawn.who      Tests: test/export/drawn.t, test/export/exportchecktest.c
 */
#ifndef EXPORT_THREADS_H
#define EXPORT_THREADS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "request/stringtable.h"
#include "request/typecache.h"

enum { ThreadsBUCKETS = 4096, ThreadsRECENT = 64, ThreadsOTHER = 1 << 30,
       ThreadsCOLLECTIONS = 1 << 22 /* no thread has this number (the system's PID_MAX_LIMIT) */ };

typedef struct ThreadsProcessStruct {
  LogProcess log;   /* NULL: known only from events of other processes */
  uint32_t pid;     /* the system's number, */
  uint32_t leader;  /* and that of its first thread */
  uint32_t id;
  Bool met;         /* an event of it, or one about it, has come */
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
  struct ThreadsThreadStruct *next; /* in its process */
} ThreadsThreadStruct, *ThreadsThread;

typedef struct ThreadsStruct {
  StringsStruct strings;
  TypeCacheStruct plans;
  ThreadsProcess *process;    /* by the log's number */
  Count count;
  ThreadsProcess first, *last;
  uint32_t others;        /* numbers above ThreadsOTHER that are given out */
  Bool failed;            /* there was no memory; strings.failed says the same of names */
  ThreadsProcess numbered[ThreadsBUCKETS]; /* by pid */
  StringsStruct threadKeys;  /* the process and number of each thread, */
  ThreadsThread *thread;     /* and by its number - 1 the thread */
  Count threads, threadCapacity;
  ThreadsThread recent[ThreadsRECENT];
} ThreadsStruct, *Threads;

/* ThreadsInit -- the processes of the log, none of them met.  ResMEMORY: it has none.  ThreadsFinish gives the memory
 * back, and does nothing where there is none. */
extern Res ThreadsInit(Threads who, Log log);
extern void ThreadsFinish(Threads who);

/* ThreadsCheck -- not once `failed` */
extern Bool ThreadsCheck(Threads who);

/* ThreadsWants -- do events of this type name a thread or a process? */
extern Bool ThreadsWants(EventType type);

/* ThreadsTell -- learn the names of threads and processes from an event.  TRUE: it says nothing else.
 * An event of a collector may be about a process in which the log has no events. */
extern Bool ThreadsTell(Threads who, LogEvent event);

/* ThreadsPid -- the process that has this number now: the one that was met last, or else the first; made if there is
 * none; NULL: no memory */
extern ThreadsProcess ThreadsPid(Threads who, uint32_t pid);

/* ThreadsThreadName -- the name of a thread; "main" or "thread" if no event says it */
extern const char *ThreadsThreadName(Threads who, ThreadsThread thread, Size *lengthReturn);

/* ThreadsCollections -- what stands for the collections of a process's pools, which no thread does alone: a thread
 * that is called so; NULL: no memory */
extern ThreadsThread ThreadsCollections(Threads who, ThreadsProcess process);

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
