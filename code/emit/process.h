/* process.h -- a process that emits: its memory, its threads, its ways out, its beginning and end
 *
 * One for each process, in memory that fork leaves zeroed in the child; so whoever finds it zeroed begins anew.  What
 * the child shares with its parent (the ways out, the types, the strings) is elsewhere.
 *
 * Design: design/telemetry.md .process      Tests: test/emittest.c, test/forktest.c
 */
#ifndef EMIT_PROCESS_H
#define EMIT_PROCESS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/buffer.h"
#include "emit/store.h"
#include "format/header.h"
#include "plinth/plinth.h"

enum { ProcessPlinthsMAX = 4, ProcessScratches = 4 };

typedef struct ProcessStruct {
  unsigned state;           /* 0: new; 1: being set up; 2: ready */
  unsigned lock;            /* for rare changes: threads, types, strings */
  uint32_t pid;
  unsigned threads;         /* places in use, the highest ever */
  unsigned serials;         /* threads so far */
  unsigned retirements;
  uint64_t identity;
  uint64_t lost;            /* events of threads that could have no state, before there was a region to count them in */
  uint64_t unheaded;        /* bytes sent since the last header block */
  Bool thronged;            /* it has been told that there are too many threads */
  Bool crowded;             /* it has been told that the shared region is full */
  Bool collected;           /* blocks are handed over to a collector (hand.h), as far as is known */
  uint64_t offered;         /* when the region was offered to it: CLOCK_MONOTONIC, ns */
  StoreStruct own;          /* private memory, for the flight recorder */
  StoreStruct shared;       /* that outlives the process, for what is sent */
  SyncStruct sync;          /* at the beginning */
  Size blockSize;           /* of the largest block of a frequent kind that is sent */
  struct ScratchStruct *scratch[ProcessScratches]; /* free working memory of send.c */
} ProcessStruct, *Process;

/* ProcessGet -- this process, ready; NULL if there is no memory.  Signals are blocked. */
extern Process ProcessGet(void);

/* ProcessIfReady -- this process if it has emitted or opened a log, else NULL.  Changes nothing. */
extern Process ProcessIfReady(void);

/* ProcessThread -- the `i`th of ProcessGet()->threads places */
extern Thread ProcessThread(Process process, Index i);

/* ProcessThreadSelf -- the calling thread's state, made if it has none; NULL: no room, and counted as lost.  Signals
 * are blocked. */
extern Thread ProcessThreadSelf(void);

/* ProcessLock, ProcessUnlock -- for rare changes; signals are blocked meanwhile by the caller */
extern void ProcessLock(Process process);
extern void ProcessUnlock(Process process);

/* The ways out, in a row; those with no class are closed.  They survive fork. */
extern PlinthStruct ProcessPlinths[ProcessPlinthsMAX];

/* ProcessRegion -- where blocks lie that outlive the process; NULL: nowhere yet */
static inline RegionHeader ProcessRegion(Process process)
{
  return __atomic_load_n(&process->shared.header, __ATOMIC_ACQUIRE);
}

/* ProcessCollected -- are blocks handed over to a collector (hand.h), as far as is known? */
static inline Bool ProcessCollected(Process process)
{
  return __atomic_load_n(&process->collected, __ATOMIC_ACQUIRE);
}

/* ProcessSends -- is there a collector, or is any way out open?  ProcessOpen -- is any open of the process's own? */
extern Bool ProcessSends(void);
extern Bool ProcessOpen(void);

/* ProcessLog -- the path of the log, for the region that belongs to it; "" if no way out is a file */
extern const char *ProcessLog(void);

/* ProcessThreadNested -- a second state for the calling thread, for handlers that interrupt it while it is inside;
 * NULL: no room.  Signals are blocked. */
extern Thread ProcessThreadNested(Thread thread);

/* ProcessShare -- make sure that blocks outlive the process, if there is a way out and they do not yet; offers them to
 * the collector, or sends the header block */
extern void ProcessShare(Process process);

/* ProcessShareAlone -- the same, while the process is locked or being set up */
extern void ProcessShareAlone(Process process);

/* ProcessStart -- what must be done before main: the environment, and the hooks for the end.  Once; called by a
 * constructor here and by whoever must be sure to come after it. */
extern void ProcessStart(void);

/* ProcessEnd -- the end of the process, or of its program (exec), is near: send everything.  Does nothing in the
 * child of a vfork. */
extern void ProcessEnd(void);

#endif /* EMIT_PROCESS_H */
