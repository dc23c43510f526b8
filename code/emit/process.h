/* process.h -- a process that emits: its memory, its threads, its ways out, its beginning and end
 *
 * One for each process, in memory that fork leaves zeroed in the child; so whoever finds it zeroed begins anew.  What
 * the child shares with its parent (the ways out, the types, the strings) is elsewhere.
 *
 * Design: design/telemetry.md .process      Tests: test/emit/emittest.c, test/emit/forktest.c
 */
#ifndef EMIT_PROCESS_H
#define EMIT_PROCESS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/buffer.h"
#include "format/header.h"
#include "handover/store.h"
#include "plinth/descriptor.h" /* for wrappers of calls that would close what the process keeps (malloc/shimfd.c), too */
#include "plinth/plinth.h"
#include "plinth/rawsyscall.h"
#include "plinth/seccomp.h"

enum { ProcessWorkingSIZE = 512 << 10, ProcessPlinthsMAX = 4, ProcessScratches = 4, ProcessOwnMAX = 16 };

struct ProcessStruct {
  unsigned state;           /* 0: new; 1: being set up; 2: ready */
  unsigned lock;            /* for rare changes: threads, types, strings; the thread that has it, or 0 */
  unsigned textLock;        /* for the header block's text in the region, likewise */
  unsigned textDue;         /* that is to be written (send.c); 0: it is as it should be */
  uint32_t pid;
  unsigned threads;         /* places in use, the highest ever */
  unsigned threadsMax;      /* so many places there are */
  unsigned serials;         /* threads so far, */
  unsigned swept;           /* and when those were last looked for that died without a word */
  unsigned retired;         /* threads that have ended and whose places are not used again: a queue of so many places, */
  uint32_t retiredFirst, retiredLast; /* from 1 */
  uint64_t identity;
  HeaderForkStruct forked;  /* whose child it is */
  uint64_t lost;            /* events of threads that could have no state, before there was a region to count them in */
  uint64_t lostTold;        /* of the events that are lost, so many a header block has told that a way out took */
  uint64_t refused, looked; /* since when no thread has found room for a block (ticks; 0: one has), and when the last looked */
  uint64_t asked;           /* when, for want of room, the collector was asked last whether it lives; 0: never */
  uint32_t drained;         /* full blocks that were made room of by this process itself */
  uint32_t freed;           /* how often room had been made, when that was looked at last (policy.c) */
  uint64_t tookOver;        /* ticks when it began to send by itself what a collector had drained before; 0: it has not */
  uint64_t unheaded;        /* bytes sent since the last header block */
  Bool stuck;               /* whoever sets it up does not come to an end */
  Bool thronged;            /* it has been told that there are too many threads */
  Bool regionless;          /* there is no memory for a region: that has been told, and is not tried again */
  Bool doomed;              /* nor is there a way out: events are only counted (ControlLedgerCount) */
  Bool crowded;             /* it has been told that the shared region is full */
  Bool barred;              /* neither the collector nor we can write the log: no thread waits for room */
  Bool alone;               /* its collector has died */
  uint32_t halted;          /* kinds that its other threads had been sending, until it was about to end (lifecycle.c) */
  Bool collected;           /* blocks are handed over to a collector (handover.h), as far as is known */
  SyncStruct sync;          /* at the beginning */
  HeaderSentStruct began;   /* when it first had somewhere to send, and the kinds that it sent then (`first`) */
  Size blockSize;           /* of the largest block of a frequent kind that is sent */
  unsigned working;         /* the working memory of send.c that is part of this mapping (ProcessWorking) is in use */
  struct ScratchStruct *scratch[ProcessScratches]; /* free working memory of send.c, beside that */
  struct SentStruct *sent;  /* what went out of each stream (sentcounts.h); NULL: nothing yet */
  uint64_t begun[ProcessPlinthsMAX]; /* ticks when a way out was opened that this process had not from its beginning;
                                        else 0 */
  StoreStruct shared;       /* that outlives the process, for what is sent */
  StoreStruct own[ProcessOwnMAX]; /* private memory, for the flight recorder, and where there is no room; one after the
                                     other, as they are needed */
};
typedef struct ProcessStruct ProcessStruct;

