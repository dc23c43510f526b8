/* process.c -- a process that emits: its memory and its ways out
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "emit/control.h"
#include "handover/collectorsocket.h"
#include "plinth/rawsyscall.h"

enum {
  processPage = 4096,
  processWorkingAT = 131072,
  processThreadsAT = processWorkingAT + ProcessWorkingSIZE,
  processThreadsMIN = 128
};

enum {
  processMoment = 999999999, /* ns after which who waits for a lock asks whether its owner lives */
  processMoments = 5         /* so many, and the owner has been stopped */
};

#define processWAITED 0x80000000u  /* in a lock, beside its owner: wake one when it is free */
#define processSTOPPED 0x40000000u /* likewise: the owner has not gone on for long, so do not wait */
#define processTID 0x3fffffffu     /* the owner */

_Static_assert(sizeof(ProcessStruct) <= processWorkingAT, "the working memory is behind the process");

PlinthStruct ProcessPlinths[ProcessPlinthsMAX];

/* ProcessStruct, then working memory, then as many threads as there may be: one mapping that fork leaves zeroed.  Set
 * once. */
static char *processMemory;
static unsigned processThreads;

static Process processOf(void)
{
  return (Process)(void *)__atomic_load_n(&processMemory, __ATOMIC_ACQUIRE);
}

Thread ProcessThread(Process process, Index i)
{
  return (Thread)(void *)((char *)process + processThreadsAT + i * ThreadSIZE);
}

void *ProcessWorking(Process process)
{
  return (char *)process + processWorkingAT;
}

/* processWipe -- where the kernel does not do it: in the child of fork */
static void processWipe(void)
{
  memset(processOf(), 0, sizeof(ProcessStruct));
}

/* processSize -- bytes for so many threads */
static Size processSize(unsigned threads)
{
  return processThreadsAT + (Size)threads * ThreadSIZE;
}

/* processReserve -- memory for as many threads as may be; where address space is limited a small part of it */
static char *processReserve(unsigned *threadsReturn)
{
  uint64_t limit = RawLimit(RLIMIT_AS);
  unsigned threads;
  char *memory = NULL;

  for (threads = ThreadsMAX; memory == NULL && threads >= processThreadsMIN; threads /= 8) {
    if (threads / 8 >= processThreadsMIN && processSize(threads) > limit / 64)
      continue;
    memory = RawMap(processSize(threads), processPage);
    *threadsReturn = threads;
  }
  return memory;
}

Process ProcessMap(void)
{
  char *none = NULL, *memory;
  unsigned threads;

  if (processOf() != NULL)
    return processOf();
  memory = processReserve(&threads);
  if (memory == NULL)
    return NULL;
  __atomic_store_n(&processThreads, threads, __ATOMIC_RELAXED); /* another thread would find the same */
  ((Process)(void *)memory)->threadsMax = threads; /* what is only read first is given to us twice */
  if (!__atomic_compare_exchange_n(&processMemory, &none, memory, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    RawUnmap(memory, processSize(threads));
  else if (RawCall(SYS_madvise, memory, processSize(threads), MADV_WIPEONFORK) != 0)
    (void)pthread_atfork(NULL, NULL, processWipe);
  return processOf();
}

unsigned ProcessThreadsMax(void)
{
  return __atomic_load_n(&processThreads, __ATOMIC_RELAXED);
}

const char *ProcessLog(void)
{
  Index i;

  if (ControlSettings.log[0] == '/')
    return ControlSettings.log;
  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) == &PlinthClassFile)
      return ProcessPlinths[i].place;
  return "";
}

Bool ProcessOpen(void)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL)
      return TRUE;
  return FALSE;
}

Bool ProcessSends(void)
{
  return ControlSettings.log[0] != '\0' || ProcessOpen();
}

Process ProcessIfReady(void)
{
  Process process = processOf();

  return process != NULL && __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == 2 ? process : NULL;
}

/* processDead -- does the thread that a lock names not live, or is it ourselves, who do not have it? */
static Bool processDead(Process process, unsigned owner)
{
  unsigned tid = owner & processTID;

  return tid == (unsigned)RawCall(SYS_gettid) || RawCall(SYS_tgkill, process->pid, tid, 0) != 0;
}

/* processWait -- sleep until a lock that `owner` has is given, a moment at the longest; FALSE: that has passed */
static Bool processWait(unsigned *lock, unsigned owner)
{
  long moment[2] = {0, processMoment};

  return RawCall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, owner, moment, NULL, 0) != -ETIMEDOUT;
}

