/* process.c -- a process that emits: its beginning, its threads, its end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/process.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/hand.h"
#include "emit/send.h"
#include "emit/traceback.h"
#include "plinth/quiet.h"

enum { processPage = 4096, processThreadsAT = 16384, processSweepEvery = 16 };

_Static_assert(sizeof(ProcessStruct) <= processThreadsAT, "the threads are behind the process");

PlinthStruct ProcessPlinths[ProcessPlinthsMAX];

/* ProcessStruct, then ThreadsMAX threads: one mapping that fork leaves zeroed.  Set once. */
static char *processMemory;
static pthread_key_t processKey; /* of threads; its destructor tells of their ends */
static Bool processKeyed;

static Process processOf(void)
{
  return (Process)(void *)__atomic_load_n(&processMemory, __ATOMIC_ACQUIRE);
}

Thread ProcessThread(Process process, Index i)
{
  return (Thread)(void *)((char *)process + processThreadsAT + i * ThreadSIZE);
}

/* processWipe -- where the kernel does not do it: in the child of fork */
static void processWipe(void)
{
  memset(processOf(), 0, sizeof(ProcessStruct));
}

/* processMap -- the memory of the process, once */
static Process processMap(void)
{
  Size size = processThreadsAT + (Size)ThreadsMAX * ThreadSIZE;
  char *none = NULL, *memory;

  if (processOf() != NULL)
    return processOf();
  memory = QuietMap(size, processPage);
  if (memory == NULL)
    return NULL;
  if (!__atomic_compare_exchange_n(&processMemory, &none, memory, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    QuietUnmap(memory, size);
  else if (QuietCall(SYS_madvise, memory, size, MADV_WIPEONFORK) != 0)
    (void)pthread_atfork(NULL, NULL, processWipe);
  return processOf();
}

/* processForked -- in the child: the thread's state was its parent's, and its place may soon be another thread's,
 * whose it would seem to be */
static void processForked(void)
{
  EventThreadSelf = NULL;
  ControlJoin();
  StoreForked();
  if (ControlSettings.only != 0)
    ControlStop();
}

/* processIdentity -- a number that no other process has, on any machine */
static uint64_t processIdentity(void)
{
  uint64_t identity = 0;

  if (QuietCall(SYS_getrandom, &identity, sizeof identity, GRND_NONBLOCK) != sizeof identity)
    identity = EventClockMonotonic() * 0x9e3779b97f4a7c15ull + (uint64_t)getpid();
  return identity | 1;
}

static void processThreadEnded(void *state);

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

/* processSetUp -- all that must be there before the first event; one thread, once, and once more in each child of
 * fork */
static void processSetUp(Process process)
{
  Bool slow = EventClockChoose();

  process->pid = (uint32_t)getpid();
  process->identity = processIdentity();
  ControlJoin();
  EVENT_CONTROL[EventControlCLOCK] = slow ? EventControlSLOW : 0;
  EventClockSync(&process->sync, slow);
  /* Now, while there is one thread: a child of fork could not finish what another thread had begun. */
  (void)SendRegistry();
  if (!processKeyed) {
    processKeyed = pthread_key_create(&processKey, processThreadEnded) == 0;
    ControlFromEnvironment();
  }
  process->blockSize = ControlSettings.blockSize;
  (void)StoreOpen(&process->own, "", process->identity, NULL);
  ProcessShareAlone(process);
  /* Where nothing is sent, whoever reads a core needs it all the same. */
  if (ProcessRegion(process) == NULL)
    (void)SendHeader(process);
}

Process ProcessGet(void)
{
  Process process = processMap();
  unsigned none = 0;

  if (process == NULL || __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == 2)
    return process;
  if (__atomic_compare_exchange_n(&process->state, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    processSetUp(process);
    __atomic_store_n(&process->state, 2, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&process->state, __ATOMIC_ACQUIRE) != 2)
    (void)sched_yield();
  return process;
}

Process ProcessIfReady(void)
{
  Process process = processOf();

  return process != NULL && __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == 2 ? process : NULL;
}

void ProcessLock(Process process)
{
  while (__atomic_exchange_n(&process->lock, 1, __ATOMIC_ACQUIRE) != 0)
    (void)sched_yield();
}

void ProcessUnlock(Process process)
{
  __atomic_store_n(&process->lock, 0, __ATOMIC_RELEASE);
}

/* processSweep -- end the threads that died without telling: their last events came behind the last destructor */
static void processSweep(Process process)
{
  Index i;

  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (thread->state == ThreadLIVE && !thread->inside &&
        QuietCall(SYS_tgkill, process->pid, thread->tid, 0) == -ESRCH) {
      thread->state = ThreadRETIRED;
      thread->retired = ++process->retirements;
      ThreadFlush(thread, FALSE, TRUE);
    }
  }
}

/* processPlace -- a place for one more thread: a free one, or that of the thread that ended longest ago; NULL: all
 * live */
static Thread processPlace(Process process)
{
  Thread oldest = NULL;
  Count retired = 0;
  Index i;

  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (thread->state == ThreadRETIRED) {
      ++retired;
      if (oldest == NULL || thread->retired - oldest->retired > UINT32_MAX / 2)
        oldest = thread;
    }
  }
  if (retired < ThreadsRetired && process->threads < ThreadsMAX)
    return ProcessThread(process, process->threads++);
  if (oldest != NULL)
    ThreadRelease(oldest);
  return oldest;
}

/* processThreadNew -- a state for the calling thread */
static Thread processThreadNew(Process process)
{
  Thread thread;

  ProcessLock(process);
  if (process->serials % processSweepEvery == processSweepEvery - 1)
    processSweep(process);
  thread = processPlace(process);
  if (thread != NULL) {
    memset(thread, 0, ThreadSIZE);
    thread->serial = process->serials++;
    thread->tid = (uint32_t)QuietCall(SYS_gettid);
    thread->hot.self = &thread->hot;
    __atomic_store_n(&thread->state, ThreadLIVE, __ATOMIC_RELEASE);
  }
  ProcessUnlock(process);
  return thread;
}

/* processLose -- an event finds no state: count it where it survives us, if there is such a place */
static void processLose(Process process)
{
  RegionHeader region = process->shared.header;

  (void)__atomic_fetch_add(region != NULL ? &region->lost : &process->lost, 1, __ATOMIC_RELAXED);
}

Thread ProcessThreadSelf(void)
{
  EventThread self = EventThreadSelf;
  Process process;
  Thread thread;

  if (self != NULL && self->self == self)
    return (Thread)(void *)self;
  process = ProcessGet();
  if (process == NULL)
    return NULL;
  thread = processThreadNew(process);
  if (thread == NULL) {
    processLose(process);
    if (!__atomic_exchange_n(&process->thronged, TRUE, __ATOMIC_RELAXED))
      QuietSay("too many threads", "", "events of some are lost, and counted");
    EventThreadSelf = NULL;
    return NULL;
  }
  EventThreadSelf = &thread->hot;
  if (processKeyed)
    (void)pthread_setspecific(processKey, thread);
  return thread;
}

Thread ProcessThreadNested(Thread thread)
{
  Process process = ProcessGet();

  if (thread->nested == NULL && process != NULL)
    thread->nested = processThreadNew(process);
  if (thread->nested == NULL && process != NULL)
    processLose(process);
  return thread->nested;
}

/* processRetire -- a state will emit no more; what it holds goes out.  Signals are blocked. */
static void processRetire(Process process, Thread thread)
{
  /* A handler that jumped away from within a change has left its streams as they are: whoever reads the region finds
   * them. */
  if (!thread->inside)
    ThreadFlush(thread, FALSE, TRUE);
  ProcessLock(process);
  thread->retired = ++process->retirements;
  __atomic_store_n(&thread->state, thread->inside ? ThreadLIVE : ThreadRETIRED, __ATOMIC_RELEASE);
  ProcessUnlock(process);
}

/* processThreadEnded -- the calling thread ends.  Should it emit once more, it gets a new state, and we are called
 * again. */
static void processThreadEnded(void *state)
{
  Process process = ProcessIfReady();
  Thread thread = state;
  QuietMaskStruct mask;

  if (process == NULL || &thread->hot != EventThreadSelf || thread->hot.self == NULL)
    return;
  QuietBegin(&mask);
  EventThreadSelf = NULL;
  if (thread->nested != NULL)
    processRetire(process, thread->nested);
  processRetire(process, thread);
  QuietEnd(&mask);
}

/* processOthers -- do other threads run?  They go on to commit events, which only the region has. */
static Bool processOthers(Process process)
{
  uint32_t self = (uint32_t)QuietCall(SYS_gettid);
  Index i;

  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == ThreadLIVE && &thread->hot != EventThreadSelf &&
        thread->tid != self)
      return TRUE;
  }
  return FALSE;
}