/* ProcessMap -- the memory of the process, ready or not; NULL: there is none */
extern Process ProcessMap(void);

/* ProcessThreadsMax -- how many threads may emit at one time */
extern unsigned ProcessThreadsMax(void);

/* ProcessWorking -- working memory of ProcessWorkingSIZE bytes, which is there without asking the system for any */
extern void *ProcessWorking(Process process);

/* ProcessGet -- this process, ready; NULL if there is no memory, or whoever sets it up has stopped.  Signals are blocked.
 * ProcessMiss -- an event was lost for that: count it */
extern Process ProcessGet(void);
extern void ProcessMiss(void);

/* ProcessIfReady -- this process if it has emitted or opened a log, else NULL.  Changes nothing. */
extern Process ProcessIfReady(void);

/* ProcessThread -- the `i`th of ProcessGet()->threads places */
extern Thread ProcessThread(Process process, Index i);

/* ProcessStore -- the `i`th place where blocks may lie, 0: the shared one; NULL: there are no more, and none behind */
static inline Store ProcessStore(Process process, Index i)
{
  Store store = i == 0 ? &process->shared : i <= ProcessOwnMAX ? &process->own[i - 1] : NULL;

  return store != NULL && (i == 0 || __atomic_load_n(&store->header, __ATOMIC_ACQUIRE) != NULL) ? store : NULL;
}

/* ProcessOwnMore -- one more piece of private memory, from the `i`th on; NULL: there is none */
extern Store ProcessOwnMore(Process process, Index i);

/* ProcessThreadSelf -- the calling thread's state, made if it has none; NULL: no room, and counted as lost.  Signals
 * are blocked. */
extern Thread ProcessThreadSelf(void);

/* ProcessThreadsBegin -- be told of the ends of threads; once */
extern void ProcessThreadsBegin(void);

/* ProcessSweep -- end the threads that died without telling: their last events came behind the last destructor.  At the
 * last one the first thread is asked about, too, which remains until all others have ended.  The
 * process is locked. */
extern void ProcessSweep(Process process, Bool last);

/* ProcessOthers -- do other threads run?  They go on to commit events, which only the region has. */
extern Bool ProcessOthers(Process process);

/* ProcessLose -- an event finds neither thread nor block: count it where it survives us, if there is such a place */
extern void ProcessLose(Process process);

/* ProcessLock, ProcessUnlock -- for rare changes; signals are blocked meanwhile by the caller.  FALSE: it is not locked,
 * because the thread that has the lock does not go on; a debugger may have stopped it.
 * ProcessLockText, ProcessUnlockText -- for the header block's text in the region; the innermost lock.  FALSE, at once:
 * another thread has it.
 * A lock says which thread has it, and is taken from one that does not live: nobody waits for what a stray write says. */
extern Bool ProcessLock(Process process);
extern void ProcessUnlock(Process process);
extern Bool ProcessLockText(Process process);
extern void ProcessUnlockText(Process process);

/* The ways out, in a row; those with no class are closed.  They survive fork. */
extern PlinthStruct ProcessPlinths[ProcessPlinthsMAX];

/* ProcessRegion -- where blocks lie that outlive the process; NULL: nowhere yet */
static inline RegionHeader ProcessRegion(Process process)
{
  return __atomic_load_n(&process->shared.header, __ATOMIC_ACQUIRE);
}

/* ProcessCollected -- are blocks handed over to a collector (handover.h), as far as is known? */
static inline Bool ProcessCollected(Process process)
{
  return __atomic_load_n(&process->collected, __ATOMIC_ACQUIRE);
}