/* processMark -- add a mark to the lock's word, unless that has changed; FALSE: it has, and *ownerIO is what it is */
static Bool processMark(unsigned *lock, unsigned *ownerIO, unsigned mark)
{
  if ((*ownerIO & mark) == 0 &&
      !__atomic_compare_exchange_n(lock, ownerIO, *ownerIO | mark, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return FALSE;
  *ownerIO |= mark;
  return TRUE;
}

/* processLockSlow -- ProcessLock, where `owner` has it.  Who waits sleeps: thousands of threads that yield to each other
 * would keep the one that has the lock from running. */
static Bool processLockSlow(Process process, unsigned owner)
{
  /* Others may wait behind us. */
  unsigned self = (unsigned)RawCall(SYS_gettid) | processWAITED, *lock = &process->lock, before = 0, waits = 0;

  for (;;) {
    if ((owner & processTID) != before)
      waits = 0;
    before = owner & processTID;
    if (before == 0 || ((waits != 0 || (owner & processSTOPPED) != 0) && processDead(process, owner))) {
      if (__atomic_compare_exchange_n(lock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return TRUE;
    } else if ((owner & processSTOPPED) != 0) {
      return FALSE;
    } else if (waits == processMoments) {
      (void)processMark(lock, &owner, processSTOPPED);
    } else if (processMark(lock, &owner, processWAITED)) {
      waits += !processWait(lock, owner);
      owner = __atomic_load_n(lock, __ATOMIC_RELAXED);
    }
  }
}

Bool ProcessLock(Process process)
{
  unsigned owner = 0;

  return __atomic_compare_exchange_n(&process->lock, &owner, (unsigned)RawCall(SYS_gettid), FALSE, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED) ||
         processLockSlow(process, owner);
}

void ProcessUnlock(Process process)
{
  if ((__atomic_exchange_n(&process->lock, 0, __ATOMIC_RELEASE) & processWAITED) != 0)
    (void)RawCall(SYS_futex, &process->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

Bool ProcessLockText(Process process)
{
  unsigned self = (unsigned)RawCall(SYS_gettid), owner = 0;

  return __atomic_compare_exchange_n(&process->textLock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
         (processDead(process, owner) &&
          __atomic_compare_exchange_n(&process->textLock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

void ProcessUnlockText(Process process)
{
  __atomic_store_n(&process->textLock, 0, __ATOMIC_RELEASE);
}

Store ProcessOwnMore(Process process, Index i)
{
  Store store = i < ProcessOwnMAX ? &process->own[i] : NULL;

  if (store == NULL)
    return NULL;
  if (!ProcessLock(process))
    return NULL;
  if (store->header == NULL && StoreOpen(store, "", 0, process->identity, NULL) == ResOK)
    store->header->limit = ControlSettings.limit;
  ProcessUnlock(process);
  return store->header != NULL ? store : NULL;
}

void ProcessLose(Process process)
{
  RegionHeader region = process->shared.header;

  if (process->doomed && ControlLedgerCount(1))
    return;
  (void)__atomic_fetch_add(region != NULL ? &region->lost : &process->lost, 1, __ATOMIC_RELAXED);
}

Res ControlOpen(Process process, const char *where, const char *family, Bool late)
{
  static const char *const full = "as many logs as there can be are open";
  const char *reason = full;
  Res res = ResLIMIT;
  Index i;

  for (i = 0; i < ProcessPlinthsMAX && reason == full; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) == NULL) {
      reason = NULL;
      /* Before: others may send a header block as soon as the way is open. */
      process->begun[i] = late ? EventClock(EVENT_SLOW) : 0;
      res = PlinthOpen(&ProcessPlinths[i], where, family, &reason);
    }
  if (res != ResOK)
    RawSay("cannot open the log", where, reason);
  return res;
}

/* processPiece -- how long the first of several places is; a comma in front of an option belongs to it */
static Size processPiece(const char *places)
{
  static const char option[] = ",keep=";
  Size length = strcspn(places, ",");

  while (strncmp(places + length, option, sizeof option - 1) == 0)
    length += 1 + strcspn(places + length + 1, ",");
  return length;
}

/* processTakeLog -- the log whose descriptor the collector has given us is a way out; FALSE: there is none */
static Bool processTakeLog(Process process)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) == NULL) {
      process->begun[i] = 0;
      return HandLogTake(&ProcessPlinths[i], ControlSettings.log);
    }
  return FALSE;
}

void ControlOpenLog(Process process)
{
  Control settings = &ControlSettings;
  const char *at = settings->log;
  char place[PlinthPlaceMAX];

  if (processTakeLog(process))
    at = ""; /* a collector's log is one */
  while (*at != '\0') {
    Size length = processPiece(at);
    memcpy(place, at, length);
    place[length] = '\0';
    if (length > 0)
      (void)ControlOpen(process, place, settings->family[0] != '\0' ? settings->family : NULL, FALSE);
    at += length;
    at += *at == ',';
  }
  /* A recorder's log that cannot be opened stays the one that our blocks belong to. */
  if (ProcessOpen() || settings->collector[0] == '\0')
    settings->log[0] = '\0';
}
