/* emitter.h -- the emitter of this process: its memory, its threads, its ways out, its beginning and end
 *
 * There is one EmitterStruct for each emitter, in memory that fork leaves zeroed in the child: a child finds it zeroed
 * and sets it up anew.  What a child shares with its parent (the ways out, the types, the strings) is elsewhere.
 *
 * Design: design/telemetry.md .process      Tests: test/emit/emittest.c, test/emit/forktest.c
 */
#ifndef EMIT_EMITTER_H
#define EMIT_EMITTER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/stream.h"
#include "format/header.h"
#include "handover/blockstore.h"
/* What all files of the emitter and the wrappers of code/malloc need of the plinth comes with this header. */
#include "plinth/descriptor.h"
#include "plinth/lent.h"
#include "plinth/plinth.h"
#include "plinth/rawsyscall.h"
#include "plinth/seccomp.h"

enum { EmitterWorkingSIZE = 512 << 10, EmitterPlinthsMAX = 4, EmitterScratches = 4, EmitterOwnMAX = 16 };

struct EmitterStruct {
  unsigned state;           /* 0: new; 1: being set up; 2: ready */
  unsigned lock;            /* for rare changes: threads, types, strings; the number of the thread that has it, or 0 */
  unsigned textLock;        /* for the header block's text in the region, likewise */
  unsigned textDue;         /* why that text has to be written again (send.c); 0: it is up to date */
  uint32_t pid;
  unsigned threads;         /* places in use, the highest ever */
  unsigned serials;         /* threads that have emitted so far */
  unsigned swept;           /* value of `serials` when EmitterSweep last ran */
  unsigned retired;         /* length of the queue of ended threads whose places are free to be used again */
  uint32_t retiredFirst, retiredLast; /* its ends: places, from 1 */
  uint64_t identity;
  HeaderForkStruct forked;  /* the process whose child it is */
  uint64_t lost;            /* events that are lost and not counted in the region, because there was none */
  uint64_t lostTold;        /* part of the lost events that a header block which was sent has reported */
  uint64_t refused, looked; /* ticks: since when no thread has found room for a block, 0: one did; the last attempt */
  uint64_t asked;           /* when the collector was last asked for a sign of life, for want of room; 0: never */
  uint32_t drained;         /* full blocks that this process itself has sent and freed */
  uint32_t freed;           /* value of the count of freed blocks when it was last read (policy.c) */
  uint64_t tookOver;        /* ticks when the process began to send blocks itself, after its collector's death; or 0 */
  uint64_t unheaded;        /* bytes sent since the last header block */
  Bool stuck;               /* the thread that sets it up does not go on */
  Bool thronged;            /* the message that there are too many threads was written */
  Bool regionless;          /* there is no memory for a region: the message was written, and it is not tried again */
  Bool doomed;              /* nor is there a way out: events are only counted (ControlLedgerCount) */
  Bool crowded;             /* the message that the shared region is full was written */
  Bool barred;              /* neither the collector nor this process can write the log: no thread waits for room */
  Bool alone;               /* its collector has died */
  uint32_t halted;          /* kinds that were switched off for other threads when it was about to end (lifecycle.c) */
  Word tells;               /* while a state dump tells what others cannot be understood without: EmitterTELLS, and the
                               kinds that were sent when it began; else 0 */
  Bool collected;           /* blocks are handed over to a collector (handover.h), as far as is known */
  SyncStruct sync;          /* at the beginning */
  HeaderSentStruct began;   /* when it first had a way out or a collector, and the kinds that it sent then (`first`) */
  Size blockSize;           /* of the largest block of a frequent kind that is sent */
  struct ScratchStruct *scratch[EmitterScratches]; /* free working memory of send.c; at first EmitterWorking */
  struct SentStruct *sent;  /* table of the blocks that were sent of each stream (sentcounts.c); NULL: none was */
  Index sentLimit;          /* its entries from here on were never used */
  uint64_t begun[EmitterPlinthsMAX]; /* ticks when the way out was opened; 0: at the beginning of the process */
  StoreStruct shared;       /* the region that outlives the process, for blocks that are sent */
  StoreStruct own[EmitterOwnMAX]; /* private memory, for the flight recorder and for blocks without room in the region;
                                     opened one after the other, as they are needed */
};
typedef struct EmitterStruct EmitterStruct;

/* EmitterMap -- the memory of the process, ready or not; NULL: there is none */
extern Emitter EmitterMap(void);