/* ProcessFound -- does anybody find the shared memory when the process has ended, or is another program?  A collector has it, or it
 * has a name. */
static inline Bool ProcessFound(Process process)
{
  return ProcessCollected(process) || (ProcessRegion(process) != NULL && process->shared.path[0] != '\0');
}

/* ProcessSends -- is there a collector, or is any way out open?  ProcessOpen -- is any open of the process's own? */
extern Bool ProcessSends(void);
extern Bool ProcessOpen(void);

/* ProcessLog -- the path of the log, for the region that belongs to it; "" if no way out is a file */
extern const char *ProcessLog(void);

/* ProcessThreadNested -- a second state for the calling thread, for handlers that interrupt it while it is inside;
 * NULL: no room.  Signals are blocked. */
extern Thread ProcessThreadNested(Thread thread);

/* ProcessShare -- make sure that blocks outlive the process, if there is a way out and they do not yet; meets the
 * collector, or sends the header block */
extern void ProcessShare(Process process);

/* ProcessShareAlone -- the same, while the process is locked or being set up */
extern void ProcessShareAlone(Process process);

/* ProcessAside -- must the library stay out of this process?  So it is with ThreadSanitizer, which would take what
 * threads say to each other in the library's memory for races.  Nothing is recorded then, the flight recorder is off,
 * and no region is made.
 * ProcessSleeps -- is it so for now?  Where a sanitizer is in the process, libc's functions are in its hands, and do not
 * work before it has begun, which itself allocates.  From our constructors on it has. */
extern Bool ProcessAside(void);
extern Bool ProcessSleeps(void);

/* ProcessBar -- the calling thread is about to be forbidden almost all system calls, and the processor's counter; or
 * the counter only.  From here on the library makes no call in this thread, and its events get their times without the
 * counter.  What the thread records goes on being drained by the collector; without one it stays in shared memory until
 * the process has ended.
 * ProcessUnbar -- the system refused it
 * ProcessForbid -- the program is about to install a filter, which was read (plinth/seccomp.h), or is not known */
extern void ProcessBar(Bool counterOnly);
extern void ProcessUnbar(void);
extern void ProcessForbid(Bool known);

/* ProcessArguments -- what the program was called with, while the library's constructor runs; NULL: the system must be
 * asked.  Later the program may have written over it. */
extern char *const *ProcessArguments;

/* ProcessStack -- where the program's stack begins, as the system tells of it, too; 0: not known */
extern uint64_t ProcessStack;

/* ProcessStart -- what must be done before main: the environment, and the hooks for the end.  Once; called by a
 * constructor here and by whoever must be sure to come after it. */
extern void ProcessStart(void);

/* ProcessForkStart -- the part of it that is about fork, for whoever must be sure that nobody's handlers come before ours */
extern void ProcessForkStart(void);

/* ProcessEnd -- the end of the process, or of its program, is near: send everything.  Does nothing in the child of a
 * vfork.
 * ProcessLeaves -- its program is about to become another one: is ProcessEnd to be called before?
 * - ProcessLeaveNOTHING: no, who comes finds what there is, or the collector does
 * - ProcessLeaveFOREIGN: only before a program that is not recorded into the same log, and so takes nothing over: there is
 *   no collector, or it has died.  Who takes it over finds in the region how much of each stream was sent.
 * - ProcessLeaveALL: yes, there are connections of its own, or nobody would find its memory
 * If exec fails the process goes on as after ProcessEnd. */
typedef enum ProcessLeave { ProcessLeaveNOTHING, ProcessLeaveFOREIGN, ProcessLeaveALL } ProcessLeave;
extern void ProcessEnd(void);
extern ProcessLeave ProcessLeaves(void);

/* ProcessEnding -- the process is about to end, or to become another program, or that has failed: when it was is left for the
 * collector, which sees the end later.  Does nothing in the child of a vfork. */
extern void ProcessEnding(Bool ending);

#endif /* EMIT_PROCESS_H */