/* processFinish -- what the ways out still keep is to arrive; each may take a second */
static void processFinish(void)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL)
      (void)PlinthFinish(&ProcessPlinths[i]);
}

void ProcessEnd(void)
{
  Process process = ProcessIfReady();
  QuietMaskStruct mask;
  Thread thread;
  Index i;
  int error = errno;

  if (process == NULL || process->pid != (uint32_t)getpid() || ProcessRegion(process) == NULL)
    return;
  QuietBegin(&mask);
  HandCheck(process);
  thread = EventThreadSelf != NULL && EventThreadSelf->self != NULL ? (Thread)(void *)EventThreadSelf : NULL;
  if (thread != NULL && !thread->inside)
    ThreadFlush(thread, FALSE, TRUE);
  if (thread != NULL && thread->nested != NULL)
    ThreadFlush(thread->nested, FALSE, TRUE);
  ProcessLock(process);
  processSweep(process);
  /* If this thread emits again, its events go to a new region.  The last header names none: so readers know that
   * nothing is missing. */
  if (!ProcessCollected(process) && !processOthers(process)) {
    for (i = 0; i < process->threads; ++i)
      ThreadForget(ProcessThread(process, i), &process->shared);
    StoreUnlink(&process->shared);
    process->lost += __atomic_load_n(&ProcessRegion(process)->lost, __ATOMIC_RELAXED);
    __atomic_store_n(&process->shared.header, NULL, __ATOMIC_RELEASE);
  }
  if (!ProcessCollected(process))
    (void)SendHeader(process);
  ProcessUnlock(process);
  processFinish();
  QuietEnd(&mask);
  errno = error;
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

static void processExit(void *unused)
{
  UNUSED(unused);
  ProcessEnd();
}

void ProcessStart(void)
{
  static Bool started;
  QuietMaskStruct mask;

  if (__atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    return;
  QuietBegin(&mask);
  (void)ProcessGet();
  QuietEnd(&mask);
  ControlFamily();
  (void)AverHandlerSet(TracebackAver);
  (void)pthread_atfork(NULL, NULL, processForked);
  /* Of no library, so that it runs where it stands in the row: registered before the program's own begin, last of
   * all. */
  (void)__cxa_atexit(processExit, NULL, NULL);
}

/* Before the program's own constructors. */
__attribute__((constructor(101))) static void processConstruct(void)
{
  ProcessStart();
}