/* EmitterThreadsMax -- how many threads may emit at one time */
extern unsigned EmitterThreadsMax;

/* EmitterWorking -- working memory of EmitterWorkingSIZE bytes, which is part of the process's */
extern void *EmitterWorking(Emitter emitter);

/* EmitterGet -- this process, set up; NULL: there is no memory, or the thread that sets it up was stopped.  Signals
 * are blocked.
 * EmitterMiss -- count an event that was lost because EmitterGet gave NULL */
extern Emitter EmitterGet(void);
extern void EmitterMiss(void);

/* EmitterCheck -- of a process that is ready and locked:
 *   retired <= threads <= ThreadsMAX; the queue of ended threads begins and ends with one of them; swept <= serials
 *   blockSize is that of a block */
extern Bool EmitterCheck(Emitter emitter);

/* EmitterIfReady -- this process if it has emitted or opened a log, else NULL.  Changes nothing. */
extern Emitter EmitterIfReady(void);

/* EmitterTells -- is a state dump under way that tells what others cannot be understood without, and that began when
 * one of these kinds was sent?  EVENT_KINDS: a dump, whatever was sent.  Any thread. */
#define EmitterTELLS ((Word)1 << (WORD_WIDTH - 1))
extern Bool EmitterTells(Word kinds);

/* EmitterThread -- the `i`th of EmitterGet()->threads places */
extern Thread EmitterThread(Emitter emitter, Index i);

/* EmitterStore -- the `i`th store of blocks, 0: the shared one; NULL: there are no more */
static inline Store EmitterStore(Emitter emitter, Index i)
{
  Store store = i == 0 ? &emitter->shared : i <= EmitterOwnMAX ? &emitter->own[i - 1] : NULL;

  return store != NULL && (i == 0 || __atomic_load_n(&store->header, __ATOMIC_ACQUIRE) != NULL) ? store : NULL;
}

/* EmitterOwnMore -- the `i`th piece of private memory, opened if it is not; NULL: there is none */
extern Store EmitterOwnMore(Emitter emitter, Index i);

/* EmitterThreadSelf -- the calling thread's state, made if it has none; NULL: no room, and counted as lost.  Signals
 * are blocked. */
extern Thread EmitterThreadSelf(void);

/* EmitterThreadsBegin -- register the destructor that runs when a thread ends; once */
extern void EmitterThreadsBegin(void);

/* EmitterSweep -- retire threads that have ended without our destructor: their last events came behind all
 * destructors.  The process is locked.
 *
 * last  the process ends: look also at its first thread, which the system keeps until all others have ended */
extern void EmitterSweep(Emitter emitter, Bool last);

/* EmitterOthers -- do other threads run that have emitted?  What they still commit is in the region only. */
extern Bool EmitterOthers(Emitter emitter);

/* EmitterLose -- count an event for which there is neither thread nor block, in the region if there is one */
extern void EmitterLose(Emitter emitter);

/* EmitterLock, EmitterUnlock -- the lock for rare changes; the caller has blocked signals.  FALSE: it is not locked,
 * because the thread that has the lock does not go on; a debugger may have stopped it.
 * EmitterLockText -- the lock of the header block's text in the region, textLock, which RawUnlock releases; the
 * innermost one.  FALSE, at once: another thread has it.  A lock holds the number of the thread that has it, and is
 * taken away from a thread that does not live, so no thread waits for a number that a stray write left there. */
extern Bool EmitterLock(Emitter emitter);
extern void EmitterUnlock(Emitter emitter);
extern Bool EmitterLockText(Emitter emitter);

/* The ways out, in a row; those with no class are closed.  They survive fork. */
extern PlinthStruct EmitterPlinths[EmitterPlinthsMAX];

/* EmitterRegion -- where blocks lie that outlive the process; NULL: nowhere yet */
static inline RegionHeader EmitterRegion(Emitter emitter)
{
  return __atomic_load_n(&emitter->shared.header, __ATOMIC_ACQUIRE);
}

/* EmitterCollected -- are blocks handed over to a collector (handover.h), as far as is known? */
static inline Bool EmitterCollected(Emitter emitter)
{
  return __atomic_load_n(&emitter->collected, __ATOMIC_ACQUIRE);
}

/* EmitterFound -- can the shared memory be found after the process has ended or executed another program?  It can if a
 * collector has it, or it has a name. */
static inline Bool EmitterFound(Emitter emitter)
{
  return EmitterCollected(emitter) || (EmitterRegion(emitter) != NULL && emitter->shared.path[0] != '\0');
}

/* EmitterWay -- the first way out of this class; `class` NULL: the first that is closed.  NULL: there is none. */
extern Plinth EmitterWay(const PlinthClassStruct *class);

/* EmitterSends -- is there a collector, or a way out?  EmitterOpen -- is there an open way out? */
extern Bool EmitterSends(void);
extern Bool EmitterOpen(void);

/* EmitterLog -- the path of the log, for the region that belongs to it; "" if no way out is a file */
extern const char *EmitterLog(void);

/* EmitterThreadNested -- a second state for the calling thread, for handlers that interrupt it while it is inside;
 * NULL: no room.  Signals are blocked. */
extern Thread EmitterThreadNested(Thread thread);

/* EmitterShare -- make the region, in which blocks outlive the process, if there is a way out and no region yet.  It
 * contacts the collector, or sends the header block.  Where EmitterLock fails nothing is done. */
extern void EmitterShare(Emitter emitter);

/* EmitterShareAlone -- the same, while the process is locked or being set up */
extern void EmitterShareAlone(Emitter emitter);

/* EmitterAside -- must the library stay out of this process?  It must with ThreadSanitizer, which would take the
 * library's lock-free communication between threads for races.  Nothing is recorded then, the flight recorder is off,
 * and no region is made.
 * EmitterSleeps -- must it stay out for now?  A sanitizer stands in front of libc's functions, and they do not work
 * before it has started, which itself allocates.  When our constructors run it has. */
extern Bool EmitterAside(void);
extern Bool EmitterSleeps(void);

/* EmitterBar -- the calling thread is about to lose almost all system calls and the processor's counter, or only the
 * counter.  From here on the library makes no system call in this thread, and its events get their times without the
 * counter.  The collector goes on draining the thread's blocks; without one they stay in shared memory until the
 * process has ended.
 * EmitterUnbar -- the system refused that
 * EmitterForbid -- the program is about to install a filter, which was read (plinth/seccomp.h), or could not be (not
 * `known`) */
extern void EmitterBar(Bool counterOnly);
extern void EmitterUnbar(void);
extern void EmitterForbid(Bool known);

/* EmitterArguments -- the program's arguments, while the library's constructor runs.  NULL: they have to be read from
 * the system, because the program may have written over them. */
extern char *const *EmitterArguments;

/* EmitterStack -- the address at which the program's stack begins, as in /proc/self/stat; 0: not known */
extern uint64_t EmitterStack;

/* EmitterStart -- read the environment and register the hooks for the end, before main.  It runs once: a constructor
 * here calls it, and so do those who need it done before. */
extern void EmitterStart(void);

/* EmitterForkStart -- the part of it that registers handlers of fork, before any other library registers its own */
extern void EmitterForkStart(void);

/* EmitterEnd -- send everything: the process is about to end, or to execute another program.  It does nothing in the
 * child of a vfork.
 * EmitterLeaves -- the process is about to execute another program: must EmitterEnd be called before?
 * - EmitterLeaveNOTHING: no, the next program adopts the blocks that are left, or the collector drains them
 * - EmitterLeaveFOREIGN: only before a program that is not recorded into the same log, and so adopts nothing: there is
 *   no collector, or it has died.  The region says how much of each stream was sent, for the program that adopts it.
 * - EmitterLeaveALL: yes, because there are connections of its own, or its memory could not be found
 * If exec fails the process goes on as after EmitterEnd. */
typedef enum EmitterLeave { EmitterLeaveNOTHING, EmitterLeaveFOREIGN, EmitterLeaveALL } EmitterLeave;
extern void EmitterEnd(void);
extern EmitterLeave EmitterLeaves(void);

/* TracebackFound -- EventTracebackAddr for an object with which something wrong was found: if that event is the newest,
 * its line is left out, and times are before it (traceback.c) */
extern void TracebackFound(const void *addr, unsigned n);

/* TracebackAver -- an AverHandler: prints the newest events of all threads (traceback.c) */
extern void TracebackAver(const char *condition, const char *file, unsigned line);

/* EmitterEnding -- note in the region when the process is about to end or to execute another program, for the
 * collector, which notices the end only later; `ending` FALSE: exec has failed, so it goes on.  It does nothing in the
 * child of a vfork. */
extern void EmitterEnding(Bool ending);

#endif /* EMIT_EMITTER_H */
